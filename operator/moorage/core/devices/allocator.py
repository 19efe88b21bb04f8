"""The search for devices: the first way to give every claim all that it wants.

Claims, requests and devices are gone through in order, and whatever leads nowhere is taken back: an
exhaustive search whose first answer counts. Each request is a generator of the ways to fulfil it,
so that the search is a stack of generators.
Source: Kubernetes dynamic-resource-allocation/structured, incubating allocator (v1.37). What is not
kept of it: docs/adr/0006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.devices.candidate_order import CandidateOrder
from moorage.core.devices.capacity import UnusableCapacity, added, consumed, fits, total
from moorage.core.devices.claim_requests import MAX_DEVICES_PER_CLAIM, DeviceQuery, queries_of
from moorage.core.devices.pools import (
    AllocationError,
    AlternativesFailed,
    CandidateDevice,
    CounterId,
    DeviceFault,
    DeviceId,
    PoolId,
    PoolState,
)
from moorage.core.devices.uses import AvailableDevices
from moorage.core.objects.meta import ResourceList, key
from moorage.core.objects.resource_claims import DeviceAttribute, DeviceConstraint, ResourceClaim
from moorage.core.pods.node_selection import untolerated_taints

UndoFn = Callable[[], None]


class DeviceAssignment(NamedTuple):
    """A device that is given to a request; ``consumes`` is what it takes of a device that is
    shared, None for one that is not.
    """

    query: DeviceQuery
    candidate: CandidateDevice
    consumes: ResourceList | None


class ClaimAssignment(NamedTuple):
    """What one claim gets: devices in the order of its requests, and the alternative chosen of each
    request.
    """

    devices: tuple[DeviceAssignment, ...]
    chosen: tuple[DeviceQuery, ...]


class AllocationTimeout(Exception):
    """The search was given up."""


_NO_MORE: Any = object()


class RequestSlot(NamedTuple):
    """A request in the order of the search: its claim, and its alternatives."""

    claim: int
    alternatives: tuple[DeviceQuery, ...]


PauseFn: TypeAlias = Callable[[], bool]
"""Whether the search is to be set down now."""


class Allocator:
    """A search that can be set down and gone on with, as long as the offer is the same.

    ``tries``: how many devices are looked at before AllocationTimeout is raised, 0 for as many as
    it takes. Raises AllocationError for a fault. One in an alternative excludes that alternative
    only, and is told (AlternativesFailed) where no other way is found. ``order``: in which order
    devices are tried for each request; as the pools have them without.
    """

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        offer: AvailableDevices,
        tries: int = 0,
        order: CandidateOrder | None = None,
    ) -> None:
        self.available = offer
        self._claim_queries = [queries_of(claim, offer) for claim in claims]
        self._slots = [
            RequestSlot(i, alternatives)
            for i, wishes in enumerate(self._claim_queries)
            for alternatives in wishes.requests
        ]
        self._attempt = _Attempt(
            claims, [wishes.constraints for wishes in self._claim_queries], offer, tries, order
        )
        self._stack: list[Iterator[DeviceQuery | None]] = []
        self._chosen: list[DeviceQuery] = []
        self.succeeded = False
        """Whether there is a way; known once ``run`` has given True."""

    def run(self, pause: PauseFn) -> bool:
        """Go on; whether it has come to its end, else it is set down."""
        while len(self._chosen) < len(self._slots):
            wish = next(self._ways(), _NO_MORE)
            if wish is None:
                if pause():
                    return False
                continue
            if wish is not _NO_MORE:
                self._chosen.append(wish)
                continue
            self._stack.pop()
            if not self._stack:
                self._check_faults()
                return True
            self._chosen.pop()
        self.succeeded = True
        return True

    def _ways(self) -> Iterator[DeviceQuery | None]:
        """To fulfil the request that comes next."""
        if len(self._stack) == len(self._chosen):
            self._stack.append(self._attempt.alternatives(self._slots[len(self._stack)]))
        return self._stack[-1]

    def _check_faults(self) -> None:
        """Raises AlternativesFailed where a fault has excluded an alternative."""
        faults = [fault for wishes in self._claim_queries for fault in wishes.faults]
        faults += self._attempt.faults
        if faults:
            first = faults[0]
            raise AlternativesFailed(
                first.anywhere if isinstance(first, DeviceFault) else str(first)
            )

    def assignments(self) -> tuple[ClaimAssignment, ...]:
        """What each claim gets, once a way was found."""
        by_claim: list[list[DeviceQuery]] = [[] for _ in self._claim_queries]
        for place, wish in zip(self._slots, self._chosen, strict=True):
            by_claim[place.claim].append(wish)
        return tuple(
            ClaimAssignment(tuple(given), tuple(mine))
            for given, mine in zip(self._attempt.assigned, by_claim, strict=True)
        )


class _Attempt:
    """What is given so far."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        constraints: Sequence[Sequence[DeviceConstraint]],
        offer: AvailableDevices,
        tries: int,
        order: CandidateOrder | None,
    ) -> None:
        self.assigned: list[list[DeviceAssignment]] = [[] for _ in claims]
        self.faults: list[AllocationError] = []
        """Of alternatives."""
        self._undos: list[UndoFn] = []
        """How to take back what is given, the last first."""
        self._claims = claims
        self._constraints = constraints
        self._available = offer
        self._tries = tries
        self._pools = {pool.id: pool for pool in offer.pools}
        self._candidates = [
            one for pool in offer.pools if pool.state is PoolState.USABLE for one in pool.devices
        ]
        self._order = order
        self._holders: dict[DeviceId, list[int]] = {}
        self._consumed: dict[DeviceId, dict[str, int]] = {}
        self._counters: dict[PoolId, dict[CounterId, int] | None] = {}

    def alternatives(self, place: RequestSlot) -> Iterator[DeviceQuery | None]:
        """Each way to fulfil a request; when the next one is asked for, the one before is taken
        back. None: none yet, and the search may be set down.
        """
        before = len(self._undos)
        for wish in place.alternatives:
            if len(self.assigned[place.claim]) + wish.count > MAX_DEVICES_PER_CLAIM:
                continue
            one_by_one = self._some if wish.all_devices is None else self._everything
            try:
                for fulfilled in one_by_one(place.claim, wish):
                    yield wish if fulfilled else None
            except AllocationError as fault:
                if wish.alternative is None:
                    raise
                self.faults.append(fault)
                self._undo_to(before)

    def _everything(self, claim: int, wish: DeviceQuery) -> Iterator[bool]:
        """All of the devices, if there is one and nobody has any of them."""
        before = len(self._undos)
        if wish.all_devices and all(
            self._assign(claim, wish, candidate) for candidate in wish.all_devices
        ):
            yield True
        self._undo_to(before)

    def _some(self, claim: int, wish: DeviceQuery) -> Iterator[bool]:
        """As many devices as are wanted. False: none yet."""
        candidates: Sequence[CandidateDevice] = self._candidates
        if self._order is not None:
            candidates = self._order.in_order(wish, candidates, self._available)
        yield from self._combinations(claim, wish, candidates)

    def _combinations(
        self,
        claim: int,
        wish: DeviceQuery,
        candidates: Sequence[CandidateDevice],
        taken: int = 0,
        first: int = 0,
    ) -> Iterator[bool]:
        """Every set of as many devices, in order; the same devices in another order are no other
        way. False: none yet. ``taken`` are given already; the others begin at ``first``.
        """
        if taken == wish.count:
            yield True
            return
        for i in range(first, len(candidates)):
            if self._assign(claim, wish, candidates[i]):
                yield from self._combinations(claim, wish, candidates, taken + 1, i + 1)
                self._undo_to(len(self._undos) - 1)
            else:
                yield False

    def _undo_to(self, kept: int) -> None:
        """All that was given after the first ``kept`` devices."""
        while len(self._undos) > kept:
            self._undos.pop()()

    # ---- one device ------------------------------------------------------------------------------

    def _assign(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Give a device to a request, if it can be given. Raises AllocationError."""
        self._count_try()
        if not self._is_available(claim, wish, candidate):
            return False
        id_, device, capacity = candidate.id, candidate.device, wish.request.capacity
        if not self._satisfies(claim, wish, candidate):
            if wish.all_devices is not None and wish.alternative is None:
                where = f"claim {key(self._claims[claim])}, request {wish.own_name}"
                what = f"{where}: cannot add device {id_}"
                raise AllocationError(f"{what} because a claim constraint would not be satisfied")
            return False
        used = added(self._consumed.get(id_, {}), self._available.uses.of(id_).consumed)
        try:
            if not fits(device, capacity, used):
                return False
        except UnusableCapacity as error:
            where = f"claim {key(self._claims[claim])}, request {wish.own_name}"
            raise DeviceFault(where, f": checking capacity for device {id_}", error) from error
        consumes = consumed(device, capacity) if device.allow_multiple_allocations else None
        self._record(claim, DeviceAssignment(wish, candidate, consumes))
        return True

    def _count_try(self) -> None:
        self._tries -= 1
        if self._tries == 0:
            raise AllocationTimeout

    def _is_available(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Whether the device is of the right kind, and its users, taints and counters allow for one
        more. Raises AllocationError.
        """
        shared = bool(candidate.device.allow_multiple_allocations)
        return (
            not self._in_use(claim, wish, candidate.id, shared)
            and (wish.all_devices is not None or wish.selects(candidate))
            and not any(untolerated_taints(candidate.device.taints or (), wish.tolerations))
            and self._has_counters(candidate, shared)
        )

    def _in_use(self, claim: int, wish: DeviceQuery, device: DeviceId, shared: bool) -> bool:
        """Who only looks on shares a device with anybody but its own claim; shares go with other
        shares.
        """
        holders = self._holders.get(device, ())
        if wish.admin:
            return claim in holders
        return bool(holders) or (
            self._available.uses.of(device).whole > 0 if shared else device in self._available.uses
        )

    def _has_counters(self, candidate: CandidateDevice, shared: bool) -> bool:
        """Whether the pool's counters allow for one more device; one that is in use already, and
        shared, is paid for.
        """
        if not candidate.counters or (
            shared and (candidate.id in self._available.uses or candidate.id in self._consumed)
        ):
            return True
        pool = _pool_of(candidate)
        if pool not in self._counters:
            self._counters[pool] = self._available.uses.remaining_counters(self._pools[pool])
        left = self._counters[pool]
        return left is not None and all(
            amount >= candidate.counters.get(counted, 0) for counted, amount in left.items()
        )

    def _satisfies(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Whether the claim's constraints allow for the device beside those that it got so far."""
        for constraint in self._constraints[claim]:
            if not wish.named_in(constraint.requests):
                continue
            name = constraint.match_attribute or constraint.distinct_attribute or ""
            value = attribute_of(candidate, name)
            if value is None:
                return False
            others = [
                attribute_of(one.candidate, name)
                for one in self.assigned[claim]
                if one.query.named_in(constraint.requests)
            ]
            if constraint.match_attribute is None:
                if value in others:
                    return False
            elif others and others[0] != value:
                return False
        return True

    def _record(self, claim: int, given: DeviceAssignment) -> None:
        """Write down that a device is given, and how to take it back."""
        id_, takes = given.candidate.id, given.candidate.counters
        mine = self.assigned[claim]
        mine.append(given)
        before = self._consumed.get(id_)
        first = given.consumes is None or (before is None and id_ not in self._available.uses)
        pays = takes if first else {}
        left = self._counters.get(_pool_of(given.candidate)) or {}
        if given.consumes is None:
            self._holders.setdefault(id_, []).append(claim)
        else:
            self._consumed[id_] = total(given.consumes, before or {})
        _subtract(left, pays)

        def undo() -> None:
            mine.pop()
            if given.consumes is None:
                self._holders[id_].pop()
            elif before is None:
                del self._consumed[id_]
            else:
                self._consumed[id_] = before
            _subtract(left, pays, -1)

        self._undos.append(undo)


def _pool_of(candidate: CandidateDevice) -> PoolId:
    return PoolId(candidate.id.driver, candidate.id.pool)


def _subtract(left: dict[CounterId, int], amounts: Mapping[CounterId, int], sign: int = 1) -> None:
    for counted, amount in amounts.items():
        left[counted] = left.get(counted, 0) - sign * amount


def attribute_of(candidate: CandidateDevice, name: str) -> DeviceAttribute | None:
    """A device's attribute by its full name; its driver may leave out its own domain."""
    attributes = candidate.device.attributes or {}
    found = attributes.get(name)
    domain, slash, own = name.partition("/")
    return (
        attributes.get(own) if found is None and slash and domain == candidate.id.driver else found
    )
