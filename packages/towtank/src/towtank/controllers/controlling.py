"""A controller: a queue of what to look at, and when.

It is told of changes within the writes that make them, so it only notes a key then. Later, ``work`` looks at what is there now and does
what is missing. A refusal, or a fault, is not the end: it is logged, and looked at again after a while.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from towtank.controllers.world import World
from towtank.model.problems import Problem
from towtank.storage.store import Change

log = logging.getLogger(__name__)

Key: TypeAlias = tuple[str, ...]
"""What to look at: the controller's own word for what to do, namespace, name and so on."""

AT_ONCE = datetime.min.replace(tzinfo=UTC)
_FIRST_RETRY = timedelta(seconds=0.1)
_LAST_RETRY = timedelta(minutes=5)


class Queue:
    """Keys with the times at which they are due; each key once, at its earliest time."""

    def __init__(self) -> None:
        self._times: dict[Key, datetime] = {}
        self._heap: list[tuple[datetime, int, Key]] = []
        self._order = itertools.count()

    def add(self, key: Key, when: datetime = AT_ONCE) -> None:
        """Look at this then, if not before."""
        if key not in self._times or when < self._times[key]:
            self._times[key] = when
            heapq.heappush(self._heap, (when, next(self._order), key))

    def due(self) -> datetime | None:
        """When the first is due."""
        while self._heap and self._times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # it was looked at, or became due earlier
        return self._heap[0][0] if self._heap else None

    def take(self, now: datetime, limit: int) -> Iterator[Key]:
        """So many of those that are due."""
        for _ in range(limit):
            when = self.due()
            if when is None or when > now:
                return
            key = heapq.heappop(self._heap)[2]
            del self._times[key]
            yield key


class Controller:
    """What all have; each says what a change concerns, and what is to be done for it."""

    slice = 16
    """Keys that one call of ``work`` looks at: some milliseconds."""
    rest = timedelta()
    """How long after a look the next one at the same key may come: what costs much is not done for each of many changes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.queue = Queue()
        self._refused: dict[Key, timedelta] = {}
        self._rested: dict[Key, datetime] = {}

    def concerned(self, resource: str, change: Change) -> Iterable[Key]:
        """What to look at because of this."""
        raise NotImplementedError

    def reconcile(self, key: Key, now: datetime) -> None:
        """Look, and do what is missing."""
        raise NotImplementedError

    def told(self, resource: str, change: Change) -> None:
        """Note what to look at."""
        for key in self.concerned(resource, change):
            self.queue.add(key)

    def due(self) -> datetime | None:
        """When there is work; a time that has passed means now."""
        return self.queue.due()

    def work(self, now: datetime) -> None:
        """Do a slice of what is due."""
        for key in self.queue.take(now, self.slice):
            if self.rest and (rested := self._rested.pop(key, now)) > now:
                self._rested[key] = rested
                self.queue.add(key, rested)
                continue
            try:
                self.reconcile(key, now)
            except Problem as problem:
                log.warning("%s %s: %s", type(self).__name__, "/".join(key), problem.message)
                self._again(key, now)
            except Exception:  # a fault of ours must not be the end of what else there is to do, nor of this
                log.exception("%s %s", type(self).__name__, "/".join(key))
                self._again(key, now)
            else:
                self._refused.pop(key, None)
                if self.rest:
                    self._rested[key] = now + self.rest

    def _again(self, key: Key, now: datetime) -> None:
        after = min(self._refused.get(key, _FIRST_RETRY / 2) * 2, _LAST_RETRY)
        self._refused[key] = after
        self.queue.add(key, now + after)
