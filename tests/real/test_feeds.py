"""Feeds, writes, events and reads on a real API server, with the rights of the operator's own
ServiceAccount.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.adapters.event_broadcaster import EventBroadcaster
from moorage.adapters.kube_reads import HttpKubeReader
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.reflector import ListWatch, Reflector
from moorage.adapters.replica_leases import ReplicaLeases
from moorage.adapters.system_clock import SystemClock
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.engine.profiles.stored_revisions import named
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Conflict, NotFound
from moorage.ports.event_recorder import Event, ObjectRef
from moorage.ports.kube import PodRef, ReplicaAnnouncement, StoredRevision, UnreadableObject
from moorage.ports.leadership import Fence
from tests.fakes.sinks import CountingTelemetry
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import NAMESPACE, install

PLACE = "feeds"
POD = {"spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}}
PODS = f"/api/v1/namespaces/{PLACE}/pods"


class Sink:
    """Names of the objects that are there, and how many lists there were."""

    def __init__(self) -> None:
        self.there: dict[str, str] = {}
        self.lists = 0
        self.nodes_of: dict[str, str] = {}

    def list_started(self, served: bool = True) -> None:
        """Begin anew."""
        self.there.clear()

    def put(self, obj: Pod | Node) -> None:
        """There."""
        self.there[obj.metadata.name] = obj.metadata.uid
        if isinstance(obj, Pod):
            self.nodes_of[obj.metadata.name] = obj.spec.node_name

    def delete(self, obj: Pod | Node) -> None:
        """Gone."""
        self.there.pop(obj.metadata.name, None)

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        """Nothing here is."""
        raise AssertionError(obj)

    def list_ended(self) -> bool:
        """Counted."""
        self.lists += 1
        return False


@dataclasses.dataclass
class Edge:
    """A session and what is on both sides of it."""

    session: KubeSession
    client: Client

    @contextlib.asynccontextmanager
    async def feeding(self, watched: ListWatch[Any]) -> AsyncIterator[tuple[Reflector[Any], Sink]]:
        """A running reflector that has listed."""
        sink = Sink()
        feed = Reflector(self.session, SystemClock(), watched, sink)
        task = asyncio.create_task(feed.run())
        try:
            await until(lambda: feed.has_synced)
            yield feed, sink
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def pod(self, name: str) -> PodRef:
        """Create a pod that nobody schedules."""
        uid = self.client.post(PODS, {"metadata": {"name": name}, **POD})["metadata"]["uid"]
        return PodRef(PLACE, name, uid)


async def until(check: Callable[[], object], seconds: float = 10) -> None:
    """Wait until the check gives something true."""
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def kubeconfig(rig: ControlPlane) -> Path:
    """The operator's rights, and a namespace for these tests."""
    path = install(rig)
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    return path


@pytest.fixture
def run(rig: ControlPlane, kubeconfig: Path) -> Callable[[Callable[[Edge], Awaitable[None]]], None]:
    """Runs a scenario on an edge of its own."""

    def run(scenario: Callable[[Edge], Awaitable[None]]) -> None:
        async def bounded() -> None:
            session = await KubeSession.open(
                KubeSource(str(kubeconfig)), "moorage/test (feeds)", SystemClock()
            )
            with contextlib.closing(Client(rig)) as client:
                try:
                    async with asyncio.timeout(60):
                        await scenario(Edge(session, client))
                finally:
                    await session.close()

        asyncio.run(bounded())

    return run


Run = Callable[[Callable[[Edge], Awaitable[None]]], None]


def test_list_then_watch(run: Run) -> None:
    """What was there is listed, page by page; what comes and goes is watched; a field selector is
    kept to.
    """

    async def scenario(edge: Edge) -> None:
        first = edge.pod("first")
        async with edge.feeding(
            ListWatch("pods", "/api/v1/pods", Pod, f"metadata.namespace={PLACE}")
        ) as (feed, sink):
            assert sink.there == {"first": first.uid}
            second = edge.pod("second")
            await until(lambda: sink.there.get("second") == second.uid)
            edge.client.delete(f"{PODS}/first")
            await until(lambda: "first" not in sink.there)
            assert sink.lists == 1 and feed.failures == 0 and feed.age < 10
        edge.client.delete(f"{PODS}/second")

    run(scenario)


@pytest.mark.parametrize(("resource", "kind"), [("pods", Pod), ("nodes", Node)])
def test_catch_up_where_nothing_happens(run: Run, resource: str, kind: type[Any]) -> None:
    """A version that only other resources have moved on to is reached by a bookmark, within seconds
    and without a new list.
    """

    async def scenario(edge: Edge) -> None:
        async with edge.feeding(ListWatch(resource, f"/api/v1/{resource}", kind)) as (feed, sink):
            for number in range(3):
                edge.client.post(
                    f"/api/v1/namespaces/{PLACE}/configmaps",
                    {"metadata": {"name": f"{resource}-{number}"}},
                )
            started = time.monotonic()
            await feed.wait_caught_up()
            assert time.monotonic() - started < 5
            assert sink.lists == 1

    run(scenario)


@pytest.mark.real_only  # what is in memory does not outlive its process
def test_a_restarted_api_server_is_watched_on(rig: Rig, run: Run) -> None:
    """The API server goes away and comes back: the reflector goes on, and what happened meanwhile
    comes.
    """

    async def scenario(edge: Edge) -> None:
        async with edge.feeding(
            ListWatch("pods", "/api/v1/pods", Pod, f"metadata.namespace={PLACE}")
        ) as (feed, sink):
            # From this thread, although that holds the loop: the server lives as long as the thread
            # that started it.
            rig.restart_apiserver()
            with contextlib.closing(Client(rig)) as client:
                client.post(PODS, {"metadata": {"name": "after"}, **POD})
                await until(lambda: "after" in sink.there, 20)
                assert feed.failures == 0
                client.delete(f"{PODS}/after")

    run(scenario)


def test_binding(run: Run) -> None:
    """A pod is bound once, and only the pod that is meant; reading it says where it is."""

    async def scenario(edge: Edge) -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 60)
        writes, reads = (
            HttpKubeWriter(edge.session, fence, clock, (NAMESPACE, "moorage")),
            HttpKubeReader(edge.session, clock, NAMESPACE, "moorage"),
        )
        edge.client.post("/api/v1/nodes", {"metadata": {"name": "feeds-node"}})
        pod = edge.pod("bound")
        namesake = dataclasses.replace(pod, uid="00000000-0000-0000-0000-000000000000")
        assert await reads.pod_node(pod) == ""
        with pytest.raises(Conflict):
            await writes.bind(namesake, "feeds-node")
        await writes.bind(pod, "feeds-node")
        assert await reads.pod_node(pod) == "feeds-node"
        assert await reads.pod_node(namesake) is None
        with pytest.raises(Conflict, match="already assigned"):
            await writes.bind(pod, "feeds-node")
        edge.client.delete(f"{PODS}/bound")
        with pytest.raises(NotFound):
            await writes.bind(pod, "feeds-node")
        assert await reads.pod_node(pod) is None

    run(scenario)


def test_conditions(run: Run) -> None:
    """A condition is patched in by its type; the nominated node comes and goes; a namesake is a
    conflict.
    """

    async def scenario(edge: Edge) -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 60)
        writes = HttpKubeWriter(edge.session, fence, clock, (NAMESPACE, "moorage"))
        pod = edge.pod("waiting")
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "one",
        }
        await writes.pod_condition(pod, condition, "feeds-other")
        await writes.pod_condition(pod, {**condition, "message": "two"})
        status = edge.client.get(f"{PODS}/waiting")["status"]
        assert [(c["type"], c["message"]) for c in status["conditions"]] == [
            ("PodScheduled", "two")
        ]
        assert status["nominatedNodeName"] == "feeds-other"
        await writes.pod_condition(pod, condition, "")
        assert "nominatedNodeName" not in edge.client.get(f"{PODS}/waiting")["status"]
        with pytest.raises(Conflict, match="another object has this name now"):
            await writes.pod_condition(
                dataclasses.replace(pod, uid="00000000-0000-0000-0000-000000000000"), condition
            )
        edge.client.delete(f"{PODS}/waiting")

    run(scenario)


def test_evictions(run: Run) -> None:
    """A victim is told why and deleted, a namesake is not; a nomination alone is taken away."""

    async def scenario(edge: Edge) -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 60)
        writes = HttpKubeWriter(edge.session, fence, clock, (NAMESPACE, "moorage"))
        pod = edge.pod("victim")
        namesake = dataclasses.replace(pod, uid="00000000-0000-0000-0000-000000000000")
        await writes.pod_nomination(pod, "feeds-other")
        await writes.pod_nomination(pod, "")
        await writes.pod_condition(
            pod,
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "go",
            },
        )
        status = edge.client.get(f"{PODS}/victim")["status"]
        assert "nominatedNodeName" not in status
        assert [(c["type"], c["reason"]) for c in status["conditions"]] == [
            ("DisruptionTarget", "PreemptionByScheduler")
        ]
        with pytest.raises(Conflict):
            await writes.delete_pod(namesake)
        await writes.delete_pod(pod)
        with pytest.raises(NotFound):
            await writes.delete_pod(pod)

    run(scenario)


def test_revisions_and_replicas(rig: ControlPlane, run: Run) -> None:
    """Stored revisions come back as they were, long names included; replicas announce, are seen,
    and withdraw.
    """

    async def scenario(edge: Edge) -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 60)
        writes, reads = (
            HttpKubeWriter(edge.session, fence, clock, (NAMESPACE, "feeds")),
            HttpKubeReader(edge.session, clock, NAMESPACE, "feeds"),
        )
        profile = "feeds." + "x" * 80
        revisions = [
            StoredRevision(
                f"feeds-{number}", profile, number, {"uid": "u-1", "spec": {"n": [number, None]}}
            )
            for number in (1, 2)
        ]
        for revision in revisions:
            await writes.create_revision(revision)
        with pytest.raises(Conflict):
            await writes.create_revision(revisions[0])
        assert [found for found in await reads.revisions() if found.profile == profile] == list(
            map(named, revisions)
        )
        assert [await reads.revision(revision.name) for revision in revisions] == revisions
        for revision in revisions:
            await writes.delete_revision(revision.name)
            await writes.delete_revision(revision.name)
        announcer = ReplicaLeases(edge.session, clock, (NAMESPACE, "feeds"))
        for found in ({"p": "r1"}, {"p": "r2", "q": "r1"}):
            await announcer.announce("host_1", found)
            assert await reads.replicas() == [ReplicaAnnouncement("host_1", found)]
        await announcer.withdraw("host_1")
        await announcer.withdraw("host_1")
        assert await reads.replicas() == []
        await writes.delete_replica("host_1")
        assert await reads.allowed(AccessRight("create", "", "pods/binding"))
        assert await reads.allowed(AccessRight("delete", "", "nodes")) is not rig.guarded

    run(scenario)


def test_events(run: Run) -> None:
    """The API server takes an event, its series, and one on a cluster-scoped object with every
    length at its limit.
    """

    async def scenario(edge: Edge) -> None:
        telemetry = CountingTelemetry()
        sender = EventBroadcaster(edge.session, SystemClock(), telemetry, "h" * 200, workers=2)
        task = asyncio.create_task(sender.run())
        pod = ObjectRef("Pod", "somebody", "uid-1", PLACE)
        event = Event(
            pod,
            "FailedScheduling",
            "é" * 3000,
            "Scheduling",
            controller="example.com/binpack",
            warning=True,
        )
        for count in range(3):
            sender.record(event)
            await until(lambda count=count: telemetry.counts["event", "sent"] > count)  # type: ignore[misc]
        node = ObjectRef("Node", "n" * 253, "uid-2")
        sender.record(
            Event(node, "Activated", "hello", "Activate", controller="moorage", related=pod)
        )
        await sender.flush(5)
        task.cancel()
        assert telemetry.counts == {("event", "sent"): 4}
        (found,) = edge.client.get(f"/apis/events.k8s.io/v1/namespaces/{PLACE}/events")["items"]
        assert (found["reason"], found["type"], found["series"]["count"]) == (
            "FailedScheduling",
            "Warning",
            3,
        )
        assert found["note"].endswith(" ...") and len(found["note"].encode()) <= 1024

    run(scenario)
