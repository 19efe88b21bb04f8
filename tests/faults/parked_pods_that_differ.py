"""5,000 parked pods that differ by a label (StatefulSets, Indexed Jobs): every pod that comes or
goes costs the loop by their number.

On the bench of the engine's tests, whose steps are calls. Meant: an event's cost does not grow with
parked pods that it cannot help.
"""

import functools
import time
from collections.abc import Callable

import msgspec

from moorage.core.objects.pods import Pod
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, on_node, versioned
from tests.faults.stage import verdict

COUNT, LIMIT_MS = 5000, 5.0


def parked(i: int) -> Pod:
    pod = make_pod(f"p{i}", cpu="1m")
    affinity = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "cache"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
    spec = msgspec.convert({**msgspec.to_builtins(pod.spec), "affinity": affinity}, type(pod.spec))
    labels = {"statefulset.kubernetes.io/pod-name": f"web-{i}"}
    return msgspec.structs.replace(
        pod, spec=spec, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
    )


def timed(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return (time.perf_counter() - began) * 1000


bench = Bench()
for i in range(50):
    bench.nodes.put(versioned(make_node(f"n{i}", labels={"kubernetes.io/hostname": f"n{i}"})))
bench.nodes.list_ended()
bench.pods.list_ended()
for i in range(COUNT):
    bench.pods.put(versioned(parked(i)))
while bench.attempt():
    pass
spent = []
for i in range(15):
    guest = versioned(on_node(make_pod(f"x{i}", cpu="1m"), "n1"))
    spent += [
        timed(functools.partial(bench.pods.put, guest)),
        timed(functools.partial(bench.pods.delete, guest)),
    ]
spent.sort()
median = spent[len(spent) // 2]
verdict(
    median > LIMIT_MS,
    f"{COUNT} parked: a pod that comes or goes holds the loop {median:.1f}"
    f" ms (median), {spent[-1]:.1f} ms (worst); limit {LIMIT_MS:.0f} ms",
)
