"""CEL as Kubernetes has it: the one door to the CEL library.

An environment has typed variables, CEL itself, and some of Kubernetes' libraries
(``cel_functions``, ``cel_addresses``); it compiles texts to expressions, and those are evaluated.
All that goes wrong is a ``CELExpressionError`` with the library's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from kubefacts import cel_addresses, cel_functions
from kubefacts.cel_functions import CELFunction, CELValue, CostMeter

CELType: TypeAlias = cel.Type

_TYPES: Final[Mapping[str, CELType]] = {
    "bool": cel.Type.BOOL,
    "bytes": cel.Type.BYTES,
    "double": cel.Type.DOUBLE,
    "duration": cel.Type.DURATION,
    "dyn": cel.Type.DYN,
    "int": cel.Type.INT,
    "list": cel.Type.LIST,
    "map": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    "string": cel.Type.STRING,
    "timestamp": cel.Type.TIMESTAMP,
}
_FUNCTIONS: Final[Mapping[str, Sequence[CELFunction]]] = {
    **cel_functions.FUNCTIONS,
    **cel_addresses.FUNCTIONS,
}
BOUNDED: Final = "bounded"
"""What stands in for functions of the CEL library: an environment has it when it is asked for."""
LIBRARIES: Final = frozenset(_FUNCTIONS) - {BOUNDED}
FUNCTION_NAMES: Final = frozenset(one.name for library in LIBRARIES for one in _FUNCTIONS[library])
_ERROR: Final = cel.Type.ERROR
_STATUS: Final = re.compile(r"\A[A-Z_]+: | \[[A-Z_]+\]\Z")
"""What the library puts around its messages."""
_MISSING_KEY: Final = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)


class CELExpressionError(ValueError):
    """An expression that does not compile, or that came to no result. The message is for people."""


class CELBudgetError(CELExpressionError):
    """An expression that was ended, since it took too many steps."""


def missing_key(error: CELExpressionError) -> str | None:
    """The key that a map does not have, where that is what ended the expression."""
    missing = _MISSING_KEY.search(str(error))
    return missing["key"] if missing else None


def scalar(name: str) -> CELType:
    """``string``, ``int``, ``dyn`` and so on."""
    return _TYPES[name]


def list_of(item: CELType) -> CELType:
    """The type of a list."""
    return cel.Type.List(item)


def map_of(item: CELType) -> CELType:
    """The type of a map by texts."""
    return cel.Type.Map(cel.Type.STRING, item)


class Expression:
    """A compiled expression; ``result`` is its type (``bool``, ``dyn``, ``list(int)``, …)."""

    __slots__ = ("_compiled", "result")

    def __init__(self, compiled: cel.Expression) -> None:
        self._compiled = compiled
        self.result = compiled.return_type().name().lower()

    def serialize(self) -> bytes:
        """The syntax tree, as a message of cel.expr.CheckedExpr."""
        tree: bytes = self._compiled.serialize()
        return tree

    def evaluate(self, values: Mapping[str, CELValue]) -> CELValue:
        """What it says of these values of its variables. Raises CELExpressionError."""
        return self._evaluated(values).value()

    def test(self, values: Mapping[str, CELValue]) -> bool:
        """The same where it has to be true or false."""
        result = self._evaluated(values)
        if result.type() != cel.Type.BOOL:
            kind = result.type().name()
            raise CELExpressionError(f"CEL result of type {kind} could not be converted to bool")
        return bool(result.value())

    def _evaluated(self, values: Mapping[str, CELValue]) -> cel.Value:
        try:
            result = self._compiled.eval(data=values)
        except RuntimeError as error:
            message = plain_message(error)
            spent = "budget" in message
            raise (CELBudgetError if spent else CELExpressionError)(message) from error
        except (MemoryError, OverflowError, TypeError, ValueError) as error:  # what it can't hold
            raise CELExpressionError(str(error)) from error
        if result.type() == _ERROR:
            raise CELExpressionError(plain_message(result.value()))
        return result


class Environment:
    """Where expressions are compiled: ``libraries`` are some of ``LIBRARIES``.

    ``meter``: counts what functions do. ``extensions``: the library's own.
    """

    def __init__(
        self,
        variables: Mapping[str, CELType],
        *,
        libraries: Iterable[str] = LIBRARIES,
        meter: CostMeter | None = None,
        extensions: Iterable[str] = ("bindings", "optional", "strings"),
    ) -> None:
        found: dict[str, list[cel.Overload]] = {}
        functions = (one for name in sorted(libraries) for one in _FUNCTIONS[name])
        for i, one in enumerate(functions):
            found.setdefault(one.name, []).append(_overload(f"k8s_{i}", one, meter))
        self._environment = cel.NewEnv(
            variables=dict(variables),
            functions=[cel.FunctionDecl(name, overloads) for name, overloads in found.items()],
            extensions=[_EXTENSIONS[name]() for name in extensions],
        )

    def compile(self, text: str) -> Expression:
        """An expression. Raises CELExpressionError with all that the compiler says."""
        try:
            return Expression(self._environment.compile(text))
        except TypeError as error:  # half a surrogate pair
            raise CELExpressionError("is no text") from error
        except RuntimeError as error:
            raise CELExpressionError(plain_message(error)) from error


_EXTENSIONS: Final[Mapping[str, Any]] = {
    "bindings": ext_bindings.ExtBindings,
    "optional": ext_optional.ExtOptional,
    "strings": ext_strings.ExtStrings,
}


def _overload(name: str, one: CELFunction, meter: CostMeter | None) -> cel.Overload:
    return cel.Overload(
        name,
        return_type=_TYPES[one.result],
        parameters=[_TYPES[kind] for kind in one.parameters],
        is_member=one.member,
        impl=meter.counted(one) if meter else one.body,
    )


def plain_message(message: object) -> str:
    """A message without the library's status around it."""
    return _STATUS.sub("", str(message))
