"""The Kopf operator: Kopf, embedded in our event loop, for the two custom resources and nothing
else.

Only ``on.event`` handlers in a registry of our own: Kopf then writes nothing to the objects,
neither finalizers nor annotations, and needs no more than list and watch on both kinds and on
customresourcedefinitions (it notices when the CRDs come). Where objects are judged before they are
stored (``handlers.admission_handler``), that is no write either.

It is started by ``kopf.spawn_tasks``, not ``kopf.operator``: the latter, when it stops, cancels
every task that was created in the loop after it, bindings in flight included. Whoever calls
``start`` watches ``tasks``; the first to end means that something is wrong. Kopf also takes over
SIGTERM and SIGINT in ``start``; ours are to be installed after it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, cast

import kopf

from moorage.api.v1alpha1.common import GROUP, VERSION
from moorage.handlers import admission_handler, plugin_config_handler, profile_handler
from moorage.handlers.admission_handler import Admission, RefusalsUnlogged, ReviewDoor
from moorage.handlers.deliveries import ProfileReceiver
from moorage.handlers.delivery_check import DeliveryCheck
from moorage.ports.clock import Clock
from moorage.ports.http_calls import HttpSession
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)

LOGIN_INTERVAL_SECONDS = 5.0
"""Seconds between two logins. Kopf logs in again after each 401, at once and for ever, so a token
that stays bad would be a busy loop.
"""
NOISY_LOGGERS = ("kopf._core.reactor.observation", "kopf._cogs.clients.watching")
"""Loggers by which Kopf tells of requests that it tries again."""
CHUNK = 10
"""Objects of a list that are in memory at a time: each may have a megabyte and a half, and many
times that once it is parsed.
"""
STOP_SECONDS = 5.0
"""How long Kopf's tasks may take to end: its watchers give their workers two seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class KopfConnection:
    """The way to the API server. ``new_client_session`` gives an aiohttp session that Kopf may
    close, with fresh credentials.
    """

    server: str
    new_client_session: Callable[[], Any]
    session: HttpSession
    clock: Clock


class NoDifferences(kopf.DiffBaseStorage):
    """Kopf copies each object, however large and deep, to find out what changed; nobody here asks
    for that.
    """

    def build(self, *, body: kopf.Body, extra_fields: Any = None) -> kopf.BodyEssence:
        """Keep nothing of the object: Kopf needs no differences."""
        return cast(kopf.BodyEssence, {})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Write nothing."""


class KopfBackoffs:
    """Seconds between attempts of one request. Endless: an API server that is away for long must
    not end a watcher.
    """

    def __iter__(self) -> Iterator[float]:
        """1, 1, 2, 3, 5, then 8 for ever."""
        yield from (1.0, 1.0, 2.0, 3.0, 5.0)
        while True:
            yield 8.0


def settings(door: ReviewDoor | None = None) -> kopf.OperatorSettings:
    """Kopf's settings where they differ from its defaults, each for the reason beside it."""
    made = kopf.OperatorSettings()
    made.admission.server = door  # which webhooks there are is none of Kopf's: managed is None
    made.posting.enabled = False  # events are ours to post, with our names and limits
    made.process.ultimate_exiting_timeout = None  # else it sends SIGKILL to the process
    made.persistence.diffbase_storage = NoDifferences()
    made.watching.chunk_size = CHUNK
    # so long the last state of each object is kept by who handled it
    made.queueing.idle_timeout = 0.1
    made.networking.error_backoffs = KopfBackoffs()
    # Kopf's 300 s would hide a connection that is dead for that long
    made.networking.request_timeout = 60.0
    made.networking.connect_timeout = 5.0
    # between two lists: an API server that has nothing but errors is not asked ten times a second
    made.watching.reconnect_backoff = 1.0
    return made


class OneLinePerCause(logging.Filter):
    """Has Kopf's failing requests logged once per cause, not once per attempt."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mark the record with its cause, without the attempt's number. No record is dropped."""
        _, failing, cause = record.getMessage().partition(" failed; will retry: ")
        if failing:
            record.__dict__ |= once_per_cause(f"Kopf {cause.partition(' -> ')[2]}")
        return True


class EmbeddedKopf:
    """Kopf in our event loop, and the comparison of what it delivers with what the API server
    has. ``admission``: where objects are judged before they are stored.
    """

    def __init__(
        self,
        receiver: ProfileReceiver,
        connection: KopfConnection,
        admission: Admission | None = None,
    ) -> None:
        self._connection = connection
        self._registry = kopf.OperatorRegistry()
        self._door = admission.door if admission is not None else None
        if admission is not None:
            admission_handler.register(self._registry, GROUP, VERSION, admission.judge)
        self._register_login()
        kinds = [
            module.register(self._registry, GROUP, VERSION, receiver)
            for module in (profile_handler, plugin_config_handler)
        ]
        self._delivery_check = DeliveryCheck(
            connection.session, connection.clock, f"/apis/{GROUP}/{VERSION}", kinds, receiver.listed
        )
        self.tasks: Collection[asyncio.Task[Any]] = ()
        """Once started: tasks none of which ends by itself unless something is wrong."""

    @property
    def problem(self) -> str | None:
        """Why the first lists of both kinds are not in yet; None once they are."""
        return self._delivery_check.problem

    async def start(self) -> None:
        """Start Kopf's tasks."""
        objects = logging.getLogger("kopf.objects")
        objects.setLevel(logging.WARNING)  # it tells of every event
        objects.addFilter(RefusalsUnlogged())
        for name in NOISY_LOGGERS:
            logging.getLogger(name).addFilter(OneLinePerCause(name))
        spawned = await kopf.spawn_tasks(
            registry=self._registry,
            settings=settings(self._door),
            clusterwide=True,
            standalone=True,
            # Else Kopf asks for the user's name, and the image's user has none.
            identity=cast(Any, "moorage"),
        )
        self.tasks = (
            *spawned,
            asyncio.create_task(self._delivery_check.run(), name="comparison with the API server"),
        )

    async def stop(self) -> None:
        """End these tasks and no others."""
        if not self.tasks:
            return
        for task in self.tasks:
            task.cancel()
        done, late = await asyncio.wait(self.tasks, timeout=STOP_SECONDS)
        errors = [task.exception() for task in done if not task.cancelled()]
        if late or any(errors):
            log.warning(
                "Kopf did not stop cleanly: errors %s, still running %s",
                errors,
                [task.get_name() for task in late],
            )

    def _register_login(self) -> None:
        connection, last = self._connection, float("-inf")

        @kopf.on.login(registry=self._registry, id="login")
        async def login(**_: Any) -> kopf.AiohttpSession:
            nonlocal last
            await connection.clock.sleep(
                max(0.0, last + LOGIN_INTERVAL_SECONDS - connection.clock.boottime())
            )
            last = connection.clock.boottime()
            return kopf.AiohttpSession(
                server=connection.server, aiohttp_session=connection.new_client_session()
            )
