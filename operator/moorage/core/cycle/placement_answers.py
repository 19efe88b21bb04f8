"""Placement answers: what came of a pod group in each set of nodes where it was tried, for whoever
tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from moorage.core.cycle.context import Diagnosis
from moorage.core.cycle.group_domains import WithoutRoom
from moorage.core.cycle.tentative_members import TriedPlacement
from moorage.core.framework.status import Code


class PlacementAnswer(NamedTuple):
    """What came of one placement: how many members found a node there beside those that have one,
    and why the first that found none did not, "" where enough did. One that was not ``tried`` takes
    no more than ``found``.
    """

    name: str
    found: int
    reason: str
    tried: bool = True


class _Tried(Protocol):
    """The outcome of a group's attempt, or its result."""

    @property
    def tried(self) -> Sequence[TriedPlacement]: ...

    @property
    def without_room(self) -> Sequence[WithoutRoom]: ...


def placement_answers(outcome: _Tried, members: int) -> tuple[PlacementAnswer, ...]:
    """Those that were tried, in their order, then those that were not, the best first. ``members``:
    how many there were to place.
    """
    tried = (
        PlacementAnswer(one.placement.name, len(one.placed), _why_not(one)) for one in outcome.tried
    )
    said = f"of {members} members at most"
    others = (
        PlacementAnswer(one.placement.name, one.most, f"room for {one.most} {said}", tried=False)
        for one in reversed(outcome.without_room)
    )
    return (*tried, *others)


def _why_not(tried: TriedPlacement) -> str:
    """The first member's reason, else the group's."""
    if tried.status.code is Code.SUCCESS:
        return ""
    refusals = (one.message for one in tried.decisions if isinstance(one, Diagnosis))
    return next(refusals, tried.status.message)
