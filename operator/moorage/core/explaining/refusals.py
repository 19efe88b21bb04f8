"""Refusals: which plugin refuses how many nodes for what reason, and how near the nearest are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kubefacts.labels import LabelRequirementCheck, equality
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import OUT_OF_SCOPE, Evaluation
from moorage.core.framework.evaluation.rejections import narrowed_message, rejected_rows
from moorage.core.framework.interfaces import MeasuringFilterPlugin, is_a
from moorage.core.framework.status import Code, is_unresolvable, texts
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Pod
from moorage.core.plugins import node_affinity, taint_toleration
from moorage.core.pods.node_selection import (
    NodeTerm,
    required_node_selector,
    untolerated_taints,
    valid_terms,
)

IntRows = npt.NDArray[np.intp]
NEAREST_NODES = 5
"""Of a group, that are named."""
_LOOKED_AT = 2_000
"""Nodes of a group of which one by one is said what they lack, to find the nearest."""


class RefusingNode(NamedTuple):
    """One node that refuses a pod, and what it lacks.

    ``shortfalls``: amounts by resource, in the node table's unit. ``details``: in words, where the
    plugin's reason does not say it. ``held_for``: pods (``namespace/name``) that room is kept for,
    as they are nominated.
    """

    node: str
    shortfalls: Mapping[str, int]
    details: tuple[str, ...] = ()
    held_for: tuple[str, ...] = ()


class RefusalGroup(NamedTuple):
    """The nodes that one plugin refuses for the same reasons; each node is in one group.

    ``resolvable``: whether it may help on one of them that pods leave. ``plugin``: several names
    where plugins left nodes out together. ``nearest``: some of the nodes, the nearest first.
    """

    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool
    nodes: int
    nearest: tuple[RefusingNode, ...] = ()


def refusal_groups(
    evaluation: Evaluation, pod: Pod, snapshot: Snapshot, most: int = NEAREST_NODES
) -> tuple[RefusalGroup, ...]:
    """Who refuses the pod where; after ``run_filters``. First what a small change would mend.

    A node that a later filter refuses has passed more of them, so it is nearer.
    """
    said = evaluation.pre_filter
    if said.status.code is not Code.SUCCESS:
        plugins = " ".join(said.narrowed_by) if said.narrowed_by else said.plugin
        return (RefusalGroup(plugins, said.status.reasons, False, len(snapshot.nodes)),)
    place = {name: i for i, name in enumerate(evaluation.filters)}
    ranked = sorted(
        _ranked(evaluation, pod, snapshot, most),
        key=lambda one: (not one[1].resolvable, -place[one[1].plugin], one[0], one[1].reasons),
    )
    return (*(group for _, group in ranked), *_out_of_scope(evaluation, snapshot, most))


class _Rejected(NamedTuple):
    rows: list[int]
    resolvable: list[bool]


def _ranked(
    evaluation: Evaluation, pod: Pod, snapshot: Snapshot, most: int
) -> Iterator[tuple[float, RefusalGroup]]:
    """Each group with how far its nearest node is."""
    rejected: dict[tuple[str, tuple[str, ...]], _Rejected] = {}
    for plugin, why, rows in rejected_rows(evaluation):
        found = rejected.setdefault((plugin, tuple(texts(why))), _Rejected([], []))
        found.rows.extend(rows.tolist())
        found.resolvable.append(not is_unresolvable(why))
    measure = _Measure(evaluation, pod, snapshot)
    for (plugin, reasons), (among, resolvable) in rejected.items():
        nearest = measure.nearest(plugin, np.array(sorted(among), np.intp), most)
        group = RefusalGroup(
            plugin, reasons, any(resolvable), len(among), tuple(node for _, node in nearest)
        )
        yield nearest[0][0], group


def _out_of_scope(evaluation: Evaluation, snapshot: Snapshot, most: int) -> Iterator[RefusalGroup]:
    """The nodes that preFilter left out."""
    nodes = snapshot.nodes
    rows = [row for row in nodes.row_of.values() if evaluation.rejected_by[row] == OUT_OF_SCOPE]
    if rows:
        plugins = evaluation.pre_filter.narrowed_by
        nearest = sorted(nodes.names[row] for row in rows)[:most]
        yield RefusalGroup(
            " ".join(plugins),
            (narrowed_message(plugins),),
            False,
            len(rows),
            tuple(RefusingNode(name, {}) for name in nearest),
        )


class _Measure:
    """How far nodes are from taking a pod."""

    def __init__(self, evaluation: Evaluation, pod: Pod, snapshot: Snapshot) -> None:
        self._evaluation = evaluation
        self._pod = pod
        self._snapshot = snapshot
        self._what_if = evaluation.dry_run(snapshot)

    def nearest(self, plugin: str, rows: IntRows, most: int) -> list[tuple[float, RefusingNode]]:
        """The nearest of these rows, at least one, with their distances."""
        column = self._evaluation.filters[plugin]
        shortfalls: dict[str, tuple[int, npt.NDArray[np.int64]]] = {}
        if is_a(column.plugin, MeasuringFilterPlugin):
            measured = column.plugin.shortfalls(column.prepared.state, self._snapshot, rows)
            shortfalls = dict(measured)
        distances = np.zeros(rows.size)
        for asked, lacking in shortfalls.values():
            distances += np.maximum(lacking, 0) / max(asked, 1)
        order = np.lexsort((rows, distances))
        looked_at = order[: _LOOKED_AT if plugin in _DETAILS else most]
        found = [
            (float(distances[i]), self._node(plugin, int(rows[i]), _lacking(shortfalls, i)))
            for i in looked_at.tolist()
        ]
        names = self._snapshot.nodes.row_of
        found.sort(key=lambda one: (one[0], len(one[1].details), names[one[1].node]))
        return found[:most]

    def _node(self, plugin: str, row: int, shortfalls: Mapping[str, int]) -> RefusingNode:
        nodes = self._snapshot.nodes
        node, detail = nodes.nodes[row], _DETAILS.get(plugin)
        details = tuple(detail(self._pod, node)) if detail is not None and node is not None else ()
        return RefusingNode(nodes.names[row], shortfalls, details, self._held_for(row))

    def _held_for(self, row: int) -> tuple[str, ...]:
        if row not in self._evaluation.nominated_rejections.rows:
            return ()
        near = [record.pod for record in self._what_if.nominated_pods(row)]
        far = [pod for found in self._what_if.far_nominated_pods.values() for pod, _ in found]
        metas = [pod.metadata for pod in near or far]
        return tuple(sorted({f"{meta.namespace}/{meta.name}" for meta in metas}))


def _lacking(shortfalls: Mapping[str, tuple[int, npt.NDArray[np.int64]]], i: int) -> dict[str, int]:
    return {name: int(lacks[i]) for name, (_, lacks) in shortfalls.items() if lacks[i] > 0}


# ---- what a node lacks, in words -----------------------------------------------------------------


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return (
        f"{taint.key}={taint.value}:{taint.effect}"
        if taint.value
        else (f"{taint.key}:{taint.effect}")
    )


def _taints(pod: Pod, node: Node) -> Iterator[str]:
    yield from map(
        taint_text, untolerated_taints(node.spec.taints or (), pod.spec.tolerations or ())
    )


def _requirements(pod: Pod, node: Node) -> Iterator[str]:
    """The labels that it does not have: of nodeSelector, and of the term of the required node
    affinity that it is nearest to.
    """
    yield from _unmet(NodeTerm(equality(pod.spec.node_selector or {})), node)
    required = required_node_selector(pod)
    if required is not None:
        unmet = [tuple(_unmet(term, node)) for term in valid_terms(required)]
        yield from min(unmet, key=len, default=())


def _unmet(term: NodeTerm, node: Node) -> Iterator[str]:
    labels = node.metadata.labels or {}
    for condition in term.labels:
        if not condition.matches(labels.get(condition.key)):
            yield _requirement_text(condition)
    for field in term.fields:
        if not NodeTerm((), (field,)).matches(labels, node.metadata.name):
            yield _requirement_text(field)


def _requirement_text(check: LabelRequirementCheck) -> str:
    """A requirement as a selector's text has it."""
    values = sorted(check.values)
    match check.operator:
        case "Exists":
            return check.key
        case "DoesNotExist":
            return f"!{check.key}"
        case "Gt" | "Lt":
            return f"{check.key}{'>' if check.operator == 'Gt' else '<'}{check.bound}"
        case "In" if len(values) == 1:
            return f"{check.key}={values[0]}"
    return f"{check.key} {'in' if check.operator == 'In' else 'notin'} ({','.join(values)})"


_DETAILS: Mapping[str, Callable[[Pod, Node], Iterator[str]]] = {
    taint_toleration.NAME: _taints,
    node_affinity.NAME: _requirements,
}
