"""Kept choices: what nominated pods are going to choose on their nodes, so that nobody else takes
it before.

Devices and volumes are chosen only when a pod is decided. So the choice is made for it beforehand,
and made anew whenever something that it rests on is not as it was. Each pod, the most important one
first, chooses from what those before it leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nominations import MAX_NOMINATED_ELSEWHERE
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.pods import Pod

Kept = TypeVar("Kept")
Choose = Callable[[Pod, int, Sequence[Kept]], Kept | None]
"""What a pod would choose on this row beside what is kept for others; None for nothing, or where it
can't be told.
"""


class KeptChoices(Generic[Kept]):
    """Keeps what nominated pods are going to choose on their nodes.

    A choice that was broken off (OutOfTime) goes on with what was found.
    """

    def __init__(self) -> None:
        self._stamp: list[int] = []
        self._before: Mapping[str, Kept | None] = {}
        self._found: dict[str, Kept | None] = {}
        self._kept: Mapping[str, Kept] | None = None

    def all(
        self, snapshot: Snapshot, rests_on: Iterable[Versioned], choose: Choose[Kept]
    ) -> Mapping[str, Kept]:
        """By pod (UID). Equal values of before and after a change are the same object."""
        nominations = snapshot.nominations
        stamp = [nominations.version, *(one.version for one in rests_on)]
        if stamp != self._stamp:
            known = {**self._before, **self._found}
            before = {uid: kept for uid, kept in known.items() if uid in nominations}
            self._stamp, self._before, self._found, self._kept = stamp, before, {}, None
        if self._kept is None:
            for record in itertools.islice(nominations.by_priority(), MAX_NOMINATED_ELSEWHERE):
                pod, row = record.pod, snapshot.nodes.row_of.get(record.node)
                if isinstance(pod, Pod) and row is not None and pod.metadata.uid not in self._found:
                    self._put(pod.metadata.uid, choose(pod, row, self._of(self._found)))
            self._kept = {uid: kept for uid, kept in self._found.items() if kept is not None}
            self._before = self._kept
        return self._kept

    def _put(self, uid: str, kept: Kept | None) -> None:
        old = self._before.get(uid)
        self._found[uid] = old if old == kept else kept

    @staticmethod
    def _of(found: Mapping[str, Kept | None]) -> Sequence[Kept]:
        return [kept for kept in found.values() if kept is not None]
