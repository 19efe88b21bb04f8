"""What a scenario comes to, in one world or under a candidate beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.apps.printing.amounts import counted
from moorage.apps.simulate.drain_answers import drain_document, held_up_notes
from moorage.apps.simulate.simulation_answers import (
    Answer,
    AnswerTable,
    amount,
    waiting_documents,
    waiting_table,
)
from moorage.apps.worlds.world import World
from moorage.core.simulation.measures import Measure
from moorage.core.simulation.scenarios import Outcome

CANNOT_KNOW = (
    "Cannot know: how users and controllers react (autoscalers too), what extenders and admission "
    "would say."
)


def one_world(found: Outcome, world: World) -> Answer:
    """What comes of it under the profiles that decide now."""
    columns = ("", "BEFORE", "AFTER")
    tables = [_measures(columns, found.before, found.after)]
    return Answer(
        _headline(found),
        found.settled,
        _with_waiting(tables, found),
        (*_notes(found), f"From {world.origin}.", CANNOT_KNOW),
        {
            "question": "scenario",
            "source": world.origin,
            "at": world.at.isoformat(),
            "worlds": [_document(found)],
        },
    )


def two_worlds(a: Outcome, b: Outcome, world: World) -> Answer:
    """The same under the profiles that decide now (A) and with candidates (B), from one moment."""
    elsewhere = sum(a.placed[uid] != b.placed[uid] for uid in a.placed.keys() & b.placed.keys())
    more = len(b.waiting) - len(a.waiting)
    said = f"{abs(more)} {'fewer' if more < 0 else 'more'} than" if more else "as many as"
    headline = f"{counted(len(b.waiting), 'pod')} without a place under B, {said} under A."
    rows = [
        (
            measure.name,
            amount(a.after.get(measure), measure.unit),
            amount(b.after.get(measure), measure.unit),
            amount(_difference(a.after, b.after, measure), measure.unit, signed=True),
        )
        for measure in a.after
    ]
    preempted = (str(a.preempted), str(b.preempted), f"{b.preempted - a.preempted:+}")
    table = AnswerTable(
        ("", "A", "B", "B - A"), (*rows, ("preempted", *preempted)), ("A", "B", "B - A")
    )
    notes = (
        f"Elsewhere: {elsewhere:,} of {len(a.placed.keys() & b.placed.keys()):,} pods.",
        *(f"B: {note}" for note in _notes(b)),
        f"From {world.origin}. One moment: how sure a difference is only a recording tells.",
        CANNOT_KNOW,
    )
    return Answer(
        headline,
        len(b.waiting) <= len(a.waiting),
        _with_waiting([table], b),
        notes,
        {
            "question": "scenario",
            "source": world.origin,
            "at": world.at.isoformat(),
            "worlds": [_document(a), _document(b)],
            "elsewhere": elsewhere,
        },
    )


def _headline(found: Outcome) -> str:
    placed, waiting = len(found.placed), len(found.waiting)
    held_up = sum(len(one.held_up) for one in found.drains)
    parts = [f"{counted(placed, 'pod')} placed"]
    parts.append(f"{waiting:,} without a place" if waiting else "none without a place")
    if found.preempted:
        parts.append(f"{found.preempted:,} had to go for others")
    if held_up:
        parts.append(f"{held_up:,} held on drained nodes by budgets")
    return f"{', '.join(parts)}."


def _notes(found: Outcome) -> list[str]:
    notes = held_up_notes(found.drains)
    nobodys = sum(one.nobodys for one in found.drains)
    if nobodys:
        evicted = counted(nobodys, "evicted pod")
        notes.append(f"{evicted} without a controller: nobody makes them again.")
    return notes + [f"{plugin} failed: {error}." for plugin, error in found.faults.items()]


def _with_waiting(tables: list[AnswerTable], found: Outcome) -> tuple[AnswerTable, ...]:
    return (*tables, waiting_table(found.waiting)) if found.waiting else tuple(tables)


def _measures(
    columns: tuple[str, str, str], one: Mapping[Measure, float], other: Mapping[Measure, float]
) -> AnswerTable:
    rows = [
        (
            measure.name,
            amount(one.get(measure), measure.unit),
            amount(other.get(measure), measure.unit),
        )
        for measure in other
    ]
    return AnswerTable(columns, tuple(rows), columns[1:])


def _difference(
    one: Mapping[Measure, float], other: Mapping[Measure, float], measure: Measure
) -> float | None:
    mine, its = one.get(measure), other.get(measure)
    return None if mine is None or its is None else its - mine


def _document(found: Outcome) -> dict[str, Any]:
    return {
        "measures": [
            {"name": one.name, "unit": one.unit, "before": found.before.get(one), "after": value}
            for one, value in found.after.items()
        ],
        "placed": len(found.placed),
        "preempted": found.preempted,
        "waiting": waiting_documents(found.waiting),
        "drains": [drain_document(one) for one in found.drains],
    }
