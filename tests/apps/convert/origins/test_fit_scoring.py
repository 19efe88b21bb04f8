"""Several scores by what is used of resources, as one strategy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.apps.convert.origins.fit_scoring import FitTerm, combined

EVEN = {"cpu": 1, "memory": 1}

CASES: dict[str, tuple[list[FitTerm], int, str, dict[str, int], tuple[str, ...]]] = {
    "nothing": ([], 0, "", {}, ()),
    "full nodes": ([FitTerm(3, EVEN)], 3, "MostAllocated", EVEN, ()),
    "empty nodes": ([FitTerm(-3, EVEN)], 3, "LeastAllocated", EVEN, ()),
    "a resource that does not count": (
        [FitTerm(2, {"cpu": 1, "memory": 0})],
        2,
        "MostAllocated",
        {"cpu": 1},
        (),
    ),
    "one is the other turned round": ([FitTerm(1, EVEN), FitTerm(-1, EVEN)], 0, "", {}, ()),
    "what Volcano's example says": (
        [FitTerm(-1, EVEN), FitTerm(10, {"cpu": 5, "memory": 1, "gpu": 2})],
        9,
        "MostAllocated",
        {"cpu": 23, "memory": 3, "gpu": 10},
        (),
    ),
    "of one resource the opposite": (
        [FitTerm(10, {"gpu": 2, "cpu": -1})],
        7,
        "MostAllocated",
        {"gpu": 1},
        ("cpu",),
    ),
    "as much for as against": ([FitTerm(1, {"gpu": 1, "cpu": -1})], 0, "", {}, ("gpu", "cpu")),
    "fractions": (
        [FitTerm(1, {"cpu": 0.5, "memory": 0.25})],
        1,
        "MostAllocated",
        {"cpu": 2, "memory": 1},
        (),
    ),
    "more than 100": (
        [FitTerm(1, {"cpu": 1000, "memory": 1})],
        1,
        "MostAllocated",
        {"cpu": 100, "memory": 1},
        (),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_they_come_to(case: str) -> None:
    """Weight, strategy, resources, and those that are lost."""
    terms, weight, kind, resources, dropped = CASES[case]
    made = combined(terms)
    args: dict[str, Any] = {}
    if kind:
        listed = [{"name": name, "weight": size} for name, size in resources.items()]
        args = {"scoringStrategy": {"type": kind, "resources": listed}}
    assert made == (weight, args, dropped)


WEIGHTS = st.integers(1, 6)
TERMS = st.lists(
    st.builds(
        FitTerm,
        st.integers(-5, 5),
        st.fixed_dictionaries({"cpu": WEIGHTS, "memory": WEIGHTS, "gpu": WEIGHTS}),
    ),
    max_size=4,
)


@given(TERMS, st.integers(0, 2**32 - 1))
def test_nodes_are_ranked_as_by_the_sum_of_all(terms: list[FitTerm], seed: int) -> None:
    """As long as nothing is dropped: the sum differs by a number that all nodes have."""
    made = combined(terms)
    if made.dropped:
        return
    used = dict(
        zip(("cpu", "memory", "gpu"), np.random.default_rng(seed).random((3, 5)), strict=True)
    )
    want = sum(
        (
            weight
            * sum(used[name] * part for name, part in resources.items())
            / sum(resources.values())
            for weight, resources in terms
        ),
        np.zeros(5),
    )
    got = np.zeros(5)
    if made.weight:
        strategy = made.args["scoringStrategy"]
        sign = 1 if strategy["type"] == "MostAllocated" else -1
        listed = {one["name"]: one["weight"] for one in strategy["resources"]}
        got = sign * made.weight * sum(used[name] * part for name, part in listed.items())
        got = got / sum(listed.values())
    highest = max((abs(weight) for weight, _ in terms), default=1)
    assert np.allclose(want - want[0], got - got[0], atol=0.02 * max(highest, 1))
