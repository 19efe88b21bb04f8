"""What a search came to, for people and for programs."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from rich.console import RenderableType

from moorage.apps.commands.output_files import STDOUT
from moorage.apps.printing.amounts import age, counted, moment
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.simulate.comparison_answers import CANNOT_KNOW
from moorage.apps.simulate.simulation_answers import amount
from moorage.apps.tune.searching import TriedProfile
from moorage.core.framework.revisions import Revision
from moorage.core.simulation.intervals import CONFIDENCE, WINDOWS, Interval
from moorage.core.simulation.judgements import Goal, Goals, ProfileVerdict
from moorage.core.simulation.recorded_parts import Moved, RecordedPart, SplitRecording

_SHORT_SECONDS: Final = WINDOWS * 60.0
"""Windows of less than a minute depend on each other."""
_DAY: Final = 86_400


class JudgedProfile(NamedTuple):
    """One of the best few, on the part held back; ``waiting``: pods without a place at its end."""

    tried: TriedProfile
    verdict: ProfileVerdict
    moved: Moved
    waiting: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """All that was found. ``choice``: the place of the one recommended among ``judged``."""

    source: str
    profile: str
    present: Revision
    goals: Goals
    parts: SplitRecording
    tried: tuple[TriedProfile, ...]
    judged: tuple[JudgedProfile, ...]
    choice: int | None
    made_again: Moved
    """On the part held back: how well a rerun does."""
    changes: Mapping[int, tuple[str, ...]]
    """By number: what a profile has otherwise than the present one."""
    file: Path
    """Where the recommended one is, or was to be."""
    not_written: str = ""
    """Why it is not there."""

    @property
    def chosen(self) -> JudgedProfile | None:
        """The one that is recommended."""
        return None if self.choice is None else self.judged[self.choice]

    @property
    def profile_text(self) -> str:
        """The one that is recommended, as a file; "" for none."""
        if self.chosen is None:
            return ""
        tried = self.chosen.tried
        head = f"# By moorage tune, from {self.source}: {'; '.join(self.changes[tried.number])}\n"
        return f"{head}\n{yaml.safe_dump(tried.body, sort_keys=False, allow_unicode=True)}"

    @property
    def answer(self) -> str:
        """In a sentence."""
        goal = self.goals.gains[0]
        if self.chosen is not None:
            changes = ", ".join(self.changes[self.chosen.tried.number])
            effects = ", ".join(_said(one, self.chosen.verdict) for one in _aims(self.goals))
            return f"Recommends {changes}: {effects}."
        if not self.judged:
            tried = counted(len(self.tried), "profile")
            return f"Nothing better found: none of {tried} gains anything in the search."
        best = max(self.judged, key=lambda one: (bool(one.verdict.gained), _least(goal, one)))
        if best.verdict.gained:
            names = ", ".join(one.measure.name for one in best.verdict.worse)
            return f"Nothing to recommend: what gains {goal.measure.name} loses {names}."
        span = _span(goal, best.verdict)
        return f"Nothing better found: the best of {len(self.tried):,} comes to {span}."


def terminal_parts(found: Tuning) -> Iterator[RenderableType]:
    """The answer for people at a terminal."""
    yield sentence(found.answer, Style.REFUSED if found.choice is None else Style.WELL)
    yield sentence(f"  {_searched(found)}")
    aims = _aims(found.goals)
    names = [one.measure.name.upper() for one in aims]
    numbers = ("#", *names, "ELSEWHERE")
    table = new_table(*numbers, "CHANGE", numbers=numbers, wide="CHANGE")
    for i, one in enumerate(found.judged, start=1):
        spans = [_interval(aim, one.verdict) for aim in aims]
        changes = "; ".join(found.changes[one.tried.number])
        row = (str(i), *spans, f"{_share(one.moved)} %", changes)
        table.add_row(*(sentence(cell) for cell in row))
    table.add_row("-", *("0" for _ in aims), "0 %", "as it is")
    yield table
    yield from map(sentence, _notes(found))
    if found.chosen is not None and not found.not_written and found.file != STDOUT:
        yield sentence(_where(found))


def body(found: Tuning) -> dict[str, Any]:
    """The same for programs."""
    chosen = found.chosen
    recommendation = None
    if chosen is not None:
        recommendation = {
            **_front(found, chosen),
            "file": None if found.not_written else str(found.file),
            "document": chosen.tried.body,
        }
    return {
        "answer": found.answer,
        "source": found.source,
        "profile": {
            "name": found.profile,
            "schedulerName": found.present.scheduler_name,
            "revision": found.present.id,
        },
        "goals": list(map(_goal, found.goals.gains)),
        "notWorse": list(map(_goal, found.goals.guards)),
        "searched": _time(found.parts.first),
        "judged": _time(found.parts.rest),
        "confidence": CONFIDENCE,
        "trials": [_trial(found, one) for one in found.tried],
        "front": [_front(found, one) for one in found.judged],
        "recommendation": recommendation,
        "madeAgain": found.made_again._asdict(),
        "cutShort": found.parts.cut_short,
        "cannotKnow": CANNOT_KNOW,
    }


# ---- sentences -----------------------------------------------------------------------------------


def _aims(goals: Goals) -> tuple[Goal, ...]:
    return (*goals.gains, *goals.guards)


def _searched(found: Tuning) -> str:
    first, rest = found.parts.first.recorded, found.parts.rest.recorded
    long = rest.end - first.begin > _DAY
    begin, cut, end = (_clock(one, long) for one in (first.begin, rest.begin, rest.end))
    searched = f"searched {counted(len(found.tried), 'profile')} on {begin} - {cut}"
    if not found.judged:
        return f"{searched}; nothing to judge on {cut} - {end}"
    return f"{searched}, judged the best {len(found.judged)} on {cut} - {end}, which none had seen"


def _notes(found: Tuning) -> Iterator[str]:
    if found.judged:
        goals = ", ".join(one.measure.name for one in found.goals.gains)
        yield (
            f"Intervals of {CONFIDENCE:.0%}, those of {goals} for all "
            f"{counted(len(found.judged), 'profile')} together; others each by itself."
        )
    name = found.present.scheduler_name
    last = found.parts.last.get(name)
    if last is not None and last.id != found.present.id and name in found.parts.profiles:
        yield (
            f"{found.profile} is another one since: {found.present.id} decided at the cut, "
            f"{last.id} at the end."
        )
    placed, elsewhere = found.made_again
    if placed:
        kept = 100 * (placed - elsewhere) / placed
        yield f"Made again under the present profile, {kept:.0f} % of pods go where they went."
    seconds = found.parts.rest.recorded.end - found.parts.rest.recorded.begin
    if seconds < _SHORT_SECONDS:
        yield f"What was held back is short ({age(seconds)}): intervals are too narrow."
    if found.parts.cut_short:
        yield "There is a gap in the recording: what comes after it is left out."
    yield CANNOT_KNOW


def _where(found: Tuning) -> str:
    given = f"{found.present.scheduler_name}={found.file}"
    text = f"moorage simulate {found.source} --profile {given}"
    return f"Written: {found.file}. Try it: {text}"


def _said(goal: Goal, verdict: ProfileVerdict) -> str:
    """A goal in the answer."""
    interval = _of(goal, verdict)
    if interval is None or not interval.clear:
        return f"{goal.measure.name} no clear change"
    return _span(goal, verdict)


def _span(goal: Goal, verdict: ProfileVerdict) -> str:
    interval = _of(goal, verdict)
    name, unit = goal.measure
    if interval is None:
        return f"too little to say of {name}"
    low, high = (amount(end, unit, signed=True) for end in interval[1:])
    return f"{name} {low} to {high}"


def _interval(goal: Goal, verdict: ProfileVerdict) -> str:
    """A cell of the table."""
    interval = _of(goal, verdict)
    if interval is None:
        return "-"
    low, high = (amount(end, goal.measure.unit, signed=True) for end in interval[1:])
    return low if low == high else f"{low}..{high}"


def _least(goal: Goal, one: JudgedProfile) -> float:
    interval = _of(goal, one.verdict)
    return float("-inf") if interval is None else goal.least_gain(interval)


def _of(goal: Goal, verdict: ProfileVerdict) -> Interval | None:
    effect = verdict.effects.get(goal.measure)
    return None if effect is None else effect.interval


def _share(moved: Moved) -> int:
    return round(100 * moved.elsewhere / moved.placed) if moved.placed else 0


def _clock(seconds: float, long: bool) -> str:
    """Of a day; with its date in a recording that is longer."""
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return at.strftime("%d %b %H:%M" if long else "%H:%M:%S")


# ---- documents -----------------------------------------------------------------------------------


def _goal(one: Goal) -> dict[str, str]:
    better = "more" if one.more else "less"
    return {"name": one.measure.name, "unit": one.measure.unit, "better": better}


def _time(part: RecordedPart) -> dict[str, Any]:
    recorded = part.recorded
    arrivals = sum(time > recorded.begin for time in recorded.arrived.values())
    return {"from": moment(recorded.begin), "to": moment(recorded.end), "arrivals": arrivals}


def _trial(found: Tuning, one: TriedProfile) -> dict[str, Any]:
    gains = zip(found.goals.gains, one.outcome.gains, strict=True)
    losses = zip(found.goals.guards, one.outcome.losses, strict=True)
    return {
        "number": one.number,
        "revision": one.revision.id,
        "changes": list(found.changes[one.number]),
        "gains": {goal.measure.name: gain for goal, gain in gains},
        "losses": {goal.measure.name: loss for goal, loss in losses},
    }


def _front(found: Tuning, one: JudgedProfile) -> dict[str, Any]:
    return {
        "number": one.tried.number,
        "revision": one.tried.revision.id,
        "changes": list(found.changes[one.tried.number]),
        "measures": [
            {
                "name": effect.measure.name,
                "unit": effect.measure.unit,
                "present": effect.a,
                "candidate": effect.b,
                "difference": None if effect.interval is None else effect.interval.difference,
                "interval": None if effect.interval is None else list(effect.interval[1:]),
                "clear": effect.interval is not None and effect.interval.clear,
            }
            for effect in one.verdict.effects.values()
        ],
        "gained": [goal.measure.name for goal in one.verdict.gained],
        "worse": [goal.measure.name for goal in one.verdict.worse],
        "placedInBoth": one.moved.placed,
        "elsewhere": one.moved.elsewhere,
        "waiting": one.waiting,
    }
