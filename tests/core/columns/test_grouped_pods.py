"""Grouped pods: who goes with whom, with which priority, and which rows depend on each other,
whatever came and went.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.grouped_pods import GroupedPods
from moorage.core.columns.priorities import PriorityTable
from moorage.core.columns.store import Store
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node

ROWS, LEVELS = 4, (-1, 0, 3, 7)
CHANGES = st.one_of(
    st.tuples(
        st.just("pod"),
        st.integers(0, 5),
        st.sampled_from([f"n{i}" for i in range(ROWS + 1)]),
        st.sampled_from([None, 0, 3]),
        st.sampled_from(["", "t0", "t1"]),
    ),
    st.tuples(st.just("gone"), st.integers(0, 5)),
    st.tuples(
        st.just("group"),
        st.sampled_from(["t0", "t1"]),
        st.sampled_from(["all", "single", ""]),
        st.sampled_from([None, -1, 5]),
    ),
    st.tuples(st.just("node"), st.integers(0, ROWS - 1), st.booleans()),
)


def a_pod(number: int, node: str, priority: int | None, group: str, start: str = "") -> Pod:
    """A pod on a node."""
    meta = {"name": f"p{number}", "namespace": "d", "uid": f"u{number}"}
    spec: dict[str, Any] = {
        "nodeName": node,
        "priority": priority,
        "schedulingGroup": {"podGroupName": group} if group else None,
    }
    return msgspec.convert(
        {"metadata": meta, "spec": spec, "status": {"startTime": start or None}}, Pod
    )


def a_group(name: str, mode: str, priority: int | None = None) -> PodGroup:
    """A PodGroup."""
    spec: dict[str, Any] = {"priority": priority, "disruptionMode": {mode: {}}}
    return msgspec.convert({"metadata": {"name": name, "namespace": "d"}, "spec": spec}, PodGroup)


def change(cache: Cache, what: str, *given: Any) -> None:
    """Tell a cluster."""
    match what, given:
        case "pod", _:
            pod = a_pod(*given)
            cache.observe(pod, pod_requests(pod))
        case "gone", (number,):
            cache.remove(f"u{number}")
        case "group", (name, "", _):
            cache.store.remove(PodGroup, f"d/{name}")
        case "group", _:
            cache.store.put(a_group(*given))
        case _, (number, True):
            cache.put_node(make_node(f"n{number}"))
        case _, (number, _):
            cache.remove_node(f"n{number}")


def cluster(*changes: tuple[Any, ...]) -> Cache:
    """Four nodes, and what came then."""
    cache = Cache()
    for i in range(ROWS):
        cache.put_node(make_node(f"n{i}"))
    for one in changes:
        change(cache, *one)
    return cache


# ---- naively -------------------------------------------------------------------------------------


def group_of(pod: Pod, cache: Cache) -> PodGroup | None:
    """The PodGroup of a pod."""
    named = pod.spec.scheduling_group
    return cache.store.objects(PodGroup).get(f"d/{named.pod_group_name}") if named else None


def placed(cache: Cache) -> list[tuple[Pod, str]]:
    """Pods on nodes that are there."""
    return [
        (info.pod, info.node)
        for info in cache.pod_infos()
        if info.node in cache.nodes.row_of and isinstance(info.pod, Pod)
    ]


def unit_of(pod: Pod, cache: Cache) -> set[str]:
    """Who goes with a pod."""
    group = group_of(pod, cache)
    if group is None or "all=All" not in str(group.spec.disruption_mode):
        return set()
    return {one.metadata.uid for one, _ in placed(cache) if group_of(one, cache) is group}


def outlook(cache: Cache) -> dict[str, Any]:
    """By node: all that preemption on it reads of groups, but for what its own pods tell."""
    found: dict[str, Any] = {}
    for pod, node in placed(cache):
        group = group_of(pod, cache)
        said = None if group is None else (group.spec.priority, group.spec.disruption_mode)
        unit = [(one, at) for one, at in placed(cache) if one.metadata.uid in unit_of(pod, cache)]
        found.setdefault(node, []).append((said, unit))
    return found


# ---- the same ------------------------------------------------------------------------------------


@given(st.lists(CHANGES, max_size=20))
def test_agrees_with_looking_at_all_pods(changes: list[tuple[Any, ...]]) -> None:
    """Priorities and units; and rows are told of which the outlook is another, unless their own
    pods changed.
    """
    cache = cluster()
    grouped = cache.grouped_pods
    for one in changes:
        version, before, mine = grouped.version, outlook(cache), own(cache)
        change(cache, *one)
        told = {cache.nodes.names[row] for row in grouped.rows_since(version)}
        after, present = outlook(cache), own(cache)
        for node in cache.nodes.row_of:
            if before.get(node) != after.get(node) and mine.get(node) == present.get(node):
                assert node in told
        check(cache)


def own(cache: Cache) -> dict[str, list[Pod]]:
    """The pods of each node."""
    found: dict[str, list[Pod]] = {}
    for pod, node in placed(cache):
        found.setdefault(node, []).append(pod)
    return found


def check(cache: Cache) -> None:
    """The tables say what the pods do."""
    for pod, _ in placed(cache):
        assert set(cache.grouped_pods.together_with(pod)) == unit_of(pod, cache)
    levels: dict[str, list[int]] = {}
    for pod, node in placed(cache):
        group = group_of(pod, cache)
        chosen = pod.spec.priority if group is None else group.spec.priority
        levels.setdefault(node, []).append(chosen or 0)
        assert cache.priorities.level_of(pod) == (chosen or 0)
    for level in LEVELS:
        below = cache.priorities.below(level, cache.nodes.rows)
        for node, row in cache.nodes.row_of.items():
            assert below[row] == any(each < level for each in levels.get(node, ()))
    members = {pod.spec.scheduling_group for pod, _ in placed(cache)} - {None}
    assert len(cache.grouped_pods) == len(members)


TEAM = (("group", "t0", "all", 3), ("pod", 0, "n0", 0, "t0"), ("pod", 1, "n1", 0, "t0"))


@pytest.mark.parametrize(
    ("then", "told"),
    [
        pytest.param(a_pod(0, "n0", 0, "t0", "2026-01-01T00:00:00Z"), {0, 1}, id="one starts"),
        pytest.param(a_pod(7, "n2", 0, ""), set(), id="a pod that is in none"),
        pytest.param(a_pod(7, "n2", 0, "t1"), set(), id="one of another group"),
    ],
)
def test_a_pod_that_changes_is_told_for_all_that_go_with_it(then: Pod, told: set[int]) -> None:
    """Also what is not counted anywhere; nothing is told of it that nobody reads."""
    cache = cluster(*TEAM)
    version = cache.grouped_pods.version
    cache.observe(then, pod_requests(then))
    assert cache.grouped_pods.rows_since(version) == told
    assert cache.grouped_pods.rows_since(cache.grouped_pods.version) == set()


def test_one_that_will_not_go_is_told() -> None:
    """It is left out of its unit."""
    cache = cluster(*TEAM)
    version = cache.grouped_pods.version
    cache.mark_stuck("u1")
    assert cache.grouped_pods.rows_since(version) == {0, 1}


def test_what_a_group_says_of_other_things_does_not_matter() -> None:
    """Its status is written often."""
    cache = cluster(*TEAM)
    version = cache.grouped_pods.version
    group = a_group("t0", "all", 3)
    meta = msgspec.structs.replace(group.metadata, generation=2)
    cache.store.put(msgspec.structs.replace(group, metadata=meta))
    assert cache.grouped_pods.version == version


def test_what_cannot_be_read_is_in_no_group() -> None:
    """Nobody knows what it names."""
    store = Store()
    grouped = GroupedPods(store, PriorityTable())
    grouped.touch(PartialObject(ObjectMeta("a")))
    assert (len(grouped), grouped.version) == (0, 0)
