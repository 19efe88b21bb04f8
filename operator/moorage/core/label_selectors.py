"""Label selectors: requirements on labels, checked and compiled once, then asked often.

A compiled requirement is a ``Condition`` on the value of one label; it serves label selectors and node selectors alike (those also
know Gt and Lt). Source: Kubernetes apimachinery ``labels`` (v1.36), whose messages administrators and tools know.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kubefacts.names import problems
from moorage.core.objects.selector_terms import LabelSelector, Requirement

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
"""What a node selector may use."""

_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_STRANGE = re.compile(r"[^-A-Za-z0-9_.\n]")
_BAD_ENDS = tuple(end for sign in "-_." for end in (f"\n{sign}", f"{sign}\n"))
"""What lines that are values have not."""
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE.pattern}')"
)
_LONGEST = 63
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,19}")


class Fault(NamedTuple):
    """What is wrong with a selector: where (``matchExpressions[0].key``, relative to the selector), with what value, and why."""

    path: str
    value: object
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: Invalid value: {msgspec.json.encode(self.value).decode()}: {self.problem}"


class SelectorError(ValueError):
    """All faults of a selector."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        texts = ", ".join(map(str, self.faults))
        super().__init__(texts if len(self.faults) == 1 else f"[{texts}]")


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A compiled requirement. ``bound`` is the operand of Gt and Lt."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()
    bound: int = 0

    def holds(self, value: str | None) -> bool:
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
        return number is not None and (number > self.bound if self.operator == "Gt" else number < self.bound)


@dataclasses.dataclass(frozen=True, slots=True)
class Selector:
    """A compiled label selector: all conditions must hold. None for ``conditions``: it selects nothing."""

    conditions: tuple[Condition, ...] | None

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        if self.conditions is None:
            return False
        return all_hold(self.conditions, labels or {})

    @property
    def words(self) -> int:
        """How many keys and values it names: what it costs to keep it."""
        return sum(1 + len(condition.values) for condition in self.conditions or ())


NOTHING = Selector(None)
EVERYTHING = Selector(())


def compile_selector(selector: LabelSelector | None, path: str = "") -> Selector:
    """A missing selector selects nothing, an empty one everything. Raises SelectorError with all faults."""
    if selector is None:
        return NOTHING
    pairs = sorted((selector.match_labels or {}).items())
    equalities = [Requirement(key, "In", (value,)) for key, value in pairs]
    faults = [fault._replace(path=at(path, "matchLabels")) for one in equalities for fault in faults_of(one, "", LABEL_OPERATORS)]
    expressions = selector.match_expressions or ()
    for i, expression in enumerate(expressions):
        faults += faults_of(expression, at(path, f"matchExpressions[{i}]"), LABEL_OPERATORS)
    if faults:
        raise SelectorError(faults)
    return Selector(tuple(condition(one) for one in (*equalities, *expressions)))


def equality(labels: Mapping[str, str]) -> tuple[Condition, ...]:
    """The conditions of a plain map (nodeSelector, a Service's selector): each label with just this value, whatever its syntax."""
    return tuple(Condition(key, "In", frozenset((value,))) for key, value in labels.items())


def all_hold(conditions: Iterable[Condition], labels: Mapping[str, str]) -> bool:
    """Whether these labels meet every condition."""
    return all(condition.holds(labels.get(condition.key)) for condition in conditions)


# ---- one requirement -----------------------------------------------------------------------------------------------------


def condition(requirement: Requirement) -> Condition:
    """A requirement without faults, compiled."""
    values = requirement.values or ()
    bound = integer(values[0]) if requirement.operator in ("Gt", "Lt") else None
    return Condition(requirement.key, requirement.operator, frozenset(values), bound or 0)


def faults_of(requirement: Requirement, path: str, operators: tuple[str, ...]) -> Iterator[Fault]:
    """What is wrong with a requirement that may use these operators."""
    if wrong := problems(requirement.key):
        yield Fault(at(path, "key"), requirement.key, "; ".join(wrong))
    if requirement.operator not in operators:
        yield Fault(at(path, "operator"), requirement.operator, f"must be one of {', '.join(operators)}")
        return
    values, values_path = requirement.values or (), at(path, "values")
    if problem := _wrong_count(requirement.operator, len(values)):
        yield Fault(values_path, values, problem)
    for i, value in enumerate(values):
        if requirement.operator in ("Gt", "Lt") and integer(value) is None:
            yield Fault(f"{values_path}[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
    for i, value in enumerate(values if not _all_sound(values) else ()):
        if wrong := value_problems(value):
            yield Fault(f"{values_path}[{i}][{requirement.key}]", value, "; ".join(wrong))


def value_problems(value: str) -> list[str]:
    """What is wrong with a label's value; empty when nothing is."""
    too_long = [f"must be no more than {_LONGEST} bytes"] if len(value.encode()) > _LONGEST else []
    return too_long + ([] if _VALUE.fullmatch(value) else [_VALUE_RULE])


def _all_sound(values: Sequence[str]) -> bool:
    """Whether no value has a problem, for many at once."""
    lines = "\n".join(("", *values, ""))
    if lines.count("\n") != len(values) + 1 or _STRANGE.search(lines) or any(end in lines for end in _BAD_ENDS):
        return False
    return max(map(len, values), default=0) <= _LONGEST


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
