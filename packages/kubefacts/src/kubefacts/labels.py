"""Label selectors: requirements on labels, checked and compiled once, then asked often.

A selector is given as an object holds it (``SelectorLike``: any struct with these attributes;
``from_body`` makes one of plain JSON); ``selector_texts`` reads one from the text of a query. A
compiled requirement is a ``LabelRequirementCheck`` on the value of one label; it serves label
selectors and node selectors alike (those also know Gt and Lt). Source: Kubernetes apimachinery
``labels`` (v1.36), whose messages administrators and tools know.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kubefacts.names import label_value, qualified_name

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
"""What a node selector may use."""

_STRANGE = re.compile(r"[^-A-Za-z0-9_.\n]")
_BAD_ENDS = tuple(end for sign in "-_." for end in (f"\n{sign}", f"{sign}\n"))
"""What lines that are values have not."""
_MAX_VALUE_BYTES = 63
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,19}")


class RequirementLike(Protocol):
    """``key operator values``, of a label selector or of a node selector."""

    @property
    def key(self) -> str: ...

    @property
    def operator(self) -> str:
        """One of LABEL_OPERATORS or NODE_OPERATORS, where nothing is wrong."""

    @property
    def values(self) -> Sequence[str] | None:
        """What the operator compares with."""


class SelectorLike(Protocol):
    """metav1.LabelSelector: all of matchLabels and matchExpressions."""

    @property
    def match_labels(self) -> Mapping[str, str] | None:
        """Labels that have just these values."""

    @property
    def match_expressions(self) -> Sequence[RequirementLike] | None: ...


class Requirement(NamedTuple):
    """A RequirementLike for whoever has no class of its own."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(NamedTuple):
    """A SelectorLike for whoever has no class of its own."""

    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


def from_body(body: Mapping[str, Any] | None) -> LabelSelector | None:
    """The selector that stands in an object's JSON; what is missing there is missing here."""
    if body is None:
        return None
    listed = body.get("matchExpressions") or ()
    requirements = tuple(
        Requirement(one.get("key", ""), one.get("operator", ""), tuple(one.get("values") or ()))
        for one in listed
    )
    return LabelSelector(body.get("matchLabels"), requirements)


class RequirementFault(NamedTuple):
    """What is wrong with a selector: where (``matchExpressions[0].key``, relative to the selector),
    with what value, and why.
    """

    path: str
    value: object
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: Invalid value: {_json(self.value)}: {self.problem}"


class SelectorError(ValueError):
    """All faults of a selector."""

    def __init__(self, faults: Iterable[RequirementFault]) -> None:
        self.faults = tuple(faults)
        texts = ", ".join(map(str, self.faults))
        super().__init__(texts if len(self.faults) == 1 else f"[{texts}]")


@dataclasses.dataclass(frozen=True, slots=True)
class LabelRequirementCheck:
    """A compiled requirement. ``bound`` is the operand of Gt and Lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    bound: int = 0

    def matches(self, value: str | None) -> bool:
        """Whether the label may have this value, None for absent."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        number = integer(value or "")
        return number is not None and (
            number > self.bound if self.operator == "Gt" else number < self.bound
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """A compiled label selector: all conditions must hold. None for ``conditions``: it selects
    nothing.
    """

    conditions: tuple[LabelRequirementCheck, ...] | None

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        if self.conditions is None:
            return False
        return all_match(self.conditions, labels or {})

    @property
    def words(self) -> int:
        """How many keys and values it names: what it costs to keep it."""
        return sum(1 + len(condition.values) for condition in self.conditions or ())


NOTHING = Selector(None)
EVERYTHING = Selector(())


def compile_selector(
    selector: SelectorLike | None, path: str = "", *, empty: Selector = EVERYTHING
) -> Selector:
    """A missing selector selects nothing, an empty one what ``empty`` says. Raises SelectorError
    with all faults.
    """
    if selector is None:
        return NOTHING
    labels, expressions = selector.match_labels or {}, selector.match_expressions or ()
    if not labels and not expressions:
        return empty
    equalities = [Requirement(key, "In", (value,)) for key, value in sorted(labels.items())]
    if faults := list(_faults(equalities, expressions, path)):
        raise SelectorError(faults)
    return Selector(tuple(condition(one) for one in (*equalities, *expressions)))


def _faults(
    equalities: Iterable[Requirement], expressions: Iterable[RequirementLike], path: str
) -> Iterator[RequirementFault]:
    for wanted in equalities:
        for fault in requirement_faults(wanted, "", LABEL_OPERATORS):
            yield fault._replace(path=at(path, "matchLabels"))
    for i, expression in enumerate(expressions):
        where = at(path, f"matchExpressions[{i}]")
        yield from requirement_faults(expression, where, LABEL_OPERATORS)


def equality(labels: Mapping[str, str]) -> tuple[LabelRequirementCheck, ...]:
    """The conditions of a plain map (nodeSelector, a Service's selector): each label with just this
    value, whatever its syntax.
    """
    return tuple(
        LabelRequirementCheck(key, "In", frozenset((value,))) for key, value in labels.items()
    )


def all_match(conditions: Iterable[LabelRequirementCheck], labels: Mapping[str, str]) -> bool:
    """Whether these labels meet every condition."""
    return all(condition.matches(labels.get(condition.key)) for condition in conditions)


# ---- whether selectors may meet ------------------------------------------------------------------

_ANOTHER = "any value that no selector names"
"""No label has it, since values have no blanks."""


def can_hold(conditions: Iterable[LabelRequirementCheck]) -> bool:
    """Whether there are labels that meet all conditions: each key is by itself."""
    by_key: dict[str, list[LabelRequirementCheck]] = {}
    for check in conditions:
        by_key.setdefault(check.key, []).append(check)
    return all(
        any(_meets(checks, one) for one in _candidates(checks)) for checks in by_key.values()
    )


def _meets(checks: Iterable[LabelRequirementCheck], value: str | None) -> bool:
    return all(check.matches(value) for check in checks)


def _candidates(checks: Sequence[LabelRequirementCheck]) -> Iterator[str | None]:
    """A label's absence and values of it, one of which meets all conditions on it if any does. Of
    the values that none of them names, one stands for all, less those that are numbers.
    """
    named = {value for check in checks for value in check.values}
    yield from (None, _ANOTHER, *named)
    for check in checks:
        if check.operator in ("Gt", "Lt"):
            nearest = max(check.bound + 1, 0) if check.operator == "Gt" else check.bound - 1
            # A number may be written with zeros before it, so that it is none of those named.
            for zeros in range(len(named) + 1 if nearest >= 0 else 0):
                yield "0" * zeros + str(nearest)


# ---- one requirement -----------------------------------------------------------------------------


def condition(requirement: RequirementLike) -> LabelRequirementCheck:
    """A requirement without faults, compiled."""
    values = requirement.values or ()
    bound = integer(values[0]) if requirement.operator in ("Gt", "Lt") else None
    return LabelRequirementCheck(
        requirement.key, requirement.operator, frozenset(values), bound or 0
    )


def requirement_faults(
    requirement: RequirementLike, path: str, operators: tuple[str, ...]
) -> Iterator[RequirementFault]:
    """What is wrong with a requirement that may use these operators."""
    key, operator = requirement.key, requirement.operator
    if wrong := qualified_name(key):
        yield RequirementFault(at(path, "key"), key, "; ".join(wrong))
    if operator in operators:
        yield from _value_faults(requirement, at(path, "values"))
    else:
        problem = f"must be one of {', '.join(operators)}"
        yield RequirementFault(at(path, "operator"), operator, problem)


def _value_faults(requirement: RequirementLike, path: str) -> Iterator[RequirementFault]:
    values = requirement.values or ()
    if problem := _wrong_count(requirement.operator, len(values)):
        yield RequirementFault(path, values, problem)
    for i, value in enumerate(values if requirement.operator in ("Gt", "Lt") else ()):
        if integer(value) is None:
            problem = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield RequirementFault(f"{path}[{i}]", value, problem)
    for i, value in enumerate(values if not _all_sound(values) else ()):
        if wrong := label_value(value):
            yield RequirementFault(f"{path}[{i}][{requirement.key}]", value, "; ".join(wrong))


def _all_sound(values: Sequence[str]) -> bool:
    """Whether no value has a problem, for many at once."""
    lines = "\n".join(("", *values, ""))
    if (
        lines.count("\n") != len(values) + 1
        or _STRANGE.search(lines)
        or any(end in lines for end in _BAD_ENDS)
    ):
        return False
    return max(map(len, values), default=0) <= _MAX_VALUE_BYTES


def integer(text: str) -> int | None:
    """A decimal int64, None for any other text."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def at(path: str, field: str) -> str:
    """The path of a field under ``path``."""
    return f"{path}.{field}" if path else field


def _wrong_count(operator: str, count: int) -> str:
    """Why an operator can't have so many values, or nothing."""
    if operator in ("In", "NotIn"):
        return "" if count else "for 'in', 'notin' operators, values set can't be empty"
    if operator in ("Exists", "DoesNotExist"):
        return "values set must be empty for exists and does not exist" if count else ""
    return "" if count == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
