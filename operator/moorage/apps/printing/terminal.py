"""Answers for people: sentences and tables, coloured on a terminal alone.

On a terminal a line has between 80 and 100 columns; elsewhere it is as long as it has to be, so
that each row of a table is one line.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from moorage.ports.texts import printable

MIN_WIDTH, MAX_WIDTH = 80, 100
"""Columns that a terminal is taken to have."""
_UNLIMITED = 100_000
"""Columns where nobody has to be spared a long line."""


class Style(enum.StrEnum):
    """What a colour says; there is a word for each of them, too."""

    REFUSED = "red"
    WAITS = "yellow"
    WELL = "green"
    TRIAL = "magenta"
    NAME = "bold"
    DIM = "dim"


def moves_cursor(stream: TextIO) -> bool:
    """Whether a line can be wiped there, and written anew: on a terminal that is not dumb."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def open_console(stream: TextIO) -> Console:
    """Where to print. Colours need a terminal, and no NO_COLOR in the environment."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    console.width = (
        min(max(console.width, MIN_WIDTH), MAX_WIDTH) if console.is_terminal else _UNLIMITED
    )
    return console


def new_table(
    *columns: str, numbers: Sequence[str] = (), wide: str | tuple[str, ...] = ""
) -> Table:
    """A table as kubectl has them; columns of ``numbers`` stand to the right.

    Where the terminal ends, ``wide`` breaks its lines, and nothing is cut; without it all are cut.
    """
    breaking = (wide,) if isinstance(wide, str) else wide
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    for column in columns:
        found.add_column(
            column,
            no_wrap=column not in breaking,
            overflow="fold" if wide else "ellipsis",
            justify="right" if column in numbers else "left",
        )
    return found


def sentence(text: str, style: Style | str = "") -> Text:
    """A line of text that others may have had a hand in; ``style`` is that of its verdict."""
    return Text(printable(text), style=str(style))


def write(console: Console, *parts: RenderableType) -> None:
    """Print these one below the other, without blanks at the ends of lines."""
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=not console.is_terminal and isinstance(part, Text))
    for line in capture.get().splitlines():
        console.file.write(f"{line.rstrip()}\n")
