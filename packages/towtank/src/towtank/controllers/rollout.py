"""How large each ReplicaSet of a Deployment is to be next: arithmetic, without a cluster.

One step at a time: what a step may take away depends on what is available by then.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

Sizes = Mapping[str, int]
"""Replicas by the name of the set; who is not in it stays as large as it is."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaSetSize:
    """A ReplicaSet: how many pods it is to have, and how many of those are available."""

    name: str
    desired: int
    available: int = 0
    limit: int = 0
    """What all sets could have together when this one was scaled last; 0 for unknown."""


@dataclasses.dataclass(frozen=True, slots=True)
class RolloutTarget:
    """How many pods there shall be, how many may be there besides while it rolls, and how many of
    them may lack.
    """

    replicas: int
    surge: int
    unavailable: int

    @property
    def max_total(self) -> int:
        """Pods of all sets together."""
        return self.replicas + self.surge if self.replicas else 0

    @property
    def min_available(self) -> int:
        """How many pods have to be available."""
        return self.replicas - self.unavailable


def rollout_target(
    replicas: int, max_surge: int | str, max_unavailable: int | str
) -> RolloutTarget:
    """Of a Deployment's fields. Where both come to nothing, one may be unavailable: else nothing
    could move.
    """
    surge, unavailable = (
        resolve_int_or_percent(max_surge, replicas, up=True),
        resolve_int_or_percent(max_unavailable, replicas, up=False),
    )
    if not surge and not unavailable:
        unavailable = 1
    return RolloutTarget(replicas, surge, min(unavailable, replicas))


def resolve_int_or_percent(value: int | str, whole: int, *, up: bool) -> int:
    """A number, or a share such as "25%" of the whole."""
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * whole
    return -(-share // 100) if up else share // 100


def scale_up_new(new: ReplicaSetSize, olds: Sequence[ReplicaSetSize], to: RolloutTarget) -> int:
    """The next size of the new set: as large as the surge allows beside what is left of the old
    ones.
    """
    room = max(to.replicas + to.surge - new.desired - sum(old.desired for old in olds), 0)
    return min(new.desired + room, to.replicas)


def scale_down_old(new: ReplicaSetSize, olds: Sequence[ReplicaSetSize], to: RolloutTarget) -> Sizes:
    """The next sizes of the old sets, which come oldest first: what is not available goes first,
    then what need not be.
    """
    room = (
        new.desired
        + sum(old.desired for old in olds)
        - to.min_available
        - max(new.desired - new.available, 0)
    )
    sizes = {old.name: old.desired for old in olds}
    for broken_ones in (True, False):
        for old in olds:
            most = max(old.desired - old.available, 0) if broken_ones else sizes[old.name]
            gone = min(most, max(room, 0))
            sizes[old.name] -= gone
            room -= gone
    return {old.name: sizes[old.name] for old in olds if sizes[old.name] != old.desired}


def scale_proportionally(sets: Sequence[ReplicaSetSize], to: RolloutTarget) -> Sizes:
    """Sizes after the Deployment was scaled while it rolled: each set grows or shrinks by its
    share. The newest set comes first.
    """
    missing = to.max_total - sum(each.desired for each in sets)
    # stable: of equal ones the newer is first
    ordered = sorted(sets, key=lambda each: -each.desired)
    sizes, left = {}, missing
    for each in ordered:
        share = _share(each, to, missing)
        share = min(share, left) if missing > 0 else max(share, left)
        sizes[each.name] = each.desired + share
        left -= share
    if ordered:
        sizes[ordered[0].name] = max(sizes[ordered[0].name] + left, 0)
    return {each.name: sizes[each.name] for each in sets if sizes[each.name] != each.desired}


def _share(each: ReplicaSetSize, to: RolloutTarget, missing: int) -> int:
    if not to.replicas:
        return -each.desired
    before = each.limit or to.max_total
    share = math.floor(each.desired * to.max_total / before + 0.5) - each.desired
    return max(share, 0) if missing > 0 else min(share, 0)
