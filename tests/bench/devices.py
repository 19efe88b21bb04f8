"""Pods with devices, beside kube-scheduler on the same kind of control plane: ``python -m
tests.bench.devices [--workload NAME ...] [--nodes N] [--pods N] [--rounds N]``.

Each run has a control plane of its own on which all pods and claims are there before the scheduler
starts; both schedulers and the floor take turns. kube-scheduler asks as an administrator, whom the
API server never puts off, the others as the operator's ServiceAccount. The floor
(``device_floor``) sends the same writes by the operator's own client, with more in flight and
nothing to decide: how fast this API server takes them at all. A rate counts from the first write to
any of the pods to the last binding (``device_windows``). Printed per workload: the medians, what of
the processors' time a pod took, what others took meanwhile, and whether the bar holds: 5 times
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
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.bench.device_windows import Window, WriteLog
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
from tests.rig.processes import Child
from tests.tools import assets
from towtank import node_shapes

TIMES: Final = 5.0
SHARE: Final = 0.85
PATIENCE: Final = 600.0
"""Seconds in which all pods must be bound."""
IN_FLIGHT: Final = 32
_PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"

# ---- a control plane with all of it --------------------------------------------------------------


class Cluster:
    """A control plane on which pods wait. ``kubeconfig``: the operator's, which is installed on all
    of them, so that an API server has done with its new kinds when the pods are there.
    """

    def __init__(
        self, rig: Rig, session: aiohttp.ClientSession, name: str, kubeconfig: Path
    ) -> None:
        self.rig = rig
        self.kubeconfig = kubeconfig
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


@contextlib.asynccontextmanager
async def moorage(cluster: Cluster) -> AsyncIterator[Child]:
    """One replica, and a profile of defaults."""
    quiet = {"logging": {"format": "json", "verbosity": 0}}
    with Operator(cluster.rig, cluster.kubeconfig, "moorage-0", quiet) as operator:
        kind = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
        await cluster.send("POST", _PROFILES, {**kind, "metadata": {"name": PROFILE}, "spec": {}})
        yield operator.child


@contextlib.asynccontextmanager
async def theirs(cluster: Cluster) -> AsyncIterator[Child]:
    """kube-scheduler with its defaults, and a client that is not held back."""
    with kube_scheduler(cluster.rig, PROFILE) as child:
        yield child


@contextlib.asynccontextmanager
async def floor(cluster: Cluster) -> AsyncIterator[Child]:
    """The same writes by ``device_floor``, in a process of its own as the others are, with the
    operator's credentials.
    """
    module = "tests.bench.device_floor"
    command = [sys.executable, "-m", module, str(cluster.kubeconfig), cluster.name]
    child = Child(command, cluster.rig.folder / "floor.log")
    try:
        yield child
    finally:
        child.stop()


# ---- what it comes to ----------------------------------------------------------------------------

CONTESTANTS: Final = {"kube-scheduler": theirs, "moorage": moorage, "floor": floor}


async def run(who: str, workload: str, nodes: int, pods: int) -> Window:
    """One run on a control plane of its own. Raises RigError, TimeoutError."""
    with Rig(assets.ensure()) as rig:
        async with connected(rig) as session:
            cluster = Cluster(rig, session, workload, install(rig))
            with Controllers(rig):
                await cluster.fill(nodes, pods)
            log = WriteLog(rig.audit_log)
            async with CONTESTANTS[who](cluster) as child, asyncio.timeout(PATIENCE):
                etcd, api_server = rig.pids()
                pids = {"itself": child.pid, "API server": api_server, "etcd": etcd}
                return await log.window(pods, pids, child.require_alive)


def report(name: str, windows: Mapping[str, Sequence[Window]]) -> bool:
    """Printed; whether the bar holds."""
    medians = {who: statistics.median(one.rate for one in found) for who, found in windows.items()}
    for who, found in windows.items():
        rates = [one.rate for one in found]
        around = f"({min(rates):.1f}..{max(rates):.1f})"
        print(f"{name:18} {who:15} {medians[who]:8.1f} pods/s  {around:18} {costs(found)}")
    ours = medians["moorage"]
    times, share = ours / medians["kube-scheduler"], ours / medians["floor"]
    bar = min(TIMES * medians["kube-scheduler"], SHARE * medians["floor"])
    holds = ours >= bar
    load = os.getloadavg()[0]
    print(f"{name:18} {times:.2f} times kube-scheduler, {share:.0%} of the floor; ", end="")
    print(f"bar {bar:.1f} pods/s {'met' if holds else 'NOT MET'}; load {load:.1f}", flush=True)
    return holds


def costs(found: Sequence[Window]) -> str:
    """Medians by process."""
    medians = {
        process: statistics.median(one.cost[process] for one in found) for process in found[0].cost
    }
    return "ms a pod: " + ", ".join(f"{name} {ms:.2f}" for name, ms in medians.items())


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.devices")
    parser.add_argument("--workload", choices=list(WORKLOADS), action="append")
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--pods", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    unmet = []
    for name in options.workload or WORKLOADS:
        windows: dict[str, list[Window]] = {who: [] for who in CONTESTANTS}
        for _ in range(options.rounds):
            for who, found in windows.items():
                found.append(asyncio.run(run(who, name, options.nodes, options.pods)))
                text = f"{name:18} {who:15} {found[-1].rate:8.1f} pods/s; {costs(found[-1:])}"
                print(text, file=sys.stderr, flush=True)
        if not report(name, windows):
            unmet.append(name)
    print(f"bars not met: {', '.join(unmet)}" if unmet else "all bars met")
    return 1 if unmet else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
