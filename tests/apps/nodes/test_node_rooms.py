"""Nodes as columns: what there is, what is asked for, and what of the rest is of no use."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pytest

from moorage.apps.nodes.node_rooms import (
    NOT_READY,
    TAINTED,
    UNSCHEDULABLE,
    flags_of,
    node_document,
    nodes_document,
)
from moorage.apps.worlds.world import empty_context
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.core.objects.nodes import Node, NodeCondition, NodeMeta, NodeSpec, NodeStatus, Taint
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.measures import measured, pod_classes, pods_of
from tests.builders import make_node, make_pod

NOW = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
ZONE, POOL = "topology.kubernetes.io/zone", "cloud.google.com/gke-nodepool"


def frame_of(nodes: list[Node], pods: list[Pod]) -> WorldFrame:
    """A frame of a cluster with these."""
    context = empty_context()
    for node in nodes:
        context.cache.put_node(node)
    for pod in pods:
        put = context.cache.observe if pod.spec.node_name else context.cache.observe_waiting
        put(pod, pod_requests(pod))
    return take_frame(context, {}, "a test", NOW)


def test_columns_are_in_the_order_of_names() -> None:
    """Whatever order nodes came in."""
    nodes = [
        make_node("b", labels={ZONE: "z2", POOL: "large"}),
        make_node("c", cpu="8", labels={ZONE: "z1"}),
        make_node("a", labels={ZONE: "z1", POOL: "small"}, unschedulable=True),
    ]
    pods = [make_pod("1", cpu="1", node="c"), make_pod("2", cpu="3", node="b"), make_pod("3")]
    found = nodes_document(frame_of(nodes, pods))
    assert found["names"] == ["a", "b", "c"]
    assert [found["zoneNames"][one] for one in found["zones"]] == ["z1", "z2", "z1"]
    assert [found["poolNames"][one] for one in found["pools"]] == ["small", "large", ""]
    assert found["poolLabel"] == POOL
    assert found["resources"]["cpu"]["allocatable"] == [4000, 4000, 8000]
    assert found["resources"]["cpu"]["requested"] == [0, 3000, 1000]
    assert found["pods"] == [0, 1, 1]
    assert found["flags"] == [UNSCHEDULABLE, 0, 0]
    assert sum(one["pods"] for one in found["classes"]) == 3
    assert sum(one["waiting"] for one in found["classes"]) == 1


def test_stranded_is_what_the_pods_there_are_cannot_use() -> None:
    """On the full node memory is free, and whoever asks for it lacks cpu there."""
    nodes = [make_node("full", cpu="2"), make_node("free", cpu="4")]
    pods = [make_pod("a", cpu="2", memory="1Gi", node="full")]
    found = nodes_document(frame_of(nodes, pods))
    gi = 1024**3
    assert found["names"] == ["free", "full"]
    assert found["resources"]["memory"]["stranded"] == [0, 7 * gi]
    assert found["resources"]["cpu"]["stranded"] == [0, 0]
    (said,) = found["stranded"]
    assert (said["resource"], said["amount"], said["nodes"]) == ("memory", 7 * gi, 1)
    assert said["text"].startswith("7Gi of 15Gi free memory")


def test_it_is_stranded_as_in_simulations() -> None:
    """Both add up to the same."""
    context = empty_context()
    for i, cpu in enumerate(("2", "4", "9", "1")):
        context.cache.put_node(make_node(f"n{i}", cpu=cpu))
    for i, (cpu, node) in enumerate(itertools.product(("300m", "500m"), ("n0", "n1", "n2"))):
        pod = make_pod(f"p{i}", cpu=cpu, memory=f"{i + 1}Gi", node=node)
        context.cache.observe(pod, pod_requests(pod))
    total = measured(context, pod_classes(pods_of(context)), 0)
    found = nodes_document(take_frame(context, {}, "a test", NOW))
    by_name = {measure.name: value for measure, value in total.items()}
    for resource in ("cpu", "memory"):
        mine = sum(found["resources"][resource]["stranded"])
        assert mine == pytest.approx(by_name[f"stranded {resource}"], abs=len(found["names"]))


def _node(spec: NodeSpec | None = None, ready: str = "True") -> Node:
    spec = spec or NodeSpec()
    status = NodeStatus(conditions=(NodeCondition("Ready", ready),))
    return Node(NodeMeta(name="n"), spec, status)


@pytest.mark.parametrize(
    ("node", "want"),
    [
        (_node(), 0),
        (_node(NodeSpec(unschedulable=True)), UNSCHEDULABLE),
        (
            _node(
                NodeSpec(
                    unschedulable=True,
                    taints=(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),),
                )
            ),
            UNSCHEDULABLE,
        ),
        (_node(NodeSpec(taints=(Taint("a", "b", "NoExecute"),))), TAINTED),
        (_node(NodeSpec(taints=(Taint("a", "b", "PreferNoSchedule"),))), 0),
        (_node(ready="Unknown"), NOT_READY),
    ],
)
def test_flags(node: Node, want: int) -> None:
    """What keeps pods away."""
    assert flags_of(node) == want


def test_one_node_has_its_pods_the_largest_first() -> None:
    """With what they ask for; None for a name that is none."""
    pods = [make_pod("s", cpu="1", node="n"), make_pod("l", cpu="2", node="n")]
    frame = frame_of([make_node("n"), make_node("m")], pods)
    found = node_document(frame, "n")
    assert found is not None
    assert [one["pod"] for one in found["pods"]] == ["default/l", "default/s"]
    assert found["pods"][0]["asks"] == {"cpu": "2", "memory": "100Mi"}
    assert found["resources"]["cpu"] == {"allocatable": 4000, "requested": 3000}
    assert found["profiles"] == {"test": 2}
    assert node_document(frame, "none") is None


def test_a_frame_stays_what_it_was() -> None:
    """Whatever becomes of the cluster."""
    context = empty_context()
    context.cache.put_node(make_node("n"))
    frame = take_frame(context, {}, "a test", NOW)
    pod = make_pod("p", cpu="2", node="n")
    context.cache.observe(pod, pod_requests(pod))
    assert (len(frame.placed), int(frame.taken["cpu"].sum())) == (0, 0)
    assert np.array_equal(frame.has["cpu"], [4000])


def test_no_nodes() -> None:
    """That is an answer, too."""
    found = nodes_document(frame_of([], []))
    assert (found["answer"], found["names"]) == ("There are no nodes yet.", [])
