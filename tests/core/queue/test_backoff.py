"""How long a pod has to wait after an attempt that failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.queue.queued_pod import QueuedPodInfo
from tests.core.queue.helpers import a_pod, view


def entry(refusals: int = 0, errors: int = 0, queued_at: float = 100.0) -> QueuedPodInfo:
    """A pod with this history."""
    return QueuedPodInfo(
        a_pod("a"), "test", queued_at, unschedulable_count=refusals, consecutive_errors_count=errors
    )


@pytest.mark.parametrize(
    ("refusals", "errors", "want"),
    [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 4),
        (4, 0, 8),
        (5, 0, 10),
        (6, 0, 10),
        (10_000, 0, 10),
        (9, 1, 1),
        (9, 2, 2),
        (0, 3, 4),
    ],
)
def test_doubles_up_to_the_maximum(refusals: int, errors: int, want: int) -> None:
    """1, 2, 4, 8, 10, 10 … seconds; faults count for themselves, whatever the refusals before
    them.
    """
    assert view().backoff_end(entry(refusals, errors)) == 100 + want


@pytest.mark.parametrize(("initial", "maximum"), [(1, 0), (0, 10)], ids=["max", "initial"])
def test_zero_means_no_backoff(initial: float, maximum: float) -> None:
    """A zero for the maximum or the start switches backoff off."""
    assert view(initial=initial, maximum=maximum).backoff_end(entry(3)) == 100


@given(st.floats(0, 1e9), st.integers(1, 99), st.floats(0.001, 60), st.floats(0.001, 600))
def test_ends_at_the_first_whole_second(
    queued_at: float, refusals: int, initial: float, maximum: float
) -> None:
    """Never early, less than a second late, and always on a whole second."""
    end = view(initial=initial, maximum=maximum).backoff_end(entry(refusals, queued_at=queued_at))
    due = queued_at + min(initial * 2.0 ** (refusals - 1), maximum)
    assert due <= end < due + 1
    assert end == int(end)
