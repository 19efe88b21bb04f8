"""Placed members of a group: they are what a list of them is, and an attempt does not go through
them to count.
"""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.store import Store
from moorage.core.cycle.group_attempt import GroupAttempt, attempt_of
from moorage.core.cycle.group_surroundings import GroupNews
from moorage.core.cycle.group_validation import validate
from moorage.core.cycle.placed_members import PlacedMembers, kinds_of, uids_of, without
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import API, GroupKey, PodGroup
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueuedPodInfo
from tests.builders import make_node, make_pod

GROUP = GroupSpec(GroupKey(API, "default", "g"), 1, 0)


class Counting(Cache):
    """Counts who is looked up."""

    looked_up = 0

    def pod_info(self, uid: str) -> PodInfo | None:
        """One more."""
        self.looked_up += 1
        return super().pod_info(uid)


def member(name: str, node: str = "", priority: int = 0, policy: str | None = None) -> Pod:
    """A pod of group g."""
    return make_pod(
        name,
        node=node,
        priority=priority,
        preemption_policy=policy,
        scheduling_group=PodSchedulingGroup("g"),
    )


def cluster(*pods: Pod) -> Counting:
    """These are on node n."""
    cache = Counting(Store(INDEXES))
    cache.put_node(make_node("n"))
    for pod in pods:
        cache.observe(pod, pod_requests(pod))
    return cache


members = st.lists(
    st.builds(
        lambda name, priority, policy: member(name, "n", priority, policy),
        st.sampled_from("abcde"),
        st.sampled_from([0, 5]),
        st.sampled_from([None, "Never", "PreemptLowerPriority"]),
    ),
    unique_by=lambda pod: pod.metadata.uid,
)


@given(members, st.sets(st.sampled_from(["uid-a", "uid-b", "uid-x"])))
def test_they_are_as_a_list_of_them(there: list[Pod], lost: Collection[str]) -> None:
    """UIDs of pods that have no node are left out; the same is wrong with both."""
    listed = [(pod, "n") for pod in there]
    uids = [pod.metadata.uid for pod in there]
    placed = PlacedMembers.of([*uids, "uid-nobody"], cluster(*there))
    assert [*placed] == listed
    assert (len(placed), bool(placed)) == (len(listed), bool(listed))
    assert placed[1:] == listed[1:]
    assert uids_of(placed) == uids_of(listed) == tuple(uids)
    assert set(kinds_of(placed)) == set(kinds_of(listed))
    assert [*without(placed, lost)] == without(listed, lost)
    waiting = [member("m")]
    of_list, of_placed = (GroupAttempt(GROUP, waiting, one) for one in (listed, placed))
    assert validate(of_list) == validate(of_placed)
    news = GroupNews(frozenset(lost), None)
    assert [*of_list.by_now(news).scheduled] == [*of_placed.by_now(news).scheduled]


def test_those_that_are_gone_by_then_still_count() -> None:
    """They are counted as of the beginning, and no pod is shown for them."""
    cache = cluster(member("a", "n"), member("b", "n"))
    placed = PlacedMembers.of(["uid-a", "uid-b"], cache)
    cache.remove("uid-a")
    assert len(placed) == 2
    assert [pod.metadata.name for pod, _ in placed] == ["b"]


@pytest.mark.parametrize("number", [2, 40])
def test_an_attempt_looks_up_nobody(number: int) -> None:
    """However many are placed: they are counted as they come and go."""
    there = [member(f"r{i}", "n") for i in range(number)]
    cache = cluster(*there)
    groups = PodGroupTracker(cache.store)
    cache.store.put(PodGroup(ObjectMeta("g", "default", "g")))
    groups.all_listed()
    for pod in there:
        groups.placed(pod, 1)
    entry = QueuedPodInfo(member("m"), "test", 0.0)
    groups.record_move(entry)
    cache.looked_up = 0
    attempt = attempt_of([entry], groups, cache)
    assert attempt is not None
    assert validate(attempt).reasons == ()
    assert (len(attempt.scheduled), cache.looked_up) == (number, 0)
    assert len([*attempt.scheduled]) == cache.looked_up == number
