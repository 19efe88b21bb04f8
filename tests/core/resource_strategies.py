"""Hypothesis strategies for small clusters in which resources, ports and images matter."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests

NAMES = ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "vendor.io/nic"]
"""Resources that are asked for; the last two are extended ones."""
QUANTITIES = ["0", "1", "3", "100m", "1500m", "0.3", "250u", "2", "64Mi", "1Gi", "1.1k", "8"]
IMAGES = [
    "web",
    "web:latest",
    "registry.test:5000/db",
    "registry.test:5000/db:latest",
    "db:v1",
    "web@sha256:0a",
]
PROTOCOLS = ["", "TCP", "UDP"]
IPS = ["", "0.0.0.0", "10.0.0.1", "::"]
MIB = 2**20


def mostly(never: Any, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """``never`` in half of the cases."""
    return st.booleans().flatmap(lambda yes: strategy if yes else st.just(never))


requests = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(QUANTITIES), max_size=4)
containers = st.fixed_dictionaries(
    {
        "name": st.sampled_from("abc"),
        "image": st.sampled_from(IMAGES),
        "resources": st.fixed_dictionaries({"requests": requests}),
        "ports": mostly(
            [],
            st.lists(
                st.fixed_dictionaries(
                    {
                        "hostPort": st.sampled_from([0, 80, 81]),
                        "protocol": st.sampled_from(PROTOCOLS),
                        "hostIP": st.sampled_from(IPS),
                    }
                ),
                max_size=2,
            ),
        ),
    }
)
init_containers = st.builds(
    lambda container, policy: {**container, "restartPolicy": policy},
    containers,
    st.sampled_from([None, "Always"]),
)
statuses = st.fixed_dictionaries(
    {
        "name": st.sampled_from("abc"),
        "allocatedResources": mostly(None, requests),
        "resources": mostly(None, st.fixed_dictionaries({"requests": mostly(None, requests)})),
    }
)
pod_statuses = st.fixed_dictionaries(
    {
        "containerStatuses": mostly(
            None, st.lists(statuses, max_size=2, unique_by=lambda one: str(one["name"]))
        ),
        "initContainerStatuses": mostly(None, st.lists(statuses, max_size=1)),
        "resources": mostly(None, st.fixed_dictionaries({"requests": requests})),
        "allocatedResources": mostly(None, requests),
        "conditions": mostly(
            None,
            st.lists(
                st.fixed_dictionaries(
                    {
                        "type": st.just("PodResizePending"),
                        "reason": st.sampled_from(["Infeasible", "Deferred"]),
                    }
                ),
                max_size=1,
            ),
        ),
    }
)
specs = st.fixed_dictionaries(
    {
        "containers": st.lists(
            containers, min_size=1, max_size=3, unique_by=lambda one: str(one["name"])
        ),
        "initContainers": mostly([], st.lists(init_containers, max_size=3)),
        "overhead": mostly(None, requests),
        "resources": mostly(None, st.fixed_dictionaries({"requests": requests})),
        "volumes": mostly(
            [],
            st.lists(
                st.builds(lambda image: {"image": {"reference": image}}, st.sampled_from(IMAGES)),
                max_size=2,
            ),
        ),
    }
)


@st.composite
def pods(draw: st.DrawFn, name: str = "pod", nodes: int = 0) -> Pod:
    """A pod; on one of that many nodes if there are any."""
    spec = draw(specs)
    if nodes:
        spec = {**spec, "nodeName": f"n{draw(st.integers(0, nodes - 1))}"}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": draw(mostly({}, pod_statuses))}, Pod
    )


@st.composite
def node_objects(draw: st.DrawFn, name: str) -> Node:
    """A node with few pods' room and some images."""
    allocatable = draw(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(QUANTITIES)))
    allocatable["pods"] = draw(st.sampled_from(["0", "1", "2", "10"]))
    names = draw(
        st.lists(
            st.sampled_from([image for image in IMAGES if ":" in image]), unique=True, max_size=4
        )
    )
    sizes = st.sampled_from([0, 10 * MIB, 100 * MIB, 700 * MIB + 1, 5000 * MIB])
    images = [{"names": [image], "sizeBytes": draw(sizes)} for image in names]
    return msgspec.convert(
        {"metadata": {"name": name}, "status": {"allocatable": allocatable, "images": images}}, Node
    )


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Nodes, the pods on them and a pod to place."""

    nodes: list[Node]
    placed: list[Pod]
    pod: Pod

    def snapshot(self) -> Snapshot:
        """All of it in columns."""
        cache = Cache()
        for node in self.nodes:
            cache.put_node(node)
        for pod in self.placed:
            cache.observe(pod, pod_requests(pod))
        return Snapshot(cache)

    def on(self, node: Node) -> list[Pod]:
        """The pods on a node."""
        return [pod for pod in self.placed if pod.spec.node_name == node.metadata.name]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """One to four nodes and up to six pods on them."""
    count = draw(st.integers(1, 4))
    nodes = [draw(node_objects(f"n{i}")) for i in range(count)]
    placed = [draw(pods(f"p{i}", count)) for i in range(draw(st.integers(0, 6)))]
    return Cluster(nodes, placed, draw(pods()))


def one_row(row: int) -> Rows:
    """What a plugin is asked for when one node changed."""
    return np.array([row], np.intp)
