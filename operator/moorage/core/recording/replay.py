"""Replay: the entries of a journal, one after another, applied to a context of one's own.

Changes are made by the methods that made them; at each decision the same function of ``core.cycle``
decides again, on what should be the same state, and both outcomes are compared. What was decided
the first time is what counts from then on, so one difference does not lead to others.
"""

from __future__ import annotations

import enum
import functools
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry, Gap
from moorage.core.columns.store import Store
from moorage.core.cycle import cycle, group_cycle
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    ExtenderCycleEnded,
    GroupAttemptBegan,
    GroupAttemptEnded,
    GroupDecided,
    GroupExtenderAnswered,
    GroupMoment,
    ProfileActivated,
    ProfileDeactivated,
    ProfileHeld,
)
from moorage.core.cycle.extender_cycle import extender_cycle
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.recorded_decisions import (
    RecordedDecision,
    RecordedOutcome,
    outcome_of,
    recorded,
)
from moorage.core.recording.replayed_groups import ReplayedGroups, of_one_member
from moorage.core.recording.state_changes import apply_change


class WhyNot(enum.StrEnum):
    """Why a decision cannot be made again."""

    ENDED = "ended by the clock or a fault"
    OVERTAKEN = "pod groups that others overtook"
    NO_REVISION = "by plugins that are not here"
    BEGAN_BEFORE = "begun before what is recorded here"


class Difference(NamedTuple):
    """A decision that came out otherwise. ``now``: None where extenders would be asked further."""

    recorded: RecordedDecision
    now: RecordedOutcome | None


DECISIONS = (
    Decided,
    RecordedDecision,
    ExtenderCycleBegan,
    ExtenderAnswered,
    ExtenderCycleEnded,
    GroupAttemptBegan,
    GroupMoment,
    GroupExtenderAnswered,
    GroupDecided,
    GroupAttemptEnded,
)
"""Entries that change nothing."""


class Replay:
    """Follows a journal from its begin, or from a whole state."""

    def __init__(self, context: CycleContext) -> None:
        self.context = context
        """An empty one from each gap on."""
        self.profiles: dict[str, Revision] = {}
        """The revisions that decide, by schedulerName; those that cannot be made here are left
        out.
        """
        self.holds: dict[str, Hold] = {}
        """By schedulerName, why pods are not tried."""
        self.decisions = 0
        """How many were made again."""
        self.not_made = Counter[WhyNot]()
        """How many could not be."""
        self._cycles: dict[int, _ReplayedCycle] = {}
        self._groups = ReplayedGroups()

    def apply(self, entry: Entry) -> Difference | None:
        """Have it so, or decide again; what differs if that is a decision which comes out
        otherwise.
        """
        match entry:
            case Decided() | GroupDecided():
                return self._compare(recorded(entry))
            case RecordedDecision():
                return self._compare(entry)
            case GroupAttemptBegan():
                self._groups.begin(entry, self.context)
            case GroupMoment() | GroupAttemptEnded():
                self._groups.go_on(entry)
            case GroupExtenderAnswered():
                self._groups.hear_answer(entry)
            case ExtenderCycleBegan():
                steps = extender_cycle(entry.pod, entry.revision, self.context, entry.placement)
                self._cycles[entry.cycle] = _ReplayedCycle(steps)
                self._go_on(entry, None)
            case ExtenderAnswered():
                self._go_on(entry, entry.answer)
            case ExtenderCycleEnded():
                self._cycles.pop(entry.cycle, None)
            case _:
                self._apply_change(entry)
        return None

    def follow(self, entry: Entry) -> None:
        """Have it so and decide nothing again: what follows from a decision comes as changes."""
        if not isinstance(entry, DECISIONS):
            self._apply_change(entry)

    @property
    def not_made_again(self) -> int:
        """How many could not be, for any reason."""
        return self.not_made.total()

    @property
    def is_asking(self) -> bool:
        """Whether cycles with extenders, or attempts of groups, have begun and not ended."""
        return bool(self._cycles) or self._groups.any

    def finish(self, entry: Entry) -> Difference | None:
        """The same as ``follow``, but that the cycles which are under way go on to their ends:
        others may have begun to make all decisions again, from a state of by then.
        """
        match entry:
            case ExtenderCycleBegan():
                self._cycles.pop(entry.cycle, None)  # its number is another cycle's from here on
            case GroupAttemptBegan():
                self._groups.forget(entry.attempt)
            case Decided() | GroupDecided():
                return self._finish(recorded(entry))
            case RecordedDecision():
                return self._finish(entry)
            case _ if isinstance(entry, DECISIONS):
                self.apply(entry)
            case _:
                self.follow(entry)
        return None

    def _apply_change(self, entry: Entry) -> None:
        match entry:
            case ProfileActivated() if entry.revision is not None:
                self.profiles[entry.scheduler_name] = entry.revision
            case ProfileActivated() | ProfileDeactivated():
                self.profiles.pop(entry.scheduler_name, None)
            case ProfileHeld() if entry.hold is not None:
                self.holds[entry.scheduler_name] = entry.hold
            case ProfileHeld():
                self.holds.pop(entry.scheduler_name, None)
            case Gap():
                self.context = CycleContext(Cache(Store(INDEXES)), self.context.seed)
                self.profiles.clear()
                self.holds.clear()
                self._cycles.clear()
                self._groups = ReplayedGroups()
            case _:
                apply_change(entry, self.context)

    # ---- decisions -------------------------------------------------------------------------------

    def _finish(self, decision: RecordedDecision) -> Difference | None:
        """Compare what had begun before; of others only groups hear."""
        began = self._groups if decision.by is DecidedBy.POD_GROUP else self._cycles
        if decision.cycle in began:
            return self._compare(decision)
        self._groups.hear(decision)
        return None

    def _compare(self, decision: RecordedDecision) -> Difference | None:
        self._groups.hear(decision)
        if decision.by is DecidedBy.EXTENDER_CYCLE and decision.cycle in self._cycles:
            now = self._cycles[decision.cycle].outcome
        elif decision.by is DecidedBy.POD_GROUP and decision.cycle in self._groups:
            self.decisions += 1
            now, members = self._groups.outcome(decision.cycle)
            if now == decision.outcome:
                return None
            return Difference(*of_one_member(decision, now, members))
        elif (decide := _deciding(decision)) is not None and decision.revision is not None:
            self._as_then(decision)
            now = _outcome(functools.partial(decide, decision.pod, decision.revision, self.context))
        else:
            self.not_made[_why_not(decision)] += 1
            return None
        self.decisions += 1
        return None if now == decision.outcome else Difference(decision, now)

    def _go_on(self, entry: ExtenderCycleBegan | ExtenderAnswered, answer: Any) -> None:
        """With an answer, None at the begin; nothing for a cycle whose begin was not seen."""
        running = self._cycles.get(entry.cycle)
        if running is not None:
            self._as_then(entry)
            running.go_on(answer)

    def _as_then(self, entry: RecordedDecision | ExtenderCycleBegan | ExtenderAnswered) -> None:
        """What a decision is made by beside the state is as it was."""
        self.context.sampler.start = entry.sampled_from
        self.context.makes_room = entry.makes_room


def _deciding(
    decision: RecordedDecision,
) -> Callable[[Pod, Revision, CycleContext], Decision] | None:
    """Which function of ``core.cycle`` decided; None for none of them."""
    if decision.by is DecidedBy.GROUP_MEMBER:
        return functools.partial(group_cycle.decide_member, placement=decision.placement)
    return cycle.decide if decision.by is DecidedBy.CYCLE else None


def _why_not(decision: RecordedDecision) -> WhyNot:
    if decision.by is DecidedBy.NOBODY:
        return WhyNot.OVERTAKEN if decision.outcome.members else WhyNot.ENDED
    return WhyNot.NO_REVISION if decision.revision is None else WhyNot.BEGAN_BEFORE


class _ReplayedCycle:
    """A cycle between two answers; ``outcome`` is None until it has ended."""

    def __init__(self, steps: Generator[Any, Any, Decision]) -> None:
        self._steps = steps
        self.outcome: RecordedOutcome | None = None

    def go_on(self, answer: Any) -> None:
        """With an answer, None at the begin."""
        self.outcome = _outcome(lambda: self._next(answer))

    def _next(self, answer: Any) -> Decision | None:
        try:
            self._steps.send(answer)
        except StopIteration as end:
            decided: Decision = end.value
            return decided
        return None


def _outcome(decide: Callable[[], Decision | None]) -> RecordedOutcome | None:
    """What is decided now. A plugin that fails here and did not then is a difference like any
    other.
    """
    try:
        result = decide()
    except Exception as error:  # noqa: BLE001 - as above: plugins may raise anything
        return RecordedOutcome(code="Fault", message=repr(error))
    return None if result is None else outcome_of(result)
