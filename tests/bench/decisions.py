"""How long a decision takes: ``python -m tests.bench.decisions [--nodes N] [--assigned A,B,C]
[--workloads X,Y]``.

No API server, no I/O: a cluster in memory, the Default preset, pods of one template decided and
assumed one after another, the first ones not counted (the evaluation is warm). One line per
workload: for each number of assigned pods the median and the 99th percentile in milliseconds.
Workloads have the names and shapes that Kubernetes' own scheduler benchmark has.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.api.resolution import Resolver
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.framework.registry import build_registry
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = 3
WARM, COUNTED = 20, 200
OWN = 1000
"""Of the assigned pods, so many are of the workload's own kind; the others have no labels. (One
host takes one `anti` pod.)
"""


def affinity(field: str, color: str, topology: str, preferred: bool = False) -> dict[str, Any]:
    """A spec with one term."""
    term = {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": topology}
    if preferred:
        rule: dict[str, Any] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"podAffinityTerm": term, "weight": 1}
            ]
        }
    else:
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {field: rule}}


SPREAD = {
    "maxSkew": 5,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"color": "purple"}},
}
TWO_ZONES = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}]}
    ]
}

KINDS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "basic": ({}, {}),
    "anti": ({"color": "green"}, affinity("podAntiAffinity", "green", HOST)),
    "affinity": ({"color": "blue"}, affinity("podAffinity", "blue", ZONE)),
    "prefers": ({"color": "red"}, affinity("podAffinity", "red", HOST, preferred=True)),
    "avoids": ({"color": "yellow"}, affinity("podAntiAffinity", "yellow", HOST, preferred=True)),
    "spread": ({"color": "purple"}, {"topologySpreadConstraints": [SPREAD]}),
    "nodes": (
        {},
        {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TWO_ZONES}
            }
        },
    ),
    "huge": ({}, {"cpu": "64"}),
    "low": ({}, {"cpu": "900m", "priority": 0}),
    "high": ({}, {"cpu": "900m", "priority": 1000}),
}

WORKLOADS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "SchedulingBasic": (("basic",), ("basic",)),
    "SchedulingPodAntiAffinity": (("anti",), ("anti",)),
    "SchedulingPodAffinity": (("affinity",), ("affinity",)),
    "SchedulingPreferredPodAffinity": (("prefers",), ("prefers",)),
    "SchedulingPreferredPodAntiAffinity": (("avoids",), ("avoids",)),
    "TopologySpreading": (("spread",), ("spread",)),
    "SchedulingNodeAffinity": (("nodes",), ("nodes",)),
    "MixedSchedulingBasePod": (("basic", "affinity", "anti", "prefers", "avoids"), ("basic",)),
    "SchedulingWithMixed": (("basic", "affinity", "anti", "prefers", "spread", "nodes"),) * 2,
    "Unschedulable": (("basic",), ("huge",)),
    "Preemption": (("low",), ("high",)),
}
"""The kinds of assigned pods and of those that are decided, each in rotation."""


def make_pod(name: str, kind: str, node: str = "") -> Pod:
    """A pod of a kind, on a node or waiting."""
    labels, more = KINDS[kind]
    more = dict(more)
    requests = {"cpu": more.pop("cpu", "100m"), "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": "pause:3.10",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": requests},
    }
    spec = {"schedulerName": "bench", "nodeName": node, "containers": [container], **more}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "bench",
                "uid": f"uid-{name}",
                "labels": labels,
            },
            "spec": spec,
        },
        Pod,
    )


def make_node(i: int, cpu: str) -> Node:
    """The i-th node."""
    name = f"node-{i:05d}"
    labels = {HOST: name, ZONE: f"zone{i % ZONES + 1}", "kubernetes.io/os": "linux"}
    allocatable = {"cpu": cpu, "memory": "256Gi", "pods": "110"}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}, Node
    )


def assigned(kinds: tuple[str, ...], count: int, nodes: int) -> Iterator[Pod]:
    """The pods that are there already, round the nodes; where that would break a kind's rules,
    elsewhere.
    """
    rotation = itertools.cycle(kinds)
    for i in range(count):
        kind = next(rotation) if i < OWN or kinds == ("low",) else "basic"
        node = i % nodes
        if kind == "affinity":
            node -= node % ZONES
        elif kind == "nodes" and node % ZONES == ZONES - 1:
            node -= 1
        yield make_pod(f"there-{i}", kind, f"node-{node:05d}")


def cluster(workload: str, nodes: int, pods: int) -> Cache:
    """Nodes and assigned pods. Under Preemption no node has room: those with pods are full, the
    others too small.
    """
    kinds = WORKLOADS[workload][0]
    cache = Cache()
    for i in range(nodes):
        there = pods // nodes + (i < pods % nodes)
        cache.put_node(
            make_node(i, f"{max(100, 900 * there)}m" if workload == "Preemption" else "32")
        )
    for pod in assigned(kinds, pods, nodes):
        cache.observe(pod, pod_requests(pod))
    return cache


def measure(workload: str, nodes: int, pods: int) -> list[float]:
    """Milliseconds of each counted decision."""
    cache = cluster(workload, nodes, pods)
    revision = Resolver(build_registry(INTREE), PRESETS)(
        {"metadata": {"name": "bench", "generation": 1}, "spec": {}}, {}
    ).revision
    context = CycleContext(cache)
    rotation = itertools.cycle(WORKLOADS[workload][1])
    waiting = [make_pod(f"new-{i}", next(rotation)) for i in range(WARM + COUNTED)]
    gc.collect()
    gc.freeze()
    times = []
    for pod in waiting:
        started = time.perf_counter()
        outcome = decide(pod, revision, context)
        if isinstance(outcome, ScheduleResult):
            assume_and_reserve(outcome, context)
        times.append((time.perf_counter() - started) * 1000)
    gc.unfreeze()
    return times[WARM:]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.decisions", description="Time decisions without I/O."
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument(
        "--assigned", default="1000,10000,50000", help="numbers of pods that are on nodes already"
    )
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    options = parser.parse_args()
    sizes = [int(size) for size in options.assigned.split(",")]
    print(f"{options.nodes} nodes; median / 99th percentile of {COUNTED} decisions, ms")
    print(f"{'workload':36}" + "".join(f"{size:>10} pods  " for size in sizes))
    for workload in options.workloads.split(","):
        cells = []
        for size in sizes:
            times = measure(workload, options.nodes, size)
            cells.append(
                f"{statistics.median(times):7.3f} / {statistics.quantiles(times, n=100)[-1]:5.2f}"
            )
        print(f"{workload:36}" + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
