"""A search for what would help ends when its time is over: nothing stays of what it tried, and what
it did not try is counted. Time passes only where the test's clock is looked at.
"""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext
from moorage.core.explaining.pending_pods import Limits, explain_pending
from moorage.core.explaining.searches import Search, take_turns
from moorage.core.structures.budget import TimeBudget
from tests.builders import make_node, make_pod
from tests.core.explaining.pending_strategies import (
    DEFAULT,
    SEED,
    PendingCase,
    by_nodes,
    by_other_pods,
)
from tests.core.explaining.test_true import check_suggestion, known_of


def hasty(context: CycleContext) -> CycleContext:
    """The same, with a clock that goes on by a second whenever it is looked at."""
    clock = itertools.count().__next__
    return CycleContext(context.cache, context.seed, budget=TimeBudget(lambda: float(clock())))


@given(st.one_of(by_nodes(), by_other_pods()), st.integers(0, 60))
def test_what_is_found_in_time_is_true(case: PendingCase, looks: int) -> None:
    """And all else is as it was. Whoever has time enough leaves nothing out."""
    assert case.context().seed == SEED
    before, context = case.context(), hasty(case.context())
    explained = explain_pending(context, case.pod, case.revision, Limits(seconds=looks))
    for suggestion in explained.suggestions:
        check_suggestion(before, case.pod, case.revision, suggestion)
    assert known_of(context) == known_of(before)
    whole = explain_pending(context, case.pod, case.revision, Limits(seconds=10**9))
    assert whole.untried == 0
    assert whole == explain_pending(case.context(), case.pod, case.revision)
    if not explained.untried:
        assert explained.suggestions == whole.suggestions


def test_what_is_not_tried_is_counted() -> None:
    """Two requests and a node; of the four kinds of changes to a pod each pair, and each with a
    node.
    """
    pod, case = make_pod("p", cpu="5", memory="1Gi"), [make_node("n", cpu="4")]
    context = PendingCase(tuple(case), (), pod, DEFAULT).context()
    assert explain_pending(hasty(context), pod, DEFAULT, Limits(seconds=0)).untried == 3 + 10


def test_each_search_has_its_turn() -> None:
    """However many candidates another one has; a search that has found enough is through."""
    order = list[str]()

    def search(name: str, candidates: int, helps: int) -> Search[int]:
        def attempt(i: int) -> int | None:
            order.append(f"{name}{i}")
            return i if i == helps else None

        return Search(range(candidates), attempt, most=1, expected=candidates)

    searches = [search("a", 4, 9), search("b", 3, 1)]
    take_turns(searches)
    assert order == ["a0", "b0", "a1", "b1", "a2", "a3"]
    assert [one.found for one in searches] == [[], [1]]
    assert [one.left for one in searches] == [0, 0]
