"""Goals as people state them: the name of a measure, and ``more:`` or ``less:`` before it where
they mean the other direction than most do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from moorage.apps.exit_status import WrongUse
from moorage.core.simulation.judgements import Goal, Goals, usually_more, with_guards
from moorage.core.simulation.measures import Measure
from moorage.core.structures.likeness import suggest

_DIRECTIONS: Final = {"more": True, "less": False}


def read_goals(gains: Sequence[str], guards: Sequence[str], known: Iterable[Measure]) -> Goals:
    """Of what was typed after --for and --not-worse; ``known``: the measures that the recording
    has. Raises WrongUse.
    """
    measures = list(known)
    aims = [_goal("--for", text, measures) for text in gains]
    kept = [_goal("--not-worse", text, measures) for text in guards]
    seen: set[Measure] = set()
    for one in (*aims, *kept):
        if one.measure in seen:
            raise WrongUse(f"{one.measure.name}: named twice")
        seen.add(one.measure)
    return with_guards(aims, kept)


def _goal(option: str, text: str, measures: Sequence[Measure]) -> Goal:
    direction, colon, rest = text.partition(":")
    if colon and direction not in _DIRECTIONS:
        raise WrongUse(f"{option} {text}: what stands before the colon is more or less")
    wanted = _plain(rest if colon else text)
    named = {_plain(one.name): one for one in measures}
    if wanted not in named:
        names = ", ".join(f"'{one.name}'" for one in measures)
        hint = suggest(wanted, named)
        raise WrongUse(f"{option} {text}: no such measure{hint}; the recording has: {names}")
    measure = named[wanted]
    return Goal(measure, _DIRECTIONS[direction] if colon else usually_more(measure))


def _plain(name: str) -> str:
    """Commas and capitals do not matter."""
    return " ".join(name.replace(",", " ").lower().split())
