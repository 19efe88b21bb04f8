"""Hypothesis strategies for pods that care about other pods, and the clusters in which they do.

Few names and values, so that terms and constraints often speak of somebody.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.objects.meta import HasMetadata, Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.core.plugins.inter_pod_affinity.plugin import InterPodAffinityArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.pod_topology_spread.arguments import (
    DefaultConstraint,
    PodTopologySpreadArgs,
)
from tests.core.placement_strategies import lists, mostly

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NODE_NAMES = [f"n{i}" for i in range(6)]
NAMESPACES = ["a", "b", "absent"]

# ---- nodes ---------------------------------------------------------------------------------------

node_bodies = st.fixed_dictionaries(
    {
        "zone": st.sampled_from(["z0", "z0", "z1", "z1", "", None]),
        "host": mostly(True, st.just(False)),
    },
    optional={"taint": st.sampled_from(["NoSchedule", "PreferNoSchedule"]), "disk": st.just("ssd")},
)


def node(name: str, body: dict[str, Any]) -> Node:
    """A node of this name."""
    labels = {ZONE: body["zone"], HOST: name if body["host"] else None, "disk": body.get("disk")}
    document = {
        "metadata": {
            "name": name,
            "labels": {key: value for key, value in labels.items() if value is not None},
        },
        "spec": {"taints": [{"key": "t", "effect": body["taint"]}] if "taint" in body else None},
        "status": {"allocatable": {"pods": "99"}},
    }
    return msgspec.convert(document, Node)


# ---- selectors, terms and constraints ------------------------------------------------------------

label_maps = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(["x", "x", "y"]), "tier": st.sampled_from(["1", "2"])}
)
selectors = st.sampled_from(
    [
        {"matchLabels": {"app": "x"}},
        {"matchLabels": {"app": "x"}},
        {"matchLabels": {"app": "y", "tier": "1"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["1"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {},
        None,
    ]
)
topologies = st.sampled_from([ZONE, ZONE, HOST, "disk"])
terms = st.fixed_dictionaries(
    {"labelSelector": selectors, "topologyKey": topologies},
    optional={
        "namespaces": st.sampled_from([["a"], ["a", "b"], ["absent"]]),
        "namespaceSelector": st.sampled_from(
            [
                {"matchLabels": {"team": "1"}},
                {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
                {},
            ]
        ),
    },
)
weighted = st.builds(
    lambda weight, term: {"weight": weight, "podAffinityTerm": term},
    st.sampled_from([1, 10, 100]),
    terms,
)
affinities = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": lists(terms, 2, 1),
        "preferredDuringSchedulingIgnoredDuringExecution": lists(weighted, 2, 1),
    },
)
constraints = st.fixed_dictionaries(
    {
        "maxSkew": st.sampled_from([1, 1, 1, 2]),
        "topologyKey": st.sampled_from([ZONE, ZONE, ZONE, HOST, HOST, "disk"]),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": selectors,
    },
    optional={
        "minDomains": st.sampled_from([2, 3]),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
        "matchLabelKeys": st.sampled_from([["tier"], ["tier", "none"]]),
    },
)

# ---- pods ----------------------------------------------------------------------------------------

_elsewhere = {
    "nodeSelector": mostly(None, st.just({"disk": "ssd"})),
    "tolerations": mostly(None, st.just([{"operator": "Exists"}])),
}
_affinity = st.fixed_dictionaries({"podAffinity": affinities, "podAntiAffinity": affinities})
affine_specs = st.fixed_dictionaries({"affinity": _affinity})
spread_specs = st.fixed_dictionaries(
    {"topologySpreadConstraints": lists(constraints, 3, 1), **_elsewhere}
)
pod_specs = st.tuples(
    affine_specs,
    affine_specs,
    spread_specs,
    st.fixed_dictionaries(
        {
            "affinity": st.none() | _affinity,
            "topologySpreadConstraints": lists(constraints, 1),
            **_elsewhere,
        }
    ),
).map(list)
"""Four kinds of pods, which the pods of a cluster are of: as pods of controllers are."""

owners = mostly(
    None,
    st.sampled_from(
        [
            ("v1", "ReplicationController"),
            ("apps/v1", "ReplicaSet"),
            ("apps/v1", "StatefulSet"),
            ("example.com/v1", "StatefulSet"),
        ]
    ),
)
pod_bodies = st.fixed_dictionaries(
    {
        "namespace": mostly("a", st.sampled_from(NAMESPACES)),
        "labels": label_maps,
        "deletionTimestamp": mostly(None, st.just("2026-01-01T00:00:00Z")),
        "owner": owners,
    }
)


def pod(name: str, spec: dict[str, Any], body: dict[str, Any], node_name: str = "") -> Pod:
    """A pod of this name, on a node if one is named."""
    meta = {key: value for key, value in body.items() if key != "owner"} | {
        "name": name,
        "uid": f"uid-{name}",
    }
    if body["owner"] is not None:
        version, kind = body["owner"]
        meta["ownerReferences"] = [
            {"apiVersion": version, "kind": kind, "name": "owner", "controller": True}
        ]
    return msgspec.convert({"metadata": meta, "spec": {**spec, "nodeName": node_name}}, Pod)


# ---- other objects -------------------------------------------------------------------------------


def _object(
    kind: type[Any],
    name: str,
    namespace: str,
    spec: dict[str, Any],
    labels: dict[str, str] | None = None,
) -> HasMetadata:
    found: HasMetadata = msgspec.convert(
        {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}, kind
    )
    return found


others = st.one_of(
    st.builds(
        lambda name, labels: _object(Namespace, name, "", {}, labels),
        st.sampled_from(NAMESPACES[:2]),
        st.sampled_from([{"team": "1"}, {"team": "2"}, {}]),
    ),
    st.builds(
        lambda name, namespace, labels: _object(Service, name, namespace, {"selector": labels}),
        st.sampled_from(["s1", "s2"]),
        st.sampled_from(NAMESPACES[:2]),
        label_maps | st.none(),
    ),
    st.builds(
        lambda namespace, labels: _object(
            ReplicationController, "owner", namespace, {"selector": labels}
        ),
        st.sampled_from(NAMESPACES[:2]),
        label_maps | st.none(),
    ),
    st.builds(
        lambda kind, namespace, selector: _object(kind, "owner", namespace, {"selector": selector}),
        st.sampled_from([ReplicaSet, StatefulSet]),
        st.sampled_from(NAMESPACES[:2]),
        selectors,
    ),
)

# ---- profiles ------------------------------------------------------------------------------------

_BOTH = {
    "multiPoint": EnabledPlugins(
        tuple(
            PluginRef(name)
            for name in ("PrioritySort", "PodTopologySpread", "InterPodAffinity", "DefaultBinder")
        ),
        ("*",),
    )
}
_LISTED = PodTopologySpreadArgs(
    (
        DefaultConstraint(1, ZONE, "DoNotSchedule", node_taints_policy="Honor"),
        DefaultConstraint(2, HOST, "ScheduleAnyway"),
        DefaultConstraint(1, ZONE, "ScheduleAnyway", node_affinity_policy="Ignore"),
    ),
    "List",
)
_SPECS = [
    RequestedProfile("default", plugins=_BOTH),
    RequestedProfile(
        "listed",
        plugins=_BOTH,
        args={"PodTopologySpread": _LISTED, "InterPodAffinity": InterPodAffinityArgs(7, True)},
    ),
    RequestedProfile(
        "any", plugins=_BOTH, args={"InterPodAffinity": InterPodAffinityArgs(0, False, "AnyPod")}
    ),
]
REVISIONS: dict[str, Revision] = {
    spec.scheduler_name: resolve(spec, build_registry(INTREE), PRESETS) for spec in _SPECS
}
"""Profiles of the two plugins alone, with other arguments."""
