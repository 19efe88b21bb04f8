"""Binding: what happens to a pod between the decision and the API server's yes.

Each placement is bound in a task of its own while the loop decides the next ones; a bound number of them run at a time. A placement
was assumed, so exactly one of three things must happen here: it is confirmed (the watch will show it), it is taken back, or the pod
turns out to be gone or bound by somebody else. An answer that never came (time-out, reset) is settled by reading the pod.
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
from moorage.core.verdicts import Code, Status, failed
from moorage.engine.actors import Actor, pod_ref
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Retryable
from moorage.ports.kube import Reads
from moorage.ports.surroundings import Clock

log = logging.getLogger(__name__)

SETTLE_RETRIES = 5
"""How often an unknown outcome is asked for before the pod is left to the watch."""


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
            outcome = await self._bind(placement)
        except Exception as error:
            log.exception("binding failed with a bug", extra={"pod": placement.pod.metadata.name, "node": placement.node})
            outcome = Outcome(False, failed(f"binding failed: {error!r}"))
        finally:
            self.finish(entry, placement, outcome)

    async def _bind(self, placement: Placement) -> Outcome:
        """The binding cycle: permit, preBind, bind, postBind."""
        pod, node = placement.pod, placement.node
        try:
            for name, permit in self._at(placement, Point.PERMIT):
                status: Status = await permit.permit(pod, node, self._reserved(placement, name))
                if status.code is not Code.SUCCESS:
                    return Outcome(False, status, rejector=name)
            for name, pre_bind in self._at(placement, Point.PRE_BIND):
                await pre_bind.pre_bind(pod, node, self._reserved(placement, name))
            for name, bind in self._at(placement, Point.BIND):
                status = await bind.bind(pod, node, self._reserved(placement, name))
                if status.code is not Code.SKIP:
                    break
            else:
                return Outcome(False, failed("no bind plugin took the pod"))
        except EdgeError as error:
            return await self._settle(placement, error)
        for name, post_bind in self._at(placement, Point.POST_BIND):
            try:
                await post_bind.post_bind(pod, node, self._reserved(placement, name))
            except EdgeError:
                log.exception("postBind failed; the pod stays bound", extra={"pod": pod.metadata.name, "plugin": name})
        return BOUND

    async def _settle(self, placement: Placement, error: EdgeError) -> Outcome:
        """What became of a pod whose binding was not answered with a plain yes."""
        failure = Outcome(False, failed(f'binding rejected: running Bind plugin "DefaultBinder": {error}'))
        if isinstance(error, NotFound):
            return GONE
        if isinstance(error, Fenced):
            return dataclasses.replace(failure, fenced=True)
        if not (isinstance(error, Conflict) or (isinstance(error, Retryable) and error.outcome_unknown)):
            return failure
        for attempt in range(SETTLE_RETRIES):
            try:
                node = await self._reads.pod_node(pod_ref(placement.pod))
            except EdgeError:
                await self._clock.sleep(0.2 * 2**attempt)
                continue
            if node == "":
                return failure
            return BOUND if node == placement.node else GONE
        return failure

    def _at(self, placement: Placement, point: Point) -> list[tuple[str, Any]]:
        return [(name, self._actors[name]) for name in placement.revision.points[point]]

    @staticmethod
    def _reserved(placement: Placement, name: str) -> Any:
        reserved = placement.reservations.get(name)
        return reserved.value if reserved is not None else None
