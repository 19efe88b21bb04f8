"""What counts prove: false alarms and power, reckoned exactly and simulated, and what no test can
do.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
import pytest

from moorage.core.trials.evidence import is_worse, is_worse_at_end, largest_increase
from moorage.core.trials.pairs import PairCounts
from moorage.core.trials.plans import TrialPlan, Verdict, verdict

TRIALS = 10_000
PODS = 400
PLAN = TrialPlan("Canary", PODS)
CHANCES = (0.001, 0.002, 0.005, 0.007, 0.01, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9)
"""With which a side refuses a pod."""
Signs = npt.NDArray[np.int8]


@functools.cache
def bets_won(regressions: int, improvements: int) -> bool:
    """Without a margin pods about which both agree say nothing."""
    return is_worse(PairCounts(regressions=regressions, improvements=improvements), 0)


def rolled_back(signs: Signs) -> npt.NDArray[np.bool_]:
    """Which trials (a row each: 1 a regression, -1 an improvement, a column a pod) are rolled
    back, asked after each pod.
    """
    regressions = np.cumsum(signs == 1, axis=1, dtype=np.int32)
    improvements = np.cumsum(signs == -1, axis=1, dtype=np.int32)
    width = int(max(improvements.max(), regressions.max())) + 1
    places = regressions * width + improvements
    table = np.zeros(width * width, bool)
    for place in np.flatnonzero(np.bincount(places.ravel())).tolist():
        table[place] = bets_won(*divmod(place, width))
    found = table[places].any(axis=1)
    last = zip(regressions[:, -1].tolist(), improvements[:, -1].tolist(), strict=True)
    ends = [is_worse_at_end(PairCounts(regressions=r, improvements=i)) for r, i in last]
    alarms: npt.NDArray[np.bool_] = found | np.array(ends)
    return alarms


def drawn(rng: np.random.Generator, more: float, fewer: float, pods: int = PODS) -> Signs:
    """Trials whose pods are regressions and improvements with these chances."""
    drawn = rng.random((TRIALS, pods))
    signs = np.zeros((TRIALS, pods), np.int8)
    signs[drawn < more] = 1
    signs[(drawn >= more) & (drawn < more + fewer)] = -1
    return signs


# ---- the bars ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chance", CHANCES)
def test_false_alarms_where_both_refuse_at_random(chance: float) -> None:
    """At most 1 % of 10,000 trials in which both sides refuse each pod with the same
    probability.
    """
    rng = np.random.default_rng(int(chance * 1000))
    live, trial = (rng.random((2, TRIALS, PODS)) < chance).astype(np.int8)
    assert rolled_back(trial - live).mean() <= 0.01


def test_a_regression_of_two_points_is_found() -> None:
    """In 90 % of trials within 400 pods, in 95 % within 456: within 400 no test can
    (``test_no_test_finds_more``).
    """
    rng = np.random.default_rng(7)
    assert rolled_back(drawn(rng, 0.02, 0.0)).mean() >= 0.90
    assert rolled_back(drawn(rng, 0.02, 0.0, 470)).mean() >= 0.95
    assert binomial_tail(400, 0.02, 5) == pytest.approx(0.9027, abs=1e-4)
    assert binomial_tail(455, 0.02, 5) < 0.95 < binomial_tail(456, 0.02, 5)


def test_a_count_finds_it_where_hardly_any_pod_is_refused() -> None:
    """What docs say of ``maxRegressions: 3``: both bars, where either refuses 0.2 % at most."""
    rng = np.random.default_rng(8)
    assert ((drawn(rng, 0.02, 0.0) == 1).sum(axis=1) > 3).mean() >= 0.95
    assert binomial_tail(PODS, 0.02, 4) > 0.959
    assert binomial_tail(PODS, 0.002 * 0.998, 4) < 0.01 < binomial_tail(PODS, 0.003 * 0.997, 4)
    plan = TrialPlan("Canary", PODS, max_regressions=3)
    assert verdict(plan, PairCounts(regressions=4, same_node=100)) is Verdict.REGRESSED
    assert verdict(plan, PairCounts(regressions=3, same_node=100)) is Verdict.SO_FAR_NO_WORSE


# ---- exactly -------------------------------------------------------------------------------------


def test_false_alarms_reckoned() -> None:
    """Below 0.97 % for each probability, and however long a trial is: of n discordant pairs each
    is a regression with probability 1/2, and n is binomial (here Poisson).
    """
    most = 400
    of = alarms_among(most)
    worst = 0.0
    for mean in np.linspace(0.1, 40, 400):
        n = np.arange(most + 1)
        chance = np.exp(n * np.log(2 * mean) - 2 * mean - np.array([math.lgamma(i + 1) for i in n]))
        worst = max(worst, float(chance @ of))
    assert 0.0095 < worst < 0.0097
    assert of[-1] < 0.0075  # and with ever more of them only the bets count


def alarms_among(most: int) -> npt.NDArray[np.float64]:
    """By number of discordant pairs: the probability that the bets have won by then, or that the
    last look finds enough.
    """
    running = np.zeros(most + 1)  # by regressions so far, of trials that go on
    running[0], won = 1.0, 0.0
    found = [0.0]
    for n in range(1, most + 1):
        running[1:] = (running[1:] + running[:-1]) / 2
        running[0] /= 2
        for r in range(n + 1):
            if running[r] and bets_won(r, n - r):
                won, running[r] = won + running[r], 0.0
        found.append(won + (running[n] if is_worse_at_end(PairCounts(regressions=n)) else 0.0))
    return np.array(found)


def test_no_test_finds_more() -> None:
    """The bar of 95 % within 400 pods is out of reach, however one tests.

    A test with at most 1 % false alarms whatever the probability has so few where both refuse
    0.7 %. By Neyman and Pearson nothing has more power against "2 % regress, and nothing else"
    than rejecting by their ratio of likelihoods, which grows with the number of regressions when
    there are no improvements (and is 0 when there are).
    """
    q = 0.00695
    discordant = q * (1 - q)
    null = [trinomial(PODS, k, discordant, 1 - 2 * discordant) for k in range(60)]
    regressed = [trinomial(PODS, k, 0.02, 0.98) for k in range(60)]
    ratios = [one / other for one, other in zip(regressed, null, strict=True)]
    assert ratios == sorted(ratios)
    level, power = 0.01, 0.0
    for k in reversed(range(60)):
        part = min(1.0, level / null[k])
        level, power = level - part * null[k], power + part * regressed[k]
    assert power == pytest.approx(0.907, abs=5e-4)


def trinomial(n: int, k: int, one: float, rest: float) -> float:
    """The probability of k pods of one sort, with none of the other sort among n."""
    return math.comb(n, k) * one**k * rest ** (n - k)


def binomial_tail(n: int, chance: float, at_least: int) -> float:
    """P(so many of n, or more)."""
    return 1 - sum(trinomial(n, k, chance, 1 - chance) for k in range(at_least))


# ---- margins and bounds --------------------------------------------------------------------------


def test_regressions_in_a_row_that_are_enough() -> None:
    """Eight to none; one to the other side, and it takes many more."""
    assert not is_worse(PairCounts(regressions=7, same_node=3), 0)
    assert is_worse(PairCounts(regressions=8, same_node=300), 0)
    assert not is_worse(PairCounts(regressions=14, improvements=1), 0)
    assert is_worse(PairCounts(regressions=18, improvements=1), 0)


@pytest.mark.parametrize("margin", [0.01, 0.05])
def test_a_margin_allows_that_much(margin: float) -> None:
    """What regresses with the margin's chance is rolled back in 1 % of trials at most, what does
    so three times as often is found.
    """
    rng = np.random.default_rng(9)

    def found(chance: float) -> int:
        count = 0
        for signs in drawn(rng, chance, 0.0)[:300]:
            counts = np.cumsum(signs == 1)
            looks = np.flatnonzero(signs == 1)  # between regressions the capital only falls
            count += any(
                is_worse(
                    PairCounts(regressions=int(counts[i]), same_node=int(i + 1 - counts[i])), margin
                )
                for i in looks
            )
        return count

    assert found(margin) <= 3 + 3 * math.sqrt(3)
    assert found(3 * margin) > found(margin)
    assert not is_worse_at_end(PairCounts(regressions=4, same_node=396))


def test_the_last_look_is_for_trials_without_a_margin() -> None:
    """It is reckoned for these."""
    counts = PairCounts(regressions=5, same_node=395)
    assert verdict(PLAN, counts) is Verdict.REGRESSED
    assert verdict(TrialPlan("Canary", PODS, margin_percent=2), counts) is Verdict.PASSED
    assert verdict(TrialPlan("Canary", PODS + 1), counts) is Verdict.SO_FAR_NO_WORSE
    assert verdict(PLAN, PairCounts(regressions=5, improvements=1, same_node=394)) is Verdict.PASSED


def test_bounds_hold_at_all_times_together() -> None:
    """In 5 % of trials at most the true difference ever lies above the bound."""
    rng = np.random.default_rng(10)
    for more, fewer in ((0.02, 0.0), (0.05, 0.05), (0.0, 0.02)):
        wrong = 0
        for signs in drawn(rng, more, fewer)[:200]:
            looks = range(49, PODS, 50)
            sums = np.cumsum(signs == 1), np.cumsum(signs == -1)
            bounds = (
                largest_increase(
                    PairCounts(
                        regressions=int(sums[0][i]),
                        improvements=int(sums[1][i]),
                        same_node=int(i + 1 - sums[0][i] - sums[1][i]),
                    )
                )
                for i in looks
            )
            wrong += min(bounds) < more - fewer
        assert wrong <= 10 + 3 * math.sqrt(10)


def test_bounds_shrink() -> None:
    """Nothing is known at first; with pods that agree ever less is possible."""
    assert largest_increase(PairCounts()) == 1
    assert largest_increase(PairCounts(same_node=312)) == pytest.approx(0.0114, abs=1e-4)
    assert largest_increase(PairCounts(regressions=10, same_node=90)) > 0.1
    assert largest_increase(PairCounts(improvements=30, same_node=70)) < 0
