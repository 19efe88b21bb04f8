"""Which of a node's devices are tried first for a request."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import CandidateDevice, DeviceId
from moorage.core.devices.uses import AvailableDevices
from moorage.core.plugins.device_scoring.device_units import DeviceUnit, units_of
from moorage.core.plugins.device_scoring.islands import Islands
from moorage.core.plugins.device_scoring.waste import WasteTable

Key = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class DeviceOrder:
    """For several devices: islands that have enough, the tightest attribute first; of these broken
    ones before whole ones, and the one with the fewest to spare. For one: what breaks into no whole
    island. Then by waste, the fullest first, and as the pools have them.

    ``weights``: of the table's requests, whatever the pods' cpu and memory.
    """

    islands: tuple[str, ...]
    weights: tuple[int, ...]
    table: WasteTable = dataclasses.field(compare=False)

    def in_order(
        self, wish: DeviceQuery, candidates: Sequence[CandidateDevice], offer: AvailableDevices
    ) -> Sequence[CandidateDevice]:
        """All of these devices, the best first. Raises AllocationError."""
        waste = {
            one.id: self._growth(unit, one, wish)
            for unit in units_of(offer)
            for one in unit.serving(wish)
        }
        if len(waste) <= wish.count:
            return candidates
        levels = [Islands(name, candidates, offer.uses, waste.keys()) for name in self.islands]
        rest = [one for one in candidates if one.id not in waste]
        near = _one if wish.count == 1 else functools.partial(_several, wish.count)
        there = [one for one in candidates if one.id in waste]
        return sorted(there, key=lambda one: near(levels, one.id, waste[one.id])) + rest

    def _growth(self, unit: DeviceUnit, one: CandidateDevice, wish: DeviceQuery) -> Key:
        """How much waste grows when a device is taken, and what is then left of its unit."""
        then = unit.without(one, wish)
        weights = np.array(self.weights, np.int64)
        growth = self.table.waste_of(then, weights) - self.table.waste_of(unit, weights)
        return growth, self.table.left_of(then)


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
