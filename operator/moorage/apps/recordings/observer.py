"""The observer: records a cluster from outside, with get, list and watch alone, whoever schedules
there.

A pod that waited and is seen with a node is a decision of whoever bound it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from moorage.adapters.reflector import Reflector
from moorage.api.resolution import Resolver
from moorage.apps.recordings.observed_recording import ObservedRecording
from moorage.apps.recordings.saving import finish, new_recorder
from moorage.apps.worlds import deciding
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.from_cluster import feeds_of, list_all, probe, who_decides
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.reaching import Connection, connected
from moorage.apps.worlds.world import empty_context
from moorage.ports.kube import Informer
from moorage.ports.stored_kinds import kinds_in

LOOK_SECONDS: Final = 1.0
SILENT_SECONDS: Final = 90.0
"""After so long without a word a watch is told to be lost: bookmarks come once a minute."""


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """What was recorded so far; ``seconds`` since it began."""

    seconds: float
    arrivals: int
    changes: int
    written: int
    schedulers: tuple[str, ...]
    lost: int


class RecordingView(Protocol):
    """Told how a recording goes."""

    def began(self, cluster: str, path: Path, warnings: Iterable[str]) -> None:
        """The first whole state is on its way to the disk."""

    def goes_on(self, progress: Progress) -> None:
        """Once a second."""

    def lost(self, text: str) -> None:
        """Something is missing in the recording from now on, or is complete again."""

    def ended(self, path: Path, progress: Progress) -> None:
        """The file is whole."""


def record(
    choice: ClusterChoice,
    path: Path,
    seconds: float | None,
    resolver: Resolver,
    view: RecordingView,
) -> None:
    """Record until so many seconds are over (None: no end), or SIGINT or SIGTERM comes. Raises
    NoAnswer and WrongUse.
    """
    asyncio.run(observe(choice, path, seconds, resolver, view))


async def observe(
    choice: ClusterChoice,
    path: Path,
    seconds: float | None,
    resolver: Resolver,
    view: RecordingView,
) -> None:
    """The same, where a loop runs already."""
    async with connected(choice) as connection:
        kinds = kinds_in(resolver.registry)
        watched = ObservedCluster(empty_context(), kinds).watched()
        unlisted = await probe(connection, (what for what, _ in watched))
        recorder = new_recorder(path, resolver, connection.version, unlisted.forbidden)
        recording = ObservedRecording(recorder, kinds)
        observer = _Observer(connection, recording, resolver, view)
        feeds = feeds_of(connection, recording.sinks, unlisted.forbidden)
        await list_all(feed for feed in feeds if feed.resource not in unlisted.absent)
        ended = _end_signal()  # not before: until there is a file, a signal ends the process
        await observer.begin()
        view.began(connection.name, path, [*unlisted.warnings(), *recording.observed.set_aside()])
        async with _running(feeds):
            await observer.run(feeds, ended, seconds)
        finish(recorder, path)
    view.ended(path, observer.progress())


def _end_signal() -> asyncio.Event:
    """Set by SIGINT and SIGTERM."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    return ended


@contextlib.asynccontextmanager
async def _running(feeds: Iterable[Reflector[Any]]) -> AsyncIterator[None]:
    """The watches, as long as this is open."""
    tasks = [asyncio.create_task(feed.run(), name=feed.resource) for feed in feeds]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _Observer:
    """Sees a cluster into a recorder, and tells how that goes."""

    def __init__(
        self,
        connection: Connection,
        recording: ObservedRecording,
        resolver: Resolver,
        view: RecordingView,
    ) -> None:
        self._connection = connection
        self._recording = recording
        self._recorder = recording.recorder
        self._resolver = resolver
        self._view = view
        self._losses = Losses(view)
        self._profiles_seen: object = None
        self._began = time.monotonic()
        self._arrived_before = 0

    async def begin(self) -> None:
        """Write the first whole state."""
        self._arrived_before = self._recording.observed.pods.arrivals
        await self._follow_profiles()
        self._recording.begin()

    async def run(
        self, feeds: Sequence[Reflector[Any]], ended: asyncio.Event, seconds: float | None
    ) -> None:
        """Once a second, until the end. Raises NoAnswer when nothing can be written any more."""
        while not ended.is_set() and (seconds is None or self._age() < seconds):
            left = LOOK_SECONDS if seconds is None else min(LOOK_SECONDS, seconds - self._age())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), left)
            await self._follow_profiles()
            self._recording.go_on()
            self._losses.tell(feeds, self._recording.gaps, self._recorder.lost)
            if self._recorder.failure is not None:
                return  # which the end tells
            self._view.goes_on(self.progress())

    def progress(self) -> Progress:
        """What was recorded so far."""
        pods = self._recording.observed.pods
        return Progress(
            self._age(),
            pods.arrivals - self._arrived_before,
            self._recording.changes,
            self._recorder.written,
            tuple(sorted(pods.bound)),
            self._recorder.lost,
        )

    # ---- inside ----------------------------------------------------------------------------------

    def _age(self) -> float:
        return time.monotonic() - self._began

    async def _follow_profiles(self) -> None:
        """Write down who decides, where that has changed."""
        observed = self._recording.observed
        if (seen := observed.profile_versions()) == self._profiles_seen:
            return
        self._profiles_seen = seen
        found = await who_decides(self._connection, observed, self._resolver)
        holds = deciding.holds(observed.profiles.bodies())
        self._recording.decides(found.revisions(), holds)


class Losses:
    """Tells what is missing, once."""

    def __init__(self, view: RecordingView) -> None:
        self._view = view
        self._silent: set[str] = set()
        self._gaps = self._lost = 0

    def tell(self, feeds: Iterable[Informer], gaps: int, lost: int) -> None:
        """What is so now, of the watches and of the disk."""
        for feed in feeds:
            silent = feed.age > SILENT_SECONDS
            if silent and feed.resource not in self._silent:
                self._view.lost(f"nothing is heard of {feed.resource} for {feed.age:.0f} s")
                self._silent.add(feed.resource)
            elif not silent and feed.resource in self._silent:
                self._view.lost(f"{feed.resource} are heard again")
                self._silent.discard(feed.resource)
        if gaps > self._gaps:
            text = "a watch was lost and all was listed anew: what came in between is missing"
            self._view.lost(f"{text}, which stands in the file as a gap")
        if lost > self._lost:
            self._view.lost(f"{lost - self._lost} changes are missing: the disk is too slow")
        self._gaps, self._lost = gaps, lost
