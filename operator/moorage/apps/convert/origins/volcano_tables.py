"""What Volcano's actions, plugins and arguments come to here."""

from __future__ import annotations

from moorage.core.framework.replaced_plugins import REPLACEMENTS

STOP_FIRST = (
    "stop volcano-scheduler before you apply the profile: two schedulers of one name bind the same "
    "pods. Jobs of batch.volcano.sh need it, though, since it lets them in before they get pods: "
    "use Job or JobSet with a PodGroup (docs/gangs.md), or give the profile another schedulerName"
)
GANG_ABSENT = (
    "gang is not among the plugins: here members of a PodGroup wait for each other all the same "
    "(docs/gangs.md)"
)
PREDICATES_ABSENT = "predicates does not run there: here nodes are filtered all the same"
UNKNOWN_ACTION = "is left out: no action of Volcano has this name"
UNKNOWN_PLUGIN = (
    "is left out: no plugin of Volcano has this name; what it does has to be written anew "
    "(docs/writing-plugins.md)"
)

_QUEUES = (
    "is left out: there are no queues with shares here; admit workloads by Kueue's ClusterQueue "
    "(nominalQuota, cohort) before they are scheduled"
)

ACTIONS = {
    "enqueue": "",
    "allocate": "",
    "backfill": "",
    "preempt": "",
    "gangpreempt": "",
    "reclaim": f"{_QUEUES}, which takes back what was lent (preemption.reclaimWithinCohort)",
    "gangreclaim": f"{_QUEUES}, which takes back what was lent (preemption.reclaimWithinCohort)",
    "shuffle": "is left out: nothing here moves pods that run; the descheduler does",
}
"""What there is to say of each; "" for those that are a part of every profile."""

NO_EQUAL = {
    "priority": "",
    "gang": "",
    "pdb": "",
    "conformance": (
        "is left out: here only a higher priority keeps pods from being preempted; give those of "
        "kube-system the class system-cluster-critical (docs/preemption.md)"
    ),
    "overcommit": (
        "is left out: no workload waits outside the cluster's queue; admit workloads by Kueue"
    ),
    "drf": (
        "is left out: the queue is sorted by priority, then by time; Kueue has fair sharing "
        "(docs/gangs.md)"
    ),
    "proportion": _QUEUES,
    "capacity": _QUEUES,
    "resourcequota": "is left out: the API server holds every pod to its ResourceQuota itself",
    "sla": (
        "is left out: there are no waiting times to set; room is held for a gang that waits in "
        "vain for 30 s (docs/gangs.md)"
    ),
    "tdm": "is left out: nodes have no times of day; taint and untaint them by a CronJob",
    "task-topology": (
        "is left out: write podAffinity and podAntiAffinity into the pods' templates instead"
    ),
    "numa-aware": f"is left out: {REPLACEMENTS['NodeResourceTopologyMatch']}",
    "usage": f"is left out: {REPLACEMENTS['LoadAware']}",
    "rescheduling": "is left out: nothing here moves pods that run; the descheduler does",
    "nodegroup": (
        "is left out: make a profile for each group of nodes, with NodeAffinity's addedAffinity"
    ),
    "extender": (
        "is left out: its protocol is Volcano's own; kube-scheduler's extenders are spec.extenders "
        "(docs/extenders.md)"
    ),
    "deviceshare": f"is left out: {REPLACEMENTS['DeviceShare']}",
    "network-topology-aware": (
        "is left out: HyperNodes are not read; label nodes by switch or rack, and write "
        "topologyKeys into PodGroups, or preferredTopologyKeys into the arguments of "
        "TopologyPlacementGenerator (docs/gangs.md)"
    ),
    "cdp": (
        "is left out: pods have no time after their start in which they are safe; give them a "
        "higher priority"
    ),
}
"""What there is to say of a plugin that sets nothing in a profile; "" for those that are so in any.
"""

PREDICATES = {
    "predicate.NodeAffinityEnable": "NodeAffinity",
    "predicate.NodePortsEnable": "NodePorts",
    "predicate.TaintTolerationEnable": "TaintToleration",
    "predicate.PodAffinityEnable": "InterPodAffinity",
    "predicate.NodeVolumeLimitsEnable": "NodeVolumeLimits",
    "predicate.VolumeZoneEnable": "VolumeZone",
    "predicate.PodTopologySpreadEnable": "PodTopologySpread",
    "predicate.VolumeBindingEnable": "VolumeBinding",
    "predicate.DynamicResourceAllocationEnable": "DynamicResources",
}
"""Switch -> the plugin that filters so."""

SCORES = {
    "nodeaffinity.weight": ("NodeAffinity", 2),
    "podaffinity.weight": ("InterPodAffinity", 2),
    "balancedresource.weight": ("NodeResourcesBalancedAllocation", 1),
    "tainttoleration.weight": ("TaintToleration", 3),
    "imagelocality.weight": ("ImageLocality", 1),
    "podtopologyspread.weight": ("PodTopologySpread", 2),
}
"""Argument of nodeorder -> the plugin that scores so, and its weight there unless it is set."""

BALANCED = "NodeResourcesBalancedAllocation"
BALANCED_RESOURCES = [
    {"name": "cpu", "weight": 1},
    {"name": "memory", "weight": 1},
    {"name": "nvidia.com/gpu", "weight": 1},
]

ARGUMENTS = {
    "predicate.CacheEnable": "",
    "predicate.GPUSharingEnable": f"is left out: {REPLACEMENTS['DeviceShare']}",
    "predicate.GPUNumberEnable": f"is left out: {REPLACEMENTS['DeviceShare']}",
    "sra": (
        "is left out: keep pods that need no such resource off its nodes by a taint, or by the "
        "plugin CEL (docs/cel.md)"
    ),
    "proportional": (
        "is left out: keep cpu and memory for such pods by a taint, or filter by the plugin CEL "
        "(docs/cel.md)"
    ),
}
"""What there is to say of arguments that set nothing in a profile; "" for those that change no
decision.
"""
