"""A pod that is refused again and again takes no turns from the others."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.core.queue.helpers import NODE_ADDED, Rig

COST = st.floats(0.001, 0.5)
"""Seconds that an attempt takes: less than the shortest backoff."""


@given(st.integers(1, 30), st.lists(COST, min_size=61, max_size=61))
def test_others_go_between_its_attempts(others: int, costs: list[float]) -> None:
    """A pod of the highest priority that never fits, freed by an event after every attempt, still
    lets others have their turn.

    It is never popped twice in a row while others are ready, and not before its backoff is over.
    """
    rig = Rig()
    rig.add("hopeless", priority=1000)
    for i in range(others):
        rig.add(str(i))
    popped: list[str] = []
    tried_at: list[float] = []
    for cost in costs:
        name = rig.pop()
        rig.now += cost
        assert name is not None
        popped.append(name)
        if name == "hopeless":
            tried_at.append(rig.now)
            rig.refuse(name, "Size")
            rig.wake(NODE_ADDED)
        else:
            rig.queue.done(f"uid-{name}")
        if not rig.queue.totals().active:
            break
    assert ("hopeless", "hopeless") not in itertools.pairwise(popped)
    assert len(popped) <= 2 * others + 1
    assert [name for name in popped if name != "hopeless"] == [str(i) for i in range(others)]
    for i, (earlier, later) in enumerate(itertools.pairwise(tried_at)):
        assert later - earlier >= min(2.0**i, 10.0)


@given(st.integers(1, 25), st.integers(1, 10))
def test_a_crowd_of_them_leaves_turns(crowd: int, others: int) -> None:
    """As many such pods as can be tried in half of the longest backoff, all freed all the time,
    leave the others their turns.

    Once their backoffs have grown, half of all turns are left.
    """
    rig = Rig()
    for i in range(crowd):
        rig.add(f"hopeless-{i}", priority=1000)
    for i in range(others):
        rig.add(str(i))
    while rig.now < 60:
        name = rig.pop(early=False)
        rig.now += 0.2
        if name is not None and name.startswith("hopeless"):
            rig.refuse(name, "Size")
        elif name is not None:
            rig.queue.done(f"uid-{name}")
        rig.wake(NODE_ADDED)
    assert rig.queue.totals().backoff + rig.queue.totals().active == crowd


@given(st.lists(st.sampled_from(["Size", ""]), min_size=1, max_size=60), st.integers(2, 8))
def test_equals_take_turns(verdicts: list[str], pods: int) -> None:
    """Among pods of one priority that are ready, none is tried again before another that has waited
    longer.
    """
    rig = Rig()
    for i in range(pods):
        rig.add(str(i))
        rig.now += 0.1
    for verdict in verdicts:
        ready = [
            entry.timestamp
            for entry in rig.queue.entries()
            if entry.state is not None and entry.state.value == "active"
        ]
        name = rig.pop(early=False)
        rig.now += 0.1
        if name is not None:
            assert rig.entry(name).timestamp <= min(ready, default=rig.now)
            rig.refuse(name, *filter(None, [verdict]))
            rig.wake(NODE_ADDED)
        else:
            rig.pass_time(1)
