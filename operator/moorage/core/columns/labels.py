"""Node labels, dictionary-coded by key: one int32 column for each key that a selector ever asked about.

A column is made when a plugin first asks for its key and kept up to date from then on; keys that nobody selects by cost nothing
but their map. Equal values have equal codes, so a requirement is judged once per distinct value and looked up per row.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.objects import Labels

ABSENT = 0
"""The code of a row without the label."""


class LabelColumn:
    """One key: ``codes[row]`` is 0 where the label is absent, else an index into ``values`` (``values[0]`` is unused)."""

    __slots__ = ("_code_of", "codes", "values")

    def __init__(self, capacity: int) -> None:
        self.codes: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._code_of: dict[str, int] = {}

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
        self.codes[row] = code


class LabelTable:
    """All rows' labels and the columns made from them."""

    def __init__(self) -> None:
        self._labels: list[Labels] = []
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        """The column of a key, made now if nobody asked for it before (O(nodes) once)."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(max(len(self._labels), 1))
            for row, labels in enumerate(self._labels):
                column.put(row, labels.get(key))
        return column

    def put(self, row: int, labels: Labels) -> bool:
        """Write a row's labels; whether they differ from what was there."""
        while row >= len(self._labels):
            self._labels.append({})
            for column in self._columns.values():
                column.put(len(self._labels) - 1, None)
        old = self._labels[row]
        if old == labels:
            return False
        self._labels[row] = labels
        for key, column in self._columns.items():
            if old.get(key) != labels.get(key):
                column.put(row, labels.get(key))
        return True

    def remove(self, row: int) -> None:
        """Empty a row."""
        self.put(row, {})
