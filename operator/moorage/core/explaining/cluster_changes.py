"""Changes to the cluster: another pod moves away, or nodes come that are like one that is there."""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from moorage.core.columns.cache import PodInfo
from moorage.core.columns.new_nodes import new_nodes
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.pod_info import PodBatch
from moorage.core.cycle.cycle import run_filters
from moorage.core.explaining.searches import Search
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.interfaces import MeasuringFilterPlugin, is_a
from moorage.core.objects.nodes import Node, kind_of_node
from moorage.core.objects.pods import Pod, belongs_to_node, off_node
from moorage.core.pods.requests import basic_amounts
from moorage.core.pods.signatures import pod_signature

MAX_NODES_SEARCHED = 100
"""Nodes from which a pod may have to move, the nearest first."""
MAX_PODS_TRIED = 24
"""Pods that would make room, of which is asked whether they can be elsewhere."""
MAX_KINDS_OF_NODES = 16
"""Of which one more is tried."""
MAX_PODS_ALIKE = 100
"""Pods that wait for the same, of which is asked how many nodes all of them need."""
MAX_NODES_ADDED = 4
MAX_NODES_FOR_GROUP = 16
TOPOLOGY = "topology.kubernetes.io/"
_UNSCHEDULABLE = 1


class MovedPod(NamedTuple):
    """This pod goes from its node to another one, which takes it."""

    pod: Pod
    node: str
    to: str


class NodesForAll(NamedTuple):
    """So many nodes take all of so many pods that wait for the same."""

    nodes: int
    pods: int


class AddedNodes(NamedTuple):
    """So many new nodes like this one, uncordoned and well, with their DaemonSets' pods alone.
    ``for_all``: how many it takes for the others that wait for the same, too.
    """

    number: int
    like: str
    for_all: NodesForAll | None = None


# ---- one pod moves -------------------------------------------------------------------------------


def helpful_moves(what_if: WhatIf, pod: Pod, most: int) -> Search[MovedPod]:
    """Pods of which one has to be elsewhere for the pod to fit, and can be; the small ones first.

    Others' pods are asked about under the same revision, as nobody else's rules are known here.
    """

    def attempt(info: PodInfo) -> MovedPod | None:
        to = _elsewhere(what_if, pod, info)
        return MovedPod(info.pod, info.node, to) if to and isinstance(info.pod, Pod) else None

    def in_the_way() -> Iterator[PodInfo]:
        yield from sorted(_in_the_way(what_if, pod), key=_size)[:MAX_PODS_TRIED]

    near = sum(map(len, _movable_pods(what_if, pod).values()))
    return Search(in_the_way(), attempt, most=most, expected=min(near, MAX_PODS_TRIED))


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
        with what_if.placing(pod) as placed:
            other = what_if.decide(off_node(info.pod)) if placed else None
        if other is None:
            return ""
        with what_if.with_pod(off_node(info.pod), other.node):
            return other.node if what_if.fits(pod) else ""


def _in_the_way(what_if: WhatIf, pod: Pod) -> list[PodInfo]:
    """The pods without which their own node would take this one."""
    with what_if.beside_siblings():
        found = _in_the_way_of_one(what_if, pod)
    there = what_if.context.cache.pod_info
    return [info for info in found if there(info.pod.metadata.uid) is not None]  # no sibling


def _in_the_way_of_one(what_if: WhatIf, pod: Pod) -> list[PodInfo]:
    evaluation = run_filters(pod, what_if.revision, what_if.context)
    if not isinstance(evaluation, Evaluation):
        return []
    snapshot, movable = what_if.context.snapshot, _movable_pods(what_if, pod)
    found = set[str]()
    with evaluation.dry_run(snapshot) as dry_run:
        for one_each in itertools.zip_longest(*movable.values()):
            batch = PodBatch([info for info in one_each if info is not None], snapshot.nodes)
            everyone = np.arange(len(batch.records))
            dry_run.remove(batch, everyone)
            refused = dry_run.run_filters(batch.rows)
            found |= {
                info.pod.metadata.uid
                for info, row in zip(batch.records, batch.rows.tolist(), strict=True)
                if row not in refused
            }
            dry_run.add(batch, everyone)
            snapshot.budget.check()
    every = itertools.chain.from_iterable(movable.values())
    return [info for info in every if info.pod.metadata.uid in found]


def _movable_pods(what_if: WhatIf, pod: Pod) -> dict[int, list[PodInfo]]:
    """By row, the nearest first: the pods that could run elsewhere, where that may help."""
    evaluation = run_filters(pod, what_if.revision, what_if.context)
    if not isinstance(evaluation, Evaluation):
        return {}
    snapshot = what_if.context.snapshot
    return {
        row: [info for info in snapshot.pods_on(snapshot.nodes.names[row]) if _is_movable(info)]
        for row in _nearest_rows(evaluation, what_if)
    }


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
    return isinstance(info.pod, Pod) and not info.is_leaving and not belongs_to_node(info.pod)


def _size(info: PodInfo) -> tuple[int, ...]:
    """Smaller for a pod that is easier to move: by priority, then by what it takes."""
    priority = info.pod.spec.priority or 0 if isinstance(info.pod, Pod) else 0
    others = sum(amount for _, amount in info.requests.others)
    return priority, others, *basic_amounts(info.requests)


# ---- nodes come ----------------------------------------------------------------------------------


def helpful_nodes(
    what_if: WhatIf, pod: Pod, nearest: Sequence[str], most: int
) -> Search[AddedNodes]:
    """The fewest nodes of a kind with which the pod fits, for each kind; nodes that are named in
    ``nearest`` stand for their kind first. Where one of a size helps, no other zone of it is tried.
    """
    helped: set[bytes] = set()

    def attempt(node: Node) -> AddedNodes | None:
        size = kind_of_node(node, without=TOPOLOGY)
        number = 0 if size in helped else _fewest(what_if, pod, node.metadata.name)
        if not number:
            return None
        helped.add(size)
        return AddedNodes(number, node.metadata.name)

    kinds = list(
        itertools.islice(
            _kinds_of_nodes(what_if.context.snapshot.nodes, nearest), MAX_KINDS_OF_NODES
        )
    )
    return Search(kinds, attempt, most=most, expected=len(kinds))


def _fewest(what_if: WhatIf, pod: Pod, like: str) -> int:
    """How many such nodes it takes; 0 where they do not help.

    More than one is tried only of groups, and of pods that are spread, as a domain may have to
    come.
    """
    several = what_if.together > 1 or bool(pod.spec.topology_spread_constraints)
    most = max(MAX_NODES_ADDED, min(what_if.together, MAX_NODES_FOR_GROUP))
    for number in range(1, most + 1 if several else 2):
        with with_added(what_if, AddedNodes(number, like)):
            if what_if.fits(pod):
                return number
    return 0


def with_added(what_if: WhatIf, change: AddedNodes) -> contextlib.AbstractContextManager[None]:
    """With the nodes there, and what comes with them. Raises KeyError where there is none like
    them.
    """
    return what_if.with_nodes(new_nodes(what_if.context.cache, change.like, change.number))


def nodes_for_all(what_if: WhatIf, pod: Pod, change: AddedNodes) -> NodesForAll | None:
    """How many such nodes it takes for the pod and those that wait and are like it; None where
    there are no others, or too many, or where they do not fit with as many as each alone takes; of
    groups nothing is said.
    """
    if what_if.together > 1:
        return None
    pods = collections.deque([pod, *_pods_like(what_if, pod)])
    count = len(pods)
    if not 1 < count <= MAX_PODS_ALIKE:
        return None
    with contextlib.ExitStack() as undo:
        for number in range(1, count * change.number + 1):
            undo.enter_context(with_added(what_if, AddedNodes(1, change.like)))
            while pods and (placed := what_if.decide(pods[0])) is not None:
                undo.enter_context(what_if.with_pod(pods.popleft(), placed.node))
            if not pods:
                return NodesForAll(number, count)
    return None


def _pods_like(what_if: WhatIf, pod: Pod) -> Iterator[Pod]:
    """Others that wait and ask for the same."""
    cache, signature = what_if.context.cache, pod_signature(pod)
    for uid, other in cache.waiting.items():
        leaves = other.metadata.deletion_timestamp is not None
        if uid == pod.metadata.uid or leaves or cache.pod_info(uid) is not None:
            continue
        if pod_signature(other) == signature:
            yield other


def _kinds_of_nodes(nodes: NodeColumns, nearest: Sequence[str]) -> Iterator[Node]:
    """One node of each kind."""
    known: set[bytes] = set()
    for name in dict.fromkeys((*nearest, *sorted(nodes.row_of))):
        node = nodes.nodes[nodes.row_of[name]]
        if node is not None and (kind := kind_of_node(node)) not in known:
            known.add(kind)
            yield node
