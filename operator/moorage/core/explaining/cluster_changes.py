"""Changes to the cluster: another pod moves away, or nodes come that are like one that is there."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from moorage.core.columns.cache import PodInfo
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.pod_info import PodBatch
from moorage.core.cycle.cycle import run_filters
from moorage.core.explaining.pod_changes import LIFECYCLE_TAINTS
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.interfaces import MeasuringFilterPlugin, is_a
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, off_node
from moorage.core.pods.requests import basic_amounts

MAX_NODES_SEARCHED = 100
"""Nodes from which a pod may have to move, the nearest first."""
MAX_PODS_TRIED = 24
"""Pods that would make room, of which is asked whether they can be elsewhere."""
MAX_KINDS_OF_NODES = 16
"""Of which one more is tried."""
MAX_NODES_ADDED = 4
HOSTNAME, TOPOLOGY = "kubernetes.io/hostname", "topology.kubernetes.io/"
_UNSCHEDULABLE = 1
_REPLACE = msgspec.structs.replace


class MovedPod(NamedTuple):
    """This pod goes from its node to another one, which takes it."""

    pod: Pod
    node: str
    to: str


class AddedNodes(NamedTuple):
    """So many new nodes like this one, empty, uncordoned and well."""

    number: int
    like: str


# ---- one pod moves -------------------------------------------------------------------------------


def helpful_moves(what_if: WhatIf, pod: Pod, most: int) -> Iterator[MovedPod]:
    """Pods of which one has to be elsewhere for the pod to fit, and can be; the small ones first.

    Others' pods are asked about under the same revision, as nobody else's rules are known here.
    """
    found = 0
    for info in sorted(_in_the_way(what_if, pod), key=_size)[:MAX_PODS_TRIED]:
        if (to := _elsewhere(what_if, pod, info)) and isinstance(info.pod, Pod):
            yield MovedPod(info.pod, info.node, to)
            found += 1
        if found == most:
            return


@contextlib.contextmanager
def moved(what_if: WhatIf, change: MovedPod) -> Iterator[None]:
    """With the pod there already."""
    info = what_if.context.cache.pod_info(change.pod.metadata.uid)
    if info is None:
        raise KeyError(f"pod {change.pod.metadata.name} is on no node")
    with what_if.without(info), what_if.with_pod(off_node(change.pod), change.to):
        yield


def _elsewhere(what_if: WhatIf, pod: Pod, info: PodInfo) -> str:
    """Where a pod would go once the other one has its place; "" where the one does not fit without
    it, or it has nowhere to go.
    """
    if not isinstance(info.pod, Pod):
        return ""
    with what_if.without(info):
        placed = what_if.decide(pod)
        if placed is None:
            return ""
        with what_if.with_pod(pod, placed.node):
            other = what_if.decide(off_node(info.pod))
        if other is None:
            return ""
        with what_if.with_pod(off_node(info.pod), other.node):
            return other.node if what_if.fits(pod) else ""


def _in_the_way(what_if: WhatIf, pod: Pod) -> list[PodInfo]:
    """The pods without which their own node would take this one."""
    evaluation = run_filters(pod, what_if.revision, what_if.context)
    if not isinstance(evaluation, Evaluation):
        return []
    snapshot, found = what_if.context.snapshot, []
    rows = _nearest_rows(evaluation, what_if)
    with evaluation.dry_run(snapshot) as dry_run:
        for row in rows:
            for info in list(snapshot.pods_on(snapshot.nodes.names[row])):
                if not _is_movable(info):
                    continue
                one = PodBatch([info], snapshot.nodes)
                dry_run.remove(one, np.array([0]))
                if not dry_run.run_filters(np.array([row], np.intp)):
                    found.append(info)
                dry_run.add(one, np.array([0]))
    return found


def _nearest_rows(evaluation: Evaluation, what_if: WhatIf) -> list[int]:
    """Rows where it may help that pods leave, those that lack least first."""
    snapshot = what_if.context.snapshot
    rows = np.flatnonzero(node_codes(evaluation, snapshot) == _UNSCHEDULABLE)
    distances = np.zeros(rows.size)
    for column in evaluation.filters.values():
        if column.applies and is_a(column.plugin, MeasuringFilterPlugin):
            measured = column.plugin.shortfalls(column.prepared.state, snapshot, rows)
            for asked, lacking in measured.values():
                distances += np.maximum(lacking, 0) / max(asked, 1)
    nearest: list[int] = rows[np.lexsort((rows, distances))][:MAX_NODES_SEARCHED].tolist()
    return nearest


def _is_movable(info: PodInfo) -> bool:
    """Whether a pod could run elsewhere: not one that leaves, or that belongs to its node."""
    owners = info.pod.metadata.owner_references or ()
    bound_to_node = any(owner.kind in ("DaemonSet", "Node") for owner in owners)
    return isinstance(info.pod, Pod) and not info.is_leaving and not bound_to_node


def _size(info: PodInfo) -> tuple[int, ...]:
    """Smaller for a pod that is easier to move: by priority, then by what it takes."""
    priority = info.pod.spec.priority or 0 if isinstance(info.pod, Pod) else 0
    others = sum(amount for _, amount in info.requests.others)
    return priority, others, *basic_amounts(info.requests)


# ---- nodes come ----------------------------------------------------------------------------------


def helpful_nodes(
    what_if: WhatIf, pod: Pod, nearest: Sequence[str], most: int
) -> Iterator[AddedNodes]:
    """The fewest nodes of a kind with which the pod fits, for each kind; nodes that are named in
    ``nearest`` stand for their kind first. Where one of a size helps, no other zone of it is tried.
    """
    helped: set[bytes] = set()
    kinds = _kinds_of_nodes(what_if.context.snapshot.nodes, nearest)
    for node in itertools.islice(kinds, MAX_KINDS_OF_NODES):
        size = _kind(node, without=TOPOLOGY)
        if len(helped) < most and size not in helped:
            number = _fewest(what_if, pod, node.metadata.name)
            if number:
                helped.add(size)
                yield AddedNodes(number, node.metadata.name)


def _fewest(what_if: WhatIf, pod: Pod, like: str) -> int:
    """How many such nodes it takes; 0 where they do not help.

    More than one is tried only of pods that are spread, as a domain may have to come.
    """
    spread = bool(pod.spec.topology_spread_constraints)
    for number in range(1, MAX_NODES_ADDED + 1 if spread else 2):
        with with_added(what_if, AddedNodes(number, like)):
            if what_if.fits(pod):
                return number
    return 0


def with_added(what_if: WhatIf, change: AddedNodes) -> contextlib.AbstractContextManager[None]:
    """With the nodes there."""
    nodes = what_if.context.snapshot.nodes
    like = nodes.nodes[nodes.row_of[change.like]]
    if like is None:
        raise KeyError(f"there is no node {change.like}")
    return what_if.with_nodes(_copies(like, change.number, nodes.row_of.keys()))


def _copies(like: Node, count: int, taken: Iterable[str]) -> list[Node]:
    names = (f"{like.metadata.name}-new-{i}" for i in itertools.count(1))
    free = (name for name in names if name not in taken)
    return [_copy(like, name) for name in itertools.islice(free, count)]


def _copy(like: Node, name: str) -> Node:
    labels = dict(like.metadata.labels or {})
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    taints = tuple(
        taint for taint in like.spec.taints or () if not taint.key.startswith(LIFECYCLE_TAINTS)
    )
    return _REPLACE(
        like,
        metadata=_REPLACE(like.metadata, name=name, uid=name, labels=labels or None),
        spec=_REPLACE(like.spec, unschedulable=None, taints=taints or None),
    )


def _kinds_of_nodes(nodes: NodeColumns, nearest: Sequence[str]) -> Iterator[Node]:
    """One node of each kind."""
    known: set[bytes] = set()
    for name in dict.fromkeys((*nearest, *sorted(nodes.row_of))):
        node = nodes.nodes[nodes.row_of[name]]
        if node is not None and (kind := _kind(node)) not in known:
            known.add(kind)
            yield node


def _kind(node: Node, without: str = HOSTNAME) -> bytes:
    """Equal for nodes of the same labels (but for the host's name and those that begin with
    ``without``), taints and size.
    """
    plain = _copy(node, "")
    labels = {
        key: value
        for key, value in (plain.metadata.labels or {}).items()
        if not key.startswith(without)
    }
    return msgspec.msgpack.encode((labels, plain.spec, plain.status.allocatable), order="sorted")
