"""The board on pseudo-terminals."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import pytest

from tests.apps.demo.boards import EXPORT
from tests.apps.demo.terminals import shown

BOARD: Final = (sys.executable, "-m", "tests.apps.demo.boards")
ALTERNATE, BACK = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40), (80, 12), (64, 18)])
def test_the_first_line_stays(columns: int, lines: int) -> None:
    """However large the terminal is, and whatever becomes of its size: no second board is seen."""
    with shown([*BOARD, "9999"], columns, lines) as (terminal, process):
        for size in ((columns, lines), (100, 30), (columns, lines), (60, 10)):
            terminal.resize(*size)
            terminal.until(_whole(*size))
        terminal.type("\n")
        assert process.wait(30) == 0
        written = terminal.rest()
    before, _, rest = written.partition(ALTERNATE)
    board, _, after = rest.partition(BACK)
    assert b"before" in before
    assert EXPORT.encode() in board
    assert b"said meanwhile" in after


def _whole(columns: int, lines: int) -> Callable[[list[str]], bool]:
    """Whether one board is seen, and each end of its first lines is where it has to be."""
    keys = "? help   Ctrl-C ends"

    def whole(seen: list[str]) -> bool:
        fits = len(EXPORT) + len(keys) + 2 <= columns
        first, second = (seen[0], seen[1]) if fits else (f"{seen[0]}  {seen[1]}", seen[2])
        text = "\n".join(seen)
        return (
            first.startswith(EXPORT)
            and first.endswith(keys)
            and (len(first) == columns or not fits)
            and second.startswith("moorage-1 leads")
            and text.count("export") == text.count("leads") == text.count("READY") == 1
            and len(seen) == lines
        )

    return whole


def test_a_feed_that_stands_says_so() -> None:
    """Though nobody shows anything: the board is drawn by itself."""
    with shown([*BOARD, "0"], 80, 24) as (terminal, _):
        terminal.until(lambda lines: "nothing heard for 2 s; what you see is old" in lines[1])


def _alone(line: str) -> Callable[[list[str]], bool]:
    """With nothing of the board: what is written may come in parts, this line before the rest."""
    return lambda lines: line in lines and "PROFILE" not in "".join(lines)


def test_help_is_gone_through() -> None:
    """Page after page, then the board again; no key is seen on the screen."""
    with shown([*BOARD, "9999"], 80, 24) as (terminal, _):
        terminal.until(lambda lines: "PROFILE" in "".join(lines))
        for first in ("help 0", "help 12"):
            terminal.type("?")
            seen = terminal.until(_alone(first))
            assert seen[0].startswith(EXPORT)
        terminal.type("?x")
        seen = terminal.until(lambda lines: any(line.startswith("PROFILE") for line in lines))
        assert "x" not in seen


@pytest.mark.parametrize(
    ("environment", "coloured", "shade"),
    [({}, True, "█"), ({"NO_COLOR": "1"}, False, "█"), ({"PYTHONIOENCODING": "ascii"}, True, "#")],
    ids=["colours", "NO_COLOR", "ascii"],
)
def test_what_terminals_can_do(environment: dict[str, str], coloured: bool, shade: str) -> None:
    """Colours unless nobody wants them, shades where there are letters for them."""
    with shown([*BOARD, "9999"], 80, 24, environment) as (terminal, process):
        terminal.until(lambda lines: any(shade in line for line in lines))
        terminal.type("\n")
        assert process.wait(30) == 0
        written = terminal.rest()
    assert (b"\x1b[32m" in written) is coloured


def test_a_terminal_that_can_do_nothing_gets_lines() -> None:
    """As what is no terminal."""
    with shown([*BOARD, "9999"], 80, 24, {"TERM": "dumb"}) as (terminal, process):
        seen = terminal.until(lambda lines: any("leads: moorage-1" in line for line in lines))
        assert seen[0] == "before"
        terminal.type("\n")
        assert process.wait(30) == 0
        assert b"\x1b" not in terminal.rest()
