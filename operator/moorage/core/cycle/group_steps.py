"""Steps: work on a group that is done in slices, and what is asked at one moment of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, Protocol, TypeAlias, TypeVar

from moorage.core.structures.budget import OutOfTime

T = TypeVar("T")
Steps: TypeAlias = Generator[bool, bool | None, T]
"""Yields True after each piece of work, False where its time ran out; is sent whether others have
had a turn since.
"""


def patiently(ask: Callable[[], T]) -> Steps[T]:
    """The answer; where time runs out it is asked again later."""
    while True:
        try:
            return ask()
        except OutOfTime:
            yield False


class Moment(Protocol):
    """Asks something of the state of one moment; raises what that raises. A replay knows these
    moments, and raises OutOfTime until one has come.
    """

    def __call__(self, ask: Callable[[], T], /) -> T: ...


class _AnyMoment:
    def __call__(self, ask: Callable[[], T], /) -> T:
        return ask()


AT_ANY_MOMENT: Final[Moment] = _AnyMoment()
"""Nobody is to know when."""
