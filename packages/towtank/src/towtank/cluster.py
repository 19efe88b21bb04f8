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

from towtank.api_server import ApiServer
from towtank.controllers import manager
from towtank.model.kinds import Body
from towtank.serving.certificates import ClusterCertificates
from towtank.serving.frontend import HttpFrontend

log = logging.getLogger(__name__)

_HOST: Final = "127.0.0.1"
_MAX_SLEEP_SECONDS: Final = 3600.0


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSettings:
    """``port`` 0 takes any; ``nodes`` are there when the cluster is."""

    port: int = 0
    nodes: Sequence[Body] = ()
    controller_settings: manager.ControllerSettings = dataclasses.field(default_factory=manager.ControllerSettings)


class Cluster:
    """``async with DevCluster(Settings()) as cluster:`` - then ``cluster.kubeconfig`` is a file and ``cluster.server`` an address."""

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._ending = contextlib.AsyncExitStack()
        self._work = asyncio.Event()
        self.kubeconfig = Path()
        self.server = ""
        self._certificates = ClusterCertificates(_now())
        bodies = (self._certificates.configuration(), *settings.nodes)
        self._api_server = ApiServer(_now, lambda: str(uuid.uuid4()), settings.controller_settings, bodies)
        self._api_server.verbs.store.subscribe_to_all(lambda *_: self._work.set())

    async def __aenter__(self) -> Self:
        """Start to listen."""
        parts = self._api_server
        async with contextlib.AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="towtank-")))
            runner = web.ServerRunner(HttpFrontend(parts.dispatcher, parts.watches, parts.tokens.user).server(), shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            stack.callback(parts.watches.end_all)
            site = web.TCPSite(runner, _HOST, self._settings.port, ssl_context=self._certificates.context(folder), backlog=1024)
            await site.start()
            self.server = f"https://{_HOST}:{runner.addresses[0][1]}"
            self.kubeconfig = folder / "kubeconfig"
            self.kubeconfig.touch(mode=0o600)
            self.kubeconfig.write_text(self._certificates.kubeconfig(self.server))
            task = asyncio.create_task(self._run_controllers())
            task.add_done_callback(_report_fault)
            stack.push_async_callback(_stopped, task)
            self._ending = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop, and leave nothing."""
        await self._ending.aclose()

    # ---- what moves --------------------------------------------------------------------------------------------------------

    async def _run_controllers(self) -> None:
        """Let the controllers work, a slice at a time: requests come in between."""
        while True:
            self._work.clear()
            due = self._api_server.controllers.due()
            wait = _MAX_SLEEP_SECONDS if due is None else min((due - _now()).total_seconds(), _MAX_SLEEP_SECONDS)
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), wait)
                continue
            self._api_server.controllers.work(_now())
            await asyncio.sleep(0)


def _now() -> datetime:
    return datetime.now(UTC)


def _report_fault(task: asyncio.Task[None]) -> None:
    """Without what moves, a cluster looks alive: it has to be said at once."""
    if not task.cancelled() and (fault := task.exception()):
        log.critical("the controllers have stopped", exc_info=fault)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
