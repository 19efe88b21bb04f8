"""Long recordings, made again: ``python -m tests.bench.long_replays --decisions N --server
embedded|real [--seconds N] [--keep FOLDER]``, and ``--again FOLDER`` for those that were kept.

Two operators that record serve a control plane on which pods come and go: plain ones of many
Deployments, such that spread, attract and repel, gangs, PodGroups that lie in one zone, pods that
an extender is asked about, pods that fit nowhere, and pods and PodGroups that others have to go
for. A profile is edited every few seconds, and
the leader is killed half way. Then every decision is made again, from the files, in two processes
with other PYTHONHASHSEEDs.

Printed: what was decided, whether all of it came out equal, how fast, and bytes a change. Rates are
told by the clock and by the processor's time, which other load on the machine does not change.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.bench.embedded import PODS, connected
from tests.rig import DevRig, Rig, RigError
from tests.rig.base import ControlPlane
from tests.rig.certificates import Authority
from tests.rig.clients import Client
from tests.rig.extenders import Extender
from tests.rig.objects import create
from tests.rig.operators import Operator, install
from tests.tools import assets
from towtank import node_shapes

NODE_COUNT: Final = 60
POPULATION: Final = 2_500
"""Pods that are there at a time: when more come, the oldest go."""
WORKERS: Final = 12
SWAP_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 2.0
GANG: Final = 4
MIN_RATE: Final = 1500.0
POD_GROUPS: Final = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"
ELECTION: Final = {"leaseDuration": "30s", "renewDeadline": "25s", "retryPeriod": "2s"}
"""On a busy machine a leader that has nothing wrong with it may not be heard of for a while."""
ZONE: Final = "topology.kubernetes.io/zone"
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"


# ---- what comes ----------------------------------------------------------------------------------


def pod_bodies() -> Iterator[list[dict[str, Any]]]:
    """Without end: pods that come together, after their PodGroup where they have one."""
    number = 0
    while True:
        number += 1
        name, app = f"p{number}", f"app-{number % 40}"
        match number % 40:
            case 11:
                yield _pod_group(name, cpu="1")
            case 31 if number % 80 == 31:  # others have to go for it
                yield _pod_group(name, cpu="2", priorityClassName="urgent")
            case 1:
                yield [_member(f"{name}-{i}", name) for i in range(GANG)]
            case 2 | 22:
                yield [_pod(name, app, scheduler="asking")]
            case 3:
                yield [_pod(name, app, cpu="4", priorityClassName="vip")]
            case 5 | 25:
                yield [_pod(name, app, cpu="64")]
            case 6 | 16 | 26 | 36:
                yield [_pod(name, app, topologySpreadConstraints=[_spread(app)])]
            case 7 | 27:
                yield [_pod(name, app, affinity=_affinity(app))]
            case _:
                yield [_pod(name, app, cpu=f"{100 + 10 * (number % 40)}m")]


def _pod(
    name: str, app: str, *, scheduler: str = "mixed", cpu: str = "200m", **spec: Any
) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    container = {"name": "main", "image": f"registry.example/{app}:1", "resources": resources}
    return {
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def _pod_group(name: str, cpu: str, **spec: Any) -> list[dict[str, Any]]:
    """One of Kubernetes, whose members lie in one zone, and they."""
    declared = {
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": GANG}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            **spec,
        },
    }
    belongs = {"podGroupName": name}
    members = [
        _pod(f"{name}-{i}", "grouped", cpu=cpu, schedulingGroup=belongs, **spec)
        for i in range(GANG)
    ]
    return [declared, *members]


def _member(name: str, group: str) -> dict[str, Any]:
    body = _pod(name, "gang", cpu="1")
    body["metadata"]["labels"][GROUP_LABEL] = group
    body["metadata"]["annotations"] = {"moorage.dev/min-member": str(GANG)}
    return body


def _spread(app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    rule = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {**rule, "labelSelector": selector}


def _affinity(app: str) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "kubernetes.io/hostname",
    }
    attracts = {"weight": 50, "podAffinityTerm": {**term, "topologyKey": ZONE}}
    return {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [attracts]},
    }


def a_profile(name: str, **spec: Any) -> dict[str, Any]:
    """Of this schedulerName."""
    kind = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


# ---- the load ------------------------------------------------------------------------------------


class Load:
    """Pods that come and go until it is told to end."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._groups = pod_bodies()
        self._there: deque[str] = deque()
        self.ended = False
        self.swaps = 0

    async def run(self) -> None:
        """Until ``ended``."""
        async with asyncio.TaskGroup() as group:  # ends all when one of them fails
            finishing = group.create_task(self._finish())
            working = [group.create_task(self._work()) for _ in range(WORKERS)]
            await asyncio.gather(group.create_task(self._swap()), *working)
            finishing.cancel()

    async def _work(self) -> None:
        while not self.ended:
            for body in next(self._groups):
                kind = POD_GROUPS if body.get("kind") == "PodGroup" else PODS
                async with self._session.post(kind, json=body) as answer:
                    answer.raise_for_status()
                self._there.append(f"{kind}/{body['metadata']['name']}")
            while len(self._there) > POPULATION:
                await self._delete(self._there.popleft())

    async def _delete(self, path: str) -> None:
        at_once = {"gracePeriodSeconds": 0}
        async with self._session.delete(path, json=at_once) as answer:
            if answer.status != 404:  # somebody else has had it go
                answer.raise_for_status()

    async def _finish(self) -> None:
        """Have pods go that were told to, as there are no kubelets."""
        watch, endless = {"watch": "true"}, aiohttp.ClientTimeout(total=None)
        async with self._session.get("/api/v1/pods", params=watch, timeout=endless) as response:
            async for line in response.content:
                event = json.loads(line)
                meta = event["object"]["metadata"]
                if event["type"] == "MODIFIED" and "deletionTimestamp" in meta:
                    await self._delete(f"{PODS}/{meta['name']}")

    async def _swap(self) -> None:
        headers = {"Content-Type": "application/merge-patch+json"}
        while not self.ended:
            await asyncio.sleep(SWAP_SECONDS)
            self.swaps += 1
            spec = {"weights": {"NodeResourcesFit": 1 + self.swaps % 7}}
            patch, path = json.dumps({"spec": spec}), f"{PROFILES}/mixed"
            async with self._session.patch(path, data=patch, headers=headers) as answer:
                answer.raise_for_status()


class Replicas:
    """The operators, and what they say of themselves."""

    def __init__(self, rig: ControlPlane, start: Callable[[str], Operator]) -> None:
        self._rig = rig
        self._start = start
        self._operators = {name: start(name) for name in ("moorage-0", "moorage-1")}
        self._attempts: dict[str, float] = {}

    def decided(self) -> int:
        """Attempts so far, those of a replica that is no more included."""
        for name, operator in self._operators.items():
            with contextlib.suppress(RigError, OSError, TimeoutError):
                found = re.findall(
                    r"^scheduler_schedule_attempts_total\{.*\} ([0-9.e+]+)$",
                    operator.fetched("/metrics"),
                    re.MULTILINE,
                )
                self._attempts[name] = sum(map(float, found))
        return int(sum(self._attempts.values()))

    def kill_leader(self) -> str:
        """SIGKILL; its name. Another replica is started in its place."""
        with contextlib.closing(Client(self._rig)) as client:
            holder = str(client.get(LEASE)["spec"].get("holderIdentity", ""))
        name = holder.partition("_")[0]
        self._operators.pop(name).kill()
        self._operators["moorage-2"] = self._start("moorage-2")
        return name


async def record(rig: ControlPlane, replicas: Replicas, decisions: int, seconds: float) -> int:
    """Load until so many are decided, or so long; how often a profile was edited."""
    async with connected(rig) as session:
        load = Load(session)
        running = asyncio.create_task(load.run())
        begun, killed = time.monotonic(), ""
        while not running.done():
            await asyncio.sleep(LOOK_SECONDS)
            decided, took = await asyncio.to_thread(replicas.decided), time.monotonic() - begun
            if not killed and (decided >= decisions / 2 or took >= seconds / 2):
                killed = await asyncio.to_thread(replicas.kill_leader)
                print(f"{killed} was killed at {decided} attempts, {took:.0f} s", flush=True)
            if killed and (decided >= decisions or took >= seconds):
                print(f"{decided} attempts in {took:.0f} s: {decided / took:.0f} a second")
                break
        load.ended = True
        await running
        return load.swaps


@contextlib.contextmanager
def operators(rig: ControlPlane, folder: Path) -> Iterator[Replicas]:
    """Two, on a prepared control plane with an extender; each records into a folder of its own."""
    kubeconfig = install(rig)
    with contextlib.ExitStack() as stack:
        authority = Authority(folder)
        extender = stack.enter_context(contextlib.closing(Extender(authority.server("extender"))))
        extender.says = {
            "filter": lambda question: {"NodeNames": question["NodeNames"][::2]},
            "prioritize": lambda question: [{"Host": question["NodeNames"][-1], "Score": 7}],
        }
        asked = {
            "urlPrefix": extender.url,
            "tlsConfig": {"insecure": True},
            "weight": 3,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "nodeCacheCapable": True,
        }
        rank = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        create(
            rig,
            {**rank, "metadata": {"name": "vip"}, "value": 1000},
            {**rank, "metadata": {"name": "urgent"}, "value": 2000},
            a_profile("mixed"),
            a_profile("asking", extenders=[asked]),
            *node_shapes.like_nodes(NODE_COUNT, 3),
        )

        def start(name: str) -> Operator:
            config = {
                "leaderElection": ELECTION,
                "logging": {"format": "json"},
                "podMaxBackoffSeconds": 2,
                "extenders": {"allowedHosts": ["127.0.0.1"]},
                "recording": {"directory": str(folder / name), "maxBytes": 32 * 1024**3},
            }
            return stack.enter_context(Operator(rig, kubeconfig, name, config))

        yield Replicas(rig, start)


# ---- what it leads to ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Remade:
    """What a process says of a file, and seconds that it took."""

    says: dict[str, Any]
    wall: float
    processor: float


def remade(path: Path, hash_seed: int) -> Remade:
    """Every decision made again in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-m", "tests.replaying", str(path)]
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime - before.ru_utime + used.ru_stime - before.ru_stime
    return Remade(json.loads(found.stdout), time.monotonic() - begun, processor)


def report(folder: Path) -> bool:
    """Everything, printed; whether all came out equal."""
    equal, made, wall, processor = True, 0, 0.0, 0.0
    counts, changes, size = Counter[str](), 0, 0
    for path in sorted(folder.glob("*/*.rec")):
        one, other = remade(path, 1), remade(path, 2)
        name = f"{path.parent.name}/{path.name}"
        alike = one.says == other.says and not one.says["differences"]
        verdict = "equal" if alike else "NOT EQUAL"
        left = f"{one.says['notMade']} could not be"
        print(f"{name}: {one.says['made']} decisions made again, {verdict}; {left}", flush=True)
        for line in (*one.says["differences"][:5], *one.says["warnings"]):
            print(f"  {line}")
        equal = equal and alike
        made += one.says["made"]
        wall += one.wall + other.wall
        processor += one.processor + other.processor
        counts.update(one.says["counts"])
        changes += one.says["changes"]
        size += path.stat().st_size
    print(*(f"{count:>9} {name}" for name, count in counts.most_common()), sep="\n")
    print(f"{'EQUAL' if equal else 'NOT EQUAL'}: {made} decisions, twice")
    print(
        f"{2 * made / wall:.0f} decisions a second, {2 * made / processor:.0f} a second of the "
        f"processor (at least {MIN_RATE:.0f}); load average {os.getloadavg()[0]:.1f}"
    )
    print(f"{size / max(changes, 1):.0f} bytes a change, key frames included (at most 150)")
    return equal and made > 0


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.long_replays")
    parser.add_argument("--decisions", type=int, default=2_000)
    parser.add_argument("--server", choices=["embedded", "real"], default="embedded")
    parser.add_argument("--seconds", type=float, default=3_600, help="of load, at most")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="an empty one, for the files")
    parser.add_argument("--again", type=Path, metavar="FOLDER", help="only makes these again")
    options = parser.parse_args(arguments)
    if options.again:
        return 0 if report(options.again) else 1
    real = options.server == "real"
    with Rig(assets.ensure()) if real else DevRig() as rig:
        folder = options.keep or rig.folder / "recordings"
        folder.mkdir(parents=True, exist_ok=True)
        with operators(rig, folder) as replicas:
            swaps = asyncio.run(record(rig, replicas, options.decisions, options.seconds))
        print(f"{swaps} edits of a profile")
        return 0 if report(folder) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    sys.exit(main(sys.argv[1:]))
