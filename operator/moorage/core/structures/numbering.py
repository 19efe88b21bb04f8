"""Numbering: small numbers in place of values that many rows share. A value has its number as long
as a row uses it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Numbering(Generic[T]):
    """``values[number]``; number 0 is always there and stands for ``nothing``. Numbers that are
    free stand for it, too.
    """

    __slots__ = ("_free", "_number_of", "_uses", "values", "version")

    def __init__(self, nothing: T) -> None:
        self.values = [nothing]
        self.version = 0
        """Moves when a value gets a number or loses it."""
        self._number_of = {nothing: 0}
        self._uses = [0]
        self._free: list[int] = []

    def number(self, value: T) -> int:
        """The number of a value; 0 for one that nobody uses."""
        return self._number_of.get(value, 0)

    def swap(self, old: int, value: T) -> int:
        """One use of the number ``old`` less, one of this value more; the value's number."""
        number = self._number_of.get(value)
        if number == old:
            return old
        if number is None:
            number = self._give_number(value)
        self._uses[number] += 1
        self._uses[old] -= 1
        if not self._uses[old] and old:
            del self._number_of[self.values[old]]
            self.values[old] = self.values[0]
            self._free.append(old)
            self.version += 1
        return number

    def _give_number(self, value: T) -> int:
        """A free number, else a new one."""
        number = self._free.pop() if self._free else len(self.values)
        if number == len(self.values):
            self.values.append(value)
            self._uses.append(0)
        self.values[number] = value
        self._number_of[value] = number
        self.version += 1
        return number
