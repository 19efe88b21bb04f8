"""Status updates: what is to be written of objects, off the critical path.

The newest update of an object wins, and a few are in flight at a time, never two of one object.
What may succeed later is tried again a few times; nothing is owed to an object that is gone.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Protocol, TypeVar

from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, EdgeError, Fenced, NotFound, Refused, Retryable
from moorage.ports.guards import guard
from moorage.ports.retrying import Backoff

log = logging.getLogger(__name__)

_MAX_ATTEMPTS = 4
_AGAIN = Backoff(0.1)


class Update(Protocol):
    """What an object's status should say."""

    @property
    def uid(self) -> str:
        """The UID of the object."""

    @property
    def named(self) -> Mapping[str, str]:
        """The object for the log: kind -> namespace/name."""


U = TypeVar("U", bound=Update)


@dataclasses.dataclass(frozen=True, slots=True)
class _Writing(Generic[U]):
    """An update that is being written; ``done`` is set when that has ended."""

    update: U
    done: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)


class StatusUpdates(Generic[U]):
    """The updates that are not written yet.

    ``write`` tries once, with what is known of the object by then, and raises EdgeError. It does
    nothing where the object is gone or says so already. ``what`` is one update, for the log.
    """

    def __init__(self, what: str, write: Callable[[U], Awaitable[None]], clock: Clock) -> None:
        self._what = what
        self._write = write
        self._clock = clock
        self._pending: dict[str, U] = {}
        self._writing: dict[str, _Writing[U]] = {}
        self._wanted = asyncio.Event()

    def put(self, update: U) -> None:
        """Have this written, and nothing older of the same object any more."""
        self._pending[update.uid] = update
        self._wanted.set()

    def newest(self, uid: str) -> U | None:
        """The newest of an object that is not written for sure."""
        if uid in self._pending:
            return self._pending[uid]
        return self._writing[uid].update if uid in self._writing else None

    async def flush(self, uid: str) -> None:
        """Return when all that is to be written of this object has been written, or given up; no
        other object is waited for.
        """
        while True:
            if (writing := self._writing.get(uid)) is not None:
                await writing.done.wait()
            elif uid in self._pending:
                await self._work(uid)
            else:
                return

    async def run(self) -> None:
        """Write updates until cancelled; one worker, of which several may run."""
        while True:
            uid = next((uid for uid in self._pending if uid not in self._writing), None)
            if uid is None:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            await self._work(uid)

    async def _work(self, uid: str) -> None:
        writing = self._writing[uid] = _Writing(self._pending.pop(uid))
        try:
            with guard(f"writing {self._what}", **writing.update.named):
                await self._try(writing.update)
        finally:
            del self._writing[uid]
            writing.done.set()

    async def _try(self, update: U) -> None:
        for failures in range(1, _MAX_ATTEMPTS + 1):
            if update.uid in self._pending:
                return
            try:
                await self._write(update)
            except EdgeError as error:
                passes = isinstance(error, Conflict | NotFound | Retryable)
                if not passes or failures == _MAX_ATTEMPTS:
                    self._give_up(update, error)
                    return
                await self._clock.sleep(_AGAIN.seconds(failures, error))
            else:
                return

    def _give_up(self, update: U, error: EdgeError) -> None:
        """An object that is gone, a refusal and a lost lease are no fault of ours."""
        expected = isinstance(error, Fenced | Refused) and not isinstance(error, Conflict)
        level = logging.INFO if expected else logging.WARNING
        log.log(level, "%s was not written: %s", self._what, error, extra=dict(update.named))
