"""NodeUnschedulable keeps pods off cordoned nodes."""

from __future__ import annotations

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import FilterPlugin
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pods import Pod, Toleration
from moorage.core.plugins.node_unschedulable import CORDONED, NodeUnschedulable
from tests.builders import make_node, make_pod

PLUGIN: FilterPlugin = NodeUnschedulable()
OPEN, CORDONED_NODE = make_node("open"), make_node("cordoned", unschedulable=True)
TOLERANT = make_pod(
    "tolerant", tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),)
)
STRICT = make_pod(
    "strict", tolerations=(Toleration("node.kubernetes.io/unschedulable", "Equal", "true"),)
)


def test_filter() -> None:
    """Cordoned nodes are refused unless the pod tolerates it; a value does not match the cordon's
    empty one.
    """
    cache = Cache()
    for node in (OPEN, CORDONED_NODE):
        cache.put_node(node)
    snapshot = Snapshot(cache)
    assert PLUGIN.filter(STRICT, snapshot, snapshot.nodes.all_rows).tolist() == [0, 1]
    assert PLUGIN.filter(STRICT, snapshot, np.array([1], np.intp)).tolist() == [1]
    assert PLUGIN.filter(TOLERANT, snapshot, snapshot.nodes.all_rows).tolist() == [0, 0]
    assert PLUGIN.explain(STRICT, 1) == ((CORDONED, ""),)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, OPEN, True),
        (None, CORDONED_NODE, False),
        (CORDONED_NODE, OPEN, True),
        (OPEN, CORDONED_NODE, False),
        (OPEN, make_node("open", taints=(Taint("a"),)), False),
    ],
    ids=["new", "new but cordoned", "uncordoned", "cordoned", "other taints"],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    """A node that takes pods and did not before."""
    action = ActionType.UPDATE_NODE_TAINT if old else ActionType.ADD
    event = ClusterEvent(EventResource.NODE, action, old, new)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert wake.hint(STRICT, event, Store()) is want


@pytest.mark.parametrize(
    ("changed", "want"),
    [(TOLERANT, True), (STRICT, False)],
    ids=["now", "still not"],
)
def test_tolerations_that_wake(changed: Pod, want: bool) -> None:
    """The pod itself, when it tolerates a cordon now."""
    action = ActionType.UPDATE_POD_TOLERATION
    event = ClusterEvent(EventResource.TARGET_POD, action, changed, changed)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert wake.hint(STRICT, event, Store()) is want
