"""Objects that something fails on: set aside, told of once, and tried again when they change."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node, NodeStatus
from moorage.core.objects.pods import Affinity, Pod, PodAffinity, PodAffinityTerm
from moorage.core.objects.workloads import Service, ServiceSpec
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.pods.requests import Requests
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.queue.sub_queues import QUEUE_AS_PLUGIN
from moorage.engine.intake.node_sink import NodeSink
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.ports.stored_kinds import kind_of
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import versioned
from tests.fakes.listeners import FakeQueueListener, Unheard


@in_a_loop
async def test_a_pod_on_a_node_keeps_its_place_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An event and a metric name it; when it changes it is taken in."""
    observe, broken = Cache.observe, True

    def failing(cache: Cache, pod: Pod, requests: Requests) -> None:
        if pod.metadata.name == "odd" and broken:
            raise IndexError("a bug")
        observe(cache, pod, requests)

    monkeypatch.setattr(Cache, "observe", failing)
    async with (running := Running()).leading() as world:
        world.kube.put(versioned(make_pod("odd", node="n1")))
        world.kube.put(versioned(make_pod("next", cpu="1m")))
        await world.clock.advance(3)
        assert world.node("next")
        assert world.engine.context.cache.pod_info("uid-odd") is not None
        assert world.telemetry.last_aside == {"pods": 1}
        assert ["IndexError('a bug')" in note for note in world.notes("SetAside", "odd")] == [True]
        broken = False
        world.kube.put(versioned(make_pod("odd", node="n1")))
        await world.clock.advance(3)
        assert world.telemetry.last_aside == {}
        assert len(running.notes("SetAside")) == 1


@in_a_loop
async def test_a_waiting_pod_is_told_by_event_and_condition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, also when a list brings it again; one of another scheduler is not written to."""
    original = SchedulingQueue.add

    def failing(queue: SchedulingQueue, pod: Pod, now: float) -> None:
        if pod.metadata.name.startswith("odd"):
            raise RecursionError("a bug")
        original(queue, pod, now)

    monkeypatch.setattr(SchedulingQueue, "add", failing)
    async with Running().leading() as world:
        world.kube.put(versioned(make_pod("odd")))
        world.kube.put(versioned(make_pod("odd-stranger", scheduler_name="another")))
        await world.clock.advance(3)
        world.kube.relist()
        await world.clock.advance(3)
        assert [
            "RecursionError('a bug')" in note for note in world.notes("FailedScheduling", "odd")
        ] == [True]
        assert [
            write.arguments[0].name
            for write in world.kube.written
            if write.method == "pod_condition"
        ] == ["odd"]


@in_a_loop
async def test_what_the_queue_drops_is_told_by_the_leader() -> None:
    """A standby keeps it until it leads, unless the pod is gone or has changed; a pod of another
    scheduler is not written to.
    """
    async with Running().leading(lead=False) as world:
        pods = {name: world.kube.put(versioned(make_pod(name))) for name in ("odd", "gone", "new")}
        pods["strange"] = world.kube.put(versioned(make_pod("strange", scheduler_name="another")))
        for pod in pods.values():
            world.engine.queue_reports.plugin_failed(QUEUE_AS_PLUGIN, pod, RecursionError("a bug"))
        world.kube.delete(pods["gone"])
        world.kube.put(versioned(make_pod("new"), labels={"changed": "yes"}))
        await world.clock.advance(5)
        assert world.notes("FailedScheduling") == []
        assert [write for write in world.kube.written if write.method == "pod_condition"] == []
        assert world.engine.queue_reports._failures.keys() == {"uid-odd", "uid-strange"}
        world.engine.lead()
        world.engine.queue_reports.report_due(world.engine.pod_conditions, world.engine.live)
        assert world.notes("FailedScheduling") == [
            "out of the queue until it changes: RecursionError('a bug')"
        ]
        assert len(world.notes("FailedScheduling", "odd")) == 1
        assert not world.engine.queue_reports._failures


@in_a_loop
async def test_a_node_keeps_its_last_readable_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told of by name."""
    put_node = Cache.put_node

    def failing(cache: Cache, node: Node) -> None:
        if node.metadata.labels == {"odd": "yes"}:
            raise MemoryError
        put_node(cache, node)

    monkeypatch.setattr(Cache, "put_node", failing)
    async with Running().leading(nodes=1) as world:
        world.kube.put(versioned(make_node("n1", labels={"odd": "yes"})))
        world.kube.put(versioned(make_pod("next", cpu="1m")))
        await world.clock.advance(3)
        assert world.node("next") == "n1"
        assert len(world.notes("SetAside", "n1")) == 1
        # and a relist: the same fault is no news, whatever else changes
        for news in ("a heartbeat", "another"):
            world.kube.put(
                versioned(make_node("n1", labels={"odd": "yes"}), annotations={"news": news})
            )
            world.kube.relist()
            await world.clock.advance(3)
        assert len(world.notes("SetAside", "n1")) == 1
        world.kube.put(make_node("n1", labels={"odd": "no"}))
        await world.clock.advance(3)
        assert (world.telemetry.last_aside, world.engine.node_sink.unreported) == ({}, {})
        world.kube.put(versioned(make_node("n1", labels={"odd": "yes"})))
        await world.clock.advance(3)
        assert len(world.notes("SetAside", "n1")) == 2


@in_a_loop
async def test_metrics_that_fail_cost_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method of telemetry raises, always."""
    async with Running().leading() as world:
        for name in [
            name
            for name in dir(world.telemetry)
            if not name.startswith("_") and callable(getattr(world.telemetry, name))
        ]:
            monkeypatch.setattr(type(world.telemetry), name, _raise)
        for name in ("a", "b"):
            world.kube.put(versioned(make_pod(name, cpu="1m")))
        await world.clock.advance(3)
        assert world.node("a") and world.node("b")


class Deaf(SchedulingQueue):
    """A scheduling queue that fails on each event, as a plugin's registration may make it."""

    def move_on_event(self, event: ClusterEvent, now: float) -> int:
        """Raise."""
        raise RuntimeError(f"a bug: {event.label}")


def test_what_fails_while_others_are_told_of_it_is_as_before() -> None:
    """The cache has the last state that was taken in, or nothing: what a sink knows and what
    decisions see is the same.
    """
    cache = Cache()
    groups = PodGroupTracker(cache.store)
    hearing, deaf = (
        kind(PrioritySort().sort_key, groups, FakeQueueListener())
        for kind in (SchedulingQueue, Deaf)
    )
    for sink, one in (
        (_nodes(cache, hearing), make_node("known", cpu="4")),
        (_services(cache, hearing), _service("known", "old")),
    ):
        sink.put(versioned(one))
    nodes, services = _nodes(cache, deaf), _services(cache, deaf)
    nodes.objects.update(
        {node.metadata.name: node for node in cache.nodes.nodes if node is not None}
    )
    services.objects.update(cache.store.objects(Service))
    for name in ("known", "new"):
        nodes.put(versioned(make_node(name, cpu="8")))
        services.put(versioned(_service(name, "new")))
    assert ({*nodes.aside}, {*services.aside}) == (
        {"known", "new"},
        {"default/known", "default/new"},
    )
    assert list(cache.nodes.row_of) == ["known"]
    assert cache.nodes.nodes[0] is nodes.objects["known"]
    assert cache.nodes.amounts_at("cpu", 0)[0] == 4000
    assert dict(cache.store.objects(Service)) == services.objects
    assert cache.store.objects(Service)["default/known"].spec.selector == {"app": "old"}


def _services(cache: Cache, queue: SchedulingQueue) -> StoredObjectSink:
    return StoredObjectSink(kind_of(Service), IntakeTargets(cache, queue, lambda: 0.0), Unheard())


def _nodes(cache: Cache, queue: SchedulingQueue) -> NodeSink:
    return NodeSink(IntakeTargets(cache, queue, lambda: 0.0), Unheard())


def _service(name: str, app: str) -> Service:
    return Service(ObjectMeta(name, "default"), ServiceSpec({"app": app}))


def _raise(*_: object) -> None:
    raise ZeroDivisionError


@in_a_loop
async def test_what_of_a_pod_does_not_count_is_told_once() -> None:
    """Though the pod counts; and a node or service that is too large keeps its last state."""
    async with Running().leading() as world:
        node = make_node("huge")
        world.kube.put(versioned(node))
        await world.clock.advance(1)
        amounts: dict[str, str | int] = {f"example.com/r{i}": "1" for i in range(1001)}
        world.kube.put(versioned(msgspec.structs.replace(node, status=NodeStatus(amounts))))
        wide = Service(ObjectMeta("wide"), ServiceSpec(dict.fromkeys(amounts, "")))
        world.kube.put(versioned(wide))
        away = PodAffinity(tuple(PodAffinityTerm(topology_key=f"k{i}") for i in range(201)))
        bound = make_pod("bound", node="n1", affinity=Affinity(pod_anti_affinity=away))
        for state in range(3):
            world.kube.put(versioned(bound, labels={"state": str(state)}))
            await world.clock.advance(3)
        (said,) = world.notes("SetAside", "bound")
        assert (
            "podAntiAffinity has 201 terms, and more than 200 are not looked at: the rest "
            "does not count"
        ) in said
        (said,) = world.notes("SetAside", "huge")
        assert (
            "status.allocatable of a Node has 1001 resources, and more than 1000 are not looked at"
            in said
        )
        (said,) = world.notes("SetAside", "wide")
        assert "spec.selector of a Service has 1001 labels" in said
        assert world.telemetry.last_aside == {"nodes": 1, "services": 1}
        assert (
            world.engine.context.cache.nodes.amounts_at(
                "cpu", world.engine.context.cache.nodes.row_of["huge"]
            )[0]
            == 4000
        )
