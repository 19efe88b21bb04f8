"""NodeResourcesBalancedAllocation: agrees bit by bit with plain loops over floats, and with numbers
worked out by hand.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.arguments import FieldErrorType, Validated, Violation
from moorage.core.framework.interfaces import PreScorePlugin, ScorePlugin
from moorage.core.framework.status import SKIP, Code
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.nodes import NodeStatus
from moorage.core.objects.pods import Container, ResourceRequirements
from moorage.core.plugins.node_resources.balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    deviations,
    pair_deviation,
)
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.core.resource_strategies import NAMES, Cluster, clusters, one_row
from tests.oracle import resources as naive

PLUGIN = NodeResourcesBalancedAllocation()
_score: ScorePlugin = PLUGIN
_pre_score: PreScorePlugin = PLUGIN
_args: Validated = PLUGIN.args


@given(clusters(), st.lists(st.sampled_from([*NAMES, "pods", "nonsense"]), unique=True, min_size=1))
@settings(deadline=None)
def test_agrees_with_the_naive_scores(cluster: Cluster, names: list[str]) -> None:
    """For all rows at once and for each row alone."""
    plugin = NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs(tuple(map(ResourceSpec, names)))
    )
    tracked = [name for name in names if name in NAMES]
    snapshot = cluster.snapshot()
    prepared = plugin.pre_score(cluster.pod, snapshot)
    for node in cluster.nodes:
        row = snapshot.nodes.row_of[node.metadata.name]
        want = naive.balanced_score(cluster.pod, node, cluster.on(node), tracked)
        if want is None:
            assert prepared.status == SKIP
        else:
            assert plugin.score(prepared.state, snapshot, snapshot.nodes.all_rows)[row] == want
            assert plugin.score(prepared.state, snapshot, one_row(row)).tolist() == [want]


@given(
    st.integers(3, 12).flatmap(
        lambda k: st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=k, max_size=k)
    )
)
@example([(0.8, True), (0.1, True), (0.5, False)])
@example([(fraction, True) for fraction in (0.8, 0.8, 0.2, 0.0, 0.2, 0.4, 1.0, 0.3, 0.9, 0.2)])
def test_deviations_agree_to_the_last_bit(resources: list[tuple[float, bool]]) -> None:
    """Of any number of resources, some of which the node lacks; the naive one adds them one after
    the other.
    """
    used = [np.full((2, 1), fraction) for fraction, _ in resources]
    present = [np.array([there]) for _, there in resources]
    there = [fraction for fraction, there in resources if there]
    scores = ((1 - deviations(used, present)) * 100).astype(np.int64)
    assert scores.tolist() == [[naive.balance(there)]] * 2


@pytest.mark.parametrize(
    ("fractions", "want"),
    [((0.75, 0.5), 87), ((0.25, 0.5), 87), ((0.25, 0.5, 0.75), 79)],
    ids=["pair", "pair-other", "three"],
)
def test_balance_worked_out_by_hand(fractions: tuple[float, ...], want: int) -> None:
    """A hundred less the standard deviation in percent."""
    used, present = (
        [np.full((2, 1), fraction) for fraction in fractions],
        [np.array([True])] * len(fractions),
    )
    deviation = pair_deviation(used, present) if len(used) == 2 else deviations(used, present)
    assert int((1 - deviation[0, 0]) * 100) == want


def scored(pod_cpu: str, pod_memory: str, used_cpu: str, used_memory: str) -> int:
    """The score of a node with 4 cores and 4Gi that holds one pod."""
    cache = Cache()
    cache.put_node(make_node("n", cpu="4", memory="4Gi"))
    there = make_pod("there", cpu=used_cpu, memory=used_memory, node="n")
    cache.observe(there, pod_requests(there))
    snapshot = Snapshot(cache)
    prepared = PLUGIN.pre_score(make_pod("p", cpu=pod_cpu, memory=pod_memory), snapshot)
    return int(PLUGIN.score(prepared.state, snapshot, one_row(0))[0])


@pytest.mark.parametrize(
    ("case", "want"),
    [
        (("2", "0", "1", "2Gi"), 75),
        (("1", "0", "1", "2Gi"), 81),
        (("0", "2Gi", "1", "2Gi"), 62),
        (("0", "4Gi", "0", "0"), 50),
        (("0", "0.5Gi", "4", "3.5Gi"), 78),
    ],
    ids=["as unbalanced as before", "mended", "upset", "upset as much as can be", "full"],
)
def test_scores_worked_out_by_hand(case: tuple[str, str, str, str], want: int) -> None:
    """75 when nothing changes, more when the pod mends the balance, less when it upsets it."""
    assert scored(*case) == want


def test_a_resource_that_no_node_has_leaves_the_balance_alone() -> None:
    """It can be asked for where somebody else looks after it; a node that comes with it later
    counts.
    """
    plugin = NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs((ResourceSpec("example.com/gpu"), ResourceSpec("cpu")))
    )
    requests = ResourceRequirements(requests={"cpu": "1", "example.com/gpu": "4"})
    pod = make_pod("p", containers=(Container(resources=requests),))
    cache = Cache()
    snapshot = Snapshot(cache)
    cache.put_node(make_node("a"))
    state = plugin.pre_score(pod, snapshot).state
    assert plugin.score(state, snapshot, snapshot.nodes.all_rows).tolist() == [75]
    allocatable: ResourceList = {"cpu": "4", "example.com/gpu": "4"}
    cache.put_node(
        msgspec.structs.replace(make_node("b"), status=NodeStatus(allocatable=allocatable))
    )
    assert plugin.score(state, snapshot, snapshot.nodes.all_rows).tolist() == [75, 56]


def test_unreadable_requests_are_a_fault() -> None:
    """Of this pod's attempt, with the field named."""
    status = PLUGIN.pre_score(make_pod("p", cpu="much"), Snapshot(Cache())).status
    assert status.code is Code.ERROR
    assert "spec.containers[0].resources.requests[cpu]: 'much'" in status.message


VIOLATIONS = {
    "weight": (ResourceSpec("cpu", 2), [Violation("resources[1].weight", 2, "must be 1")]),
    "twice": (
        ResourceSpec("memory"),
        [
            Violation(
                "resources[1].name", "memory", "must not be named twice", FieldErrorType.DUPLICATE
            )
        ],
    ),
    "negative weight": (
        ResourceSpec("cpu", -1),
        [Violation("resources[1].weight", -1, "must be 1")],
    ),
    "default weight": (ResourceSpec("cpu", 0), []),
}


@pytest.mark.parametrize("case", VIOLATIONS)
def test_violations(case: str) -> None:
    """Weights other than 1 and names that come twice."""
    spec, want = VIOLATIONS[case]
    assert NodeResourcesBalancedAllocationArgs((ResourceSpec("memory"), spec)).validate() == want


def test_no_resources_means_the_default_ones() -> None:
    """As kube-scheduler fills them in."""
    assert NodeResourcesBalancedAllocationArgs(None).validate() == []
    pod, snapshot = make_pod("p"), Snapshot(Cache())
    state = (
        NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(()))
        .pre_score(pod, snapshot)
        .state
    )
    assert [share.resource for share in state] == ["cpu", "memory"]
