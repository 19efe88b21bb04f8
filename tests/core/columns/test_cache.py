"""The cache's state table, and that sums follow the pods whatever the order of events."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moorage.core.columns.cache import Cache, CacheError, PodState
from moorage.core.objects.meta import PartialObject
from moorage.core.pods.requests import CPU, PODS, pod_requests, unreadable_requests
from tests.builders import make_node, make_pod

POD = make_pod("a", cpu="500m")
ON_N1 = make_pod("a", cpu="500m", node="n1")


def cache_with(state: PodState | None) -> Cache:
    """A cache with one node and the pod in this state."""
    cache = Cache()
    cache.put_node(make_node("n1"))
    if state is PodState.ASSUMED:
        cache.assume(POD, "n1", pod_requests(POD))
    elif state is PodState.OBSERVED:
        cache.observe(ON_N1, pod_requests(ON_N1))
    return cache


def used(cache: Cache, node: str = "n1") -> tuple[int, int]:
    """(millicores, pods) charged to a node."""
    row = cache.nodes.row_of[node]
    return int(cache.nodes.requested[CPU, row]), int(cache.nodes.requested[PODS, row])


def apply(cache: Cache, event: str) -> None:
    """Let an event happen to the pod."""
    actions: dict[str, Callable[[], object]] = {
        "assume": lambda: cache.assume(POD, "n1", pod_requests(POD)),
        "forget": lambda: cache.forget("uid-a"),
        "observe": lambda: cache.observe(ON_N1, pod_requests(ON_N1)),
        "remove": lambda: cache.remove("uid-a"),
    }
    actions[event]()


TABLE: dict[tuple[PodState | None, str], PodState | type[CacheError] | None] = {
    (None, "assume"): PodState.ASSUMED,
    (None, "forget"): None,
    (None, "observe"): PodState.OBSERVED,
    (None, "remove"): None,
    (PodState.ASSUMED, "assume"): CacheError,
    (PodState.ASSUMED, "forget"): None,
    (PodState.ASSUMED, "observe"): PodState.OBSERVED,
    (PodState.ASSUMED, "remove"): None,
    (PodState.OBSERVED, "assume"): CacheError,
    (PodState.OBSERVED, "forget"): CacheError,
    (PodState.OBSERVED, "observe"): PodState.OBSERVED,
    (PodState.OBSERVED, "remove"): None,
}


@pytest.mark.parametrize(("state", "event", "want"), [(*key, want) for key, want in TABLE.items()])
def test_every_move_of_the_table(
    state: PodState | None, event: str, want: PodState | type[CacheError] | None
) -> None:
    """Each event in each state leads where the table says; an illegal one raises and changes
    nothing.
    """
    cache = cache_with(state)
    if want is CacheError:
        with pytest.raises(CacheError):
            apply(cache, event)
        want = state
    else:
        apply(cache, event)
    record = cache.pod_info("uid-a")
    assert (record.state if record else None) is want
    assert used(cache) == ((500, 1) if want else (0, 0))
    assert (len(cache), cache.assumed) == (int(want is not None), int(want is PodState.ASSUMED))


def test_a_pod_seen_elsewhere_moves() -> None:
    """A pod that we assumed on one node and the API server shows on another is charged there."""
    cache = cache_with(PodState.ASSUMED)
    cache.put_node(make_node("n2"))
    elsewhere = make_pod("a", cpu="500m", node="n2")
    cache.observe(elsewhere, pod_requests(elsewhere))
    assert (used(cache, "n1"), used(cache, "n2")) == ((0, 0), (500, 1))


def test_pods_wait_for_their_node() -> None:
    """Pods on a node not seen yet are charged when it comes; a node that goes and comes back finds
    its pods.
    """
    cache = Cache()
    cache.observe(ON_N1, pod_requests(ON_N1))
    for _ in range(2):
        cache.put_node(make_node("n1"))
        assert used(cache) == (500, 1)
        cache.remove_node("n1")
    cache.remove("uid-a")
    cache.put_node(make_node("n1"))
    assert used(cache) == (0, 0)


def test_an_unreadable_pod_takes_one_place() -> None:
    """What cannot be decoded still counts as a pod of its node."""
    cache = cache_with(None)
    cache.observe_unreadable(PartialObject(POD.metadata), "n1", unreadable_requests())
    assert used(cache) == (0, 1)


def test_arrays_cannot_be_written_from_outside() -> None:
    """Plugins get read-only views, also after the table has grown."""
    cache = Cache()
    for i in range(100):
        cache.put_node(make_node(f"n{i}"))
    with pytest.raises(ValueError, match="read-only"):
        cache.nodes.requested[CPU, 0] = 1
