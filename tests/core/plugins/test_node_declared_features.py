"""NodeDeclaredFeatures keeps pods off nodes whose kubelets can't do what they need."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import FilterPlugin, PreFilterPlugin
from moorage.core.framework.status import Code
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Container, Pod, RestartRule
from moorage.core.plugins.node_declared_features import (
    NOT_DECLARED,
    NodeDeclaredFeatures,
    required_features,
)
from tests.builders import make_node, make_pod

PLUGIN = NodeDeclaredFeatures()
_protocols: tuple[FilterPlugin, PreFilterPlugin] = (PLUGIN, PLUGIN)
RESTARTS, ON_HOST = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
RESTARTING = (
    Container(
        "c", restart_policy_rules=(RestartRule("Restart"), RestartRule("RestartAllContainers"))
    ),
)
NEEDY = make_pod("needy", containers=RESTARTING)


def declaring(name: str, *features: str) -> Node:
    """A node whose kubelet says this of itself."""
    node = make_node(name)
    return msgspec.structs.replace(
        node, status=msgspec.structs.replace(node.status, declared_features=features or None)
    )


@pytest.mark.parametrize(
    ("pod", "features"),
    [
        (make_pod("p"), set()),
        (make_pod("p", host_network=True), set()),
        (make_pod("p", host_users=False), set()),
        (make_pod("p", host_network=True, host_users=True), set()),
        (make_pod("p", host_network=True, host_users=False), {ON_HOST}),
        (NEEDY, {RESTARTS}),
        (
            make_pod("p", init_containers=RESTARTING, host_network=True, host_users=False),
            {RESTARTS, ON_HOST},
        ),
        (
            make_pod(
                "p", containers=(Container("c", restart_policy_rules=(RestartRule("Restart"),)),)
            ),
            set(),
        ),
    ],
    ids=[
        "nothing",
        "host network",
        "users",
        "host users",
        "both",
        "restarts",
        "all",
        "other rules",
    ],
)
def test_what_pods_need(pod: Pod, features: set[str]) -> None:
    """By the pod's spec; most need nothing."""
    assert required_features(pod) == features


def test_filter_and_what_it_reads() -> None:
    """Nodes that declare all of it pass, and are asked again when they declare something else."""
    cache = Cache()
    for node in [
        declaring("n0"),
        declaring("n1", RESTARTS, "more"),
        *(declaring(f"m{i}") for i in range(4)),
    ]:
        cache.put_node(node)
    snapshot = Snapshot(cache)
    column = PluginResult(PLUGIN, NEEDY, PLUGIN.filter, PLUGIN.pre_filter)
    column.prepare(NEEDY, snapshot)
    column.refresh(snapshot)
    assert column.values[:2].tolist() == [1, 0]
    cache.put_node(declaring("n0", RESTARTS))
    cache.put_node(declaring("n1", ON_HOST))
    column.refresh(snapshot)
    assert column.values[:3].tolist() == [0, 1, 1]
    cache.remove_node("n0")
    assert PLUGIN.filter(column.prepared.state, snapshot, np.array([0, 1])).tolist() == [1, 1]
    assert PLUGIN.explain(column.prepared.state, 1) == ((NOT_DECLARED, ""),)
    assert PLUGIN.pre_filter(make_pod("p"), snapshot).status.code is Code.SKIP


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, declaring("n"), True),
        (declaring("n"), declaring("n", RESTARTS), True),
        (declaring("n", RESTARTS), declaring("n", RESTARTS), False),
    ],
    ids=["new", "declares more", "same"],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    """New ones, and those that say something else."""
    action = ActionType.UPDATE_NODE_DECLARED_FEATURE if old else ActionType.ADD
    assert _hint(ClusterEvent(EventResource.NODE, action, old, new)) is want


@pytest.mark.parametrize(
    ("new", "want"),
    [(NEEDY, False), (make_pod("needy"), True)],
    ids=["same", "needs less"],
)
def test_pods_that_wake(new: Pod, want: bool) -> None:
    """The pod itself, when it needs something else now."""
    assert _hint(ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE, NEEDY, new)) is want


def _hint(event: ClusterEvent) -> bool:
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    return wake.hint(NEEDY, event, Store())
