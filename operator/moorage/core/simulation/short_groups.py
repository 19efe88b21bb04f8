"""Short groups: pods that have to be placed together, of which too few have found a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moorage.core.columns.pod_info import PodState
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.pod_groups import PodGroup, asked_min_member
from moorage.core.objects.pods import Pod, group_of


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
    declared = context.cache.store.objects(PodGroup)
    asked: dict[str, int] = {}
    for pod in pods:
        if name := group_of(pod):
            asked[name] = max(asked.get(name, 0), _number(asked_min_member(pod)))
    for name, least in asked.items():
        needed = declared[name].spec.min_member if name in declared else least
        members = [one for one in context.cache.pod_infos() if group_of(one.pod) == name]
        runs = any(one.state is PodState.OBSERVED for one in members)
        if len(members) < needed and not runs:
            yield ShortGroup(name, needed, len(members))


def _number(text: str) -> int:
    """What cannot be read asks for nothing here; the queue gates such members."""
    return int(text) if text.isascii() and text.isdecimal() else 0
