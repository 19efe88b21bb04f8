"""Daemon pods: one on each node that a DaemonSet's template admits, as its controller makes them.

Which nodes these are the controller decides: by nodeSelector and required node affinity, and by
taints, some of which its pods tolerate whatever the template says. Each pod is then bound to its
node's name, and scheduled like any other.
Source: Kubernetes 1.37 pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod, and
util/daemonset_util.go, AddOrUpdateDaemonPodTolerations and
ReplaceDaemonSetPodNodeNameNodeAffinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Affinity, NodeAffinity, Pod, Toleration
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.pods.node_selection import (
    NODE_NAME,
    NodeTerms,
    matches_any,
    required_node_terms,
    untolerated_taints,
)
from moorage.core.simulation.fitting import Fit, limits_of, place_each
from moorage.core.simulation.reasons import WeightedReason, reasons
from moorage.core.simulation.simulator import Simulator

NO_MATCH: Final = "nodeSelector or node affinity does not match"
_TOLERATED: Final = {
    "not-ready": "NoExecute",
    "unreachable": "NoExecute",
    "disk-pressure": "NoSchedule",
    "memory-pressure": "NoSchedule",
    "pid-pressure": "NoSchedule",
    "unschedulable": "NoSchedule",
}
"""Taints of ``node.kubernetes.io/`` that all daemon pods tolerate, and their effects."""
_ON_HOST_NETWORK: Final = {"network-unavailable": "NoSchedule"}


def fit_on_each_node(simulator: Simulator, template: Pod) -> Fit:
    """Place a pod on each node that admits it and has room; they stay placed in this simulator.
    Requested is one a node that admits it. Raises KeyError where nobody decides for the
    schedulerName.
    """
    pod, nodes = _daemon(template), simulator.context.cache.nodes
    terms = required_node_terms(pod)
    placed, requested = list[str](), 0
    lacking, refused = Counter[str](), Counter[str]()
    for name, row in list(nodes.row_of.items()):
        if (node := nodes.nodes[row]) is None:
            continue
        if why := _not_admitted(pod, terms, node):
            refused[why] += 1
            continue
        requested, pinned = requested + 1, _pinned(pod, name)
        if any(place_each(simulator, [pinned])):
            placed.append(name)
        else:
            lacking.update(_why(simulator, pinned, row))
    short = _weighted(lacking)
    return Fit(
        template,
        requested,
        nodes=tuple(placed),
        room=len(placed),
        counted_out=True,
        limits=short,
        refusals=short,
        more_nodes=None,
        not_admitted=_weighted(refused),
    )


# ---- inside --------------------------------------------------------------------------------------


def _daemon(pod: Pod) -> Pod:
    """The template's pod with the controller's tolerations."""
    tolerated = {**_TOLERATED, **(_ON_HOST_NETWORK if pod.spec.host_network else {})}
    more = tuple(
        Toleration(f"node.kubernetes.io/{key}", "Exists", effect=effect)
        for key, effect in tolerated.items()
    )
    tolerations = (*(pod.spec.tolerations or ()), *more)
    spec = msgspec.structs.replace(pod.spec, tolerations=tolerations)
    return msgspec.structs.replace(pod, spec=spec)


def _not_admitted(pod: Pod, terms: NodeTerms, node: Node) -> str:
    """Why the controller makes no pod for a node, "" where it does."""
    if not matches_any(terms, node):
        return NO_MATCH
    for taint in untolerated_taints(node.spec.taints or (), pod.spec.tolerations or ()):
        return f"untolerated taint {taint.key}={taint.value}:{taint.effect}"
    return ""


def _pinned(pod: Pod, node: str) -> Pod:
    """The pod for this node; its required node affinity has done its part."""
    meta, affinity = pod.metadata, pod.spec.affinity or Affinity()
    here = NodeSelectorTerm(match_fields=(Requirement(NODE_NAME, "In", (node,)),))
    to_nodes = msgspec.structs.replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=NodeSelector((here,)),
    )
    affinity = msgspec.structs.replace(affinity, node_affinity=to_nodes)
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(
            meta, name=f"{meta.name}-{node}", uid=f"{meta.uid}-{node}"
        ),
        spec=msgspec.structs.replace(pod.spec, affinity=affinity),
    )


def _why(simulator: Simulator, pod: Pod, row: int) -> Iterator[str]:
    """What its node refuses it for."""
    revision = simulator.revisions[pod.spec.scheduler_name]
    found = limits_of(simulator, pod, frozenset({row})) or reasons(pod, revision, simulator.context)
    yield from (one.text for one in found)


def _weighted(counts: Counter[str]) -> tuple[WeightedReason, ...]:
    """What most nodes say first."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(WeightedReason(text, count) for text, count in ranked)
