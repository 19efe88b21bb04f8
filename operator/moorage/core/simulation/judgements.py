"""Judgements: whether profiles that were searched for are better than the present one, told by a
time that the search has not seen.

That time is had again in a few replicas of each profile, as ``compared_measures`` says.

Several are judged at once, and one of them may look better by chance. So the intervals of what is
to gain hold together with the confidence of a single one: each has the share of the error that
falls to it (Bonferroni). What must not get worse is judged by single intervals over windows, as a
false alarm costs a recommendation and no more.
Source: Bonferroni intervals, Law, "Simulation Modeling and Analysis" (5th ed.), 10.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moorage.core.simulation.compared_measures import (
    ComparedMeasure,
    Replicas,
    compared,
    compared_replicas,
)
from moorage.core.simulation.intervals import CONFIDENCE, Interval
from moorage.core.simulation.measures import EMPTY_NODES, WAITING, Measure
from moorage.core.simulation.windows import Windows

FINALISTS = 5
"""How many profiles are judged: each more widens all intervals."""
_MORE_IS_BETTER = " requested, of nodes used"


class Goal(NamedTuple):
    """What is wanted of a measure: more of it, or less."""

    measure: Measure
    more: bool

    def gain(self, difference: float) -> float:
        """Positive where a difference is for the better."""
        return difference if self.more else -difference

    def least_gain(self, interval: Interval) -> float:
        """What is gained at least, by an interval of differences."""
        return interval.low if self.more else -interval.high

    def most_gain(self, interval: Interval) -> float:
        """What is gained at most."""
        return interval.high if self.more else -interval.low


class Goals(NamedTuple):
    """What is to gain, the most important first, and what must not get worse."""

    gains: tuple[Goal, ...]
    guards: tuple[Goal, ...] = ()


class SearchOutcome(NamedTuple):
    """Of one profile in the search: what it gains of each goal, what it loses clearly of each guard
    (0: nothing), and in how much it is another one than the present.
    """

    gains: tuple[float, ...]
    losses: tuple[float, ...]
    changes: int = 0

    @property
    def promising(self) -> bool:
        """Whether it gains something, and clearly loses nothing that is guarded."""
        return any(gain > 0 for gain in self.gains) and not any(self.losses)

    def no_worse_than(self, other: SearchOutcome) -> bool:
        """Whether it gains no less of anything, and clearly loses nothing."""
        pairs = zip(self.gains, other.gains, strict=True)
        return all(a >= b for a, b in pairs) and not any(self.losses)

    def beats(self, other: SearchOutcome) -> bool:
        """Whether it gains no less of anything, and more of something."""
        pairs = list(zip(self.gains, other.gains, strict=True))
        return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


class ProfileVerdict(NamedTuple):
    """Of one profile on the part held back: what became of each measure, which goals it clearly
    gains, and what clearly gets worse.
    """

    effects: Mapping[Measure, ComparedMeasure]
    gained: tuple[Goal, ...]
    worse: tuple[Goal, ...]

    @property
    def better(self) -> bool:
        """Whether it is to be recommended."""
        return bool(self.gained) and not self.worse


def usually_more(measure: Measure) -> bool:
    """Whether people mean more of it when they say better: emptier nodes, fuller ones that are in
    use. Less of everything else.
    """
    return measure == EMPTY_NODES or measure.name.endswith(_MORE_IS_BETTER)


def with_guards(gains: Sequence[Goal], guards: Sequence[Goal]) -> Goals:
    """That no more pods wait is guarded always, unless it is what is to gain or is guarded
    otherwise.
    """
    named = {one.measure for one in (*gains, *guards)}
    always = () if WAITING in named else (Goal(WAITING, more=False),)
    return Goals(tuple(gains), (*guards, *always))


def outcome(present: Windows, candidate: Windows, goals: Goals, changes: int) -> SearchOutcome:
    """What a profile with so many changes comes to in the search."""
    found = {one.measure: one.interval for one in compared(present, candidate) if one.interval}
    nothing = Interval(0.0, 0.0, 0.0)
    return SearchOutcome(
        tuple(one.gain(found.get(one.measure, nothing).difference) for one in goals.gains),
        tuple(max(0.0, -one.most_gain(found.get(one.measure, nothing))) for one in goals.guards),
        changes,
    )


def best_few(outcomes: Sequence[SearchOutcome], few: int) -> list[int]:
    """The places of those to judge, the best first: promising ones that no other beats, then those
    that only these beat, and so on. Of those that gain the same the one with the fewest changes.
    """
    simplest = sorted(range(len(outcomes)), key=lambda i: outcomes[i].changes)
    left: dict[tuple[float, ...], int] = {}
    for i in simplest:
        if outcomes[i].promising:
            left.setdefault(outcomes[i].gains, i)
    chosen: list[int] = []
    while left and len(chosen) < few:
        there = [outcomes[i] for i in left.values()]
        front = [i for i in left.values() if not any(one.beats(outcomes[i]) for one in there)]
        chosen += sorted(front, key=lambda i: outcomes[i].gains, reverse=True)
        left = {gains: i for gains, i in left.items() if i not in front}
    return chosen[:few]


def judge(present: Replicas, candidates: Sequence[Replicas], goals: Goals) -> list[ProfileVerdict]:
    """What the part held back says of each. Intervals of goals hold all together, of all
    candidates, with CONFIDENCE.
    """
    together = 1 - (1 - CONFIDENCE) / max(1, len(candidates) * len(goals.gains))
    return [_verdict(present, one, goals, together) for one in candidates]


def recommended(verdicts: Sequence[ProfileVerdict], goals: Goals) -> int | None:
    """The place of the one that gains most at least, by the most important goal; None where none
    is better.
    """
    better = [i for i, one in enumerate(verdicts) if one.better]
    return max(better, key=lambda i: _least_gains(verdicts[i], goals), default=None)


# ---- inside --------------------------------------------------------------------------------------


def _verdict(
    present: Replicas, candidate: Replicas, goals: Goals, together: float
) -> ProfileVerdict:
    aims = {one.measure for one in goals.gains}
    alone = {one.measure: one for one in compared(present[0], candidate[0])}
    joint = {one.measure: one for one in compared_replicas(present, candidate, together)}
    return ProfileVerdict(
        {measure: joint[measure] if measure in aims else one for measure, one in alone.items()},
        tuple(one for one in goals.gains if _least(one, joint) > 0),
        tuple(one for one in (*goals.gains, *goals.guards) if _most(one, alone) < 0),
    )


def _least(goal: Goal, found: Mapping[Measure, ComparedMeasure]) -> float:
    """0 where there is too little to say."""
    one = found.get(goal.measure)
    return 0.0 if one is None or one.interval is None else goal.least_gain(one.interval)


def _most(goal: Goal, found: Mapping[Measure, ComparedMeasure]) -> float:
    one = found.get(goal.measure)
    return 0.0 if one is None or one.interval is None else goal.most_gain(one.interval)


def _least_gains(verdict: ProfileVerdict, goals: Goals) -> tuple[float, ...]:
    return tuple(_least(one, verdict.effects) for one in goals.gains)
