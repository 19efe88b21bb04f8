"""Programs: expressions on variables of one's own."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping

from kubefacts import cel
from kubefacts.cel import CELExpressionError
from kubefacts.cel_functions import CELValue
from moorage.core.plugins.cel.expression_survey import Reads, survey
from moorage.core.structures.remembering import memoized


class VariableType(enum.Enum):
    """The type of a variable."""

    TEXT = "string"
    NUMBER = "int"
    FLAG = "bool"
    TEXTS = "map(string, string)"
    NUMBERS = "map(string, int)"
    RECORDS = "list(map(string, string))"
    DOCUMENTS = "list(map(string, dyn))"


Variables = tuple[tuple[str, VariableType], ...]
"""Names, each with a dot, and their types. An expression reads ``a.b`` as the variable of that
name, so what it misspells is found out when it is compiled.
"""


class CELProgram:
    """An expression on some variables, ready to be asked. ``result`` is its type (``bool``,
    ``int``, …), ``reads`` what it reads.
    """

    __slots__ = ("_compiled", "reads", "result", "text")

    def __init__(self, text: str, compiled: cel.Expression, reads: Reads) -> None:
        self.text = text
        self.reads = reads
        self.result = compiled.result
        self._compiled = compiled

    def evaluate(self, values: Mapping[str, CELValue]) -> CELValue:
        """What it says of these values of its variables; others may stand there too. Raises
        CELExpressionError.
        """
        try:
            return self._compiled.evaluate(values)
        except CELExpressionError as error:
            missing = cel.missing_key(error)
            if missing is None:
                raise
            raise CELExpressionError(f"no such key: {missing}") from error


@memoized(lambda _, text, variables: len(text), most=1024)
def compile_program(text: str, variables: Variables) -> CELProgram:
    """Compile an expression. Raises CELExpressionError, whose text begins with line:column, both
    from 1, where there is a place.
    """
    try:
        compiled = _environment_of(variables).compile(text)
    except CELExpressionError as error:
        found = _COMPILE_ERROR.search(str(error))
        raise CELExpressionError(
            (found["place"] or "") + found["what"] if found else str(error).partition("\n")[0]
        ) from error
    reads, faults = survey(compiled.serialize(), dict(variables))
    if faults:
        before = text[: faults[0].offset]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise CELExpressionError(f"{line}:{column}: {faults[0].message}")
    return CELProgram(text, compiled, reads)


_COMPILE_ERROR = re.compile(
    r"ERROR: <input>:(-1:-1: |(?P<place>\d+:\d+: ))(?P<what>[^\n]*?)( \(in container ''\))?$",
    re.MULTILINE,
)


@functools.lru_cache(maxsize=8)
def _environment_of(variables: Variables) -> cel.Environment:
    """Without the libraries that can make much of little (``replace``, ``join``), or take long over
    long lists (``sets``).
    """
    return cel.Environment(
        {name: _TYPES[kind] for name, kind in variables},
        libraries=("quantity", "semver", "comparison"),
        extensions=("bindings", "optional"),
    )


_TYPES = {
    VariableType.TEXT: cel.scalar("string"),
    VariableType.NUMBER: cel.scalar("int"),
    VariableType.FLAG: cel.scalar("bool"),
    VariableType.TEXTS: cel.map_of(cel.scalar("string")),
    VariableType.NUMBERS: cel.map_of(cel.scalar("int")),
    VariableType.RECORDS: cel.list_of(cel.map_of(cel.scalar("string"))),
    VariableType.DOCUMENTS: cel.list_of(cel.scalar("map")),
}
