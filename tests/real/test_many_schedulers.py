"""Others in the cluster: a real kube-scheduler that fills the same nodes, kubelets that refuse,
profiles that go; and a look inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moorage.adapters.kube_reads import HttpKubeReader
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.reflector import Reflector
from moorage.adapters.system_clock import SystemClock
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.run import bootstrap
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.engine.binding.actors.intree import ACTORS
from moorage.engine.engine import Engine
from moorage.ports.bundle import Ports
from moorage.ports.kube import PodRef, StoredRevision
from moorage.ports.leadership import Fence
from tests.engine.worlds import a_body
from tests.fakes.election import FakeElection
from tests.fakes.extenders import ScriptedExtenderClient
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client, many
from tests.rig.demo import node
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until

PLACE = "crowd"
PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
PODS = f"/api/v1/namespaces/{PLACE}/pods"


def pod(name: str, scheduler: str, cpu: str = "100m") -> dict[str, Any]:
    """A pod for this scheduler, on nodes of this module's own."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}},
    }
    spec = {
        "schedulerName": scheduler,
        "nodeSelector": {"topology.kubernetes.io/zone": f"zone-{PLACE}"},
        "containers": [container],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": PLACE},
        "spec": spec,
    }


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def place(rig: ControlPlane) -> Iterator[Client]:
    """A namespace and four nodes of this module's own, which go at the end with what is left in
    it.
    """
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    create(rig, *(node(f"{PLACE}-{i}", PLACE) for i in range(4)))
    with contextlib.closing(Client(rig)) as client:
        yield client
        many(rig, [_deletion(item["metadata"]["name"]) for item in client.get(PODS)["items"]])
        for i in range(4):
            client.delete(f"/api/v1/nodes/{PLACE}-{i}")


def _deletion(name: str) -> Any:
    return lambda client: client.delete(f"{PODS}/{name}")


@pytest.fixture(scope="module")
def operator(rig: ControlPlane, place: Client) -> Iterator[Operator]:
    """The operator, with its own ServiceAccount's rights and a Lease of its own."""
    kubeconfig = install(rig)
    with Operator(rig, kubeconfig, "moorage-crowd") as operator:
        operator.wait_logged("leading")
        yield operator
    place.delete(PROFILES)


def found(client: Client, name: str) -> dict[str, Any]:
    """A pod."""
    return dict(client.get(f"{PODS}/{name}"))


def scheduled(item: dict[str, Any]) -> str:
    """The message of a pod's condition PodScheduled."""
    return next(
        (
            c.get("message", "")
            for c in item.get("status", {}).get("conditions", [])
            if c["type"] == "PodScheduled"
        ),
        "",
    )


def bound(client: Client, name: str) -> str:
    """The pod's node, when it has one."""
    return str(until(lambda: found(client, name)["spec"].get("nodeName"), f"a node for {name}", 20))


# ---- one by one ----------------------------------------------------------------------------------


def test_a_pod_that_a_kubelet_refuses_is_counted(
    rig: ControlPlane, place: Client, operator: Operator
) -> None:
    """In a metric by profile and reason, in the log with its node, in an event on the profile; its
    room is free again.
    """
    create(rig, profile("refused"), pod("refused-1", "refused", cpu="8"))
    where = bound(place, "refused-1")
    status = {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Pod was rejected: Node didn't have enough resource: cpu",
    }
    place.merge(f"{PODS}/refused-1/status", {"status": status})
    told = operator.wait_logged(
        "a kubelet refused a pod: Pod was rejected: Node didn't have enough resource: cpu", 10
    )
    assert (told["pod"], told["node"], told["profile"], told["reason"]) == (
        f"{PLACE}/refused-1",
        where,
        "refused",
        "OutOfcpu",
    )
    assert (
        'moorage_kubelet_rejections_total{profile="refused",reason="OutOfcpu"} 1.0'
        in operator.fetched("/metrics")
    )

    def events() -> list[str]:
        items = place.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [
            item["note"]
            for item in items
            if item["regarding"]["name"] == "refused" and item["reason"] == "KubeletRejected"
        ]

    (note,) = until(events, "the event")
    assert note.startswith(f"The kubelet of node {where} refused pod {PLACE}/refused-1: OutOfcpu: ")
    create(rig, *(pod(f"refused-{i}", "refused", cpu="7") for i in range(2, 6)))
    for i in range(2, 6):
        bound(place, f"refused-{i}")
    many(rig, [_deletion(f"refused-{i}") for i in range(1, 6)])


def test_pods_of_a_profile_that_is_deleted(
    rig: ControlPlane, place: Client, operator: Operator
) -> None:
    """Each is told once which profile is gone; recreated, they go on; a pod that came meanwhile is
    not touched before.
    """
    names = [f"lost-{i}" for i in range(30)]
    create(rig, profile("lost", suspend=True), *(pod(name, "lost", "10m") for name in names))
    until(lambda: len(json.loads(operator.fetched("/debug/queue"))) >= 30, "the pods in the queue")
    place.delete(f"{PROFILES}/lost")
    text = "SchedulerProfile 'lost' was deleted, and no other one has the schedulerName 'lost'"
    until(
        lambda: all(scheduled(found(place, name)) == text for name in names), "the conditions", 20
    )
    create(rig, pod("lost-later", "lost", "10m"))

    def events() -> list[str]:
        items = place.get(f"/apis/events.k8s.io/v1/namespaces/{PLACE}/events")["items"]
        return [
            item["regarding"]["name"]
            for item in items
            if item.get("note") == text and "series" not in item
        ]

    until(lambda: len(events()) == 30, "the events")
    assert sorted(events()) == sorted(names)
    assert scheduled(found(place, "lost-later")) == ""
    create(rig, profile("lost"))
    for name in (*names, "lost-later"):
        bound(place, name)
    many(rig, [_deletion(name) for name in (*names, "lost-later")])


def test_a_look_inside(rig: ControlPlane, place: Client, operator: Operator) -> None:
    """SIGUSR2 has it logged, /debug answers it: who waits and why, what is where, and that it is as
    the API server has it.
    """
    create(
        rig, profile("inside"), pod("inside-big", "inside", cpu="64"), pod("inside-small", "inside")
    )
    where = bound(place, "inside-small")
    until(lambda: "Insufficient cpu" in scheduled(found(place, "inside-big")), "a reason")

    def waiting() -> dict[str, Any] | None:
        return next(
            (
                p
                for p in json.loads(operator.fetched("/debug/queue"))
                if p["pod"] == f"{PLACE}/inside-big" and p["message"]
            ),
            None,
        )

    entry = until(waiting, "the pod with its reason in the queue")
    assert (entry["state"], entry["profile"], entry["unschedulablePlugins"][-1]) == (
        "unschedulable",
        "inside",
        "NodeResourcesFit",
    )
    assert "4 Insufficient cpu" in entry["message"]
    nodes = {item["node"]: item for item in json.loads(operator.fetched("/debug/cache"))}
    assert f"{PLACE}/inside-small" in [item["pod"] for item in nodes[where]["pods"]]
    assert nodes[where]["allocatable"]["cpu"] == "8000m"
    assert json.loads(operator.fetched("/debug/differences")) == []

    operator.signal(signal.SIGUSR2)
    operator.wait_logged("compared with the API server: 0 differences", 20)
    logged = list(operator.log())
    assert any(line["msg"] == "cached node" and line["node"] == where for line in logged)
    assert any(
        line["msg"] == "waiting pod" and line["pod"] == f"{PLACE}/inside-big" for line in logged
    )
    assert operator.alive
    many(rig, [_deletion(name) for name in ("inside-big", "inside-small")])


# ---- beside kube-scheduler -----------------------------------------------------------------------


class CheckedWrites(HttpKubeWriter):
    """Before each binding is sent: does its node hold what was delivered and what is assumed, this
    pod among it?
    """

    engine: Engine

    def __init__(self, session: KubeSession, fence: Fence) -> None:
        super().__init__(session, fence, SystemClock(), ("moorage-system", "none"))
        self.sent: Counter[str] = Counter()
        self.too_much: list[str] = []

    async def create_revision(self, revision: StoredRevision) -> None:
        """Nobody will ask for it."""

    async def bind(self, pod: PodRef, node: str) -> None:
        """Check, then send."""
        table = self.engine.context.cache.nodes
        row = table.row_of[node]
        self.sent[node] += 1
        if np.any(table.requested[:, row] > table.allocatable[:, row]):
            self.too_much.append(
                f"{pod.name} on {node}: {table.requested[:, row]} > {table.allocatable[:, row]}"
            )
        await super().bind(pod, node)


class Slow:
    """Takes a moment before each binding, in which others may take the node."""

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """A moment."""
        await asyncio.sleep(0.5)


@dataclasses.dataclass
class Beside:
    """An engine with real reflectors, reads and writes in this process, without Lease and Kopf; it
    decides for the profile ``name``.
    """

    name: str
    session: KubeSession
    writes: CheckedWrites
    telemetry: PrometheusTelemetry
    engine: Engine

    @classmethod
    async def make(cls, kubeconfig: Path, name: str) -> Beside:
        """Everything joined."""
        clock, telemetry = SystemClock(), PrometheusTelemetry()
        session = await KubeSession.open(KubeSource(str(kubeconfig)), "beside", clock)
        fence = Fence(clock.boottime)
        fence.extend(float("inf"))
        writes = CheckedWrites(session, fence)
        reads = HttpKubeReader(session, clock, "moorage-system", "none")
        # The profile is no object of the API server's, and nobody else announces anything: events
        # and replicas stay here.
        around = Ports(
            clock=clock,
            writes=writes,
            status_writes=writes,
            reads=reads,
            events=FakeEventRecorder(),
            telemetry=telemetry,
            announcer=InMemoryKube(),
            extenders=ScriptedExtenderClient(),
            election=FakeElection(identity="beside"),
        )
        registry = build_registry(
            INTREE, [PluginSpec("Slow", None, acts_at=frozenset({ExtensionPoint.PRE_BIND}))]
        )
        config, actors = OperatorConfiguration(), {**ACTORS, "Slow": lambda tools: Slow()}
        engine = writes.engine = Engine(
            config, around, Resolver(registry, PRESETS, config), registry, actors
        )
        return cls(name, session, writes, telemetry, engine)

    async def is_done(self) -> bool:
        """Whether nobody finds room any more, and the cache is as the API server is."""
        counts = self.engine.queue.counts(self.name)
        return (
            counts.active + counts.backoff + counts.in_flight == 0
            and self.engine.context.cache.assumed == 0
            and (await self.engine.inspector.compare()) == []
        )

    @property
    def counts(self) -> Counts:
        """What became of its decisions."""
        overtaken = sum(
            float(line.split()[-1])
            for line in self.telemetry.render().decode().splitlines()
            if line.startswith("moorage_stale_bindings")
        )
        return Counts(sum(self.writes.sent.values()), int(overtaken), self.writes.too_much)

    @contextlib.asynccontextmanager
    async def deciding(self) -> Any:
        """Run it."""
        feeds = [
            Reflector(self.session, SystemClock(), what, sink)
            for what, sink in bootstrap._list_watches(self.engine)
        ]
        tasks = [asyncio.create_task(feed.run()) for feed in feeds]
        tasks.append(asyncio.create_task(self.engine.run()))
        slow = {"multiPoint": {"enabled": [{"name": "Slow"}]}}
        self.engine.profile_changed(self.name, a_body(self.name, plugins=slow))
        self.engine.listed()
        while not all(feed.has_synced for feed in feeds):
            await asyncio.sleep(0.05)
        await asyncio.gather(*(feed.wait_caught_up() for feed in feeds))
        self.engine.lead()
        async with asyncio.timeout(10):
            while self.name not in self.engine.live:
                await asyncio.sleep(0.05)
        try:
            yield self
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            await self.session.close()
            assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


@dataclasses.dataclass
class Counts:
    """What became of one's decisions: bindings sent, those held back since the node had no room any
    more, and those that were sent though it was known to have none.
    """

    sent: int
    overtaken: int
    too_much: list[str]


@pytest.mark.real_only  # kube-scheduler needs protobuf, or is built by Go at least
def test_a_kube_scheduler_that_fills_the_same_nodes(rig: Rig, place: Client) -> None:
    """By what was delivered and assumed when a binding was sent, no decision of ours fills a node
    beyond what it has.

    Nodes that are overfull in the end are races of two who bind at the same moment: they are
    counted apart, and each has pods of both.
    """
    with kube_scheduler(rig):
        create(rig, pod("first", "theirs", "1m"))
        bound(place, "first")
        (counts,) = asyncio.run(_race(rig, ("ours",), ("ours", "theirs")))
    assert counts.too_much == []
    assert counts.overtaken > 0
    told = f"{counts.sent} bindings sent, {counts.overtaken} overtaken"
    print(f"{told}; beyond what nodes have: {_beyond(rig, place, ('ours', 'theirs'))}")  # noqa: T201 - races are told, not judged


@pytest.mark.real_only
def test_two_shards_that_fill_the_same_nodes(rig: Rig, place: Client) -> None:
    """The same of two installations without pools of their own: what one has seen of the other's
    bindings, it counts before it sends its own.

    What is left is the time from that look until the other's binding is seen, and it is counted.
    """
    both = ("left", "right")
    counts = asyncio.run(_race(rig, both, both))
    assert [one.too_much for one in counts] == [[], []]
    assert sum(one.overtaken for one in counts) > 0
    told = ", ".join(f"{one.sent} bindings sent and {one.overtaken} held back" for one in counts)
    print(f"{told}; beyond what nodes have: {_beyond(rig, place, both)}")  # noqa: T201 - races are told, not judged


async def _race(rig: Rig, ours: Sequence[str], all_of_them: Sequence[str]) -> list[Counts]:
    """Pods of all of these schedulers, 160 of each, twice as many as there is room for; until none
    of ours finds room any more. The caches are then as the API server is.
    """
    async with contextlib.AsyncExitStack() as stack:
        racers = []
        for name in ours:
            beside = await Beside.make(rig.kubeconfig, name)
            racers.append(await stack.enter_async_context(beside.deciding()))
        jobs = [
            (lambda client, name=f"{who}-{i}", who=who: client.post(PODS, pod(name, who, "200m")))
            for i in range(160)
            for who in all_of_them
        ]
        await asyncio.to_thread(many, rig, jobs, 4)
        async with asyncio.timeout(30):
            while not all([await racer.is_done() for racer in racers]):
                await asyncio.sleep(0.3)
        for racer in racers:
            assert racer.engine.queue.counts(racer.name).unschedulable > 0
        return [racer.counts for racer in racers]


def _beyond(rig: Rig, place: Client, both: Sequence[str]) -> str:
    """How many pods are on nodes beyond what these have, and by node what each scheduler's take
    there; all pods are deleted. Each node is full, by pods of both.
    """
    used: dict[str, Counter[str]] = {f"{PLACE}-{i}": Counter() for i in range(4)}
    items = place.get(PODS)["items"]
    many(rig, [_deletion(item["metadata"]["name"]) for item in items])
    for item in items:
        if where := item["spec"].get("nodeName"):
            used[where][item["spec"]["schedulerName"]] += int(
                item["spec"]["containers"][0]["resources"]["requests"]["cpu"][:-1]
            )
    assert all(by[who] > 0 for by in used.values() for who in both)
    assert all(sum(by.values()) > 7500 for by in used.values())
    raced = {where: dict(by) for where, by in used.items() if sum(by.values()) > 8000}
    return f"{sum(sum(by.values()) - 8000 for by in raced.values()) / 200:.0f} pods, {raced}"
