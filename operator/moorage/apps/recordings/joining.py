"""Joining: what was found in the stretches of a recording, one after another, made into what one
replay of all of it finds.

A decision that its own stretch could not make again, as its cycle with extenders began before, may
have been made by the stretch where that began. What comes after a byte that was changed, up to the
file's end, is left out, as a replay does not come there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from moorage.adapters.recording import Reached, Recording, TornRecording
from moorage.apps.recordings.stretches import (
    DecisionVerdict,
    ExplainedDifference,
    ReplayOptions,
    SeenEntries,
    Stretch,
    StretchFound,
)
from moorage.core.recording.replay import WhyNot

_MADE = (DecisionVerdict.SAME, DecisionVerdict.OTHERWISE)


@dataclasses.dataclass(slots=True)
class Joined:
    """Takes what was found, in the order of the stretches."""

    recording: Recording
    seen: SeenEntries = dataclasses.field(default_factory=SeenEntries)
    _reached: Reached = dataclasses.field(default_factory=Reached)
    _verdicts: bytearray = dataclasses.field(default_factory=bytearray)
    _later: list[tuple[int, bytearray]] = dataclasses.field(default_factory=list)
    """Verdicts of decisions that began before, and the place of the first of them."""
    _differences: dict[int, ExplainedDifference] = dataclasses.field(default_factory=dict)
    """By their places among all verdicts."""

    def take(self, stretch: Stretch, found: StretchFound) -> None:
        """What was found in the next one."""
        if stretch.begin < self._reached.key_frame:
            return
        if not self._reached.is_known:
            self.seen.go_on(found.opening)
        self.seen.go_on(found.seen)
        self._reached = found.reached
        first = len(self._verdicts)
        self._verdicts += found.verdicts
        self._later.append((len(self._verdicts), found.later))
        self._differences |= {first + one.number: one for one in found.differences}
        self._tear(found)

    def _tear(self, found: StretchFound) -> None:
        """Of two places where a file is torn, reading ends at the first."""
        for segment, torn in zip(self.recording.segments, found.torn, strict=True):
            if torn and (segment.torn is None or torn[0] < segment.torn.offset):
                segment.torn = TornRecording(*torn)

    def end(self, options: ReplayOptions) -> Decisions:
        """Nothing comes any more."""
        verdicts = self._verdicts
        for first, later in self._later:
            for place, verdict in enumerate(later[: len(verdicts) - first], first):
                if verdict in _MADE:
                    verdicts[place] = verdict
        other = verdicts.find(DecisionVerdict.OTHERWISE)
        end = len(verdicts) if options.keep_going or other < 0 else other + 1
        return Decisions(
            recorded=len(verdicts),
            made=sum(verdicts.count(one, 0, end) for one in _MADE),
            not_made={
                why: count
                for why in WhyNot
                if (count := verdicts.count(DecisionVerdict[why.name], 0, end))
            },
            differences=list(self._numbered(end)),
        )

    def _numbered(self, end: int) -> Iterator[ExplainedDifference]:
        """Those before this place, each with its number among the decisions that were made."""
        number, counted = 0, 0
        for place in sorted(self._differences):
            if place >= end:
                return
            number += sum(self._verdicts.count(one, counted, place + 1) for one in _MADE)
            counted = place + 1
            yield dataclasses.replace(self._differences[place], number=number)


@dataclasses.dataclass(frozen=True, slots=True)
class Decisions:
    """What became of decisions of ours: how many are recorded, were made again up to where that
    ended, and could not be.
    """

    recorded: int
    made: int
    not_made: dict[WhyNot, int]
    """By reason."""
    differences: list[ExplainedDifference]
