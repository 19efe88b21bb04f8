"""What fields of YuniKorn's configuration come to that no profile has."""

from __future__ import annotations

from typing import Any

ALWAYS = (
    (
        "stop YuniKorn's scheduler and its admission controller before you apply the profile: two "
        "schedulers of one name bind the same pods, and the controller gives its name to all pods"
    ),
    (
        "preferred affinities and soft topology spread do not count, as in YuniKorn: take preset "
        "and plugins.score out of the profile to have them"
    ),
    (
        "the annotation yunikorn.apache.org/task-groups of pods is not read: write a PodGroup with "
        "minCount (docs/gangs.md)"
    ),
)

_KUEUE = "is left out: there are no queues with quotas here; write it into Kueue's"
_FAIRNESS = (
    "is left out: the queue is sorted by priority, then by time; Kueue's ClusterQueues have fair "
    "sharing"
)
_RIGHTS = "is left out: who may create pods in a namespace is the matter of RBAC"

GROUPS = ("resources", "preemption", "properties", "childtemplate")
"""Fields whose own fields are looked at."""

_OURS = ("name", "parent", "nodesortpolicy", "enabled")
"""What the profile has, or what only helps to read the rest."""

_FIELDS = {
    "placementrules": (
        "is left out: which queue a pod is of is said by the label kueue.x-k8s.io/queue-name, with "
        "a LocalQueue of Kueue in its namespace"
    ),
    "guaranteed": f"{_KUEUE} ClusterQueue as nominalQuota",
    "max": (
        f"{_KUEUE} ClusterQueue as nominalQuota and borrowingLimit, or into a ResourceQuota of the "
        "namespace"
    ),
    "maxapplications": (
        "is left out: workloads are not counted here; a ResourceQuota can, as count/jobs.batch"
    ),
    "limits": (
        "is left out: users have no quotas here; give each team a namespace with a ResourceQuota, "
        "or a LocalQueue of Kueue"
    ),
    "adminacl": _RIGHTS,
    "submitacl": _RIGHTS,
    "usergroupresolver": "is left out: nothing here looks at users and groups",
    "quotapreemptionenabled": f"{_KUEUE} ClusterQueue as preemption.reclaimWithinCohort",
    "application.sort.policy": _FAIRNESS,
    "application.sort.priority": _FAIRNESS,
    "application.unschedasks.backoff": (
        "is left out: the backoff is the pod's; podMaxBackoffSeconds of the profile is its limit"
    ),
    "application.unschedasks.backoff.delay": (
        "is left out: write it into podMaxBackoffSeconds of the profile"
    ),
    "priority.policy": "is left out: priorities count in the whole cluster; use PriorityClasses",
    "priority.offset": "is left out: write it into the value of a PriorityClass",
    "preemption.policy": (
        "is left out: a PriorityClass with preemptionPolicy Never keeps its pods from preempting; "
        "preemption within queues is Kueue's"
    ),
    "preemption.delay": "is left out: pods are preempted as soon as that helps",
    "quota.preemption.delay": f"{_KUEUE} ClusterQueue as preemption.reclaimWithinCohort",
}
_EVERYBODY = ("submitacl", "*")
_IN_ORDER = ("application.sort.policy", "fifo")


def of_field(field: str, value: Any) -> str:
    """What became of a field of a partition or queue; "" when a profile has it, or when it says
    what is so anyway.
    """
    if field in _OURS or (field, value) in (_EVERYBODY, _IN_ORDER):
        return ""
    return _FIELDS.get(field, "is left out: nothing here is set by it")


def of_setting(key: str) -> str:
    """What became of a setting beside the queues."""
    if key.startswith("admissionController."):
        return "is left out: pods say themselves by which profile they go, in schedulerName"
    return "is left out: it is of YuniKorn's own process"
