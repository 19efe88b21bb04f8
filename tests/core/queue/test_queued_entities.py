"""Queued entities: a group is counted once, where the member is that comes closest to being tried,
and whatever moves agrees with a count of all pods.
"""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL, membership_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_entities import POD, POD_GROUP, WAITING_STATES, QueuedEntities
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from tests.core.queue.helpers import a_pod

ACTIVE, BACKOFF, UNSCHEDULABLE = WAITING_STATES[:3]
IN_FLIGHT = QueueState.IN_FLIGHT
STEPS = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from([*QueueState, None]), st.sampled_from(["", "g", "h"])
    ),
    max_size=60,
)


def entry(name: str, group: str = "", scheduler: str = "test") -> QueuedPodInfo:
    """A pod of a group, or of none."""
    return QueuedPodInfo(of_group(a_pod(name, scheduler), group), scheduler, 0.0)


def of_group(pod: Pod, group: str) -> Pod:
    """The pod, in this group, or in none."""
    labels = {COSCHEDULING_LABEL: group} if group else {}
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
    )


def moved(entities: QueuedEntities, one: QueuedPodInfo, to: QueueState | None) -> str:
    """What came with it."""
    one.state = to
    return entities.record(one)


def naive(entries: list[QueuedPodInfo]) -> dict[tuple[str, str], int]:
    """The counts, from all entries."""
    found: Counter[tuple[str, str]] = Counter()
    groups: dict[object, set[QueueState]] = {}
    for one in entries:
        if one.state is None:
            continue
        if one.group is None:
            found[one.state.value, POD] += 1
        else:
            groups.setdefault((one.group, one.scheduler_name), set()).add(one.state)
    for states in groups.values():
        first = next((state for state in WAITING_STATES if state in states), None)
        if first is not None:
            found[first.value, POD_GROUP] += 1
    return {
        (state.value, kind): found[state.value, kind]
        for state in WAITING_STATES
        for kind in (POD, POD_GROUP)
    }


@given(STEPS)
def test_agrees_with_a_count(steps: list[tuple[int, QueueState | None, str]]) -> None:
    """After any moves, into other groups and out of them, too; of two profiles."""
    entities = QueuedEntities()
    entries = [entry(str(i), scheduler="test" if i < 4 else "other") for i in range(6)]
    for i, state, group in steps:
        one = entries[i]
        one.pod = of_group(one.pod, group)
        one.membership = membership_of(one.pod)
        moved(entities, one, state)
        pods = Counter(other.state for other in entries if other.state is not None)
        assert entities.counts(pods) == naive(entries)
    for one in entries:
        moved(entities, one, None)
    assert not any(vars(entities).values()), "nothing is kept of what is gone"


def test_pods_of_no_group_come_themselves() -> None:
    """With each move."""
    entities, one = QueuedEntities(), entry("a")
    assert [moved(entities, one, to) for to in (ACTIVE, UNSCHEDULABLE)] == [POD, POD]


def test_a_group_comes_with_the_first_of_its_members() -> None:
    """The others only follow; those that fall behind, or that wait beside it, bring nothing."""
    entities, a, b = QueuedEntities(), entry("a", "g"), entry("b", "g")
    told = [moved(entities, one, ACTIVE) for one in (a, b)]
    told += [moved(entities, one, IN_FLIGHT) for one in (a, b)]
    told += [moved(entities, one, UNSCHEDULABLE) for one in (a, b)]
    told += [moved(entities, one, BACKOFF) for one in (a, b)]
    told += [moved(entities, b, ACTIVE), moved(entities, a, UNSCHEDULABLE)]
    alone = entry("c", "g", scheduler="other")
    assert told == [POD_GROUP, "", "", "", POD_GROUP, "", POD_GROUP, "", POD_GROUP, ""]
    assert moved(entities, alone, ACTIVE) == POD_GROUP
