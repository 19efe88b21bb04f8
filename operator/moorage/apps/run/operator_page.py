"""The operator's page at /ui: its own state, with the same documents as `moorage ui`.

What is known is taken by reference in one step of the main loop (a frame), and made into documents
on a thread of its own, so that no decision waits for more than that step.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.operator_profiles import STANDS_BY, FreshValue, OperatorProfiles, StatusFacts
from moorage.apps.run.recorded_past import RecordedPast
from moorage.apps.run.side_loop import Side
from moorage.apps.status.status_documents import status_document
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.frame_documents import PageSubject, document_of_frame, frame_document
from moorage.apps.ui.operator_documents import page_status, with_pods
from moorage.apps.ui.past_questions import OF_PAST, is_of_past
from moorage.apps.ui.pod_documents import for_page
from moorage.apps.ui.profile_documents import OF_PROFILES, profile_document
from moorage.apps.ui.questions import Question, denied
from moorage.apps.ui.queue_pages import page_queue, queue_of
from moorage.apps.waiting.queue_documents import from_operator, queue_document
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.engine.engine import Engine
from moorage.ports.requesters import Denied

T = TypeVar("T")

LOOK_SECONDS: Final = 1.0
"""Between two looks at whether anything has changed."""
RATE_LOOKS: Final = 2
"""Looks after which rates, and who is next in the queue, are taken to have changed."""
FRESH_SECONDS: Final = 0.5
"""A frame that is so old is taken anew."""
HAS: Final = ("overview", "status", "queue", "nodes", "node", "pod", *OF_PROFILES, "find")


class OperatorPage:
    """``PageSource`` of this replica, whose ``identity`` it names. Everything is called on the
    side. ``explanations`` and ``past``, where there is a recording, end with it.
    """

    def __init__(
        self,
        engine: Engine,
        side: Side,
        explanations: LiveExplanations,
        profiles: OperatorProfiles,
        past: RecordedPast | None = None,
    ) -> None:
        self.changes = past.changes if past is not None else Changes()
        self._past = past
        self._has = HAS if past is None else (*HAS, *OF_PAST)
        self._engine = engine
        self._side = side
        self.explanations = explanations
        self._profiles = profiles
        self._identity = engine.ports.election.identity
        self._frame = FreshValue(FRESH_SECONDS, lambda: side.ask(self._take))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="page")
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> str:
        """Nothing has to be had first."""
        self.changes.add(self._has)
        return self._identity

    async def run(self) -> None:
        """Say what has changed, as far as numbers and objects show it, until cancelled."""
        await self.open()
        seen: tuple[int, ...] = ()
        bodies: tuple[Body, ...] = ()
        looks = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            looks += 1
            cache = self._engine.cache  # numbers alone: reading them needs no turn of the main loop
            now = len(cache), cache.assumed, len(cache.waiting), len(cache.nodes)
            if now != seen:
                seen = now
                self.changes.add(HAS)
            before, bodies = bodies, self._profiles.bodies()
            if not _same(before, bodies):
                self.changes.add(("status", *OF_PROFILES, "find"))
            elif not looks % RATE_LOOKS:
                self.changes.add(("status", "queue"))

    async def close(self) -> None:
        """Begin nothing more; what is under way on the threads ends by itself."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        self._thread.shutdown(wait=False, cancel_futures=True)
        await self.explanations.close()
        if self._past is not None:
            await self._past.close()

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``; raises MainLoopBusy too."""
        if self._looking is None:  # from the first visitor on
            self._looking = asyncio.create_task(self.run(), name="page")
        if is_of_past(question):
            return await self._of_past(question)
        match question.document:
            case "pod":
                return await self._pod(question)
            case "queue":
                return await self._queue()
            case "status":
                facts, frame = await self._profiles.status(), await self._frame.get()
                return await self._on_thread(lambda: self._status(facts, frame))
            case name if name in OF_PROFILES:
                return await self._of_profiles(question)
        frame = await self._frame.get()
        version, names = await self._profiles.version.get(), self._profiles.names()
        subject = PageSubject(self._identity, version, True, self._has, names)
        return await self._on_thread(lambda: frame_document(frame, question, subject))

    async def _of_past(self, question: Question) -> Mapping[str, Any]:
        if self._past is None:
            raise Denied(404, "nothing is recorded here: switch it on with recording.directory")
        return await self._past.document(question)

    async def _pod(self, question: Question) -> Mapping[str, Any]:
        with denied():
            found = await self.explanations.explained(question.name, question.profile)
        if found is None:
            raise Denied(404, f"there is no pod {question.name}")
        explanation = {**found.document, "leftOut": []}
        return await self._on_thread(
            lambda: for_page(explanation, found.pod, found.revision, found.nodes)
        )

    async def _queue(self) -> Mapping[str, Any]:
        """Its own, with positions, where it leads; else the pods that it has seen."""
        frame = await self._frame.get()
        if not self._profiles.leading:
            left_out = {"leftOut": [STANDS_BY]}
            return await self._on_thread(
                lambda: document_of_frame("Queue", frame, queue_of(frame) | left_out)
            )
        pods, about = await self._profiles.queue(), {"operator": self._identity}
        schedulers = frozenset(map(bodies.scheduler_name, self._profiles.bodies()))

        def document() -> Mapping[str, Any]:
            found = queue_document(from_operator(pods), about, schedulers=schedulers)
            return document_of_frame("Queue", frame, page_queue(found))

        return await self._on_thread(document)

    def _status(self, facts: StatusFacts, frame: WorldFrame) -> Mapping[str, Any]:
        """On the thread."""
        found = status_document(*facts)
        body = {**page_status(found), "leftOut": found["leftOut"]}
        return document_of_frame("Status", frame, with_pods(body, frame))

    async def _of_profiles(self, question: Question) -> Mapping[str, Any]:
        views, frame = await self._profiles.views(question), await self._frame.get()
        return await self._on_thread(
            lambda: document_of_frame(
                "", frame, profile_document(question, views, self._profiles.resolver)
            )
        )

    async def _take(self) -> WorldFrame:
        """On the main loop."""
        engine = self._engine
        origin = f"the operator, {self._identity}"
        return take_frame(engine.context, dict(engine.live), origin, engine.ports.clock.now())

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _same(before: tuple[Body, ...], now: tuple[Body, ...]) -> bool:
    """Whether they are the same objects: to compare what they say would read them all."""
    return len(before) == len(now) and all(map(operator.is_, before, now))
