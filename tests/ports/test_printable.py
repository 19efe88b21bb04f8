"""Texts that others chose, shown."""

from __future__ import annotations

import sys

import pytest

from moorage.ports.printable import printable, printable_lines

ODD = [
    "\n",
    "\r",
    "\t",
    "\x1b",
    "\x7f",
    "\x9b",
    "\x00",
    "\u202e",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\u00a0",
    "\U000e0041",
]
"""New lines, what terminals obey, what turns the direction of text, what does not show, what cannot
be written out.
"""


@pytest.mark.parametrize("odd", ODD, ids=ascii)
def test_nothing_odd_is_left(odd: str) -> None:
    """And it can be seen what was there."""
    shown = printable(f"a{odd}b")
    assert shown.isprintable()
    assert shown == f"a{ascii(odd)[1:-1]}b"


def test_every_character_is_printable_or_escaped() -> None:
    """All of Unicode; what prints stays as it is."""
    for first in range(0, sys.maxunicode + 1, 4096):
        text = "".join(map(chr, range(first, first + 4096)))
        assert printable(text).isprintable()
    assert printable("Grüße, 船, 🛳 \\n") == "Grüße, 船, 🛳 \\n"


def test_lines_stay_lines() -> None:
    """And only they."""
    assert printable_lines("a\x1b\n2026\r\n", "  ") == "a\\x1b\n  2026\\r\n  "
