"""More nodes: what would be if there were others like one that is there."""

from __future__ import annotations

import itertools

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import CSINode
from moorage.core.simulation.replacements import stays
from moorage.core.simulation.simulator import Simulator
from moorage.core.simulation.undoing import node_named

HOSTNAME = "kubernetes.io/hostname"
_PASSING_TAINTS = "node.kubernetes.io/"
"""Taints that tell of a node's present condition begin so."""


def add_nodes(simulator: Simulator, like: str, count: int) -> tuple[str, ...]:
    """So many new nodes, each with what DaemonSets have on the one that they are like; their names.
    KeyError when that one is not there.

    Devices of ResourceSlices do not come with them, nor do volumes.
    """
    cache = simulator.context.cache
    model = node_named(like, cache)
    if model is None:
        raise KeyError(like)
    names = (f"{like}-more-{i}" for i in itertools.count(1))
    free = (name for name in names if name not in cache.nodes.row_of)
    chosen = tuple(itertools.islice(free, count))
    daemons = [record.pod for record in cache.pods_on(like) if stays(record.pod)]
    for name in chosen:
        simulator.put_node(node_like(model, name))
        _add_volume_drivers(simulator, like, name)
        for pod in daemons:
            if isinstance(pod, Pod):
                simulator.log.observe(_daemon_on(pod, name))
    return chosen


def node_like(model: Node, name: str) -> Node:
    """A node that is new: open, without a name of its own in its labels, and without images."""
    labels = dict(model.metadata.labels or {})
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    taints = (one for one in model.spec.taints or () if not one.key.startswith(_PASSING_TAINTS))
    metadata = msgspec.structs.replace(model.metadata, name=name, uid=f"uid-{name}", labels=labels)
    spec = msgspec.structs.replace(model.spec, unschedulable=None, taints=tuple(taints))
    status = msgspec.structs.replace(model.status, images=None)
    return Node(metadata, spec, status)


def shapes(cache: Cache) -> list[str]:
    """One node of each kind there is, those of the most common kind first. Of a kind are nodes of
    one size, with the same labels and taints, their names aside.
    """
    found: dict[object, list[str]] = {}
    for name, row in cache.nodes.row_of.items():
        node = cache.nodes.nodes[row]
        if node is not None:
            new = node_like(node, "")
            labels = tuple(sorted((new.metadata.labels or {}).items()))
            amounts = tuple(sorted((new.status.allocatable or {}).items()))
            found.setdefault((labels, amounts, new.spec.taints), []).append(name)
    return [names[0] for names in sorted(found.values(), key=len, reverse=True)]


def _daemon_on(pod: Pod, node: str) -> Pod:
    name = f"{pod.metadata.name}-{node}"
    metadata = msgspec.structs.replace(pod.metadata, name=name, uid=f"{pod.metadata.uid}-{node}")
    return Pod(metadata, msgspec.structs.replace(pod.spec, node_name=node), pod.status)


def _add_volume_drivers(simulator: Simulator, like: str, name: str) -> None:
    """How many volumes its drivers can attach."""
    drivers = simulator.context.cache.store.objects(CSINode).get(like)
    if drivers is not None:
        metadata = msgspec.structs.replace(drivers.metadata, name=name, uid=f"uid-{name}")
        simulator.put_object(msgspec.structs.replace(drivers, metadata=metadata))
