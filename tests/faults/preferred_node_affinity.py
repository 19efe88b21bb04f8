"""Pods with 8,000 preferred terms of node affinity: pods of another profile wait meanwhile."""

import functools
from typing import Any

from tests.faults.load import disturbed
from tests.faults.stage import pod_body


def big(i: int) -> dict[str, Any]:
    terms = [
        {
            "weight": 1 + k % 100,
            "preference": {
                "matchExpressions": [
                    {"key": f"k{k}-{i}", "operator": "DoesNotExist"},
                    {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [f"z{k}"]},
                ]
            },
        }
        for k in range(8000)
    ]
    return pod_body(
        f"big{i}",
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}},
    )


disturbed([functools.partial(big, i) for i in range(3)], seconds=30, nodes=800)
