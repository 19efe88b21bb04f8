"""Predicates and priorities of the legacy Policy: which plugins they are now, and which of them
there were by default.

Source: what kube-scheduler 1.20 made of them, and what became of those plugins up to 1.37.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIT, SPREAD, AFFINITY, INTER_POD = (
    "NodeResourcesFit",
    "PodTopologySpread",
    "NodeAffinity",
    "InterPodAffinity",
)
PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")

_GENERAL = (FIT, "NodeName", "NodePorts", AFFINITY)
_BY_TAINTS = ("TaintToleration", "NodeUnschedulable")
_LIMITS = ("NodeVolumeLimits",)
PREDICATES: Mapping[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": _GENERAL,
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "MatchNodeSelector": (AFFINITY,),
    "PodFitsResources": (FIT,),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "PodToleratesNodeNoExecuteTaints": ("TaintToleration",),
    "CheckNodeCondition": _BY_TAINTS,
    "CheckNodeMemoryPressure": _BY_TAINTS,
    "CheckNodeDiskPressure": _BY_TAINTS,
    "CheckNodePIDPressure": _BY_TAINTS,
    "MaxEBSVolumeCount": _LIMITS,
    "MaxGCEPDVolumeCount": _LIMITS,
    "MaxAzureDiskVolumeCount": _LIMITS,
    "MaxCinderVolumeCount": _LIMITS,
    "MaxCSIVolumeCountPred": _LIMITS,
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": (SPREAD,),
    "MatchInterPodAffinity": (INTER_POD,),
}
MANDATORY = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
DEFAULT_PREDICATES = (
    *(
        "NoVolumeZoneConflict",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxAzureDiskVolumeCount",
        "MaxCSIVolumeCountPred",
    ),
    *(
        "MatchInterPodAffinity",
        "NoDiskConflict",
        "GeneralPredicates",
        "PodToleratesNodeTaints",
        "CheckVolumeBinding",
    ),
    *("CheckNodeUnschedulable", "EvenPodsSpread"),
)

PRIORITIES: Mapping[str, str] = {
    "LeastRequestedPriority": FIT,
    "MostRequestedPriority": FIT,
    "RequestedToCapacityRatioPriority": FIT,
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodeAffinityPriority": AFFINITY,
    "TaintTolerationPriority": "TaintToleration",
    "InterPodAffinityPriority": INTER_POD,
    "ImageLocalityPriority": "ImageLocality",
    "EvenPodsSpreadPriority": SPREAD,
    "SelectorSpreadPriority": SPREAD,
    "ServiceSpreadingPriority": SPREAD,
}
WITHOUT_EFFECT = ("EqualPriority",)
GONE = {
    "NodePreferAvoidPodsPriority": "has no equivalent: nodes are kept free by taints now",
    "ResourceLimitsPriority": "has no equivalent",
}
DEFAULT_PRIORITIES = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}
STRATEGIES: Mapping[str, dict[str, Any]] = {
    "LeastRequestedPriority": {"type": "LeastAllocated"},
    "MostRequestedPriority": {"type": "MostAllocated"},
    "RequestedToCapacityRatioPriority": {
        "type": "RequestedToCapacityRatio",
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
        },
    },
}
SPREADING = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
SYSTEM_CONSTRAINTS = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
"""What defaultingType System stands for, where other constraints are to stand beside it."""
