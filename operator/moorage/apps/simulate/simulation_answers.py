"""Answers: what a simulation came to, in sentences, tables and charts, for whoever shows them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType

from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.ports.texts import printable

NAMED_PODS = 3
_OF_GROUP = re.compile(
    r"(?:pod group is unschedulable, )*(minCount .+? remaining).*?; '.+?' does not fit: "
    r"0/\d+ nodes are available: \d+ (.+?)(?:, \d|\.(?: |$))",
    re.DOTALL,
)
"""What a member is told that is not at fault: core/cycle/group_outcome."""
_GI = 2**30
_LARGE = 10
"""From here on decimals say nothing."""


class AnswerTable(NamedTuple):
    """A table; ``numbers``: columns that stand to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()


class Chart(NamedTuple):
    """How a measure went, window by window; by world."""

    title: str
    series: Mapping[str, Sequence[float | None]]


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """``yes`` is the exit status, ``body`` what programs get."""

    headline: str
    yes: bool
    tables: tuple[AnswerTable, ...]
    notes: tuple[str, ...]
    body: Mapping[str, Any]
    charts: tuple[Chart, ...] = ()


def terminal_parts(answer: Answer) -> Iterator[RenderableType]:
    """The answer for people at a terminal."""
    yield sentence(answer.headline, Style.WELL if answer.yes else Style.REFUSED)
    for table in answer.tables:
        wide = tuple(one for one in table.columns[1:] if one not in table.numbers)
        found = new_table(*table.columns, numbers=table.numbers, wide=wide or table.columns[-1])
        for row in table.rows:
            found.add_row(*(sentence(cell) for cell in row))
        yield found
    for note in answer.notes:
        yield sentence(note)


def amount(value: float | None, unit: str, signed: bool = False) -> str:
    """A value of a measure; "-" for none."""
    if value is None:
        return "-"
    sign = "+" if signed and value > 0 else ""
    match unit:
        case "%":
            return f"{sign}{value:.1f} %"
        case "s":
            return f"{sign}{value:.2f}s" if abs(value) < _LARGE else f"{sign}{value:.0f}s"
        case "cpu":
            return f"{sign}{value / 1000:,.1f}"
        case "memory" | "ephemeral-storage":
            return f"{sign}{value / _GI:,.1f}Gi"
    return f"{sign}{value:,.1f}" if abs(value) < _LARGE and value % 1 else f"{sign}{value:,.0f}"


def waiting_table(waiting: Sequence[tuple[Pod, str]]) -> AnswerTable:
    """Pods that have no place, by the reason why; the whole of it has ``waiting_documents``."""
    by_reason: dict[str, list[str]] = {}
    for pod, why in waiting:
        by_reason.setdefault(printable(_in_short(why)), []).append(key(pod))
    rows = [
        (str(len(pods)), why, _some(pods))
        for why, pods in sorted(by_reason.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    return AnswerTable(("PODS", "WAIT FOR", "SUCH AS"), tuple(rows), ("PODS",))


def waiting_documents(waiting: Sequence[tuple[Pod, str]]) -> list[dict[str, str]]:
    """The same for programs."""
    return [{"pod": key(pod), "reason": why} for pod, why in waiting]


def _in_short(why: str) -> str:
    """Of a pod group's member how many of them fit, and the first reason of the one that does not:
    all that nodes and preemption said would be some hundred characters.
    """
    found = _OF_GROUP.match(why)
    return why if found is None else f"{found[1]}: {found[2]}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED_PODS
    return ", ".join(names[:NAMED_PODS]) + (f" and {more} more" if more > 0 else "")
