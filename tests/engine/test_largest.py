"""Nothing that the API server accepts holds the loop up: each step with the largest objects is
short, or the object is refused by name.

Steps are measured in the thread's own time, so that other work on the machine does not count. Here
each is tried once and may take several times as long as it should; `make test-all` (suite
"thorough") holds the limit with more nodes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import settings

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.core.pods.ceilings import too_large
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.ports.stored_kinds import STORED_KINDS
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, on_node, versioned
from tests.fakes.listeners import Unheard
from tests.largest import MOST_BYTES, NODES, OTHERS, PODS, Largest

LONG = settings.get_current_profile_name() == "thorough"
LIMIT = 0.05
"""Seconds of own time that a step may take."""
FACTOR = 1 if LONG else 5
NODE_COUNT = 1000 if LONG else 50
ADDED_UP = (
    0.1,
    (
        "all that a pod on a node takes counts there, and each of 20,000 containers or 50,000 "
        "resources is another number"
    ),
)
INIT = "init containers", "init containers beside a sidecar"
LONGER = dict.fromkeys(
    (
        "containers",
        "container amounts",
        "container statuses",
        *INIT,
        "resource names",
        "resource amounts",
    ),
    ADDED_UP,
)
"""What takes longer in one step, and why it can neither be refused nor left out."""


class Steps:
    """A bench whose steps are measured."""

    def __init__(self) -> None:
        self.bench = Bench(has_twin=False)
        self.runner = asyncio.Runner()
        self.bench.context.budget._now = time.thread_time
        self.bench.live.deciding = True
        self.sinks = {
            kind.struct: StoredObjectSink(kind, self.bench.targets, Unheard())
            for kind in STORED_KINDS
        }
        self.longest: dict[str, float] = {}
        for i in range(NODE_COUNT):
            labels = {"kubernetes.io/hostname": f"n{i}", "zone": f"z{i % 3}"}
            self.bench.nodes.put(versioned(make_node(f"n{i}", labels=labels)))
        self.bench.nodes.list_ended()
        self.bench.pods.list_ended()
        self.bench.pods.put(versioned(make_pod("known", cpu="1m", node="n0")))
        for sink in self.sinks.values():
            sink.list_started()
            sink.list_ended()

    def step(self, name: str, call: Callable[[], Any]) -> Any:
        """Do it, and remember how long it took."""
        began = time.thread_time()
        found = call()
        self.longest[name] = max(self.longest.get(name, 0.0), time.thread_time() - began)
        return found

    def decide(self, name: str = "a slice of deciding") -> None:
        """All attempts that there are, slice by slice."""
        self.runner.run(self._decide(name))

    async def _decide(self, name: str) -> None:
        running = self.bench.loop.run()
        for _ in range(5000):
            if self.step(name, lambda: running.send(None)) is not None:
                break  # it waits
        else:
            raise AssertionError("there was no end to it")
        running.close()

    def put(self, name: str, kind: type, body: Any) -> Any:
        """Decode an object and take it in."""
        raw = json.dumps(body).encode()
        obj = versioned(self.step(f"decoding {name}", lambda: msgspec.json.decode(raw, type=kind)))
        sink = self._sink(kind)
        self.step(f"taking in {name}", lambda: sink.put(obj))
        self.step(
            f"catching up after {name}", lambda: self.bench.queue.flush(self.bench.clock.boottime())
        )
        return obj

    def delete(self, name: str, obj: Any) -> None:
        """It is gone."""
        sink = self._sink(type(obj))
        self.step(f"letting {name} go", lambda: sink.delete(obj))

    def _sink(self, kind: type) -> Any:
        mine: dict[Any, Any] = {Pod: self.bench.pods, Node: self.bench.nodes}
        return mine.get(kind) or self.sinks[kind]

    def too_long(self, what: str) -> list[str]:
        """The steps that took too long with this object."""
        limit, _ = LONGER.get(what, (LIMIT, ""))
        return [
            f"{name}: {1000 * seconds:.0f} ms"
            for name, seconds in self.longest.items()
            if seconds > FACTOR * limit
        ]


@pytest.fixture
def steps() -> Iterator[Steps]:
    """Without the collector, whose pauses are no part of a step."""
    gc.collect()
    gc.disable()
    made = Steps()
    with made.runner:
        yield made
    gc.enable()


def lives(steps: Steps, name: str, largest: Largest, node: str) -> None:
    """The life of a pod: it comes, is decided about, waits while things happen, changes, comes to a
    node and goes.
    """
    body = largest.body()
    pod = steps.put(name, Pod, body)
    steps.decide()
    entry = steps.bench.queue.get("uid-p")
    refused = too_large(pod)
    assert not refused or (entry is not None and entry.state is not QueueState.IN_FLIGHT)
    steps.put("a node", Node, small_node("extra"))
    steps.put("a small pod on a node", Pod, small_pod("small"))
    steps.delete("the small pod", steps.bench.pods.objects["uid-small"])
    steps.decide("a slice of deciding again")
    if entry is not None:
        steps.step(
            f"another state of {name}",
            lambda: steps.bench.pods.put(versioned(pod, labels={"x": "y"})),
        )
        steps.decide("a slice of deciding once more")
    elsewhere = versioned(on_node(pod, node))
    steps.step(f"{name} on a node", lambda: steps.bench.pods.put(elsewhere))
    steps.put(
        "a small pod",
        Pod,
        {**small_pod("waits"), "spec": {"schedulerName": "test", "containers": [{"name": "c"}]}},
    )
    steps.decide("a slice of deciding beside it")
    steps.delete(name, elsewhere)


def stands(steps: Steps, name: str, largest: Largest) -> None:
    """The life of a pod that somebody else has placed; it stands beside others, which are decided
    about, changes and goes.
    """
    body = largest.body(MOST_BYTES if LONG else MOST_BYTES // 4)
    pod = steps.put(name, Pod, {**body, "spec": {**body["spec"], "nodeName": "n0"}})
    steps.put(
        "a small pod",
        Pod,
        {**small_pod("waits"), "spec": {"schedulerName": "test", "containers": [{"name": "c"}]}},
    )
    steps.decide("a slice of deciding beside it")
    more = {
        **small_pod("larger"),
        "spec": {"schedulerName": "test", "priority": 9, "containers": LARGE},
    }
    steps.put("a pod of higher priority", Pod, more)
    steps.decide("a slice of deciding who makes room")
    changed = versioned(pod, labels={"x": "y"})
    steps.step(f"another state of {name}", lambda: steps.bench.pods.put(changed))
    steps.put("its node anew", Node, small_node("n0"))
    steps.delete(name, changed)


def small_node(name: str) -> Any:
    """An ordinary node."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"kubernetes.io/hostname": name},
        },
        "status": {"allocatable": room},
    }


def small_pod(name: str) -> Any:
    """An ordinary pod on a node."""
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
    }


@pytest.mark.parametrize("name", PODS)
def test_pods(name: str, steps: Steps) -> None:
    """Waiting and on a node."""
    lives(steps, name, PODS[name], "n0")
    assert not steps.too_long(name)


@pytest.mark.parametrize("name", PODS)
def test_pods_of_others(name: str, steps: Steps) -> None:
    """On a node from the start."""
    stands(steps, name, PODS[name])
    assert not steps.too_long(name)


@pytest.mark.parametrize("name", NODES)
def test_nodes(name: str, steps: Steps) -> None:
    """It comes while pods wait, some are decided about, it changes and goes."""
    steps.put(
        "a pod that fits nowhere",
        Pod,
        {**small_pod("huge"), "spec": {"schedulerName": "test", "containers": HUGE}},
    )
    steps.decide()
    body = NODES[name].body()
    node = steps.put(name, Node, body)
    steps.decide("a slice of deciding with it")
    steps.put(
        "a small pod",
        Pod,
        {**small_pod("waits"), "spec": {"schedulerName": "test", "containers": [{"name": "c"}]}},
    )
    steps.decide("a slice of deciding with it")
    steps.put(f"{name} changed", Node, {**body, "spec": {**body["spec"], "unschedulable": True}})
    steps.delete(name, node)
    assert not steps.too_long(name)


LARGE = [{"name": "c", "resources": {"requests": {"cpu": "3500m"}}}]
HUGE = [{"name": "c", "resources": {"requests": {"cpu": "5000"}}}]


def test_each_kind_has_a_largest_object() -> None:
    """Of all that intake reads."""
    assert {one.kind for one in (*PODS.values(), *NODES.values(), *OTHERS.values())} == {
        Pod,
        Node,
        *(kind.struct for kind in STORED_KINDS),
    }


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, steps: Steps) -> None:
    """They come, pods are decided by them, and they go."""
    steps.put("a class", DeviceClass, {"metadata": {"name": "dc", "uid": "uid-dc"}, "spec": {}})
    steps.put("a slice of devices", ResourceSlice, OTHERS["slice"].body())
    kind, body = OTHERS[name].kind, OTHERS[name].body()
    obj = steps.put(name, kind, body)
    spec: dict[str, Any] = {"schedulerName": "test", "containers": [{"name": "c"}]}
    if kind is ResourceClaim:
        spec["resourceClaims"] = [{"name": "c", "resourceClaimName": "claim"}]
    if kind in (PersistentVolume, PersistentVolumeClaim, StorageClass):
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "big"}}]
    if kind in (PersistentVolume, StorageClass):
        claim = {
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "big" if kind is StorageClass else "",
        }
        steps.put(
            "a claim",
            PersistentVolumeClaim,
            {"metadata": {"name": "big", "namespace": "default", "uid": "uid-c"}, "spec": claim},
        )
    steps.put("a pod", Pod, {**small_pod("waits"), "spec": spec})
    steps.decide()
    steps.step(f"{name} changed", lambda: steps.sinks[kind].put(versioned(obj)))
    steps.decide("a slice of deciding again")
    steps.delete(name, obj)
    steps.decide("a slice of deciding without it")
    assert not steps.too_long(name)
