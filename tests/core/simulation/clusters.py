"""Small clusters to simulate: a context of its own, made from nodes, pods and other objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata, OwnerReference
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.engine.worlds import RESOLVER, a_body

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REVISION = RESOLVER(a_body("test"), {}).revision
REVISIONS: dict[str, Revision] = {"test": REVISION}
RUNS = {
    "phase": "Running",
    "startTime": "2026-01-01T00:00:00Z",
    "conditions": [{"type": "Ready", "status": "True"}],
}


def a_context(
    nodes: Iterable[Node], pods: Iterable[Pod] = (), objects: Iterable[HasMetadata] = ()
) -> CycleContext:
    """A cluster in which these pods are where their specs say, or wait."""
    cache = Cache(Store(INDEXES))
    for node in nodes:
        cache.put_node(node)
    for obj in objects:
        cache.store.put(obj)
    for pod in pods:
        if pod.spec.node_name:
            cache.observe(pod, pod_requests(pod))
        else:
            cache.observe_waiting(pod, pod_requests(pod))
    return CycleContext(cache)


def a_pod(name: str, node: str = "", *, owner: str = "ReplicaSet", **body: Any) -> Pod:
    """A pod; ``labels`` and the fields of its spec. On a node it runs and is ready."""
    labels = body.pop("labels", {"app": "web"})
    made = make_pod(name, node=node, **body)
    owners = (OwnerReference("apps/v1", owner, "owner", "uid-owner", True),) if owner else None
    meta = msgspec.structs.replace(made.metadata, labels=labels, owner_references=owners)
    status = msgspec.convert(RUNS if node else {}, type(made.status))
    return msgspec.structs.replace(made, metadata=meta, status=status)


def a_budget(allowed: int, labels: dict[str, str] | None = None) -> PodDisruptionBudget:
    """A budget that lets so many of these pods go."""
    return msgspec.convert(
        {
            "metadata": {"name": "budget", "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels or {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 9, "desiredHealthy": 1},
        },
        PodDisruptionBudget,
    )


_LABELS = st.sampled_from([{"app": "web"}, {"app": "web"}, {"app": "db"}, {}])
_SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
_APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOST}
        ]
    }
}
_SPECS = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["100m", "1", "2", "3"])},
    optional={
        "priority": st.sampled_from([0, 5, 10]),
        "topologySpreadConstraints": st.just([_SPREAD]),
        "affinity": st.just(_APART),
    },
)


@st.composite
def pods_on(draw: st.DrawFn, name: str, nodes: list[str]) -> Pod:
    """A pod on one of these nodes ("": it waits)."""
    spec = msgspec.convert(draw(_SPECS), dict[str, Any])
    cpu = spec.pop("cpu")
    owner = draw(st.sampled_from(["ReplicaSet", "ReplicaSet", "DaemonSet", ""]))
    typed = msgspec.convert(spec, _Spec)
    return a_pod(
        name,
        draw(st.sampled_from(nodes)),
        owner=owner,
        labels=draw(_LABELS),
        cpu=cpu,
        priority=typed.priority,
        affinity=typed.affinity,
        topology_spread_constraints=typed.topology_spread_constraints,
    )


_Spec = type(make_pod("p").spec)


@st.composite
def contexts(draw: st.DrawFn) -> CycleContext:
    """A few nodes in two zones, pods on them and pods that wait, and perhaps a budget."""
    names = [f"n{i}" for i in range(draw(st.integers(1, 5)))]
    nodes = [
        make_node(
            name,
            cpu=draw(st.sampled_from(["2", "4"])),
            labels={ZONE: draw(st.sampled_from(["a", "b"])), HOST: name},
        )
        for name in names
    ]
    count = draw(st.integers(0, 12))
    pods = [draw(pods_on(f"p{i}", [*names, ""])) for i in range(count)]
    allowed = draw(st.sampled_from([None, 0, 1, 2]))
    return a_context(nodes, pods, [] if allowed is None else [a_budget(allowed)])
