"""Seats: where a group's members would be without those that room is held against."""

from __future__ import annotations

import dataclasses
import functools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_seats import seats_for
from moorage.core.objects.pods import Pod
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION, TRIO, context

PRIORITY = 5
BEFORE, THEN, AFTER = (f"2026-11-30T0{hour}:00:00Z" for hour in (6, 7, 8))


def pod(name: str, node: str = "", priority: int = PRIORITY, created: str = THEN) -> Pod:
    """One that fills a node."""
    made = make_pod(name, cpu="4", node=node, priority=priority)
    meta = msgspec.structs.replace(made.metadata, creation_timestamp=created)
    return msgspec.structs.replace(made, metadata=meta)


PAIR = GroupAttempt(
    dataclasses.replace(TRIO, min_count=2, priority=PRIORITY), [pod("a"), pod("b")], holds=True
)


def seats(there: CycleContext) -> dict[str, str]:
    """Of the pair."""
    return dict(finished(seats_for(PAIR, REVISION, there, functools.partial(fork, there))))


def full(there: list[tuple[int, str]]) -> CycleContext:
    """A node for each pod of this priority and age, which is full of it."""
    nodes = [make_node(f"n{i}") for i in range(len(there))]
    return context(nodes, [pod(f"p{i}", f"n{i}", *one) for i, one in enumerate(there)])


@given(st.lists(st.tuples(st.sampled_from([4, 5, 6]), st.sampled_from([BEFORE, THEN, AFTER]))))
def test_against_whom_room_is_held(there: list[tuple[int, str]]) -> None:
    """Those of lower priority, and younger ones of the same; where that is not enough, nobody."""
    cluster = full(there)
    lesser = {
        f"n{i}"
        for i, (priority, created) in enumerate(there)
        if priority < PRIORITY or (priority == PRIORITY and created == AFTER)
    }
    found = seats(cluster)
    assert len(found) == (2 if len(lesser) >= 2 else 0)
    assert len({*found.values()} & lesser) == len(found)
    assert [record.pod.metadata.name for record in cluster.cache.pod_infos()] == [
        f"p{i}" for i in range(len(there))
    ]


@pytest.mark.parametrize(
    ("held", "stays"),
    [
        pytest.param({"a": "n2", "b": "n3"}, True, id="for both"),
        pytest.param({"a": "n2"}, False, id="for one"),
        pytest.param({"a": "n2", "b": "gone"}, False, id="on a node that is gone"),
    ],
)
def test_room_that_is_held_for_all_stays(held: dict[str, str], stays: bool) -> None:
    """Even where members would go elsewhere now."""
    cluster = full([(4, THEN), (4, THEN), (6, THEN), (6, THEN)])
    for name, node in held.items():
        cluster.cache.nominations.nominate(pod(name), node, held=True)
    assert (seats(cluster) == {f"uid-{name}": node for name, node in held.items()}) is stays
    assert stays or {*seats(cluster).values()} == {"n0", "n1"}


def test_a_nomination_for_victims_is_not_held() -> None:
    """It says nothing of where room is to be held."""
    cluster = full([(4, THEN), (4, THEN), (6, THEN), (6, THEN)])
    for name, node in {"a": "n2", "b": "n3"}.items():
        cluster.cache.nominations.nominate(pod(name), node)
    assert {*seats(cluster).values()} == {"n0", "n1"}
