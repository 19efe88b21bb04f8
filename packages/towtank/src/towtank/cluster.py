"""A cluster: everything of this package put together, listening on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import tempfile
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from towtank import controllers
from towtank.model.kinds import Body
from towtank.parts import Parts
from towtank.serving.certificates import Certificates
from towtank.serving.web import Web

log = logging.getLogger(__name__)

_HOST: Final = "127.0.0.1"
_LONGEST_SLEEP: Final = 3600.0


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """``port`` 0 takes any; ``nodes`` are there when the cluster is."""

    port: int = 0
    nodes: Sequence[Body] = ()
    moving: controllers.Settings = dataclasses.field(default_factory=controllers.Settings)


class DevCluster:
    """``async with DevCluster(Settings()) as cluster:`` - then ``cluster.kubeconfig`` is a file and ``cluster.server`` an address."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ending = contextlib.AsyncExitStack()
        self._work = asyncio.Event()
        self.kubeconfig = Path()
        self.server = ""
        self._certificates = Certificates(_now())
        bodies = (self._certificates.configuration(), *settings.nodes)
        self._parts = Parts(_now, lambda: str(uuid.uuid4()), settings.moving, bodies)
        self._parts.verbs.store.listen_to_all(lambda *_: self._work.set())

    async def __aenter__(self) -> Self:
        """Listen."""
        parts = self._parts
        async with contextlib.AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="towtank-")))
            runner = web.ServerRunner(Web(parts.answering, parts.watches, parts.tokens.user).server(), shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            stack.callback(parts.watches.end_all)
            site = web.TCPSite(runner, _HOST, self._settings.port, ssl_context=self._certificates.context(folder), backlog=1024)
            await site.start()
            self.server = f"https://{_HOST}:{runner.addresses[0][1]}"
            self.kubeconfig = folder / "kubeconfig"
            self.kubeconfig.touch(mode=0o600)
            self.kubeconfig.write_text(self._certificates.kubeconfig(self.server))
            task = asyncio.create_task(self._move())
            task.add_done_callback(_tell_fault)
            stack.push_async_callback(_stopped, task)
            self._ending = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop, and leave nothing."""
        await self._ending.aclose()

    # ---- what moves --------------------------------------------------------------------------------------------------------

    async def _move(self) -> None:
        """Let the controllers work, a slice at a time: requests come in between."""
        while True:
            self._work.clear()
            due = self._parts.controllers.due()
            wait = _LONGEST_SLEEP if due is None else min((due - _now()).total_seconds(), _LONGEST_SLEEP)
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), wait)
                continue
            self._parts.controllers.work(_now())
            await asyncio.sleep(0)


def _now() -> datetime:
    return datetime.now(UTC)


def _tell_fault(task: asyncio.Task[None]) -> None:
    """Without what moves, a cluster looks alive: it has to be said at once."""
    if not task.cancelled() and (fault := task.exception()):
        log.critical("the controllers have stopped", exc_info=fault)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
