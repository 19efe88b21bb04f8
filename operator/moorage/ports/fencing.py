"""The fence: the moment until which this replica may write.

The lease adapter moves the deadline with each renewal; everything that writes passes the fence
right before it sends. Time is CLOCK_BOOTTIME seconds, which goes on while a machine sleeps and
never jumps.

The fence is asked when a write is handed to the kernel, which may deliver it later.
``late_seconds`` bounds that: connections that carry such writes are given up by the kernel after so
long without an acknowledgement, and whoever leads next waits it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from moorage.ports.errors import Fenced

MAX_LATE_SECONDS = 5.0


def late_seconds(lease_duration: float) -> float:
    """How long the kernel may try to deliver a write of a leader with such a lease."""
    return min(MAX_LATE_SECONDS, lease_duration / 4)


class Fence:
    """Closed until ``extend`` is called; closed again when the deadline passes or ``close`` is
    called.
    """

    def __init__(self, boottime: Callable[[], float]) -> None:
        self._boottime = boottime
        self._deadline = -math.inf
        self.stopped_writes = 0
        """How many writes were stopped here."""

    @property
    def open(self) -> bool:
        """Whether a write may be sent now."""
        return self._boottime() < self._deadline

    def extend(self, deadline: float) -> None:
        """Writes may be sent until ``deadline`` (last successful renewal + leaseDuration -
        margin).
        """
        self._deadline = deadline

    def close(self) -> None:
        """Let no more writes pass."""
        self._deadline = -math.inf

    def check(self, what: str) -> None:
        """Raise ``Fenced`` unless open; ``what`` names the write."""
        if not self.open:
            self.stopped_writes += 1
            raise Fenced(f"{what}: not sent, the lease is not held or may have run out")
