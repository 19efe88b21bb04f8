"""What one installation can do, and what two can beside each other: ``python -m tests.bench.shards
[--nodes N] [--pods N] [--shards N ...] [--rounds N]``.

Each run has a control plane of its own, on which all nodes and pods are there before the shards
lead: then each gets a profile whose pods go to its share of the nodes. The rate is of pods bound,
over all shards, from the first write to the last binding (``device_windows``); the memory is that
of the largest shard once all are bound, and CPU what all shards took for a pod meanwhile. Decisions
without I/O: ``tests.bench.decisions``.

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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.bench.device_windows import WriteLog
from tests.bench.devices import PATIENCE, at_once
from tests.bench.embedded import NODES, PODS, connected
from tests.load.traffic import pod
from tests.rig import Rig
from tests.rig.operators import Operator, install
from tests.tools import assets
from towtank import node_shapes

POOL: Final = "moorage.dev/pool"
_PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"


class Figures(NamedTuple):
    """Of one run: pods bound a second, the largest shard's MiB, and their milliseconds a pod."""

    rate: float
    mib: float
    cpu_ms: float


def nodes_of(count: int, shards: int) -> Iterator[dict[str, Any]]:
    """Nodes alike, of each shard's pool in turn."""
    for i, node in enumerate(node_shapes.like_nodes(count, 3)):
        labels = {**node["metadata"]["labels"], POOL: f"shard-{i % shards}"}
        yield {**node, "metadata": {**node["metadata"], "labels": labels}}


def pods_of(count: int, shards: int) -> Iterator[dict[str, Any]]:
    """Pods alike, each shard's in turn."""
    requests = {"cpu": "100m", "memory": "500Mi"}
    return (pod(f"p{i}", f"shard-{i % shards}", **requests) for i in range(count))


def a_profile(name: str) -> dict[str, Any]:
    """The profile of a shard, for its pool."""
    expressions = [{"key": POOL, "operator": "In", "values": [name]}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    args = [{"name": "NodeAffinity", "args": {"addedAffinity": added}}]
    kind = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
    spec = {"controllerName": name, "pluginConfig": args}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def a_shard(rig: Rig, kubeconfig: Path, name: str) -> Operator:
    """An installation, quiet."""
    quiet = {"format": "json", "verbosity": 0}
    config = {"controllerName": name, "leaderElection": {"resourceName": name}, "logging": quiet}
    return Operator(rig, kubeconfig, name, config)


async def run(nodes: int, pods: int, shards: int) -> Figures:
    """One run on a control plane of its own. Raises TimeoutError."""
    names = [f"shard-{i}" for i in range(shards)]
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(Rig(assets.ensure()))
        async with connected(rig) as session:

            async def post(path: str, body: dict[str, Any]) -> None:
                async with session.post(path, json=body) as answer:
                    answer.raise_for_status()

            kubeconfig = await asyncio.to_thread(install, rig)
            await at_once([*nodes_of(nodes, shards)], functools.partial(post, NODES))
            await at_once([*pods_of(pods, shards)], functools.partial(post, PODS))
            replicas = [stack.enter_context(a_shard(rig, kubeconfig, name)) for name in names]
            for replica in replicas:
                await asyncio.to_thread(replica.wait_logged, "leading", 120)
            log = WriteLog(rig.audit_log)
            for name in names:
                await post(_PROFILES, a_profile(name))
            pids = {replica.name: replica.child.pid for replica in replicas}

            def check() -> None:
                for replica in replicas:
                    replica.child.require_alive()

            async with asyncio.timeout(PATIENCE):
                window = await log.window(pods, pids, check)
            mib = max(replica.rss() for replica in replicas) / 2**20
            return Figures(window.rate, mib, sum(window.cost.values()))


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.shards")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=3_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args(arguments)
    found: dict[int, list[Figures]] = {shards: [] for shards in options.shards}
    for _ in range(options.rounds):
        for shards, figures in found.items():
            figures.append(asyncio.run(run(options.nodes, options.pods, shards)))
            print(shards, figures[-1], file=sys.stderr, flush=True)
    print(f"{options.nodes} nodes, {options.pods} pods, {os.cpu_count()} cores")
    for shards, figures in found.items():
        rates = [one.rate for one in figures]
        shown = ", ".join(f"{rate:.0f}" for rate in rates)
        print(f"{shards} shards: {statistics.median(rates):.0f} pods/s ({shown})", end=", ")
        print(f"{max(one.mib for one in figures):.0f} MiB each at most", end=", ")
        print(f"{statistics.median(one.cpu_ms for one in figures):.1f} ms a pod")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
