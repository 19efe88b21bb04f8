"""Demand: which requests for devices are to be expected, told by arguments or learnt.

It is learnt from the pods that are on nodes now, each counted once for each of its requests. So it
follows from the state of the cluster alone, after a restart too; what ends is forgotten at once.
Counts are rounded down to powers of two, so that it seldom changes: all nodes are scored anew then.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from kubefacts.quantities import QuantityError, nanos
from moorage.core.columns.change_log import Aspect, ChangeReader
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister, Store
from moorage.core.devices.device_demand import delegable
from moorage.core.devices.extended_resources import classes_by_resource, requests_for
from moorage.core.devices.pod_claims import ClaimError, claims_of
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    CapacityRequirements,
    DeviceClass,
    DeviceRequest,
    DeviceSubRequest,
    ResourceClaim,
)
from moorage.core.plugins.device_scoring.arguments import MAX_KINDS, DeviceScoringArgs
from moorage.core.pods.requests import in_units, pod_requests
from moorage.core.structures.remembering import WORD_BYTES, memoized

_FOLLOWED = frozenset({Aspect.RESOURCES, Aspect.DEVICES})


class RequestKind(NamedTuple):
    """Requests that are alike: the pod's cpu (millicores) and memory (bytes), and what is asked of
    devices, as JSON.
    """

    cpu: int
    memory: int
    request: bytes


@dataclasses.dataclass(frozen=True, eq=False)
class Demand:
    """Kinds of requests with their weights, the heaviest ``MAX_KINDS``.

    ``cpu``, ``memory``, ``weights``: int64[kinds]; ``requests``: the distinct requests for devices;
    ``request_of``: intp[kinds], which of these.
    """

    cpu: npt.NDArray[np.int64]
    memory: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    requests: tuple[bytes, ...]
    request_of: npt.NDArray[np.intp]

    @property
    def by_request(self) -> npt.NDArray[np.int64]:
        """int64[requests]: their weights, whatever the pods' cpu and memory."""
        sums = np.zeros(len(self.requests), np.int64)
        np.add.at(sums, self.request_of, self.weights)
        return sums


def demand_of_counts(counts: Counter[RequestKind]) -> Demand:
    """Demand with these weights."""
    kinds = sorted(counts, key=lambda kind: (-counts[kind], kind))[:MAX_KINDS]
    requests = tuple(sorted({kind.request for kind in kinds}))
    places = {request: place for place, request in enumerate(requests)}
    return Demand(
        np.array([kind.cpu for kind in kinds], np.int64),
        np.array([kind.memory for kind in kinds], np.int64),
        np.array([counts[kind] for kind in kinds], np.int64),
        requests,
        np.array([places[kind.request] for kind in kinds], np.intp),
    )


def _size(_demand: Demand, args: DeviceScoringArgs) -> int:
    return WORD_BYTES * (8 * len(args.demand) + 1)


@memoized(_size)
def told_demand(args: DeviceScoringArgs) -> Demand:
    """Demand as arguments say it."""
    counts = Counter[RequestKind]()
    for one in args.demand:
        capacity: dict[str, str | int] = {each.name: each.amount for each in one.capacity}
        request = DeviceSubRequest(
            device_class_name=one.device_class_name,
            allocation_mode="ExactCount",
            count=one.count,
            capacity=CapacityRequirements(capacity) if capacity else None,
        )
        cpu, memory = in_units("cpu", nanos(one.cpu)), in_units("memory", nanos(one.memory))
        counts[RequestKind(cpu, memory, _content(request))] += one.weight
    return demand_of_counts(counts)


class LearntDemand:
    """Counts the requests of pods on nodes, row by row; ``version`` moves when the rounded counts
    do. One per store.
    """

    def __init__(self, _store: Store) -> None:
        self.version = 0
        self._reader: ChangeReader | None = None
        self._of_row: dict[int, Counter[RequestKind]] = {}
        self._counts = Counter[RequestKind]()
        self._demand: tuple[int, Demand] = 0, demand_of_counts(self._counts)

    def catch_up(self, snapshot: Snapshot) -> None:
        """Count again on the rows that changed."""
        nodes = snapshot.nodes
        if self._reader is None:
            self._reader = nodes.reader(_FOLLOWED)
        changed = self._reader.catch_up(nodes.rows)
        gone = [row for row in self._of_row if row >= nodes.rows] if changed is None else []
        rows = range(nodes.rows) if changed is None else changed.tolist()
        for row in (*rows, *gone):
            self._recount(row, snapshot)

    def demand(self) -> Demand:
        """What was counted."""
        version, demand = self._demand
        if version != self.version:
            rounded = {kind: _rounded(count) for kind, count in self._counts.items()}
            demand = demand_of_counts(Counter(rounded))
            self._demand = self.version, demand
        return demand

    def _recount(self, row: int, snapshot: Snapshot) -> None:
        now = Counter[RequestKind]()
        if row < snapshot.nodes.rows and snapshot.nodes.live[row]:
            for record in snapshot.pods_on(snapshot.nodes.names[row]):
                if isinstance(record.pod, Pod):
                    now.update(kinds_of(record.pod, snapshot.store))
        before = self._of_row.pop(row, Counter[RequestKind]())
        if now:
            self._of_row[row] = now
        for kind in dict.fromkeys((*before, *now)):
            count = self._counts.pop(kind, 0)
            then = count + now[kind] - before[kind]
            if then:
                self._counts[kind] = then
            self.version += _rounded(then) != _rounded(count)


def _rounded(count: int) -> int:
    """The largest power of two that is not more."""
    return 1 << count.bit_length() >> 1


class LearntDemandVersion:
    """The version of what is learnt, caught up with whenever it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._learnt = snapshot.store.index(LearntDemand)

    @property
    def version(self) -> int:
        """Moves when pods with devices come or go."""
        self._learnt.catch_up(self._snapshot)
        return self._learnt.version


def kinds_of(pod: Pod, store: Lister) -> list[RequestKind]:
    """A pod's requests for devices; none where its claims can't be read now."""
    try:
        claims = claims_of(pod, store.objects(ResourceClaim)) if pod.spec.resource_claims else ()
        resources = tuple(delegable(pod))
        classes = classes_by_resource(store.objects(DeviceClass).values()) if resources else {}
        named = [resource for resource in resources if resource in classes]
        asked = [one for claim in claims for one in claim.spec.devices.requests or ()]
        asked += requests_for(pod, named, classes).requests
        taken = pod_requests(pod)
    except (ClaimError, QuantityError):
        return []
    return [RequestKind(taken.cpu, taken.memory, _content(one)) for one in _counted(asked)]


def _counted(asked: Iterable[DeviceRequest]) -> Iterator[DeviceSubRequest]:
    """What has a number; of alternatives the first."""
    for one in asked:
        request = one.first_available[0] if one.first_available else one.exactly
        if request is not None and request.allocation_mode == "ExactCount":
            yield request


def _content(request: DeviceSubRequest) -> bytes:
    """All of a request but its name."""
    return msgspec.json.encode(
        DeviceSubRequest(
            device_class_name=request.device_class_name,
            selectors=request.selectors,
            allocation_mode=request.allocation_mode,
            count=request.count,
            tolerations=request.tolerations,
            capacity=request.capacity,
        )
    )
