"""The replay: makes the decisions of a recording again, and looks at those of others.

``Verification`` is what comes of it; ``verification_view`` prints it.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from moorage.adapters.recording import Recording
from moorage.api.bodies import Body
from moorage.api.resolution import Resolver
from moorage.apps.worlds import deciding
from moorage.apps.worlds.from_recording import opened, warnings_of
from moorage.apps.worlds.world import empty_context
from moorage.core.columns.changes import Entry, Gap
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import PRESETS
from moorage.core.recording.others import WINDOW_SECONDS, Choice, OthersChoices, Yardsticks
from moorage.core.recording.recorded_decisions import RecordedDecision
from moorage.core.recording.replay import Difference, Replay
from moorage.core.recording.standing import Standing, plugin_scores, standing

_TOLD_EACH: Final = 100
"""Entries."""
_NO_REASON: Final = ("Default", "NoScoring")
"""Presets that explain no choice: the one that choices are judged by, and one to which all nodes
are the same.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedDifference:
    """A decision that comes out otherwise now, the ``number``-th of ours, with what is made now of
    the node that was chosen then.
    """

    number: int
    at: float
    difference: Difference
    then_node: Standing | None
    plugins: tuple[tuple[str, int, int], ...]
    """Those that tell the node of then from that of now: name, its scores for both."""
    verdicts: tuple[str, ...]
    """Plugins that say otherwise whether a node takes the pod."""


class UnknownTime(NamedTuple):
    """A gap: the last moment that is known before it, and the first after it, infinite for none."""

    begin: float
    end: float


@dataclasses.dataclass(slots=True)
class Verification:
    """What a replay of a whole recording found; times are seconds since 1970."""

    recorded_by: dict[str, str]
    """Versions, by what they are of."""
    begin: float
    end: float = 0.0
    decisions: int = 0
    """That were made again."""
    recorded_decisions: int = 0
    not_made_again: int = 0
    differences: list[ExplainedDifference] = dataclasses.field(default_factory=list)
    choices: list[Choice] = dataclasses.field(default_factory=list)
    revisions: dict[str, None] = dataclasses.field(default_factory=dict)
    """In the order in which they began to decide."""
    entries: Counter[str] = dataclasses.field(default_factory=Counter)
    gaps: list[UnknownTime] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    """That it took."""
    warnings: list[str] = dataclasses.field(default_factory=list)

    @property
    def same(self) -> int:
        return self.decisions - len(self.differences)


@dataclasses.dataclass(frozen=True, slots=True)
class ReplayOptions:
    """``verify``: make decisions again; ``keep_going``: past the first difference; ``others``: look
    for why choices of others are not ours.
    """

    verify: bool = True
    keep_going: bool = False
    others: bool = False


def replay(
    path: Path,
    resolver: Resolver,
    options: ReplayOptions,
    tell: Callable[[float], None] = lambda share: None,
) -> Verification:
    """Go through a recording; ``tell`` is told now and then how much of it is done. Raises
    NoAnswer.
    """
    recording = opened(path, resolver.registry)
    run = _Run(recording, resolver, options)
    began, first = time.monotonic(), recording.key_frames[0]
    span = max(recording.key_frames[-1] - first, 1.0)  # when it ends is known at its end
    for number, (at, entry) in enumerate(recording):
        run.take(at, entry)
        if number % _TOLD_EACH == 0:
            tell((at - first) / span)
    found = run.end()
    found.seconds = time.monotonic() - began
    found.warnings = warnings_of(recording, found.end)
    return found


class _Run:
    """Takes entries one after another."""

    def __init__(self, recording: Recording, resolver: Resolver, options: ReplayOptions) -> None:
        seed = recording.header.seed
        self._key_frames = recording.key_frames
        self._replay = Replay(empty_context(seed))
        self._options = options
        self._found = Verification(recording.header.versions, recording.key_frames[0])
        behind = Replay(empty_context(seed)) if options.others else None
        self._others = OthersChoices(behind, yardsticks(resolver), WINDOW_SECONDS)

    def take(self, at: float, entry: Entry) -> None:
        found = self._found
        if isinstance(entry, Gap):
            found.gaps.append(UnknownTime(found.end, self._known_from(at)))
        found.end = at
        found.entries[type(entry).__name__] += 1
        if isinstance(entry, ProfileActivated) and entry.revision is not None:
            found.revisions.setdefault(entry.revision.id)
        is_decision = isinstance(entry, RecordedDecision)
        found.recorded_decisions += is_decision
        self._others.look(at, entry, self._replay)
        stopped = bool(found.differences) and not self._options.keep_going
        if not self._options.verify or stopped:
            self._replay.follow(entry)
        elif (difference := self._replay.apply(entry)) is not None:
            explained = _explained(difference, at, self._replay)
            found.differences.append(explained)

    def _known_from(self, gap: float) -> float:
        """When the state is known again."""
        return min((time for time in self._key_frames if time >= gap), default=math.inf)

    def end(self) -> Verification:
        self._others.end()
        found = self._found
        found.choices = self._others.choices
        found.decisions, found.not_made_again = self._replay.decisions, self._replay.not_made_again
        return found


def yardsticks(resolver: Resolver) -> Yardsticks:
    """Preset Default, and the other presets that prefer some nodes beside it."""
    others = {name: _of_preset(name, resolver) for name in PRESETS if name not in _NO_REASON}
    return Yardsticks(deciding.default_profile(resolver).revision, others)


def _of_preset(preset: str, resolver: Resolver) -> Revision:
    body: Body = {"metadata": {"name": "preset"}, "spec": {"preset": preset}}
    return resolver(body, {}).revision


def _explained(difference: Difference, at: float, replay: Replay) -> ExplainedDifference:
    """Asked of the state in which the decision was made, which the replay has now."""
    was, now = difference.recorded, difference.now
    then_node, plugins = None, tuple[tuple[str, int, int], ...]()
    if was.revision is not None and was.outcome.node:
        then_node = standing(was.pod, was.outcome.node, was.revision, replay.context)
        if now is not None and now.node:
            plugins = tuple(_telling(was, now.node, was.revision, replay.context))
    verdicts = _verdicts(difference, then_node)
    return ExplainedDifference(replay.decisions, at, difference, then_node, plugins, verdicts)


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
