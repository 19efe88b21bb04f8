"""Hypothesis strategies for clusters in which every plugin in the tree has something to say, and
the profiles to try them with.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, Revision, resolve
from moorage.core.framework.utilization_shape import UtilizationShapePoint
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.node_affinity import (
    AddedAffinity,
    AddedPreference,
    AddedRequirement,
    AddedSelector,
    AddedTerm,
    NodeAffinityArgs,
)
from moorage.core.plugins.node_resources.balanced_allocation import (
    NodeResourcesBalancedAllocationArgs,
)
from moorage.core.plugins.node_resources.fit_arguments import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
)
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec

NODE_NAMES = [f"n{i}" for i in range(10)]
IMAGES = {
    "web:latest": 90 * 2**20,
    "db:v1": 700 * 2**20,
    "registry.test:5000/ml:latest": 3000 * 2**20,
}
"""Sizes are the same on all nodes: which size counts otherwise depends on the order in which nodes
came.
"""


def mostly(usual: Any, other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """``usual`` three times out of four."""
    return st.integers(0, 3).flatmap(lambda draw: st.just(usual) if draw else other)


def lists(
    elements: st.SearchStrategy[Any], most: int, least: int = 0
) -> st.SearchStrategy[list[Any]]:
    """Short lists."""
    return st.lists(elements, min_size=least, max_size=most)


# ---- nodes ---------------------------------------------------------------------------------------

label_maps = st.fixed_dictionaries(
    {},
    optional={
        "disk": st.sampled_from(["ssd", "hdd", ""]),
        "gen": st.sampled_from(["3", "7", "010", "x9"]),
    },
)
taints = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["a", "b"]),
        "value": st.sampled_from(["", "x"]),
        "effect": st.sampled_from(
            ["NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"]
        ),
    }
)
allocatables = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["0", "1", "2", "4"]),
        "memory": st.sampled_from(["1Gi", "2Gi", "3G"]),
        "pods": st.sampled_from(["1", "3", "9"]),
    },
    optional={
        "example.com/gpu": st.sampled_from(["0", "1", "2"]),
        "ephemeral-storage": st.just("10Gi"),
    },
)
images = lists(st.sampled_from([*IMAGES]), 2).map(
    lambda names: [{"names": [name], "sizeBytes": IMAGES[name]} for name in names]
)
node_bodies = st.fixed_dictionaries(
    {
        "labels": label_maps,
        "spec": st.fixed_dictionaries(
            {
                "taints": mostly([], lists(taints, 2, 1)),
                "unschedulable": mostly(False, st.booleans()),
            }
        ),
        "status": st.fixed_dictionaries({"allocatable": allocatables, "images": images}),
    }
)


def node(name: str, body: dict[str, Any]) -> Node:
    """A node of this name."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": body["labels"]},
            "spec": body["spec"],
            "status": body["status"],
        },
        Node,
    )


# ---- pods ----------------------------------------------------------------------------------------

requirements = st.one_of(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["disk", "gen"]),
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": lists(st.sampled_from(["ssd", "", "7"]), 2),
        }
    ),
    st.fixed_dictionaries(
        {
            "key": st.just("gen"),
            "operator": st.sampled_from(["Gt", "Lt"]),
            "values": lists(st.sampled_from(["3", "7", "7", "x"]), 1),
        }
    ),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["disk", "gen"]),
            "operator": st.sampled_from(["Exists", "DoesNotExist"]),
        }
    ),
)
fields = st.fixed_dictionaries(
    {
        "key": mostly("metadata.name", st.just("metadata.uid")),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": lists(st.sampled_from(NODE_NAMES[:4]), 2, 1),
    }
)
terms = st.fixed_dictionaries(
    {"matchExpressions": lists(requirements, 2)},
    optional={"matchFields": mostly([], lists(fields, 2))},
)
preferences = st.fixed_dictionaries(
    {
        "weight": st.sampled_from([30, 100, 1, 0]),
        "preference": st.sampled_from(
            [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]},
                {},
            ]
        )
        | terms,
    }
)
node_affinities = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": mostly(
            None,
            st.fixed_dictionaries(
                {
                    "nodeSelectorTerms": mostly(
                        [{"matchExpressions": [{"key": "gen", "operator": "Exists"}]}],
                        lists(terms, 2),
                    )
                }
            ),
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": lists(preferences, 3),
    },
)
tolerations = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["a", "b", "node.kubernetes.io/unschedulable"]),
        "operator": st.sampled_from(["Exists", "Equal", "", "Gt"]),
        "effect": st.sampled_from(["", "NoSchedule", "PreferNoSchedule", "NoExecute"]),
    },
    optional={"value": st.just("x")},
) | st.just({"operator": "Exists"})
ports = st.fixed_dictionaries(
    {"hostPort": st.sampled_from([80, 81]), "hostIP": st.sampled_from(["", "10.0.0.1"])}
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "250m", "0.5", "1"]),
        "memory": st.sampled_from(["0", "1", "300Mi", "0.7Gi"]),
        "example.com/gpu": st.just("1"),
        "ephemeral-storage": st.just("4Gi"),
    },
)
containers = st.builds(
    lambda image, wanted, opened: {
        "name": "c",
        "image": image,
        "resources": {"requests": wanted},
        "ports": opened,
    },
    st.sampled_from(["web", "db:v1", "registry.test:5000/ml", "none:1"]),
    requests,
    mostly([], lists(ports, 2)),
)
pod_specs = st.fixed_dictionaries(
    {
        "containers": lists(containers, 2, 1),
        "tolerations": mostly([], lists(tolerations, 2)),
        "affinity": st.none() | (st.builds(lambda terms: {"nodeAffinity": terms}, node_affinities)),
        "nodeSelector": mostly(None, label_maps),
        "priority": mostly(None, st.sampled_from([-3, 0, 5])),
    }
)


def pod(name: str, spec: dict[str, Any], node_name: str = "") -> Pod:
    """A pod of this name, on a node if one is named."""
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return msgspec.convert({"metadata": meta, "spec": {**spec, "nodeName": node_name}}, Pod)


# ---- profiles ------------------------------------------------------------------------------------

_ADDED = AddedAffinity(
    AddedSelector(
        (
            AddedTerm((AddedRequirement("gen", "NotIn", ("3",)),)),
            AddedTerm(match_fields=(AddedRequirement("metadata.name", "In", ("n0",)),)),
        )
    ),
    (AddedPreference(40, AddedTerm((AddedRequirement("disk", "In", ("ssd",)),))),),
)
_SHAPE = RequestedToCapacityRatio(
    (UtilizationShapePoint(20, 0), UtilizationShapePoint(60, 10), UtilizationShapePoint(100, 3))
)
_RESOURCES = (ResourceSpec("cpu", 2), ResourceSpec("memory", 1), ResourceSpec("example.com/gpu", 5))
_ARGS = {
    "NodeAffinity": NodeAffinityArgs(_ADDED),
    "NodeResourcesFit": NodeResourcesFitArgs(
        ("example.com/gpu",), None, ScoringStrategy("RequestedToCapacityRatio", _RESOURCES, _SHAPE)
    ),
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs(
        tuple(ResourceSpec(one.name) for one in _RESOURCES)
    ),
}
_SPECS = [
    RequestedProfile("default"),
    RequestedProfile("binpack", "BinPack", weights={"TaintToleration": 0}),
    RequestedProfile("none", "NoScoring"),
    RequestedProfile("strict", args=_ARGS, weights={"ImageLocality": 3}),
]
REVISIONS: dict[str, Revision] = {
    spec.scheduler_name: resolve(spec, build_registry(INTREE), PRESETS) for spec in _SPECS
}
"""Profiles that share some columns, and differ in arguments, weights and plugins."""
