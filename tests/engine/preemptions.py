"""What the tests of preemption share: a world with a node to fight for, and what must hold in the
end, whatever happened.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from moorage.core.objects.pods import Pod, PodStatus
from moorage.core.objects.workloads import PodDisruptionBudget
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body

RESPECTFUL = a_body(
    "test", pluginConfig=[{"name": "DefaultPreemption", "args": {"disruptionPolicy": "RespectPDB"}}]
)
"""A profile that respects disruption budgets."""
LATER = 1.0
"""Seconds in which what is under way ends."""


def low(name: str, cpu: str = "3", node: str = "n1", priority: int = 1, **metadata: Any) -> Pod:
    """A pod on a node that may have to go; it runs and has the label app=low."""
    pod = make_pod(name, cpu=cpu, node=node, priority=priority)
    metadata = {"labels": {"app": "low"}, **metadata}
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, **metadata),
        status=PodStatus(phase="Running"),
    )


def high(name: str = "high", cpu: str = "3", priority: int = 9, node: str = "", **spec: Any) -> Pod:
    """A pod that fits only if others go; nominated to ``node``, if any."""
    return msgspec.structs.replace(
        make_pod(name, cpu=cpu, priority=priority, **spec),
        status=PodStatus(nominated_node_name=node),
    )


def budget(allowed: int) -> PodDisruptionBudget:
    """One for the pods with the label app=low."""
    selector = {"matchLabels": {"app": "low"}}
    body = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(body, PodDisruptionBudget)


@contextlib.asynccontextmanager
async def contested(*profiles: dict[str, Any], nodes: int = 1) -> AsyncIterator[Running]:
    """A world without a plugin that is woken by everything; at the end it must be as it should."""
    world = Running()
    async with world.leading(*(profiles or (a_body("test"),)), nodes=nodes):
        yield world
        world.kube.release()
        await world.clock.advance(LATER)
        in_order(world)


def in_order(world: Running) -> None:
    """No pod is lost, nominations are what statuses say, nobody was told twice to go, and who was
    told goes.
    """
    cache, queue = world.engine.context.cache, world.engine.queue
    for uid, pod in world.kube.pods.items():
        if pod.status.phase in ("Succeeded", "Failed"):
            continue
        assert cache.pod_info(uid) is not None or queue.get(uid) is not None, f"{uid} is lost"
        if not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
            assert cache.nominations.nominated_node(uid) == pod.status.nominated_node_name, uid
    assert {record.pod.metadata.uid for record in cache.nominations} <= set(world.kube.pods)
    told = collections.Counter(
        event.regarding.uid for event in world.events.events if event.reason == "Preempted"
    )
    assert max(told.values(), default=1) == 1
    for uid in told:
        assert (
            uid not in world.kube.pods
            or world.kube.pods[uid].metadata.deletion_timestamp
            or not world.kube.pods[uid].spec.node_name
        )
    assert queue.totals().in_flight == 0


def going(world: Running) -> list[str]:
    """The pods that are terminating."""
    return sorted(
        pod.metadata.name
        for pod in world.kube.pods.values()
        if pod.metadata.deletion_timestamp is not None
    )


def nominated_node(world: Running, name: str = "high") -> str:
    """The node that a pod is nominated to, as its status says."""
    return world.kube.pods[f"uid-{name}"].status.nominated_node_name


def calls(world: Running, *methods: str) -> list[str]:
    """The writes with these methods that were carried out, as "method pod"."""
    return [
        f"{write.method} {write.arguments[0].name}"
        for write in world.kube.written
        if write.method in methods
    ]


async def gone(world: Running, *names: str) -> None:
    """These pods have died."""
    for name in names:
        world.kube.delete(world.kube.pods[f"uid-{name}"])
    await world.clock.advance(3.0)
