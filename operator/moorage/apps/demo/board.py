"""The demo's board: one screenful of what is known, of whatever size the terminal has at the
moment. Pure.

The two lines at the top are always there; profiles with a problem come next. Where there is less
room, what happened goes first, then nodes, then the profiles that are well.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from moorage.apps.demo import table
from moorage.apps.demo.cluster_state import ClusterState
from moorage.apps.demo.space import Space
from moorage.apps.printing.terminal import Style

USUAL_LINES = 24
"""Of a terminal; one that is lower has no lines to spare for what happened."""
HAPPENED_LINES = 6
"""That a usual one has for it, when more nodes would fill them."""
MAX_NODES, MAX_HAPPENED = 12, 12
"""Rows."""
OTHER_LINES = 4
"""That a long text leaves to the rest."""


@dataclasses.dataclass(frozen=True, slots=True)
class Board:
    """A renderable. ``first`` is what to type to reach the cluster; ``silent``: seconds without
    news, 0 while there are some; ``text``: lines that stand below the profiles, the last ones first
    where there is no room; ``page``: lines that stand there alone.
    """

    state: ClusterState
    now: datetime.datetime
    first: str
    silent: float = 0.0
    text: Sequence[Text] = ()
    page: Sequence[str] = ()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        space = Space(console, options)
        yield from space.take(_sides(Text(self.first, "bold"), _keys(), options.max_width))
        yield from space.take(Group(self._second(options.max_width), ""))
        if self.page:
            yield Text("\n".join(self.page), overflow="fold")
            return
        yield from self._profiles(space)
        yield from self._text(space)
        yield from self._nodes(space)
        yield from space.take_most(lambda most: self._happened(space, most), MAX_HAPPENED)

    def _second(self, width: int) -> RenderableType:
        waiting = sum(one.waiting + one.unschedulable + one.gated for one in self.state.profiles)
        clock = Text(f"{self.now.astimezone():%H:%M:%S}", Style.WAITS if self.silent else "")
        right = Text(f"{self.state.placed_per_second:.0f} pods/s   {waiting} wait   ") + clock
        left = table.replicas(self.state.replicas)
        if self.silent:
            text = f"nothing heard for {self.silent:.0f} s; what you see is old"
            left = Text(text, Style.WAITS)
        return _sides(left, right, width)

    def _profiles(self, space: Space) -> Iterator[RenderableType]:
        def make(most: int) -> RenderableType:
            return Group(table.profiles(self.state, most, space.look), "")

        yield from space.take_most(make, sum(one.ready for one in self.state.profiles), always=True)

    def _text(self, space: Space) -> Iterator[RenderableType]:
        with space.keeping(OTHER_LINES):
            yield from space.take_most(lambda most: Group(*self.text[-most:], ""), len(self.text))

    def _nodes(self, space: Space) -> Iterator[RenderableType]:
        def make(most: int) -> RenderableType:
            return Group(table.nodes(self.state.nodes, most, space.look), "")

        wanted = space.height_of(self._happened(space, MAX_HAPPENED))
        kept = min(HAPPENED_LINES, wanted, space.left // 2)
        with space.keeping(kept if space.lines >= USUAL_LINES else 0):
            yield from space.take_most(make, min(MAX_NODES, len(self.state.nodes)))

    def _happened(self, space: Space, most: int) -> RenderableType:
        return table.happened(self.state, self.now, most, space.look)


def _keys() -> Text:
    return Text("? help   Ctrl-C ends", Style.DIM)


def _sides(left: Text, right: Text, width: int) -> RenderableType:
    """One text at either end of a line, or below each other where they do not fit."""
    left = Text("", overflow="fold") + left
    gap = width - left.cell_len - right.cell_len
    if gap < 2:
        return Group(left, right)
    return left + Text(" " * gap) + right
