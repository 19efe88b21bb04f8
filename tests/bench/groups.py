"""Pod groups of Kubernetes, of a thousand members and more: ``python -m tests.bench.groups [--nodes
N] [--members N] [--profile NAME] [NAME ...]``.

A whole engine on an API server in memory. Its clock is this thread's own time, so that other load
on the machine counts for nothing. A case is a number of groups that come at once; all of their pods
and claims are there before. Meanwhile small pods of another profile come, one
after another. (One of the same profile may wait longer: for bindings of members, of which a profile
has so many at a time.)

Printed for each case: own time until the last member was decided, until all were bound, the longest
step of the event loop until then, how long the small pods waited to be decided, and how late others
were: a task that sleeps 10 ms, and the renewal of the lease on its own thread (this by the clock).
Exit status 1 where a bar fails: 1.5 s for a group, no step and no wait over 50 ms, nobody late by a
tenth of renewDeadline.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import dataclasses
import gc
import pstats
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from moorage.adapters.leader_election import LeaderElectionTimes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import ScheduleResult
from moorage.core.cycle.decisions import Decided
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from tests.bench.lateness import Lateness, lateness
from tests.engine.running import Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import ManualClock

DRIVER: Final = "gpu.example.com"
DEVICES: Final = 8
"""Of each node, and of each member that has any."""
MAX_SECONDS: Final = 1.5
"""Own time in which a group is decided."""
MAX_WAIT: Final = 0.05
RENEW_DEADLINE: Final = LeaderElectionTimes().renew_deadline
PATIENCE: Final = 60.0
SMALL_PODS_EVERY: Final = 0.05
"""Seconds of own time."""


@dataclasses.dataclass(frozen=True)
class Case:
    """So many groups of as many members; ``unique``: each device has an attribute that no other
    has, as real drivers publish them.
    """

    groups: int = 1
    size: float = 1.0
    devices: bool = True
    unique: bool = False


CASES: Final = {
    "devices": Case(),
    "unique-devices": Case(unique=True),
    "plain": Case(size=2.0, devices=False),
    "five-groups": Case(groups=5),
    "five-plain-groups": Case(groups=5, devices=False),
}


# ---- what there is -------------------------------------------------------------------------------


def make_node(i: int) -> Node:
    """The i-th node."""
    name = f"node-{i:05d}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone{i % 3}"}
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}, Node
    )


def devices_of(i: int, unique: bool) -> ResourceSlice:
    """What its driver publishes."""
    node = f"node-{i:05d}"
    devices = [
        {
            "name": f"gpu-{k}",
            "attributes": {
                "model": {"string": "H100"},
                "numa": {"int": k // 4},
                **({"uuid": {"string": f"GPU-{i}-{k}"}} if unique else {}),
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for k in range(DEVICES)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return msgspec.convert({"metadata": {"name": node}, "spec": spec}, ResourceSlice)


def a_class() -> DeviceClass:
    """All devices of the driver."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return msgspec.convert(
        {"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}}, DeviceClass
    )


def a_group(name: str, least: int) -> PodGroup:
    """A gang."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    policy = {"gang": {"minCount": least}}
    return msgspec.convert({"metadata": metadata, "spec": {"schedulingPolicy": policy}}, PodGroup)


def a_pod(name: str, group: str = "", devices: bool = False) -> Pod:
    """A small pod, or a member of a group, with a claim made from a template."""
    resources = {"requests": {"cpu": "4" if group else "100m", "memory": "1Gi"}}
    spec: dict[str, Any] = {
        "schedulerName": "test" if group else "small",
        "containers": [{"name": "main", "image": "train:1", "resources": resources}],
    }
    status: dict[str, Any] = {}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if devices:
        spec["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "gpus"}]
        named = {"name": "gpus", "resourceClaimName": f"{name}-gpus"}
        status["resourceClaimStatuses"] = [named]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def a_claim(pod: str) -> ResourceClaim:
    """What resourceclaim-controller makes for a member."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": DEVICES}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"uid-{pod}"}
    metadata = {
        "name": f"{pod}-gpus",
        "namespace": "default",
        "uid": f"uid-{pod}-gpus",
        "ownerReferences": [{**owner, "controller": True}],
    }
    requests = [{"name": "gpus", "exactly": exactly}]
    return msgspec.convert(
        {"metadata": metadata, "spec": {"devices": {"requests": requests}}}, ResourceClaim
    )


# ---- what is measured ----------------------------------------------------------------------------


class OwnClock(ManualClock):
    """This thread's own time, and what was advanced beside."""

    def boottime(self) -> float:
        """Seconds."""
        return super().boottime() + time.thread_time()


class Decisions:
    """A journal that notes when pods were decided first."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.members = 0
        self.last_member = 0.0

    def append(self, entry: Entry, /) -> None:
        """When a pod has its place."""
        if isinstance(entry, Decided) and isinstance(entry.outcome, ScheduleResult):
            pod = entry.outcome.pod
            self.at[pod.metadata.name] = now = time.thread_time()
            if pod.spec.scheduling_group is not None:
                self.members, self.last_member = self.members + 1, now


class StepTimes:
    """While it is entered, the longest step of the event loop in own time, and what made it."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._handle: Any = asyncio.Handle  # its steps are nobody's but asyncio's
        self._run = self._handle._run

    def __enter__(self) -> StepTimes:
        run = self._run

        def timed(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            run(handle)
            self.longest = max(self.longest, time.thread_time() - began)

        self._handle._run = timed
        return self

    def __exit__(self, *_: object) -> None:
        self._handle._run = self._run


@dataclasses.dataclass
class Measured:
    """Seconds of own time."""

    decided: float
    bound: float
    longest: float
    waits: list[float]
    late: Lateness

    def failures(self, groups: int) -> Iterator[str]:
        """Which bars do not hold."""
        if self.decided > MAX_SECONDS * groups:
            yield f"decided in more than {MAX_SECONDS:g} s for each group"
        if self.longest > MAX_WAIT:
            yield "a step of more than 50 ms"
        if max(self.waits, default=0.0) > MAX_WAIT:
            yield "a small pod that waited more than 50 ms"
        if max(self.late.turn, self.late.renewal) > RENEW_DEADLINE / 10:
            yield "others are late by more than a tenth of renewDeadline"


class Bench:
    """One case."""

    def __init__(self, case: Case, nodes: int, members: int, profiler: cProfile.Profile | None):
        self._case = case
        self._nodes = nodes
        self._members = round(members * case.size)
        self._profiler = profiler
        self._decisions = Decisions()
        self._world = Running(clock=OwnClock(), journal=self._decisions)
        self._small: dict[str, float] = {}

    async def measure(self) -> Measured:
        """Run it."""
        world = self._world
        async with world.leading(a_body("test"), a_body("small"), nodes=0):
            await self._furnish()
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 20)  # as the operator has it
            began, wanted = time.thread_time(), len(self._names())
            for g in range(self._case.groups):
                world.kube.put(a_group(f"g{g}", self._members))
            async with lateness() as late:
                with StepTimes() as steps, self._profiler or contextlib.nullcontext():
                    await self._wait(lambda: self._decisions.members >= wanted)
                    decided = self._decisions.last_member - began
                await self._wait(lambda: not world.assumed)
            waits = [
                self._decisions.at[name] - came
                for name, came in self._small.items()
                if name in self._decisions.at
            ]
            gc.unfreeze()
            return Measured(decided, time.thread_time() - began, steps.longest, waits, late)

    async def _furnish(self) -> None:
        """All but the groups."""
        kube = self._world.kube
        kube.put(a_class())
        for i in range(self._nodes):
            kube.put(make_node(i))
            if self._case.devices:
                kube.put(devices_of(i, self._case.unique))
        for name in self._names():
            if self._case.devices:
                kube.put(a_claim(name))
            kube.put(a_pod(name, name.partition("-")[0], self._case.devices))
        kube.put(a_pod("first"))
        await self._wait(lambda: "first" in self._decisions.at and not self._world.assumed)

    def _names(self) -> list[str]:
        return [f"g{g}-{i}" for g in range(self._case.groups) for i in range(self._members)]

    async def _wait(self, done: Any) -> None:
        """Until this holds; meanwhile small pods come."""
        until = time.thread_time() + PATIENCE
        small, rounds = time.thread_time(), 0
        while not done():
            if time.thread_time() > until:
                raise TimeoutError("not decided in time")
            await asyncio.sleep(0)
            if time.thread_time() - small > SMALL_PODS_EVERY:
                small = time.thread_time()
                name = f"small-{len(self._small)}"
                self._small[name] = small
                self._world.kube.put(a_pod(name))
            rounds += 1
            if rounds % 50 == 0:
                await self._world.clock.advance(0.01)


def run(name: str, nodes: int, members: int, calls: str) -> bool:
    """Measure a case and print it; whether all bars hold."""
    profiler = cProfile.Profile() if calls == name else None
    bench = Bench(CASES[name], nodes, members, profiler)
    measured = asyncio.run(bench.measure())
    waits = measured.waits
    print(
        f"{name:18} decided {measured.decided:6.2f} s  bound {measured.bound:6.2f} s  "
        f"longest step {1000 * measured.longest:5.1f} ms  "
        f"{len(waits)} small pods waited {1000 * max(waits, default=0.0):5.1f} ms at most",
        flush=True,
    )
    print(
        f"{'':18} others late by {1000 * measured.late.turn:.0f} ms, renewal of the lease by "
        f"{1000 * measured.late.renewal:.0f} ms at most (renewDeadline {RENEW_DEADLINE:g} s)",
        flush=True,
    )
    failures = list(measured.failures(CASES[name].groups))
    for failure in failures:
        print(f"  FAILS: {failure}")
    if profiler is not None:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
    return not failures


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.groups", description="Time pod groups in an engine."
    )
    parser.add_argument("cases", nargs="*", metavar="NAME", help=", ".join(CASES))
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--profile", default="", metavar="NAME", help="the case to count calls of")
    options = parser.parse_args()
    results = [
        run(name, options.nodes, options.members, options.profile)
        for name in options.cases or CASES
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
