"""A cluster: everything of this package put together, listening on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import tempfile
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from moorage.devcluster import built_in, controllers
from moorage.devcluster.answering import Answering
from moorage.devcluster.catalogue import Catalogue
from moorage.devcluster.certificates import Certificates
from moorage.devcluster.controllers import Controllers
from moorage.devcluster.definitions import Definitions
from moorage.devcluster.discovery import Discovery
from moorage.devcluster.kinds import Body
from moorage.devcluster.openapi import OpenApi
from moorage.devcluster.requests import Target, WriteOptions
from moorage.devcluster.store import Change, Store
from moorage.devcluster.subresources import Subresources
from moorage.devcluster.tokens import IssuedTokens
from moorage.devcluster.verbs import Verbs
from moorage.devcluster.watching import Watches
from moorage.devcluster.web import Web

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
        self.catalogue = Catalogue(built_in.resources())
        self.verbs = Verbs(Store(), _now, lambda: str(uuid.uuid4()))
        self._tokens = IssuedTokens(_now)
        self._watches = Watches(self.verbs)
        self._make([*built_in.initial_objects(), *settings.nodes])
        self._controllers = Controllers(self.verbs, self.catalogue, settings.moving)
        Definitions(self.verbs, self.catalogue, self._watches.end)
        self.verbs.store.listen_to_all(self._told)

    async def __aenter__(self) -> Self:
        """Listen."""
        async with contextlib.AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="moorage-")))
            certificates = Certificates(_now())
            runner = web.ServerRunner(self._web().server(), shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            stack.callback(self._watches.end_all)
            site = web.TCPSite(runner, _HOST, self._settings.port, ssl_context=certificates.context(folder), backlog=1024)
            await site.start()
            self.server = f"https://{_HOST}:{runner.addresses[0][1]}"
            self.kubeconfig = folder / "kubeconfig"
            self.kubeconfig.touch(mode=0o600)
            self.kubeconfig.write_text(certificates.kubeconfig(self.server))
            task = asyncio.create_task(self._move())
            task.add_done_callback(_tell_fault)
            stack.push_async_callback(_stopped, task)
            self._ending = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop, and leave nothing."""
        await self._ending.aclose()

    def _web(self) -> Web:
        subresources = Subresources(self._tokens)
        discovery = Discovery(self.catalogue, subresources, OpenApi(self.catalogue, self.verbs.find))
        return Web(Answering(self.verbs, self.catalogue, subresources, discovery), self._watches, self._tokens.user)

    def _make(self, bodies: Iterable[Body]) -> None:
        for body in bodies:
            resource = self.catalogue.of_kind(body["apiVersion"], body["kind"])
            if resource is None:
                raise ValueError(f"no resource serves {body['apiVersion']}/{body['kind']}")
            namespace = body["metadata"].get("namespace", "") if resource.namespaced else ""
            self.verbs.create(Target(resource, namespace), body, WriteOptions(manager="moorage"))

    # ---- what moves --------------------------------------------------------------------------------------------------------

    def _told(self, resource: str, change: Change) -> None:
        self._controllers.told(resource, change)
        self._work.set()

    async def _move(self) -> None:
        """Let the controllers work, a slice at a time: requests come in between."""
        while True:
            self._work.clear()
            due = self._controllers.due()
            wait = _LONGEST_SLEEP if due is None else min((due - _now()).total_seconds(), _LONGEST_SLEEP)
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), wait)
                continue
            self._controllers.work(_now())
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
