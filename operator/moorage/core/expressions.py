"""CEL expressions: the one door to the CEL library. On devices, as Kubernetes has them, and on variables of one's own (``CELProgram``).

For devices everything else sees ``holds(text, facts)``: true, false or ``CELExpressionError``. An expression is compiled once, a device
that looks the same as another is the same ``DeviceFacts``, and what an expression says of it is remembered: a function of the two.

The library can be given functions but no types of our own, so quantities and versions are maps with one entry that no attribute can
be: ``{"quantity": nano-units}`` and ``{"semver": normal form}``, numbers as text since CEL's end at 64 bits. Two of them are equal
as values when they are equal as maps. ``device`` is declared as a map as well: what Kubernetes refuses while compiling, such as a
misspelt field, is an error here when it is evaluated. Both end the attempt.

Kubernetes' libraries for URLs, IP addresses and ``find``/``findAll`` are not here: an expression that calls them does not compile.
Source: Kubernetes dynamic-resource-allocation/cel and apiserver/pkg/cel/library (v1.36).
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from kubefacts.quantities import NANO, QuantityError, nanos
from moorage.core.expression_sizes import is_too_expensive
from moorage.core.expression_trees import Reads, survey
from moorage.core.structures.remembering import byte_size, memoized

_Value = Any
"""What the library takes and gives: bool, int, float, str, list, dict."""

QUANTITY, SEMVER = "quantity", "semver"
_MAX_KEPT_RESULTS = 1024
"""Answers kept for one device; more texts than that are not a cluster's few classes and templates."""


COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"
"""As Kubernetes says it."""


class CELExpressionError(ValueError):
    """An expression that does not compile, or that says nothing about a device. The message is for people."""


def quantity(amount: str | int) -> dict[str, str]:
    """A quantity as expressions see it. Raises QuantityError."""
    return {QUANTITY: str(nanos(amount))}


def semver(version: str) -> dict[str, str]:
    """A version as expressions see it: build metadata does not count. Raises CELExpressionError."""
    parts = _SEMVER.fullmatch(version)
    if parts is None:
        raise CELExpressionError(f"{version!r} is not a semantic version; write one such as 1.2.3 or 1.2.3-rc.1")
    return {SEMVER: version.partition("+")[0]}


# ---- devices ---------------------------------------------------------------------------------------------------------------


class DeviceFacts:
    """What expressions can ask of a device: ``attributes`` and ``capacity`` by domain and name.

    ``fault``: why nothing can be said of it.
    """

    __slots__ = ("_device", "_fault", "_results")

    def __init__(self, driver: str, shared: bool, attributes: Mapping[str, Any], capacity: Mapping[str, Any], fault: str = "") -> None:
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
                result = compiled.eval(data={"device": device})
            except RuntimeError as error:  # the iteration budget
                return f"CEL runtime error: {_plain(error)}"
            if result.type() != cel.Type.ERROR:
                break
            missing = _MISSING_KEY.search(result.value())
            key = missing["key"] if missing else None
            lacking = [part for part in ("attributes", "capacity") if key is not None and key not in device[part]]
            if not lacking:
                return f"CEL runtime error: {f'no such key: {key}' if key else _plain(result.value())}"
            # A domain that the device knows nothing of is an empty one, Kubernetes says. It costs a second try, and only then.
            device = {**device, **{part: {**device[part], key: {}} for part in lacking}}
        if result.type() != cel.Type.BOOL:
            return f"CEL runtime error: CEL result of type {result.type().name()} could not be converted to bool"
        return bool(result.value())


def holds(text: str, facts: DeviceFacts) -> bool:
    """Whether the expression is true of the device. Raises CELExpressionError."""
    answer = facts.evaluate(text)
    if isinstance(answer, str):
        raise CELExpressionError(answer)
    return answer


# ---- programs --------------------------------------------------------------------------------------------------------------


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
"""Names, each with a dot, and their types. An expression reads ``a.b`` as the variable of that name, so what it misspells is found
out when it is compiled."""


class CELProgram:
    """An expression on some variables, ready to be asked. ``result`` is its type (``bool``, ``int``, …), ``reads`` what it reads."""

    __slots__ = ("_compiled", "reads", "result", "text")

    def __init__(self, text: str, compiled: cel.Expression, reads: Reads) -> None:
        self.text = text
        self.reads = reads
        self.result = compiled.return_type().name().lower()
        self._compiled = compiled

    def evaluate(self, values: Mapping[str, _Value]) -> _Value:
        """What it says of these values of its variables; others may stand there too. Raises CELExpressionError."""
        try:
            result = self._compiled.eval(data=values)
        except (RuntimeError, MemoryError) as error:  # the iteration budget; a value that can't be had
            raise CELExpressionError(_plain(error)) from error
        if result.type() != cel.Type.ERROR:
            return result.value()
        missing = _MISSING_KEY.search(result.value())
        raise CELExpressionError(f"no such key: {missing['key']}" if missing else _plain(result.value()))


@memoized(lambda _, text, variables: len(text), most=1024)
def compile_program(text: str, variables: Variables) -> CELProgram:
    """Compile an expression. Raises CELExpressionError, whose text begins with line:column, both from 1, where there is a place."""
    try:
        compiled = _environment_of(variables).compile(text)
    except TypeError as error:  # half a surrogate pair
        raise CELExpressionError("is no text") from error
    except RuntimeError as error:
        found = _COMPILE_ERROR.search(_plain(error))
        raise CELExpressionError((found["place"] or "") + found["what"] if found else _plain(error).partition("\n")[0]) from error
    reads, faults = survey(compiled.serialize(), dict(variables))
    if faults:
        before = text[: faults[0].offset]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise CELExpressionError(f"{line}:{column}: {faults[0].message}")
    return CELProgram(text, compiled, reads)


# ---- inside: the library -----------------------------------------------------------------------------------------------------

_MISSING_KEY = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
"""What the library puts around its messages."""
_COMPILE_ERROR = re.compile(r"ERROR: <input>:(-1:-1: |(?P<place>\d+:\d+: ))(?P<what>[^\n]*?)( \(in container ''\))?$", re.MULTILINE)


@memoized(byte_size)
def _compiled(text: str) -> cel.Expression | str:
    """The expression ready to be asked, or why it is none."""
    try:
        compiled = _environment().compile(text)
    except RuntimeError as error:
        return f"compilation failed: {_plain(error)}"
    kind = compiled.return_type()
    if kind not in (cel.Type.BOOL, cel.Type.DYN):
        return f"must evaluate to bool or the unknown type, not {kind.name()}"
    return compiled


@memoized(byte_size)
def _is_too_expensive(text: str) -> bool:
    """Whether an expression that compiles could make too much of little."""
    compiled = _compiled(text)
    return not isinstance(compiled, str) and is_too_expensive(compiled.serialize())


def _plain(message: object) -> str:
    return _STATUS.sub("", str(message))


@functools.lru_cache(maxsize=1)
def _environment() -> cel.Env:
    return cel.NewEnv(
        variables={"device": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        functions=[cel.FunctionDecl(name, overloads) for name, overloads in _functions().items()],
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings()],
    )


@functools.lru_cache(maxsize=8)
def _environment_of(variables: Variables) -> cel.Env:
    """Without the libraries that can make much of little (``replace``, ``join``), or take long over long lists (``sets``)."""
    functions = {name: overloads for name, overloads in _functions().items() if not name.startswith("sets.")}
    return cel.NewEnv(
        variables={name: _TYPES[kind] for name, kind in variables},
        functions=[cel.FunctionDecl(name, overloads) for name, overloads in functions.items()],
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()],
    )


_TYPES = {
    VariableType.TEXT: cel.Type.STRING,
    VariableType.NUMBER: cel.Type.INT,
    VariableType.FLAG: cel.Type.BOOL,
    VariableType.TEXTS: cel.Type.Map(cel.Type.STRING, cel.Type.STRING),
    VariableType.NUMBERS: cel.Type.Map(cel.Type.STRING, cel.Type.INT),
    VariableType.RECORDS: cel.Type.List(cel.Type.Map(cel.Type.STRING, cel.Type.STRING)),
    VariableType.DOCUMENTS: cel.Type.List(cel.Type.Map(cel.Type.STRING, cel.Type.DYN)),
}

# ---- inside: Kubernetes' functions ---------------------------------------------------------------------------------------------

_SEMVER = re.compile(
    r"(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(-(?P<pre>(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
_MAP, _BOOL, _INT, _TEXT, _LIST = (
    cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    cel.Type.BOOL,
    cel.Type.INT,
    cel.Type.STRING,
    cel.Type.LIST,
)


class _Function(NamedTuple):
    """One way to call a function."""

    name: str
    result: cel.Type
    parameters: Sequence[cel.Type]
    body: Callable[..., _Value]
    member: bool = True


def _functions() -> dict[str, list[cel.Overload]]:
    """What the environment has beside CEL itself, by name."""
    found: dict[str, list[cel.Overload]] = {}
    for i, one in enumerate(_FUNCTIONS):
        overload = cel.Overload(f"k8s_{i}", return_type=one.result, parameters=list(one.parameters), is_member=one.member, impl=one.body)
        found.setdefault(one.name, []).append(overload)
    return found


def _amount(value: Mapping[str, Any]) -> int:
    """A quantity in nano-units."""
    if value.keys() != {QUANTITY}:
        raise ValueError("no such overload: this is not a quantity")
    return int(value[QUANTITY])


def _version(value: Mapping[str, Any]) -> re.Match[str]:
    parts = _SEMVER.fullmatch(value[SEMVER]) if value.keys() == {SEMVER} else None
    if parts is None:
        raise ValueError("no such overload: this is not a semantic version")
    return parts


def _precedence(value: Mapping[str, Any]) -> tuple[Any, ...]:
    """What versions are ordered by: a release is after its pre-releases, whose numbers are before their words."""
    parts = _version(value)
    before = parts["pre"]
    words = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in before.split(".")) if before else ()
    return int(parts["major"]), int(parts["minor"]), int(parts["patch"]), not before, words


def _compare(left: Mapping[str, Any], right: Mapping[str, Any]) -> int:
    """-1, 0 or 1, of two quantities or two versions."""
    measure: Callable[[Mapping[str, Any]], Any] = _amount if QUANTITY in left else _precedence
    one, other = measure(left), measure(right)
    return int(one > other) - int(one < other)


def _is(read: Callable[[str], object]) -> Callable[[str], bool]:
    def readable(text: str) -> bool:
        try:
            read(text)
        except (QuantityError, CELExpressionError):
            return False
        return True

    return readable


def _whole(value: Mapping[str, Any]) -> int:
    amount, rest = divmod(_amount(value), NANO)
    if rest or not -(2**63) <= amount < 2**63:
        raise ValueError("cannot convert value to integer")
    return amount


def _plus(sign: int, scale: int = NANO) -> Callable[[Mapping[str, Any], Any], dict[str, str]]:
    """Addition to a quantity, or (``sign`` -1) subtraction from it, of another quantity or of a whole number."""

    def total(left: Mapping[str, Any], right: Any) -> dict[str, str]:
        other = right * scale if isinstance(right, int) else _amount(right)
        return {QUANTITY: str(_amount(left) + sign * other)}

    return total


def _includes(left: Sequence[Any], right: Iterable[Any]) -> bool:
    return all(one in left for one in right)


_FUNCTIONS = (
    _Function("quantity", _MAP, (_TEXT,), quantity, member=False),
    _Function("isQuantity", _BOOL, (_TEXT,), _is(quantity), member=False),
    _Function("semver", _MAP, (_TEXT,), semver, member=False),
    _Function("isSemver", _BOOL, (_TEXT,), _is(semver), member=False),
    _Function("compareTo", _INT, (_MAP, _MAP), _compare),
    _Function("isLessThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) < 0),
    _Function("isGreaterThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) > 0),
    _Function("sign", _INT, (_MAP,), lambda value: int(_amount(value) > 0) - int(_amount(value) < 0)),
    _Function("isInteger", _BOOL, (_MAP,), lambda value: not _amount(value) % NANO),
    _Function("asInteger", _INT, (_MAP,), _whole),
    _Function("asApproximateFloat", cel.Type.DOUBLE, (_MAP,), lambda value: _amount(value) / NANO),
    _Function("add", _MAP, (_MAP, _MAP), _plus(1)),
    _Function("add", _MAP, (_MAP, _INT), _plus(1)),
    _Function("sub", _MAP, (_MAP, _MAP), _plus(-1)),
    _Function("sub", _MAP, (_MAP, _INT), _plus(-1)),
    _Function("major", _INT, (_MAP,), lambda value: int(_version(value)["major"])),
    _Function("minor", _INT, (_MAP,), lambda value: int(_version(value)["minor"])),
    _Function("patch", _INT, (_MAP,), lambda value: int(_version(value)["patch"])),
    _Function("sets.contains", _BOOL, (_LIST, _LIST), _includes, member=False),
    _Function("sets.equivalent", _BOOL, (_LIST, _LIST), lambda a, b: _includes(a, b) and _includes(b, a), member=False),
    _Function("sets.intersects", _BOOL, (_LIST, _LIST), lambda a, b: any(one in b for one in a), member=False),
)
