"""Placed members: those of a pod group that have a node when an attempt of it begins.

A group that is placed bit by bit may have tens of thousands of them, and an attempt for each one
that comes. What most attempts ask is how many there are and what they have in common, which the
queue counts as they come and go; the pods are looked up when somebody goes through them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import overload

from moorage.core.columns.cache import Cache
from moorage.core.framework.placement_contract import Assignments
from moorage.core.groups.member_kinds import MemberKind, kind_of
from moorage.core.objects.pods import Pod


class PlacedMembers(Sequence[tuple[Pod, str]]):
    """Members by UID; those on a node, with its name. ``kinds``: theirs, each once."""

    def __init__(self, uids: Sequence[str], kinds: Iterable[MemberKind], cache: Cache) -> None:
        self.uids = tuple(uids)
        self.kinds = tuple(kinds)
        self._cache = cache

    @classmethod
    def of(cls, uids: Iterable[str], cache: Cache) -> PlacedMembers:
        """Those of these that have a node now."""
        there = [(uid, pod) for uid, pod, _ in _looked_up(uids, cache)]
        kinds = dict.fromkeys(kind_of(pod) for _, pod in there)
        return cls([uid for uid, _ in there], kinds, cache)

    def without(self, lost: Collection[str]) -> PlacedMembers:
        """The same, less these UIDs."""
        return PlacedMembers([uid for uid in self.uids if uid not in lost], self.kinds, self._cache)

    def __len__(self) -> int:
        return len(self.uids)

    def __iter__(self) -> Iterator[tuple[Pod, str]]:
        for _, pod, node in _looked_up(self.uids, self._cache):
            yield pod, node

    @overload
    def __getitem__(self, index: int) -> tuple[Pod, str]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Pod, str]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Pod, str] | Sequence[tuple[Pod, str]]:
        return [*self][index]


def _looked_up(uids: Iterable[str], cache: Cache) -> Iterator[tuple[str, Pod, str]]:
    for uid in uids:
        info = cache.pod_info(uid)
        if info is not None and isinstance(info.pod, Pod):
            yield uid, info.pod, info.node


def uids_of(placed: Assignments) -> tuple[str, ...]:
    """Of pods on nodes, whoever knows them."""
    if isinstance(placed, PlacedMembers):
        return placed.uids
    return tuple(pod.metadata.uid for pod, _ in placed)


def kinds_of(placed: Assignments) -> Iterable[MemberKind]:
    """Each once."""
    if isinstance(placed, PlacedMembers):
        return placed.kinds
    return dict.fromkeys(kind_of(pod) for pod, _ in placed)


def without(placed: Assignments, lost: Collection[str]) -> Assignments:
    """The same, less these UIDs."""
    if not lost:
        return placed
    if isinstance(placed, PlacedMembers):
        return placed.without(lost)
    return [one for one in placed if one[0].metadata.uid not in lost]
