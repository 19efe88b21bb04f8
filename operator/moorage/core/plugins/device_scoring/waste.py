"""Waste: what is left on a node and yet of no use to the requests that are to be expected.

What is of use to a kind of request is seen in two ways, and the mean of both counts. At once: what
is left of the devices that could serve the request, nothing where it can't be served (too few such
devices, too little cpu or memory). In the long run: of this, no more than is taken once such
requests have used up the cpu or the memory. All that is left and of no use is waste. Expected waste
is the mean over the demand; a pod goes best where it grows least.

Source: fragmentation gradient descent: Weng et al., "Beware of Fragmentation" (USENIX ATC 2023),
which looks at once only. So it does not see devices that few cpus are left for until none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from moorage.core.devices.claim_requests import ClaimQueries, DeviceQuery, queries_of
from moorage.core.devices.pools import AllocationError
from moorage.core.devices.uses import AvailableDevices, DevicesInUse
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.core.plugins.device_scoring.demand import Demand
from moorage.core.plugins.device_scoring.device_units import DeviceUnit
from moorage.core.structures.growing import grown

Int64Array = npt.NDArray[np.int64]
_ENDLESS = 2.0**40
"""So many requests are served where they take nothing of what is left."""


class WasteTable:
    """What nodes' units are to these requests, by profile: a profile is the number of what a node's
    units offer, in whatever order.

    ``total[profile]``: what is left of all units. ``useful[request, profile]``: of those that
    could serve the request, 0 where these are too few. ``taken[request, profile]``: what one such
    request takes of these, at most. All int64, in thousandths of a unit.
    """

    def __init__(self, requests: Sequence[bytes], classes: Mapping[str, DeviceClass]) -> None:
        self.requests = tuple(requests)
        self._wishes = [_wish(request, classes) for request in requests]
        self._needed = np.array([0 if one is None else one.count for one in self._wishes], np.int64)
        self._units: dict[object, int] = {}
        self._serves: list[npt.NDArray[np.bool_]] = []
        """By number of a unit: bool[requests]."""
        self._takes: list[Int64Array] = []
        """By number of a unit: what each request takes of it, for one device."""
        self._remaining: list[int] = []
        self._profiles: dict[tuple[int, ...], int] = {}
        self.total: Int64Array = np.zeros(0, np.int64)
        self.useful: Int64Array = np.zeros((len(self.requests), 0), np.int64)
        self.taken: Int64Array = np.zeros((len(self.requests), 0), np.int64)

    def __len__(self) -> int:
        """How many profiles are known."""
        return len(self._profiles)

    def clear(self) -> None:
        """Forget all numbers."""
        for kept in (self._units, self._serves, self._takes, self._remaining, self._profiles):
            kept.clear()

    def profile(self, units: Iterable[DeviceUnit]) -> int:
        """The number of what these units offer."""
        numbers = tuple(sorted(map(self._number, units)))
        place = self._profiles.get(numbers)
        if place is None:
            place = self._profiles[numbers] = len(self._profiles)
            self.total = grown(self.total, place + 1)
            self.useful, self.taken = (grown(one, place + 1) for one in (self.useful, self.taken))
            self._measure(place, numbers)
        return place

    def waste_of(self, unit: DeviceUnit, weights: Int64Array) -> int:
        """What is left of one unit times the weights of the requests that it could not serve."""
        number = self._number(unit)
        return self._remaining[number] * int(weights[~self._serves[number]].sum())

    def left_of(self, unit: DeviceUnit) -> int:
        """What is left of one unit."""
        return self._remaining[self._number(unit)]

    def expected(
        self, profiles: npt.NDArray[np.intp], demand: Demand, cpu: Int64Array, memory: Int64Array
    ) -> Int64Array:
        """int64[n]: expected waste of nodes with these profiles and so much cpu and memory left
        (int64[n]), times the sum of the demand's weights.
        """
        waste: Int64Array = self.total[profiles] * demand.weights.sum()
        times = np.minimum(_times(cpu, demand.cpu), _times(memory, demand.memory))
        for kind, request in enumerate(demand.request_of.tolist()):
            once = np.where(times[kind] >= 1, self.useful[request, profiles], 0)
            ever = np.minimum(once, self.taken[request, profiles] * times[kind]).astype(np.int64)
            waste -= demand.weights[kind] * ((once + ever) // 2)
        return waste

    def _number(self, unit: DeviceUnit) -> int:
        number = self._units.get(unit.key)
        if number is None:
            number = self._units[unit.key] = len(self._units)
            takes = [_taken(unit, wish) for wish in self._wishes]
            self._serves.append(np.array([one is not None for one in takes], bool))
            self._takes.append(np.array([one or 0 for one in takes], np.int64))
            self._remaining.append(unit.remaining)
        return number

    def _measure(self, profile: int, numbers: Sequence[int]) -> None:
        self.total[profile] = self.useful[:, profile] = self.taken[:, profile] = 0
        if numbers:
            serves = np.array([self._serves[number] for number in numbers])
            remaining = np.array([self._remaining[number] for number in numbers], np.int64)
            enough = serves.sum(axis=0) >= self._needed
            self.total[profile] = remaining.sum()
            self.useful[:, profile] = np.where(enough, remaining @ serves, 0)
            takes = np.array([self._takes[number] for number in numbers])
            self.taken[:, profile] = takes.max(axis=0) * self._needed


def _taken(unit: DeviceUnit, wish: DeviceQuery | None) -> int | None:
    """What a request takes of a unit for one device, in thousandths; None where it can't be served.
    Of parts of different sizes it is the smallest.
    """
    then = [unit.without(one, wish) for one in unit.serving(wish)] if wish is not None else []
    return unit.remaining - max(one.remaining for one in then) if then else None


def _times(left: Int64Array, of_each: Int64Array) -> npt.NDArray[np.float64]:
    """float64[kinds, nodes]: how many requests what is left is enough for, fractions included."""
    endless = np.where(left >= 0, _ENDLESS, 0.0) * np.ones((of_each.size, 1))
    return np.divide(np.maximum(left, 0), of_each[:, None], out=endless, where=of_each[:, None] > 0)


def _wish(request: bytes, classes: Mapping[str, DeviceClass]) -> DeviceQuery | None:
    """The request as it would be looked for; None where it names a class that is not there."""
    asked = msgspec.json.decode(request, type=ExactDeviceRequest)
    wanted = DeviceClaim((DeviceRequest("expected", asked),))
    claim = ResourceClaim(ClaimMeta("expected"), ResourceClaimSpec(wanted))
    reading = queries_of(claim, AvailableDevices((), classes, DevicesInUse()))
    try:
        while True:
            next(reading)
    except StopIteration as end:
        queries: ClaimQueries = end.value
        return queries.requests[0][0]
    except AllocationError:
        return None
