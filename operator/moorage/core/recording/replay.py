"""Replay: the entries of a journal, one after another, applied to a context of one's own.

Changes are made by the methods that made them; at each decision the same function of ``core.cycle``
decides again, on what should be the same state, and both outcomes are compared. What was decided
the first time is what counts from then on, so one difference does not lead to others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle import cycle, decisions, gang_cycle
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.cycle.extender_cycle import extender_cycle
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.recorded_decisions import (
    RecordedDecision,
    RecordedOutcome,
    outcome_of,
    recorded,
)


class Difference(NamedTuple):
    """A decision that came out otherwise."""

    recorded: RecordedDecision
    now: RecordedOutcome | None
    """None: extenders would be asked further."""


class Replay:
    """Follows a journal from its begin, or from a whole state."""

    def __init__(self, context: CycleContext) -> None:
        self.context = context
        self.decisions = 0
        """How many were made again."""
        self._cycles: dict[int, _ExtenderCycle] = {}
        cache, store = context.cache, context.cache.store
        nominations, ledger, offers = (
            cache.nominations,
            store.index(DeviceLedger),
            store.index(VolumeOffers),
        )
        self._appliers: dict[type[Entry], Callable[[Any], object]] = {
            changes.NodePut: lambda one: cache.put_node(one.node),
            changes.NodeRemoved: lambda one: cache.remove_node(one.name),
            changes.ObjectPut: lambda one: store.put(one.object),
            changes.ObjectRemoved: lambda one: store.remove(one.kind, one.name),
            changes.PodWaiting: lambda one: cache.observe_waiting(one.pod, pod_requests(one.pod)),
            changes.PodObserved: lambda one: cache.observe(one.pod, pod_requests(one.pod)),
            changes.PodUnreadable: lambda one: cache.observe_unreadable(
                one.pod, one.node, one.requests
            ),
            changes.PodRemoved: lambda one: cache.remove(one.uid),
            changes.PodStuck: lambda one: cache.mark_stuck(one.uid),
            changes.PodPreempted: lambda one: cache.mark_preempted(one.uid),
            changes.PodAssumed: lambda one: cache.assume(one.pod, one.node, pod_requests(one.pod)),
            changes.PodForgotten: lambda one: cache.forget(one.uid),
            changes.Nomination: nominations.restore,
            changes.ClaimAssumed: lambda one: ledger.assume(one.claim),
            changes.ClaimConfirmed: lambda one: ledger.confirm(one.claim),
            changes.ClaimReleased: lambda one: ledger.release(
                ledger.assumed(one.claim) or one.claim
            ),
            changes.VolumesAssumed: lambda one: offers.assume(one.volumes, one.claims),
            changes.VolumesReleased: lambda one: offers.release(
                *offers.assumed(one.volumes, one.claims)
            ),
            decisions.ExtenderCycleBegan: self._begin_cycle,
            decisions.ExtenderAnswered: self._answer,
            decisions.ExtenderCycleEnded: lambda one: self._cycles.pop(one.cycle, None),
        }

    def apply(self, entry: Entry) -> Difference | None:
        """Have it so, or decide again; what differs if it is a decision that comes out
        otherwise.
        """
        if isinstance(entry, Decided):
            entry = recorded(entry)
        if isinstance(entry, RecordedDecision):
            return self._compare(entry)
        self._appliers[type(entry)](entry)
        return None

    # ---- inside ----------------------------------------------------------------------------------

    def _compare(self, decision: RecordedDecision) -> Difference | None:
        if decision.by is DecidedBy.EXTENDER_CYCLE and decision.cycle in self._cycles:
            result = self._cycles[decision.cycle].outcome
        elif decision.by not in _DECIDE or decision.revision is None:
            return None
        else:
            self.context.sampler.start = decision.sampled_from
            result = _DECIDE[decision.by](decision.pod, decision.revision, self.context)
        self.decisions += 1
        now = None if result is None else outcome_of(result)
        return None if now == decision.outcome else Difference(decision, now)

    def _begin_cycle(self, began: decisions.ExtenderCycleBegan) -> None:
        running = _ExtenderCycle(extender_cycle(began.pod, began.revision, self.context))
        self._cycles[began.cycle] = running
        self.context.sampler.start = began.sampled_from
        running.send(None)

    def _answer(self, answered: decisions.ExtenderAnswered) -> None:
        if (running := self._cycles.get(answered.cycle)) is not None:
            self.context.sampler.start = answered.sampled_from
            running.send(answered.answer)


_DECIDE: dict[DecidedBy, Callable[[Pod, Revision, CycleContext], Decision]] = {
    DecidedBy.CYCLE: cycle.decide,
    DecidedBy.GANG_MEMBER: gang_cycle.decide_member,
    DecidedBy.HOLDING_GANG_MEMBER: functools.partial(gang_cycle.decide_member, holds=True),
}


class _ExtenderCycle:
    """A cycle between two answers."""

    def __init__(self, steps: Generator[Any, Any, Decision]) -> None:
        self._steps = steps
        self.outcome: Decision | None = None

    def send(self, answer: Any) -> None:
        """Go on with an answer, None at the begin."""
        try:
            self._steps.send(answer)
        except StopIteration as end:
            self.outcome = end.value
