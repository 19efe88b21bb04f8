"""Node labels, dictionary-coded by key: one int32 column for each key that a selector ever asked
about and a node has.

A column is made when a plugin first asks for its key and kept up to date from then on; keys that
nobody selects by cost nothing but their map, and keys that no node has cost nothing at all. Equal
values have equal codes, so a requirement is judged once per distinct value and looked up per row. A
code whose value no node has any more is given to another value, so whoever keeps something by code
makes it anew when labels change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kubefacts.labels import integer
from moorage.core.objects.meta import Labels
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.growing import grown
from moorage.core.structures.numbering import Numbering

ABSENT = 0
"""The code of a row without the label."""


class LabelColumn:
    """One key: ``codes[row]`` is 0 where the label is absent, else an index into ``values``
    (``values[0]`` is unused).
    """

    __slots__ = ("_integers", "_numbering", "codes")

    def __init__(self, capacity: int) -> None:
        self.codes: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self._numbering: Numbering[str | None] = Numbering(None)
        self._integers: tuple[int, npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None = None

    @property
    def values(self) -> list[str | None]:
        """The value of each code; None where a code has none (any more)."""
        return self._numbering.values

    @property
    def version(self) -> int:
        """Moves when a value gets a code or loses it."""
        return self._numbering.version

    def code(self, value: str) -> int:
        """The code of a value; ABSENT when no row has it."""
        return self._numbering.number(value)

    def put(self, row: int, value: str | None) -> None:
        """Write a row's value, None for absent."""
        self.codes = grown(self.codes, row + 1)
        self.codes[row] = self._numbering.swap(int(self.codes[row]), value)

    def numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """By code: the value as a number, and whether it is one (``kubefacts.labels.integer``)."""
        if self._integers is None or self._integers[0] != self.version:
            found = [integer(value or "") for value in self.values]
            numbers = np.array([number or 0 for number in found], np.int64)
            self._integers = (
                self.version,
                numbers,
                np.array([number is not None for number in found]),
            )
        return self._integers[1:]


class LabelTable:
    """All rows' labels and the columns made from them."""

    def __init__(self) -> None:
        self._labels: list[Labels] = []
        self._columns: dict[str, LabelColumn] = {}
        self._nodes_with: dict[str, int] = {}
        """How many rows have a key, for each that any has."""
        self._empty = LabelColumn(1)
        """The column of every key that no row has."""

    def column(self, key: str) -> LabelColumn:
        """The column of a key, made now if nobody asked for it before (O(nodes) once). Not to be
        kept: it may end with the label.
        """
        column = self._columns.get(key)
        if column is not None:
            return column
        if key not in self._nodes_with:
            return self._empty
        column = LabelColumn(max(len(self._labels), 1))
        for row, labels in enumerate(self._labels):
            column.put(row, labels.get(key))
        self._columns[key] = column
        return column

    def put(self, row: int, labels: Labels) -> bool:
        """Write a row's labels; whether they differ from what was there."""
        self._reserve(row + 1)
        old = self._labels[row]
        if old == labels:
            return False
        differing = [key for key in self._columns if old.get(key) != labels.get(key)]
        all_or_none(1, *((self._swap, row, key, old, labels) for key in differing))
        self._labels[row] = labels
        for key in labels:
            self._nodes_with[key] = self._nodes_with.get(key, 0) + 1
        for key in old:
            self._nodes_with[key] -= 1
            if not self._nodes_with[key]:
                del self._nodes_with[key]
                self._columns.pop(key, None)
        return True

    def _reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        if rows > len(self._labels):
            for column in (self._empty, *self._columns.values()):
                column.put(rows - 1, None)
            self._labels += [{}] * (rows - len(self._labels))

    def _swap(self, row: int, key: str, old: Labels, new: Labels, sign: int) -> None:
        self._columns[key].put(row, (new if sign > 0 else old).get(key))
