"""Guards: what one object, one listener or one step raises is told with its name and ends there;
everything else goes on.

There are four, by what is to go on. ``guard`` stands around a block: what follows it runs.
``guarded_listener`` stands around a listener: whoever calls it goes on. ``guarded_port`` stands
around each method of a port that is only told things. ``run_restarting`` stands around a part that
should run for ever: the part is begun anew. Where something must be put in order afterwards (a pod
goes back to the queue, an object is set aside), the code there catches ``FAULTS`` itself.

Guarded code has no answer that anybody waits for, and may be left at any point: what it changes
together it changes in one call of core that is all or nothing, or puts in order itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

from moorage.core.structures.catching import Catching
from moorage.ports.clock import Clock
from moorage.ports.repeated_logs import once_per_bug

log = logging.getLogger(__name__)
P = ParamSpec("P")
Port = TypeVar("Port")

FAULTS = (Exception, SystemExit)
"""What an object, a plugin or a bug of ours may raise, RecursionError and MemoryError included. A
cancellation is none of them.
"""
RESTART_SECONDS = 1.0
"""Seconds until a part that failed is begun anew."""
MAX_FAILURES_IN_A_ROW = 60
"""Failures, each as soon as the part was begun, after which it cannot go on."""


def log_bug(what: str, error: BaseException, **named: object) -> None:
    """Log what was raised, with the names of what it is about; once for each place in the code,
    then counted.
    """
    log.error("%s failed with a bug", what, exc_info=error, extra=once_per_bug(error, **named))


def guard(what: str, **named: object) -> Catching:
    """What is raised inside a block is told and ends there."""
    return Catching(FAULTS, _log_caught, what, named)


def _log_caught(error: BaseException, what: str, named: Mapping[str, object]) -> None:
    log_bug(what, error, **named)


def guarded_listener(listener: Callable[P, object]) -> Callable[P, None]:
    """The listener, behind a guard of its own."""
    what = f"telling {getattr(listener, '__qualname__', repr(listener))}"

    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            listener(*args, **kwargs)
        except FAULTS as error:
            log_bug(what, error, about=", ".join(map(str, args)))

    return told


async def run_restarting(what: str, part: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Run the part; when something ends it, begin it anew after a pause. A cancellation that nobody
    asked for is a fault too. What it raises when it cannot go on is raised here.
    """
    failures = 0
    while True:
        began = clock.boottime()
        try:
            await part()
        except (*FAULTS, asyncio.CancelledError) as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            failures = failures + 1 if clock.boottime() - began < RESTART_SECONDS else 1
            if failures == MAX_FAILURES_IN_A_ROW:
                raise
            log_bug(what, error)
        await clock.sleep(RESTART_SECONDS)


def guarded_port(port: Port) -> Port:
    """A port whose methods give nothing and are only told things (events, telemetry): each behind a
    guard of its own.
    """
    return cast(Port, _GuardedPort(port))


class _GuardedPort:
    def __init__(self, port: object) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Any:
        method = guarded_listener(getattr(self._port, name))
        setattr(self, name, method)  # found without this method the next time
        return method
