"""What draining each node comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from moorage.apps.printing.amounts import counted
from moorage.apps.simulate.simulation_answers import Answer, AnswerTable, waiting_documents
from moorage.apps.worlds.world import World
from moorage.core.objects.meta import key
from moorage.core.simulation.draining import Drain

FEW = 5
_GROUPS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("0 pods", lambda pending: pending == 0),
    (f"1 to {FEW} pods", lambda pending: 0 < pending <= FEW),
    (f"more than {FEW}", lambda pending: pending > FEW),
)


def each_drained(drains: Sequence[Drain], world: World, waiting: int) -> Answer:
    """``waiting``: pods that had no place before."""
    done = sum(one.done for one in drains)
    headline = (
        f"{done:,} of {len(drains):,} nodes can be drained, one at a time, and every pod finds a "
        f"place."
    )
    rows = [
        (name, f"{len(group):,}", _first_reason(group))
        for name, holds in _GROUPS
        if (group := [one for one in drains if holds(len(one.pending))])
    ]
    table = AnswerTable(("PENDING AFTER", "NODES", "FIRST REASON"), tuple(rows), ("NODES",))
    return Answer(
        headline,
        done == len(drains),
        (table,),
        tuple(_notes(drains, world, waiting)),
        {
            "question": "eachNodeDrained",
            "source": world.origin,
            "at": world.at.isoformat(),
            "nodes": len(drains),
            "drainable": done,
            "waitingBefore": waiting,
            "drains": [drain_document(one) for one in drains],
        },
    )


def drain_document(one: Drain) -> dict[str, Any]:
    """One drain, for programs."""
    return {
        "node": one.node,
        "done": one.done,
        "evicted": len(one.evicted),
        "preempted": one.preempted,
        "withoutController": one.nobodys,
        "pending": waiting_documents(one.pending),
        "heldUp": [{"pod": key(pod), "by": why} for pod, why in one.held_up],
    }


def held_up_notes(drains: Sequence[Drain]) -> list[str]:
    """Which nodes budgets keep from being drained."""
    by_budget = Counter(why for one in drains for why in {why: None for _, why in one.held_up})
    held_up = sum(bool(one.held_up) for one in drains)
    if not held_up:
        return []
    nodes, names = counted(held_up, "node"), ", ".join(sorted(by_budget))
    return [f"Budgets are heeded: {nodes} held up by {names}."]


def _notes(drains: Sequence[Drain], world: World, waiting: int) -> list[str]:
    notes = []
    worst = max(drains, key=lambda one: len(one.pending), default=None)
    if worst is not None and worst.pending:
        notes.append(f"Worst: {worst.node}, {counted(len(worst.pending), 'pod')} left pending.")
    notes += held_up_notes(drains)
    preempted = sum(bool(one.preempted) for one in drains)
    if preempted:
        drained = counted(preempted, "drain")
        notes.append(f"In {drained} pods of lower priority had to go for others.")
    nobodys = sum(one.nobodys for one in drains)
    if nobodys:
        pods = counted(nobodys, "pod")
        notes.append(f"{pods} without a controller: nobody makes them again.")
    if waiting:
        notes.append(f"{counted(waiting, 'pod')} without a place before, left out of account.")
    return [*notes, f"From {world.origin}."]


def _first_reason(group: Sequence[Drain]) -> str:
    """What most of these drains fail for."""
    counts = Counter(one.pending[0][1] for one in group if one.pending)
    return max(counts, key=lambda why: (counts[why], why), default="")
