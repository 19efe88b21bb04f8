"""The lines of a screen, and who takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType

from moorage.apps.demo.table import Look

NARROW = 60
"""Columns; with fewer the tables leave some of theirs out."""


class Space:
    """The lines of a screen: ``lines`` in all, ``left`` those that nobody has taken."""

    def __init__(self, console: Console, options: ConsoleOptions) -> None:
        self._console = console
        self._options = options.update(height=None)
        self.look = Look(options.ascii_only, options.max_width < NARROW)
        self.lines = options.height or console.height
        self.left = self.lines
        self._full = False

    def height_of(self, part: RenderableType) -> int:
        """Its lines at the screen's width."""
        return len(self._console.render_lines(part, self._options, pad=False))

    def take(self, part: RenderableType) -> Iterator[RenderableType]:
        """The part, even where it does not fit."""
        self.left -= self.height_of(part)
        yield part

    def take_most(
        self, make: Callable[[int], RenderableType], most: int, *, always: bool = False
    ) -> Iterator[RenderableType]:
        """The part with as many rows as fit, ``most`` at most. Where not even one does, there is
        none, and nothing of what comes after it; or the part without rows, when something of it is
        ``always`` there.
        """
        for rows in range(0 if self._full else most, 0, -1):
            part = make(rows)
            if self.height_of(part) <= self.left:
                yield from self.take(part)
                return
        if always:
            yield from self.take(make(0))
        self._full = self._full or most > 0

    @contextmanager
    def keeping(self, lines: int) -> Iterator[None]:
        """These are not for who takes some meanwhile."""
        self.left -= lines
        yield
        self.left += lines
