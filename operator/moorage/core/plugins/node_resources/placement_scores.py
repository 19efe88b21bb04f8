"""What NodeResourcesFit says of placements of a pod group: how full their nodes are then.

Whatever the strategy's type, the fuller one is better, so that whole domains stay free; its
resources and their weights count.
Source: kube-scheduler NodeResourcesFit as a placementScore plugin (v1.37).
"""

from __future__ import annotations

import numpy as np

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import MAX_NODE_SCORE
from moorage.core.framework.placement_contract import Proposal
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec, shares, usage
from moorage.core.pods.requests import SCORED, pod_amounts


def fullness(
    proposal: Proposal, resources: tuple[ResourceSpec, ...] | None, snapshot: Snapshot
) -> int:
    """What is asked of the nodes of a placement, 0..100 of what they have, the weighted mean of the
    resources that any of them has.
    """
    live = snapshot.nodes.live
    rows = proposal.placement.rows(snapshot.nodes)
    inside = (live if rows is None else rows & live).nonzero()[0].astype(np.intp)
    asked: dict[str, int] = {}
    for pod, _ in proposal.assignments:
        for resource, amount in pod_amounts(pod, SCORED).items():
            asked[resource] = asked.get(resource, 0) + amount
    total = weights = 0
    counted = shares(resources, asked, snapshot.store)
    devices_alone = (share._replace(devices=None) for share in counted)
    for share, capacities, taken in usage(tuple(devices_alone), snapshot, inside, nonzero=True):
        has = capacities > 0
        if capacity := int(capacities[has].sum()):
            used = min(int(taken[has].sum()) + int(share.amount), capacity)
            total += used * MAX_NODE_SCORE // capacity * int(share.weight)
            weights += int(share.weight)
    return total // weights if weights else 0
