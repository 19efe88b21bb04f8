"""What Kubernetes' CEL has beyond CEL: quantities, versions, lists, sets, patterns (others:
``cel_addresses``).

The library takes functions and no types of ours, so a quantity, a version, a URL, an address and a
network are maps with one entry, whose key says which. Numbers are text, since CEL's end at 64 bits.
Two of them are equal as values when they are equal as maps.

Of parameters, ``dyn`` matches nothing while an expression runs, so each kind of argument has an
overload. A function of the library cannot get another overload: ``string`` of an address,
``indexOf`` and ``reverse`` of lists are not here. What returns an optional value (``first``,
``last``, ``format.named``) and macros (``sortBy``, comprehensions of two variables) cannot be made
at all. Source: Kubernetes apiserver/pkg/cel/library (v1.36).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kubefacts import patterns
from kubefacts.quantities import NANO, QuantityError, nanos

CELValue: TypeAlias = Any
"""What the library takes and gives: None, bool, int, float, str, list, dict."""
MarkedMap: TypeAlias = Mapping[str, str]

_DYN, _BOOL, _INT, _DOUBLE, _TEXT, _LIST, _MAP = (
    "dyn",
    "bool",
    "int",
    "double",
    "string",
    "list",
    "map",
)


class CELFunction(NamedTuple):
    """One way to call a function; ``member``: with a dot, on its first parameter."""

    name: str
    result: str
    parameters: Sequence[str]
    body: Callable[..., CELValue]
    member: bool = True
    cost: Callable[[Iterable[int]], int] = sum
    """Of a call, by the lengths of its arguments."""


class CostMeter:
    """How much the functions of one environment may still do; the library counts its own work."""

    MAX_COST: Final = 2_000_000
    SPENT: Final = "operation cancelled: actual cost limit exceeded"

    def __init__(self) -> None:
        self.left = self.MAX_COST

    def counted(self, one: CELFunction) -> Callable[..., CELValue]:
        """A function's body that fails when too much has been done."""

        def body(*arguments: CELValue) -> CELValue:
            lengths = (len(each) for each in arguments if isinstance(each, str | list))
            self.left -= 1 + one.cost(lengths)
            if self.left < 0:
                raise ValueError(self.SPENT)
            result = one.body(*arguments)
            self.left -= len(result) if isinstance(result, list | str) else 0
            return result

        return body


def text_behind(value: MarkedMap, mark: str) -> str:
    """The text behind one of our maps; a map that is none of them calls nothing."""
    if value.keys() != {mark}:
        raise ValueError("no such overload")
    return str(value[mark])


def reads(read: Callable[[str], object]) -> Callable[[str], bool]:
    """Whether a text is one that a reader takes."""

    def readable(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return readable


# ---- quantities ----------------------------------------------------------------------------------


def quantity_value(amount: str | int) -> dict[str, str]:
    """A quantity as expressions see it. Raises QuantityError."""
    return {"quantity": str(nanos(amount))}


def _quantity(text: str) -> MarkedMap:
    try:
        return quantity_value(text)
    except QuantityError as error:
        raise ValueError(error.problem) from error


def _amount(value: MarkedMap) -> int:
    """A quantity's nano-units."""
    return int(text_behind(value, "quantity"))


def _sign(value: MarkedMap) -> int:
    amount = _amount(value)
    return int(amount > 0) - int(amount < 0)


def _whole(value: MarkedMap) -> int:
    amount, rest = divmod(_amount(value), NANO)
    if rest or not -(2**63) <= amount < 2**63:
        raise ValueError("cannot convert value to integer")
    return amount


def _plus(sign: int) -> Callable[[MarkedMap, CELValue], MarkedMap]:
    """Addition to a quantity, or (-1) subtraction from it, of another one or of a whole number."""

    def total(left: MarkedMap, right: CELValue) -> MarkedMap:
        other = right * NANO if isinstance(right, int) else _amount(right)
        return {"quantity": str(_amount(left) + sign * other)}

    return total


# ---- versions ------------------------------------------------------------------------------------

_SEMVER: Final = re.compile(
    r"(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(-(?P<pre>(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def semver_value(version: str) -> dict[str, str]:
    """A version as expressions see it: build metadata does not count. Raises ValueError."""
    if not _SEMVER.fullmatch(version):
        few = version.count(".") < 2
        raise ValueError(
            "No Major.Minor.Patch elements found" if few else f"{version} is no semantic version"
        )
    return {"semver": version.partition("+")[0]}


def _normal(text: str, normalize: bool) -> str:
    """With ``normalize``: without a v, leading zeros, and with all three numbers."""
    if not normalize:
        return text
    core, mark, rest = re.fullmatch(r"v?([\d.]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # matches any text
    numbers = [part.lstrip("0") or "0" for part in core.split(".")]
    return ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + mark + rest


def _precedence(value: MarkedMap) -> tuple[Any, ...]:
    """What orders versions: a release is after its pre-releases, their numbers before their
    words.
    """
    parts = _SEMVER.fullmatch(text_behind(value, "semver"))
    if parts is None:  # a map of the object that looks like one of ours
        raise ValueError("no such overload")
    words = (
        tuple((0, int(w), "") if w.isdigit() else (1, 0, w) for w in parts["pre"].split("."))
        if parts["pre"]
        else ()
    )
    return int(parts["major"]), int(parts["minor"]), int(parts["patch"]), not parts["pre"], words


def _compare(left: MarkedMap, right: MarkedMap) -> int:
    """-1, 0 or 1, of two quantities or two versions."""
    measure: Callable[[MarkedMap], Any] = _amount if "quantity" in left else _precedence
    one, other = measure(left), measure(right)
    return int(one > other) - int(one < other)


# ---- lists and texts -----------------------------------------------------------------------------

_LONGEST: Final = 1_000_000


def _reduced(name: str, take: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def result(items: Sequence[Any]) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return take(items)

    return result


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = min(text.count(old), limit) if limit >= 0 else text.count(old)
    if len(text) + count * (len(new) - len(old)) > _LONGEST:
        raise ValueError(CostMeter.SPENT)
    return text.replace(old, new, limit)


def _join(items: Sequence[str], between: str = "") -> str:
    if sum(map(len, items)) + len(between) * len(items) > _LONGEST:
        raise ValueError(CostMeter.SPENT)
    return between.join(items)


def _short(items: Sequence[Any]) -> Sequence[Any]:
    """Arguments of ``format``, if all that it may make of them is."""
    if len(str(items)) > _LONGEST:
        raise ValueError(CostMeter.SPENT)
    return items


def _sorted(items: Sequence[Any]) -> bool:
    return all(left <= right for left, right in itertools.pairwise(items))


def _distinct(items: Sequence[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if item not in items[:i]]


def _flat(items: Iterable[Any], depth: int = 1) -> list[Any]:
    return [
        leaf
        for one in items
        for leaf in (_flat(one, depth - 1) if isinstance(one, list) and depth > 0 else [one])
    ]


def _slice(items: Sequence[Any], start: int, end: int) -> Sequence[Any]:
    if not 0 <= start <= end <= len(items):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _range(count: int) -> list[int]:
    if count > _LONGEST:
        raise ValueError(f"range of {count} is too long")
    return list(range(count))


def _includes(left: Sequence[Any], right: Iterable[Any]) -> bool:
    return all(one in left for one in right)


def _squared(lengths: Iterable[int]) -> int:
    """Everything may be compared with everything."""
    return sum(lengths) ** 2


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    try:
        return [
            text[start:end]
            for start, end in itertools.islice(
                patterns.spans(pattern, text), limit if limit >= 0 else None
            )
        ]
    except patterns.PatternError as error:
        raise ValueError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


FUNCTIONS: Final[Mapping[str, Sequence[CELFunction]]] = {
    "quantity": (
        CELFunction("quantity", _MAP, (_TEXT,), _quantity, member=False),
        CELFunction("isQuantity", _BOOL, (_TEXT,), reads(_quantity), member=False),
        CELFunction("sign", _INT, (_MAP,), _sign),
        CELFunction("isInteger", _BOOL, (_MAP,), lambda value: not _amount(value) % NANO),
        CELFunction("asInteger", _INT, (_MAP,), _whole),
        CELFunction("asApproximateFloat", _DOUBLE, (_MAP,), lambda value: _amount(value) / NANO),
        CELFunction("add", _MAP, (_MAP, _MAP), _plus(1)),
        CELFunction("add", _MAP, (_MAP, _INT), _plus(1)),
        CELFunction("sub", _MAP, (_MAP, _MAP), _plus(-1)),
        CELFunction("sub", _MAP, (_MAP, _INT), _plus(-1)),
    ),
    "semver": (
        CELFunction("semver", _MAP, (_TEXT,), semver_value, member=False),
        CELFunction(
            "semver",
            _MAP,
            (_TEXT, _BOOL),
            lambda text, normalize: semver_value(_normal(text, normalize)),
            member=False,
        ),
        CELFunction("isSemver", _BOOL, (_TEXT,), reads(semver_value), member=False),
        CELFunction(
            "isSemver",
            _BOOL,
            (_TEXT, _BOOL),
            lambda text, normalize: reads(semver_value)(_normal(text, normalize)),
            member=False,
        ),
        CELFunction("major", _INT, (_MAP,), lambda value: _precedence(value)[0]),
        CELFunction("minor", _INT, (_MAP,), lambda value: _precedence(value)[1]),
        CELFunction("patch", _INT, (_MAP,), lambda value: _precedence(value)[2]),
    ),
    "comparison": (
        CELFunction("compareTo", _INT, (_MAP, _MAP), _compare),
        CELFunction(
            "isLessThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) < 0
        ),
        CELFunction(
            "isGreaterThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) > 0
        ),
    ),
    "lists": (
        CELFunction("isSorted", _BOOL, (_LIST,), _sorted),
        CELFunction("sum", _DYN, (_LIST,), sum),
        CELFunction("min", _DYN, (_LIST,), _reduced("min", min)),
        CELFunction("max", _DYN, (_LIST,), _reduced("max", max)),
        CELFunction("sort", _LIST, (_LIST,), sorted),
        CELFunction("distinct", _LIST, (_LIST,), _distinct, cost=_squared),
        CELFunction("flatten", _LIST, (_LIST,), _flat),
        CELFunction("flatten", _LIST, (_LIST, _INT), _flat),
        CELFunction("slice", _LIST, (_LIST, _INT, _INT), _slice),
        CELFunction("lists.range", _LIST, (_INT,), _range, member=False),
    ),
    "sets": (
        CELFunction("sets.contains", _BOOL, (_LIST, _LIST), _includes, False, math.prod),
        CELFunction(
            "sets.equivalent",
            _BOOL,
            (_LIST, _LIST),
            lambda a, b: _includes(a, b) and _includes(b, a),
            False,
            math.prod,
        ),
        CELFunction(
            "sets.intersects",
            _BOOL,
            (_LIST, _LIST),
            lambda a, b: any(one in b for one in a),
            False,
            math.prod,
        ),
    ),
    "regex": (
        CELFunction("find", _TEXT, (_TEXT, _TEXT), _find, cost=math.prod),
        CELFunction("findAll", _LIST, (_TEXT, _TEXT), _find_all, cost=_squared),
        CELFunction("findAll", _LIST, (_TEXT, _TEXT, _INT), _find_all, cost=_squared),
    ),
    "bounded": (
        CELFunction("boundedReplace", _TEXT, (_TEXT, _TEXT, _TEXT), _replace),
        CELFunction("boundedReplace", _TEXT, (_TEXT, _TEXT, _TEXT, _INT), _replace),
        CELFunction("boundedJoin", _TEXT, (_LIST,), _join),
        CELFunction("boundedJoin", _TEXT, (_LIST, _TEXT), _join),
        CELFunction("boundedArguments", _LIST, (_LIST,), _short, member=False),
    ),
}
"""By what Kubernetes calls them; ``bounded``: what stands in for the library's own functions."""
