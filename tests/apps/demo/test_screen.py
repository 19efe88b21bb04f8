"""A terminal gets the table, anything else gets lines."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from moorage.apps.demo.screen import Screen
from moorage.apps.demo.state import Profile, State

STATE = State(profiles=(Profile("binpack", 1, "r", True, "", 0, 0),))


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_written(terminal: bool) -> None:
    """Long lines stay whole, for who copies them; no control characters where there is no terminal."""
    output, long = io.StringIO(), "export KUBECONFIG=[tmp]/" + "x" * 200
    with Screen(Console(file=output, force_terminal=terminal, width=80, height=30)) as screen:
        screen.show(STATE)
        screen.say(long, "bold")
    printed = output.getvalue()
    assert long in printed
    assert screen.live is ("\x1b" in printed) is ("binpack" in printed) is terminal


def test_the_same_state_is_not_drawn_again() -> None:
    """A table that is redrawn all the time flickers."""
    output = io.StringIO()
    with Screen(Console(file=output, force_terminal=True, width=80, height=30)) as screen:
        screen.show(STATE)
        before = len(output.getvalue())
        screen.show(STATE)
        assert len(output.getvalue()) == before
