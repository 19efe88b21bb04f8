"""CEL expressions: on devices, as Kubernetes has them, and on variables of one's own
(``CELProgram``).

For devices everything else sees ``holds(text, facts)``: true, false or ``CELExpressionError``. An
expression is compiled once, a device that looks the same as another is the same ``DeviceFacts``,
and what an expression says of it is remembered: a function of the two.

Quantities and versions are maps with one entry that no attribute can be
(``kubefacts.cel_functions``). ``device`` is declared as a map as well: what Kubernetes refuses
while compiling, such as a misspelt field, is an error here when it is evaluated. Both end the
attempt.

Kubernetes' libraries for URLs, IP addresses and ``find``/``findAll`` are not here: an expression
that calls them does not compile.
Source: Kubernetes dynamic-resource-allocation/cel and apiserver/pkg/cel/library (v1.36).
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping
from typing import Any

from kubefacts import cel
from kubefacts.cel import CELExpressionError
from kubefacts.cel_functions import CELValue, semver_value
from moorage.core.expression_sizes import is_too_expensive
from moorage.core.expression_trees import Reads, survey
from moorage.core.structures.remembering import byte_size, memoized

_MAX_KEPT_RESULTS = 1024
"""Answers kept for one device; more texts than that are not a cluster's few classes and
templates.
"""


COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"
"""As Kubernetes says it."""


def semver(version: str) -> dict[str, str]:
    """A version as expressions see it: build metadata does not count. Raises CELExpressionError."""
    try:
        return semver_value(version)
    except ValueError as error:
        raise CELExpressionError(
            f"{version!r} is not a semantic version; write one such as 1.2.3 or 1.2.3-rc.1"
        ) from error


# ---- devices -------------------------------------------------------------------------------------


class DeviceFacts:
    """What expressions can ask of a device: ``attributes`` and ``capacity`` by domain and name.

    ``fault``: why nothing can be said of it.
    """

    __slots__ = ("_device", "_fault", "_results")

    def __init__(
        self,
        driver: str,
        shared: bool,
        attributes: Mapping[str, Any],
        capacity: Mapping[str, Any],
        fault: str = "",
    ) -> None:
        self._fault = fault
        self._device: dict[str, Any] = {
            "driver": driver,
            "allowMultipleAllocations": shared,
            "attributes": attributes,
            "capacity": capacity,
        }
        self._results: dict[str, bool | str] = {}

    def is_evaluated(self, text: str) -> bool:
        """Whether the expression was asked already, so that it costs nothing now."""
        return text in self._results

    def evaluate(self, text: str) -> bool | str:
        """What the expression says; a text is an error."""
        answer = self._results.get(text)
        if answer is None:
            if len(self._results) >= _MAX_KEPT_RESULTS:
                self._results.clear()
            answer = self._results[text] = self._evaluate(text)
        return answer

    def _evaluate(self, text: str) -> bool | str:
        compiled = _compiled(text)
        if isinstance(compiled, str):
            return f"CEL compile error: {compiled}"
        if self._fault:
            return f"CEL runtime error: {self._fault}"
        if _is_too_expensive(text):
            return f"CEL runtime error: {COST_LIMIT_EXCEEDED}"
        device = self._device
        while True:
            try:
                return compiled.test({"device": device})
            except CELExpressionError as error:
                missing = _MISSING_KEY.search(str(error))
                key = missing["key"] if missing else None
                lacking = [
                    part
                    for part in ("attributes", "capacity")
                    if key is not None and key not in device[part]
                ]
                if not lacking:
                    return f"CEL runtime error: {f'no such key: {key}' if key else error}"
            # A domain that the device knows nothing of is an empty one, Kubernetes says. It costs a
            # second try, and only then.
            device = {**device, **{part: {**device[part], key: {}} for part in lacking}}


def holds(text: str, facts: DeviceFacts) -> bool:
    """Whether the expression is true of the device. Raises CELExpressionError."""
    answer = facts.evaluate(text)
    if isinstance(answer, str):
        raise CELExpressionError(answer)
    return answer


# ---- programs ------------------------------------------------------------------------------------


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
            missing = _MISSING_KEY.search(str(error))
            if missing is None:
                raise
            raise CELExpressionError(f"no such key: {missing['key']}") from error


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


# ---- inside: the library -------------------------------------------------------------------------

_MISSING_KEY = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)
_COMPILE_ERROR = re.compile(
    r"ERROR: <input>:(-1:-1: |(?P<place>\d+:\d+: ))(?P<what>[^\n]*?)( \(in container ''\))?$",
    re.MULTILINE,
)


@memoized(byte_size)
def _compiled(text: str) -> cel.Expression | str:
    """The expression ready to be asked, or why it is none."""
    try:
        compiled = _environment().compile(text)
    except CELExpressionError as error:
        return f"compilation failed: {error}"
    if compiled.result not in ("bool", "dyn"):
        return f"must evaluate to bool or the unknown type, not {compiled.result.upper()}"
    return compiled


@memoized(byte_size)
def _is_too_expensive(text: str) -> bool:
    """Whether an expression that compiles could make too much of little."""
    compiled = _compiled(text)
    return not isinstance(compiled, str) and is_too_expensive(compiled.serialize())


@functools.lru_cache(maxsize=1)
def _environment() -> cel.Environment:
    return cel.Environment({"device": cel.scalar("map")}, libraries=(*_LIBRARIES, "sets"))


@functools.lru_cache(maxsize=8)
def _environment_of(variables: Variables) -> cel.Environment:
    """Without the libraries that can make much of little (``replace``, ``join``), or take long over
    long lists (``sets``).
    """
    return cel.Environment(
        {name: _TYPES[kind] for name, kind in variables},
        libraries=_LIBRARIES,
        extensions=("bindings", "optional"),
    )


_LIBRARIES = ("quantity", "semver", "comparison")
_TYPES = {
    VariableType.TEXT: cel.scalar("string"),
    VariableType.NUMBER: cel.scalar("int"),
    VariableType.FLAG: cel.scalar("bool"),
    VariableType.TEXTS: cel.map_of(cel.scalar("string")),
    VariableType.NUMBERS: cel.map_of(cel.scalar("int")),
    VariableType.RECORDS: cel.list_of(cel.map_of(cel.scalar("string"))),
    VariableType.DOCUMENTS: cel.list_of(cel.scalar("map")),
}
