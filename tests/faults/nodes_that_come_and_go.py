"""Nodes come, are tainted with the time of day, and go (an autoscaler): names, label values and
taint sets stay for ever.

On the bench of the engine's tests. Meant: after the first thousands memory grows no more.
"""

import gc
import tracemalloc

from moorage.core.objects.nodes import Node, Taint
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, versioned
from tests.faults.stage import verdict

STEP, LIMIT_KIB = 4000, 512
bench = Bench()


def node(name: str, stamp: str = "") -> Node:
    taints = (
        (Taint(key="ToBeDeletedByClusterAutoscaler", value=stamp, effect="NoSchedule"),)
        if stamp
        else None
    )
    made: Node = versioned(make_node(name, labels={"kubernetes.io/hostname": name}, taints=taints))
    return made


def churn(begin: int) -> None:
    for i in range(begin, begin + STEP):
        bench.nodes.put(node(f"auto-{i}"))
        bench.nodes.put(node(f"auto-{i}", str(1_700_000_000 + i)))
        bench.nodes.delete(bench.nodes.objects[f"auto-{i}"])
    bench.pods.put(versioned(make_pod(f"p{begin}", cpu="1m")))
    bench.attempt()
    gc.collect()


for i in range(50):
    bench.nodes.put(node(f"stay{i}"))
bench.nodes.list_ended()
bench.pods.list_ended()
churn(0)
tracemalloc.start()
churn(STEP)
first = tracemalloc.get_traced_memory()[0]
churn(2 * STEP)
grown = (tracemalloc.get_traced_memory()[0] - first) / 1024
verdict(
    grown > LIMIT_KIB,
    f"{STEP} further nodes that came and went left {grown:.0f} KiB; limit {LIMIT_KIB} KiB",
)
