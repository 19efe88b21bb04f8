"""Waiting until a resource version has been reached."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

log = logging.getLogger(__name__)


class VersionWaiters:
    """Callers that wait, each for a version of its own."""

    def __init__(self) -> None:
        self._targets: dict[asyncio.Future[None], str] = {}

    def __bool__(self) -> bool:
        return bool(self._targets)

    def current(self) -> tuple[asyncio.Future[None], ...]:
        """Those that wait now."""
        return tuple(self._targets)

    def add(self, target: str) -> asyncio.Future[None]:
        """Done when ``target`` is reached; who awaits it discards it."""
        waiter = asyncio.get_running_loop().create_future()
        self._targets[waiter] = target
        return waiter

    def discard(self, waiter: asyncio.Future[None]) -> None:
        self._targets.pop(waiter, None)

    def finish(self, waiters: Iterable[asyncio.Future[None]]) -> None:
        """End these waits, but those that their callers have given up."""
        for waiter in waiters:
            self.discard(waiter)
            if not waiter.done():
                waiter.set_result(None)

    def advance(self, version: str) -> None:
        """End the waits for what ``version`` holds."""
        self.finish(
            [waiter for waiter, target in self._targets.items() if is_reached(version, target)]
        )


def is_reached(version: str, target: str) -> bool:
    """Whether ``version`` is ``target`` or later: the API promises integers from 1.35 on; other
    texts can only be equal.
    """
    try:
        return int(version) >= int(target)
    except ValueError:
        log.warning(
            "resource versions %r and %r cannot be compared, only equal ones count as reached",
            version,
            target,
        )
        return version == target
