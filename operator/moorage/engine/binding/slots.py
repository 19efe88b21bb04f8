"""Slots: how many bindings of each profile may be under way."""

from __future__ import annotations

import asyncio
from collections import Counter

from moorage.engine.background_tasks import WorkSignal


class BindingSlots:
    """So many bindings at a time of each profile: one whose bindings do not end keeps nobody else
    from binding.

    A binding takes a slot when it is decided, so that no pod is decided that cannot be bound yet;
    while it is prepared (at permit, for a volume) it needs none, or a few slow volumes would hold
    up the profile. The loop is woken when a profile that was full may start another one.
    """

    def __init__(self, limit: int, work: WorkSignal) -> None:
        self.limit = limit
        self.full: set[str] = set()
        """The profiles that have none left, by schedulerName."""
        self._work = work
        self._taken = Counter[str]()
        self._requests: dict[str, asyncio.Semaphore] = {}
        """By schedulerName; kept while the profile has slots taken."""

    def take(self, name: str) -> None:
        """One more of this profile's is to start, asks, or is ready to."""
        self._taken[name] += 1
        if self._taken[name] >= self.limit:
            self.full.add(name)

    def release(self, name: str) -> None:
        """Give a slot back."""
        self._taken[name] -= 1
        if name in self.full and self._taken[name] < self.limit:
            self.full.remove(name)
            self._work.wake_up()
        if not self._taken[name]:
            del self._taken[name]
            self._requests.pop(name, None)

    async def begin_request(self, name: str) -> None:
        """Take a slot and wait until another request of this profile's may be sent: no more than
        its slots are at a time.
        """
        self.take(name)
        try:
            if name not in self._requests:
                self._requests[name] = asyncio.Semaphore(self.limit)
            await self._requests[name].acquire()
        except BaseException:
            self.release(name)
            raise

    def end_request(self, name: str) -> None:
        """The request has its answer."""
        try:
            self._requests[name].release()
        finally:
            self.release(name)
