"""Which devices are in use, and what of them: the one definition that everything which gives
devices asks.

A device is in use while a claim's allocation names it, be it as a whole or as a share, and whether
or not a slice still describes it. Then nobody gets it as a whole; its shares count against its
capacity, and it has its part of its pool's counters, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.core.devices.capacity import added, total
from moorage.core.devices.pools import CounterId, DeviceId, Pool, PoolId
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim


class DeviceUse(NamedTuple):
    """A device that a claim has; ``consumed``: its share, in nano-units, None if it has the whole
    device.
    """

    device: DeviceId
    consumed: Mapping[str, int] | None


def device_uses_of(claim: ResourceClaim) -> tuple[DeviceUse, ...]:
    """What a claim's allocation takes; nothing where it only looks on. Raises QuantityError."""
    allocation = claim.status.allocation
    return tuple(
        DeviceUse(
            DeviceId(one.driver, one.pool, one.device),
            None if one.share_id is None else total(one.consumed_capacity or {}, {}),
        )
        for one in (allocation.devices.results if allocation is not None else None) or ()
        if not one.admin_access
    )


class UseCounts(NamedTuple):
    """How many claims have a device as a whole (more than one only by a fault), how many a share,
    and what the shares take.
    """

    whole: int = 0
    shares: int = 0
    consumed: Mapping[str, int] = {}

    def plus(self, consumed: Mapping[str, int] | None, sign: int) -> UseCounts:
        """With one claim more (1) or less (-1)."""
        if consumed is None:
            return self._replace(whole=self.whole + sign)
        both = added({name: sign * amount for name, amount in consumed.items()}, self.consumed)
        return self._replace(
            shares=self.shares + sign,
            consumed={name: amount for name, amount in both.items() if amount},
        )


_NO_USE = UseCounts()


class DevicesInUse:
    """All devices in use, by pool."""

    def __init__(self) -> None:
        self._of: dict[DeviceId, UseCounts] = {}
        self._in: dict[PoolId, set[DeviceId]] = {}

    def count(self, taken: DeviceUse, sign: int) -> None:
        """One claim more (1) or less (-1) has this."""
        device, pool = taken.device, PoolId(taken.device.driver, taken.device.pool)
        use = self._of.get(device, _NO_USE).plus(taken.consumed, sign)
        if use == _NO_USE:
            del self._of[device]
            self._in[pool].discard(device)
            if not self._in[pool]:
                del self._in[pool]
        else:
            self._of[device] = use
            self._in.setdefault(pool, set()).add(device)

    def of(self, device: DeviceId) -> UseCounts:
        """What is used of a device."""
        return self._of.get(device, _NO_USE)

    def __contains__(self, device: DeviceId) -> bool:
        """Whether anybody uses a device."""
        return device in self._of

    def remaining_counters(self, pool: Pool) -> dict[CounterId, int] | None:
        """What is left of a pool's counters. None: that can't be told, as a device in use is in
        none of its slices any more.
        """
        left = dict(pool.counters)
        for device in self.used_in(pool.id) if pool.counters else ():
            if device not in pool.consumed_counters:
                return None
            for counted, amount in pool.consumed_counters[device].items():
                left[counted] -= amount
        return left

    def used_in(self, pool: PoolId) -> Iterable[DeviceId]:
        """The devices of a pool that are in use."""
        return self._in.get(pool, ())


class DevicesInUseWith(DevicesInUse):
    """What is in use, and these devices too."""

    def __init__(self, others: DevicesInUse, taken: Iterable[DeviceUse]) -> None:
        super().__init__()
        self._others = others
        for one in taken:
            self.count(one, 1)

    def of(self, device: DeviceId) -> UseCounts:
        """What is used of a device."""
        mine, its = super().of(device), self._others.of(device)
        return UseCounts(
            mine.whole + its.whole, mine.shares + its.shares, added(mine.consumed, its.consumed)
        )

    def __contains__(self, device: DeviceId) -> bool:
        """Whether anybody uses a device."""
        return super().__contains__(device) or device in self._others

    def used_in(self, pool: PoolId) -> Iterable[DeviceId]:
        """The devices of a pool that are in use."""
        return {**dict.fromkeys(super().used_in(pool)), **dict.fromkeys(self._others.used_in(pool))}


class AvailableDevices(NamedTuple):
    """What there is for a node: the pools that it reaches, and what is in use of them."""

    pools: Sequence[Pool]
    classes: Mapping[str, DeviceClass]
    uses: DevicesInUse
