"""Units: what devices come in. A device that is a part of something shared, as partitions are (they
take from the same counters), is one unit with the other parts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence

from kubefacts.quantities import nanos
from moorage.core.devices.capacity import UnusableCapacity, consumed, fits, total
from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import AllocationError, CandidateDevice, CounterId, Pool, PoolState
from moorage.core.devices.uses import AvailableDevices, UseCounts
from moorage.core.pods.node_selection import untolerated_taints

WHOLE = 1000
"""What is left of a unit that nobody uses."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceUnit:
    """Devices with how they are used, and what is left of the counters that they take from, of what
    these are (both in nano-units, empty where there are none).

    ``key``: equal for units that offer the same.
    """

    devices: tuple[CandidateDevice, ...]
    uses: tuple[UseCounts, ...]
    left: Mapping[CounterId, int]
    has: Mapping[CounterId, int]
    key: Hashable

    @property
    def remaining(self) -> int:
        """What is left of it, 0 to ``WHOLE``: of the scarcest capacity or counter."""
        if self.has:
            shares = [(self.left[counted], most) for counted, most in self.has.items()]
        else:
            shares = list(_shares(self.devices[0], self.uses[0]))
        return min((max(left, 0) * WHOLE // most for left, most in shares if most > 0), default=0)

    def serving(self, wish: DeviceQuery) -> list[CandidateDevice]:
        """Those of its devices that could be given to a request."""
        both = zip(self.devices, self.uses, strict=True)
        return [one for one, use in both if self._serves(one, use, wish)]

    def without(self, taken: CandidateDevice, wish: DeviceQuery) -> DeviceUnit:
        """The unit once one of its devices, which serves the request, is given to it: as a whole,
        or where it is shared what the request takes of it.
        """
        shared = bool(taken.device.allow_multiple_allocations)
        share = total(consumed(taken.device, wish.request.capacity), {}) if shared else None
        place = self.devices.index(taken)
        pays = taken.counters if self.uses[place] == UseCounts() else {}
        uses = list(self.uses)
        uses[place] = uses[place].plus(share, 1)
        left = {counted: amount - pays.get(counted, 0) for counted, amount in self.left.items()}
        return unit_of(self.devices, uses, left, self.has)

    def _serves(self, one: CandidateDevice, use: UseCounts, wish: DeviceQuery) -> bool:
        shared = bool(one.device.allow_multiple_allocations)
        if use.whole or (use.shares and not shared):
            return False
        pays = {} if use.shares else one.counters
        if any(amount > self.left.get(counted, 0) for counted, amount in pays.items()):
            return False
        try:
            return (
                wish.selects(one)
                and not any(untolerated_taints(one.device.taints or (), wish.tolerations))
                and fits(one.device, wish.request.capacity, use.consumed)
            )
        except (AllocationError, UnusableCapacity):
            return False


def _shares(one: CandidateDevice, use: UseCounts) -> Iterator[tuple[int, int]]:
    """What is left of each capacity, and what there is of it."""
    shared = bool(one.device.allow_multiple_allocations)
    yield (0 if use.whole or (use.shares and not shared) else 1), 1
    for name, capacity in (one.device.capacity or {}).items() if shared else ():
        most = nanos(capacity.value)
        yield most - use.consumed.get(name, 0), most


def units_of(offer: AvailableDevices) -> list[DeviceUnit]:
    """The units of all pools that devices can be taken from, in order."""
    return [
        unit
        for pool in offer.pools
        if pool.state is PoolState.USABLE
        for unit in _units_in(pool, offer)
    ]


def _units_in(pool: Pool, offer: AvailableDevices) -> Iterator[DeviceUnit]:
    left = offer.uses.remaining_counters(pool) or {}
    parts: dict[tuple[str, ...], list[CandidateDevice]] = {}
    for one in pool.devices:
        sets = tuple(sorted({counted.set for counted in one.counters}))
        parts.setdefault(sets or ("", one.id.device), []).append(one)
    for devices in parts.values():
        partitions = {counted.set for counted in devices[0].counters}
        has = {at: most for at, most in pool.counters.items() if at.set in partitions}
        uses = [offer.uses.of(one.id) for one in devices]
        yield unit_of(devices, uses, {counted: left.get(counted, 0) for counted in has}, has)


def unit_of(
    devices: Sequence[CandidateDevice],
    uses: Sequence[UseCounts],
    left: Mapping[CounterId, int],
    has: Mapping[CounterId, int],
) -> DeviceUnit:
    """A unit with its key."""
    key = (
        tuple(
            (
                one.equivalence_key,
                use.whole > 0,
                use.shares > 0,
                tuple(sorted(use.consumed.items())),
            )
            for one, use in zip(devices, uses, strict=True)
        ),
        tuple((counted, left[counted], has[counted]) for counted in sorted(has)),
    )
    return DeviceUnit(tuple(devices), tuple(uses), left, has, key)
