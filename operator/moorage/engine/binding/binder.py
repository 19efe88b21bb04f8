"""The binder: what happens to a pod between the decision and the API server's yes.

Each placement is bound in a task of its own while the loop decides the next ones; a bound number of
them run at a time of each profile. A placement was assumed, so exactly one of three things must
happen here: it is confirmed (the watch will show it), it is taken back, or the pod turns out to be
gone or bound by somebody else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, error_status
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.engine.background_tasks import BackgroundTasks, uninterrupted
from moorage.engine.binding.actors.contract import Actor, PermitWait, UndoPreBind
from moorage.engine.binding.permit import WaitingPods
from moorage.engine.binding.sender import (
    GONE,
    BindingOutcome,
    BindingSender,
    BindingSlots,
    actors_at,
    failed_outcome,
)
from moorage.engine.slices import DecisionTimeout, SliceRunner
from moorage.ports.bundle import Ports
from moorage.ports.errors import Retryable
from moorage.ports.guards import FAULTS, guard

log = logging.getLogger(__name__)

STEP_LIMIT_SECONDS = 3600.0
"""Seconds that one plugin may take to prepare a binding; those in the tree have shorter limits of
their own.
"""
CALL_LIMIT_SECONDS = 120.0
"""Seconds that one plugin or extender may take to bind a pod, or to hear that it is bound."""
OutcomeT = TypeVar("OutcomeT", bound=BindingOutcome | None)
INTERRUPTED = BindingOutcome(False, error_status("the binding was interrupted"))


BindingCallback: TypeAlias = Callable[[QueuedPodInfo, ScheduleResult, BindingOutcome], None]
"""Called on the loop's thread when a binding has ended, whatever happened."""


class BindingStage(enum.Enum):
    """How far a binding is."""

    WAITING = enum.auto()
    """For its turn, or for an answer that nobody else's code gives."""
    PREPARING = enum.auto()
    """Nothing irrevocable has been sent: it may be broken off."""
    SENDING = enum.auto()
    """The pod may be bound by now."""
    ENDING = enum.auto()
    """What was sent is out of our hands: its outcome is read, or what was prepared taken back."""
    POST_BIND = enum.auto()
    """It is bound."""


_NOT_SENT = (BindingStage.WAITING, BindingStage.PREPARING)

STAGE_LIMIT_SECONDS = {
    BindingStage.PREPARING: STEP_LIMIT_SECONDS,
    BindingStage.SENDING: CALL_LIMIT_SECONDS,
    BindingStage.POST_BIND: CALL_LIMIT_SECONDS,
}
"""Seconds that one step may take."""


@dataclasses.dataclass(slots=True, eq=False)
class Binding:
    """One placement on its way. ``node_generation`` is the node's at the decision; ``since`` when
    the present step began, in seconds.
    """

    entry: QueuedPodInfo
    placement: ScheduleResult
    on_done: BindingCallback
    node_generation: int
    since: float
    step: str = ""
    stage: BindingStage = BindingStage.WAITING
    interruption: BindingOutcome | None = None
    """Why the present stage was broken off."""
    withdrawn: BindingOutcome | None = None
    """Why it is not to begin, or to be sent: this came while it waited for its turn."""
    task: asyncio.Task[None] | None = None
    undo_steps: list[UndoPreBind] = dataclasses.field(default_factory=list)
    """What takes back what has been prepared."""


class _AtStage:
    """Runs the block as this stage. If it is cancelled from here, the cancellation ends here and
    ``interruption`` is the outcome; any other cancellation is passed on.

    ``interruption`` is the outcome, too, where the block caught the cancellation and went on.
    """

    def __init__(self, binding: Binding, stage: BindingStage) -> None:
        self._binding = binding
        binding.stage, binding.interruption = stage, None

    def __enter__(self) -> None:
        """It has begun already."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Any other end is handed on."""
        binding, task = self._binding, asyncio.current_task()
        sent = binding.stage is not BindingStage.PREPARING
        binding.stage = BindingStage.ENDING if sent else BindingStage.WAITING
        if binding.interruption is None or task is None:
            return False
        asked_by_others = task.uncancel() > 0
        return isinstance(error, asyncio.CancelledError) and not asked_by_others


class Binder:
    """Carries decisions out, from permit to postBind."""

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
        self._actors = actors
        self._sender = BindingSender(actors, ports)
        self._context = context
        self._ports = ports
        self._clock = ports.clock
        self._slots = slots
        self._slices = SliceRunner(context.budget, ports.clock.boottime)
        self._bindings: dict[str, Binding] = {}

    def __len__(self) -> int:
        """How many bindings are under way."""
        return len(self._bindings)

    def count(self, revision: Revision) -> int:
        """How many of them were decided by this revision."""
        return sum(binding.placement.revision is revision for binding in self._bindings.values())

    def start(
        self, entry: QueuedPodInfo, placement: ScheduleResult, on_done: BindingCallback
    ) -> None:
        """Bind this in the background."""
        node_generation = self._context.cache.node_generation(placement.node)
        binding = self._bindings[placement.pod.metadata.uid] = Binding(
            entry, placement, on_done, node_generation, self._clock.boottime()
        )
        self._slots.take(placement.revision.scheduler_name)
        binding.task = self.tasks.start(self._run(binding))

    def interrupt_all(self, why: str) -> None:
        """Break off what is prepared for any pod, without a word to the pods."""
        for binding in list(self._bindings.values()):
            self._interrupt(binding, BindingOutcome(False, error_status(why), fenced=True))

    def interrupt_pod(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is prepared for it is broken off."""
        binding = self._bindings.get(uid)
        if binding is not None:
            self._interrupt(binding, GONE)

    def interrupt_node(self, node: str) -> None:
        """What is prepared for pods on this node is in vain."""
        for binding in list(self._bindings.values()):
            if binding.placement.node == node:
                self._interrupt(
                    binding,
                    BindingOutcome(
                        False, error_status(f"node {node!r} has been deleted since it was chosen")
                    ),
                )

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """Break off what is prepared for this profile's pods: they go back to the queue."""
        for binding in list(self._bindings.values()):
            if binding.placement.revision.scheduler_name == scheduler_name:
                self._interrupt(binding, BindingOutcome(False, error_status(why)))

    def preempt(self, uid: str, why: str) -> bool:
        """Break off the binding of a pod whose room another one needs: it goes back to the queue.
        False where it may have been sent.
        """
        binding = self._bindings.get(uid)
        if binding is None or binding.stage not in _NOT_SENT:
            return False
        self._interrupt(binding, BindingOutcome(False, error_status(why)))
        return True

    def check_timeouts(self) -> None:
        """Break off what takes too long."""
        now = self._clock.boottime()
        for binding in list(self._bindings.values()):
            limit = STAGE_LIMIT_SECONDS.get(binding.stage, math.inf)
            if now - binding.since > limit:
                text = f"binding rejected: running {binding.step}: not done within {limit:g} s"
                self._cancel(binding, BindingOutcome(False, error_status(text)))

    def _interrupt(self, binding: Binding, outcome: BindingOutcome) -> None:
        """From outside: what is sent is not called back."""
        if binding.stage is BindingStage.PREPARING:
            self._cancel(binding, outcome)
        elif binding.stage is BindingStage.WAITING:
            binding.withdrawn = binding.withdrawn or outcome

    def _cancel(self, binding: Binding, outcome: BindingOutcome) -> None:
        if binding.interruption is None and binding.task is not None:
            binding.interruption = outcome
            binding.task.cancel()

    async def _run(self, binding: Binding) -> None:
        placement, outcome = binding.placement, INTERRUPTED
        self._slots.release(placement.revision.scheduler_name)
        try:
            try:
                refused: BindingOutcome | None = None
                if placement.revision.points[ExtensionPoint.PERMIT] or pre_bind_plugins(placement):
                    refused = await self._permit_and_pre_bind(binding)
                outcome = refused or await self._send(binding)
            finally:
                try:
                    if binding.undo_steps and not outcome.bound:
                        await uninterrupted(self._undo_pre_bind(binding))
                finally:
                    binding.on_done(binding.entry, placement, outcome)
            if outcome.bound:
                await self._post_bind(binding)
        finally:
            del self._bindings[placement.pod.metadata.uid]

    async def _permit_and_pre_bind(self, binding: Binding) -> BindingOutcome | None:
        """Permit and preBind, unless they are broken off: why the pod is not to be bound, None when
        it is.
        """
        outcome = binding.withdrawn
        if outcome is not None:
            return outcome
        with _AtStage(binding, BindingStage.PREPARING):
            outcome = await self._permit(binding) or await self._timed(
                ExtensionPoint.PRE_BIND, binding.placement, self._pre_bind(binding)
            )
        return binding.interruption or outcome

    async def _permit(self, binding: Binding) -> BindingOutcome | None:
        placement, holds = binding.placement, dict[str, float]()
        pod, node = placement.pod, placement.node
        for name, permit, reserved in actors_at(self._actors, placement, ExtensionPoint.PERMIT):
            self._begin(binding, f'Permit plugin "{name}"')
            try:
                answer: Status | PermitWait = await permit.permit(pod, node, reserved)
            except FAULTS as error:
                # logged with the pod's name; an actor's bug fails this pod and no other
                return failed_outcome(placement, binding.step, error)
            if isinstance(answer, PermitWait):
                holds[name] = answer.seconds
            elif answer.code is not Code.SUCCESS:
                return BindingOutcome(False, answer, unschedulable_plugin=name)
        if not holds:
            return None
        began = self._clock.boottime()
        rejection = await self.waiting_pods.wait_on_permit(pod, node, holds)
        status = SUCCESS if rejection is None else rejection.status
        self._ports.telemetry.permit_wait(status.code.value, self._clock.boottime() - began)
        return (
            BindingOutcome(False, status, unschedulable_plugin=rejection.plugin)
            if rejection is not None
            else None
        )

    async def _pre_bind(self, binding: Binding) -> BindingOutcome | None:
        placement = binding.placement
        for name in pre_bind_plugins(placement):
            self._begin(binding, f'PreBind plugin "{name}"')
            actor: Any = self._actors[name]
            reserved = placement.reservations.get(name)
            value = reserved.value if reserved is not None else None
            try:
                take_back = await actor.pre_bind(placement.pod, placement.node, value)
            except FAULTS as error:  # as above
                return failed_outcome(placement, binding.step, error)
            if take_back is not None:
                binding.undo_steps.append(take_back)
        return None

    async def _undo_pre_bind(self, binding: Binding) -> None:
        """What was prepared for a pod that is not bound, the last first."""
        for take_back in reversed(binding.undo_steps):
            with guard("taking back what was prepared", pod=key(binding.placement.pod)):
                await take_back()

    async def _recheck_node(self, binding: Binding) -> str:
        """Why the node, where it has changed, would not take the pod any more; "" when it would
        just now.
        """
        placement = binding.placement
        if self._context.cache.node_generation(placement.node) == binding.node_generation:
            return ""
        try:
            return await self._slices.run(lambda: cycle.recheck_node(placement, self._context))
        except DecisionTimeout as error:
            return str(error)

    async def _timed(
        self, point: ExtensionPoint, placement: ScheduleResult, step: Awaitable[OutcomeT]
    ) -> OutcomeT:
        """Go through the plugins of an extension point, and measure how long that took."""
        began = self._clock.boottime()
        outcome = await step
        if placement.revision.points[point]:
            status = (
                outcome.status if outcome is not None and outcome.status is not None else SUCCESS
            )
            profile, seconds = placement.revision.scheduler_name, self._clock.boottime() - began
            self._ports.telemetry.extension_point(point.label, status.code.value, profile, seconds)
        return outcome

    def _begin(self, binding: Binding, step: str) -> None:
        binding.step, binding.since = step, self._clock.boottime()

    async def _send(self, binding: Binding) -> BindingOutcome:
        """Have it bound, as soon as its profile has room for another request, if the node still
        takes it.
        """
        placement, name = binding.placement, binding.placement.revision.scheduler_name
        await self._slots.begin_request(name)
        try:
            why = await self._recheck_node(binding)
            if binding.withdrawn is not None:  # the last look before it is sent: nothing may wait
                return binding.withdrawn
            if why:
                return BindingOutcome(False, error_status(why), node_changed=True)
            with _AtStage(binding, BindingStage.SENDING):
                begin = functools.partial(self._begin, binding)
                return await self._timed(
                    ExtensionPoint.BIND, placement, self._sender.send(placement, begin)
                )
            # It may have been done all the same.
            late = Retryable(f"not done within {CALL_LIMIT_SECONDS:g} s", outcome_unknown=True)
            log.error(
                "%s has not bound a pod within %g s: broken off",
                binding.step,
                CALL_LIMIT_SECONDS,
                extra={"pod": key(placement.pod)},
            )
            return await self._sender.settle(placement, binding.step, late)
        finally:
            self._slots.end_request(name)

    async def _post_bind(self, binding: Binding) -> None:
        """PostBind; the pod stays bound, whatever happens here."""
        placement = binding.placement
        for name, post_bind, reserved in actors_at(
            self._actors, placement, ExtensionPoint.POST_BIND
        ):
            self._begin(binding, f'PostBind plugin "{name}"')
            extra = {"pod": key(placement.pod), "plugin": name}
            with (
                guard("postBind, whose pod stays bound,", **extra),
                _AtStage(binding, BindingStage.POST_BIND),
            ):
                await post_bind.post_bind(placement.pod, placement.node, reserved)
            if binding.interruption is not None:
                log.error(
                    "postBind was not done within %g s, so it was broken off; the pod stays bound",
                    CALL_LIMIT_SECONDS,
                    extra=extra,
                )


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
