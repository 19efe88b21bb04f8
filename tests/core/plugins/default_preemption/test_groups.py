"""Preemption by a pod alone, of pods of PodGroups: with which priority they count, who goes with
whom, and what that costs where there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import decide
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import PodDisruptionBudget
from tests.builders import make_node
from tests.core.plugins.default_preemption.test_plugin import (
    PROFILE,
    REVISION,
    a_budget,
    a_pod,
    check_victims,
    scheduler_of,
)
from tests.oracle import cluster as naive
from tests.oracle.preemption import Preemption
from tests.oracle.scheduler import schedule


def a_group(name: str, priority: int | None = None, mode: str = "all") -> PodGroup:
    """A PodGroup with this priority and disruption mode."""
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"priority": priority, "disruptionMode": {mode: {}}},
        },
        PodGroup,
    )


def member(
    name: str, cpu: str, node: str, group: str = "team", priority: int | None = None, **more: Any
) -> Pod:
    """A pod of a group on a node."""
    return a_pod(name, cpu, node, priority, schedulingGroup={"podGroupName": group}, **more)


def cluster(
    nodes: Sequence[Any],
    pods: Sequence[Pod],
    groups: Sequence[PodGroup],
    budgets: Sequence[PodDisruptionBudget] = (),
) -> CycleContext:
    """A scheduler over these."""
    context = scheduler_of(nodes, pods, budgets)
    for group in groups:
        context.cache.store.put(group)
    return context


# ---- the same as a naive search ------------------------------------------------------------------

NODES = [
    make_node(f"n{i}", cpu=cpu, labels={"kubernetes.io/hostname": f"n{i}", "zone": "ab"[i % 2]})
    for i, cpu in enumerate(["2", "3", "3", "4"])
]
APPS = st.sampled_from([{}, {"app": "a"}, {"app": "b"}])
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
ANTI = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
SPREAD = [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
PLACED = st.tuples(
    st.sampled_from(["n0", "n1", "n2", "n3", "gone"]),
    st.sampled_from(["500m", "1", "2"]),
    st.sampled_from([None, 0, 5, 5, 9]),
    APPS,
    st.sampled_from([None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]),
    st.sampled_from([None, None, "g0", "g0", "g1", "g1", "absent"]),
    st.sampled_from([None, None, None, ANTI]),
)
GROUPS = st.tuples(st.sampled_from([None, 0, 5, 9, 10]), st.sampled_from(["all", "all", "single"]))
BUDGETS = st.tuples(
    st.sampled_from([{"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}]),
    st.integers(0, 2),
)
WANTED = st.tuples(
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from([4, 9, 20]),
    APPS,
    st.sampled_from([None, None, ANTI]),
    st.sampled_from([None, SPREAD]),
)


@given(
    st.lists(PLACED, min_size=6, max_size=18),
    st.tuples(GROUPS, GROUPS),
    st.lists(BUDGETS, max_size=2),
    WANTED,
)
@settings(max_examples=120, deadline=None)
def test_victims_are_those_of_a_naive_search(
    placed: list[tuple[Any, ...]],
    drawn: tuple[tuple[int | None, str], ...],
    protecting: list[tuple[Any, ...]],
    wanted: tuple[Any, ...],
) -> None:
    """Of groups that go together and others, over zones, with budgets."""
    pods = [
        a_pod(
            f"p{i}",
            cpu,
            node,
            level,
            {"startTime": start},
            metadata={"labels": labels},
            schedulingGroup=group and {"podGroupName": group},
            affinity=affinity,
        )
        for i, (node, cpu, level, labels, start, group, affinity) in enumerate(placed)
    ]
    groups = [a_group(f"g{i}", level, mode) for i, (level, mode) in enumerate(drawn)]
    budgets = [a_budget(f"b{i}", left, chosen) for i, (chosen, left) in enumerate(protecting)]
    cpu, level, labels, affinity, spread = wanted
    pod = a_pod(
        "new",
        cpu,
        priority=level,
        affinity=affinity,
        topologySpreadConstraints=spread,
        metadata={"labels": labels},
    )
    there = [(one, one.spec.node_name) for one in pods]
    expected = schedule(pod, naive.Cluster(NODES, there, [*budgets, *groups]), PROFILE)
    outcome = decide(pod, REVISION, cluster(NODES, pods, groups, budgets))
    if expected.feasible:
        assert not isinstance(outcome, Diagnosis)
        return
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == expected.message_of(outcome.nominated_node)
    check_victims(outcome, expected.preemption or Preemption())
