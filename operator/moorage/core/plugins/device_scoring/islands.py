"""Islands: devices that are near each other, as an attribute of theirs says (an NVLink domain, a
PCIe root, a NUMA node).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from moorage.core.devices.allocator import attribute_of
from moorage.core.devices.pools import CandidateDevice, DeviceId
from moorage.core.devices.uses import AvailableDevices, DevicesInUse
from moorage.core.objects.resource_claims import DeviceAttribute

_MOST = 63
WORST = 2**18
"""More than any cost: for nodes where nothing was found."""


class Island(NamedTuple):
    """How many of its devices nobody uses, how many of these are of the kind that is wanted, and
    whether that nobody uses any.
    """

    free: int = 0
    wanted: int = 0
    whole: bool = False


_NONE = Island()
_Value = DeviceAttribute | None


class Islands:
    """The islands of a node's devices by one attribute; a device without it is in none."""

    def __init__(
        self,
        name: str,
        candidates: Iterable[CandidateDevice],
        uses: DevicesInUse,
        wanted: Collection[DeviceId] = (),
    ) -> None:
        self._value_of: dict[DeviceId, _Value] = {}
        members: dict[_Value, list[DeviceId]] = {}
        for one in candidates:
            value = self._value_of[one.id] = attribute_of(one, name)
            if value is not None:
                members.setdefault(value, []).append(one.id)
        self._islands: dict[_Value, Island] = {}
        for value, devices in members.items():
            free = [one for one in devices if one not in uses]
            mine = sum(one in wanted for one in devices)
            self._islands[value] = Island(len(free), mine, len(free) == len(devices))
        self._places = {value: place for place, value in enumerate(members)}

    def of(self, device: DeviceId) -> Island:
        """A device's island."""
        return self._islands.get(self._value_of.get(device), _NONE)

    def place(self, device: DeviceId) -> int:
        """The place of a device's island among all, as its first device has it."""
        return self._places.get(self._value_of.get(device), len(self._places))

    def touched(self, devices: Iterable[DeviceId]) -> list[Island]:
        """The distinct islands that these devices are in."""
        values = dict.fromkeys(self._value_of.get(device) for device in devices)
        return [self._islands[value] for value in values if value in self._islands]


def cost_of_islands(
    names: Sequence[str], taken: Sequence[Sequence[DeviceId]], offer: AvailableDevices
) -> int:
    """What it costs to take these devices, by request: first over how many islands they spread,
    then how many whole ones are broken into, then how many free devices stay behind in them.
    """
    candidates = [one for pool in offer.pools for one in pool.devices]
    spread = broken = spare = 0
    for name in names:
        islands = Islands(name, candidates, offer.uses)
        for devices in taken:
            touched = islands.touched(devices)
            fresh = sum(device not in offer.uses for device in devices)
            spread += max(len(touched) - 1, 0)
            broken += sum(island.whole for island in touched)
            spare += max(sum(island.free for island in touched) - fresh, 0)
    return (min(spread, _MOST) << 12) + (min(broken, _MOST) << 6) + min(spare, _MOST)
