"""Nodes, as the API server has them: the fields that we read."""

from __future__ import annotations

from moorage.core.objects.meta import Labels, ObjectMeta, ResourceList, Struct

# ---- nodes and namespaces ------------------------------------------------------------------------


class NodeMeta(ObjectMeta, frozen=True):
    """A node's metadata. All annotations are kept for nodes alone."""

    annotations: Labels | None = None


class Taint(Struct, frozen=True):
    """What repels pods from a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, frozen=True):
    """The part of a node's spec that is read."""

    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


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
