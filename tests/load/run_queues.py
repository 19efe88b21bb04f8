"""How long a process was kept waiting for a processor: what a busy machine adds to a step is not
the step's own time.
"""

from __future__ import annotations

import bisect
import threading
import time
from pathlib import Path
from typing import Final

_PERIOD: Final = 0.01


class RunQueue:
    """Samples how long the main thread of a process has waited, as the kernel counts it; a context
    manager.
    """

    def __init__(self, pid: int) -> None:
        """`pid` is a running process, which must outlive this."""
        self._file = Path(f"/proc/{pid}/schedstat")
        self._times: list[float] = []
        self._waited: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run queue")

    def waited(self, start: float, end: float) -> float:
        """Seconds of waiting between two times of CLOCK_BOOTTIME, to the samples around them."""
        first = max(bisect.bisect_right(self._times, start) - 1, 0)
        last = min(bisect.bisect_left(self._times, end), len(self._times) - 1)
        return self._waited[last] - self._waited[first]

    def __enter__(self) -> RunQueue:
        """Start."""
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()
        self._sample()

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD):
            self._sample()

    def _sample(self) -> None:
        _, waited, _ = self._file.read_text().split()
        self._times.append(time.clock_gettime(time.CLOCK_BOOTTIME))
        self._waited.append(int(waited) / 1e9)
