"""Where the demo shows itself: a table that stays, with text going by above it, on a terminal;
plain lines anywhere else.
"""

from __future__ import annotations

import datetime
import math
import os
import select
import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live

from moorage.apps.demo import table
from moorage.apps.demo.cluster_state import ClusterState

MAX_LINES = 5
"""A second, where there is no terminal."""


class Screen:
    """A context manager: at its end the table stays as it was last."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._shown: ClusterState | None = None
        self._due = -math.inf
        self._told = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        """Decisions up to then are on lines."""
        self._alive: set[str] = set()
        self._leader = ""
        """Of the replicas, as they are on lines."""

    @property
    def live(self) -> bool:
        """Whether there is a table, so somebody who looks at it."""
        return self._live is not None

    def say(self, text: str = "", style: str | None = None) -> None:
        """Text that goes by; lines are not broken, so that they can be copied."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def show(self, state: ClusterState) -> None:
        """The table; without a terminal, what was decided and became of the replicas since the last
        time, as lines.
        """
        if self._live is None:
            self._tell_replicas(state)
            self._tell(state, time.monotonic())
        elif state is not self._shown:
            self._draw(self._live, state)

    def _draw(self, live: Live, state: ClusterState) -> None:
        if not live.is_started:
            live.start()
        self._shown = state
        live.update(
            table.render(state, datetime.datetime.now(datetime.UTC), self._console.height),
            refresh=True,
        )

    def _tell(self, state: ClusterState, now: float) -> None:
        """The oldest first, and few at a time: a log is read later."""
        waiting = [decision for decision in reversed(state.decisions) if decision.at > self._told]
        if not waiting or now < self._due:
            return
        self._due, self._told = now + 1, waiting[:MAX_LINES][-1].at
        for decision in waiting:
            if decision.at <= self._told:
                by = f"{decision.profile}, revision {table.short(decision.revision)}"
                self.say(f"decided: {decision.pod} by {by}: {table.outcome(decision, state)}")

    def _tell_replicas(self, state: ClusterState) -> None:
        """Who died, who is started again, and who leads after another one."""
        for one in state.replicas:
            if one.pid is None and one.name in self._alive:
                self.say(f"died: {one.name}")
            if one.leads and one.name != self._leader:
                self.say(f"leads: {one.name}")
                self._leader = one.name
        self._alive = {one.name for one in state.replicas if one.pid is not None}

    def key(self) -> bool:
        """Whether somebody pressed Enter since the last time."""
        if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
            return False
        return bool(os.read(sys.stdin.fileno(), 1024))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
