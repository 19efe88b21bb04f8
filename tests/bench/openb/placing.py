"""One order of pods, placed."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.objects.meta import ObjectMeta, OwnerReference
from moorage.core.objects.nodes import Node, NodeMeta, NodeStatus
from moorage.core.objects.pods import (
    Pod,
    PodMeta,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
)
from moorage.core.objects.resource_claims import DeviceAttribute, DeviceClass, ResourceClaim
from moorage.core.plugins.device_scoring.arguments import (
    DeviceScoringArgs,
    ExpectedCapacity,
    ExpectedRequest,
)
from moorage.core.plugins.intree import INDEXES, INTREE, PRESETS
from tests.bench.openb import trace
from tests.bench.openb.trace import WHOLE, TraceNode, TracePod
from tests.builders import make_claim, make_pod, make_slice, shared_device

_DEMAND: Final = 130
"""Percent of all GPUs asked for, at which allocation is looked at."""
_PLUGINS: Final = (
    "PrioritySort",
    "NodeResourcesFit",
    "DynamicResources",
    "DeviceScoring",
    "DefaultBinder",
)


class Placed(NamedTuple):
    """Percent of all GPUs: ``given`` away, the mean over all arrivals at which demand rounds to
    130 %; ``left`` in the end, and of these ``stranded``: on nodes with less cpu than half of the
    pods with GPUs ask for.
    """

    given: float
    left: float
    stranded: float


def place(order: Sequence[int], told: bool) -> Placed:
    """One pod after another; one that fits nowhere is dropped."""
    pods, nodes = trace.pods(), trace.nodes()
    context, revision = CycleContext(_cluster(nodes)), _revision(told)
    most = sum(node.gpus for node in nodes) * WHOLE
    asked, shares = 0, []
    gpus = Counter({node.name: node.gpus * WHOLE for node in nodes})
    cpu = Counter({node.name: node.cpu for node in nodes})
    for arrival, at in enumerate(order):
        pod = pods[at]
        asked += pod.gpus * pod.milli
        if node := _node_for(_pod(arrival, pod, context), revision, context):
            gpus[node] -= pod.gpus * pod.milli
            cpu[node] -= pod.cpu
        if round(100 * asked / most) == _DEMAND:
            shares.append(100 - 100 * gpus.total() / most)
    usual = statistics.median(pod.cpu for pod in pods if pod.gpus)
    stranded = sum(left for node, left in gpus.items() if cpu[node] < usual)
    return Placed(statistics.fmean(shares), 100 * gpus.total() / most, 100 * stranded / most)


def _node_for(pod: Pod, revision: Revision, context: CycleContext) -> str:
    """Decide and commit; the node, "" for a pod that fits nowhere, which leaves nothing."""
    outcome = decide(pod, revision, context)
    if isinstance(outcome, ScheduleResult):
        outcome = assume_and_reserve(outcome, context)
    if isinstance(outcome, ScheduleResult):
        return outcome.node
    context.cache.store.remove(ResourceClaim, f"default/{pod.metadata.name}")
    return ""


def _revision(told: bool) -> Revision:
    plugins = {"multiPoint": EnabledPlugins(tuple(map(PluginRef, _PLUGINS)), ("*",))}
    args = {"DeviceScoring": DeviceScoringArgs(demand=_expected() if told else ())}
    weights = {"NodeResourcesFit": 0, "DynamicResources": 0}
    profile = RequestedProfile("bench", "Default", plugins, weights=weights, args=args)
    return resolve(profile, build_registry(INTREE), PRESETS)


def _expected() -> tuple[ExpectedRequest, ...]:
    """The most frequent requests of the list."""
    return tuple(
        ExpectedRequest(
            "gpu",
            pod.gpus,
            (ExpectedCapacity("milli", str(pod.milli)),),
            f"{pod.cpu}m",
            f"{pod.memory}Mi",
            weight,
        )
        for pod, weight in trace.weights().most_common(128)
    )


def _cluster(nodes: Sequence[TraceNode]) -> Cache:
    """The nodes, all empty, and a slice for each."""
    cache = Cache(Store(INDEXES))
    cache.store.put(DeviceClass(ObjectMeta("gpu")))
    for node in nodes:
        model = DeviceAttribute(string=node.model)
        devices = [shared_device(f"gpu-{i}", model=model) for i in range(node.gpus)]
        cache.store.put(make_slice(node.name, devices))
        allocatable: dict[str, str | int] = {
            "cpu": f"{node.cpu}m",
            "memory": f"{node.memory}Mi",
            "pods": "1001",
        }
        cache.put_node(Node(NodeMeta(name=node.name), status=NodeStatus(allocatable=allocatable)))
    return cache


def _pod(arrival: int, asked: TracePod, context: CycleContext) -> Pod:
    """The pod, with its claim in the store if it wants GPUs."""
    name = f"pod-{arrival}"
    spec: Mapping[str, Any] = {}
    statuses = None
    if asked.gpus:
        owner = OwnerReference("v1", "Pod", name, f"uid-{name}", controller=True)
        claim = make_claim(name, count=asked.gpus, milli=asked.milli, owner_references=(owner,))
        context.cache.store.put(claim)
        template = f"{asked.gpus}-of-{asked.milli}"
        spec = {
            "resource_claims": (PodResourceClaim("gpu", resource_claim_template_name=template),)
        }
        statuses = (PodResourceClaimStatus("gpu", name),)
    built = make_pod(name, cpu=f"{asked.cpu}m", memory=f"{asked.memory}Mi", **spec)
    meta_of_pod: PodMeta = built.metadata
    return Pod(meta_of_pod, built.spec, PodStatus(resource_claim_statuses=statuses))
