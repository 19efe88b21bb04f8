"""Judgements: who is better, who is not, and how often chance is taken for a gain."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.simulation.compared_measures import Replicas
from moorage.core.simulation.judgements import (
    Goal,
    Goals,
    SearchOutcome,
    best_few,
    judge,
    outcome,
    recommended,
    usually_more,
    with_guards,
)
from moorage.core.simulation.measures import EMPTY_NODES, WAITING, Measure, wait_measures
from moorage.core.simulation.recorded_parts import RecordedPart
from moorage.core.simulation.windows import PREEMPTED, Windows
from tests.builders import make_node
from tests.core.simulation.clusters import a_context
from tests.core.simulation.recordings import crowds, recorded
from tests.engine.worlds import RESOLVER, a_body

WAIT = next(iter(wait_measures([1.0])))
EMPTY, QUICK = Goal(EMPTY_NODES, more=True), Goal(WAIT, more=False)
GOALS = Goals((EMPTY,), (QUICK,))
NO_SCORING = {"test": RESOLVER(a_body("test", preset="NoScoring"), {}).revision}


def windows(empty: float, wait: float = 0.0, noise: float = 0.0, seed: int = 0) -> Windows:
    """Twenty of them about these means."""
    rng = random.Random(seed)
    return {
        EMPTY_NODES: [empty + rng.gauss(0, noise) for _ in range(20)],
        WAIT: [wait + rng.gauss(0, noise) for _ in range(20)],
    }


@pytest.mark.parametrize(
    ("empty", "wait", "better", "worse"),
    [
        pytest.param(3, 0, True, (), id="gains"),
        pytest.param(0, 0, False, (), id="is the same"),
        pytest.param(-3, 0, False, (EMPTY,), id="loses"),
        pytest.param(3, 2, False, (QUICK,), id="gains, and loses what is guarded"),
        pytest.param(3, -2, True, (), id="gains both"),
        pytest.param(0, -2, False, (), id="gains only what is guarded"),
    ],
)
def test_verdicts(empty: float, wait: float, better: bool, worse: tuple[Goal, ...]) -> None:
    (found,) = judge([windows(5, 5, 0.5)], [[windows(5 + empty, 5 + wait, 0.5, 1)]], GOALS)
    assert (found.better, found.worse) == (better, worse)
    effect = found.effects[EMPTY_NODES].interval
    assert effect is not None and effect.low < empty < effect.high


def test_the_direction_counts() -> None:
    """Who wants fewer nodes empty gains by fewer."""
    fewer = Goals((Goal(EMPTY_NODES, more=False),))
    (found,) = judge([windows(5)], [[windows(3)]], fewer)
    assert found.better and found.gained == fewer.gains
    assert outcome(windows(5), windows(3), fewer, 1) == SearchOutcome((2.0,), (), 1)


def test_the_one_that_gains_most_at_least_is_recommended() -> None:
    """Not the one whose gain may be the largest, nor one that makes something worse."""
    steady, wild, costly = (
        [windows(7.5, 0, 0.1, 1)],
        [windows(8, 0, 2, 2)],
        [windows(9, 3, 0.1, 3)],
    )
    verdicts = judge([windows(5)], [wild, steady, costly], GOALS)
    assert [one.better for one in verdicts] == [True, True, False]
    assert recommended(verdicts, GOALS) == 1
    assert recommended(judge([windows(5)], [[windows(5)]], GOALS), GOALS) is None
    assert recommended([], GOALS) is None


def chance(seed: int, candidates: int) -> tuple[Replicas, list[Replicas]]:
    """Windows that differ by chance alone."""
    noise = [windows(5, 5, 1.0, 1000 * seed + i) for i in range(candidates + 1)]
    return [noise[0]], [[one] for one in noise[1:]]


def test_chance_is_seldom_taken_for_a_gain() -> None:
    """Five are judged at once, 400 times: a false alarm in 2.5 % (half of 5 %: gains alone
    count), not in 2.5 % for each.
    """
    alone = Goals((EMPTY,))
    alarms = sum(
        recommended(judge(*chance(seed, 5), alone), alone) is not None for seed in range(400)
    )
    assert 2 <= alarms <= 22


def test_luck_that_lasts_is_seldom_taken_for_a_gain() -> None:
    """Pods run for longer than all windows: within one rerun these are alike, whatever luck made
    of it; only other reruns tell.
    """
    alone, alarms = Goals((EMPTY,)), 0
    for seed in range(300):
        luck = statistics.NormalDist(5, 1).samples(16, seed=seed)
        mine, its = ([windows(one, 5, 0.1, seed) for one in half] for half in (luck[:8], luck[8:]))
        alarms += judge(mine, [its], alone)[0].better
        assert judge([mine[0]], [[its[0]]], alone)[0].gained or luck[8] < luck[0] + 0.2
    assert alarms <= 20


def test_places_at_random_are_no_gain() -> None:
    """Any node that fits, in both worlds, and pods that run for eight windows: windows alone are
    mistaken in every other case.
    """
    alone, single, both = Goals((EMPTY, Goal(EMPTY_NODES, more=False))), 0, 0
    for seed in range(10):
        nodes = [make_node(f"n{i}", cpu="8", memory="16Gi") for i in range(10)]
        entries = recorded(a_context(nodes), crowds(seed, 80.0, 200.0), 200.0, NO_SCORING)
        part = RecordedPart(entries, 200.0, seed)
        mine, its = ([part.rerun({}, a + i).windows for i in range(8)] for a in (0, 100))
        single += judge(mine[:1], [its[:1]], alone)[0].gained != ()
        both += judge(mine, [its], alone)[0].gained != ()
    assert single > 1 >= both


def test_a_gain_that_all_replicas_have_is_found() -> None:
    mine = [windows(5 + i / 10, 5, 0.1, i) for i in range(8)]
    its = [windows(7 - i / 10, 5, 0.1, 50 + i) for i in range(8)]
    (found,) = judge(mine, [its], GOALS)
    interval = found.effects[EMPTY_NODES].interval
    assert found.better and interval is not None
    assert interval.difference == pytest.approx(1.3, abs=0.1)


def test_what_is_counted_is_of_the_whole_time() -> None:
    """Two windows, three pods more had to go in each: six."""
    fewer = Goals((Goal(PREEMPTED, more=False),))
    some: list[Windows] = [{PREEMPTED: [4.0, 5.0]}, {PREEMPTED: [4.0, 5.0]}]
    more: list[Windows] = [{PREEMPTED: [7.0, 8.0]}, {PREEMPTED: [7.0, 8.0]}]
    (found,) = judge(some, [more], fewer)
    assert found.effects[PREEMPTED].interval == (6.0, 6.0, 6.0)
    assert found.worse == fewer.gains


def test_what_only_one_world_has_says_nothing() -> None:
    (found,) = judge([{EMPTY_NODES: [1.0, 1.0]}], [[{WAITING: [1.0, 1.0]}]], GOALS)
    assert not found.better and not found.worse and not found.effects
    assert outcome({}, {}, GOALS, 0) == SearchOutcome((0.0,), (0.0,), 0)


OUTCOMES = st.builds(
    SearchOutcome,
    st.tuples(st.integers(-2, 4).map(float), st.integers(-2, 4).map(float)),
    st.tuples(st.sampled_from([0.0, 0.0, 1.0])),
    st.integers(0, 3),
)


@given(st.lists(OUTCOMES, max_size=12), st.integers(1, 5))
def test_the_best_few(outcomes: list[SearchOutcome], few: int) -> None:
    """Promising ones alone; nobody is left out who beats one of them; the simplest of equals."""
    places = best_few(outcomes, few)
    chosen = [outcomes[i] for i in places]
    promising = [one for one in outcomes if one.promising]
    assert len(chosen) == min(few, len({one.gains for one in promising}))
    assert all(one.promising for one in chosen)
    for one in promising:
        if one.gains not in [other.gains for other in chosen]:
            assert not any(one.beats(other) for other in chosen)
    for one in chosen:
        assert one.changes == min(o.changes for o in promising if o.gains == one.gains)


def test_more_pods_must_never_wait() -> None:
    """Unless that is what somebody asks about anyway."""
    kept = Goal(WAITING, more=False)
    assert with_guards([EMPTY], [QUICK]) == Goals((EMPTY,), (QUICK, kept))
    assert with_guards([kept], []) == Goals((kept,))
    assert with_guards([EMPTY], [kept]) == Goals((EMPTY,), (kept,))
    used, stranded = Measure("cpu requested, of nodes used", "%"), Measure("stranded cpu", "cpu")
    assert [usually_more(one) for one in (EMPTY_NODES, used, stranded, WAITING, WAIT)] == [
        True,
        True,
        False,
        False,
        False,
    ]
