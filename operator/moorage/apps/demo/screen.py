"""Where the demo shows itself: a board of the whole screen on a terminal, plain lines anywhere
else.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.text import Text

from moorage.apps.demo import happenings, keyboard, table
from moorage.apps.demo.board import Board
from moorage.apps.demo.cluster_state import ClusterState

MAX_LINES = 5
"""A second, where there is no terminal."""
REDRAWS_PER_SECOND = 4
HELP, ENTER = "?", "\n\r"
"""Keys."""


class Screen:
    """What is said, and what is shown of the cluster."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.live = console.is_terminal and not console.is_dumb_terminal
        """Whether there can be a board, so somebody who looks at it."""
        self._state = ClusterState()
        self._lines = Lines()
        self._board: Live | None = None
        self._first = ""
        self._said: list[Text] = []
        """While there is a board."""
        self._chapter: tuple[Text, ...] = ()
        """What is on it of that: from the last heading on."""
        self._help: list[str] = []
        self._page = 0
        """Of the help; 0: none."""
        self._entered = False

    def say(self, text: str = "", style: str | None = None) -> None:
        """Text that goes by, and stays when the board has gone. Lines are not broken, so that they
        can be copied. On the board it stands below the earlier text, unless it begins with an empty
        line.
        """
        if self._board is None:
            self._print(Text(text, style or ""))
            return
        said = Text(text, style or "")
        self._said.append(said)
        earlier = () if text.startswith("\n") else self._chapter
        self._chapter = (*earlier, *Text(text.strip("\n"), style or "").split("\n"))

    def _print(self, text: Text) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, state: ClusterState) -> None:
        """This is known now; without a terminal, what was decided and became of the replicas since
        the last time, as lines.
        """
        self._state = state
        if not self.live:
            for line in self._lines.of(state, time.monotonic()):
                self.say(line)
        if self._board is not None:
            self._look_at_keys()

    @contextlib.contextmanager
    def board(self, first: str, help_text: str) -> Iterator[None]:
        """Where there can be a board, it is there meanwhile: its first line, and the text that a
        key shows instead of the cluster.
        """
        if not self.live:
            yield
            return
        self._first, self._help = first, help_text.strip("\n").splitlines()
        live = Live(
            console=self._console,
            screen=True,
            get_renderable=self._drawn,
            refresh_per_second=REDRAWS_PER_SECOND,  # from a thread: also while nothing is heard
        )
        try:
            with keyboard.unechoed(), live:
                self._board = live
                live.refresh()
                yield
        finally:
            self._board = None
            for text in self._said:
                self._print(text)
            self._said.clear()

    def key(self) -> bool:
        """Whether somebody pressed Enter since the last time."""
        self._look_at_keys()
        entered, self._entered = self._entered, False
        return entered

    def _look_at_keys(self) -> None:
        keys = keyboard.pressed()
        self._entered = self._entered or any(key in ENTER for key in keys)
        for _ in range(keys.count(HELP)):
            self._page = self._page + 1 if self._page < self._pages() else 0

    def _pages(self) -> int:
        return math.ceil(len(self._help) / self._page_lines())

    def _page_lines(self) -> int:
        return max(1, self._console.height // 2)

    def _drawn(self) -> Board:
        state, silent = self._state, time.monotonic() - self._state.read_at
        size = self._page_lines()
        return Board(
            state,
            datetime.datetime.now(datetime.UTC),
            self._first,
            silent if silent > state.fresh_seconds else 0.0,
            self._chapter,
            self._help[(self._page - 1) * size : self._page * size] if self._page else (),
        )


class Lines:
    """What is new, as lines."""

    def __init__(self) -> None:
        self._due = -math.inf
        self._told = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        """Decisions up to then are on lines."""
        self._alive: set[str] = set()
        self._leader = ""
        """Of the replicas, as they are on lines."""

    def of(self, state: ClusterState, now: float) -> Iterator[str]:
        """What has become of the replicas, and what was decided."""
        yield from self._replicas(state)
        yield from self._decisions(state, now)

    def _decisions(self, state: ClusterState, now: float) -> Iterator[str]:
        """The oldest first, and few at a time: a log is read later."""
        waiting = [decision for decision in reversed(state.decisions) if decision.at > self._told]
        if not waiting or now < self._due:
            return
        self._due, self._told = now + 1, waiting[:MAX_LINES][-1].at
        for decision in waiting:
            if decision.at <= self._told:
                by = f"{decision.profile}, revision {table.short(decision.revision)}"
                yield f"decided: {decision.pod} by {by}: {happenings.outcome(decision, state)}"

    def _replicas(self, state: ClusterState) -> Iterator[str]:
        """Who died, who is started again, and who leads after another one."""
        for one in state.replicas:
            if one.pid is None and one.name in self._alive:
                yield f"died: {one.name}"
            if one.leads and one.name != self._leader:
                yield f"leads: {one.name}"
                self._leader = one.name
        self._alive = {one.name for one in state.replicas if one.pid is not None}
