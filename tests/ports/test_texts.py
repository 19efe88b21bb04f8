"""Texts that others chose, shown and made into names."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.names import is_qualified
from moorage.ports.texts import printable, printable_lines, replica_lease, shortened

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True)


@given(NAMES, NAMES)
def test_shortened_names_fit_a_label_and_stay_apart(one: str, other: str) -> None:
    """Any object's name becomes a valid label value; two names never become the same one; short
    ones stay as they are.
    """
    assert is_qualified(shortened(one))
    assert (shortened(one) == shortened(other)) == (one == other)
    assert len(one) > 63 or shortened(one) == one


@given(NAMES, st.text(min_size=1))
def test_a_replicas_lease_has_a_valid_name(lease: str, identity: str) -> None:
    """Whatever the identity holds, the name is at most 253 characters of a DNS name, and another
    one's is another.
    """
    name = replica_lease(lease, identity)
    assert len(name) <= 253 and name[0].isalnum() and name[-1].isalnum()
    assert name != replica_lease(lease, identity + "x")


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
