"""Stretches of a recording, each from one whole state to another, that are looked through one by
one, here or in other processes; ``joining`` makes one of what they found.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from moorage.adapters.recording import Reached, Recording
from moorage.api.bodies import Body
from moorage.api.resolution import Resolver
from moorage.apps.worlds import deciding
from moorage.apps.worlds.world import empty_context
from moorage.core.columns.changes import Entry, Gap
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.plugins.intree import PRESETS
from moorage.core.recording.others import WINDOW_SECONDS, Choice, OthersChoices, Yardsticks
from moorage.core.recording.recorded_decisions import RecordedDecision, RecordedOutcome
from moorage.core.recording.replay import Difference, Replay
from moorage.core.recording.standing import Standing, plugin_scores, standing

_TOLD_EACH: Final = 100
"""Entries."""
_NO_REASON: Final = ("Default", "NoScoring")
"""Presets that explain no choice: the one that choices are judged by, and one to which all nodes
are the same.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayOptions:
    """``verify``: make decisions again; ``keep_going``: past the first difference; ``others``: look
    for why choices of others are not ours.
    """

    verify: bool = True
    keep_going: bool = False
    others: bool = False


class Stretch(NamedTuple):
    """From one key frame to another, by their places among all; None: to the end."""

    begin: int = 0
    end: int | None = None


def stretches(recording: Recording, count: int) -> list[Stretch]:
    """About so many, of about as many entries each, that are the whole recording. Where there are
    several, a file begins another one: the one before may be torn, and reading goes on there.
    """
    if count == 1:
        return [Stretch()]
    total = sum(recording.sizes)
    begins, place, size = list[int](), 0, 0
    for segment in recording.segments:
        for i, entries in enumerate(segment.sizes):
            if i == 0 or size * count >= total:
                begins.append(place)
                size = 0
            size += entries
            place += 1
    return [Stretch(*each) for each in zip(begins, [*begins[1:], None], strict=True)]


# ---- what is found -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedDifference:
    """A decision that comes out otherwise now, the ``number``-th of ours, with what is made now of
    the node that was chosen then. ``pod``: namespace/name; ``now``: None where extenders would be
    asked further.
    """

    number: int
    at: float
    pod: str
    then: RecordedOutcome
    now: RecordedOutcome | None
    then_node: Standing | None
    plugins: tuple[tuple[str, int, int], ...]
    """Those that tell the node of then from that of now: name, its scores for both."""
    verdicts: tuple[str, ...]
    """Plugins that say otherwise whether a node takes the pod."""


class UnknownTime(NamedTuple):
    """A gap: the last moment that is known before it, and the first after it, infinite for none."""

    begin: float
    end: float


@dataclasses.dataclass(slots=True, kw_only=True)
class SeenEntries:
    """What entries say; ``end``: when the last of them was, in seconds since 1970."""

    end: float = -math.inf
    entries: Counter[str] = dataclasses.field(default_factory=Counter)
    outcomes: Counter[str] = dataclasses.field(default_factory=Counter)
    """Decisions of ours, by who decided and what came of it."""
    revisions: dict[str, None] = dataclasses.field(default_factory=dict)
    """In the order in which they began to decide."""
    gaps: list[UnknownTime] = dataclasses.field(default_factory=list)
    choices: list[Choice] = dataclasses.field(default_factory=list)

    def take(self, at: float, entry: Entry) -> None:
        """The next one."""
        self.end = at
        self.entries[type(entry).__name__] += 1
        if isinstance(entry, RecordedDecision):
            came = "placed" if entry.outcome.node else entry.outcome.code
            self.outcomes[f"{entry.by.name}: {came}"] += 1
        if isinstance(entry, ProfileActivated) and entry.revision is not None:
            self.revisions.setdefault(entry.revision.id)

    def go_on(self, later: SeenEntries) -> None:
        """What was seen after this."""
        self.gaps += (
            gap if gap.begin > -math.inf else UnknownTime(self.end, gap.end) for gap in later.gaps
        )
        before = len(self.choices)
        self.choices += (
            dataclasses.replace(one, number=before + one.number) for one in later.choices
        )
        self.entries += later.entries
        self.outcomes += later.outcomes
        self.revisions |= later.revisions
        self.end = later.end if later.entries else self.end


class DecisionVerdict(enum.IntEnum):
    """What became of one decision of ours; a byte."""

    UNASKED = 0
    SAME = 1
    OTHERWISE = 2
    ENDED = 3
    OVERTAKEN = 4
    NO_REVISION = 5
    BEGAN_BEFORE = 6
    """It could not be, for the reason of this name (``WhyNot``)."""


@dataclasses.dataclass(slots=True)
class StretchFound:
    """What a stretch holds."""

    opening: SeenEntries = dataclasses.field(default_factory=SeenEntries)
    """What is in the whole state that it begins with."""
    seen: SeenEntries = dataclasses.field(default_factory=SeenEntries)
    """What came after that."""
    verdicts: bytearray = dataclasses.field(default_factory=bytearray)
    """Of each decision, in their order."""
    later: bytearray = dataclasses.field(default_factory=bytearray)
    """The same of decisions after its end, of which some began in it; others are UNASKED."""
    differences: list[ExplainedDifference] = dataclasses.field(default_factory=list)
    """Each has as its number its place in ``verdicts`` and ``later``."""
    reached: Reached = dataclasses.field(default_factory=Reached)
    torn: list[tuple[int, str] | None] = dataclasses.field(default_factory=list)
    """Of each file, where and why it cannot be read further, as far as is known."""


# ---- looking -------------------------------------------------------------------------------------


def look_through(
    recording: Recording,
    stretch: Stretch,
    resolver: Resolver,
    options: ReplayOptions,
    tell: Callable[[float], object],
) -> StretchFound:
    """Go through a stretch, and on to where the last cycle with extenders, or attempt of a group,
    ends that began in it.
    ``tell`` is told now and then how many seconds of the recording more are done.
    """
    run = _Run(recording, resolver, options)
    key_frames = recording.key_frames
    told = at = key_frames[stretch.begin]
    for at, entry in recording.key_frame(stretch.begin):
        run.open(at, entry)
    for number, (at, entry) in enumerate(_happenings(recording, stretch, run.found)):
        run.take(at, entry)
        if number % _TOLD_EACH == 0:
            tell(at - told)
            told = at
    tell((at if stretch.end is None else key_frames[stretch.end]) - told)
    run.finish()
    return run.found


def _happenings(
    recording: Recording, stretch: Stretch, found: StretchFound
) -> Iterator[tuple[float, Entry]]:
    """What came after the whole state; then ``found`` says where that ended, and why."""
    found.reached = yield from recording.happenings(*stretch, is_known=True)
    torn = (segment.torn for segment in recording.segments)
    found.torn = [(one.offset, one.why) if one else None for one in torn]


CLOCK_RATE = 0.25
"""Seconds of a search in each second: what was found in time is found again, on a slower machine,
too, and what took too long then is an entry.
"""


class _Run:
    """Takes entries one after another."""

    def __init__(self, recording: Recording, resolver: Resolver, options: ReplayOptions) -> None:
        seed = recording.header.seed
        self.found = StretchFound()
        self._recording = recording
        self._replay = Replay(empty_context(seed, clock_rate=CLOCK_RATE))
        self._options = options
        behind = Replay(empty_context(seed, clock_rate=CLOCK_RATE)) if options.others else None
        self._others = OthersChoices(behind, yardsticks(resolver), WINDOW_SECONDS)

    def open(self, at: float, entry: Entry) -> None:
        """The next one of the whole state."""
        self.found.opening.take(at, entry)
        self._others.look(at, entry, self._replay)
        self._replay.follow(entry)

    def take(self, at: float, entry: Entry) -> None:
        """What happened next."""
        seen = self.found.seen
        if isinstance(entry, Gap):
            seen.gaps.append(UnknownTime(seen.end, self._known_from(at)))
        seen.take(at, entry)
        self._others.look(at, entry, self._replay)
        apply = self._replay.apply if self._asks else self._replay.follow
        self._ask(at, entry, apply, self.found.verdicts)

    def finish(self) -> None:
        """Nothing more happened in the stretch: go on while cycles are under way."""
        self._others.end()
        self.found.seen.choices = self._others.choices
        place, is_known = self.found.reached
        after = self._recording.happenings(place, is_known=is_known)
        while self._asks and self._replay.is_asking and (one := next(after, None)):
            self._ask(*one, self._replay.finish, self.found.later)

    # ---- inside ----------------------------------------------------------------------------------

    @property
    def _asks(self) -> bool:
        """Whether decisions are made again, as no other one ends that."""
        return self._options.verify and (self._options.keep_going or not self.found.differences)

    def _ask(
        self,
        at: float,
        entry: Entry,
        apply: Callable[[Entry], Difference | None],
        verdicts: bytearray,
    ) -> None:
        replay, found = self._replay, self.found
        made, not_made = replay.decisions, replay.not_made.copy()
        difference = apply(entry)
        if not isinstance(entry, RecordedDecision):
            return
        verdict = DecisionVerdict.UNASKED
        if difference is not None:
            verdict = DecisionVerdict.OTHERWISE
            place = len(found.verdicts) + len(found.later)
            found.differences.append(_explained(difference, place, at, replay.context))
        elif replay.decisions > made:
            verdict = DecisionVerdict.SAME
        else:
            for why in replay.not_made - not_made:
                verdict = DecisionVerdict[why.name]
        verdicts.append(verdict)

    def _known_from(self, gap: float) -> float:
        """When the state is known again."""
        return min((time for time in self._recording.key_frames if time >= gap), default=math.inf)


def yardsticks(resolver: Resolver) -> Yardsticks:
    """Preset Default, and the other presets that prefer some nodes beside it."""
    others = {name: _of_preset(name, resolver) for name in PRESETS if name not in _NO_REASON}
    return Yardsticks(deciding.default_profile(resolver).revision, others)


def _of_preset(preset: str, resolver: Resolver) -> Revision:
    body: Body = {"metadata": {"name": "preset"}, "spec": {"preset": preset}}
    return resolver(body, {}).revision


# ---- why a decision is another one now -----------------------------------------------------------


def _explained(
    difference: Difference, place: int, at: float, context: CycleContext
) -> ExplainedDifference:
    """Asked of the state in which the decision was made."""
    was, now = difference.recorded, difference.now
    then_node, plugins = None, tuple[tuple[str, int, int], ...]()
    if was.revision is not None and was.outcome.node:
        then_node = standing(was.pod, was.outcome.node, was.revision, context)
        if now is not None and now.node:
            plugins = tuple(_telling(was, now.node, was.revision, context))
    verdicts = _verdicts(difference, then_node)
    return ExplainedDifference(
        place, at, key(was.pod), was.outcome, now, then_node, plugins, verdicts
    )


def _telling(
    was: RecordedDecision, now: str, revision: Revision, context: CycleContext
) -> Iterator[tuple[str, int, int]]:
    """Plugins that score the two nodes otherwise, those first that do most."""
    one = plugin_scores(was.pod, was.outcome.node, revision, context)
    other = plugin_scores(was.pod, now, revision, context)
    both = [(name, one[name], other[name]) for name in one.keys() & other.keys()]
    told = [each for each in both if each[1] != each[2]]
    yield from sorted(told, key=lambda each: (-abs(each[2] - each[1]), each[0]))


def _verdicts(difference: Difference, then_node: Standing | None) -> tuple[str, ...]:
    """Plugins by whose verdict a node, or all of them, were refused once only."""
    if then_node is not None and then_node.is_refused:
        return (then_node.refused_by or then_node.why,)
    now = difference.now.unschedulable_plugins if difference.now is not None else ()
    return tuple(sorted({*difference.recorded.outcome.unschedulable_plugins} ^ {*now}))
