"""How far a command has come: a line on a terminal that appears late and is wiped at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TextIO

LATE_SECONDS: Final = 1.0
"""What is done by then needs no line."""
RENEW_SECONDS: Final = 0.2
_ERASE: Final = "\r\x1b[K"


class ProgressLine:
    """``text`` and how much is done. Says nothing where the stream is no terminal."""

    def __init__(
        self, text: str, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._text = text
        self._stream = stream
        self._clock = clock
        self._due = clock() + LATE_SECONDS
        self._shows = stream.isatty()
        self._shown = False

    def tell(self, share: float) -> None:
        """So much of 1 is done; may be called often."""
        if not self._shows or self._clock() < self._due:
            return
        self._due = self._clock() + RENEW_SECONDS
        self._shown = True
        self._stream.write(f"{_ERASE}{self._text} {min(max(share, 0.0), 1.0):.0%}")
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
