"""How far a command has come: a line on a terminal that appears late and is wiped at the end.

``working`` keeps the line going while one call takes long, by a thread of its own.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from moorage.apps.printing.terminal import moves_cursor

LATE_SECONDS: Final = 1.0
"""What is done by then needs no line."""
RENEW_SECONDS: Final = 0.2
_ERASE: Final = "\r\x1b[K"


class ProgressLine:
    """``text`` and how much is done, or for how long it goes on. Says nothing where the stream is
    no terminal.
    """

    def __init__(
        self, text: str, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._text = text
        self._stream = stream
        self._clock = clock
        self._began = clock()
        self._due = self._began + LATE_SECONDS
        self._said = ""
        self._turn = threading.Lock()
        self.shows = moves_cursor(stream)
        self._shown = False

    def tell(self, share: float) -> None:
        """So much of 1 is done; may be called often."""
        self.say(f"{min(max(share, 0.0), 1.0):.0%}")

    def say(self, what: str) -> None:
        """What is done, in words; may be called often."""
        self._said = what
        self.renew()

    def renew(self) -> None:
        """Show it, if it is time to. From any thread."""
        with self._turn:
            now = self._clock()
            if not self.shows or now < self._due:
                return
            self._due = now + RENEW_SECONDS
            self._shown = True
            what = self._said or f"{now - self._began:.0f} s"
            self._stream.write(f"{_ERASE}{self._text} {what}")
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wipe it."""
        if self._shown:
            self._stream.write(_ERASE)
            self._stream.flush()


class Waits(Protocol):
    """Something that ends: an Event, say."""

    def wait(self, timeout: float) -> bool:
        """Whether it has ended, after so many seconds at most."""


@contextlib.contextmanager
def working(text: str, stream: TextIO | None = None) -> Iterator[ProgressLine]:
    """A line that is renewed while the block runs, whether or not that says anything; on stderr
    where no stream is named.
    """
    with ProgressLine(text, sys.stderr if stream is None else stream) as line:
        if not line.shows:
            yield line
            return
        ended = threading.Event()
        beat = threading.Thread(target=keep_going, args=(line, ended), daemon=True)
        beat.start()
        try:
            yield line
        finally:
            ended.set()
            beat.join()


def keep_going(line: ProgressLine, ended: Waits) -> None:
    """Renew the line until that."""
    while not ended.wait(RENEW_SECONDS):
        line.renew()
