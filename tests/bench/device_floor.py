"""The writes of ``tests.bench.devices`` with nothing to decide: how fast an API server takes them.
``python -m tests.bench.device_floor KUBECONFIG WORKLOAD``.

All that is sent is sent by the operator's own writer on its event loop, over connections that are
open when it begins, with more in flight than the operator has. Which node and which devices a pod
gets follows from its number. Nothing is watched. Events go beside, as few at a time as the
operator's, so that a pod need not wait for its event either.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from moorage.adapters.event_broadcaster import WORKERS
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.system_clock import SystemClock
from moorage.apps.run.operator_process import loop_factory
from moorage.core.devices.extended_resources import (
    ExtendedResourceRequests,
    claim_to_create,
    requests_for,
)
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    Allocation,
    Consumer,
    DeviceClass,
    DeviceRequest,
    ResourceClaim,
)
from moorage.ports.http_calls import HttpCall
from moorage.ports.kube import pod_ref
from moorage.ports.leadership import Fence
from tests.bench.device_workloads import (
    CLAIMS,
    CLASSES,
    DEVICES_PER_NODE,
    DRIVER,
    EVENTS,
    RESOURCE,
    TAKEN,
    WORKLOADS,
)
from tests.bench.embedded import NODES, PODS

IN_FLIGHT: Final = 256
"""Pods that are written at a time: four times as many as the operator's default, with which the API
server and etcd do the same in a tenth less time.
"""
_ALWAYS: Final = 3600.0
T = TypeVar("T")


class Floor:
    """Writes all pods of a cluster. ``nodes``: their names."""

    def __init__(self, session: KubeSession, shared: bool, in_flight: int) -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + _ALWAYS)
        self._session = session
        self._shared = shared
        self._in_flight = in_flight
        self._writes = HttpKubeWriter(session, fence, clock, ("default", "floor"), in_flight)
        self._events: asyncio.Queue[bytes] = asyncio.Queue()
        self._nodes: list[str] = []
        self._claims: dict[str, ResourceClaim] = {}
        self._classes: dict[str, DeviceClass] = {}

    async def run(self) -> None:
        """Until all is written. Raises EdgeError."""
        self._nodes = [node.metadata.name for node in await self._list(NODES, Node)]
        (its_class,) = await self._list(CLASSES, DeviceClass)
        self._classes = {RESOURCE: its_class}
        claims = {one.metadata.name: one for one in await self._list(CLAIMS, ResourceClaim)}
        pods = await self._list(PODS, Pod)
        for pod in pods:
            for said in pod.status.resource_claim_statuses or ():
                self._claims[pod.metadata.name] = claims[said.resource_claim_name or ""]
        left = iter(enumerate(pods))
        sending = [asyncio.create_task(self._send_events()) for _ in range(WORKERS)]
        async with asyncio.TaskGroup() as group:
            for _ in range(self._in_flight):
                group.create_task(self._work(left))
        await self._events.join()
        for task in sending:
            task.cancel()

    async def _work(self, left: Any) -> None:
        for number, pod in left:
            await self._write(number, pod)

    async def _write(self, number: int, pod: Pod) -> None:
        """What the operator writes for a pod, in its order."""
        nth, place = divmod(number, len(self._nodes))
        node, extended = self._nodes[place], ExtendedResourceRequests()
        claim = self._claims.get(pod.metadata.name)
        if claim is None:
            extended = requests_for(pod, [RESOURCE], self._classes)
            prefix = f"{pod.metadata.name}-extended-resources-"
            made = claim_to_create(pod, extended.requests)
            claim = await self._writes.create_claim(made, prefix)
        else:
            claim = await self._writes.protect_claim(claim)
        consumer = Consumer(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
        (request,) = claim.spec.devices.requests or ()
        given = self._allocation(request, node, nth, pod.metadata.uid)
        await self._writes.reserve_claim(claim, consumer, given)
        if extended.mappings:
            name = claim.metadata.name
            await self._writes.pod_claim(pod_ref(pod), name, extended.mappings)
        await self._writes.bind(pod_ref(pod), node)
        self._events.put_nowait(_scheduled(pod, node))

    def _allocation(self, request: DeviceRequest, node: str, nth: int, share: str) -> Allocation:
        """The devices of the node's n-th pod."""
        count = request.exactly.count if request.exactly is not None else 1
        some = {"consumedCapacity": TAKEN, "shareID": share} if self._shared else {}
        results = [
            {
                "request": request.name,
                "driver": DRIVER,
                "pool": node,
                "device": f"gpu-{(nth * count + i) % DEVICES_PER_NODE}",
                **some,
            }
            for i in range(count)
        ]
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        document = {"devices": {"results": results}, "nodeSelector": selector}
        return msgspec.convert(document, Allocation)

    async def _send_events(self) -> None:
        while True:
            await self._session.call(HttpCall("POST", EVENTS, await self._events.get()))
            self._events.task_done()

    async def _list(self, path: str, kind: type[T]) -> list[T]:
        body = await self._session.call(HttpCall("GET", path, timeout=60.0))
        items = msgspec.json.decode(body)["items"]
        return [msgspec.convert(item, kind) for item in items]


def _scheduled(pod: Pod, node: str) -> bytes:
    """The event of a pod that was bound."""
    name = pod.metadata.name
    regarding = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name}
    event = {
        "metadata": {"name": f"{name}.scheduled"},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "reportingController": "floor",
        "reportingInstance": "floor-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": f"Successfully assigned default/{name} to {node}",
        "regarding": {**regarding, "uid": pod.metadata.uid},
    }
    return json.dumps(event).encode()


async def write_all(kubeconfig: str, workload: str, in_flight: int) -> None:
    """Connect and write; then stay, as the others do. Raises EdgeError, KubeconfigError."""
    session = await KubeSession.open(KubeSource(kubeconfig), "floor", SystemClock())
    try:
        await session.warm(in_flight)
        await Floor(session, WORKLOADS[workload].shared, in_flight).run()
        await asyncio.Event().wait()
    finally:
        await session.close()


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.device_floor")
    parser.add_argument("kubeconfig")
    parser.add_argument("workload", choices=list(WORKLOADS))
    parser.add_argument("--in-flight", type=int, default=IN_FLIGHT)
    options = parser.parse_args(arguments)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(write_all(options.kubeconfig, options.workload, options.in_flight))


if __name__ == "__main__":
    main(sys.argv[1:])
