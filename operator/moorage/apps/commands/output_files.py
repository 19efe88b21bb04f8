"""Files that options name to be written; ``-`` is stdout, and what people are told goes to stderr
then.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO, Final, TextIO

from moorage.apps.exit_status import WrongUse

STDOUT: Final = Path("-")


def told_beside(path: Path | None) -> TextIO:
    """Where the answer goes of a command that writes this file."""
    return sys.stderr if path == STDOUT else sys.stdout


def shown(path: Path) -> str:
    """What to call it."""
    return "stdout" if path == STDOUT else str(path)


def write_text(path: Path, text: str) -> None:
    """Write over what is there. Raises OSError."""
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")


def refuse_terminal(option: str, path: Path | None) -> None:
    """Of what no terminal can show. Raises WrongUse."""
    if path == STDOUT and sys.stdout.isatty():
        raise WrongUse(f"{option} -: this is no text: redirect stdout, or name a file")


class StandardOutput:
    """``RecordingFiles`` that is stdout."""

    def begin(self, seconds: float) -> BinaryIO:
        """A handle of its own: whoever writes closes it."""
        return os.fdopen(os.dup(sys.stdout.fileno()), "wb")

    def is_full(self, size: int, begin: float, seconds: float) -> bool:
        """It takes everything."""
        return False

    def make_room(self, size: int, seconds: float) -> None:
        """The reader's concern."""
