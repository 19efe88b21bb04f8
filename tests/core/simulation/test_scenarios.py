"""Scenarios: what happens at one moment, and that afterwards all is as before."""

from __future__ import annotations

import pytest
from hypothesis import given

from moorage.core.cycle.context import CycleContext
from moorage.core.simulation.measures import EMPTY_NODES, WAITING
from moorage.core.simulation.scenarios import Scenario, place_waiting, play
from tests.builders import make_node
from tests.core.simulation.clusters import REVISIONS, a_budget, a_context, a_pod, contexts
from tests.twins import differing, opened

NODES = [make_node(name, cpu="4") for name in ("n1", "n2")]


def test_what_waits_is_placed() -> None:
    """With what is measured before and after."""
    found = play(a_context(NODES, [a_pod("p", cpu="4")]), REVISIONS, Scenario())
    assert found.settled and list(found.placed) == ["uid-p"]
    assert (found.before[WAITING], found.after[WAITING]) == (1, 0)
    assert (found.before[EMPTY_NODES], found.after[EMPTY_NODES]) == (2, 1)


def test_nodes_and_pods_that_come() -> None:
    pods = tuple(a_pod(f"p{i}", cpu="4") for i in range(4))
    short = play(a_context(NODES), REVISIONS, Scenario(pods=pods))
    assert not short.settled and [why for _, why in short.waiting] == ["Insufficient cpu"] * 2
    assert play(a_context(NODES), REVISIONS, Scenario(2, "n1", pods=pods)).settled


def test_drains_one_after_another() -> None:
    """The second one finds the pods of the first one, too."""
    context = a_context(NODES, [a_pod("p", "n1", cpu="1"), a_pod("q", "n2", cpu="1")])
    found = play(context, REVISIONS, Scenario(drains=("n1", "n2")))
    assert [len(one.evicted) for one in found.drains] == [1, 2]
    assert len(found.waiting) == 2 and not found.settled


def test_a_pod_that_may_not_go_is_not_settled() -> None:
    context = a_context(NODES, [a_pod("p", "n1")], [a_budget(0)])
    found = play(context, REVISIONS, Scenario(drains=("n1",)))
    assert not found.waiting and not found.settled


def test_a_node_that_is_not_there() -> None:
    for scenario in (Scenario(1, "n9"), Scenario(drains=("n9",))):
        with pytest.raises(KeyError):
            play(a_context(NODES), REVISIONS, scenario)


def test_what_waits_stays_placed_where_that_is_wanted() -> None:
    context = a_context(NODES, [a_pod("p"), a_pod("big", cpu="9")])
    assert place_waiting(context, REVISIONS).waits == 1
    assert len(context.cache) == 1


@given(contexts())
def test_the_context_is_as_before(context: CycleContext) -> None:
    before, like = opened(context), next(iter(context.cache.nodes.row_of))
    scenario = Scenario(1, like, (), (a_pod("new", cpu="2"),), (like,))
    found = play(context, REVISIONS, scenario)
    assert not differing(before, context)
    assert found == play(context, REVISIONS, scenario)
