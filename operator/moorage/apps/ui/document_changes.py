"""Which documents have changed, for those who listen.

Nothing is queued for a listener: it asks what has changed since the last number it has seen, so a
slow one costs nothing, and one that lost its connection misses nothing.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable


class Changes:
    """Numbers each change. ``life`` names this run of the process: numbers of another one mean
    nothing.
    """

    def __init__(self) -> None:
        self.life = secrets.token_hex(4)
        self.number = 0
        self._last: dict[str, int] = {}
        self._more = asyncio.Event()

    def add(self, documents: Iterable[str]) -> None:
        """These have changed. On the loop of those who listen."""
        self.number += 1
        self._last.update(dict.fromkeys(documents, self.number))
        more, self._more = self._more, asyncio.Event()
        more.set()

    def of(self, document: str) -> int:
        """The number of its last change."""
        return self._last.get(document, 0)

    def since(self, number: int) -> list[str]:
        """The documents that have changed after this number, by name."""
        return sorted(name for name, last in self._last.items() if last > number)

    async def wait(self, number: int) -> None:
        """Return once something has changed after this number."""
        while self.number <= number:
            await self._more.wait()
