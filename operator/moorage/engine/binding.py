"""Binding: what happens to a pod between the decision and the API server's yes.

Each placement is bound in a task of its own while the loop decides the next ones; a bound number of them run at a time. A placement
was assumed, so exactly one of three things must happen here: it is confirmed (the watch will show it), it is taken back, or the pod
turns out to be gone or bound by somebody else. An answer that never came (time-out, reset) is settled by reading the pod, for as
long as that takes: until then it may be on its node, so its place there is kept.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping
from typing import Any

from moorage.core.backlog.entries import Entry
from moorage.core.cycle import Placement
from moorage.core.framework.interfaces import Point
from moorage.core.framework.profiles import Revision
from moorage.core.objects import key
from moorage.core.verdicts import Code, Status, failed
from moorage.engine.actors.contract import Actor, BindActor, pod_ref
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Refused, Retryable
from moorage.ports.kube import Reads
from moorage.ports.surroundings import Clock

log = logging.getLogger(__name__)

ASK_AGAIN = (0.2, 3.0)
"""Seconds until a read that failed is tried again, doubled up to the second one."""
PATIENCE = 5
"""How often a binding is asked for again when the API server has too much to do, before the pod goes back to the queue."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How a binding ended: bound to our node; refused or failed with ``status``; or not ours any more (gone, bound elsewhere)."""

    bound: bool
    status: Status | None = None
    fenced: bool = False
    """It was not sent, as this replica may not lead any more: nothing is to be told."""
    rejector: str = ""
    """The plugin that refused it at permit."""


BOUND = Outcome(True)
GONE = Outcome(False)


class Binder:
    """Runs bindings; ``finish(entry, placement, outcome)`` is called on the loop's thread when one has ended, whatever happened."""

    def __init__(self, actors: Mapping[str, Actor], reads: Reads, clock: Clock, limit: int) -> None:
        self._actors = actors
        self._reads = reads
        self._clock = clock
        self._limit = limit
        self._tasks: dict[asyncio.Task[None], Placement] = {}
        self._freed = asyncio.Event()
        self.finish: Callable[[Entry, Placement, Outcome], None]

    @property
    def free(self) -> bool:
        """Whether another binding may start."""
        return len(self._tasks) < self._limit

    def __len__(self) -> int:
        """How many bindings are in flight."""
        return len(self._tasks)

    def draining(self, revision: Revision) -> int:
        """How many of them were decided by this revision."""
        return sum(placement.revision is revision for placement in self._tasks.values())

    def start(self, entry: Entry, placement: Placement) -> None:
        """Bind this in the background."""
        task = asyncio.get_running_loop().create_task(self._run(entry, placement))
        self._tasks[task] = placement
        task.add_done_callback(self._ended)

    async def wait_free(self) -> None:
        """Return when another binding may start."""
        while not self.free:
            self._freed.clear()
            await self._freed.wait()

    async def settle(self, seconds: float) -> int:
        """Wait at most so long for all bindings to end; returns how many did not."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return len(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._freed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a binding task ended with a bug", exc_info=error)

    async def _run(self, entry: Entry, placement: Placement) -> None:
        outcome = Outcome(False, failed("the binding was interrupted"))
        try:
            outcome = await self._prepare(placement) or await self._bind(placement)
        finally:
            self.finish(entry, placement, outcome)
        if outcome.bound:
            await self._tell_bound(placement)

    async def _prepare(self, placement: Placement) -> Outcome | None:
        """Permit and preBind: why the pod is not to be bound, None when it is."""
        pod, node, running = placement.pod, placement.node, ""
        try:
            for name, permit in self._at(placement, Point.PERMIT):
                running = f'Permit plugin "{name}"'
                status: Status = await permit.permit(pod, node, self._reserved(placement, name))
                if status.code is not Code.SUCCESS:
                    return Outcome(False, status, rejector=name)
            for name, pre_bind in self._at(placement, Point.PRE_BIND):
                running = f'PreBind plugin "{name}"'
                await pre_bind.pre_bind(pod, node, self._reserved(placement, name))
        except Exception as error:  # noqa: BLE001 - told with the pod's name; an actor's bug fails this pod and no other
            return _rejected(placement, running, error)
        return None

    async def _bind(self, placement: Placement) -> Outcome:
        """The first bind plugin that takes the pod."""
        for name, bind in self._at(placement, Point.BIND):
            try:
                status = await self._ask(bind, placement, self._reserved(placement, name))
            except Exception as error:  # noqa: BLE001 - as above
                return await self._settle(placement, f'Bind plugin "{name}"', error)
            if status.code is Code.SUCCESS:
                return BOUND
            if status.code is not Code.SKIP:
                return Outcome(False, status)
        return Outcome(False, failed("no bind plugin took the pod"))

    async def _ask(self, bind: BindActor, placement: Placement, reserved: Any) -> Status:
        """Ask it, and again when the API server has too much to do: events and conditions of the pod would only be more of that."""
        for _ in range(PATIENCE):
            try:
                return await bind.bind(placement.pod, placement.node, reserved)
            except Retryable as error:
                if error.outcome_unknown or not error.after:
                    raise
                await self._clock.sleep(error.after)
        return await bind.bind(placement.pod, placement.node, reserved)

    async def _settle(self, placement: Placement, running: str, error: Exception) -> Outcome:
        """What became of a pod whose binding was not answered with a plain yes."""
        failure = _rejected(placement, running, error)
        if isinstance(error, NotFound):
            return GONE
        if isinstance(error, EdgeError) and not (isinstance(error, Conflict) or (isinstance(error, Retryable) and error.outcome_unknown)):
            return failure
        delay, longest = ASK_AGAIN
        while True:
            try:
                node = await self._reads.pod_node(pod_ref(placement.pod))
            except Refused as refusal:
                log.error("the outcome of a binding cannot be read: %s", refusal, extra={"pod": key(placement.pod)})
                return failure
            except EdgeError:
                await self._clock.sleep(delay)
                delay = min(2 * delay, longest)
                continue
            if node == "":
                return failure
            return BOUND if node == placement.node else GONE

    async def _tell_bound(self, placement: Placement) -> None:
        """PostBind; the pod stays bound, whatever happens here."""
        for name, post_bind in self._at(placement, Point.POST_BIND):
            try:
                await post_bind.post_bind(placement.pod, placement.node, self._reserved(placement, name))
            except Exception:
                log.exception("postBind failed; the pod stays bound", extra={"pod": key(placement.pod), "plugin": name})

    def _at(self, placement: Placement, point: Point) -> list[tuple[str, Any]]:
        return [(name, self._actors[name]) for name in placement.revision.points[point]]

    @staticmethod
    def _reserved(placement: Placement, name: str) -> Any:
        reserved = placement.reservations.get(name)
        return reserved.value if reserved is not None else None


def _rejected(placement: Placement, running: str, error: Exception) -> Outcome:
    """The outcome when a plugin raised this; a bug of it is logged with where it is."""
    known = isinstance(error, EdgeError)
    if not known:
        log.error("%s failed with a bug", running, exc_info=error, extra={"pod": key(placement.pod), "node": placement.node})
    text = f"binding rejected: running {running}: {error if known else repr(error)}"
    return Outcome(False, failed(text), fenced=isinstance(error, Fenced))
