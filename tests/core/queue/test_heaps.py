"""A heap from which any entry can be taken out agrees with a sorted list, and its garbage is
bounded.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.queue.heaps import LazyHeap, TurnHeap
from moorage.core.queue.queued_pod import QueuedPodInfo
from tests.core.queue.helpers import a_pod

ENTRIES = [QueuedPodInfo(a_pod(str(i)), "test", 0.0) for i in range(6)]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["push", "discard", "pop"]), st.sampled_from(ENTRIES), st.integers(0, 3)
    ),
    max_size=60,
)


@given(STEPS)
def test_agrees_with_a_sorted_list(steps: list[tuple[str, QueuedPodInfo, int]]) -> None:
    """After any pushes (again, with another key, too), removals and pops the first is the lowest
    key, the earlier among equals.
    """
    heap = LazyHeap()
    model: dict[str, tuple[tuple[float, ...], int]] = {}
    for i, (step, entry, number) in enumerate(steps):
        if step == "push":
            heap.push((number,), entry)
            if model.get(entry.uid, ((-1,), 0))[0] != (number,):
                model[entry.uid] = ((number,), i)
        elif step == "discard":
            heap.discard(entry)
            model.pop(entry.uid, None)
        elif (first := heap.first()) is not None:
            heap.discard(first)
            del model[first.uid]
        want = min(model, key=lambda uid: model[uid], default=None)
        got = heap.first()
        assert (got.uid if got is not None else None) == want
        assert len(heap) == len(model)


def test_garbage_is_bounded() -> None:
    """Ten thousand changes of key leave no more than about as many dead items as live ones."""
    heap = LazyHeap()
    for i in range(10_000):
        for entry in ENTRIES:
            heap.push((i,), entry)
    assert len(heap._items) < 100


def test_discarding_leaves_nothing() -> None:
    """What was taken out is let go of in the end, without any push or pop."""
    heap = LazyHeap()
    entries = [QueuedPodInfo(a_pod(str(i)), "test", 0.0) for i in range(1000)]
    for entry in entries:
        heap.push((entry.timestamp,), entry)
    for entry in entries:
        heap.discard(entry)
    assert len(heap._items) < 100
    assert heap.first() is None


def test_passing_over_costs_nothing() -> None:
    """Entries of a profile that can take none are not looked at; their order stays."""
    heap = TurnHeap()
    full = [QueuedPodInfo(a_pod(f"full{i}", "full"), "full", 0.0) for i in range(1000)]
    for i, entry in enumerate(full):
        heap.push((i,), entry)
    other = QueuedPodInfo(a_pod("other", "other"), "other", 0.0)
    heap.push((2000,), other)
    assert heap.first({"full"}) is other
    heap.discard(full[0])
    assert heap.first() is full[1]
    heap.push((3000,), full[1])
    assert heap.first() is full[2]
    for entry in full[2:]:
        heap.discard(entry)
    assert heap.first() is other
    assert heap.first(late={"other": 1.0}) is full[1]
    heap.discard(full[1])
    assert heap.first({"other"}) is None
    assert list(heap._heaps) == ["other"]


def test_equals_of_several_profiles_go_in_the_order_in_which_they_came() -> None:
    """However many there are of each."""
    heap, names = TurnHeap(), ["b", "a", "a", "b", "a"]
    entries = [QueuedPodInfo(a_pod(f"p{i}", name), name, 0.0) for i, name in enumerate(names)]
    for entry in entries:
        heap.push((1,), entry)
    for entry in entries:
        assert heap.first() is entry
        heap.discard(entry)
