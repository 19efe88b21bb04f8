"""Slots: how many bindings of each profile may be under way."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping


class RequestTurn:
    """See ``BindingSlots.request_turn``.

    A class, as it stands around every binding: an asynchronous generator costs several times as
    much.
    """

    __slots__ = ("_asking", "_name", "_slots", "_turn")

    def __init__(
        self, slots: BindingSlots, name: str, asking: Mapping[str, asyncio.Semaphore]
    ) -> None:
        self._slots = slots
        self._name = name
        self._asking = asking
        self._turn: asyncio.Semaphore

    async def __aenter__(self) -> None:
        self._slots.take(self._name)
        try:
            self._turn = self._asking[self._name]
            await self._turn.acquire()
        except BaseException:
            self._slots.release(self._name)
            raise

    async def __aexit__(self, *_: object) -> None:
        try:
            self._turn.release()
        finally:
            self._slots.release(self._name)


class BindingSlots:
    """So many bindings at a time of each profile: one whose bindings do not end keeps nobody else
    from binding.

    A binding takes a slot when it is decided, so that nobody is decided whom nobody can bind yet;
    while it is prepared (at permit, for a volume) it needs none, or a few slow volumes would hold
    up the profile. ``freed`` is called when a profile that was full may start another one.
    """

    def __init__(self, limit: int, freed: Callable[[], None]) -> None:
        self.limit = limit
        self.full: set[str] = set()
        """The profiles that have none left, by schedulerName."""
        self._freed = freed
        self._taken = Counter[str]()
        self._asking: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(limit)
        )

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
            self._freed()
        if not self._taken[name]:
            del self._taken[name]
            self._asking.pop(name, None)

    def request_turn(self, name: str) -> RequestTurn:
        """A block that waits until another one of this profile's may ask; no more than its slots do
        at a time.
        """
        return RequestTurn(self, name, self._asking)
