"""Pods with 5,000 required terms of node affinity, three expressions each: pods of another profile
wait meanwhile.
"""

import functools
from typing import Any

from tests.faults.load import disturbed
from tests.faults.stage import pod_body


def big(i: int) -> dict[str, Any]:
    terms = [
        {
            "matchExpressions": [
                {
                    "key": f"k{k}-{i}",
                    "operator": "NotIn",
                    "values": [f"v{k}-{j}" for j in range(3)],
                },
                {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [f"z{k}"]},
                {"key": "nope", "operator": "Exists"},
            ]
        }
        for k in range(5000)
    ]
    return pod_body(
        f"big{i}",
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
        },
    )


disturbed([functools.partial(big, i) for i in range(3)], seconds=25, nodes=800)
