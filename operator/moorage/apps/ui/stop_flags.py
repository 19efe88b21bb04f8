"""Ends what runs on a thread: nobody can from outside, so the work itself asks now and then."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Nobody waits for this any more."""


class StopFlag:
    """Set on one thread, asked on others."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """What asks from now on ends."""
        self._stopped.set()

    def check(self) -> None:
        """Raise Stopped once it is set."""
        if self._stopped.is_set():
            raise Stopped

    def until(self, items: Iterable[T]) -> Iterable[T]:
        """These, as often as they are gone through; it is asked before each."""
        return _Checked(items, self)


class _Checked(Generic[T]):
    def __init__(self, items: Iterable[T], flag: StopFlag) -> None:
        self._items = items
        self._flag = flag

    def __iter__(self) -> Iterator[T]:
        for item in self._items:
            self._flag.check()
            yield item
