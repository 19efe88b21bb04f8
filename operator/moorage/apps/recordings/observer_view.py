"""What `moorage record` prints: one sentence when it begins, a line that is renewed, one sentence
at the end.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

from moorage.apps.commands.output_files import STDOUT, shown
from moorage.apps.printing.amounts import age, size
from moorage.apps.printing.terminal import Style, moves_cursor, open_console, sentence, write
from moorage.apps.recordings.observer import Progress

LINE_SECONDS: Final = 60.0
"""Between two lines where there is no terminal."""
_ERASE: Final = "\r\x1b[K"


class TerminalRecordingView:
    """``RecordingView`` for people: sentences on stdout, progress on stderr."""

    def __init__(self, seconds: float | None, out: TextIO, progress: TextIO) -> None:
        """``seconds``: how long it is to last, None without an end."""
        self._seconds = seconds
        self._out = open_console(out)
        self._progress = progress
        self._renews = moves_cursor(progress)
        self._said = 0.0

    def began(self, cluster: str, path: Path, warnings: Iterable[str]) -> None:
        """The first line, and what is left out."""
        text = f"Recording {cluster} with get, list and watch only. {shown(path)}, {self._end()}."
        write(self._out, sentence(text))
        for warning in warnings:
            write(self._out, sentence(f"  {warning}", Style.WAITS))
        self._out.file.flush()

    def goes_on(self, progress: Progress) -> None:
        """The line that is renewed; elsewhere one a minute."""
        if self._renews:
            self._progress.write(f"{_ERASE}  {_line(progress)}")
        elif progress.seconds - self._said >= LINE_SECONDS:
            self._said = progress.seconds
            self._progress.write(f"  {_line(progress)}\n")
        self._progress.flush()

    def lost(self, text: str) -> None:
        """At once, and it stays."""
        self._wipe()
        console = open_console(self._progress)
        write(console, sentence(f"  {text}", Style.WAITS))
        self._progress.flush()

    def ended(self, path: Path, progress: Progress) -> None:
        """The file, and how to go on."""
        self._wipe()
        write(self._out, sentence(f"Wrote {shown(path)}: {_line(progress)}."))
        if path != STDOUT:
            write(self._out, sentence(f"Next: moorage replay {path} --others"))

    def _end(self) -> str:
        if self._seconds is None:
            return "ends with Ctrl-C"
        end = datetime.datetime.now().astimezone() + datetime.timedelta(seconds=self._seconds)
        return f"ends {end:%H:%M:%S} or with Ctrl-C"

    def _wipe(self) -> None:
        if self._renews:
            self._progress.write(_ERASE)
            self._progress.flush()


def _line(progress: Progress) -> str:
    each = progress.written // progress.changes if progress.changes else 0
    deciders = len(progress.schedulers)
    parts = [
        age(progress.seconds),
        f"{progress.arrivals:,} arrivals",
        f"{progress.changes:,} changes",
        size(progress.written),
        f"{each} bytes a change",
        f"decisions of {deciders} scheduler{'' if deciders == 1 else 's'}",
    ]
    return "  ".join([*parts, *([f"{progress.lost:,} lost"] * (progress.lost > 0))])
