"""What the CEL plugin costs: ``python -m tests.bench.expressions [--nodes N]``, in processor time.

For each filter: the first decision, for which all distinct inputs are evaluated (in one go: no
clock breaks it off here); the first decision for another template of pods, for which nothing is
evaluated but every node looked up; and the median of those that follow, in which one node has
changed. The first line is the same without the plugin.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time

from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.plugins.cel.arguments import CELArgs, CELFilter
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.bench.decisions import HOST, WARM, ZONE, cluster, make_pod

FILTERS = {
    "a label, 3 values": f'node.metadata.labels["{ZONE}"] != "zone1"',
    "a label, each another": f'node.metadata.labels["{HOST}"] != "node-00001"',
    "all labels": 'node.metadata.labels.exists(key, key.startsWith("kubernetes.io/"))',
    "requested": "node.requested.pods < 100",
    "a quantity": 'quantity(node.status.allocatable.memory).isGreaterThan(quantity("64Gi"))',
}
COUNTED = 200


def profile(*texts: str) -> Revision:
    """The Default preset, and these filters."""
    args = {"CEL": CELArgs(tuple(map(CELFilter, texts)))}
    return resolve(
        RequestedProfile(
            "bench", "Default", {"multiPoint": EnabledPlugins((PluginRef("CEL"),))}, {}, args
        ),
        build_registry(INTREE),
        PRESETS,
    )


def timed(context: CycleContext, revision: Revision, name: str, kind: str = "basic") -> float:
    """Milliseconds of a decision."""
    pod, began = make_pod(name, kind), time.thread_time()
    outcome = decide(pod, revision, context)
    if isinstance(outcome, ScheduleResult):
        assume_and_reserve(outcome, context)
    return (time.thread_time() - began) * 1000


def measure(nodes: int, *texts: str) -> tuple[float, float, float]:
    """The first decision, the first one for another template, and the median of those that
    follow.
    """
    context, revision = CycleContext(cluster("SchedulingBasic", nodes, 1000)), profile(*texts)
    timed(context, profile(), "unlike", "nodes")  # what all share is there
    timed(context, profile(), "like")
    gc.collect()
    gc.freeze()
    first = timed(context, revision, "first")
    timed(context, profile(), "other", "huge")
    second = timed(context, revision, "second", "huge")
    following = [timed(context, revision, f"next-{i}") for i in range(WARM + COUNTED)]
    gc.unfreeze()
    return first, second, statistics.median(following[WARM:])


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.expressions",
        description="Time decisions with expressions, without I/O.",
    )
    parser.add_argument("--nodes", type=int, default=5000)
    nodes: int = parser.parse_args().nodes
    print(f"{nodes} nodes; processor time, ms")
    print(f"{'filter':24}{'first':>10}{'other pod':>12}{'following':>12}")
    for name, texts in {"(none)": (), **{name: (text,) for name, text in FILTERS.items()}}.items():
        first, second, following = measure(nodes, *texts)
        print(f"{name:24}{first:10.1f}{second:12.1f}{following:12.3f}", flush=True)


if __name__ == "__main__":
    main()
