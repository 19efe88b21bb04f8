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

import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

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
from moorage.core.structures.growing import Scalar, grown

Int64Array = npt.NDArray[np.int64]
_ENDLESS = 2.0**40
"""So many requests are served where they take nothing of what is left."""


class WasteTable:
    """What nodes' units are to requests, by stock: a stock is the number of what a node's units
    offer, in whatever order. Requests, units and stocks are numbered as they come, and each new one
    is measured by all others.

    ``total[stock]``: what is left of all units. ``useful[request, stock]``: of those that could
    serve the request, 0 where these are too few. ``taken[request, stock]``: what one such request
    takes of these, at most. All int64, in thousandths of a unit, and with room beyond what is
    known.
    """

    def __init__(self, classes: Mapping[str, DeviceClass]) -> None:
        self._classes = classes
        self._rows: dict[bytes, int] = {}
        self._wishes: list[DeviceQuery | None] = []
        """By request."""
        self._needed: Int64Array = np.zeros(0, np.int64)
        """How many devices each request wants."""
        self._numbers: dict[Hashable, int] = {}
        """Of units, from 1. 0 is no unit; every stock has one, so that none is empty."""
        self._units: list[DeviceUnit] = []
        self._remaining: Int64Array = np.zeros(1, np.int64)
        self._serves: npt.NDArray[np.bool_] = np.zeros((0, 1), bool)
        """By request and unit."""
        self._takes: Int64Array = np.zeros((0, 1), np.int64)
        """By request and unit, for one device."""
        self._stocks: dict[tuple[int, ...], int] = {}
        self.total: Int64Array = np.zeros(0, np.int64)
        self.useful: Int64Array = np.zeros((0, 0), np.int64)
        self.taken: Int64Array = np.zeros((0, 0), np.int64)

    def __len__(self) -> int:
        """How many stocks and units are known."""
        return len(self._stocks) + len(self._units)

    @property
    def requests(self) -> Collection[bytes]:
        """The requests that are known, by number."""
        return self._rows.keys()

    def clear(self) -> None:
        """Forget all numbers of units and stocks."""
        self._numbers.clear()
        self._units.clear()
        self._stocks.clear()

    def rows(self, requests: Sequence[bytes]) -> npt.NDArray[np.intp]:
        """intp[n]: the numbers of these requests."""
        for request in requests:
            if request not in self._rows:
                self._add(request)
        return np.array([self._rows[request] for request in requests], np.intp)

    def number(self, unit: DeviceUnit) -> int:
        """The number of a unit."""
        number = self._numbers.get(unit.key)
        if number is None:
            self._units.append(unit)
            number = self._numbers[unit.key] = len(self._units)
            self._make_room()
            self._remaining[number] = unit.remaining
            for row in range(len(self._wishes)):
                self._ask(row, number)
        return number

    def stock(self, units: Iterable[DeviceUnit]) -> int:
        """The number of what these units offer."""
        numbers = (0, *sorted(map(self.number, units)))
        stock = self._stocks.get(numbers)
        if stock is None:
            stock = self._stocks[numbers] = len(self._stocks)
            self._make_room()
            self.total[stock] = self._remaining[list(numbers)].sum()
            self._measure(slice(len(self._wishes)), [numbers], stock)
        return stock

    def wasted(self, units: npt.NDArray[np.intp], weights: Int64Array) -> Int64Array:
        """int64[n]: what is left of units times the weights of the requests that each could not
        serve. ``weights``: int64[requests]; those that came later have none.
        """
        wasted: Int64Array = weights @ ~self._serves[: weights.size, units]
        return self._remaining[units] * wasted

    def left(self, units: npt.NDArray[np.intp]) -> Int64Array:
        """int64[n]: what is left of units."""
        return self._remaining[units]

    def expected(
        self, stocks: npt.NDArray[np.intp], demand: Demand, cpu: Int64Array, memory: Int64Array
    ) -> Int64Array:
        """int64[n]: expected waste of nodes with these stocks and so much cpu and memory left
        (int64[n]), times the sum of the demand's weights.
        """
        waste: Int64Array = self.total[stocks] * demand.weights.sum()
        times = np.minimum(_times(cpu, demand.cpu), _times(memory, demand.memory))
        for kind, row in enumerate(self.rows(demand.requests)[demand.request_of].tolist()):
            once = np.where(times[kind] >= 1, self.useful[row, stocks], 0)
            ever = np.minimum(once, self.taken[row, stocks] * times[kind]).astype(np.int64)
            waste -= demand.weights[kind] * ((once + ever) // 2)
        return waste

    # ---- inside ----------------------------------------------------------------------------------

    def _add(self, request: bytes) -> None:
        row = self._rows[request] = len(self._wishes)
        wish = _wish(request, self._classes)
        self._wishes.append(wish)
        self._make_room()
        self._needed[row] = 0 if wish is None else wish.count
        for number in range(1, len(self._units) + 1):
            self._ask(row, number)
        if self._stocks:
            self._measure(slice(row, row + 1), [*self._stocks], 0)

    def _make_room(self) -> None:
        requests, units, stocks = len(self._wishes), len(self._units) + 1, len(self._stocks)
        self._needed = grown(self._needed, requests)
        self._remaining, self.total = grown(self._remaining, units), grown(self.total, stocks)
        self._serves = _grown(self._serves, requests, units)
        self._takes = _grown(self._takes, requests, units)
        self.useful = _grown(self.useful, requests, stocks)
        self.taken = _grown(self.taken, requests, stocks)

    def _ask(self, row: int, number: int) -> None:
        """What a unit is to a request."""
        takes = _taken(self._units[number - 1], self._wishes[row])
        self._serves[row, number] = takes is not None
        self._takes[row, number] = takes or 0

    def _measure(self, rows: slice, stocks: Sequence[tuple[int, ...]], first: int) -> None:
        """What stocks (their units; ``first``: the number of the first one) are to requests."""
        units = np.fromiter(itertools.chain.from_iterable(stocks), np.intp)
        starts = np.cumsum([0, *map(len, stocks[:-1])])
        serves, needed = self._serves[rows, units], self._needed[rows, None]
        enough = np.add.reduceat(serves, starts, axis=1, dtype=np.int64) >= needed
        useful = np.add.reduceat(self._remaining[units] * serves, starts, axis=1)
        of_each = np.maximum.reduceat(self._takes[rows, units], starts, axis=1)
        places = slice(first, first + len(stocks))
        self.useful[rows, places] = np.where(enough, useful, 0)
        self.taken[rows, places] = of_each * needed


def _grown(array: npt.NDArray[Scalar], rows: int, columns: int) -> npt.NDArray[Scalar]:
    """The array if it has room for so many; else a larger copy."""
    return grown(grown(array, columns).T, rows).T


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
