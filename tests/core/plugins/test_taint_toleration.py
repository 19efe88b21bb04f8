"""TaintToleration: hard taints refuse, soft ones rank."""

from __future__ import annotations

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Toleration
from moorage.core.plugins.taint_toleration import TAINTED, TaintToleration
from tests.builders import make_node, make_pod

PLUGIN = TaintToleration()
GPU = Taint("gpu", "", "NoSchedule")
EVICTED = Taint("broken", "", "NoExecute")
SLOW = Taint("slow", "", "PreferNoSchedule")
OLD = Taint("old", "", "PreferNoSchedule")


@pytest.fixture
def snapshot() -> Snapshot:
    """Five nodes: no taint, hard, evicting, one soft, two soft."""
    cache = Cache()
    for i, taints in enumerate([None, (GPU,), (SLOW, EVICTED), (SLOW,), (SLOW, OLD)]):
        cache.put_node(make_node(f"n{i}", taints=taints))
    return Snapshot(cache)


def test_filter(snapshot: Snapshot) -> None:
    """Every hard taint must be tolerated, soft ones need not be."""
    pod = make_pod("p", tolerations=(Toleration("gpu", "Exists"),))
    assert PLUGIN.filter(pod, snapshot, snapshot.nodes.all_rows).tolist() == [0, 0, 1, 0, 0]
    assert PLUGIN.filter(make_pod("q"), snapshot, np.array([1, 4], np.intp)).tolist() == [1, 0]
    assert PLUGIN.explain(pod, 1) == ((TAINTED, ""),)


def test_score(snapshot: Snapshot) -> None:
    """Soft taints that are not tolerated are counted; a toleration of a hard effect covers none of
    them.
    """
    pod = make_pod(
        "p",
        tolerations=(
            Toleration("old", "Exists", effect="PreferNoSchedule"),
            Toleration("slow", "Exists", effect="NoSchedule"),
        ),
    )
    prepared = PLUGIN.pre_score(pod, snapshot)
    assert prepared.status == SUCCESS
    raw = PLUGIN.score(prepared.state, snapshot, snapshot.nodes.all_rows)
    assert raw.tolist() == [0, 0, 1, 1, 1]
    assert PLUGIN.normalize_score(prepared.state, raw).tolist() == [100, 100, 0, 0, 0]
    assert PLUGIN.score(
        PLUGIN.pre_score(make_pod("q"), snapshot).state, snapshot, np.array([4], np.intp)
    ).tolist() == [2]


def test_normalize_without_taints() -> None:
    """Nothing to choose between: 100 for all."""
    assert PLUGIN.normalize_score((), np.zeros(3, np.int64)).tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, make_node("n"), True),
        (None, make_node("n", taints=(EVICTED,)), False),
        (make_node("n", taints=(EVICTED,)), make_node("n", taints=(GPU, SLOW)), True),
        (make_node("n"), make_node("n", taints=(EVICTED,)), False),
        (make_node("n", taints=(SLOW,)), make_node("n"), False),
    ],
    ids=["new", "new but tainted", "tolerated now", "tainted now", "was open before"],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    """A node whose hard taints the pod tolerates and did not before."""
    event = ClusterEvent(
        EventResource.NODE, ActionType.UPDATE_NODE_TAINT if old else ActionType.ADD, old, new
    )
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert (
        wake.hint(make_pod("p", tolerations=(Toleration("gpu", "Exists"),)), event, Store()) is want
    )


def test_own_tolerations_wake() -> None:
    """Any change of the pod's own tolerations."""
    event = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is None
