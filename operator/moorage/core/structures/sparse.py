"""Sparse amounts: two numbers for a name and a row of the node table, kept where one of them is not
0.

Names come from whoever writes pods, nodes and drivers: extended resources, volume drivers. One that
a single node has costs as much as one node, not as all; one that nobody uses any more costs
nothing. What is asked of many rows is answered by NumPy all the same. What a pod takes of very many
names is one lump, which costs nothing until somebody asks for one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from moorage.core.structures.growing import grown

Amounts = npt.NDArray[np.int64]
"""int64[len(rows)]"""

HAS, TAKEN = 0, 1
"""What a row has of something, and how much of that is taken."""
_FEW = 32
"""So many rows are looked up one by one."""
_NOWHERE = -1
"""The last place is always free, and so 0 twice."""


class _Name:
    """The rows that have an amount, by place, and the amounts: intp[places], int64[2, places].
    ``size`` places are taken.
    """

    __slots__ = ("amounts", "rows", "size")

    def __init__(self) -> None:
        self.rows = np.zeros(2, np.intp)
        self.amounts = np.zeros((2, 2), np.int64)
        self.size = 0


class SparseAmounts:
    """Two numbers for each name and row, kept where one of them is not 0."""

    def __init__(self) -> None:
        self._names: dict[str, _Name] = {}
        self._places: dict[int, dict[str, int]] = {}
        """By row, then by name."""
        self._lumps: dict[int, list[Mapping[str, int]]] = {}
        """By row: what else is taken."""

    def __contains__(self, name: str) -> bool:
        """Whether any row has an amount."""
        return name in self._names or any(
            name in lump for lumps in self._lumps.values() for lump in lumps
        )

    def __len__(self) -> int:
        """How many names there are, but for those that only lumps have."""
        return len(self._names)

    @property
    def names(self) -> Collection[str]:
        """All names, but for those that only lumps have."""
        return self._names.keys()

    def anybody_has(self, name: str) -> bool:
        """Whether a row has any, taken or not."""
        found = self._names.get(name)
        return found is not None and bool(found.amounts[HAS].any())

    def at(self, name: str, row: int) -> tuple[int, int]:
        """What a row has, and what of it is taken."""
        places = self._places.get(row)
        place = None if places is None else places.get(name)
        lumped = sum(lump.get(name, 0) for lump in self._lumps.get(row, ()))
        if place is None:
            return 0, lumped
        amounts = self._names[name].amounts
        return int(amounts[HAS, place]), int(amounts[TAKEN, place]) + lumped

    def on(self, row: int) -> dict[str, tuple[int, int]]:
        """What a row has, and what of it is taken, by name."""
        names = dict.fromkeys(self._places.get(row, ()))
        for lump in self._lumps.get(row, ()):
            names |= dict.fromkeys(lump)
        return {name: self.at(name, row) for name in names}

    def had(self, row: int) -> dict[str, int]:
        """What a row has, by name."""
        had = {
            name: int(self._names[name].amounts[HAS, place])
            for name, place in self._places.get(row, {}).items()
        }
        return {name: amount for name, amount in had.items() if amount}

    def read(
        self, name: str, rows: npt.NDArray[np.intp] | slice, count: int
    ) -> tuple[Amounts, Amounts] | None:
        """What each of these rows has, and what is taken; None when that is nothing anywhere.
        ``count`` rows are in use.
        """
        found, lumped = self._names.get(name), self._lumped(name, count)
        if found is None and lumped is None:
            return None
        if isinstance(rows, slice):
            rows = np.arange(count)[rows]
        has = taken = np.zeros(rows.size, np.int64)
        if found is not None:
            has, taken = found.amounts[:, self._places_of(name, found, rows, count)]
        return has, taken if lumped is None else taken + lumped[rows]

    # ---- writing ---------------------------------------------------------------------------------

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
            self._occupy(row, name, which, sign * amount)

    def charge_lump(self, row: int, lump: Mapping[str, int], sign: int) -> None:
        """Add (``sign`` 1) or take away (-1) what is taken of all these names."""
        if sign > 0:
            self._lumps.setdefault(row, []).append(lump)
            return
        self._lumps[row].remove(lump)
        if not self._lumps[row]:
            del self._lumps[row]

    def charge_many(
        self, name: str, rows: npt.NDArray[np.intp], amounts: Amounts, count: int
    ) -> None:
        """Add to what is taken on these rows (repeated for several on one)."""
        found = self._names.get(name)
        places = (
            self._places_of(name, found, rows, count)
            if found is not None
            else np.full(rows.size, _NOWHERE)
        )
        there = places != _NOWHERE
        if found is not None:
            np.add.at(found.amounts[TAKEN], places[there], amounts[there])
            emptied = rows[there][~found.amounts[:, places[there]].any(axis=0)]
            for row in np.unique(emptied).tolist():
                self._vacate(row, name, self._places[row][name])
        for row, amount in zip(rows[~there].tolist(), amounts[~there].tolist(), strict=True):
            self.charge(row, name, TAKEN, amount, 1)

    # ---- inside ----------------------------------------------------------------------------------

    def _lumped(self, name: str, count: int) -> Amounts | None:
        """What lumps take of a name, by row; None when that is nothing."""
        found = {
            row: sum(lump.get(name, 0) for lump in lumps) for row, lumps in self._lumps.items()
        }
        if not any(found.values()):
            return None
        taken = np.zeros(count, np.int64)
        taken[list(found)] = list(found.values())
        return taken

    def _places_of(
        self, name: str, found: _Name, rows: npt.NDArray[np.intp], count: int
    ) -> npt.NDArray[np.intp]:
        if rows.size <= _FEW:
            nothing: dict[str, int] = {}
            return np.array(
                [self._places.get(row, nothing).get(name, _NOWHERE) for row in rows.tolist()],
                np.intp,
            )
        places = np.full(count, _NOWHERE)
        places[found.rows[: found.size]] = np.arange(found.size)
        return places[rows]

    def _occupy(self, row: int, name: str, which: int, amount: int) -> None:
        """Put a row's entry in, after all others."""
        found = self._names.get(name) or _Name()
        found.rows = grown(found.rows, found.size + 2)
        found.amounts = grown(found.amounts, found.size + 2)
        found.rows[found.size], found.amounts[which, found.size] = row, amount
        self._names[name] = found
        self._places.setdefault(row, {})[name] = found.size
        found.size += 1

    def _vacate(self, row: int, name: str, place: int) -> None:
        """Take a row's entry out; the last one takes its place."""
        found = self._names[name]
        last = found.size - 1
        if 4 * found.size < found.rows.size:
            found.rows = found.rows[: 2 * found.size].copy()
            found.amounts = found.amounts[:, : 2 * found.size].copy()
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
