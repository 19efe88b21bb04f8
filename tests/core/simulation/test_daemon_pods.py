"""Daemon pods: which nodes admit them, and which of these have room."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Affinity, NodeAffinity, Toleration
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.simulation.daemon_pods import NO_MATCH, fit_on_each_node
from moorage.core.simulation.fitting import Fit
from moorage.core.simulation.simulator import Simulator
from tests.builders import make_node
from tests.core.simulation.clusters import REVISIONS, a_context, a_pod

OWN, HARD = "gpu", "NoSchedule"
NODES = [
    make_node("plain", cpu="4", labels={"pool": "a"}),
    make_node("small", cpu="1", labels={"pool": "a"}),
    make_node("own", cpu="4", taints=(Taint(OWN, "yes", HARD),)),
    make_node("closed", cpu="4", unschedulable=True),
    make_node("late", cpu="4", taints=(Taint("node.kubernetes.io/not-ready", "", "NoExecute"),)),
]


def fitted(nodes: list[Node] = NODES, **pod: Any) -> Fit:
    """What comes of a daemon set of such pods."""
    return fit_on_each_node(Simulator(a_context(nodes), REVISIONS), a_pod("d", **pod))


def test_one_on_each_node_that_admits_it() -> None:
    """Nodes that are closed or not ready do; one that has no room is short."""
    found = fitted(cpu="2")
    assert found.nodes == ("plain", "closed", "late")
    assert (found.requested, found.fits, found.room) == (4, False, 3)
    assert found.limits == found.refusals == (("Insufficient cpu", 1),)
    assert found.not_admitted == (("untolerated taint gpu=yes:NoSchedule", 1),)


IN_A = NodeSelectorTerm(match_expressions=(Requirement("pool", "In", ("a",)),))


@pytest.mark.parametrize(
    ("pod", "nodes", "aside"),
    [
        pytest.param({"node_selector": {"pool": "a"}}, ["plain", "small"], 3, id="selector"),
        pytest.param(
            {"affinity": Affinity(NodeAffinity(NodeSelector((IN_A,))))},
            ["plain", "small"],
            3,
            id="affinity",
        ),
        pytest.param(
            {"tolerations": (Toleration(OWN, "Exists"),)},
            [one.metadata.name for one in NODES],
            0,
            id="tolerates",
        ),
    ],
)
def test_who_admits_it(pod: dict[str, Any], nodes: list[str], aside: int) -> None:
    found = fitted(cpu="1", **pod)
    assert found.not_admitted is not None
    assert (list(found.nodes), sum(one.nodes for one in found.not_admitted)) == (nodes, aside)
    if aside:
        assert found.fits and found.not_admitted[0] == (NO_MATCH, 3)


def test_on_the_network_of_its_node() -> None:
    """A node whose network is not there yet admits it then."""
    away = Taint("node.kubernetes.io/network-unavailable", "", HARD)
    nodes = [make_node("n", taints=(away,))]
    assert [len(fitted(nodes, host_network=one).nodes) for one in (False, True)] == [0, 1]
