"""Files that options and arguments name; ``-`` is stdin, for all commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

STDIN: Final = Path("-")


def read_text(path: Path) -> str:
    """What a file holds, or stdin. Raises OSError, with strerror, and UnicodeDecodeError.

    Stdin ends once, so whoever names it twice gets nothing the second time: that is an error, as
    nothing could come of it but an answer about nothing.
    """
    if path != STDIN:
        return path.read_text(encoding="utf-8")
    if text := sys.stdin.read():
        return text
    raise OSError(0, "stdin is empty, or was read already")
