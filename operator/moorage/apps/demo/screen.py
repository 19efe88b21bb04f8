"""Where the demo shows itself: a table that stays, with text going by above it, on a terminal; plain lines anywhere else."""

from __future__ import annotations

import datetime
import os
import select
import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live

from moorage.apps.demo import view
from moorage.apps.demo.state import State


class Screen:
    """A context manager: at its end the table stays as it was last."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._shown: State | None = None

    @property
    def live(self) -> bool:
        """Whether there is a table, so somebody who looks at it."""
        return self._live is not None

    def say(self, text: str = "", style: str | None = None) -> None:
        """Text that goes by; lines are not broken, so that they can be copied."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def show(self, state: State) -> None:
        """The table."""
        if self._live is None or state is self._shown:
            return
        if not self._live.is_started:
            self._live.start()
        self._shown = state
        self._live.update(view.render(state, datetime.datetime.now(datetime.UTC), self._console.height), refresh=True)

    def key(self) -> bool:
        """Whether somebody pressed Enter since the last time."""
        if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
            return False
        return bool(os.read(sys.stdin.fileno(), 1024))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
