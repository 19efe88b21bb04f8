"""Durations: what is read, what is refused, how they are printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.durations import parse, parse_signed, text_of

READ = {
    "15s": (15.0, "15s"),
    "1m30s": (90.0, "1m30s"),
    "200ms": (0.2, "200ms"),
    "1.5h": (5400.0, "1h30m0s"),
    "2h0m0.25s": (7200.25, "2h0m0.25s"),
    "300us": (0.0003, "300µs"),
    "0": (0.0, "0s"),
}


@pytest.mark.parametrize("text", READ)
def test_durations_are_read_and_printed_as_go_does(text: str) -> None:
    """Every unit, fractions, and the canonical form."""
    seconds, printed = READ[text]
    assert parse(text) == parse_signed(text) == parse_signed(f"+{text}") == pytest.approx(seconds)
    assert parse_signed(f"-{text}") == pytest.approx(-seconds)
    assert text_of(seconds) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "15",
        "s",
        "-5s",
        "+5s",
        "--5s",
        "1d",
        "PT15S",
        "1m 30s",
        " 1s",
        "1s\n",
        15,
        None,
        "1s" * 40,
    ],
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """Numbers too: nobody knows their unit."""
    with pytest.raises(ValueError, match="must be a duration such as"):
        parse(text)


@given(st.integers(-(10**9), 10**9).map(lambda milliseconds: milliseconds / 1000))
def test_what_is_printed_reads_the_same(seconds: float) -> None:
    """To the millisecond, up to eleven days."""
    assert parse_signed(text_of(seconds)) == pytest.approx(seconds, abs=1e-6)
