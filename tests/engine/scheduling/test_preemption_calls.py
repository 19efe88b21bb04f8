"""What a preemption costs does not grow with how many pods are nominated already."""

from __future__ import annotations

import sys

from moorage.core.columns.nominations import MAX_NOMINATED_ELSEWHERE
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, versioned

NODES = 2 * MAX_NOMINATED_ELSEWHERE
MOST_CALLS = 1700
"""Calls of Python functions, for the decision and what follows it at once."""


def test_each_of_many_pods_that_preempt_costs_the_same() -> None:
    """Each has a node to itself, and all victims stay for the time being."""
    bench = Bench(has_twin=False)
    for i in range(NODES):
        bench.nodes.put(versioned(make_node(f"n{i}", cpu="4")))
        for j in range(4):
            victim = make_pod(f"low-{i}-{j}", cpu="900m", node=f"n{i}", priority=1)
            bench.pods.put(versioned(victim))
        bench.pods.put(versioned(make_pod(f"high-{i}", cpu="3", priority=9)))
    calls = [_calls(bench) for _ in range(NODES - 10)]
    assert len({one.diagnosis.nominated_node for one, _ in bench.preemptor.held}) == len(calls)
    few, many = calls[10:30], calls[-20:]
    assert max(calls[10:]) < MOST_CALLS
    assert sum(many) < 1.1 * sum(few)


def _calls(bench: Bench) -> int:
    """How many an attempt takes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        bench.attempt()
    finally:
        sys.setprofile(None)
    return calls
