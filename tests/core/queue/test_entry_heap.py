"""A heap from which any entry can be taken out agrees with a sorted list, and its garbage is
bounded.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.framework.interfaces import SortKey
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.queued_pod import QueuedPodInfo
from tests.core.queue.helpers import a_pod

NAMES = ("a", "b", "c")
ENTRIES = [QueuedPodInfo(a_pod(str(i)), NAMES[i % 3], 0.0) for i in range(6)]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "discard", "pop"]),
        st.sampled_from(ENTRIES),
        st.integers(0, 3),
        st.sets(st.sampled_from(NAMES)),
    ),
    max_size=60,
)


def by_timestamp(entry: QueuedPodInfo) -> SortKey:
    """A key."""
    return (entry.timestamp,)


def put(heap: EntryHeap, entry: QueuedPodInfo, key: float) -> None:
    """Put an entry in with this key."""
    entry.timestamp = key
    heap.add(entry)


def dead_items(heap: EntryHeap) -> int:
    """How many items are kept of entries that are not in."""
    return sum(map(len, heap._heaps.values())) - len(heap)


@given(STEPS)
def test_agrees_with_a_sorted_list(
    steps: list[tuple[str, QueuedPodInfo, int, set[str]]],
) -> None:
    """After any additions (again, with another key, too), removals and pops the first is the lowest
    key of the profiles that are not full, the earlier among equals.
    """
    heap = EntryHeap(by_timestamp)
    model: dict[str, tuple[float, int, QueuedPodInfo]] = {}
    for i, (step, entry, key, full) in enumerate(steps):
        if step == "add":
            put(heap, entry, key)
            if model.get(entry.uid, (-1,))[0] != key:
                model[entry.uid] = key, i, entry
        elif step == "discard":
            heap.discard(entry)
            model.pop(entry.uid, None)
        elif (first := heap.first(full)) is not None:
            heap.discard(first)
            del model[first.uid]
        for passed_over in ((), full):
            ready = [item for item in model.values() if item[2].scheduler_name not in passed_over]
            assert heap.first(passed_over) is min(ready, default=(0, 0, None))[2]
        assert len(heap) == len(model)
        assert heap._dead == dead_items(heap)


def test_garbage_is_bounded() -> None:
    """Ten thousand changes of key leave no more than about as many dead items as live ones."""
    heap = EntryHeap(by_timestamp)
    for i in range(10_000):
        for entry in ENTRIES:
            put(heap, entry, i)
    assert dead_items(heap) < 100


def test_discarding_leaves_nothing() -> None:
    """What was taken out is let go of in the end, without any addition or pop."""
    heap = EntryHeap(by_timestamp)
    entries = [QueuedPodInfo(a_pod(str(i)), "test", 0.0) for i in range(1000)]
    for entry in entries:
        heap.add(entry)
    for entry in entries:
        heap.discard(entry)
    assert dead_items(heap) < 100
    assert heap.first() is None


def test_passing_over_costs_nothing() -> None:
    """Entries of a profile that can take none are not looked at; their order stays."""
    heap = EntryHeap(by_timestamp)
    full = [QueuedPodInfo(a_pod(f"full{i}", "full"), "full", float(i)) for i in range(1000)]
    for entry in full:
        heap.add(entry)
    other = QueuedPodInfo(a_pod("other", "other"), "other", 2000.0)
    heap.add(other)
    assert heap.first({"full"}) is other
    assert heap.first_of("full") is full[0]
    heap.discard(full[0])
    assert heap.first() is heap.first_of("full") is full[1]
    put(heap, full[1], 3000.0)
    assert heap.first() is full[2]
    for entry in full[2:]:
        heap.discard(entry)
    assert heap.first() is other
    assert heap.first(late={"other": 1.0}) is full[1]
    heap.discard(full[1])
    assert heap.first({"other"}) is None
    assert heap.first_of("full") is heap.first_of("unknown") is None
    assert list(heap._heaps) == ["other"]


def test_equals_of_several_profiles_go_in_the_order_in_which_they_came() -> None:
    """However many there are of each."""
    heap = EntryHeap(by_timestamp)
    entries = [QueuedPodInfo(a_pod(f"p{i}", name), name, 1.0) for i, name in enumerate("baaba")]
    for entry in entries:
        heap.add(entry)
    for entry in entries:
        assert heap.first() is entry
        heap.discard(entry)
