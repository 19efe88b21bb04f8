"""Of the nominated pods only those are asked about of whom something is new."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import ChangedRows
from moorage.core.columns.nominations import MAX_NOMINATED_ELSEWHERE
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.evaluation.far_nominations import FarNominations
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.objects.pods import Pod, PodStatus
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

WAITING = make_pod("waiting", priority=1)
NO_ROWS = np.zeros(0, np.intp)


class Asked:
    """A filter plugin that is concerned with pods of one name, and remembers whom it was asked
    about.
    """

    name: ClassVar[str] = "Asked"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def __init__(self) -> None:
        self.pods: list[str] = []

    def adjust(self, state: Any, other: Pod, row: int, sign: int, snapshot: Snapshot) -> Any:
        """Another state for the one that it is concerned with."""
        self.pods.append(other.metadata.name)
        return state if other.metadata.name != "concerned" else object()


class World:
    """Nodes n0, n1, …, to each of which the pod with its number is nominated."""

    def __init__(self, nominated: int) -> None:
        self.cache, self.plugin = Cache(), Asked()
        self.snapshot = Snapshot(self.cache)
        result = PluginResult(self.plugin, WAITING, lambda *_: NO_ROWS, None)
        self.far = FarNominations({"Asked": result})
        for i in range(nominated):
            self.nominate(make_pod(f"p{i}", priority=5), f"n{i}")

    def nominate(self, pod: Pod, node: str) -> None:
        """This pod too; the node is there from now on."""
        self.cache.put_node(make_node(node))
        self.cache.nominations.add(pod, node, pod_requests(pod))

    def find(self, changed: ChangedRows = None) -> list[str]:
        """The pods that matter."""
        self.plugin.pods.clear()
        found = self.far.find(WAITING, self.snapshot, changed)
        return [pod.metadata.name for pods in found.values() for pod, _ in pods]


def nothing(_world: World) -> ChangedRows:
    """All is as it was."""
    return NO_ROWS


def another(world: World) -> ChangedRows:
    """One more is nominated."""
    world.nominate(make_pod("new", priority=5), "m")
    return np.array([world.snapshot.nodes.row_of["m"]])


def a_node(world: World) -> ChangedRows:
    """The node of one is another."""
    return np.array([world.snapshot.nodes.row_of["n1"]])


def a_status(world: World) -> ChangedRows:
    """One is the same but for its status."""
    status = PodStatus(nominated_node_name="n1")
    world.nominate(msgspec.structs.replace(make_pod("p1", priority=5), status=status), "n1")
    return NO_ROWS


def everything(_world: World) -> ChangedRows:
    """Nobody knows what."""
    return None


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (nothing, []),
        (another, ["new"]),
        (a_node, ["p1"]),
        (a_status, ["p1"]),
        (everything, ["p0", "p1", "p2"]),
    ],
)
def test_who_is_asked_about_after(change: Callable[[World], ChangedRows], asked: list[str]) -> None:
    """Those alone that the change may make a difference for."""
    world = World(3)
    assert world.find() == []
    assert world.plugin.pods == ["p0", "p1", "p2"]
    assert world.find(change(world)) == []
    assert world.plugin.pods == asked
    assert world.find(NO_ROWS) == []
    assert world.plugin.pods == []


def test_whom_a_plugin_is_concerned_with_is_found_each_time() -> None:
    """Nobody remembers its state."""
    world = World(2)
    world.nominate(make_pod("concerned", priority=5), "m")
    assert [world.find() for _ in range(2)] == [["concerned"]] * 2
    assert world.find(NO_ROWS) == ["concerned"]


def test_only_the_most_important_ones_on_nodes_that_are_there_count() -> None:
    """However many are nominated, and come and go; those that are gone are forgotten."""
    world = World(0)
    lost = make_pod("concerned", priority=9)
    world.cache.nominations.add(lost, "nowhere", pod_requests(lost))
    pods = [make_pod(f"p{i}", priority=5) for i in range(5 * MAX_NOMINATED_ELSEWHERE)]
    for i, pod in enumerate(pods):
        world.nominate(pod, f"n{i}")
    assert world.find() == []
    assert len(world.plugin.pods) == MAX_NOMINATED_ELSEWHERE
    for pod in pods[: 4 * MAX_NOMINATED_ELSEWHERE]:
        world.cache.nominations.remove(pod.metadata.uid)
        assert world.find(NO_ROWS) == []
    assert sys.getrefcount(pods[0]) == sys.getrefcount(object()) + 1
    world.nominate(lost, "n0")
    assert world.find(NO_ROWS) == ["concerned"]
