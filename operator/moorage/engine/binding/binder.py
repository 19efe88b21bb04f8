"""Binding: what happens to a pod between the decision and the API server's yes.

Each placement is bound in a task of its own while the loop decides the next ones; a bound number of them run at a time of each
profile. A placement was assumed, so exactly one of three things must happen here: it is confirmed (the watch will show it), it is
taken back, or the pod turns out to be gone or bound by somebody else.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias, TypeVar

from moorage.core.cycle import cycle
from moorage.core.cycle.context import Placement, Scheduler
from moorage.core.framework.interfaces import Point
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, failed
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import Entry
from moorage.engine.background_tasks import Background, uninterrupted
from moorage.engine.binding.actors.contract import Actor, Hold, TakeBack
from moorage.engine.binding.permit import Waiting
from moorage.engine.binding.sender import GONE, Outcome, Sender, acting, rejected
from moorage.engine.binding.slots import Slots
from moorage.engine.scheduling.slices import Slices, TookTooLong
from moorage.ports.bundle import Surroundings
from moorage.ports.errors import Retryable
from moorage.ports.guards import FAULTS, guard

log = logging.getLogger(__name__)

STEP_LIMIT = 3600.0
"""Seconds that one plugin may take to prepare a binding; those in the tree have shorter limits of their own."""
ACT_LIMIT = 120.0
"""Seconds that one plugin or extender may take to bind a pod, or to be told that it is bound."""
AnOutcome = TypeVar("AnOutcome", bound=Outcome | None)


Finish: TypeAlias = Callable[[Entry, Placement, Outcome], None]
"""Called on the loop's thread when a binding has ended, whatever happened."""


class Stage(enum.Enum):
    """How far a binding is."""

    WAITING = enum.auto()
    """For its turn, or for an answer that nobody else's code gives."""
    PREPARING = enum.auto()
    """Nothing irrevocable has been sent: it may be broken off."""
    SENDING = enum.auto()
    """The pod may be bound by now."""
    TELLING = enum.auto()
    """It is bound."""


LIMITS = {Stage.PREPARING: STEP_LIMIT, Stage.SENDING: ACT_LIMIT, Stage.TELLING: ACT_LIMIT}
"""Seconds that one step may take."""


@dataclasses.dataclass(slots=True, eq=False)
class Binding:
    """One placement on its way. ``news`` is the node's, as of the decision; ``since`` when the present step began, in seconds."""

    entry: Entry
    placement: Placement
    finish: Finish
    news: int
    since: float
    step: str = ""
    stage: Stage = Stage.WAITING
    interruption: Outcome | None = None
    """Why the present stage was broken off."""
    withdrawn: Outcome | None = None
    """Why it is not to begin, or to be sent: this came while it waited for its turn."""
    task: asyncio.Task[None] | None = None
    prepared: list[TakeBack] = dataclasses.field(default_factory=list)
    """What takes back what has been prepared."""


class _AtStage:
    """A stage that may be broken off: it ends there then, and goes on behind the block. ``interruption`` says so, and why.

    It says so, too, where whoever was broken off went on all the same.
    """

    def __init__(self, binding: Binding, stage: Stage) -> None:
        self._binding = binding
        binding.stage, binding.interruption = stage, None

    def __enter__(self) -> None:
        """It has begun already."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Any other end is handed on."""
        binding, task = self._binding, asyncio.current_task()
        binding.stage = Stage.WAITING
        if binding.interruption is None or task is None:
            return False
        asked_by_others = task.uncancel() > 0
        return isinstance(error, asyncio.CancelledError) and not asked_by_others


class Binder:
    """Runs bindings."""

    def __init__(self, scheduler: Scheduler, actors: Mapping[str, Actor], waiting: Waiting, around: Surroundings, slots: Slots) -> None:
        self.work = Background("a binding")
        self.waiting = waiting
        self._actors = actors
        self._sender = Sender(actors, around)
        self._scheduler = scheduler
        self._around = around
        self._clock = around.clock
        self._slots = slots
        self._slices = Slices(scheduler.snapshot.budget, around.clock.boottime)
        self._bindings: dict[str, Binding] = {}

    @property
    def full(self) -> Collection[str]:
        """The schedulerNames of profiles that may start no other binding now."""
        return self._slots.full

    def __len__(self) -> int:
        """How many bindings are under way."""
        return len(self._bindings)

    def draining(self, revision: Revision) -> int:
        """How many of them were decided by this revision."""
        return sum(binding.placement.revision is revision for binding in self._bindings.values())

    def start(self, entry: Entry, placement: Placement, finish: Finish) -> None:
        """Bind this in the background."""
        news = self._scheduler.cache.news(placement.node)
        binding = self._bindings[placement.pod.metadata.uid] = Binding(entry, placement, finish, news, self._clock.boottime())
        self._slots.take(placement.revision.scheduler_name)
        binding.task = self.work.start(self._run(binding))

    def break_off(self, why: str) -> None:
        """Break off what is prepared for any pod, without a word to the pods."""
        for binding in list(self._bindings.values()):
            self._interrupt(binding, Outcome(False, failed(why), fenced=True))

    def gone(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is prepared for it is broken off."""
        binding = self._bindings.get(uid)
        if binding is not None:
            self._interrupt(binding, GONE)

    def node_gone(self, node: str) -> None:
        """What is prepared for pods on this node is in vain."""
        for binding in list(self._bindings.values()):
            if binding.placement.node == node:
                self._interrupt(binding, Outcome(False, failed(f"node {node!r} has been deleted since it was chosen")))

    def recall(self, scheduler_name: str, why: str) -> None:
        """Break off what is prepared for this profile's pods: they go back to the queue."""
        for binding in list(self._bindings.values()):
            if binding.placement.revision.scheduler_name == scheduler_name:
                self._interrupt(binding, Outcome(False, failed(why)))

    def displace(self, uid: str, why: str) -> bool:
        """Break off what is prepared for a pod whose room another one needs: it goes back to the queue. Whether it could be."""
        binding = self._bindings.get(uid)
        if binding is None or binding.stage is not Stage.PREPARING:
            return False
        self._interrupt(binding, Outcome(False, failed(why)))
        return True

    def sweep(self) -> None:
        """Break off what takes too long."""
        now = self._clock.boottime()
        for binding in list(self._bindings.values()):
            limit = LIMITS.get(binding.stage, math.inf)
            if now - binding.since > limit:
                text = f"binding rejected: running {binding.step}: not done within {limit:g} s"
                self._break_off(binding, Outcome(False, failed(text)))

    def _interrupt(self, binding: Binding, outcome: Outcome) -> None:
        """From outside: what is sent is not called back."""
        if binding.stage is Stage.PREPARING:
            self._break_off(binding, outcome)
        elif binding.stage is Stage.WAITING:
            binding.withdrawn = binding.withdrawn or outcome

    def _break_off(self, binding: Binding, outcome: Outcome) -> None:
        if binding.interruption is None and binding.task is not None:
            binding.interruption = outcome
            binding.task.cancel()

    async def _run(self, binding: Binding) -> None:
        placement, outcome = binding.placement, Outcome(False, failed("the binding was interrupted"))
        self._slots.give(placement.revision.scheduler_name)
        try:
            try:
                outcome = await self._prepared(binding) or await self._sent(binding)
            finally:
                try:
                    if binding.prepared and not outcome.bound:
                        await uninterrupted(self._take_back(binding))
                finally:
                    binding.finish(binding.entry, placement, outcome)
            if outcome.bound:
                await self._tell_bound(binding)
        finally:
            del self._bindings[placement.pod.metadata.uid]

    async def _prepared(self, binding: Binding) -> Outcome | None:
        """Permit and preBind, unless they are broken off: why the pod is not to be bound, None when it is."""
        outcome = binding.withdrawn
        if outcome is not None:
            return outcome
        with _AtStage(binding, Stage.PREPARING):
            outcome = await self._permit(binding) or await self._timed(Point.PRE_BIND, binding.placement, self._pre_bind(binding))
        return binding.interruption or outcome

    async def _permit(self, binding: Binding) -> Outcome | None:
        placement, holds = binding.placement, dict[str, float]()
        pod, node = placement.pod, placement.node
        for name, permit, reserved in acting(self._actors, placement, Point.PERMIT):
            self._begin(binding, f'Permit plugin "{name}"')
            try:
                answer: Status | Hold = await permit.permit(pod, node, reserved)
            except FAULTS as error:  # told with the pod's name; an actor's bug fails this pod and no other
                return rejected(placement, binding.step, error)
            if isinstance(answer, Hold):
                holds[name] = answer.seconds
            elif answer.code is not Code.SUCCESS:
                return Outcome(False, answer, rejector=name)
        if not holds:
            return None
        began = self._clock.boottime()
        rejection = await self.waiting.hold(pod, node, holds)
        status = SUCCESS if rejection is None else rejection.status
        self._around.telemetry.permit_wait(status.code.value, self._clock.boottime() - began)
        return Outcome(False, status, rejector=rejection.plugin) if rejection is not None else None

    async def _pre_bind(self, binding: Binding) -> Outcome | None:
        placement = binding.placement
        for name, pre_bind, reserved in acting(self._actors, placement, Point.PRE_BIND):
            self._begin(binding, f'PreBind plugin "{name}"')
            try:
                take_back = await pre_bind.pre_bind(placement.pod, placement.node, reserved)
            except FAULTS as error:  # as above
                return rejected(placement, binding.step, error)
            if take_back is not None:
                binding.prepared.append(take_back)
        return None

    async def _take_back(self, binding: Binding) -> None:
        """What was prepared for a pod that is not bound, the last first."""
        for take_back in reversed(binding.prepared):
            with guard("taking back what was prepared", pod=key(binding.placement.pod)):
                await take_back()

    async def _objection(self, placement: Placement) -> str:
        """Why the node would not take the pod any more, "" when it would just now."""
        try:
            return await self._slices.run(lambda: cycle.objection(placement, self._scheduler))
        except TookTooLong as error:
            return str(error)

    async def _timed(self, point: Point, placement: Placement, step: Awaitable[AnOutcome]) -> AnOutcome:
        """Go through the plugins of an extension point, and tell how long that took."""
        began = self._clock.boottime()
        outcome = await step
        if placement.revision.points[point]:
            status = outcome.status if outcome is not None and outcome.status is not None else SUCCESS
            profile, seconds = placement.revision.scheduler_name, self._clock.boottime() - began
            self._around.telemetry.extension_point(point.label, status.code.value, profile, seconds)
        return outcome

    def _begin(self, binding: Binding, step: str) -> None:
        binding.step, binding.since = step, self._clock.boottime()

    async def _sent(self, binding: Binding) -> Outcome:
        """Have it bound, as soon as its profile has room for another request, if the node still takes it."""
        placement = binding.placement
        async with self._slots.asking(placement.revision.scheduler_name):
            if binding.withdrawn is not None:
                return binding.withdrawn
            if self._scheduler.cache.news(placement.node) != binding.news and (why := await self._objection(placement)):
                return Outcome(False, failed(why), overtaken=True)
            with _AtStage(binding, Stage.SENDING):
                begin = functools.partial(self._begin, binding)
                return await self._timed(Point.BIND, placement, self._sender.send(placement, begin))
            # It may have been done all the same.
            late = Retryable(f"not done within {ACT_LIMIT:g} s", outcome_unknown=True)
            log.error("%s has not bound a pod within %g s: broken off", binding.step, ACT_LIMIT, extra={"pod": key(placement.pod)})
            return await self._sender.settle(placement, binding.step, late)

    async def _tell_bound(self, binding: Binding) -> None:
        """PostBind; the pod stays bound, whatever happens here."""
        placement = binding.placement
        for name, post_bind, reserved in acting(self._actors, placement, Point.POST_BIND):
            self._begin(binding, f'PostBind plugin "{name}"')
            extra = {"pod": key(placement.pod), "plugin": name}
            with guard("postBind, whose pod stays bound,", **extra), _AtStage(binding, Stage.TELLING):
                await post_bind.post_bind(placement.pod, placement.node, reserved)
            if binding.interruption is not None:
                log.error("postBind was not done within %g s, so it was broken off; the pod stays bound", ACT_LIMIT, extra=extra)
