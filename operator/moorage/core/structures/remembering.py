"""Remembering: the results of a pure function by what it was asked, the latest ones.

Pods of one controller say the same, so most of what is asked was asked before.
``functools.lru_cache`` bounds how many answers are kept; who writes pods decides how large each of
them is, so here the sum of their sizes is bounded as well.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar

MAX_ENTRIES = 4096
"""Answers of one function that are kept."""
MAX_BYTES = 2**20
"""What these may come to by their sizes, as the function's ``size`` puts them: about the bytes of
what was asked.
"""
WORD_BYTES = 64
"""Bytes of a name or a number in what is asked, where bytes are not at hand."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclasses.dataclass(slots=True, eq=False)
class _Answer(Generic[R]):
    """``used``: whether it was given again since it was the newest."""

    result: R
    size: int
    used: bool = False


class MemoizedFunction(Generic[P, R]):
    """A function that remembers. ``size`` of the result and the arguments, which must be positional
    and hashable.

    Decisions ask on one thread, explanations on another: what is kept changes by steps that the
    interpreter does not divide, and may be found changed between any two.
    """

    def __init__(
        self, function: Callable[P, R], size: Callable[..., int], most: int, budget: int
    ) -> None:
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self._size = size
        self._most = most
        self._budget = budget
        self._kept: OrderedDict[tuple[Hashable, ...], _Answer[R]] = OrderedDict()
        self._total = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What it says, asked now or remembered."""
        kept = self._kept.get(args)
        if kept is not None:
            kept.used = True
            return kept.result
        result = self.__wrapped__(*args, **kwargs)
        size = self._size(result, *args)
        while self._kept and (self._total + size > self._budget or len(self._kept) >= self._most):
            self._make_room()
        meanwhile = self._kept.pop(args, None)
        self._kept[args] = _Answer(result, size)
        self._total += size - (0 if meanwhile is None else meanwhile.size)
        return result

    def _make_room(self) -> None:
        """Forget the oldest answer, or let it be the newest if it was given again: to note that
        costs less than to keep an order.
        """
        try:
            asked, oldest = self._kept.popitem(last=False)
        except KeyError:
            return  # the other thread has taken the last one
        if oldest.used:
            oldest.used = False
            self._kept[asked] = oldest
        else:
            self._total -= oldest.size

    def cache_clear(self) -> None:
        self._kept.clear()
        self._total = 0

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._kept)


def memoized(
    size: Callable[..., int], most: int = MAX_ENTRIES, budget: int = MAX_BYTES
) -> Callable[[Callable[P, R]], MemoizedFunction[P, R]]:
    """Decorates a function: see ``MemoizedFunction``."""
    return lambda function: MemoizedFunction(function, size, most, budget)


def text_size(_result: Any, args: Any, *_: Any) -> int:
    """The size of what is asked by a plugin's arguments: that of their text."""
    return len(repr(args))


def byte_size(_result: Any, *args: Any) -> int:
    """The size of what is asked by bytes or text: its length."""
    return len(args[-1])
