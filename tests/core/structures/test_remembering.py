"""What is remembered is bounded by its number and by its size; the newest answer always is."""

from __future__ import annotations

import dataclasses
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from moorage.core.structures.remembering import MAX_BYTES, byte_size, memoized, text_size


def test_answers_are_kept_within_bounds() -> None:
    """The oldest go first; one that was asked for again is not old."""
    asked: list[str] = []

    @memoized(byte_size, most=3)
    def double(text: str) -> str:
        asked.append(text[:1])
        return text * 2

    for text in ("a", "b", "c", "a", "d", "a", "b"):
        assert double(text) == text * 2
    assert asked == ["a", "b", "c", "d", "b"]
    large = "l" * MAX_BYTES
    assert (double(large), double(large)) == (large * 2,) * 2
    assert len(double) == 1
    double.cache_clear()
    assert len(double) == 0


@dataclasses.dataclass(frozen=True)
class Asked:
    """Compared by code of Python's, between whose steps another thread may go on."""

    number: int


def test_two_threads_may_ask() -> None:
    """Each gets its answers, and what is kept stays within bounds."""

    @memoized(lambda *_: 1, most=2)
    def double(asked: Asked) -> int:
        return asked.number * 2

    def ask(step: int) -> int:
        numbers = [(step * i) % 5 for i in range(20_000)]
        return sum(double(Asked(number)) == number * 2 for number in numbers)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(ask, (1, 3))) == [20_000] * 2
    finally:
        sys.setswitchinterval(before)
    assert len(double) <= 3


def test_errors_are_not_remembered() -> None:
    """Nor do they leave anything."""

    @memoized(byte_size)
    def fail(text: str) -> str:
        raise ValueError(text)

    with pytest.raises(ValueError, match="x"):
        fail("x")
    assert len(fail) == 0


def test_a_budget_of_its_own() -> None:
    """For what many ask for again and again."""

    @memoized(byte_size, budget=10)
    def double(text: str) -> str:
        return text * 2

    for text in ("aaaa", "bbbb", "cccc"):
        double(text)
    assert len(double) == 2


def test_plugins_arguments() -> None:
    """By what they say, however they are nested."""
    assert text_size(None, ("x" * 100, {"y": "z" * 1000}), "hard") > 1100
