"""Gangs: the members of a pod group that must be placed at once, or not at all.

Members are placed one after another, for real: each sees what those before it took, whatever kind of thing that is. When fewer fit
than are needed everything is taken back, in reverse order. All of it is one synchronous call, so nobody sees what is in between, and
a group that does not fit holds nothing while it waits: two groups cannot block each other by what each of them has got.

No room is made for a group that does not fit: what would be evicted for one member helps nobody if the next one finds no room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from moorage.core import cycle
from moorage.core.columns.cache import Cache
from moorage.core.framework.interfaces import PostFilterResult
from moorage.core.framework.profiles import Revision
from moorage.core.making_room import refusals
from moorage.core.objects import Pod
from moorage.core.scheduler import Diagnosis, Placement, Scheduler
from moorage.core.verdicts import REFUSALS, SUCCESS, Code

NO_ROOM_MADE = PostFilterResult(SUCCESS, "", errand={})


@dataclasses.dataclass(frozen=True, slots=True)
class Gang:
    """Which group it is, how many of its members must be placed now, and how many in all."""

    name: str
    needed: int
    min_member: int
    note: str = ""
    """Said at the end of each message."""


def place(pod: Pod, revision: Revision, scheduler: Scheduler) -> Placement | Diagnosis:
    """Decide and commit; a pod that fits nowhere has no room made for it."""
    blueprint = cycle.look(pod, revision, scheduler)
    if isinstance(blueprint, Diagnosis):
        return blueprint
    if not blueprint.fits:
        return refusals(blueprint, scheduler.snapshot).diagnosis(pod, revision, NO_ROOM_MADE)
    placement = cycle.decide(pod, revision, scheduler)
    return cycle.commit(placement, scheduler) if isinstance(placement, Placement) else placement


def place_together(
    gang: Gang, pods: Sequence[Pod], place: Callable[[Pod], Placement | Diagnosis], cache: Cache
) -> list[Placement | Diagnosis]:
    """The outcome of each pod, in the order given: at least ``needed`` placements, or none. There are at least so many pods.

    ``place`` places one pod for real. Where enough are placed, the diagnoses of the others are their own: they go on as pods of
    which nobody depends.
    """
    outcomes: list[Placement | Diagnosis] = []
    enough = False
    try:
        for pod in pods:
            outcomes.append(place(pod))  # noqa: PERF401  # what is placed is known should the next one raise
        enough = sum(isinstance(outcome, Placement) for outcome in outcomes) >= gang.needed
    finally:
        if not enough:
            for outcome in reversed(outcomes):
                if isinstance(outcome, Placement):
                    cycle.undo(outcome, cache)
    return outcomes if enough else list(_explained(gang, outcomes))


def _explained(gang: Gang, outcomes: Sequence[Placement | Diagnosis]) -> list[Diagnosis]:
    """Why nobody was placed: those that did not fit for their own reason, the others for the first of these.

    Whatever may free one of them may free them all: everybody that was not at fault is refused by all who refused one.
    """
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Diagnosis)]
    first = refusals[0]
    rejectors = frozenset[str]().union(*(refusal.rejectors for refusal in refusals if refusal.code in REFUSALS))
    fit = len(outcomes) - len(refusals)
    head = f'pod group "{gang.name}": {fit} of {len(outcomes)} waiting members fit, {gang.needed} must (minMember {gang.min_member})'
    explained = []
    for outcome in outcomes:
        if isinstance(outcome, Placement):
            text = f"{head}; this one fits and waits for others such as {first.pod.metadata.name!r}: {first.message}"
            explained.append(Diagnosis(outcome.pod, outcome.revision, Code.UNSCHEDULABLE, text + gang.note, rejectors))
        else:
            blamed = rejectors if outcome.code in REFUSALS else outcome.rejectors
            explained.append(dataclasses.replace(outcome, message=f"{head}: {outcome.message}{gang.note}", rejectors=blamed))
    return explained
