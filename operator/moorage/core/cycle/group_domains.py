"""Domains with room: of the domains that a pod group may lie in, those that are worth a try.

A domain whose nodes obviously lack the room for enough members is not tried; what nodes have left
of requests is a bound that no order of members changes. The domain with the least room that
suffices comes first, so that large ones stay free.

Cost: a few operations on all nodes for each kind of member; no array for each domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.interfaces import ExtensionPoint, is_a
from moorage.core.framework.placement_contract import (
    AlikePods,
    Division,
    Placement,
    RoomPlugin,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod
from moorage.core.structures.tie_breaking import in_order, name_hash

_Counts: TypeAlias = npt.NDArray[np.int64]


class WithoutRoom(NamedTuple):
    """A domain that need not be tried: its nodes take ``most`` of the members, if so many."""

    placement: Placement
    most: int


@dataclasses.dataclass(frozen=True, slots=True)
class DomainsWithRoom:
    """``placements``: the domains that have room, in the order in which they are tried.
    ``without_room``: the others, the one that may take the most members last.
    """

    placements: Sequence[Placement]
    without_room: Sequence[WithoutRoom]

    @property
    def total(self) -> int:
        """How many domains there are."""
        return len(self.placements) + len(self.without_room)

    def or_roomiest(self) -> DomainsWithRoom:
        """One to try where none has room, so that somebody says what is lacking."""
        if self.placements:
            return self
        *others, roomiest = self.without_room
        return DomainsWithRoom([roomiest.placement], others)


class Wanted(NamedTuple):
    """Room for at least ``needed`` of these members of a group."""

    group: GroupSpec
    members: Sequence[Pod]
    needed: int


def domains_with_room(
    division: Division, wanted: Wanted, revision: Revision, context: CycleContext
) -> DomainsWithRoom:
    """The domains that may take that many; those with the same room by (seed, group, domain)."""
    room, takes = _counted(division, _alike(wanted.members, revision, context.snapshot))
    found = np.unique(division.domains)
    codes = found[found != ABSENT].astype(np.intp)
    hashes = np.zeros(len(division.names), np.uint64)
    hashes[codes] = [name_hash(division.names[code] or "") for code in codes.tolist()]
    codes = in_order(codes, hashes, wanted.group.tie_breaker, context.seed)
    codes = codes[room[codes].argsort(kind="stable")]
    named = [(code, Placement(division.key, division.names[code] or "")) for code in codes.tolist()]
    placements = [one for code, one in named if takes[code] >= wanted.needed]
    others = [
        WithoutRoom(one, int(takes[code])) for code, one in named if takes[code] < wanted.needed
    ]
    return DomainsWithRoom(placements, sorted(others, key=lambda one: one.most))


def _counted(division: Division, kinds: Sequence[AlikePods]) -> tuple[_Counts, _Counts]:
    """By code: how many pods of each kind domains have room for were it alone, summed up; and how
    many of the members at most.
    """
    size = len(division.names)
    room, takes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for alike in kinds:
        most = alike.most
        rows = division.domains.size if most is None else min(division.domains.size, most.size)
        there = np.full(rows, alike.number) if most is None else most[:rows]
        sums = np.bincount(division.domains[:rows], there, size).astype(np.int64)
        room += sums
        takes += np.minimum(sums, alike.number)
    return room, takes


@dataclasses.dataclass(slots=True)
class PassedOver:
    """Why preferred domains were not taken, for whoever asks where a group lies."""

    members: int
    said: list[str] = dataclasses.field(default_factory=list)

    def without_room(self, key: str, room: DomainsWithRoom) -> None:
        """Those of a label that were not tried."""
        if count := len(room.without_room):
            head = f"{count} of {room.total} values of {key}"
            self.said.append(f"{head} have no room for {self.members} members")

    def tried(self, placement: Placement, why: str) -> None:
        """One that did not take all of them."""
        self.said.append(f"{placement.key}={placement.name}: {why}")

    def lying_in(self, placement: Placement) -> Status:
        """SUCCESS, with where the members lie and what was passed over before."""
        there = "members lie in no preferred domain"
        if placement.key:
            there = f"all members lie in {placement.key}={placement.name}"
        return Status(Code.SUCCESS, ("; ".join((there, *self.said)),))


def _alike(members: Sequence[Pod], revision: Revision, snapshot: Snapshot) -> Sequence[AlikePods]:
    """Members by what they ask for, as the profile's filters count it."""
    for _, plugin in revision.at(ExtensionPoint.FILTER):
        if is_a(plugin, RoomPlugin):
            return plugin.room_for(members, snapshot)
    return [AlikePods(len(members), None)]
