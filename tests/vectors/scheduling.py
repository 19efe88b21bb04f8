"""Scheduling cases: one pod, a cluster, a profile; what each plugin says of each node, and the
decision.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.post_filter_contract import NodeRejection
from moorage.core.framework.revisions import ProfileErrors, Revision
from moorage.core.framework.status import Code, Status, error_status, rejected_for, texts
from moorage.core.objects.meta import Namespace
from moorage.core.objects.nodes import Node, NodeMeta, NodeStatus
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.objects.workloads import (
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from moorage.core.pods.requests import pod_requests
from tests.vectors.devices import allocations
from tests.vectors.files import Case
from tests.vectors.making_room import named_first, post_filter
from tests.vectors.profiles import revision_of

REFUSED = "refused"
"""A profile that cannot run: the paths of what is wrong with it, in place of all decisions."""


def scheduling(case: Case, rows: random.Random | None = None) -> dict[str, Any]:
    """All that a scheduling case expects. With ``rows``, nodes get row numbers in another order and
    pods come before them.
    """
    context = CycleContext(cluster(case.get("objects", {}), rows))
    pod = msgspec.convert(case["pod"], Pod)
    context.cache.nominations.observe_status(pod, pod_requests(pod))
    try:
        revision = revision_of(case["profile"])
    except ProfileErrors as refusal:
        return {REFUSED: sorted({error.path for error in refusal.errors})}
    outcome = decide(pod, revision, context)
    evaluation = context.evaluator.evaluation(pod, revision)
    snapshot = context.snapshot
    found: dict[str, Any] = {
        "nodeOrder": list(snapshot.nodes.order.names),
        "preFilter": _prefilter(evaluation),
    }
    if evaluation.pre_filter.status.code is Code.SUCCESS:
        crowded = _crowded(evaluation, snapshot)
        found["filter"] = {
            name: _filter(evaluation, row, crowded) for name, row in snapshot.nodes.row_of.items()
        }
        feasible = sorted(evaluation.feasible().tolist())
        if evaluation.error:
            return _agree(found | {"cycleError": True}, outcome)
        if feasible:
            found |= allocations(
                pod, revision, snapshot, [snapshot.nodes.names[row] for row in feasible]
            )
        if feasible and evaluation.scores:
            found |= _scores(
                evaluation,
                evaluation.refresh_scores(snapshot),
                {snapshot.nodes.names[row]: row for row in feasible},
            )
            if "scores" in found and (skipped := _silent(pod, revision, evaluation, snapshot)):
                found["preScoreSkipped"] = skipped
    if isinstance(outcome, Diagnosis) and outcome.code is not Code.ERROR:
        found["fitError"] = outcome.message
        if revision.points[ExtensionPoint.POST_FILTER]:
            room = found["postFilter"] = post_filter(pod, revision, context, evaluation)
            found["fitError"] = named_first(room, outcome.message)
    return _agree(found, outcome)


STORED: dict[str, type[Any]] = {
    "namespaces": Namespace,
    "services": Service,
    "replicationControllers": ReplicationController,
    "replicaSets": ReplicaSet,
    "statefulSets": StatefulSet,
    "podDisruptionBudgets": PodDisruptionBudget,
    "podGroups": PodGroup,
    "resourceClaims": ResourceClaim,
    "resourceSlices": ResourceSlice,
    "deviceClasses": DeviceClass,
    "persistentVolumes": PersistentVolume,
    "persistentVolumeClaims": PersistentVolumeClaim,
    "storageClasses": StorageClass,
    "csiNodes": CSINode,
    "csiDrivers": CSIDriver,
    "csiStorageCapacities": CSIStorageCapacity,
    "volumeAttachments": VolumeAttachment,
}
"""A case's lists of other objects."""


def cluster(objects: dict[str, Any], rows: random.Random | None) -> Cache:
    """The case's nodes, the pods on them and all other objects; ``rows`` as above."""
    cache = Cache()
    for name, kind in STORED.items():
        for obj in objects.get(name, ()):
            cache.store.put(msgspec.convert(obj, kind))
    nodes = [msgspec.convert(node, Node) for node in objects.get("nodes", ())]
    pods = [msgspec.convert(pod, Pod) for pod in objects.get("pods", ())]
    if rows is not None:
        _scramble_rows(cache, len(nodes), rows)
        rows.shuffle(pods)
        _observe(cache, pods)
    for node in nodes:
        cache.put_node(node)
    if rows is None:
        _observe(cache, pods)
    return cache


def _observe(cache: Cache, pods: list[Pod]) -> None:
    for pod in pods:
        if pod.spec.node_name:
            cache.observe(pod, pod_requests(pod))
        elif pod.status.nominated_node_name:
            cache.nominations.add(pod, pod.status.nominated_node_name, pod_requests(pod))


def _scramble_rows(cache: Cache, count: int, rows: random.Random) -> None:
    """Leave free rows behind in an order of chance; the next nodes take them."""
    names = [f"passing-{i}" for i in range(count + 2)]
    for name in names:
        cache.put_node(Node(NodeMeta(name=name), status=NodeStatus(allocatable={"cpu": "1"})))
    rows.shuffle(names)
    for name in names:
        cache.remove_node(name)


def _prefilter(evaluation: Evaluation) -> dict[str, Any]:
    status, plugin = evaluation.pre_filter[:2]
    skipped = []
    for name, column in evaluation.pre_filters.items():
        if not column.applies:
            skipped.append(name)
        if name == plugin and status.code is not Code.UNSCHEDULABLE:
            break
    found = _status(plugin, status)
    if status.code is Code.SUCCESS and skipped and len(skipped) == len(evaluation.pre_filters):
        found["code"] = "Skip"
    if skipped:
        found["skipped"] = sorted(skipped)
    narrowed = [
        column.prepared.node_names
        for column in evaluation.pre_filters.values()
        if column.prepared.node_names is not None
    ]
    if narrowed and status.code is Code.SUCCESS:
        found["nodeNames"] = sorted(frozenset.intersection(*narrowed))
    return found


def _crowded(evaluation: Evaluation, snapshot: Snapshot) -> dict[int, NodeRejection | None]:
    """What becomes of the nodes that pods are nominated to, whether preFilter left them in or
    not.
    """
    with evaluation.dry_run(snapshot) as what_if:
        nodes = snapshot.nodes
        rows = [
            row
            for row in map(nodes.row_of.get, snapshot.nominations.nodes)
            if row is not None and what_if.nominated_pods(row)
        ]
        return dict.fromkeys(rows) | what_if.run_filters(np.array(rows, np.intp))


def _filter(
    evaluation: Evaluation, row: int, crowded: dict[int, NodeRejection | None]
) -> dict[str, Any] | None:
    """Who refuses this node first, whether preFilter left it in or not."""
    if row in crowded:
        refusal = crowded[row]
        return (
            _status(list(evaluation.filters)[refusal.filter_index], rejected_for(refusal.why))
            if refusal
            else None
        )
    for name, column in evaluation.filters.items():
        if column.applies and (code := int(column.values[row])):
            why = column.plugin.explain(column.prepared.state, code)  # type: ignore[attr-defined]  # a filter plugin
            return _status(
                name,
                rejected_for(why)
                if code > 0
                else error_status(f'running "{name}" filter plugin: {", ".join(texts(why))}'),
            )
    return None


def _status(plugin: str, status: Status) -> dict[str, Any]:
    found: dict[str, Any] = {"code": status.code.value}
    if plugin:
        found["plugin"] = plugin
    if status.reasons:
        found["reasons"] = list(status.reasons)
    return found


def _silent(pod: Pod, revision: Revision, evaluation: Evaluation, snapshot: Snapshot) -> list[str]:
    """The plugins that have nothing to prefer. Those that prepare and do not score are asked here
    alone: they could change nothing.
    """
    idle = {name for name, part in evaluation.scores.items() if not part.result.applies}
    unasked = {
        name: plugin
        for name, plugin in revision.at(ExtensionPoint.PRE_SCORE)
        if name not in evaluation.scores
    }
    return sorted(
        idle
        | {
            name
            for name, plugin in unasked.items()
            if plugin.pre_score(pod, snapshot).status.code is Code.SKIP
        }
    )


def _scores(evaluation: Evaluation, status: Status, feasible: dict[str, int]) -> dict[str, Any]:
    if status.code is not Code.SUCCESS:
        return {"scoreError": _status("", status)}
    rows = evaluation.feasible()
    ranked = {}
    for name, part in evaluation.scores.items():
        if part.result.applies:
            raw, normalized = (
                dict(zip(rows.tolist(), scores.tolist(), strict=True))
                for scores in part.score_feasible(rows)
            )
            ranked[name] = {
                "raw": {node: raw[row] for node, row in feasible.items()},
                "normalized": {node: normalized[row] for node, row in feasible.items()},
                "weight": part.weight,
            }
    total = {node: int(evaluation.totals[row]) for node, row in feasible.items()}
    best = sorted(node for node in total if total[node] == max(total.values()))
    found: dict[str, Any] = {"scores": ranked, "total": total, "best": best}
    return found


def _agree(found: dict[str, Any], outcome: ScheduleResult | Diagnosis) -> dict[str, Any]:
    """What was found, unless the cycle's outcome is at odds with it."""
    if isinstance(outcome, ScheduleResult):
        candidates = found.get(
            "best", [node for node, refusal in found["filter"].items() if refusal is None]
        )
        if outcome.node not in candidates:
            raise AssertionError(f"the cycle chose {outcome.node}, which is not among {candidates}")
    elif outcome.code is Code.ERROR and outcome.message not in _errors(found):
        raise AssertionError(f"the cycle failed with {outcome.message!r}, which no plugin said")
    return found


def _errors(found: dict[str, Any]) -> list[str]:
    """What failed, in a plugin's words."""
    said = [found["preFilter"], found.get("scoreError"), *found.get("filter", {}).values()]
    return [
        reason
        for one in said
        if one and one["code"] == Code.ERROR.value
        for reason in one["reasons"]
    ]
