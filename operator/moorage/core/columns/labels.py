"""Node labels, dictionary-coded by key: one int32 column for each key that a selector ever asked about.

A column is made when a plugin first asks for its key and kept up to date from then on; keys that nobody selects by cost nothing
but their map, and keys that no node has share one empty column. Equal values have equal codes, so a requirement is judged once per
distinct value and looked up per row.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from moorage.core.label_selectors import integer
from moorage.core.objects import Labels

ABSENT = 0
"""The code of a row without the label."""


class LabelColumn:
    """One key: ``codes[row]`` is 0 where the label is absent, else an index into ``values`` (``values[0]`` is unused)."""

    __slots__ = ("_code_of", "_numbers", "codes", "values")

    def __init__(self, capacity: int) -> None:
        self.codes: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._code_of: dict[str, int] = {}
        self._numbers: tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None = None

    def code(self, value: str) -> int:
        """The code of a value; ABSENT when no row ever had it."""
        return self._code_of.get(value, ABSENT)

    def put(self, row: int, value: str | None) -> None:
        """Write a row's value, None for absent."""
        if row >= self.codes.size:
            self.codes = np.concatenate([self.codes, np.zeros(max(row + 1, 2 * self.codes.size) - self.codes.size, np.int32)])
        if value is None:
            self.codes[row] = ABSENT
            return
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
            self._numbers = None
        self.codes[row] = code

    def numbers(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """By code: the value as a number, and whether it is one (``label_selectors.integer``)."""
        if self._numbers is None:
            found = [integer(value) for value in self.values]
            self._numbers = np.array([number or 0 for number in found], np.int64), np.array([number is not None for number in found])
        return self._numbers


class LabelTable:
    """All rows' labels and the columns made from them."""

    def __init__(self) -> None:
        self._labels: list[Labels] = []
        self._columns: dict[str, LabelColumn] = {}
        self._nodes_with: Counter[str] = Counter()
        self._empty = LabelColumn(1)

    def column(self, key: str) -> LabelColumn:
        """The column of a key as it is now, made if nobody asked for it before (O(nodes) once). Not to be kept: ask again."""
        column = self._columns.get(key)
        if column is None:
            if key not in self._nodes_with:
                return self._empty
            column = self._columns[key] = LabelColumn(max(len(self._labels), 1))
            for row, labels in enumerate(self._labels):
                column.put(row, labels.get(key))
        return column

    def put(self, row: int, labels: Labels) -> bool:
        """Write a row's labels; whether they differ from what was there."""
        while row >= len(self._labels):
            self._labels.append({})
            for column in (self._empty, *self._columns.values()):
                column.put(len(self._labels) - 1, None)
        old = self._labels[row]
        if old == labels:
            return False
        self._labels[row] = labels
        self._nodes_with.update(labels.keys())
        self._nodes_with.subtract(old.keys())
        for key in old:
            if not self._nodes_with[key]:
                del self._nodes_with[key]
        for key, column in self._columns.items():
            if old.get(key) != labels.get(key):
                column.put(row, labels.get(key))
        return True

    def remove(self, row: int) -> None:
        """Empty a row."""
        self.put(row, {})
