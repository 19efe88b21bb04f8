"""A gang of 1,500 members that all differ, one of which never fits: pods of another profile wait
while it is tried.
"""

import functools
from typing import Any

from tests.faults.load import disturbed
from tests.faults.stage import pod_body

COUNT = 1500


def member(i: int) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"a": str(i)}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term}
            ]
        }
    }
    return pod_body(
        f"g{i}",
        cpu="1" if i else "65",
        requests=None,
        labels={"scheduling.x-k8s.io/pod-group": "g"},
        annotations={"moorage.dev/min-member": str(COUNT)},
        affinity=affinity,
    )


disturbed([functools.partial(member, i) for i in range(COUNT)], seconds=25, nodes=800)
