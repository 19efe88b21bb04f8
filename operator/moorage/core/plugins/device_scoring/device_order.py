"""Which of a node's devices are tried first for a request."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import CandidateDevice, DeviceId
from moorage.core.devices.uses import AvailableDevices
from moorage.core.plugins.device_scoring.device_units import units_of
from moorage.core.plugins.device_scoring.islands import Islands
from moorage.core.plugins.device_scoring.waste import Int64Array, WasteTable

Key = tuple[int, ...]
UnitChange = tuple[int, int]
"""The numbers of a device's unit as it is, and once the device is given away."""


@dataclasses.dataclass(frozen=True)
class DeviceOrder:
    """For several devices: islands that have enough, the tightest attribute first; of these broken
    ones before whole ones, and the one with the fewest to spare. For one: what breaks into no whole
    island. Then by waste, the fullest first, and as the pools have them.

    ``weights``: of the table's requests, whatever the pods' cpu and memory.
    """

    islands: tuple[str, ...]
    weights: tuple[int, ...]
    table: WasteTable

    def in_order(
        self, wish: DeviceQuery, candidates: Sequence[CandidateDevice], offer: AvailableDevices
    ) -> Sequence[CandidateDevice]:
        """All of these devices, the best first. Raises AllocationError."""
        changes = self.changes(wish, offer)
        if len(changes) <= wish.count:
            return candidates
        left = self.table.left(_columns(changes.values())[1]).tolist()
        keys = zip(self._growth(changes.values()).tolist(), left, strict=True)
        waste = dict(zip(changes, keys, strict=True))
        levels = [Islands(name, candidates, offer.uses, waste.keys()) for name in self.islands]
        rest = [one for one in candidates if one.id not in waste]
        near = _one if wish.count == 1 else functools.partial(_several, wish.count)
        there = [one for one in candidates if one.id in waste]
        return sorted(there, key=lambda one: near(levels, one.id, waste[one.id])) + rest

    def changes(self, wish: DeviceQuery, offer: AvailableDevices) -> dict[DeviceId, UnitChange]:
        """What giving away each device that could serve a request comes to. Raises
        AllocationError.
        """
        number = self.table.number
        return {
            one.id: (number(unit), number(unit.without(one, wish)))
            for unit in units_of(offer)
            for one in unit.serving(wish)
        }

    def ranks(self, changes: Collection[UnitChange]) -> bytes:
        """The same where waste grows by these changes in the same order: other weights with the
        same ranks order devices alike.
        """
        return np.unique(self._growth(changes), return_inverse=True)[1].tobytes()

    def _growth(self, changes: Collection[UnitChange]) -> Int64Array:
        """int64[changes]: how much waste grows."""
        before, after = _columns(changes)
        weights = np.array(self.weights, np.int64)
        return self.table.wasted(after, weights) - self.table.wasted(before, weights)


def _columns(changes: Collection[UnitChange]) -> npt.NDArray[np.intp]:
    """intp[2, changes]."""
    return np.array([*changes], np.intp).reshape(-1, 2).T


def _one(levels: Sequence[Islands], device: DeviceId, waste: Key) -> Key:
    """For one device."""
    outermost_first = [level.of(device) for level in reversed(levels)]
    return (
        *(island.whole for island in outermost_first),
        *waste,
        *(island.free for island in outermost_first),
    )


def _several(count: int, levels: Sequence[Islands], device: DeviceId, waste: Key) -> Key:
    """For so many devices."""
    outermost_first = [(level.of(device), level.place(device)) for level in reversed(levels)]
    return (
        *(level.of(device).wanted < count for level in levels),
        *(part for at, place in outermost_first for part in (at.whole, at.wanted, place)),
        *waste,
    )
