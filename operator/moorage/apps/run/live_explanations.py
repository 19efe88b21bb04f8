"""Explanations of the operator's own state, for whoever asks at /explain.

What is known is copied by reference in one step of the main loop (a key frame), and put into
columns of their own on a thread of its own, one pod at a time: no decision waits for more than that
step.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from moorage.api import bodies
from moorage.apps.explain.explanation_documents import KIND, Document
from moorage.apps.explain.group_documents import GROUP_KIND
from moorage.apps.explain.one_group import APIS, explain_found, find_group
from moorage.apps.explain.one_pod import default_revision, explain, explain_under, known_pod
from moorage.apps.printing.documents import API_VERSION
from moorage.apps.run.side_loop import Side
from moorage.apps.worlds import deciding
from moorage.apps.worlds.world import World, empty_context
from moorage.core.columns.changes import Entry
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.explaining.pending_pods import Limits
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.state_changes import apply_change
from moorage.engine.engine import Engine

LIMITS: Final = Limits(seconds=5.0)
"""The thread takes turns with the one that decides, so that its search has an end."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Taken:
    """What one step takes."""

    entries: Iterator[Entry]
    name: str
    profile: str
    profiles: Mapping[str, Revision]
    holds: Mapping[str, Hold]
    unserved: Collection[str]
    seed: int
    wait: Document | None
    at: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Explained:
    """A pod at one moment, with all that was known of it then: ``nodes`` are of a context that
    nobody changes any more.
    """

    document: Document
    pod: Pod
    revision: Revision
    """Under which it is explained."""
    nodes: NodeTable


class LiveExplanations:
    """Explains pods; ``identity`` is this replica's."""

    def __init__(self, engine: Engine, side: Side, identity: str) -> None:
        self._engine = engine
        self._side = side
        self._resolver = deciding.in_tree_resolver()
        self._identity = identity
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="explaining")

    async def explain(self, kind: str, name: str) -> Document | None:
        """The explanation of the pod or podgroup ``namespace/name``, None where there is none. On
        the side; raises MainLoopBusy.
        """
        if kind == "podgroup":
            return await self._of_group(name)
        found = await self.explained(name)
        return None if found is None else found.document

    async def _of_group(self, name: str) -> Document | None:
        async def take() -> _Taken:
            return self._state(name, "", self._wait_of_group(name))

        async with self._turn:
            taken = await self._side.ask(take)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._explained_group, taken)

    async def explained(self, name: str, profile: str = "") -> Explained | None:
        """The same, with what it is explained by; ``profile``: the schedulerName of another one to
        try in the place of its own. Raises WrongUse where nobody decides for that.
        """

        async def take() -> tuple[_Taken, Pod] | None:
            return self._take(name, profile)

        async with self._turn:
            taken = await self._side.ask(take)
            if taken is None:
                return None
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._explained, *taken)

    async def close(self) -> None:
        """Begin nothing more; what is under way ends by itself within LIMITS."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _take(self, name: str, profile: str) -> tuple[_Taken, Pod] | None:
        """On the main loop."""
        engine = self._engine
        namespace, _, own_name = name.partition("/")
        pod = known_pod(engine.cache, engine.latest_pods.uids.get((namespace, own_name), ""))
        if pod is None:
            return None
        return self._state(name, profile, self._wait(pod.metadata.uid)), pod

    def _state(self, name: str, profile: str, wait: Document | None) -> _Taken:
        engine = self._engine
        return _Taken(
            key_frame(engine.cache, {}),
            name,
            profile,
            dict(engine.live),
            dict(self._holds()),
            frozenset(engine.queue.groups.unserved),
            engine.context.seed,
            wait,
            engine.ports.clock.now(),
        )

    def _holds(self) -> Iterator[tuple[str, Hold]]:
        """By schedulerName, why pods are not tried."""
        for record in self._engine.records.profiles.values():
            if (hold := record.hold) is not None:
                yield bodies.scheduler_name(record.body), hold

    def _wait(self, uid: str) -> Document | None:
        """Where it waits and until when, as far as the queue knows."""
        waiting = self._engine.inspector.waiting(uid)
        if waiting is None:
            return None
        return {
            "queue": waiting["state"],
            "attempts": waiting["attempts"],
            "since": waiting["timestamp"],
            "until": waiting["until"] or None,
            "gatingPlugin": waiting["gatingPlugin"],
            "roomHeldUntil": waiting["groupRoomHeldUntil"] or None,
        }

    def _wait_of_group(self, name: str) -> Document | None:
        """Where its first member waits."""
        namespace, _, own_name = name.partition("/")
        groups = self._engine.queue.groups
        keys = (GroupKey(api, namespace, own_name) for api in APIS)
        first = next((one for key in keys for one in groups.waiting(key)), None)
        return None if first is None else self._wait(first.uid)

    def _explained(self, taken: _Taken, pod: Pod) -> Explained:
        """On a thread of its own, which alone has this context."""
        world = self._world(taken)
        if taken.profile:
            found = explain_under(world, pod, taken.profile, self._resolver, beside_loop=True)
        else:
            found = explain(world, pod, self._resolver, LIMITS, beside_loop=True)
        name = pod.spec.scheduler_name
        revision = taken.profiles.get(name) or default_revision(self._resolver)
        told = self._document(KIND, found, taken)
        return Explained(told, pod, revision, world.context.cache.nodes)

    def _explained_group(self, taken: _Taken) -> Document | None:
        """On the same thread."""
        world = self._world(taken)
        members = find_group(world.context.cache, taken.name)
        if members is None:
            return None
        found = explain_found(world, members, self._resolver, LIMITS, beside_loop=True)
        return self._document(GROUP_KIND, found, taken)

    def _world(self, taken: _Taken) -> World:
        context = empty_context(taken.seed)
        for entry in taken.entries:
            apply_change(entry, context)
        return World(
            context,
            taken.profiles,
            self._identity,
            taken.at,
            holds=taken.holds,
            unserved=taken.unserved,
        )

    def _document(self, kind: str, found: Document, taken: _Taken) -> Document:
        return {
            "apiVersion": API_VERSION,
            "kind": kind,
            **found,
            "source": f"the operator, {self._identity}",
            "at": taken.at.isoformat(timespec="milliseconds"),
            "wait": taken.wait,
        }
