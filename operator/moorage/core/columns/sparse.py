"""Sparse amounts: two numbers for a name and a row of the node table, kept where one of them is not 0.

Names come from whoever writes pods, nodes and drivers: extended resources, volume drivers. One that a single node has costs as much
as one node, not as all; one that nobody uses any more costs nothing. What is asked of many rows is answered by NumPy all the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.columns.growing import grown

Amounts = npt.NDArray[np.int64]
"""int64[len(rows)]"""

HAS, TAKEN = 0, 1
"""What a row has of something, and how much of that is taken."""
_FEW = 32
"""So many rows are looked up one by one."""
_NOWHERE = -1
"""The last place is always free, and so 0 twice."""


class _Name:
    """The rows that have an amount, by place, and the amounts: intp[places], int64[2, places]. ``size`` places are taken."""

    __slots__ = ("amounts", "rows", "size")

    def __init__(self) -> None:
        self.rows = np.zeros(2, np.intp)
        self.amounts = np.zeros((2, 2), np.int64)
        self.size = 0


class SparseAmounts:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._names: dict[str, _Name] = {}
        self._places: dict[int, dict[str, int]] = {}
        """By row, then by name."""

    def __contains__(self, name: str) -> bool:
        """Whether any row has an amount."""
        return name in self._names

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._names)

    def anybody_has(self, name: str) -> bool:
        """Whether a row has any, taken or not."""
        found = self._names.get(name)
        return found is not None and bool(found.amounts[HAS].any())

    def at(self, name: str, row: int) -> tuple[int, int]:
        """What a row has, and what of it is taken."""
        places = self._places.get(row)
        place = None if places is None else places.get(name)
        if place is None:
            return 0, 0
        amounts = self._names[name].amounts
        return int(amounts[HAS, place]), int(amounts[TAKEN, place])

    def on(self, row: int) -> dict[str, tuple[int, int]]:
        """What a row has, and what of it is taken, by name."""
        return {name: self.at(name, row) for name in self._places.get(row, ())}

    def read(self, name: str, rows: npt.NDArray[np.intp] | slice, count: int) -> tuple[Amounts, Amounts] | None:
        """What each of these rows has, and what is taken; None when that is nothing anywhere. ``count`` rows are in use."""
        found = self._names.get(name)
        if found is None:
            return None
        if isinstance(rows, slice):
            rows = np.arange(count)[rows]
        both = found.amounts[:, self._places_of(name, found, rows, count)]
        return both[HAS], both[TAKEN]

    # ---- writing -----------------------------------------------------------------------------------------------------------

    def charge(self, row: int, name: str, which: int, amount: int, sign: int) -> None:
        """Add (``sign`` 1) or take away (-1) an amount."""
        places = self._places.get(row)
        place = None if places is None else places.get(name)
        if place is not None:
            found = self._names[name]
            left = found.amounts[which, place] + sign * amount
            if left or found.amounts[1 - which, place]:
                found.amounts[which, place] = left
            else:
                self._vacate(row, name, place)
        elif amount:
            found = self._names.get(name) or _Name()
            found.rows, found.amounts = grown(found.rows, found.size + 2), grown(found.amounts, found.size + 2)
            found.rows[found.size], found.amounts[which, found.size] = row, sign * amount
            self._names[name] = found
            self._places.setdefault(row, {})[name] = found.size
            found.size += 1

    def charge_many(self, name: str, rows: npt.NDArray[np.intp], amounts: Amounts, count: int) -> None:
        """Add to what is taken on these rows (repeated for several on one)."""
        found = self._names.get(name)
        places = self._places_of(name, found, rows, count) if found is not None else np.full(rows.size, _NOWHERE)
        there = places != _NOWHERE
        if found is not None:
            np.add.at(found.amounts[TAKEN], places[there], amounts[there])
            emptied = rows[there][~found.amounts[:, places[there]].any(axis=0)]
            for row in np.unique(emptied).tolist():
                self._vacate(row, name, self._places[row][name])
        for row, amount in zip(rows[~there].tolist(), amounts[~there].tolist(), strict=True):
            self.charge(row, name, TAKEN, amount, 1)

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _places_of(self, name: str, found: _Name, rows: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
        if rows.size <= _FEW:
            nothing: dict[str, int] = {}
            return np.array([self._places.get(row, nothing).get(name, _NOWHERE) for row in rows.tolist()], np.intp)
        places = np.full(count, _NOWHERE)
        places[found.rows[: found.size]] = np.arange(found.size)
        return places[rows]

    def _vacate(self, row: int, name: str, place: int) -> None:
        """Take a row's entry out; the last one takes its place."""
        found = self._names[name]
        last = found.size - 1
        if 4 * found.size < found.rows.size:
            found.rows, found.amounts = found.rows[: 2 * found.size].copy(), found.amounts[:, : 2 * found.size].copy()
        moved = int(found.rows[last])
        found.rows[place], found.amounts[:, place] = moved, found.amounts[:, last]
        found.amounts[:, last] = 0
        found.size = last
        self._places[moved][name] = place
        del self._places[row][name]
        if not self._places[row]:
            del self._places[row]
        if not last:
            del self._names[name]
