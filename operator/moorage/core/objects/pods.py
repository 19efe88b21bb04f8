"""Pods, as the API server has them: the fields that we read."""

from __future__ import annotations

import msgspec

from moorage.core.objects.meta import Labels, ObjectMeta, PartialObject, ResourceList, Struct
from moorage.core.objects.selector_terms import LabelSelector, NodeSelector, PreferredSchedulingTerm


class PodAnnotations(Struct, frozen=True):
    """The annotations of a pod that are read; all others, which can be large, are not kept."""

    min_member: str = msgspec.field(default="", name="moorage.dev/min-member")
    group_name: str = msgspec.field(default="", name="scheduling.k8s.io/group-name")
    pod_group_total_count: str = msgspec.field(
        default="", name="kueue.x-k8s.io/pod-group-total-count"
    )
    pod_group_fast_admission: str = msgspec.field(
        default="", name="kueue.x-k8s.io/pod-group-fast-admission"
    )


class PodMeta(ObjectMeta, frozen=True):
    annotations: PodAnnotations | None = None


class NodeAffinity(Struct, frozen=True):
    """Which nodes a pod needs and which it prefers."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: (
        tuple[PreferredSchedulingTerm, ...] | None
    ) = None


class PodAffinityTerm(Struct, frozen=True):
    """Pods (by labels and namespace) beside which, or away from which, a pod is to run within a
    topology domain.

    matchLabelKeys and mismatchLabelKeys are not read: the API server has merged them into the
    selector.
    """

    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Struct, frozen=True):
    """A term that counts ``weight`` for each pod that it matches."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, frozen=True):
    """Terms of podAffinity or of podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: (
        tuple[WeightedPodAffinityTerm, ...] | None
    ) = None


class Affinity(Struct, frozen=True):
    """A pod's affinity to nodes and to pods."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Struct, frozen=True):
    """How unevenly the pods that a selector matches may lie in the domains of a topology."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


# ---- pods ----------------------------------------------------------------------------------------


class ResourceClaimRef(Struct, frozen=True):
    """A container's use of one of the pod's claims, or of one request in it."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Struct, frozen=True):
    """Requests of a container or a pod."""

    requests: ResourceList | None = None
    claims: tuple[ResourceClaimRef, ...] | None = None


class ContainerPort(Struct, frozen=True):
    """A port of a container; hostPort 0 means none."""

    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")


class RestartRule(Struct, frozen=True):
    """What happens when a container ends in some way (ContainerRestartRule). Of when, nothing is
    read.
    """

    action: str = ""


class Container(Struct, frozen=True):
    """An app container or, with restartPolicy, an init container."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[RestartRule, ...] | None = None


class Toleration(Struct, frozen=True):
    """What taint a pod tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SchedulingGate(Struct, frozen=True):
    """A gate that keeps a pod out of the queue."""

    name: str = ""


class ImageVolume(Struct, frozen=True):
    """A volume that is an OCI image."""

    reference: str = ""


class ClaimVolume(Struct, frozen=True):
    claim_name: str = ""


class EphemeralVolume(Struct, frozen=True):
    """A volume whose claim is made for the pod: ``<pod>-<volume>``. Of its template nothing is
    read.
    """


class CSIVolume(Struct, frozen=True):
    """An inline volume of a CSI driver."""

    driver: str = ""


class GCEPersistentDisk(Struct, frozen=True):
    """An in-tree volume (gcePersistentDisk)."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct, frozen=True):
    """An in-tree volume (awsElasticBlockStore)."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class AzureDisk(Struct, frozen=True):
    """An in-tree volume (azureDisk)."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class Cinder(Struct, frozen=True):
    """An in-tree volume (cinder)."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class PortworxVolume(Struct, frozen=True):
    """An in-tree volume (portworxVolume)."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class ISCSI(Struct, frozen=True):
    """An in-tree volume (iscsi)."""

    iqn: str = ""
    read_only: bool = False


class RBD(Struct, frozen=True):
    """An in-tree volume (rbd)."""

    monitors: tuple[str, ...] | None = None
    pool: str = ""
    image: str = ""
    read_only: bool = False


class Volume(Struct, frozen=True):
    """A volume of one of the kinds that placement depends on; one of another kind has a name
    alone.
    """

    name: str = ""
    image: ImageVolume | None = None
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CSIVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None


class PodResourceClaim(Struct, frozen=True):
    """A ResourceClaim that a pod uses, or the template that one is made from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Struct, frozen=True):
    """The PodGroup (scheduling.k8s.io) that a pod is a member of."""

    pod_group_name: str | None = None


class PodSpec(Struct, frozen=True):
    """The part of a pod's spec that placement depends on."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    node_selector: Labels | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    scheduling_gates: tuple[SchedulingGate, ...] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    volumes: tuple[Volume, ...] | None = None
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    host_network: bool = False
    host_users: bool | None = None
    scheduling_group: PodSchedulingGroup | None = None


class ContainerStatus(Struct, frozen=True):
    """What a kubelet has given to a container (in-place resize)."""

    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class PodCondition(Struct, frozen=True):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodResourceClaimStatus(Struct, frozen=True):
    """The claim that was generated for one of a pod's claim templates."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Struct, frozen=True):
    """Which request of a claim stands for a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Struct, frozen=True):
    """The claim that was generated for a pod's extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] | None = None
    resource_claim_name: str = ""


class PodStatus(Struct, frozen=True):
    """The part of a pod's status that is read."""

    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] | None = None
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(Struct, frozen=True):
    """A pod (core/v1): the fields that we read."""

    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


_CONTROLLERS_ON_NODES = ("DaemonSet", "Node")


def pod_meta(partial: PartialObject) -> PodMeta:
    """The metadata of a pod of which no more could be read."""
    return PodMeta(**msgspec.structs.asdict(partial.metadata))


def on_node(pod: Pod, node: str) -> Pod:
    """The pod as it will be once it is bound to this node."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def off_node(pod: Pod) -> Pod:
    """The pod as it was before it was bound."""
    return on_node(pod, "")


def priority(pod: Pod) -> int:
    """The pod's priority; unset counts as 0."""
    return pod.spec.priority or 0


def is_ready(pod: Pod) -> bool:
    """Whether a pod's status says that it is ready."""
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ())


def belongs_to_node(pod: Pod | PartialObject) -> bool:
    """Whether a pod is there for its node's sake: its controller is a DaemonSet, or the node, as
    with a kubelet's own pods. A drain leaves it, and it runs nowhere else.

    Like kubectl drain: an owner that is no controller only says when the pod is collected.
    """
    owners = pod.metadata.owner_references or ()
    return any(owner.controller and owner.kind in _CONTROLLERS_ON_NODES for owner in owners)
