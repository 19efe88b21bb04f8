"""Answers again and again: each in the place of the one before, on a terminal."""

from __future__ import annotations

import asyncio
import io

import pytest

from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.following import follow


class Terminal(io.StringIO):
    """One of those, or not."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        """As made."""
        return self._terminal


class EnoughError(Exception):
    """Ends what is printed for ever."""


def printed(terminal: bool, again: bool, answers: int) -> str:
    """What is written until there are so many answers."""
    out = Terminal(terminal)
    left = iter(range(answers))

    async def look() -> int:
        number = next(left, None)
        if number is None:
            raise EnoughError
        out.write(f"{number}\n")
        return number

    async def scenario() -> None:
        if again:
            with pytest.raises(EnoughError):
                await follow(look, out, again=True, period=0)
        else:
            assert await follow(look, out, again=False) == 0

    asyncio.run(scenario())
    return out.getvalue()


def test_once() -> None:
    """The exit status is the answer's."""
    assert printed(terminal=True, again=False, answers=2) == "0\n"


def test_again_and_again() -> None:
    """Below each other where it is no terminal."""
    assert printed(terminal=False, again=True, answers=3) == "0\n1\n2\n"
    first, second = printed(terminal=True, again=True, answers=2).split("\x1b[H\x1b[2J\x1b[3J")[:2]
    assert (first, second) == ("0\n", "1\n")


def test_no_answer_is_told_and_looked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The API server restarts, and whoever follows is still there afterwards."""
    out, left = io.StringIO(), iter((NoAnswer("gone\nfor now"), 1, NoAnswer("gone"), 2))

    async def look() -> int:
        found = next(left, EnoughError())
        if isinstance(found, Exception):
            raise found
        out.write(f"{found}\n")
        return found

    with pytest.raises(EnoughError):
        asyncio.run(follow(look, out, again=True, period=0))
    assert out.getvalue() == "1\n2\n"
    assert capsys.readouterr().err == "moorage: gone\nmoorage: for now\nmoorage: gone\n"


def test_no_answer_ends_what_looks_once() -> None:
    """With what it says."""

    async def look() -> int:
        raise NoAnswer("gone")

    with pytest.raises(NoAnswer, match="gone"):
        asyncio.run(follow(look, io.StringIO(), again=False))
