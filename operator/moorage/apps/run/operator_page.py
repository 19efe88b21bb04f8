"""The operator's page at /ui: its own state, with the same documents as `moorage ui`.

What is known is taken by reference in one step of the main loop (a frame), and made into documents
on a thread of its own, so that no decision waits for more than that step.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.side_loop import Side
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.frame_documents import OF_FRAMES, PageSubject, frame_document, told
from moorage.apps.ui.pod_documents import for_page
from moorage.apps.ui.questions import Question
from moorage.apps.ui.queue_pages import queue_of
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.engine.engine import Engine
from moorage.ports.requesters import Denied

T = TypeVar("T")

LOOK_SECONDS: Final = 1.0
"""Between two looks at whether anything has changed."""
FRESH_SECONDS: Final = 0.5
"""A frame that is so old is taken anew."""
HAS: Final = ("overview", "queue", "nodes", "node", "pod", "find")


class OperatorPage:
    """``PageSource`` of this replica, whose ``identity`` it names. Everything is called on the
    side. ``explanations`` end with it.
    """

    def __init__(
        self, engine: Engine, side: Side, explanations: LiveExplanations, identity: str
    ) -> None:
        self.changes = Changes()
        self._engine = engine
        self._side = side
        self.explanations = explanations
        self._identity = identity
        self._turn = asyncio.Lock()
        self._frame: WorldFrame | None = None
        self._taken = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="page")
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> str:
        """Nothing has to be had first."""
        self.changes.add(HAS)
        return self._identity

    async def run(self) -> None:
        """Say what has changed, as far as numbers show it, until cancelled."""
        await self.open()
        seen: tuple[int, ...] = ()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            cache = self._engine.cache  # numbers alone: reading them needs no turn of the main loop
            now = len(cache), cache.assumed, len(cache.waiting), len(cache.nodes)
            if now != seen:
                seen = now
                self.changes.add(HAS)

    async def close(self) -> None:
        """Begin nothing more; what is under way on the threads ends by itself."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        self._thread.shutdown(wait=False, cancel_futures=True)
        await self.explanations.close()

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``; raises MainLoopBusy too."""
        if self._looking is None:  # from the first visitor on
            self._looking = asyncio.create_task(self.run(), name="page")
        if question.at is not None or question.b:
            raise Denied(404, "only the present can be seen here: moorage ui --recording FILE")
        if question.document == "pod":
            return await self._pod(question)
        frame = await self._seen()
        if question.document == "queue":
            return await self._on_thread(lambda: told("Queue", frame, queue_of(frame)))
        if question.document not in OF_FRAMES:
            raise Denied(404, f"there is no {question.document} here: moorage ui has it")
        subject = PageSubject(self._identity, "", True, HAS)
        return await self._on_thread(lambda: frame_document(frame, question, subject))

    async def _pod(self, question: Question) -> Mapping[str, Any]:
        if question.profile:
            raise Denied(404, "another profile is tried by moorage ui, not by the operator")
        found = await self.explanations.explained(question.name)
        if found is None:
            raise Denied(404, f"there is no pod {question.name}")
        told = {**found.document, "leftOut": []}
        return await self._on_thread(lambda: for_page(told, found.pod, found.revision, found.nodes))

    async def _seen(self) -> WorldFrame:
        """What is known now, or was a moment ago."""
        async with self._turn:
            if self._frame is None or time.monotonic() - self._taken > FRESH_SECONDS:
                self._frame = await self._side.ask(self._take)
                self._taken = time.monotonic()
            return self._frame

    async def _take(self) -> WorldFrame:
        """On the main loop."""
        engine = self._engine
        origin = f"the operator, {self._identity}"
        return take_frame(engine.context, dict(engine.live), origin, engine.ports.clock.now())

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
