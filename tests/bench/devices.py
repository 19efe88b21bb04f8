"""Pods with devices, beside kube-scheduler on the same kind of control plane: ``python -m
tests.bench.devices [--workload NAME ...] [--nodes N] [--pods N] [--rounds N]``.

Each run has a control plane of its own on which all pods and claims are there before the scheduler
starts; both schedulers and the floor take turns. kube-scheduler asks as an administrator, whom the
API server never puts off, the others as the operator's ServiceAccount. The floor
(``device_floor``) sends the same writes by the operator's own client, with more in flight and
nothing to decide: how fast this API server takes them at all. A rate is of pods from the first that
is bound to the last. Per workload the medians are printed, and whether the bar holds: 5 times
kube-scheduler, or 85 % of the floor, whichever is less. It takes about a quarter of an hour.

Only figures of a machine that does nothing else mean anything.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import aiohttp
import msgspec

from tests.bench.device_workloads import (
    CLASSES,
    DRA,
    DRIVER,
    PROFILE,
    RESOURCE,
    WORKLOADS,
    Body,
    a_pod,
    a_slice,
)
from tests.bench.embedded import NODES, PODS, connected
from tests.rig import Rig
from tests.rig.controllers import Controllers
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.operators import Operator, install
from tests.tools import assets
from towtank import node_shapes

TIMES: Final = 5.0
SHARE: Final = 0.85
PATIENCE: Final = 600.0
"""Seconds in which all pods must be bound."""
IN_FLIGHT: Final = 32
_PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"


class _Metadata(msgspec.Struct, frozen=True):
    name: str


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Event(msgspec.Struct, frozen=True):
    object: _Object


_EVENTS: Final = msgspec.json.Decoder(_Event)

# ---- a control plane with all of it --------------------------------------------------------------


class Cluster:
    """A control plane on which pods wait."""

    def __init__(self, rig: Rig, session: aiohttp.ClientSession, name: str) -> None:
        self.rig = rig
        self.session = session
        self.name = name
        self.workload = WORKLOADS[name]

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
        a_class = {"selectors": [selector], "extendedResourceName": RESOURCE}
        named = {"metadata": {"name": "gpu"}}
        await self.send("POST", CLASSES, {**named, "spec": a_class})
        if self.workload.requests:
            path = f"{DRA}/namespaces/default/resourceclaimtemplates"
            await self.send("POST", path, {**named, "spec": {"spec": template}})
        for path, bodies in (
            (NODES, shapes),
            (f"{DRA}/resourceslices", [a_slice(name, self.workload) for name in names]),
            (PODS, [a_pod(i, self.workload) for i in range(pods)]),
        ):
            await at_once(bodies, functools.partial(self.send, "POST", path))
        while self.workload.requests and len(await self.claims_of_pods()) < pods:
            await asyncio.sleep(0.25)

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
                name = _EVENTS.decode(line).object.metadata.name
                seen.setdefault(name, time.monotonic())
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
    """The same writes by ``device_floor``, in a process of its own as the others are, with the
    operator's credentials. Raises RuntimeError where it fails.
    """
    command = ["-m", "tests.bench.device_floor", str(install(cluster.rig)), cluster.name]
    rate = asyncio.create_task(cluster.bound(pods))
    process = await asyncio.create_subprocess_exec(sys.executable, *command)
    if await process.wait():
        rate.cancel()
        raise RuntimeError(f"the floor failed: {' '.join(command)}")
    return await rate


# ---- what it comes to ----------------------------------------------------------------------------

CONTESTANTS: Final = {
    "kube-scheduler": measured_kube_scheduler,
    "moorage": measured_moorage,
    "floor": measured_floor,
}


async def run(who: str, workload: str, nodes: int, pods: int) -> float:
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
    bar = min(TIMES * medians["kube-scheduler"], SHARE * medians["floor"])
    holds = ours >= bar
    load = os.getloadavg()[0]
    print(f"{name:18} {times:.2f} times kube-scheduler, {share:.0%} of the floor; ", end="")
    print(f"bar {bar:.1f} pods/s {'met' if holds else 'NOT MET'}; load {load:.1f}", flush=True)
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
                found.append(asyncio.run(run(who, name, options.nodes, options.pods)))
                print(f"{name:18} {who:15} {found[-1]:8.1f} pods/s", file=sys.stderr, flush=True)
        holds &= report(name, rates)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
