"""Priorities: which rows have pods below a priority, whatever came and went."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.priorities import PriorityTable
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.pods import Pod, PodSpec
from tests.builders import make_pod

ROWS = 200
LEVELS = st.sampled_from([-5, None, 0, 7])


def pod_of(level: int | None) -> Pod:
    """A pod of this priority."""
    pod = make_pod("a")
    spec: PodSpec = msgspec.structs.replace(pod.spec, priority=level)
    return msgspec.structs.replace(pod, spec=spec)


@given(
    st.lists(st.tuples(st.integers(0, ROWS - 1), LEVELS)),
    st.sampled_from([-5, 0, 1, 8]),
)
def test_rows_with_lower_pods(pods: list[tuple[int, int | None]], level: int) -> None:
    """The same as looking at all pods; half of them go again."""
    table = PriorityTable()
    for row, priority in pods:
        table.charge(row, pod_of(priority), 1)
    for row, priority in pods[::2]:
        table.charge(row, pod_of(priority), -1)
    expected = {row for row, priority in pods[1::2] if (priority or 0) < level}
    found = table.below(level, ROWS)
    assert set(found.nonzero()[0].tolist()) == expected
    assert found.size == ROWS


def test_a_pod_that_cannot_be_read_is_not_counted() -> None:
    """Nobody knows its priority, so it stays."""
    table = PriorityTable()
    table.charge(0, PartialObject(ObjectMeta("a")), 1)
    assert not table.below(2**31, 1).any()
