"""Fits: how many of a template find a place, and what there is too little of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from moorage.core.cycle.context import CycleContext
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Toleration
from moorage.core.simulation.fitting import Fit, MoreNodes, fit
from moorage.core.simulation.more_nodes import add_nodes, shapes
from moorage.core.simulation.simulator import Simulator
from tests.builders import make_node
from tests.core.simulation.clusters import HOST, REVISIONS, a_context, a_pod, contexts
from tests.twins import differing, opened


def gpu_node(name: str, gpus: str = "4", memory: str = "64Gi") -> Node:
    """A node with GPUs."""
    node = make_node(name, cpu="32", memory=memory, labels={HOST: name})
    allocatable = {**(node.status.allocatable or {}), "nvidia.com/gpu": gpus}
    return type(node)(node.metadata, node.spec, type(node.status)(allocatable=allocatable))


def fitted(context: CycleContext, requested: int, **pod: Any) -> Fit:
    """What comes of so many such pods."""
    return fit(Simulator(context, REVISIONS), a_pod("p", **pod), requested)


def test_all_fit_and_there_is_room_for_more() -> None:
    found = fitted(a_context([make_node("n", cpu="4")]), 3, cpu="1")
    assert found.fits and found.nodes == ("n", "n", "n")
    assert (found.room, found.counted_out, found.more_nodes) == (4, True, None)
    assert [one.text for one in found.limits] == ["Insufficient cpu"]


def test_what_runs_out_first_is_said_first() -> None:
    """Nodes that never took such a pod have no say in it."""
    closed = [make_node(f"c{i}", cpu="64", unschedulable=True) for i in range(5)]
    nodes = [make_node("n1", cpu="3"), make_node("n2", cpu="3"), make_node("n3", memory="1Gi")]
    found = fitted(a_context([*closed, *nodes]), 9, cpu="1", memory="1Gi")
    assert (len(found.nodes), found.room) == (7, 7)
    assert found.limits[0] == ("Insufficient cpu", 2)
    assert found.limits[1] == ("Insufficient memory", 1)
    assert [one.text for one in found.refusals] == [
        "Insufficient cpu",
        "Insufficient memory",
        "node(s) were unschedulable",
    ]


def test_more_nodes_like_those_that_take_them_are_tried() -> None:
    """Each with what DaemonSets have there."""
    daemon = a_pod("d", "n", owner="DaemonSet", cpu="1")
    found = fitted(a_context([make_node("n", cpu="4")], [daemon]), 8, cpu="1")
    assert (len(found.nodes), found.more_nodes) == (3, MoreNodes(2, "n"))


def test_more_nodes_of_a_kind_that_takes_none_now() -> None:
    """The node is full, another one of its kind would not be."""
    full = a_pod("full", "big", cpu="4")
    nodes = [make_node("small", cpu="1"), make_node("tiny", cpu="1"), make_node("big", cpu="4")]
    found = fitted(a_context(nodes, [full]), 3, cpu="3")
    assert (found.nodes, found.more_nodes) == ((), MoreNodes(3, "big"))


def test_no_number_of_nodes_helps() -> None:
    found = fitted(a_context([make_node("n", cpu="4")]), 1, cpu="5")
    assert found.more_nodes is None and found.limits == found.refusals


def test_nobody_has_to_go() -> None:
    context = a_context([make_node("n", cpu="1")], [a_pod("low", "n", cpu="1")])
    assert not fitted(context, 1, cpu="1", priority=9).fits
    assert len(context.cache) == 1


def test_templates_see_each_other() -> None:
    simulator = Simulator(a_context([make_node("n", cpu="4")]), REVISIONS)
    assert fit(simulator, a_pod("a", cpu="1"), 3).fits
    assert fit(simulator, a_pod("b", cpu="1"), 3).nodes == ("n",)


def test_a_new_node_is_open_and_has_its_own_name() -> None:
    taints = (Toleration(key="a"), Toleration(key="node.kubernetes.io/not-ready"))
    model = make_node("n", labels={HOST: "n", "pool": "a"}, unschedulable=True, taints=taints)
    context = a_context([model, make_node("n-new-1")])
    simulator = Simulator(context, REVISIONS)
    assert add_nodes(simulator, "n", 2) == ("n-new-2", "n-new-3")
    row = context.cache.nodes.row_of["n-new-2"]
    made = context.cache.nodes.nodes[row]
    assert made is not None and not made.spec.unschedulable
    assert made.metadata.labels == {HOST: "n-new-2", "pool": "a"}
    assert [taint.key for taint in made.spec.taints or ()] == ["a"]
    with pytest.raises(KeyError):
        add_nodes(simulator, "absent", 1)


def test_kinds_of_nodes() -> None:
    """The most common one first; names make no difference."""
    nodes = [make_node("a", cpu="1"), *(gpu_node(name) for name in ("b", "c"))]
    assert shapes(a_context(nodes).cache) == ["b", "a"]


@given(contexts())
def test_what_is_undone_was_never_there(context: CycleContext) -> None:
    """And what fits fits: none of the nodes that took pods has too little."""
    before, simulator = opened(context), Simulator(context, REVISIONS)
    found = fit(simulator, a_pod("new", cpu="1"), 3)
    for node in found.nodes:
        amounts = context.cache.nodes.amounts_on(context.cache.nodes.row_of[node])
        assert all(has >= taken for has, taken in amounts.values())
    assert len(found.nodes) == min(3, found.room)
    assert found.fits or found.limits
    simulator.undo()
    assert not differing(before, context)
