"""The pulse: whether the main loop still runs, asked from the side, and the end of a process whose
decisions hang.

A decision that takes seconds is waited for: lease, health and metrics go on beside it. One that
takes longer than the lease and ``GRACE_SECONDS`` will not end any more; then the stacks are printed
and the process ends, to be started anew. Code that never gives the interpreter back stops this,
too: plugins from outside the tree have a watchdog of their own (``apps.run.watchdog``), and for the
rest there is the liveness probe.
"""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
from collections.abc import Callable

from moorage.apps.run.side_loop import Side
from moorage.ports.clock import Clock
from moorage.ports.errors import MainLoopBusy

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 1.0
"""Seconds between two looks; also how long one look takes where there is no answer."""
GRACE_SECONDS = 20.0
"""How much longer than a lease the main loop may be silent."""
STACKS_SECONDS = 1.0
"""For the stacks to be printed: standard error may be blocked."""


class Pulse:
    """``run`` it on the side. ``limit`` in seconds is what ends the process, by
    ``abort(status)``.
    """

    def __init__(
        self, side: Side, clock: Clock, limit: float, abort: Callable[[int], object]
    ) -> None:
        self._side = side
        self._clock = clock
        self._limit = limit
        self._abort = abort
        self.silence = 0.0
        """Seconds since the main loop last answered. Looks are counted, not time: a process that
        was stopped as a whole is not stuck.
        """

    async def run(self) -> None:
        """Ask the main loop again and again until cancelled."""
        while True:
            try:
                await self._side.ask(_here, INTERVAL_SECONDS)
            except MainLoopBusy:
                self.silence += INTERVAL_SECONDS
                if self.silence >= self._limit:
                    self._end()
            else:
                self.silence = 0.0
                await self._clock.sleep(INTERVAL_SECONDS)

    def check(self) -> str | None:
        """For /livez: a problem only when the process is about to end."""
        return (
            f"the main loop has not answered for {self.silence:.0f} s"
            if self.silence >= self._limit
            else None
        )

    def _end(self) -> None:
        log.critical(
            (
                "the main loop has not answered for %.0f s, so this process ends; the stacks are "
                "on standard error"
            ),
            self.silence,
        )
        # In a thread, since it may block.
        printer = threading.Thread(
            target=faulthandler.dump_traceback,
            kwargs={"file": sys.stderr, "all_threads": True},
            daemon=True,
        )
        printer.start()
        printer.join(STACKS_SECONDS)
        self._abort(1)


async def _here() -> None:
    """Nothing but having run."""
