"""Freed memory, given back to the system.

glibc keeps free pages that lie between others in use until it is asked for them: as much as many
large objects took, long after they are gone. Other C libraries have no such call.
"""

from __future__ import annotations

import ctypes

from moorage.ports.clock import Clock

PERIOD_SECONDS = 60.0
"""Between two times: each takes some milliseconds."""


async def give_back(clock: Clock) -> None:
    """Do so from time to time, until cancelled."""
    library = ctypes.CDLL(None)
    while True:
        await clock.sleep(PERIOD_SECONDS)
        if hasattr(library, "malloc_trim"):
            library.malloc_trim(0)
