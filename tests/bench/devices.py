"""Pods with devices, beside kube-scheduler on the same kind of control plane: ``python -m
tests.bench.devices [--workload NAME ...] [--nodes N] [--pods N] [--rounds N]``.

Each run has a control plane of its own on which all pods and claims are there before the scheduler
starts; both schedulers and the floor take turns. The floor is a client that sends the same writes
with nothing to decide: how fast this API server takes them at all. A rate is of pods from the first
that is bound to the last. Per workload the medians are printed, and whether the bar holds: 5 times
kube-scheduler, or 85 % of the floor, whichever is less.

Only figures of a machine that does nothing else mean anything.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import aiohttp

from tests.bench.embedded import NODES, PODS, connected
from tests.rig import Rig
from tests.rig.controllers import Controllers
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.operators import Operator, install
from tests.tools import assets
from towtank import node_shapes

TIMES: Final = 5.0
SHARE: Final = 0.85
PROFILE: Final = "measured"
DEVICES_PER_NODE: Final = 8
DRIVER: Final = "gpu.example.com"
PATIENCE: Final = 600.0
"""Seconds in which all pods must be bound."""
IN_FLIGHT: Final = 32
_DRA: Final = "/apis/resource.k8s.io/v1"
_CLAIMS: Final = f"{_DRA}/namespaces/default/resourceclaims"
_EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/default/events"
_PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_FINALIZER: Final = "resource.kubernetes.io/delete-protection"

Body = dict[str, Any]


# ---- what is asked for ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Workload:
    """What each pod asks for: ``requests`` and ``constraints`` of a claim made from a template, or
    with none an extended resource.
    """

    requests: Sequence[Body] = ()
    constraints: Sequence[Body] = ()
    shared: bool = False
    """Whether devices are given to several claims, by capacity."""


_MEMORY: Final = "40Gi"
WORKLOADS: Final[Mapping[str, Workload]] = {
    "one-device": Workload([{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]),
    "match-attribute": Workload(
        [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 2}}],
        [{"requests": ["gpu"], "matchAttribute": f"{DRIVER}/numa"}],
    ),
    "shared-capacity": Workload(
        [
            {
                "name": "gpu",
                "exactly": {
                    "deviceClassName": "gpu",
                    "capacity": {"requests": {"memory": "10Gi"}},
                },
            }
        ],
        shared=True,
    ),
    "extended-resource": Workload(),
}


def a_slice(node: str, workload: Workload) -> Body:
    """The devices of a node, half of them on each of two NUMA nodes."""
    devices: list[Body] = []
    for i in range(DEVICES_PER_NODE):
        device: Body = {
            "name": f"gpu-{i}",
            "attributes": {"numa": {"int": i * 2 // DEVICES_PER_NODE}},
        }
        if workload.shared:
            device |= {
                "allowMultipleAllocations": True,
                "capacity": {
                    "memory": {
                        "value": _MEMORY,
                        "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi"}},
                    }
                },
            }
        devices.append(device)
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"metadata": {"name": node}, "spec": spec}


def a_pod(number: int, workload: Workload) -> Body:
    """With the claim of its template, or an extended resource."""
    resources: Body = {"requests": {"cpu": "10m", "memory": "16Mi"}}
    spec: Body = {"schedulerName": PROFILE}
    if workload.requests:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
        resources["claims"] = [{"name": "gpu"}]
    else:
        resources["requests"]["example.com/gpu"] = "1"
        resources["limits"] = {"example.com/gpu": "1"}
    spec["containers"] = [{"name": "main", "image": "none", "resources": resources}]
    return {"metadata": {"name": f"pod-{number:05}"}, "spec": spec}


# ---- a control plane with all of it --------------------------------------------------------------


class Cluster:
    """A control plane on which pods wait."""

    def __init__(self, rig: Rig, session: aiohttp.ClientSession, workload: Workload) -> None:
        self.rig = rig
        self.session = session
        self.workload = workload

    async def send(self, method: str, path: str, body: Body, **options: Any) -> Body:
        """Raises ClientResponseError."""
        async with self.session.request(method, path, json=body, **options) as answer:
            if not answer.ok:
                raise RuntimeError(f"{method} {path}: {answer.status} {await answer.text()}")
            found: Body = await answer.json()
            return found

    async def fill(self, nodes: int, pods: int) -> None:
        """Nodes, devices, pods; until each pod has its claim."""
        shapes = list(node_shapes.like_nodes(nodes, 3))
        names = [shape["metadata"]["name"] for shape in shapes]
        template = {"devices": {"requests": self.workload.requests}}
        if self.workload.constraints:
            template["devices"]["constraints"] = self.workload.constraints
        selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
        a_class = {"selectors": [selector], "extendedResourceName": "example.com/gpu"}
        named = {"metadata": {"name": "gpu"}}
        await self.send("POST", f"{_DRA}/deviceclasses", {**named, "spec": a_class})
        if self.workload.requests:
            path = f"{_DRA}/namespaces/default/resourceclaimtemplates"
            await self.send("POST", path, {**named, "spec": {"spec": template}})
        for path, bodies in (
            (NODES, shapes),
            (f"{_DRA}/resourceslices", [a_slice(name, self.workload) for name in names]),
            (PODS, [a_pod(i, self.workload) for i in range(pods)]),
        ):
            await at_once(bodies, functools.partial(self.send, "POST", path))
        while self.workload.requests and len(await self.claims_of_pods()) < pods:
            await asyncio.sleep(1.0)

    async def list(self, path: str) -> list[Body]:
        """All objects there."""
        async with self.session.get(path) as answer:
            answer.raise_for_status()
            found: list[Body] = (await answer.json())["items"]
            return found

    async def claims_of_pods(self) -> dict[str, str]:
        """Pod -> its claim, once a controller has made that and said so."""
        said = {
            pod["metadata"]["name"]: pod["status"].get("resourceClaimStatuses", [])
            for pod in await self.list(PODS)
        }
        return {pod: claims[0]["resourceClaimName"] for pod, claims in said.items() if claims}

    async def bound(self, pods: int) -> float:
        """Pods bound a second, from the first to the last of them. Raises TimeoutError."""
        seen: dict[str, float] = {}
        async with asyncio.timeout(PATIENCE):
            while len(seen) < pods:  # an API server drops watches that it finds slow
                await self._watch(seen, pods)
        return (pods - 1) / (max(seen.values()) - min(seen.values()))

    async def _watch(self, seen: dict[str, float], pods: int) -> None:
        """Note when a pod was first seen bound, until so many are or the watch ends."""
        endless = aiohttp.ClientTimeout(total=None)
        watch = {"watch": "true", "fieldSelector": "spec.nodeName!="}
        async with self.session.get(PODS, params=watch, timeout=endless) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                seen.setdefault(json.loads(line)["object"]["metadata"]["name"], time.monotonic())
                if len(seen) == pods:
                    return


async def at_once(bodies: Sequence[Any], send: Callable[[Any], Any]) -> None:
    """So many in flight."""
    left = iter(bodies)

    async def work() -> None:
        for body in left:
            await send(body)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())


# ---- who schedules -------------------------------------------------------------------------------


@contextlib.contextmanager
def moorage(rig: Rig) -> Iterator[None]:
    """One replica, with a profile of defaults."""
    quiet = {"logging": {"format": "json", "verbosity": 0}}
    with Operator(rig, install(rig), "moorage-0", quiet):
        yield


async def measured_moorage(cluster: Cluster, pods: int) -> float:
    """The profile comes when the operator leads."""
    with moorage(cluster.rig):
        rate = asyncio.create_task(cluster.bound(pods))
        kind = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
        await cluster.send("POST", _PROFILES, {**kind, "metadata": {"name": PROFILE}, "spec": {}})
        return await rate


async def measured_kube_scheduler(cluster: Cluster, pods: int) -> float:
    """With its defaults, and a client that is not held back."""
    with kube_scheduler(cluster.rig, PROFILE):
        return await cluster.bound(pods)


async def measured_floor(cluster: Cluster, pods: int) -> float:
    """The same writes by a client that knows the nodes beforehand."""
    nodes = [node["metadata"]["name"] for node in await cluster.list(NODES)]
    claims = await cluster.claims_of_pods()
    rate = asyncio.create_task(cluster.bound(pods))
    there = await cluster.list(PODS)

    async def write(job: tuple[int, Body]) -> None:
        number, pod = job
        name, uid, node = (
            pod["metadata"]["name"],
            pod["metadata"]["uid"],
            nodes[number % len(nodes)],
        )
        await _write_claim(cluster, pod, claims.get(name), node, number // len(nodes))
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": uid}}
        await cluster.send("POST", f"{PODS}/{name}/binding", {**binding, "target": target})
        await cluster.send("POST", _EVENTS, _scheduled(name, uid, node))

    await at_once(list(enumerate(there)), write)
    return await rate


async def _write_claim(cluster: Cluster, pod: Body, claim: str | None, node: str, nth: int) -> None:
    """Protected, allocated, reserved; one for extended resources is created first."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    if claim is None:
        exactly = {"deviceClassName": "gpu", "count": 1}
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
        meta = {
            "generateName": f"{name}-extended-resources-",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [owner],
        }
        spec = {"devices": {"requests": [{"name": "container-0-request-0", "exactly": exactly}]}}
        made = await cluster.send("POST", _CLAIMS, {"metadata": meta, "spec": spec})
        claim = str(made["metadata"]["name"])
    path, protected = f"{_CLAIMS}/{claim}", {"metadata": {"finalizers": [_FINALIZER]}}
    found = await cluster.send("PATCH", path, protected, headers=_MERGE)
    (request,) = found["spec"]["devices"]["requests"]
    count = request["exactly"].get("count", 1)
    results = [
        {
            "request": request["name"],
            "driver": DRIVER,
            "pool": node,
            "device": f"gpu-{(nth * count + i) % DEVICES_PER_NODE}",
        }
        for i in range(count)
    ]
    if cluster.workload.shared:
        share = {"memory": "10Gi"}
        results = [{**one, "shareID": uid, "consumedCapacity": share} for one in results]
    status = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
    }
    await cluster.send("PATCH", f"{path}/status", {"status": status}, headers=_MERGE)
    if not cluster.workload.requests:
        mapping = {
            "containerName": "main",
            "resourceName": "example.com/gpu",
            "requestName": "container-0-request-0",
        }
        said = {"resourceClaimName": claim, "requestMappings": [mapping]}
        body = {"status": {"extendedResourceClaimStatus": said}}
        await cluster.send("PATCH", f"{PODS}/{name}/status", body, headers=_MERGE)


def _scheduled(name: str, uid: str, node: str) -> Body:
    """The event of a pod that was bound."""
    regarding = {"kind": "Pod", "namespace": "default", "name": name, "uid": uid}
    return {
        "metadata": {"name": f"{name}.scheduled"},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "reportingController": "floor",
        "reportingInstance": "floor-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": f"Successfully assigned default/{name} to {node}",
        "regarding": {**regarding, "apiVersion": "v1"},
    }


# ---- what it comes to ----------------------------------------------------------------------------

CONTESTANTS: Final = {
    "kube-scheduler": measured_kube_scheduler,
    "moorage": measured_moorage,
    "floor": measured_floor,
}


async def run(who: str, workload: Workload, nodes: int, pods: int) -> float:
    """One run on a control plane of its own; pods a second."""
    with Rig(assets.ensure()) as rig:
        async with connected(rig) as session:
            cluster = Cluster(rig, session, workload)
            with Controllers(rig):
                await cluster.fill(nodes, pods)
            return await CONTESTANTS[who](cluster, pods)


def report(name: str, rates: Mapping[str, Sequence[float]]) -> bool:
    """Printed; whether the bar holds."""
    medians = {who: statistics.median(found) for who, found in rates.items()}
    for who, found in rates.items():
        print(
            f"{name:18} {who:15} {medians[who]:8.1f} pods/s  ({min(found):.1f}..{max(found):.1f})"
        )
    ours = medians["moorage"]
    times, share = ours / medians["kube-scheduler"], ours / medians["floor"]
    holds = times >= TIMES or share >= SHARE
    load = os.getloadavg()[0]
    print(f"{name:18} {times:.2f} times kube-scheduler, {share:.0%} of the floor, ", end="")
    print(f"{'met' if holds else 'NOT MET'}; load average {load:.1f}", flush=True)
    return holds


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.devices")
    parser.add_argument("--workload", choices=list(WORKLOADS), action="append")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    holds = True
    for name in options.workload or WORKLOADS:
        rates: dict[str, list[float]] = {who: [] for who in CONTESTANTS}
        for _ in range(options.rounds):
            for who, found in rates.items():
                found.append(asyncio.run(run(who, WORKLOADS[name], options.nodes, options.pods)))
                print(f"{name:18} {who:15} {found[-1]:8.1f} pods/s", file=sys.stderr, flush=True)
        holds &= report(name, rates)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
