"""Registration: Kopf, embedded in our event loop, for the two custom resources and nothing else.

Only ``on.event`` handlers in a registry of our own: Kopf then writes nothing to the objects, neither finalizers nor annotations, and
needs no more than list and watch on both kinds and on customresourcedefinitions (it notices when the CRDs come).

It is started by ``kopf.spawn_tasks``, not ``kopf.operator``: the latter, when it stops, cancels every task that was created in the
loop after it, bindings in flight included. Whoever calls ``start`` watches the tasks that it returns; the first to end means that
Kopf has ended. Kopf also takes over SIGTERM and SIGINT in ``start``; ours are to be installed after it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any

import kopf

from moorage.handlers import plugin_configs, profiles
from moorage.handlers.comparing import Comparing
from moorage.handlers.deliveries import Receiver
from moorage.ports.surroundings import Clock
from moorage.ports.wire import Session

GROUP = "moorage.dev"
VERSION = "v1alpha1"

log = logging.getLogger(__name__)

LOGIN_APART = 5.0
"""Seconds between two logins. Kopf logs in again after each 401, at once and for ever, so a token that stays bad would be a busy loop."""
STOP_SECONDS = 5.0
"""How long Kopf's tasks may take to end: its watchers give their workers two seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Connection:
    """The way to the API server. ``lend`` gives an aiohttp session that Kopf may close, with credentials that are kept fresh."""

    server: str
    lend: Callable[[], Any]
    session: Session
    clock: Clock


class Backoffs:
    """Seconds between attempts of one request. Endless: an API server that is away for long must not end a watcher."""

    def __iter__(self) -> Iterator[float]:
        """1, 1, 2, 3, 5, then 8 for ever."""
        yield from (1.0, 1.0, 2.0, 3.0, 5.0)
        while True:
            yield 8.0


def settings() -> kopf.OperatorSettings:
    """Kopf's settings where they differ from its defaults, each for the reason beside it."""
    made = kopf.OperatorSettings()
    made.posting.enabled = False  # events are ours to post, with our names and limits
    made.process.ultimate_exiting_timeout = None  # else it sends SIGKILL to the process
    made.networking.error_backoffs = Backoffs()
    made.networking.request_timeout = 60.0  # Kopf's 300 s would hide a connection that is dead for that long
    made.networking.connect_timeout = 5.0
    return made


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """Kopf at work: its root tasks, none of which ends by itself, and the comparison with the API server."""

    tasks: Collection[asyncio.Task[Any]]
    comparing: Comparing

    async def stop(self) -> None:
        """End Kopf's tasks and no others."""
        for task in self.tasks:
            task.cancel()
        done, late = await asyncio.wait(self.tasks, timeout=STOP_SECONDS)
        errors = [task.exception() for task in done if not task.cancelled()]
        if late or any(errors):
            log.warning("Kopf did not stop cleanly: errors %s, still running %s", errors, [task.get_name() for task in late])


async def start(receiver: Receiver, connection: Connection) -> Running:
    """Spawn Kopf's tasks, which make ``receiver`` hear of both kinds."""
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)  # it tells of every event
    registry = kopf.OperatorRegistry()
    _register_login(registry, connection)
    kinds = [module.register(registry, GROUP, VERSION, receiver) for module in (profiles, plugin_configs)]
    tasks = await kopf.spawn_tasks(registry=registry, settings=settings(), clusterwide=True, standalone=True)
    comparing = Comparing(connection.session, connection.clock, f"/apis/{GROUP}/{VERSION}", kinds, receiver.listed)
    return Running(tasks, comparing)


def _register_login(registry: kopf.OperatorRegistry, connection: Connection) -> None:
    last = float("-inf")

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.AiohttpSession:
        nonlocal last
        await connection.clock.sleep(max(0.0, last + LOGIN_APART - connection.clock.boottime()))
        last = connection.clock.boottime()
        return kopf.AiohttpSession(server=connection.server, aiohttp_session=connection.lend())
