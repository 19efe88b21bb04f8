"""Pod groups: pods that are of use only together; the kinds that say so, and which group a pod is
in.

Four APIs have groups. A pod that names groups of several of them is a member of the first alone, in
the order of ``GROUP_APIS``. What a group asks for: ``core.groups.group_spec``.
Sources: Kubernetes (k8s.io/api 0.37.2), scheduler-plugins (sigs.k8s.io, v1alpha1), Volcano
(scheduling.volcano.sh/v1beta1), Kueue (plain pods).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final, NamedTuple

from moorage.core.objects.meta import ObjectMeta, PartialObject, Struct
from moorage.core.objects.pods import Pod, PodAnnotations, priority

API: Final = "scheduling.k8s.io/v1beta1"
COSCHEDULING_API: Final = "scheduling.x-k8s.io/v1alpha1"
VOLCANO_API: Final = "scheduling.volcano.sh/v1beta1"
KUEUE_API: Final = "kueue.x-k8s.io"
"""Without a version: of Kueue's plain pods no object is read."""

COSCHEDULING_LABEL: Final = "scheduling.x-k8s.io/pod-group"
KUEUE_LABEL: Final = "kueue.x-k8s.io/pod-group-name"
MIN_MEMBER: Final = "moorage.dev/min-member"
TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"


# ---- Kubernetes' PodGroup ------------------------------------------------------------------------


class BasicSchedulingPolicy(Struct, frozen=True):
    """Members are placed as far as they fit."""


class GangSchedulingPolicy(Struct, frozen=True):
    """So many members are placed together, or none."""

    min_count: int = 1


class PodGroupSchedulingPolicy(Struct, frozen=True):
    """How members are placed: one of the two is set."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Struct, frozen=True):
    """All members lie on nodes that have the same value of a label."""

    key: str = ""


class PodGroupSchedulingConstraints(Struct, frozen=True):
    """Where members may lie: one constraint at most."""

    topology: tuple[TopologyConstraint, ...] | None = None


class PodGroupResourceClaim(Struct, frozen=True):
    """A ResourceClaim that members share, or the template that one is made from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SingleDisruptionMode(Struct, frozen=True):
    """Members may be preempted one by one."""


class AllDisruptionMode(Struct, frozen=True):
    """Members are preempted all, or not at all."""


class DisruptionMode(Struct, frozen=True):
    """How members are preempted: one of the two is set; ``single`` where neither is."""

    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


class PodGroupSpec(Struct, frozen=True):
    """What a group asks for. workloadRef and priorityClassName are not read: the first informs, the
    second the API server has resolved.
    """

    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] | None = None
    disruption_mode: DisruptionMode | None = None
    priority: int | None = None
    preemption_policy: str | None = None
    parent_composite_pod_group_name: str | None = None

    @property
    def disrupted_together(self) -> bool:
        """Whether all members are preempted, or none."""
        return self.disruption_mode is not None and self.disruption_mode.all is not None


class PodGroupResourceClaimStatus(Struct, frozen=True):
    """The claim that was generated for one of a group's claim templates."""

    name: str = ""
    resource_claim_name: str | None = None


class PodGroupCondition(Struct, frozen=True):
    """A condition of a group."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


class PodGroupStatus(Struct, frozen=True):
    """What became of a group."""

    conditions: tuple[PodGroupCondition, ...] | None = None
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] | None = None


class PodGroup(Struct, frozen=True):
    """A pod group (scheduling.k8s.io/v1beta1)."""

    recorded_as: ClassVar[str] = "scheduling.k8s.io/PodGroup"

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


# ---- others' -------------------------------------------------------------------------------------


class CoschedulingPodGroupSpec(Struct, frozen=True):
    """How many members must be placed together, and after how many seconds in vain that is to be
    told.
    """

    min_member: int = 0
    schedule_timeout_seconds: int | None = None


class CoschedulingPodGroup(Struct, frozen=True):
    """A pod group of scheduler-plugins (scheduling.x-k8s.io/v1alpha1)."""

    kind: ClassVar[str] = "PodGroup"
    recorded_as: ClassVar[str] = "PodGroup"

    metadata: ObjectMeta
    spec: CoschedulingPodGroupSpec = CoschedulingPodGroupSpec()


class VolcanoPodGroupSpec(Struct, frozen=True):
    """How many members must be placed together. Queues, minResources and minTaskMember are
    Volcano's own matter.
    """

    min_member: int = 0


class VolcanoPodGroup(Struct, frozen=True):
    """A pod group of Volcano (scheduling.volcano.sh/v1beta1)."""

    kind: ClassVar[str] = "PodGroup"

    metadata: ObjectMeta
    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()


# ---- members -------------------------------------------------------------------------------------


class GroupKey(NamedTuple):
    """Which group it is: groups of two APIs are two, whatever their names are."""

    api: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class Membership(NamedTuple):
    """What a pod says of its group. ``asked``: how many members it takes, as its annotation has it,
    "" where it has none.
    """

    key: GroupKey
    asked: str
    priority: int


def group_of(pod: Pod | PartialObject) -> GroupKey | None:
    """The group that a pod is a member of, if any. One that is being deleted is no member any more;
    of one that could not be read its labels alone are known.
    """
    meta = pod.metadata
    if meta.deletion_timestamp is None:
        for api, name_of in _NAMES:
            if name := name_of(pod):
                return GroupKey(api, meta.namespace, name)
    return None


def membership_of(pod: Pod) -> Membership | None:
    """What a pod says of the group that it is a member of, if any."""
    key = group_of(pod)
    return None if key is None else Membership(key, _asked(key.api, pod), priority(pod))


def pod_group_name(pod: Pod) -> str:
    """``namespace/name`` of the PodGroup of Kubernetes that a pod names, "" for none. A pod that is
    being deleted is in it as long as it is there.
    """
    group = pod.spec.scheduling_group
    return f"{pod.metadata.namespace}/{group.pod_group_name}" if group is not None else ""


def groups_named_by(pod: Pod) -> tuple[GroupKey, ...]:
    """All groups that a pod names; it is a member of the first alone."""
    named = ((api, name_of(pod)) for api, name_of in _NAMES)
    return tuple(GroupKey(api, pod.metadata.namespace, name) for api, name in named if name)


def annotations_of(pod: Pod | PartialObject) -> PodAnnotations:
    """The annotations of a pod that are read; none are known of one that could not be read."""
    return (isinstance(pod, Pod) and pod.metadata.annotations) or _NO_ANNOTATIONS


# ---- inside --------------------------------------------------------------------------------------

_NO_ANNOTATIONS: Final = PodAnnotations()


def _by_scheduling_group(pod: Pod | PartialObject) -> str | None:
    group = pod.spec.scheduling_group if isinstance(pod, Pod) else None
    return group.pod_group_name if group is not None else None


def _by_coscheduling_label(pod: Pod | PartialObject) -> str | None:
    return (pod.metadata.labels or {}).get(COSCHEDULING_LABEL)


def _by_volcano_annotation(pod: Pod | PartialObject) -> str | None:
    annotations = pod.metadata.annotations if isinstance(pod, Pod) else None
    return annotations.group_name if annotations is not None else None


def _by_kueue_label(pod: Pod | PartialObject) -> str | None:
    return (pod.metadata.labels or {}).get(KUEUE_LABEL)


_NAMES: Final[tuple[tuple[str, Callable[[Pod | PartialObject], str | None]], ...]] = (
    (API, _by_scheduling_group),
    (COSCHEDULING_API, _by_coscheduling_label),
    (VOLCANO_API, _by_volcano_annotation),
    (KUEUE_API, _by_kueue_label),
)
GROUP_APIS: Final = tuple(api for api, _ in _NAMES)
"""In the order in which they count."""


def _asked(api: str, pod: Pod) -> str:
    return _ASKED[api](pod) if api in _ASKED else ""


def _kueue_asked(pod: Pod) -> str:
    """Pods of a group that Kueue admits with its first pod come one after another: nobody may wait
    for all of them.
    """
    annotations = annotations_of(pod)
    if annotations.pod_group_fast_admission == "true":
        return "1"
    return annotations.pod_group_total_count


_ASKED: Final[Mapping[str, Callable[[Pod], str]]] = {
    COSCHEDULING_API: lambda pod: annotations_of(pod).min_member,
    KUEUE_API: _kueue_asked,
}
