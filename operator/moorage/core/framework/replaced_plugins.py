"""Plugins that people have from elsewhere, or had: what there is here instead of each, for who
names one.
"""

from __future__ import annotations

_GANGS = (
    "the pods of a group are placed together by their PodGroup, or their label "
    "scheduling.x-k8s.io/pod-group, without a plugin (docs/gangs.md)"
)
_QUOTA = (
    "there are no elastic quotas here: use ResourceQuota, or admit whole workloads before, as "
    "Kueue does"
)
_NUMA = (
    "zones within nodes are not looked at here: leave that to the kubelet's topology manager, or "
    "ask an extender (docs/extenders.md)"
)
_LOAD = (
    "nothing here measures load: score by what is requested, by an annotation of nodes in CEL "
    "(docs/cel.md), or ask an extender"
)
_FIT = "NodeResourcesFit does that, with scoringStrategy in its arguments"
_SPREAD = "PodTopologySpread's default constraints do that"
_LABELS = "NodeAffinity's addedAffinity does that"
_LIMITS = "NodeVolumeLimits does that"
_QUEUE = "the queue is sorted by priority, then by time, for all profiles"

REPLACEMENTS = {
    "Coscheduling": _GANGS,
    "CapacityScheduling": _QUOTA,
    "Capacity": _QUOTA,
    "ElasticQuota": _QUOTA,
    "NodeResourceTopologyMatch": _NUMA,
    "NodeResourceTopology": _NUMA,
    "NodeNUMAResource": _NUMA,
    "LoadAwareScheduling": _LOAD,
    "LoadAware": _LOAD,
    "TargetLoadPacking": _LOAD,
    "LoadVariationRiskBalancing": _LOAD,
    "LowRiskOverCommitment": _LOAD,
    "Trimaran": _LOAD,
    "Peaks": _LOAD,
    "NodeResourcesAllocatable": _FIT,
    "NodeResourcesLeastAllocated": _FIT,
    "NodeResourcesMostAllocated": _FIT,
    "RequestedToCapacityRatio": _FIT,
    "SelectorSpread": _SPREAD,
    "ServiceAffinity": _SPREAD,
    "NodeLabel": _LABELS,
    "NodePreferAvoidPods": "nodes are kept free by taints",
    "AzureDiskLimits": _LIMITS,
    "CinderLimits": _LIMITS,
    "EBSLimits": _LIMITS,
    "GCEPDLimits": _LIMITS,
    "QOSSort": _QUEUE,
    "TopologicalSort": _QUEUE,
    "NetworkOverhead": (
        "costs of networks are not known here: use topology labels with PodTopologySpread or pod "
        "affinity"
    ),
    "PreemptionToleration": "who may not be preempted gets a higher priority (docs/preemption.md)",
    "DeviceShare": "DynamicResources gives parts of devices that their drivers offer",
    "Reservation": "room is kept for pods by pods of low priority, which are preempted",
}
