"""An event loop in a thread of its own. A second thread watches it, so that nobody waits for ever
for a loop that stands still.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

_PING_INTERVAL_SECONDS: Final = 0.5
_SLICES: Final = 20
"""The patience is waited for in so many parts: after the whole process was stopped for a while, the
loop still gets most of it.
"""


class ServerFrozen(Exception):
    """The loop has answered nothing for longer than its patience. The message has the stack of its
    thread.
    """


class LoopThread:
    """``on_frozen`` is called once, in the watching thread, with what a ServerFrozen then says."""

    def __init__(self, name: str, patience: float, on_frozen: Callable[[str], None]) -> None:
        self._patience = patience
        self._on_frozen = on_frozen
        self._frozen = ""
        self._ended = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._watcher = threading.Thread(target=self._watch, name=f"{name}-watcher", daemon=True)
        self._thread.start()
        self._watcher.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for its result. Raises ServerFrozen."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while not self._frozen:
            done, _ = concurrent.futures.wait([future], timeout=_PING_INTERVAL_SECONDS)
            if done:
                return future.result()
        raise ServerFrozen(self._frozen)

    def stop(self) -> None:
        """End loop and threads. A frozen thread can only be left behind: it ends with the
        process.
        """
        self._ended.set()
        self._watcher.join()
        if not self._frozen:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _watch(self) -> None:
        answered = threading.Event()
        while not self._ended.wait(_PING_INTERVAL_SECONDS):
            answered.clear()
            self._loop.call_soon_threadsafe(answered.set)
            if not any(answered.wait(self._patience / _SLICES) for _ in range(_SLICES)):
                self._frozen = (
                    f"{self._thread.name} has answered nothing for {self._patience:g} s. It is "
                    f"here:\n{self._stack()}"
                )
                self._on_frozen(self._frozen)
                return

    def _stack(self) -> str:
        # documented, in spite of its name
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 - see above
        return "".join(traceback.format_stack(frame)) if frame else "  its thread has ended\n"
