"""Pods with 30,000 node affinity expressions: pods of another profile wait meanwhile, and the lease
is lost.
"""

import functools
from typing import Any

from tests.faults.load import disturbed, node_affinity
from tests.faults.stage import pod_body


def big(i: int) -> dict[str, Any]:
    return pod_body(f"big{i}", affinity=node_affinity(30_000, "NotIn", i))


disturbed([functools.partial(big, i) for i in range(6)], seconds=50, nodes=800)
