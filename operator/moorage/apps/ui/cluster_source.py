"""The page of a cluster: its API server is listed and watched with the user's kubeconfig, and
nothing is written.

Watching has a loop and a thread of its own (``SideLoop``), which alone changes what is known. A
document is made from a frame, taken there in one step, on any thread; a pod is explained there, as
what would help is tried on the context itself: watching waits meanwhile, the page does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, Final

from moorage.adapters.recording import Recorder
from moorage.adapters.reflector import Reflector
from moorage.api.resolution import Resolver
from moorage.apps.recordings.observed_recording import ObservedRecording
from moorage.apps.revisions.profile_view import view
from moorage.apps.run.side_loop import Side
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.frame_documents import PageSubject, document_of_frame, frame_document
from moorage.apps.ui.operator_documents import NO_STATUS, operator_document, with_pods
from moorage.apps.ui.past_questions import is_of_past
from moorage.apps.ui.pod_documents import pod_document
from moorage.apps.ui.profile_documents import OF_PROFILES, profile_document, views_of
from moorage.apps.ui.questions import Question
from moorage.apps.ui.queue_pages import queue_of
from moorage.apps.ui.seen_past import SeenPast
from moorage.apps.worlds import deciding
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.deciding import ProfileSet
from moorage.apps.worlds.from_cluster import feeds_of, list_all, probe, who_decides
from moorage.apps.worlds.reaching import Connection, connected
from moorage.apps.worlds.world import World
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.ports.stored_kinds import kinds_in

LOOK_SECONDS: Final = 0.5
"""Between two looks at what has changed."""
OPERATOR_LOOKS: Final = 4
"""Looks after which an operator's queue and rates are taken to have changed."""
RECORDED_LOOKS: Final = 2
"""Looks after which what was seen is handed to the recorder."""
SILENT_SECONDS: Final = 90.0
"""Without a word of a watch before the page says so: bookmarks come once a minute."""
HAS: Final = ("overview", "status", "queue", "nodes", "node", "pod", *OF_PROFILES, "find")
_OF_NODES: Final = frozenset({"overview", "nodes", "node"})
_OF_PODS: Final = frozenset({"overview", "queue", "nodes", "node", "pod"})
_OF_PROFILES: Final = frozenset({"status", "history", "trial", "pod"})
NO_QUEUE: Final = (
    "positions, attempts and rates are not known: nothing but the API server was asked"
)


class ClusterSource:
    """``PageSource`` of a cluster. ``open`` before anything is asked; ``run`` keeps it going."""

    def __init__(self, choice: ClusterChoice, resolver: Resolver, side: Side) -> None:
        self.changes = Changes()
        self._side = side
        self._past = SeenPast(resolver, self.changes)
        self._watch = _Watch(choice, resolver, self._past.recorder)

    async def open(self) -> str:
        """List everything; what the cluster is called. Raises NoAnswer."""
        await self._side.run(self._watch.open())
        self.changes.add(HAS)
        return self._watch.connection.name

    async def run(self) -> None:
        """Say what has changed, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look(), name="looking")
            group.create_task(self._past.run(), name="past")

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if found := await self._side.run(self._watch.look()):
                self.changes.add(found)

    async def close(self) -> None:
        """End the watches."""
        await self._side.run(self._watch.close())
        await self._past.close()

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``."""
        connection = self._watch.connection
        if is_of_past(question):
            return await self._past.document(question, connection.name)
        match question.document:
            case "pod":
                return await self._side.run(self._watch.pod(question))
            case name if name in OF_PROFILES:
                return await self._side.run(self._watch.of_profile(question))
            case "status" | "queue":
                return await self._side.run(self._watch.of_operator(question.document))
        frame = await self._side.run(self._watch.frame())
        has, profiles = (*HAS, *self._past.has), await self._side.run(self._watch.profile_names())
        subject = PageSubject(connection.name, connection.version, True, has, profiles)
        return await asyncio.to_thread(frame_document, frame, question, subject)


class _Watch:
    """What is known of the cluster. Everything here is called on the side alone."""

    connection: Connection

    def __init__(self, choice: ClusterChoice, resolver: Resolver, recorder: Recorder) -> None:
        self._choice = choice
        self._resolver = resolver
        self._journal = _ChangedDocuments()
        kinds = kinds_in(resolver.registry)
        self._recording = ObservedRecording(recorder, kinds, (self._journal,))
        self._observed = self._recording.observed
        self._opened = contextlib.AsyncExitStack()
        self._feeds: list[Reflector[Any]] = []
        self._deciding = ProfileSet()
        self._warnings: tuple[str, ...] = ()
        self._profiles_seen: object = None
        self._frame: WorldFrame | None = None
        self._has_operator = False
        self._queue: Mapping[str, Mapping[str, Any]] = {}
        """Pods of the operator's queue, as it was last asked for."""
        self._looks = 0

    async def open(self) -> None:
        """Raises NoAnswer."""
        self.connection = await self._opened.enter_async_context(connected(self._choice))
        sinks = self._recording.sinks
        unlisted = await probe(self.connection, (what for what, _ in sinks))
        self._feeds = feeds_of(self.connection, sinks, unlisted.forbidden)
        await list_all(feed for feed in self._feeds if feed.resource not in unlisted.absent)
        self._unlisted = tuple(unlisted.warnings())
        await self.look()
        self._recording.begin(self.connection.version)
        tasks = [asyncio.create_task(feed.run(), name=feed.resource) for feed in self._feeds]
        self._opened.push_async_callback(_ended, tasks)

    async def close(self) -> None:
        await self._opened.aclose()

    async def look(self) -> set[str]:
        """The documents that have changed since the last look."""
        before = self._deciding.warnings
        if await self._follow_profiles():
            self._journal.documents |= _OF_PROFILES
        silent = tuple(
            f"nothing is heard of {feed.resource} for {feed.age:.0f} s"
            for feed in self._feeds
            if feed.age > SILENT_SECONDS
        )
        self._looks += 1
        if self._looks % RECORDED_LOOKS == 0:
            self._recording.go_on()
        if self._has_operator and self._looks % OPERATOR_LOOKS == 0:
            self._journal.documents |= {"status", "queue"}
        said = self._deciding.warnings
        failure = self._recording.recorder.failure
        unkept = () if failure is None else (f"what happens now is not kept: {failure}",)
        warnings = (*self._unlisted, *said, *silent, *unkept, *self._observed.set_aside())
        if len(warnings) != len(self._warnings) or said != before:
            self._journal.documents |= _OF_PODS
        self._warnings = warnings
        found, self._journal.documents = self._journal.documents, set()
        if found:
            self._frame = None
        return found

    async def frame(self) -> WorldFrame:
        """What is known now, or was at the last look."""
        if self._frame is None:
            world = self._world()
            self._frame = take_frame(
                world.context, world.profiles, world.origin, world.at, world.warnings
            )
        return self._frame

    async def profile_names(self) -> tuple[str, ...]:
        """Of all SchedulerProfiles."""
        return tuple(one.metadata.name for one in self._observed.profiles.objects.values())

    async def pod(self, question: Question) -> Mapping[str, Any]:
        """Explained here, as nobody else may look meanwhile. Raises Denied."""
        with self._recording.tried():
            return pod_document(self._world(), question, self._resolver, self._wait(question.name))

    async def of_operator(self, document: str) -> Mapping[str, Any]:
        """Status or queue, of the operator where one can be reached; in a cluster without Moorage
        what is known of its pods. Raises Denied.
        """
        frame = await self.frame()
        body = await operator_document(self.connection, self._choice, document)
        self._has_operator = body is not None
        kind = document.capitalize()
        if body is not None and body.get("ordered"):
            self._queue = {one["pod"]: one for one in body["pods"]}
        if body is not None:
            return document_of_frame(
                kind, frame, with_pods(body, frame) if document == "status" else body
            )
        body = queue_of(frame) if document == "queue" else NO_STATUS
        found = document_of_frame(kind, frame, body)
        return {**found, "leftOut": [*found["leftOut"], NO_QUEUE]}

    async def of_profile(self, question: Question) -> Mapping[str, Any]:
        """Raises Denied."""
        views = await views_of(question, lambda name: view(self.connection, name))
        body = profile_document(question, views, self._resolver)
        return document_of_frame("", await self.frame(), body)

    # ---- inside ----------------------------------------------------------------------------------

    def _wait(self, pod: str) -> Mapping[str, Any] | None:
        """Where the operator's queue has it."""
        if (found := self._queue.get(pod)) is None:
            return None
        same = ("queue", "attempts", "since", "until", "roomHeldUntil")
        return {**{name: found[name] for name in same}, "gatingPlugin": ""}

    def _world(self) -> World:
        return World(
            self._observed.context,
            self._deciding.revisions(),
            f"the API server alone, {self.connection.name}",
            datetime.datetime.now(datetime.UTC),
            self._warnings,
            deciding.holds(self._observed.profiles.bodies()),
            left_out=self._deciding.left_out,
            unserved=self._observed.unserved(),
        )

    async def _follow_profiles(self) -> bool:
        """Whether another profile, or another spec of one, is there."""
        seen = self._observed.profile_versions()
        if seen == self._profiles_seen:
            return False
        self._profiles_seen = seen
        self._deciding = await who_decides(self.connection, self._observed, self._resolver)
        holds = deciding.holds(self._observed.profiles.bodies())
        self._recording.decides(self._deciding.revisions(), holds)
        return True


@dataclasses.dataclass(slots=True)
class _ChangedDocuments:
    """A journal that keeps the names of the documents that its entries change."""

    documents: set[str] = dataclasses.field(default_factory=set)

    def append(self, entry: Entry, /) -> None:
        """One more change."""
        match entry:
            case changes.NodePut() | changes.NodeRemoved():
                self.documents |= _OF_NODES
            case changes.PodWaiting() | changes.PodObserved() | changes.PodRemoved():
                self.documents |= _OF_PODS


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
