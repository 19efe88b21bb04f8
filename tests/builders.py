"""Builders of the objects that tests need: say what matters, the rest is filled in."""

from __future__ import annotations

from typing import Any

from moorage.core.objects.nodes import Node, NodeMeta, NodeSpec, NodeStatus
from moorage.core.objects.pods import (
    Container,
    Pod,
    PodMeta,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)


def make_pod(
    name: str, *, cpu: str = "100m", memory: str = "100Mi", node: str = "", **spec: Any
) -> Pod:
    """A pod of one container; further keywords go into its spec."""
    container = Container(
        name="c",
        image="app:1",
        resources=ResourceRequirements(requests={"cpu": cpu, "memory": memory}),
    )
    meta = PodMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version="1")
    return Pod(
        meta,
        PodSpec(
            **{"containers": (container,), "node_name": node, "scheduler_name": "test", **spec}
        ),
        PodStatus(),
    )


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Node:
    """A node; further keywords go into its spec."""
    allocatable: dict[str, str | int] = {"cpu": cpu, "memory": memory, "pods": pods}
    meta = NodeMeta(name=name, uid=f"uid-{name}", resource_version="1", labels=labels)
    return Node(meta, NodeSpec(**spec), NodeStatus(allocatable=allocatable))
