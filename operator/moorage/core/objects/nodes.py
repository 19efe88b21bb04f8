"""Nodes, as the API server has them: the fields that we read."""

from __future__ import annotations

import msgspec

from moorage.core.objects.meta import Labels, ObjectMeta, ResourceList, Struct

HOSTNAME = "kubernetes.io/hostname"
"""The label that tells nodes apart."""
LIFECYCLE_TAINTS = "node.kubernetes.io/"
"""What taints begin with that say how a node is, and not whom it is for."""

# ---- nodes and namespaces ------------------------------------------------------------------------


class NodeMeta(ObjectMeta, frozen=True):
    """A node's metadata. All annotations are kept for nodes alone."""

    annotations: Labels | None = None


class Taint(Struct, frozen=True):
    """What repels pods from a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodePodPreemptionPolicy(Struct, frozen=True):
    """How pods on a node may be preempted."""

    disable_resize_preemption: tuple[str, ...] | None = None


class NodeSpec(Struct, frozen=True):
    """The part of a node's spec that is read."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class ContainerImage(Struct, frozen=True):
    """An image that a node holds, under all its names."""

    names: tuple[str, ...] | None = None
    size_bytes: int = 0


class NodeCondition(Struct, frozen=True):
    """A condition of a node."""

    type: str = ""
    status: str = ""


class NodeStatus(Struct, frozen=True):
    """The part of a node's status that is read."""

    allocatable: ResourceList | None = None
    images: tuple[ContainerImage, ...] | None = None
    conditions: tuple[NodeCondition, ...] | None = None
    declared_features: tuple[str, ...] | None = None


class Node(Struct, frozen=True):
    """A node (core/v1): the fields that we read."""

    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


def node_like(model: Node, name: str) -> Node:
    """A new node of the same kind: open and well, with its own name, and without images."""
    labels = dict(model.metadata.labels or {})
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    taints = (one for one in model.spec.taints or () if not one.key.startswith(LIFECYCLE_TAINTS))
    replace = msgspec.structs.replace
    return Node(
        replace(model.metadata, name=name, uid=f"uid-{name}", labels=labels or None),
        replace(model.spec, unschedulable=None, taints=tuple(taints) or None),
        replace(model.status, images=None),
    )


def is_unchanged(node: Node, before: Node) -> bool:
    """Whether it was written with nothing that we read in it, as kubelets do all the time."""
    version = node.metadata.resource_version
    metadata = msgspec.structs.replace(before.metadata, resource_version=version)
    return node == msgspec.structs.replace(before, metadata=metadata)


def kind_of_node(node: Node, without: str = HOSTNAME) -> bytes:
    """Equal for nodes of one kind: the same labels, but for the host's name and those that begin
    with ``without``, the same taints and the same size.
    """
    plain = node_like(node, "")
    labels = {
        name: value
        for name, value in (plain.metadata.labels or {}).items()
        if name != HOSTNAME and not name.startswith(without)
    }
    return msgspec.msgpack.encode((labels, plain.spec, plain.status.allocatable), order="sorted")
