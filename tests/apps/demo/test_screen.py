"""A terminal gets the board, anything else gets lines."""

from __future__ import annotations

import datetime
import io
import math
import time

import pytest
from rich.console import Console

from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, ReplicaRow
from moorage.apps.demo.screen import MAX_LINES, Screen
from tests.apps.demo.boards import EXPORT, harbor


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_written(terminal: bool) -> None:
    """Long lines stay whole, for who copies them, and are there when the board has gone; no control
    characters where there is no terminal.
    """
    output, long = io.StringIO(), "export KUBECONFIG=[tmp]/" + "x" * 200
    screen = Screen(Console(file=output, force_terminal=terminal, width=80, height=30))
    screen.show(harbor())
    with screen.board(EXPORT, "help"):
        screen.say(long, "bold")
    printed = output.getvalue()
    assert long in printed
    assert screen.live is ("\x1b" in printed) is ("PROFILE" in printed) is terminal


def test_decisions_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal: each once, the oldest first, and few at a time."""

    def shown(screen: Screen, *seconds: int) -> list[str]:
        output.seek(0)
        output.truncate()
        at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        screen.show(
            ClusterState(
                decisions=tuple(
                    DecisionRow(at.replace(second=each), f"demo/p{each}", "a1", "binpack", "r")
                    for each in seconds
                )
            )
        )
        return output.getvalue().splitlines()

    output = io.StringIO()
    screen = Screen(Console(file=output, width=80))
    assert shown(screen, 2, 1) == [
        f"decided: demo/p{number} by binpack, revision r: a1" for number in (1, 2)
    ]
    assert shown(screen, 3, 2, 1) == []
    screen = Screen(Console(file=output, width=80))
    many = shown(screen, *range(MAX_LINES + 2, 0, -1))
    assert [line.split()[1] for line in many] == [
        f"demo/p{number}" for number in range(1, MAX_LINES + 1)
    ]
    monkeypatch.setattr(time, "monotonic", lambda: math.inf)
    assert len(shown(screen, *range(MAX_LINES + 2, 0, -1))) == 2


def test_replicas_as_lines() -> None:
    """A death is told, and once who leads; a replica that is started again leads no more."""

    def shown(*replicas: ReplicaRow) -> list[str]:
        output.seek(0)
        output.truncate()
        screen.show(ClusterState(replicas=replicas))
        return output.getvalue().splitlines()

    output = io.StringIO()
    first, second = ReplicaRow("moorage-0", 1, leads=True), ReplicaRow("moorage-1", 2, leads=False)
    dead, leads = ReplicaRow("moorage-0", None, leads=False), ReplicaRow("moorage-1", 2, leads=True)
    screen = Screen(Console(file=output, width=80))
    assert shown(first, second) == ["leads: moorage-0"]
    assert shown(first, second) == []
    assert shown(dead, second) == ["died: moorage-0"]
    assert shown(dead, second) == []
    assert shown(ReplicaRow("moorage-0", 3, leads=True), second) == []  # its Lease still runs
    assert shown(ReplicaRow("moorage-0", 3, leads=False), leads) == ["leads: moorage-1"]
