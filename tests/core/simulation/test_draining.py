"""Drains: who leaves a node, who may not, and that afterwards all is as before."""

from __future__ import annotations

import pytest
from hypothesis import given

from moorage.core.cycle.context import CycleContext
from moorage.core.simulation.draining import Drain, drain, drain_each
from moorage.core.simulation.simulator import Simulator
from tests.builders import make_node
from tests.core.simulation.clusters import REVISIONS, a_budget, a_context, a_pod, contexts
from tests.twins import differing, opened

NODES = [make_node(name, cpu="4") for name in ("n1", "n2")]


def drained(context: CycleContext, node: str = "n1") -> Drain:
    """What draining this node comes to."""
    return drain(Simulator(context, REVISIONS), node)


def names(pods: object) -> list[str]:
    """Of pods, each with a word on it."""
    return [pod.metadata.name for pod, _ in pods]  # type: ignore[attr-defined]


def test_pods_move_to_other_nodes() -> None:
    context = a_context(NODES, [a_pod("a", "n1", cpu="2"), a_pod("b", "n2", cpu="2")])
    outcome = drained(context)
    assert outcome.done and [pod.metadata.name for pod in outcome.evicted] == ["a"]
    assert [record.node for record in context.cache.pod_infos()] == ["n2", "n2"]


def test_what_finds_no_place_waits() -> None:
    context = a_context(NODES, [a_pod("a", "n1", cpu="3"), a_pod("b", "n2", cpu="2")])
    outcome = drained(context)
    assert not outcome.done and names(outcome.pending) == ["a"]
    assert outcome.pending[0][1] == "Insufficient cpu"


def test_pods_of_daemon_sets_and_of_kubelets_stay() -> None:
    pods = [a_pod("d", "n1", owner="DaemonSet"), a_pod("s", "n1", owner="Node")]
    outcome = drained(a_context(NODES, pods))
    assert outcome.done and not outcome.evicted


def test_pods_that_nobody_makes_again_are_counted() -> None:
    outcome = drained(a_context(NODES, [a_pod("a", "n1", owner=""), a_pod("b", "n1")]))
    assert outcome.done and outcome.nobodys == 1


@pytest.mark.parametrize(
    ("allowed", "room", "gone", "held_up"),
    [
        pytest.param(0, "4", 0, 3, id="nobody may go"),
        pytest.param(1, "4", 3, 0, id="one after another"),
        pytest.param(3, "4", 3, 0, id="all at once"),
        pytest.param(1, "1", 2, 1, id="one has a place, the next has none and holds up the last"),
    ],
)
def test_budgets_are_heeded(allowed: int, room: str, gone: int, held_up: int) -> None:
    """A pod that is placed again gives back what its budget was charged."""
    nodes = [make_node("n1", cpu="4"), make_node("n2", cpu=room)]
    pods = [a_pod(name, "n1", cpu="1") for name in ("a", "b", "c")]
    outcome = drained(a_context(nodes, pods, [a_budget(allowed)]))
    assert (len(outcome.evicted), len(outcome.held_up)) == (gone, held_up)
    assert {why for _, why in outcome.held_up} <= {"default/budget"}
    assert outcome.done == (not held_up)


def test_evicted_pods_preempt_others() -> None:
    pods = [a_pod("high", "n1", cpu="4", priority=10), a_pod("low", "n2", cpu="4")]
    outcome = drained(a_context(NODES, pods))
    assert (outcome.preempted, names(outcome.pending)) == (1, ["low"])


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        drained(a_context(NODES), "n3")


def test_a_place_that_was_found_once_is_found_in_each_drain() -> None:
    """Nothing of one drain is left in the next."""
    pods = [a_pod("a", "n1", cpu="2"), a_pod("b", "n2", cpu="2")]
    outcomes = list(drain_each(a_context(NODES, pods), REVISIONS, ["n1", "n2", "n1"]))
    assert [(one.node, one.done) for one in outcomes] == [
        ("n1", True),
        ("n2", True),
        ("n1", True),
    ]


@given(contexts())
def test_the_context_is_as_before(context: CycleContext) -> None:
    """After each drain all that decisions are made from is what it was."""
    before = opened(context)
    nodes = list(context.cache.nodes.row_of)
    for outcome in drain_each(context, REVISIONS, nodes):
        assert not differing(before, context)
        assert {pod.metadata.uid for pod, _ in outcome.pending}.isdisjoint(
            pod.metadata.uid for pod, _ in outcome.held_up
        )
