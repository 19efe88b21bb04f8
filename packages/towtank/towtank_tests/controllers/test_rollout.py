"""The sizes of a rollout, step by step: arithmetic, worked out by hand."""

from __future__ import annotations

import pytest

from towtank.controllers.rollout import (
    ReplicaSetSize,
    RolloutTarget,
    rollout_target,
    scale_down_old,
    scale_proportionally,
    scale_up_new,
)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "want"),
    [
        (10, "25%", "25%", (3, 2)),
        (10, 0, 0, (0, 1)),
        (1, "0%", "25%", (0, 1)),
        (2, 1, 5, (1, 2)),
        (0, "25%", "25%", (0, 0)),
    ],
)
def test_targets(
    replicas: int, surge: int | str, unavailable: int | str, want: tuple[int, int]
) -> None:
    """Shares are rounded up for the surge and down for what may lack, of which there are no more
    than replicas; one may lack where else nothing could move.
    """
    assert rollout_target(replicas, surge, unavailable) == RolloutTarget(replicas, *want)


@pytest.mark.parametrize(
    ("new", "old", "want"), [(0, 10, 3), (3, 10, 3), (3, 8, 5), (5, 0, 10), (0, 14, 0)]
)
def test_the_new_set_grows_as_far_as_the_surge_allows(new: int, old: int, want: int) -> None:
    """Beside what is left of the old ones, and never beyond what is wanted."""
    sizes = ReplicaSetSize("new", new), [ReplicaSetSize("old", old)]
    assert scale_up_new(*sizes, RolloutTarget(10, 3, 2)) == want


@pytest.mark.parametrize(
    ("new", "olds", "want"),
    [
        ((3, 3), [(5, 5), (5, 5)], {"old-0": 0}),
        ((3, 0), [(5, 5), (5, 5)], {"old-0": 3}),
        ((3, 0), [(5, 5), (5, 4)], {"old-0": 4, "old-1": 4}),
        ((3, 0), [(8, 8)], {}),
        ((10, 10), [(1, 1), (2, 2)], {"old-0": 0, "old-1": 0}),
    ],
)
def test_old_sets_shrink_as_far_as_enough_stay(
    new: tuple[int, int], olds: list[tuple[int, int]], want: dict[str, int]
) -> None:
    """What is not available goes first, then the oldest; eight of ten stay available."""
    sets = [ReplicaSetSize(f"old-{i}", *each) for i, each in enumerate(olds)]
    assert scale_down_old(ReplicaSetSize("new", *new), sets, RolloutTarget(10, 3, 2)) == want


@pytest.mark.parametrize(
    ("sets", "replicas", "want"),
    [
        ([(5, 10), (5, 10)], 20, {"set-0": 10, "set-1": 10}),
        ([(3, 10), (7, 10)], 15, {"set-0": 4, "set-1": 11}),
        ([(3, 10), (7, 10)], 5, {"set-0": 2, "set-1": 3}),
        ([(5, 10), (5, 10)], 11, {"set-0": 6}),
        ([(5, 10), (5, 10)], 0, {"set-0": 0, "set-1": 0}),
        ([(5, 10), (5, 10)], 10, {}),
    ],
)
def test_all_sets_keep_their_shares(
    sets: list[tuple[int, int]], replicas: int, want: dict[str, int]
) -> None:
    """Where the Deployment is scaled while it rolls; what rounding leaves is the largest's, of
    equal ones the newer's.
    """
    there = [
        ReplicaSetSize(f"set-{i}", desired, desired, limit)
        for i, (desired, limit) in enumerate(sets)
    ]
    assert scale_proportionally(there, RolloutTarget(replicas, 0, 1)) == want
