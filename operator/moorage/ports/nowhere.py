"""Ways out that lead nowhere: an observer's, in the place of those that act on the cluster."""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn, cast

from moorage.ports.event_recorder import Event
from moorage.ports.kube import KubeWriter


class _NoWrites:
    """No write exists here: whoever asks for one has a bug, and hears of it."""

    open: Final = False

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an observer writes nothing, so there is no {name}")


NO_WRITES: Final = cast(KubeWriter, _NoWrites())


class NoEvents:
    """``EventSender`` that tells nobody."""

    def record(self, event: Event) -> None:
        """Forget it."""

    async def run(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    async def flush(self, seconds: float) -> None:
        """Nothing is left."""
