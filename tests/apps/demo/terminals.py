"""A terminal on which a command runs: what is seen on it, and what is typed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import pyte

from tests.architecture.sources import ROOT

SECONDS: Final = 30.0


class Terminal:
    """A pseudo-terminal, and a screen that understands what is written there."""

    def __init__(self, columns: int, lines: int) -> None:
        self._ours, self.theirs = pty.openpty()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        """As somebody who drags its corner."""
        self._screen.resize(lines, columns)
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._ours, text.encode())

    @property
    def lines(self) -> list[str]:
        """What is seen."""
        return [line.rstrip() for line in self._screen.display]

    def until(self, seen: Callable[[list[str]], bool]) -> list[str]:
        """Wait until this holds of the lines that are seen; returns them."""
        deadline = time.monotonic() + SECONDS
        while not seen(self.lines):
            assert time.monotonic() < deadline, "\n".join(self.lines)
            self._read(0.2)
        return self.lines

    def rest(self) -> bytes:
        """All that was written, once nobody can write any more."""
        os.close(self.theirs)
        while self._read(SECONDS):
            pass
        return self.written

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        with contextlib.suppress(OSError):  # all that could write have gone
            if data := os.read(self._ours, 65536):
                self.written += data
                self._stream.feed(data)
                return True
        return False


@contextlib.contextmanager
def shown(
    command: Sequence[str], columns: int, lines: int, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """The command on a terminal of this size, as long as this is open."""
    terminal = Terminal(columns, lines)
    named = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})}
    left_out = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "PYTHONIOENCODING")
    own = {key: value for key, value in os.environ.items() if key not in left_out}
    theirs = terminal.theirs
    with subprocess.Popen(
        command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env={**own, **named}
    ) as process:
        try:
            yield terminal, process
        finally:
            process.kill()
