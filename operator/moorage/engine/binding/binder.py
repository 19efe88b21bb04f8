"""The binder: what happens to a pod between the decision and the API server's yes.

Each placement is bound in a task of its own while the loop decides the next ones; a bound number of
them run at a time of each profile. A placement was assumed, so exactly one of three things must
happen here: it is confirmed (the watch will show it), it is taken back, or the pod turns out to be
gone or bound by somebody else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, TypeVar

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.engine.background_tasks import BackgroundTasks, uninterrupted
from moorage.engine.binding.actors.contract import Actor, PermitWait, UndoPreBind
from moorage.engine.binding.outcome import (
    CALL_LIMIT_SECONDS,
    GONE,
    INTERRUPTED,
    STAGE_LIMIT_SECONDS,
    BindingOutcome,
    BindingStage,
    failed_outcome,
)
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.binding.sender import BindingSender, BindingSlots, actors_of
from moorage.engine.slices import DecisionTimeout, SliceRunner
from moorage.ports.bundle import Ports
from moorage.ports.errors import Retryable
from moorage.ports.guards import FAULTS, guard

log = logging.getLogger(__name__)
OutcomeT = TypeVar("OutcomeT", bound=BindingOutcome | None)
BindingCallback: TypeAlias = Callable[[QueuedPodInfo, ScheduleResult, BindingOutcome], None]
"""Called on the loop's thread when a binding has ended, whatever happened."""


@dataclasses.dataclass(frozen=True, slots=True)
class BindingTools:
    """What binding cycles are carried out with."""

    context: CycleContext
    actors: Mapping[str, Actor]
    sender: BindingSender
    slots: BindingSlots
    waiting_pods: WaitingPods
    slices: SliceRunner
    ports: Ports


@dataclasses.dataclass(slots=True, eq=False)
class BindingCycle:
    """One placement on its way. ``node_generation`` is the node's at the decision; ``since`` when
    the present step began, in seconds.
    """

    entry: QueuedPodInfo
    placement: ScheduleResult
    tools: BindingTools
    node_generation: int
    since: float
    step: str = ""
    stage: BindingStage = BindingStage.WAITING
    outcome: BindingOutcome = INTERRUPTED
    """How it ended: known when ``bind`` is left."""
    interruption: BindingOutcome | None = None
    """Why the present stage was broken off."""
    withdrawn: BindingOutcome | None = None
    """Why it is not to begin, or to be sent: this came while it waited for its turn."""
    task: asyncio.Task[None] | None = None
    _undo_steps: list[UndoPreBind] = dataclasses.field(default_factory=list)
    """What takes back what has been prepared."""

    @property
    def may_have_been_sent(self) -> bool:
        """Whether it is too late to break it off."""
        return self.stage not in (BindingStage.WAITING, BindingStage.PREPARING)

    def interrupt(self, outcome: BindingOutcome) -> None:
        """Break it off, from outside; what is sent is not called back."""
        if self.stage is BindingStage.PREPARING:
            self._cancel(outcome)
        elif self.stage is BindingStage.WAITING:
            self.withdrawn = self.withdrawn or outcome

    def check_timeout(self, now: float) -> None:
        """Break off a step that takes too long."""
        limit = STAGE_LIMIT_SECONDS.get(self.stage, math.inf)
        if now - self.since > limit:
            text = f"binding rejected: running {self.step}: not done within {limit:g} s"
            self._cancel(BindingOutcome(False, error_status(text)))

    async def bind(self) -> None:
        """Permit, preBind and bind; ``outcome`` is how that ended. What was prepared is taken back
        unless the pod is bound.
        """
        points, refused = self.placement.revision.points, None
        try:
            if points[ExtensionPoint.PERMIT] or pre_bind_plugins(self.placement):
                refused = await self._permit_and_pre_bind()
            self.outcome = refused or await self._send()
        finally:
            if self._undo_steps and not self.outcome.bound:
                await uninterrupted(self._undo_pre_bind())

    async def post_bind(self) -> None:
        """PostBind; the pod stays bound, whatever happens here."""
        placement = self.placement
        names = placement.revision.points[ExtensionPoint.POST_BIND]
        for name, post_bind, reserved in actors_of(self.tools.actors, placement, names):
            self._begin(f'PostBind plugin "{name}"')
            extra = {"pod": key(placement.pod), "plugin": name}
            with guard("postBind, whose pod stays bound,", **extra):
                step = post_bind.post_bind(placement.pod, placement.node, reserved)
                await self._run_stage(BindingStage.POST_BIND, step)
            if self.interruption is not None:
                text = "postBind was not done within %g s: broken off; the pod stays bound"
                log.error(text, CALL_LIMIT_SECONDS, extra=extra)

    # ---- before it is sent -----------------------------------------------------------------------

    async def _permit_and_pre_bind(self) -> BindingOutcome | None:
        """Permit and preBind, unless they are broken off: why the pod is not to be bound, None when
        it is.
        """
        if self.withdrawn is not None:
            return self.withdrawn
        outcome = await self._run_stage(BindingStage.PREPARING, self._prepare())
        return self.interruption or outcome

    async def _prepare(self) -> BindingOutcome | None:
        return await self._permit() or await self._timed(ExtensionPoint.PRE_BIND, self._pre_bind())

    async def _permit(self) -> BindingOutcome | None:
        placement, holds = self.placement, dict[str, float]()
        names = placement.revision.points[ExtensionPoint.PERMIT]
        for name, permit, reserved in actors_of(self.tools.actors, placement, names):
            self._begin(f'Permit plugin "{name}"')
            try:
                answer: Status | PermitWait = await permit.permit(
                    placement.pod, placement.node, reserved
                )
            except FAULTS as error:
                # logged with the pod's name; an actor's bug fails this pod and no other
                return failed_outcome(placement, self.step, error)
            if isinstance(answer, PermitWait):
                holds[name] = answer.seconds
            elif answer.code is not Code.SUCCESS:
                return BindingOutcome(False, answer, unschedulable_plugins=frozenset({name}))
        return await self._wait_on_permit(holds) if holds else None

    async def _wait_on_permit(self, holds: Mapping[str, float]) -> BindingOutcome | None:
        """Wait until every plugin that holds the pod has allowed it, or one has rejected it."""
        clock, telemetry = self.tools.ports.clock, self.tools.ports.telemetry
        pod, node, began = self.placement.pod, self.placement.node, clock.boottime()
        rejection = await self.tools.waiting_pods.wait_on_permit(pod, node, holds)
        status = SUCCESS if rejection is None else rejection.status
        telemetry.permit_wait(status.code.value, clock.boottime() - began)
        if rejection is None:
            return None
        return BindingOutcome(False, status, unschedulable_plugins=frozenset({rejection.plugin}))

    async def _pre_bind(self) -> BindingOutcome | None:
        placement = self.placement
        names = pre_bind_plugins(placement)
        for name, pre_bind, reserved in actors_of(self.tools.actors, placement, names):
            self._begin(f'PreBind plugin "{name}"')
            try:
                undo = await pre_bind.pre_bind(placement.pod, placement.node, reserved)
            except FAULTS as error:  # as above
                return failed_outcome(placement, self.step, error)
            if undo is not None:
                self._undo_steps.append(undo)
        return None

    async def _undo_pre_bind(self) -> None:
        """What was prepared for a pod that is not bound, the last first."""
        for undo in reversed(self._undo_steps):
            with guard("taking back what was prepared", pod=key(self.placement.pod)):
                await undo()

    # ---- sending ---------------------------------------------------------------------------------

    async def _send(self) -> BindingOutcome:
        """Have it bound, as soon as its profile has room for another request, if the node still
        takes it.
        """
        name, slots = self.placement.revision.scheduler_name, self.tools.slots
        await slots.begin_request(name)
        try:
            why = await self._recheck_node()
            if self.withdrawn is not None:  # checked last before it is sent: nothing may wait
                return self.withdrawn
            if why:
                return BindingOutcome(False, error_status(why), node_changed=True)
            sending = self.tools.sender.send(self.placement, self._begin)
            outcome = await self._run_stage(
                BindingStage.SENDING, self._timed(ExtensionPoint.BIND, sending)
            )
            return await self._settle_late() if outcome is None else outcome
        finally:
            slots.end_request(name)

    async def _recheck_node(self) -> str:
        """Why the node, where it has changed, would not take the pod any more; "" when it would
        just now.
        """
        placement, context = self.placement, self.tools.context
        if context.cache.node_generation(placement.node) == self.node_generation:
            return ""
        try:
            return await self.tools.slices.run(lambda: cycle.recheck_node(placement, context))
        except DecisionTimeout as error:
            return str(error)

    async def _settle_late(self) -> BindingOutcome:
        """What became of a binding that was broken off: it may have been done all the same."""
        log.error(
            "%s has not bound a pod within %g s: broken off",
            self.step,
            CALL_LIMIT_SECONDS,
            extra={"pod": key(self.placement.pod)},
        )
        late = Retryable(f"not done within {CALL_LIMIT_SECONDS:g} s", outcome_unknown=True)
        return await self.tools.sender.settle(self.placement, self.step, late)

    # ---- inside ----------------------------------------------------------------------------------

    async def _run_stage(self, stage: BindingStage, step: Awaitable[OutcomeT]) -> OutcomeT | None:
        """What comes of a stage. If it is cancelled from here, the cancellation ends here: None,
        and ``interruption`` says why. Any other cancellation is passed on.

        ``interruption`` is set, too, where the step caught the cancellation and went on.
        """
        self._begin_stage(stage)
        try:
            return await step
        except asyncio.CancelledError:
            if self.task is None or self.interruption is None or self.task.cancelling() > 1:
                raise
            return None
        finally:
            preparing = stage is BindingStage.PREPARING
            self.stage = BindingStage.WAITING if preparing else BindingStage.ENDING
            if self.task is not None and self.interruption is not None:
                self.task.uncancel()

    async def _timed(self, point: ExtensionPoint, step: Awaitable[OutcomeT]) -> OutcomeT:
        """Go through the plugins of an extension point, and measure how long that took."""
        clock, revision = self.tools.ports.clock, self.placement.revision
        began = clock.boottime()
        outcome = await step
        if revision.points[point]:
            status = SUCCESS if outcome is None else outcome.status
            seconds = clock.boottime() - began
            self.tools.ports.telemetry.extension_point(
                point.label, status.code.value, revision.scheduler_name, seconds
            )
        return outcome

    def _begin_stage(self, stage: BindingStage) -> None:
        self.stage, self.interruption = stage, None

    def _begin(self, step: str) -> None:
        self.step, self.since = step, self.tools.ports.clock.boottime()

    def _cancel(self, outcome: BindingOutcome) -> None:
        if self.interruption is None and self.task is not None:
            self.interruption = outcome
            self.task.cancel()


def pre_bind_plugins(placement: ScheduleResult) -> list[str]:
    """The plugins that have something to do for the pod before it is bound. One that reserves has
    not where it reserved nothing, or was not asked to.
    """
    reservations = placement.reservations
    return [
        name
        for name in placement.revision.points[ExtensionPoint.PRE_BIND]
        if name not in placement.nothing_to_reserve
        and (name not in reservations or reservations[name].value is not None)
    ]


class Binder:
    """Carries decisions out, and breaks off what is not to be carried out any more."""

    def __init__(
        self,
        context: CycleContext,
        actors: Mapping[str, Actor],
        waiting: WaitingPods,
        ports: Ports,
        slots: BindingSlots,
    ) -> None:
        self.tasks = BackgroundTasks("a binding")
        self.waiting_pods = waiting
        self._tools = BindingTools(
            context=context,
            actors=actors,
            sender=BindingSender(actors, ports),
            slots=slots,
            waiting_pods=waiting,
            slices=SliceRunner(context.budget, ports.clock.boottime),
            ports=ports,
        )
        self._bindings: dict[BindingCycle, None] = {}
        self._newest: dict[str, BindingCycle] = {}
        """By pod: where a watch went back, an earlier one may not have ended."""

    def __len__(self) -> int:
        """How many bindings are under way."""
        return len(self._bindings)

    def count(self, revision: Revision) -> int:
        """How many of them were decided by this revision."""
        return sum(binding.placement.revision is revision for binding in self._bindings)

    def start(
        self, entry: QueuedPodInfo, placement: ScheduleResult, on_done: BindingCallback
    ) -> None:
        """Bind this in the background."""
        tools = self._tools
        node_generation = tools.context.cache.node_generation(placement.node)
        binding = BindingCycle(
            entry, placement, tools, node_generation, tools.ports.clock.boottime()
        )
        self._bindings[binding] = None
        self._newest[placement.pod.metadata.uid] = binding
        tools.slots.take(placement.revision.scheduler_name)
        binding.task = self.tasks.start(self._run(binding, on_done))

    def interrupt_all(self, why: str) -> None:
        """Break off what is prepared for any pod, without a word to the pods."""
        outcome = BindingOutcome(False, error_status(why), fenced=True)
        for binding in list(self._bindings):
            binding.interrupt(outcome)

    def interrupt_pod(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is prepared for it is broken off."""
        binding = self._newest.get(uid)
        if binding is not None:
            binding.interrupt(GONE)

    def interrupt_node(self, node: str) -> None:
        """What is prepared for pods on this node is in vain."""
        why = f"node {node!r} has been deleted since it was chosen"
        for binding in list(self._bindings):
            if binding.placement.node == node:
                binding.interrupt(BindingOutcome(False, error_status(why)))

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """Break off what is prepared for its pods but members of groups, which go whole."""
        for binding in list(self._bindings):
            is_its = binding.placement.revision.scheduler_name == scheduler_name
            if is_its and not binding.entry.group:
                binding.interrupt(BindingOutcome(False, error_status(why)))

    def preempt(self, uid: str, why: str) -> bool:
        """Break off the binding of a pod whose room another one needs: it goes back to the queue.
        False where it may have been sent.
        """
        binding = self._newest.get(uid)
        if binding is None or binding.may_have_been_sent:
            return False
        binding.interrupt(BindingOutcome(False, error_status(why)))
        return True

    def check_timeouts(self) -> None:
        """Break off what takes too long."""
        now = self._tools.ports.clock.boottime()
        for binding in list(self._bindings):
            binding.check_timeout(now)

    async def _run(self, binding: BindingCycle, on_done: BindingCallback) -> None:
        placement = binding.placement
        self._tools.slots.release(placement.revision.scheduler_name)
        try:
            try:
                await binding.bind()
            finally:
                on_done(binding.entry, placement, binding.outcome)
            if binding.outcome.bound:
                await binding.post_bind()
        finally:
            del self._bindings[binding]
            if self._newest.get(placement.pod.metadata.uid) is binding:
                del self._newest[placement.pod.metadata.uid]
