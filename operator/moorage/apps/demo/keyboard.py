"""The keys that somebody presses in the terminal, one by one and not shown there."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def unechoed() -> Iterator[None]:
    """Keys come at once, and do not appear on what is drawn; signals stay as they are."""
    if not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def pressed() -> str:
    """The keys since the last time; "" where there is no keyboard."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 1024).decode(errors="replace")
