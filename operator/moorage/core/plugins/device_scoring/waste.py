"""Waste: what is left on a node and yet of no use to the requests that are to be expected.

For each kind of request a node's waste is all that is left of its devices where the request can't
be served there (too few devices that could, too little cpu or memory), else what is left of those
that could not. Expected waste is the mean over the demand; a pod goes best where it grows least.
Source: fragmentation gradient descent: Weng et al., "Beware of Fragmentation" (USENIX ATC 2023).
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


class WasteTable:
    """What nodes' units are to these requests, by profile: a profile is the number of what a node's
    units offer, in whatever order.

    ``total[profile]``: what is left of all units. ``useful[request, profile]``: of those that
    could serve the request, 0 where these are too few. Both int64, in thousandths of a unit.
    """

    def __init__(self, requests: Sequence[bytes], classes: Mapping[str, DeviceClass]) -> None:
        self.requests = tuple(requests)
        self._wishes = [_wish(request, classes) for request in requests]
        self._needed = np.array([0 if one is None else one.count for one in self._wishes], np.int64)
        self._units: dict[object, int] = {}
        self._serves: list[npt.NDArray[np.bool_]] = []
        """By number of a unit: bool[requests]."""
        self._remaining: list[int] = []
        self._profiles: dict[tuple[int, ...], int] = {}
        self.total: Int64Array = np.zeros(0, np.int64)
        self.useful: Int64Array = np.zeros((len(self.requests), 0), np.int64)

    def __len__(self) -> int:
        """How many profiles are known."""
        return len(self._profiles)

    def clear(self) -> None:
        """Forget all numbers."""
        for kept in (self._units, self._serves, self._remaining, self._profiles):
            kept.clear()

    def profile(self, units: Iterable[DeviceUnit]) -> int:
        """The number of what these units offer."""
        numbers = tuple(sorted(map(self._number, units)))
        place = self._profiles.get(numbers)
        if place is None:
            place = self._profiles[numbers] = len(self._profiles)
            self.total = grown(self.total, place + 1)
            self.useful = grown(self.useful, place + 1)
            self.total[place], self.useful[:, place] = self._measure(numbers)
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
        room = (demand.cpu <= cpu[:, None]) & (demand.memory <= memory[:, None])
        waste: Int64Array = self.total[profiles] * demand.weights.sum()
        for place in range(len(self.requests)):
            alike = demand.request_of == place
            waste -= (room[:, alike] @ demand.weights[alike]) * self.useful[place, profiles]
        return waste

    def _number(self, unit: DeviceUnit) -> int:
        number = self._units.get(unit.key)
        if number is None:
            number = self._units[unit.key] = len(self._units)
            serves = (wish is not None and bool(unit.serving(wish)) for wish in self._wishes)
            self._serves.append(np.fromiter(serves, bool, len(self._wishes)))
            self._remaining.append(unit.remaining)
        return number

    def _measure(self, numbers: tuple[int, ...]) -> tuple[int, Int64Array]:
        if not numbers:
            return 0, np.zeros(len(self.requests), np.int64)
        serves = np.array([self._serves[number] for number in numbers])
        remaining = np.array([self._remaining[number] for number in numbers], np.int64)
        enough = serves.sum(axis=0) >= self._needed
        return int(remaining.sum()), np.where(enough, remaining @ serves, 0)


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
