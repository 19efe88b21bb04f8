"""Intervals of paired differences, and measures."""

from __future__ import annotations

import math
import statistics

import pytest

from moorage.core.simulation.intervals import Interval, paired
from moorage.core.simulation.measures import (
    EMPTY_NODES,
    WAITING,
    ZONES,
    Measure,
    measured,
    pod_classes,
    pods_of,
)
from tests.builders import make_node
from tests.core.simulation.clusters import ZONE, a_context, a_pod

T_OF_ONE = 12.7062047
"""Student's t at 0.975, with one degree of freedom."""


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        pytest.param([1.0] * 9, [1.0] * 9, (0.0, 0.0, 0.0), id="the same"),
        pytest.param([1.0] * 9, [3.0] * 9, (2.0, 2.0, 2.0), id="always as much more"),
        pytest.param(
            [0.0, 0.0], [1.0, 3.0], (2.0, 2 - 12.7062047, 2 + 12.7062047), id="two windows"
        ),
        pytest.param(
            [0.0, None, 0.0], [1.0, 9.0, 3.0], (2.0, -10.7062047, 14.7062047), id="one is out"
        ),
        pytest.param([0.0, None], [1.0, 1.0], None, id="one window says nothing"),
    ],
)
def test_intervals(a: list[float | None], b: list[float | None], want: Interval | None) -> None:
    found = paired(a, b)
    assert found == want if want is None else found == pytest.approx(want)


@pytest.mark.parametrize(
    ("confidence", "windows", "reach"),
    [
        (0.95, 2, 12.706),
        (0.95, 3, 4.303),
        (0.95, 20, 2.093),
        (0.99, 20, 2.861),
        (0.99, 3, 9.925),
        (0.999, 8, 5.408),
        (0.999, 2, 636.619),
    ],
)
def test_students_t(confidence: float, windows: int, reach: float) -> None:
    """As tables have it, for the mean of differences that are as often 1 as -1."""
    half = windows // 2
    differences = [1.0] * half + [0.0] * (windows % 2) + [-1.0] * half
    error = math.sqrt(2 * half / (windows - 1) / windows)
    found = paired([0.0] * windows, differences, confidence)
    assert found is not None and found.high / error == pytest.approx(reach, abs=6e-4)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of 2,000 samples of 20 normal differences about 5 % miss the mean."""
    missed = 0
    for i in range(2000):
        sample = statistics.NormalDist(1, 2).samples(20, seed=i)
        found = paired([0.0] * 20, sample)
        assert found is not None
        missed += not found.low <= 1 <= found.high
    assert 70 <= missed <= 130


def test_verdicts() -> None:
    assert [Interval(1, *ends).clear for ends in ((0.1, 2), (-1, 3), (0, 2), (-3, -1))] == [
        True,
        False,
        False,
        True,
    ]


def test_measures() -> None:
    """Two pods of a kind; node a has no memory left, so its processors are stranded."""
    nodes = [
        make_node("a", cpu="4", memory="2Gi", labels={ZONE: "x"}),
        make_node("b", cpu="4", memory="8Gi", labels={ZONE: "y"}),
        make_node("c", cpu="4", memory="8Gi", labels={ZONE: "y"}),
    ]
    pods = [a_pod("p", "a", cpu="1", memory="2Gi"), a_pod("q", cpu="1", memory="2Gi")]
    daemon = a_pod("d", "b", cpu="1", memory="1Gi", owner="DaemonSet")
    context = a_context(nodes, [*pods, daemon])
    classes = pod_classes(pods_of(context))
    assert [(one.requests["cpu"], one.pods) for one in classes] == [(1000, 2)]
    assert measured(context, classes, 1) == {
        EMPTY_NODES: 2.0,
        WAITING: 1.0,
        ZONES: 1.0,
        Measure("cpu requested, of nodes used", "%"): 25.0,
        Measure("memory requested, of nodes used", "%"): 100.0,
        Measure("stranded cpu", "cpu"): 3000.0,
        Measure("stranded memory", "memory"): 0.0,
    }
