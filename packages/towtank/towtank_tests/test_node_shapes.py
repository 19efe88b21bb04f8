"""Nodes from numbers and from files."""

from __future__ import annotations

import collections
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from towtank.node_shapes import ShapeError, like_nodes, read_shape

ZONE = "topology.kubernetes.io/zone"
NODE = """
apiVersion: v1
kind: Node
metadata:
  name: ip-10-0-0-1.internal
  uid: 7d9f
  resourceVersion: "12"
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {topology.kubernetes.io/zone: eu-1a, pool: web}
  annotations: {kept: "yes", kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  providerID: aws:///1
  taints: [{key: gpu, value: "yes", effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}]
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "58", nvidia.com/gpu: "2"}
  allocatable: {cpu: 3920m, memory: 14Gi, pods: "58", nvidia.com/gpu: "2"}
  conditions:
  - {type: Ready, status: "False", reason: Broken, message: m,
     lastHeartbeatTime: "2026-01-01T00:00:00Z"}
  images: [{names: [a], sizeBytes: 5}]
  nodeInfo: {kubeletVersion: v1.33.1}
"""


@given(st.integers(0, 60), st.integers(1, 30))
def test_nodes_are_spread_evenly(count: int, zones: int) -> None:
    """With names of their own."""
    made = like_nodes(count, zones)
    assert len({node["metadata"]["name"] for node in made}) == len(made) == count
    spread = collections.Counter(node["metadata"]["labels"][ZONE] for node in made)
    assert len(spread) == min(zones, count)
    assert not spread or max(spread.values()) - min(spread.values()) <= 1


def test_nodes_have_names_and_labels() -> None:
    """Of the first and the last."""
    made = like_nodes(4, 3, cpu="2", memory="4Gi", pods=10)
    assert [node["metadata"]["name"] for node in made] == [
        "node-a1",
        "node-b1",
        "node-c1",
        "node-a2",
    ]
    assert made[3]["metadata"]["labels"]["kubernetes.io/hostname"] == "node-a2"
    assert made[0]["status"]["allocatable"] == {"cpu": "2", "memory": "4Gi", "pods": "10"}


@pytest.mark.parametrize(
    "text",
    [
        NODE,
        f"---\n{NODE}---\n",
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(NODE)]}),
        json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [yaml.safe_load(NODE)]}),
        yaml.safe_dump([yaml.safe_load(NODE)]),
    ],
    ids=["object", "documents", "list", "json", "array"],
)
def test_node_objects(text: str) -> None:
    """What kubectl prints: what it is like stays, what happened to it goes."""
    (node,) = read_shape(text, "nodes.yaml")
    assert node["metadata"] == {
        "name": "ip-10-0-0-1.internal",
        "labels": {ZONE: "eu-1a", "pool": "web"},
        "annotations": {"kept": "yes"},
    }
    assert node["spec"] == {
        "providerID": "aws:///1",
        "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    }
    assert node["status"].keys() == {"capacity", "allocatable", "conditions", "nodeInfo"}
    assert node["status"]["allocatable"]["cpu"] == "3920m"
    assert node["status"]["conditions"] == [
        {"type": "Ready", "status": "False", "reason": "Broken", "message": "m"}
    ]


def test_groups() -> None:
    """The short form."""
    text = """
    - {count: 2, name: gpu, zone: b, cpu: 16, memory: 64Gi, nvidia.com/gpu: 4,
       labels: {pool: gpu}, taints: ["gpu=yes:NoSchedule", spot:NoExecute]}
    - {name: single, cpu: 1.5, memory: 2G, pods: 20}
    """
    first, second, single = read_shape(text, "f")
    assert [node["metadata"]["name"] for node in (first, second, single)] == [
        "gpu-1",
        "gpu-2",
        "single",
    ]
    assert first["status"]["capacity"] == {
        "pods": "110",
        "cpu": "16",
        "memory": "64Gi",
        "nvidia.com/gpu": "4",
    }
    assert (
        first["metadata"]["labels"].items()
        >= {ZONE: "b", "pool": "gpu", "kubernetes.io/hostname": "gpu-1"}.items()
    )
    assert first["spec"]["taints"] == [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "spot", "effect": "NoExecute"},
    ]
    assert single["status"]["allocatable"] == {"pods": "20", "cpu": "1500m", "memory": "2G"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: there are no nodes in it"),
        ("[", "f.yaml: this is no YAML"),
        ("hello", "f.yaml: document 1: 'hello': write a Node object"),
        ("[{name: m, cpu: 1, memory: 1Gi}, 5]", "f.yaml: document 1, item 2: 5: write"),
        (
            "[{name: m, cpu: many, memory: 1Gi}]",
            "f.yaml: document 1, item 1: cpu: 'many': write a quantity such as 8, 500m or 64Gi",
        ),
        ("[{name: m, cpu: -1, memory: 1Gi}]", "cpu: -1: write a quantity"),
        ("[{name: m, cpu: true, memory: 1Gi}]", "cpu: True: write a quantity"),
        ("[{name: m, cpu: 1}]", "memory: None: it is missing"),
        ("[{cpu: 1, memory: 1Gi}]", "name: None: write a text"),
        ("[{name: N_1, cpu: 1, memory: 1Gi}]", "name: 'N_1': a lowercase RFC 1123 subdomain"),
        (
            "[{name: m, cpus: 1, memory: 1Gi}]",
            "cpus: 1: there is no such field: use one of count, name",
        ),
        ("[{name: m, count: 0, cpu: 1, memory: 1Gi}]", "count: 0: write a whole number from 1"),
        ("[{name: m, count: 2.5, cpu: 1, memory: 1Gi}]", "count: 2.5: write a whole number"),
        (
            "[{name: m, cpu: 1, memory: 1Gi, labels: {a: true}}]",
            "labels.a: True: a label's value is a text: put it in quotes",
        ),
        ("[{name: m, cpu: 1, memory: 1Gi, labels: {a: '!'}}]", "labels.a: '!': Invalid value"),
        ("[{name: m, cpu: 1, memory: 1Gi, labels: [a]}]", "labels: ['a']: write a map"),
        ("[{name: m, cpu: 1, memory: 1Gi, taints: a}]", "taints: 'a': write a list"),
        ("[{name: m, cpu: 1, memory: 1Gi, taints: [a]}]", "taints[0]: "),
        (
            "[{name: m, cpu: 1, memory: 1Gi, taints: ['a:Never']}]",
            "taints[0].effect: 'Never': write one of NoSchedule",
        ),
        (
            "[{name: m, cpu: 1, memory: 1Gi}, {name: m, cpu: 1, memory: 1Gi}]",
            "item 2: name: 'm': there is a node of this name already",
        ),
        ("{kind: Pod, metadata: {name: p}}", "document 1: kind: 'Pod': only objects of kind Node"),
        ("{kind: Node, metadata: {}}", "metadata.name: None: every node has a name"),
        (
            "{kind: Node, metadata: {name: m}, status: {capacity: {cpu: x}}}",
            "status.capacity.cpu: 'x': write a quantity",
        ),
        ("{kind: Node, metadata: {name: m}, status: 5}", "status: 5: write a map"),
        (
            "{apiVersion: v2, kind: Node, metadata: {name: m}}",
            "apiVersion: 'v2': that of nodes is v1",
        ),
        ("[{name: m, cpu: 1, memory: 1Gi, zone: a b}]", "item 1: zone: 'a b': Invalid value"),
        (
            f"[{{name: {'m' * 63}, count: 2, cpu: 1, memory: 1Gi}}]",
            f"name: '{'m' * 63}-1': Invalid value",
        ),
        ("[{name: m, cpu: 1e30, memory: 1Gi}]", "write a quantity such as 8, 500m or 64Gi"),
        (
            "[{name: m, cpu: 1, memory: 1Gi, pods: 1.5}]",
            "pods: 1.5: write a whole number: only cpu has fractions",
        ),
        (
            "[{name: m, cpu: 1, memory: 1Gi, nvidia.com/gpu: 500m}]",
            "nvidia.com/gpu: '500m': write a whole number",
        ),
        (
            "[{name: m, cpu: 1, memory: 1Gi, example.com/: 1}]",
            "example.com/: 1: there is no such field",
        ),
        (
            "[{name: m, cpu: 1, memory: 1Gi, taints: ['a:NoSchedule', 'a:NoSchedule']}]",
            'item 1: Node "m" is invalid: metadata.taints[1]: Dup',
        ),
        (
            "{kind: Node, metadata: {name: m, annotations: {a: 5}}}",
            'document 1: Node in version "v1" cannot be handled as a Node: json: cannot',
        ),
        (
            "{kind: Node, metadata: {name: m, annotations: {a b: c}}}",
            'metadata.annotations: Invalid value: "a b"',
        ),
        (
            "{kind: Node, metadata: {name: m}, spec: {unschedulable: 5}}",
            "NodeSpec.spec.unschedulable of type bool",
        ),
        (
            "{kind: Node, metadata: {name: m}, status: {addresses: 5}}",
            "NodeStatus.status.addresses of type",
        ),
        (
            "{kind: Node, metadata: {name: m}, status: {conditions: [{type: 5}]}}",
            "NodeCondition.status.conditions.type of type string",
        ),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    """The file, the place, the field, the value and what to do."""
    with pytest.raises(ShapeError) as caught:
        read_shape(text, "f.yaml")
    assert message in str(caught.value)


FIELDS = (
    "name",
    "count",
    "cpu",
    "memory",
    "labels",
    "taints",
    "kind",
    "items",
    "metadata",
    "spec",
    "status",
    "capacity",
    "conditions",
)
ANYTHING: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.integers(), inner, max_size=5)
    ),
    max_leaves=10,
)
NODES = st.fixed_dictionaries(
    {
        "kind": st.just("Node"),
        "metadata": st.just({"name": "n"}),
        "spec": ANYTHING,
        "status": ANYTHING,
    },
    optional={"x": ANYTHING},
)


@given(ANYTHING | NODES)
def test_nothing_else_is_raised(content: object) -> None:
    """Whatever the file says."""
    told = ""
    try:
        read_shape(yaml.safe_dump(content), "f")
    except ShapeError as error:
        told = str(error)
    assert told == "" or told.startswith("f: ")
