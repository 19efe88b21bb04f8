"""A controller: a queue of what to look at, and when.

It is told of changes within the writes that make them, so it only notes a key then. Later, ``work``
looks at what is there now and does what is missing. A refusal, or a fault, is not the end: it is
logged, and looked at again after a while.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from towtank.controllers.client import ControllerClient
from towtank.model.api_errors import ApiError
from towtank.storage.store import StoreChange

log = logging.getLogger(__name__)

Key: TypeAlias = tuple[str, ...]
"""What to look at: the controller's own word for what to do, namespace, name and so on."""

AT_ONCE = datetime.min.replace(tzinfo=UTC)
_FIRST_RETRY = timedelta(seconds=0.1)
_LAST_RETRY = timedelta(minutes=5)


class WorkQueue:
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

    keys_per_slice = 16
    """Keys that one call of ``work`` looks at: some milliseconds."""
    min_interval = timedelta()
    """How long after a look the next one at the same key may come: what costs much is not done for
    each of many changes.
    """

    def __init__(self, world: ControllerClient) -> None:
        self.client = world
        self.queue = WorkQueue()
        self._retry_delays: dict[Key, timedelta] = {}
        self._not_before: dict[Key, datetime] = {}

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """What to look at because of this."""
        raise NotImplementedError

    def reconcile(self, key: Key, now: datetime) -> None:
        """Look, and do what is missing."""
        raise NotImplementedError

    def on_change(self, resource: str, change: StoreChange) -> None:
        """Note what to look at."""
        for key in self.keys_to_queue(resource, change):
            self.queue.add(key)

    def due(self) -> datetime | None:
        """When there is work; a time that has passed means now."""
        return self.queue.due()

    def work(self, now: datetime) -> None:
        """Do a slice of what is due."""
        for key in self.queue.take(now, self.keys_per_slice):
            if self._rests(key, now):
                continue
            try:
                self.reconcile(key, now)
            except ApiError as problem:
                log.warning("%s %s: %s", type(self).__name__, "/".join(key), problem.message)
                self._retry_later(key, now)
            except Exception:
                # a fault of ours must not be the end of what else there is to do, nor of this
                log.exception("%s %s", type(self).__name__, "/".join(key))
                self._retry_later(key, now)
            else:
                self._retry_delays.pop(key, None)
                if self.min_interval:
                    self._not_before[key] = now + self.min_interval

    def _rests(self, key: Key, now: datetime) -> bool:
        """Whether it was looked at a moment ago: then it is queued for later."""
        rested = self._not_before.pop(key, now)
        if rested > now:
            self._not_before[key] = rested
            self.queue.add(key, rested)
        return rested > now

    def _retry_later(self, key: Key, now: datetime) -> None:
        after = min(self._retry_delays.get(key, _FIRST_RETRY / 2) * 2, _LAST_RETRY)
        self._retry_delays[key] = after
        self.queue.add(key, now + after)
