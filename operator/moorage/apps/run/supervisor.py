"""The supervisor: in which order the parts start, what ends the process, and how it ends.

Lease, health and metrics run on the side loop (``side_loop``), all else on the main loop.

1. Kopf starts; then our signal handlers are set, over Kopf's; then HTTP, informers, events and the
   engine.
2. A standby does all of this and waits for the lease, with warm caches.
3. With the lease: where the leader before did not give it back, wait until none of its writes can
   arrive any more; wait for the first lists, wait until the watches have reached what the API
   server held *then*, read the stored revisions anew, decide. Nothing is bound before. Who starts
   where nobody leads has the lease before it lists, and nothing to wait for.

The end, by what caused it:

* SIGTERM, SIGINT: stop deciding, let the bindings in flight end (bounded), send the events, give
  the lease back; status 0. A second signal ends the process at once, with 1.
* SIGUSR2 ends nothing: it has cache and queue logged.
* The lease is lost: nothing may be written any more, so the process ends at once, with 1. The side
  loop does that, whatever the main loop is doing, and nothing is closed: what is on its way would
  only be late.
* Any task that should run for ever ends: as for a signal, but with 1. A process without one of its
  parts must not look alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import math
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any

from moorage.adapters.https_server import HttpsServer
from moorage.apps.run.replica_state import ReplicaPhase, ReplicaState
from moorage.apps.run.side_loop import Side
from moorage.engine.engine import Engine
from moorage.handlers.kopf_operator import EmbeddedKopf
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Forbidden
from moorage.ports.event_recorder import EventSender
from moorage.ports.kube import Informer
from moorage.ports.leadership import Elector
from moorage.ports.repeated_logs import once_per_failure

log = logging.getLogger(__name__)

SETTLE_SECONDS = 15.0
"""For bindings in flight at the end: the time-out of one request. With the other two below the 30 s
that a pod has to end.
"""
FLUSH_SECONDS = 3.0
CLOSE_SECONDS = 7.0
"""For all that is closed after the lease was given back."""
POLL_SECONDS = 0.05
CATCH_UP_SECONDS = 5.0
"""For informers that only some profiles need."""
RETRY_SECONDS = 1.0
REFUSED_SECONDS = 30.0
"""Until a refusal is believed: an API server that has just started refuses what it allows a moment
later.
"""
LEASE_ANSWER_SECONDS = 1.0
"""How long the first lists wait for the first word on the lease."""
_ENDING = (signal.SIGTERM, signal.SIGINT)


class LeaseLost(Exception):
    """Another replica leads, or may lead, from now on."""


@dataclasses.dataclass(frozen=True, slots=True)
class SupervisedParts:
    """What is supervised.

    ``state`` is written here and read by health checks. ``elector`` and ``server`` live on the
    ``side``, all else on the main loop. ``background`` are further tasks that should run for ever,
    here or there; ``prepare`` is done before the lease is asked for; ``warm`` opens connections
    ahead of the first bindings; ``sever`` drops what they still hold; ``on_leading`` is told when
    this replica leads; ``close`` ends the connections.
    """

    state: ReplicaState
    clock: Clock
    side: Side
    elector: Elector
    engine: Engine
    feeds: Sequence[Informer]
    events: EventSender
    server: HttpsServer
    kopf: EmbeddedKopf
    background: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    prepare: Callable[[], Awaitable[None]]
    warm: Callable[[], Awaitable[None]]
    sever: Callable[[], None]
    on_leading: Callable[[], None]
    close: Callable[[], Awaitable[None]]


class Supervisor:
    """Runs one replica from start to end. ``abort`` ends the process at once: for a second signal,
    and when the lease is lost.
    """

    def __init__(self, parts: SupervisedParts, abort: Callable[[int], object] = os._exit) -> None:
        self._parts = parts
        self._state = parts.state
        self._abort = abort
        self._stop = asyncio.Event()
        self._restored = asyncio.Event()
        self._may_list = asyncio.Event()
        self._catching_up: dict[Informer, asyncio.Task[None]] = {}

    async def run(self) -> int:
        """Returns the exit status."""
        try:
            await self._parts.kopf.start()
            with self._signals():
                self._state.port = await self._parts.side.run(self._parts.server.start())
                log.info("health and metrics are served", extra={"port": self._state.port})
                self._spawn()
                return await self._watch()
        finally:
            self._state.phase = ReplicaPhase.STOPPING
            await self._close()

    # ---- the tasks -------------------------------------------------------------------------------

    def _spawn(self) -> None:
        parts = self._parts
        tasks: dict[str, asyncio.Task[Any]] = {
            f"Kopf's {task.get_name()}": task for task in parts.kopf.tasks
        }
        runs: dict[str, Coroutine[Any, Any, None]] = {
            f"feed of {feed.resource}": self._feed(feed) for feed in parts.feeds
        }
        runs |= {"events": parts.events.run(), "engine": self._engine(), "leadership": self._lead()}
        runs |= {name: run() for name, run in parts.background.items()}
        # Replaced whole: health looks at it from the side.
        self._state.tasks = tasks | {
            name: asyncio.create_task(run, name=name) for name, run in runs.items()
        }

    async def _engine(self) -> None:
        await self._restore()
        self._restored.set()
        await self._parts.engine.run()

    async def _feed(self, feed: Informer) -> None:
        await self._may_list.wait()
        await feed.run()

    async def _list_anyway(self) -> None:
        """The lease is another's, or nobody says whose: lists are wanted all the same."""
        await self._parts.clock.sleep(LEASE_ANSWER_SECONDS)
        self._may_list.set()

    async def _lead(self) -> None:
        """Wait for the lease, decide, and raise when the lease is lost."""
        parts, elector = self._parts, self._parts.elector
        anyway = asyncio.create_task(self._list_anyway(), name="list anyway")
        synced = asyncio.create_task(self._first_sync(), name="first sync")
        await parts.prepare()
        self._state.phase = ReplicaPhase.STANDBY
        await parts.side.run(elector.acquire())
        self._state.phase = ReplicaPhase.CATCHING_UP
        log.info("the lease is held", extra={"leader": elector.identity})
        hold = asyncio.create_task(parts.side.run(self._hold()), name="hold the lease")
        start = asyncio.create_task(self._start_leading(synced), name="start leading")
        try:
            # The lease is renewed from the beginning: first lists of a large cluster may take
            # longer than it lasts.
            done, _ = await asyncio.wait({hold, start}, return_when=asyncio.FIRST_COMPLETED)
            if hold not in done:
                await start
                parts.engine.lead(self._not_caught_up)
                parts.on_leading()
                self._state.phase = ReplicaPhase.LEADING
                log.info("leading", extra={"leader": elector.identity})
            await hold
        finally:
            for task in (hold, start, synced, anyway, *self._catching_up.values()):
                task.cancel()
        raise LeaseLost("the lease is lost")

    async def _hold(self) -> None:
        """On the side: renew, and end the process when the lease is lost."""
        await self._parts.elector.hold()
        log.error("the lease is lost: ending at once")
        self._abort(1)

    async def _start_leading(self, synced: asyncio.Task[None]) -> None:
        await self._wait_for_late_writes()
        feeds = self._parts.feeds
        self._catching_up = {
            feed: asyncio.create_task(self._catch_up(feed), name=f"catch up with {feed.resource}")
            for feed in feeds
        }
        await asyncio.sleep(0)  # all have asked: lists that begin now are what they wait for
        self._may_list.set()
        await self._restored.wait()
        await synced
        required = [self._catching_up[feed] for feed in self._required]
        await asyncio.gather(self._parts.warm(), self._wait_for_optional(), *required)
        # The leader before us may have stored newer ones since our start.
        await self._restore()

    async def _wait_for_late_writes(self) -> None:
        """Wait until nothing arrives any more of what the leader before had handed to its kernel;
        what arrived is caught up with then.
        """
        if (seconds := self._parts.elector.late_until - self._parts.clock.boottime()) > 0:
            log.info(
                (
                    "the leader before did not give its lease back: its last writes may still "
                    "arrive for %.1f s"
                ),
                seconds,
            )
            await self._parts.clock.sleep(seconds)

    async def _first_sync(self) -> None:
        while not all(feed.has_synced for feed in self._required):
            await self._parts.clock.sleep(POLL_SECONDS)
        quiet_collector()

    @property
    def _required(self) -> list[Informer]:
        """The informers without which nothing can be decided."""
        return [feed for feed in self._parts.feeds if not feed.optional]

    async def _catch_up(self, feed: Informer) -> None:
        await feed.wait_caught_up()
        self._parts.engine.caught_up(feed.resource)

    async def _wait_for_optional(self) -> None:
        """Let the other informers catch up too, but not wait long for one that fails: it holds back
        its profiles, not the rest.
        """
        tasks = [
            task for feed, task in self._catching_up.items() if feed.optional and feed.has_synced
        ]
        enough = asyncio.create_task(self._parts.clock.sleep(CATCH_UP_SECONDS))
        everybody = asyncio.create_task(asyncio.wait(tasks)) if tasks else enough
        try:
            await asyncio.wait({everybody, enough}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            enough.cancel()
            everybody.cancel()
        if self._not_caught_up:
            log.warning(
                "not caught up within %.0f s, so profiles that read them wait: %s",
                CATCH_UP_SECONDS,
                ", ".join(self._not_caught_up),
            )

    @property
    def _not_caught_up(self) -> list[str]:
        """The resources that have not caught up since the lease was had."""
        return sorted(feed.resource for feed, task in self._catching_up.items() if not task.done())

    async def _restore(self) -> None:
        """Read the stored revisions, however long that takes: without them a bad spec would have no
        last good one.

        Without the right to, it goes on without them, or with those that were read before; not at
        the first word that it has none.
        """
        refused = math.inf
        while True:
            try:
                return await self._parts.engine.restore()
            except Forbidden as error:
                now = self._parts.clock.boottime()
                refused = min(refused, now)
                if self._restored.is_set() or now - refused >= REFUSED_SECONDS:
                    text = "the stored revisions cannot be read, so it goes on without: %s"
                    log.error(text, error, extra=once_per_failure(error))
                    return None
            except EdgeError as error:
                refused = math.inf
                text = "the stored revisions could not be read, next attempt in %.1f s: %s"
                log.warning(text, RETRY_SECONDS, error, extra=once_per_failure(error))
            await self._parts.clock.sleep(RETRY_SECONDS)

    # ---- the end ---------------------------------------------------------------------------------

    async def _watch(self) -> int:
        """Wait for a reason to end, and end as it demands."""
        stop = asyncio.create_task(self._stop.wait(), name="signal")
        done, _ = await asyncio.wait(
            {stop, *self._state.tasks.values()}, return_when=asyncio.FIRST_COMPLETED
        )
        stop.cancel()
        ended = {name: task for name, task in self._state.tasks.items() if task in done}
        for name, task in ended.items():
            _log_end(name, task)
        lost = any(
            not task.cancelled() and isinstance(task.exception(), LeaseLost)
            for task in ended.values()
        )
        if not lost:
            await self._wind_down()
        return 1 if ended else 0

    async def _wind_down(self) -> None:
        """End in order, while this replica may still write."""
        self._state.phase = ReplicaPhase.STOPPING
        await self._parts.engine.settle(SETTLE_SECONDS)
        await self._parts.events.flush(FLUSH_SECONDS)
        # Nobody may renew what is given back, and whoever has it next waits for nothing that we
        # have under way.
        await _cancelled([self._state.tasks["leadership"]], CLOSE_SECONDS)
        self._parts.sever()
        await self._parts.side.run(self._parts.elector.release())

    async def _close(self) -> None:
        """End what is left; nothing of it may hold up the end of the process."""
        parts = self._parts
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await _cancelled(
                    [task for task in self._state.tasks.values() if task not in parts.kopf.tasks],
                    CLOSE_SECONDS,
                )
                await parts.kopf.stop()
                await parts.side.run(parts.server.stop())
                await parts.close()
        except TimeoutError:
            log.warning("not everything could be closed within %.0f s", CLOSE_SECONDS)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_signal_handler(signal.SIGUSR2, self._parts.engine.inspector.request)
        try:
            yield
        finally:
            for number in (*_ENDING, signal.SIGUSR2):
                loop.remove_signal_handler(number)

    def _signalled(self, number: signal.Signals) -> None:
        if self._stop.is_set():
            self._abort(1)
        log.info("%s: ending", number.name)
        self._stop.set()


def quiet_collector() -> None:
    """Keep Python's cycle collector from pausing the loop.

    What the first lists brought stays for as long as its pods and nodes do and holds no cycles:
    frozen, it is never looked at again. The default threshold of 700 new containers would start a
    collection every few decisions; what leaks in cycles here (tracebacks, finished tasks) is
    little, so a collection every 50,000 is enough.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


async def _cancelled(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Cancel them and wait, at most so long, until they are done."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)


def _log_end(name: str, task: asyncio.Task[Any]) -> None:
    """Say which task ended the process, and why."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, LeaseLost):
        return  # told where it was lost
    if error is not None:
        log.critical("%s failed, so this process ends: %s", name, error, exc_info=error)
    else:
        log.critical("%s ended although it should run for ever, so this process ends", name)
