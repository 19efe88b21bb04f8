"""The page of a recording: any moment of it, its timeline, and worlds that could have been. No
cluster is asked.

A moment takes a second or two to open; the last ones are kept. Moments are opened one at a time on
a thread of their own; the timeline and other worlds are made on another, in the background.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from moorage.api.resolution import Resolver
from moorage.apps.printing.amounts import age, counted, moment
from moorage.apps.recordings.recorded_choices import ShownDecision, about, around
from moorage.apps.recordings.timelines import RecordedTimeline, TimelineMaker
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.frame_documents import (
    OF_FRAMES,
    PageSubject,
    document_of_frame,
    frame_document,
)
from moorage.apps.ui.other_worlds import OtherWorlds
from moorage.apps.ui.pod_documents import pod_document
from moorage.apps.ui.questions import Question, denied
from moorage.apps.ui.queue_pages import queue_of
from moorage.apps.ui.stop_flags import StopFlag
from moorage.apps.worlds.from_recording import from_recording, opened
from moorage.apps.worlds.world import World
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.core.framework.revisions import Revision
from moorage.ports.requesters import Denied

T = TypeVar("T")

KEPT_MOMENTS: Final = 3
HISTORY_SECONDS: Final = 60.0
"""Before a pod found its node, in which its attempts are looked for."""
GROWS_SECONDS: Final = 5.0
"""Between two looks at what a folder has got."""
TOLD_STEP: Final = 0.05
"""Of progress, between two events."""
HAS: Final = (
    "overview",
    "queue",
    "nodes",
    "node",
    "pod",
    "timeline",
    "decisions",
    "compare",
    "find",
)


class RecordingSource:
    """``PageSource`` of a file, or of a folder that may grow. ``candidates``: revisions by
    schedulerName that make a world "candidates"; those that the recording has make worlds of their
    own. ``changes``: somebody else's, whose page this is a part of. ``known``: up to which moment
    all is recorded, though nothing may have happened.
    """

    def __init__(
        self,
        path: Path,
        resolver: Resolver,
        candidates: Mapping[str, Revision] | None = None,
        *,
        changes: Changes | None = None,
        known: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.changes = changes or Changes()
        self._known = known
        self._path = path
        self._resolver = resolver
        self._recording = opened(path, resolver.registry)
        self.begin = self._recording.key_frames[0]
        """The first moment that can be opened."""
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="opening")
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="timeline")
        self._kept: OrderedDict[float, World] = OrderedDict()
        self._timeline: RecordedTimeline | None = None
        self._progress = 0.0
        self._stop = StopFlag()
        self._worlds = OtherWorlds(path, resolver, candidates or {}, self._tell, self._stop)

    async def open(self) -> str:
        """Open its end; what it is called. Raises NoAnswer and WrongUse."""
        self._loop = asyncio.get_running_loop()
        self.changes.add(HAS)
        await self._on(self._opener, lambda: self._world(None))
        return str(self._path)

    async def run(self) -> None:
        """Make the timeline, in the background; of a folder go on as it grows, until cancelled."""
        end = (await self._on(self._opener, lambda: self._world(None))).at.timestamp()
        maker = TimelineMaker(self.begin, end - self.begin)
        await self._on(self._maker, lambda: self._go_on(maker, None, end))
        while self._path.is_dir():
            await asyncio.sleep(GROWS_SECONDS)
            await self._on(self._maker, lambda: self._go_on(maker, maker.seen, end))

    def _go_on(self, maker: TimelineMaker, at: float | None, end: float) -> None:
        """On the thread that makes timelines: what has come since ``at``. Raises NoAnswer."""
        recording = opened(self._path, self._resolver.registry, at)
        self.begin, before = recording.key_frames[0], maker.found.end
        length = max(end - self.begin, 1.0)
        entries = self._stop.until(recording)
        maker.go_on(entries, lambda time: self._made((time - maker.found.begin) / length))
        maker.reach(self._known())
        if self._timeline is not None and maker.found.end == before:
            return
        maker.forget(self.begin)
        self._timeline = maker.timeline()
        self._worlds.revisions = self._timeline.revisions
        self._made(1.0)

    async def close(self) -> None:
        """Begin nothing more, and end what is being made: the process waits for its threads."""
        self._stop.stop()
        for one in (self._opener, self._maker):
            one.shutdown(wait=False, cancel_futures=True)
        self._worlds.close()

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``."""
        with denied():
            return await self._document(question)

    async def _document(self, question: Question) -> Mapping[str, Any]:
        match question.document:
            case "timeline":
                return await self._told("Timeline", self._timeline_body())
            case "compare":
                return await self._told("Comparison", self._worlds.document(question.b))
            case "decisions":
                body = await self._on(self._opener, lambda: self._decisions(question))
                return await self._told("Decisions", body)
            case name if name not in HAS:
                raise Denied(404, f"there is no {name} in a recording")
        if question.b:
            frame = self._worlds.frame(question.b, question.at)
            return await asyncio.to_thread(frame_document, frame, question, self._subject())
        return await self._on(self._opener, lambda: self._of_moment(question))

    def _of_moment(self, question: Question) -> Mapping[str, Any]:
        """On the thread that opens moments, which alone has them."""
        world = self._world(question.at)
        if question.document == "pod":
            found = pod_document(world, question, self._resolver)
            return {**found, "history": self._history(question.name, world.at.timestamp())}
        frame = _framed(world)
        if question.document == "queue":
            found = document_of_frame("Queue", frame, queue_of(frame))
            left_out = "positions and attempts are not recorded"
            return {**found, "leftOut": [*found["leftOut"], left_out]}
        assert question.document in OF_FRAMES  # noqa: S101 - by HAS
        return frame_document(frame, question, self._subject())

    def _subject(self) -> PageSubject:
        version = self._recording.header.versions.get("kubernetes", "")
        return PageSubject(self._path.name, version, False, HAS)

    def _world(self, at: float | None) -> World:
        """Raises NoAnswer and WrongUse."""
        place = -1.0 if at is None else at
        if place not in self._kept:
            self._kept[place] = from_recording(
                self._path, self._resolver.registry, at, self._known()
            )
        self._kept.move_to_end(place)
        while len(self._kept) > KEPT_MOMENTS:
            self._kept.popitem(last=False)
        return self._kept[place]

    # ---- times -----------------------------------------------------------------------------------

    def _timeline_body(self) -> dict[str, Any]:
        found = self._timeline or RecordedTimeline(self.begin, self.begin, 1.0)
        swaps = sum(mark.what == "swap" for mark in found.marks)
        gaps = sum(mark.what == "gap" for mark in found.marks)
        length = age(found.end - found.begin)
        answer = f"{length} recorded: {counted(swaps, 'swap')}, {counted(gaps, 'gap')}."
        if self._timeline is None:
            answer = f"The recording is gone through: {100 * self._progress:.0f} %."
        return {
            "answer": answer,
            "begin": found.begin,
            "end": found.end,
            "step": found.step,
            **{name: getattr(found, name) for name in ("placed", "waiting", "cpu", "p99")},
            "placedBy": found.placed_by,
            "marks": [mark._asdict() for mark in found.marks],
            "worlds": self._worlds.names(),
            "progress": 1.0 if self._timeline is not None else min(self._progress, 0.99),
        }

    def _decisions(self, question: Question) -> dict[str, Any]:
        at = self.begin if question.at is None else question.at
        entries = opened(self._path, self._resolver.registry, at)
        before, after = around(entries, at, question.limit)
        return {
            "answer": f"{counted(len(after), 'decision')} from {moment(at)} on.",
            "before": [_shown(one) for one in before],
            "decisions": [_shown(one) for one in after],
        }

    def _history(self, pod: str, until: float) -> list[dict[str, Any]]:
        """The decision that gave a pod its node, with attempts of the minute before; nothing while
        the recording is not gone through.
        """
        placed = self._timeline.found_places.get(pod) if self._timeline is not None else None
        if placed is None or placed > until:
            return []
        entries = opened(self._path, self._resolver.registry, placed - HISTORY_SECONDS)
        return [_shown(one) for one in about(entries, pod, placed)]

    def _made(self, progress: float) -> None:
        """On whatever thread."""
        if progress >= 1 or progress - self._progress >= TOLD_STEP:
            self._progress = progress
            self._tell("timeline")

    def _tell(self, document: str) -> None:
        """On whatever thread."""
        self._loop.call_soon_threadsafe(self.changes.add, (document,))

    async def _told(self, kind: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        frame = await self._on(self._opener, lambda: _framed(self._world(None)))
        return document_of_frame(kind, frame, body)

    async def _on(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(thread, work)


def _framed(world: World) -> WorldFrame:
    return take_frame(world.context, world.profiles, world.origin, world.at, world.warnings)


def _shown(one: ShownDecision) -> dict[str, Any]:
    return one._asdict()
