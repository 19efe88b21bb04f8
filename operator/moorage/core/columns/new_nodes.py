"""New nodes: what comes to a cluster when there is one more node like one that is there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.objects.nodes import Node, node_like
from moorage.core.objects.pods import Pod, belongs_to_node, on_node
from moorage.core.objects.storage import CSINode


class NewNode(NamedTuple):
    """A node, how many volumes its drivers can attach (None where that is not known of its like),
    and the pods that are there for its sake.
    """

    node: Node
    drivers: CSINode | None
    pods: tuple[Pod, ...]


def new_nodes(cache: Cache, like: str, count: int) -> Iterator[NewNode]:
    """So many nodes like this one, under names that are free. Raises KeyError where it is not
    there.

    Devices of ResourceSlices do not come with them, nor do volumes.
    """
    model = cache.nodes.nodes[cache.nodes.row_of[like]]
    if model is None:
        raise KeyError(like)
    drivers = cache.store.objects(CSINode).get(like)
    pods = [
        record.pod
        for record in cache.pods_on(like)
        if isinstance(record.pod, Pod) and belongs_to_node(record.pod)
    ]
    numbered = (f"{like}-new-{i}" for i in itertools.count(1))
    free = (name for name in numbered if name not in cache.nodes.row_of)
    for name in list(itertools.islice(free, count)):
        yield NewNode(
            node_like(model, name),
            None if drivers is None else _named(drivers, name),
            tuple(_on_new_node(pod, name) for pod in pods),
        )


def _named(drivers: CSINode, name: str) -> CSINode:
    metadata = msgspec.structs.replace(drivers.metadata, name=name, uid=f"uid-{name}")
    return msgspec.structs.replace(drivers, metadata=metadata)


def _on_new_node(pod: Pod, node: str) -> Pod:
    """Its twin there."""
    meta = pod.metadata
    named = msgspec.structs.replace(meta, name=f"{meta.name}-{node}", uid=f"{meta.uid}-{node}")
    return on_node(msgspec.structs.replace(pod, metadata=named), node)
