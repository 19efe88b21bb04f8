"""Gangs: the members of a pod group that must be placed at once, or not at all.

Members are placed one after another, for real: each sees what those before it took, whatever kind of thing that is. When fewer fit
than are needed everything is taken back, in reverse order, so a group that does not fit holds nothing while it waits. A large group is
placed in slices, one group at a time, so that two groups cannot block each other by what each of them has got; what others did to its
nodes meanwhile is looked at before anything is bound.

No room is made for a group that does not fit: what would be evicted for one member helps nobody if the next one finds no room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from moorage.core import cycle
from moorage.core.columns.budget import OutOfTime
from moorage.core.framework.interfaces import PostFilterResult
from moorage.core.framework.profiles import Revision
from moorage.core.making_room import refusals
from moorage.core.objects import Pod
from moorage.core.scheduler import Diagnosis, Placement, Scheduler
from moorage.core.verdicts import REFUSALS, SUCCESS, Code

NO_ROOM_MADE = PostFilterResult(SUCCESS, "", errand={})


Placer: TypeAlias = Callable[[Pod], Placement | Diagnosis]
Placing: TypeAlias = Generator[bool, bool | None, list[Placement | Diagnosis]]
"""Yields whether it is a piece further, else it ran out of time; is sent whether others have had their turn since."""


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


def placing(gang: Gang, pods: Sequence[Pod], place: Placer, scheduler: Scheduler, broken: Callable[[], str]) -> Placing:
    """The outcome of each pod, in the order given: at least ``needed`` placements, or none. There are at least so many pods.

    ``place`` places one pod for real. Where enough are placed, the diagnoses of the others are their own: they go on as pods of
    which nobody depends. ``broken``: what has become of the members or the profile meanwhile, that makes all of it vain.
    """
    outcomes: list[Placement | Diagnosis] = []
    try:
        news = yield from _place_all(pods, place, scheduler, outcomes)
        enough = sum(isinstance(outcome, Placement) for outcome in outcomes) >= gang.needed
        why = (yield from _overtaken(outcomes, news, scheduler, broken)) if enough else ""
        if enough and not why:
            return outcomes
        explained = _failed(gang, outcomes, why) if why else list(_explained(gang, outcomes))
        for outcome in reversed(outcomes):
            if isinstance(outcome, Placement):
                cycle.undo(outcome, scheduler.cache)
                yield True
    except BaseException:
        for outcome in reversed(outcomes):
            if isinstance(outcome, Placement):
                cycle.undo(outcome, scheduler.cache)
        raise
    return list(explained)


def _place_all(
    pods: Sequence[Pod], place: Placer, scheduler: Scheduler, outcomes: list[Placement | Diagnosis]
) -> Generator[bool, bool | None, list[int]]:
    """Place one after another; the ``news`` of each one's node when it was chosen, none where nobody could do anything meanwhile."""
    news: list[int] = []
    paused = False
    for pod in pods:
        while len(outcomes) == len(news):
            try:
                outcomes.append(place(pod))
            except OutOfTime:
                paused |= bool((yield False))
        outcome = outcomes[-1]
        news.append(scheduler.cache.news(outcome.node) if isinstance(outcome, Placement) else 0)
        paused |= bool((yield True))
    return news if paused else []


def _overtaken(
    outcomes: Sequence[Placement | Diagnosis], news: list[int], scheduler: Scheduler, broken: Callable[[], str]
) -> Generator[bool, bool | None, str]:
    """Why what was placed does not hold any more, as others had their turn meanwhile; "" when it does."""
    paused = bool(news)
    while paused:
        paused = False
        if why := broken():
            return why
        for i, outcome in enumerate(outcomes):
            if isinstance(outcome, Placement) and scheduler.cache.news(outcome.node) != news[i]:
                now = scheduler.cache.news(outcome.node)
                try:
                    if why := cycle.objection(outcome, scheduler):
                        return why
                except OutOfTime:
                    paused |= bool((yield False))
                    break
                news[i] = now
    return ""


def _failed(gang: Gang, outcomes: Sequence[Placement | Diagnosis], why: str) -> list[Diagnosis]:
    """Everybody is tried again."""
    text = f'pod group "{gang.name}" was overtaken while its members were placed: {why}'
    return [Diagnosis(outcome.pod, outcome.revision, Code.ERROR, text) for outcome in outcomes]


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
