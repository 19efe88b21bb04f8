"""Searches: candidates that are tried one by one, as long as there is time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Found = TypeVar("Found")


class Search(Generic[Found]):
    """Tries what may help, the most promising first, until ``most`` of it does.

    ``attempt`` says of a candidate what comes of it, None where it does not help. ``left``:
    candidates that are not tried yet; before the first is tried it is what was expected.
    """

    def __init__(
        self,
        candidates: Iterable[T],
        attempt: Callable[[T], Found | None],
        *,
        most: int,
        expected: int,
    ) -> None:
        self.found: list[Found] = []
        self._candidates = candidates
        self._attempt: Callable[[Any], Found | None] = attempt
        self._most = most
        self._expected = expected
        self._tried = 0
        self._known: Sequence[Any] | None = None

    @property
    def left(self) -> int:
        """How many are not tried."""
        if len(self.found) == self._most:
            return 0
        known = self._expected if self._known is None else len(self._known)
        return known - self._tried

    def step(self) -> bool:
        """Try the next one; False where there is none, or enough help."""
        if self._known is None:
            self._known = list(self._candidates)
        if not self.left:
            return False
        found = self._attempt(self._known[self._tried])
        self._tried += 1
        if found is not None:
            self.found.append(found)
        return True

    def first(self) -> Found | None:
        """The first that helps; None where none does."""
        while not self.found and self.step():
            pass
        return self.found[0] if self.found else None


def take_turns(searches: Iterable[Search[Any]]) -> None:
    """Each search tries one candidate after the other, until all are through: where time ends
    before, each kind has had its most promising ones tried, however many another one has.
    """
    going = list(searches)
    while going:
        going = [one for one in going if one.step()]
