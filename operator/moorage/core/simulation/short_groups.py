"""Short groups: pods that have to be placed together, of which too few have found a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moorage.core.columns.pod_info import PodState
from moorage.core.cycle.context import CycleContext
from moorage.core.groups.group_spec import group_spec
from moorage.core.objects.pod_groups import GroupKey, Membership, group_of, membership_of
from moorage.core.objects.pods import Pod


class ShortGroup(NamedTuple):
    """A pod group (``namespace/name``) that would not start: it needs more members together than
    have a place.
    """

    name: str
    needed: int
    placed: int


def short_groups(context: CycleContext, pods: Iterable[Pod]) -> Iterator[ShortGroup]:
    """The groups of these pods that would not start, once there is a place for as many of them as
    possible. A group with a member that runs already needs nobody.
    """
    said: dict[GroupKey, set[Membership]] = {}
    for pod in pods:
        if (member := membership_of(pod)) is not None:
            said.setdefault(member.key, set()).add(member)
    for key, members in said.items():
        # the queue gates members of a group of which nothing is known
        if (spec := group_spec(key, members, context.cache.store)) is None:
            continue
        placed = [one for one in context.cache.pod_infos() if group_of(one.pod) == key]
        runs = any(one.state is PodState.OBSERVED for one in placed)
        if len(placed) < spec.min_count and not runs:
            yield ShortGroup(spec.name, spec.min_count, len(placed))
