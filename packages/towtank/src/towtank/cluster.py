"""A cluster: everything of this package put together, listening on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import ssl
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from aiohttp import web

from towtank.api_server import ApiServer
from towtank.controllers.manager import ControllerSettings
from towtank.loop_thread import LoopThread, ServerFrozen
from towtank.model.kinds import Body
from towtank.model.requests import DeleteOptions, RequestTarget
from towtank.serving.certificates import ClusterCertificates
from towtank.serving.frontend import HttpFrontend

log = logging.getLogger(__name__)

T = TypeVar("T")

_HOST: Final = "127.0.0.1"
_MAX_SLEEP_SECONDS: Final = 3600.0


def _log_frozen(message: str) -> None:
    log.critical("%s", message)


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSettings:
    """``port`` 0 takes any; ``nodes`` are there when the cluster is."""

    port: int = 0
    nodes: Sequence[Body] = ()
    controllers: ControllerSettings = dataclasses.field(default_factory=ControllerSettings)


class Cluster:
    """``async with Cluster() as cluster:`` - then ``cluster.kubeconfig`` is a file and
    ``cluster.server`` an address.
    """

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self._settings = settings = settings or ClusterSettings()
        self._ending = contextlib.AsyncExitStack()
        self._work = asyncio.Event()
        self.kubeconfig = Path()
        self.server = ""
        self._certificates = ClusterCertificates(_now())
        bodies = (self._certificates.configuration(), *settings.nodes)
        self._api_server = ApiServer(_now, lambda: str(uuid.uuid4()), settings.controllers, bodies)
        self._api_server.verbs.store.subscribe_to_all(lambda *_: self._work.set())

    async def __aenter__(self) -> Self:
        """Start to listen."""
        async with contextlib.AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="towtank-")))
            port = await self._listen(stack, self._certificates.context(folder))
            self.server = f"https://{_HOST}:{port}"
            self.kubeconfig = folder / "kubeconfig"
            self.kubeconfig.touch(mode=0o600)
            self.kubeconfig.write_text(self._certificates.kubeconfig(self.server))
            task = asyncio.create_task(self._run_controllers())
            task.add_done_callback(_report_fault)
            stack.push_async_callback(_stopped, task)
            self._ending = stack.pop_all()
        return self

    async def _listen(self, stack: contextlib.AsyncExitStack, tls: ssl.SSLContext) -> int:
        """Serve until the stack unwinds; returns the port."""
        api = self._api_server
        server = HttpFrontend(api.dispatcher, api.watches, api.tokens.user).server()
        runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        stack.callback(api.watches.end_all)
        site = web.TCPSite(runner, _HOST, self._settings.port, ssl_context=tls, backlog=1024)
        await site.start()
        return int(runner.addresses[0][1])

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, and leave nothing."""
        await self._ending.aclose()

    @property
    def api(self) -> ApiServer:
        """The API server itself, to be asked without sockets. It belongs to this cluster's event
        loop.
        """
        return self._api_server

    async def namespace(self, prefix: str = "test-") -> str:
        """A fresh namespace: its name, the prefix and five letters or digits."""
        made = self._api_server.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": prefix}}
        )
        return str(made["metadata"]["name"])

    async def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace, if it is there; the controllers empty it."""
        resource = self.api.catalogue.of_kind("v1", "Namespace")
        if resource and self.api.verbs.find(resource.key, "", name):
            self.api.verbs.delete(RequestTarget(resource, "", name), DeleteOptions())

    def kubeconfig_text(self, namespace: str = "default") -> str:
        """A kubeconfig of its own, whose context is a namespace."""
        return self._certificates.kubeconfig(self.server, namespace)

    @classmethod
    @contextlib.contextmanager
    def in_thread(
        cls,
        settings: ClusterSettings | None = None,
        frozen_after: float = 10.0,
        on_frozen: Callable[[str], None] = _log_frozen,
    ) -> Iterator[ThreadedCluster]:
        """A cluster in a thread of its own, for clients that block. ``on_frozen`` is called there
        when it has stood still for so long.
        """
        cluster = cls(settings)
        with contextlib.ExitStack() as stack:
            thread = LoopThread("towtank-server", frozen_after, on_frozen)
            stack.callback(thread.stop)
            thread.run(cluster.__aenter__())
            stack.callback(_end_in_thread, cluster, thread)
            yield ThreadedCluster(cluster, thread)

    # ---- what moves ------------------------------------------------------------------------------

    async def _run_controllers(self) -> None:
        """Let the controllers work, a slice at a time: requests come in between."""
        while True:
            self._work.clear()
            due = self._api_server.controllers.due()
            wait = (
                _MAX_SLEEP_SECONDS
                if due is None
                else min((due - _now()).total_seconds(), _MAX_SLEEP_SECONDS)
            )
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._work.wait(), wait)
                continue
            self._api_server.controllers.work(_now())
            await asyncio.sleep(0)


class ThreadedCluster:
    """A cluster whose event loop runs in another thread. Its methods wait, and raise ServerFrozen
    when that loop stands still.
    """

    def __init__(self, cluster: Cluster, thread: LoopThread) -> None:
        self._cluster = cluster
        self._thread = thread

    @property
    def server(self) -> str:
        """Its address."""
        return self._cluster.server

    @property
    def kubeconfig(self) -> Path:
        """A file of mode 0600."""
        return self._cluster.kubeconfig

    def kubeconfig_text(self, namespace: str = "default") -> str:
        """A kubeconfig whose context is a namespace."""
        return self._cluster.kubeconfig_text(namespace)

    def namespace(self, prefix: str = "test-") -> str:
        """A fresh namespace: its name, the prefix and five letters or digits."""
        return self._thread.run(self._cluster.namespace(prefix))

    def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace, if it is there; the controllers empty it."""
        self._thread.run(self._cluster.delete_namespace(name))

    def run(self, work: Callable[[ApiServer], T]) -> T:
        """Call something with the API server, in its thread, and wait for the result."""

        async def called() -> T:
            return work(self._cluster.api)

        return self._thread.run(called())


def _now() -> datetime:
    return datetime.now(UTC)


def _end_in_thread(cluster: Cluster, thread: LoopThread) -> None:
    with contextlib.suppress(ServerFrozen):  # whoever waited has been told
        thread.run(cluster.__aexit__(None, None, None))


def _report_fault(task: asyncio.Task[None]) -> None:
    """Without what moves, a cluster looks alive: it has to be said at once."""
    if not task.cancelled() and (fault := task.exception()):
        log.critical("the controllers have stopped", exc_info=fault)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
