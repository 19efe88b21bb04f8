"""Evidence: what counts of pairs prove, however often one looks at them.

Of each pair X is 1 (only the live revision places the pod), -1 (only the trial one) or 0. Who bets
a part b of his capital on X > m has it multiplied by 1 + b * (X - m) / (1 + m). If E[X] <= m that
wins nothing in expectation, so the capital ever reaches 100 with a probability of 1 % at most
(Ville's inequality), and so does what several such bettors have together. Bets are constant, so the
counts say all: nobody has to keep the order.

Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS-B 86
(2024), sections 3 and 4; the mixture is Robbins'. The rule of the last look is our own, its error
probability is reckoned in tests/core/trials/test_evidence.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from moorage.core.trials.pairs import PairCounts

FALSE_ALARMS = 0.01
"""The probability at most that a trial is taken for worse which is not."""
CONFIDENCE = 0.95
LAST_LOOK_REGRESSIONS = 5
"""Regressions that are enough at a trial's planned end where nothing stands against them. With the
bets beside it, false alarms are below 0.97 % for each probability with which both may refuse.
"""
_HALVINGS = 40


class _Bettor(NamedTuple):
    """Someone who stakes this part of what may be staked, with this part of the capital."""

    bet: float
    capital: float


_BETTORS = (_Bettor(1.0, 0.5), _Bettor(0.5, 0.2), _Bettor(0.25, 0.2), _Bettor(0.125, 0.1))
"""The first one wins fastest and loses all by one improvement; the others go on then."""


def is_worse(counts: PairCounts, margin: float) -> bool:
    """Whether it is proved that the trial revision refuses a larger share of pods than the live one
    and ``margin`` (0 to 1). May be asked after each pair.
    """
    against = (counts.regressions, counts.concordant, counts.improvements)
    return _log_capital(against, margin) >= -math.log(FALSE_ALARMS)


def is_worse_at_end(counts: PairCounts) -> bool:
    """The same without a margin, asked once: when as many pods are decided as were planned."""
    return counts.regressions >= LAST_LOOK_REGRESSIONS and counts.improvements == 0


def largest_increase(counts: PairCounts) -> float:
    """By how much at most the trial revision refuses a larger share (-1 to 1), with CONFIDENCE at
    all times together: every larger difference is refuted by bets on X < m.
    """
    against = (counts.improvements, counts.concordant, counts.regressions)
    refuted = -math.log(1 - CONFIDENCE)
    low, high = -1.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _log_capital(against, -middle) >= refuted:
            high = middle
        else:
            low = middle
    return high


def _log_capital(counts: tuple[int, int, int], margin: float) -> float:
    """The logarithm of what bets on X > margin have made of 1; ``counts``: how often X was 1, 0
    and -1.
    """
    logs = []
    for bettor in _BETTORS:
        stake = bettor.bet / (1 + margin)
        parts = (
            n * _log(1 + stake * (x - margin)) for n, x in zip(counts, (1, 0, -1), strict=True) if n
        )
        logs.append(math.log(bettor.capital) + sum(parts))
    most = max(logs)
    if math.isinf(most):
        return most
    return most + math.log(sum(math.exp(one - most) for one in logs))


def _log(value: float) -> float:
    """Of what may be 0, or a little less by rounding."""
    return math.log(value) if value > 0 else -math.inf
