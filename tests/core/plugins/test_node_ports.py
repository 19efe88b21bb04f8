"""NodePorts: refuses nodes on which a host port is taken, as comparing every pair of ports does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import FilterPlugin, PreFilterPlugin
from moorage.core.framework.status import SKIP
from moorage.core.objects.pods import Pod, PodMeta
from moorage.core.plugins.node_ports import PORT_TAKEN, NodePorts
from tests.builders import make_node, make_pod
from tests.core.resource_strategies import Cluster, clusters, one_row
from tests.oracle import ports as naive

PLUGIN = NodePorts()
_filter: FilterPlugin = PLUGIN
_pre_filter: PreFilterPlugin = PLUGIN


def pod_with(*ports: dict[str, Any], node: str = "", nominated: str = "") -> Pod:
    """A pod with these container ports."""
    spec = {"nodeName": node, "containers": [{"name": "c", "ports": ports}]}
    return msgspec.convert(
        {"metadata": {"name": "p"}, "spec": spec, "status": {"nominatedNodeName": nominated}}, Pod
    )


@given(clusters())
@settings(deadline=None)
def test_agrees_with_comparing_pairs(cluster: Cluster) -> None:
    """For all rows at once and for each row alone."""
    snapshot = cluster.snapshot()
    prepared = PLUGIN.pre_filter(cluster.pod, snapshot)
    if prepared.status == SKIP:
        assert not naive.ports(cluster.pod)
        return
    codes = PLUGIN.filter(prepared.state, snapshot, snapshot.nodes.all_rows)
    for node in cluster.nodes:
        row = snapshot.nodes.row_of[node.metadata.name]
        assert codes[row] == naive.refused(cluster.pod, cluster.on(node))
        assert PLUGIN.filter(prepared.state, snapshot, one_row(row)).tolist() == [codes[row]]


def test_every_node_on_which_a_port_is_taken_is_refused() -> None:
    """For each of the pod's ports."""
    held: list[dict[str, Any]] = [
        {"hostPort": 80},
        {"hostPort": 81, "hostIP": "10.0.0.1"},
        {"hostPort": 82},
        {"hostPort": 80},
    ]
    nodes = [make_node(f"n{i}") for i in range(len(held))]
    placed = [
        msgspec.structs.replace(
            pod_with(port, node=f"n{i}"), metadata=PodMeta(name=str(i), uid=str(i))
        )
        for i, port in enumerate(held)
    ]
    pod = pod_with({"hostPort": 80}, {"hostPort": 81})
    snapshot = Cluster(nodes, placed, pod).snapshot()
    state = PLUGIN.pre_filter(pod, snapshot).state
    assert PLUGIN.filter(state, snapshot, snapshot.nodes.all_rows).tolist() == [1, 1, 0, 1]


def test_explains() -> None:
    """With the text that administrators know."""
    assert PLUGIN.explain((), 1) == ((PORT_TAKEN, ""),)
    assert PORT_TAKEN.text == "node(s) didn't have free ports for the requested pod ports"


WAITING = pod_with({"hostPort": 80})
GONE = {
    "had the port": (pod_with({"hostPort": 80, "hostIP": "10.0.0.1"}, node="n"), True),
    "was nominated and would have had it": (pod_with({"hostPort": 80}, nominated="n"), True),
    "had another port": (pod_with({"hostPort": 81}, node="n"), False),
    "had the port for udp": (pod_with({"hostPort": 80, "protocol": "UDP"}, node="n"), False),
    "had no port": (make_pod("p", node="n"), False),
}


@pytest.mark.parametrize("case", GONE)
def test_a_deleted_pod_wakes_whom_its_port_served(case: str) -> None:
    """Only a pod on a node, with a port that clashes."""
    gone, want = GONE[case]
    (wake,) = (wake for wake in PLUGIN.events_to_register if wake.actions == ActionType.DELETE)
    assert wake.hint is not None
    assert (
        wake.hint(
            WAITING, ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, gone), Store()
        )
        is want
    )


def test_a_new_node_wakes_everyone() -> None:
    """It has all ports free."""
    assert [
        wake.hint
        for wake in PLUGIN.events_to_register
        if wake.resource is EventResource.NODE and wake.actions == ActionType.ADD
    ] == [None]
