"""Regular expressions find what Go finds, in a time that is linear in the text."""

from __future__ import annotations

import contextlib
import re
import time
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts import patterns
from kubefacts.patterns import PatternError


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        ("a*", "xaab", ["", "aa", ""]),
        ("a*?", "aa", ["", "", ""]),
        ("^c", "ab\ncd", []),
        ("(?m)^c", "ab\ncd", ["c"]),
        ("a|ab", "ab", ["a"]),
        ("(?i)a(?-i)b", "AbAB", ["Ab"]),
        (r"\Qa.b\E+", "a.bb", ["a.bb"]),
        (r"[[:alpha:]]+|\pN", "ab1", ["ab", "1"]),
        (r"v?\d+(?:\.\d+){2}", "v1.2.3 4.5.6", ["v1.2.3", "4.5.6"]),
        ("x{2,3}?", "xxxxx", ["xx", "xx"]),
        ("", "", [""]),
    ],
)
def test_parts_are_found_as_go_finds_them(pattern: str, text: str, parts: list[str]) -> None:
    """One after another, and of those that begin at one place the preferred."""
    assert [text[start:end] for start, end in patterns.spans(pattern, text)] == parts


_SIMPLE: Final = st.sampled_from(
    ["a", "b", "[ab]", ".", "^", r"\b", "a?", "b+", "a*?", "[^a]{1,2}"]
)
_PATTERNS: Final = st.recursive(
    _SIMPLE,
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
    ),
)


@given(_PATTERNS, st.text("abc", max_size=8))
def test_parts_are_those_that_python_finds(pattern: str, text: str) -> None:
    """Where the two read a pattern alike."""
    found = re.search(pattern, text)
    assert next(patterns.spans(pattern, text), None) == (found.span() if found else None)


@given(st.text("ab(|)*+?[]{1,}^$\\.Q", max_size=8), st.text("ab", max_size=6))
def test_a_part_is_found_where_one_matches(pattern: str, text: str) -> None:
    """Whatever the pattern looks like."""
    with contextlib.suppress(PatternError):
        assert any(True for _ in patterns.spans(pattern, text)) == patterns.matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("\ud800", "invalid UTF-8"),
    ],
)
def test_what_is_no_pattern_is_refused_in_the_words_of_go(pattern: str, why: str) -> None:
    """More of them are asked of an API server in towtank's tests."""
    for refused in (
        lambda: patterns.matches(pattern, ""),
        lambda: list(patterns.spans(pattern, "")),
    ):
        with pytest.raises(PatternError) as caught:
            refused()
        assert str(caught.value) == f"error parsing regexp: {why}"


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a*)*(a*)*(a*)*b",
        "(" * 10**5 + ")" * 10**5,
        "([a-z]{100}){10}" * 1000,
        "(a*)" * 10**4,
    ],
)
def test_no_pattern_takes_long_or_much_memory(pattern: str) -> None:
    """Nor do its groups, which nobody asks for; the largest are refused."""
    start = time.process_time()
    with contextlib.suppress(PatternError):
        patterns.matches(pattern, "a" * 10**4 + "!")
        list(patterns.spans(pattern, "a" * 1000 + "!"))
    assert time.process_time() - start < 5
