"""The sender: makes the request that binds a pod, as soon as there is a slot for it, and finds out
what became of it.

An answer that never came (time-out, reset), or that says what one answer cannot know (the pod is
bound, or gone: a proxy may have answered so), is settled by reading the pod, for as long as that
takes: until then it may be on its node, so its place there is kept.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from moorage.core.cycle.context import ScheduleResult
from moorage.core.framework.extenders import Extender
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.status import Code, Status, error_status
from moorage.core.objects.meta import key
from moorage.engine.background_tasks import WorkSignal
from moorage.engine.binding.actors.contract import Actor, BindActor
from moorage.engine.binding.outcome import BOUND, GONE, BindingOutcome, failed_outcome
from moorage.ports.bundle import Ports
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Retryable
from moorage.ports.guards import FAULTS
from moorage.ports.kube import pod_ref
from moorage.ports.retrying import AFTER_FAILURE, Backoff, until_answered

log = logging.getLogger(__name__)

ASKED = 4
"""How often a pod is read again that an extender says it has bound."""
MAX_RETRIES = 5
"""How often a binding is asked for again when the API server has too much to do, fails or is away,
before the pod goes back to the queue.
"""
_AGAIN = Backoff(0.01)
_FAILED_STATUSES = frozenset({500, 503})
"""The API server has failed, or is not available."""


class BindingSlots:
    """So many bindings at a time of each profile: one whose bindings do not end keeps nobody else
    from binding.

    A binding takes a slot when it is decided, so that no pod is decided that cannot be bound yet;
    while it is prepared (at permit, for a volume) it needs none, or a few slow volumes would hold
    up the profile. The loop is woken when a profile that was full may start another one.
    """

    def __init__(self, limit: int, work: WorkSignal) -> None:
        self.limit = limit
        self.full: set[str] = set()
        """The profiles that have none left, by schedulerName."""
        self._work = work
        self._taken = Counter[str]()
        self._requests: dict[str, asyncio.Semaphore] = {}
        """By schedulerName; kept while the profile has slots taken."""

    def take(self, name: str) -> None:
        """Take a slot, for a binding that starts or for a request that is to be sent."""
        self._taken[name] += 1
        if self._taken[name] >= self.limit:
            self.full.add(name)

    def release(self, name: str) -> None:
        """Give a slot back."""
        self._taken[name] -= 1
        if name in self.full and self._taken[name] < self.limit:
            self.full.remove(name)
            self._work.wake_up()
        if not self._taken[name]:
            del self._taken[name]
            self._requests.pop(name, None)

    async def begin_request(self, name: str) -> None:
        """Take a slot and wait until another request of this profile's may be sent: no more than
        its slots are at a time.
        """
        self.take(name)
        try:
            if name not in self._requests:
                self._requests[name] = asyncio.Semaphore(self.limit)
            await self._requests[name].acquire()
        except BaseException:
            self.release(name)
            raise

    def end_request(self, name: str) -> None:
        """The request has its answer."""
        try:
            self._requests[name].release()
        finally:
            self.release(name)


class BindingSender:
    """Sends a pod's binding when there is a slot for it, and finds out what became of it."""

    def __init__(self, actors: Mapping[str, Actor], ports: Ports) -> None:
        self._actors = actors
        self._ports = ports
        self._clock = ports.clock

    async def send(self, placement: ScheduleResult, begin: Callable[[str], None]) -> BindingOutcome:
        """Have it bound by the extender or the first bind plugin that takes the pod; how that
        ended, for sure. ``begin`` is called with each of them before it is asked.
        """
        if placement.revision.extenders and (outcome := await self._by_extender(placement, begin)):
            return outcome
        names = placement.revision.points[ExtensionPoint.BIND]
        for name, bind, reserved in actors_of(self._actors, placement, names):
            running = f'Bind plugin "{name}"'
            begin(running)
            try:
                status = await self._bind(bind, placement, reserved)
            except FAULTS as error:
                # logged with the pod's name; an actor's bug fails this pod and no other
                return await self.settle(placement, running, error)
            if status.code is not Code.SKIP:
                return BOUND if status.code is Code.SUCCESS else BindingOutcome(False, status)
        return BindingOutcome(False, error_status("no bind plugin took the pod"))

    async def settle(
        self, placement: ScheduleResult, running: str, error: BaseException
    ) -> BindingOutcome:
        """What became of a pod whose binding was not answered with a plain yes."""
        failure = failed_outcome(placement, running, error)
        if not may_be_bound(error):
            return failure
        read_node = functools.partial(self._ports.reads.pod_node, pod_ref(placement.pod))
        try:
            node = await until_answered(read_node, self._clock)
        except EdgeError as unread:
            extra = {"pod": key(placement.pod)}
            log.error("the outcome of a binding cannot be read: %s", unread, extra=extra)
            return failure
        if node == "":
            return failure
        return BOUND if node == placement.node else GONE

    # ---- inside ----------------------------------------------------------------------------------

    async def _by_extender(
        self, placement: ScheduleResult, begin: Callable[[str], None]
    ) -> BindingOutcome | None:
        """The profile's extender that binds, if the pod is its business; None leaves the pod to
        plugins.
        """
        for extender in placement.revision.extenders:
            if not extender.bind_verb or not extender.is_interested(placement.pod):
                continue
            begin(f"extender {extender.url}")
            outcome = await self._ask_extender(extender, placement)
            if outcome.bound or outcome.gone or outcome.fenced or not extender.ignorable:
                return outcome
            text, extra = outcome.status.message, {"pod": key(placement.pod)}
            log.warning("an extender did not bind a pod: %s", text, extra=extra)
        return None

    async def _ask_extender(self, extender: Extender, placement: ScheduleResult) -> BindingOutcome:
        """Have this extender bind the pod; how that ended."""
        try:
            if not self._ports.writes.open:
                raise Fenced(f"{extender.bind_verb} by extender {extender.url}")
            await self._ports.extenders.bind(extender, pod_ref(placement.pod), placement.node)
            return await self._is_bound_by_extender(placement, extender)
        except FAULTS as error:  # as above
            return await self.settle(placement, f"extender {extender.url}", error)

    async def _is_bound_by_extender(
        self, placement: ScheduleResult, extender: Extender
    ) -> BindingOutcome:
        """Whether an extender that says so has bound the pod; one that answers first and binds then
        has a few seconds.
        """
        not_bound = Retryable(
            f"extender {extender.url} said that it has bound the pod, and it has not",
            outcome_unknown=True,
        )
        outcome = await self.settle(placement, "", not_bound)
        for check in range(1, ASKED + 1):
            if outcome.bound or outcome.gone:
                break
            await self._clock.sleep(AFTER_FAILURE.seconds(check))
            outcome = await self.settle(placement, "", not_bound)
        return outcome

    async def _bind(self, bind: BindActor, placement: ScheduleResult, reserved: Any) -> Status:
        """Ask the plugin, and again when the API server has too much to do, fails or is away for a
        moment: events and conditions of the pod would only be more of that.

        If it has bound the pod and failed then, it says "conflict" when it is asked again.
        """
        for failures in range(1, MAX_RETRIES + 1):
            try:
                return await bind.bind(placement.pod, placement.node, reserved)
            except Retryable as error:
                if error.outcome_unknown and error.status not in _FAILED_STATUSES:
                    raise
                await self._clock.sleep(_AGAIN.seconds(failures, error))
        return await bind.bind(placement.pod, placement.node, reserved)


def actors_of(
    actors: Mapping[str, Actor], placement: ScheduleResult, names: Iterable[str]
) -> Iterator[tuple[str, Any, Any]]:
    """These plugins, each with its actor and what it has reserved for the pod."""
    for name in names:
        reserved = placement.reservations.get(name)
        yield name, actors[name], reserved.value if reserved is not None else None


def may_be_bound(error: BaseException) -> bool:
    """Whether a pod may be bound although the request that binds it raised this."""
    unknown = isinstance(error, Retryable) and error.outcome_unknown
    return unknown or not isinstance(error, EdgeError) or isinstance(error, Conflict | NotFound)
