"""The search for devices: the first way to give every claim all that it wants.

Claims, requests and devices are gone through in order, and whatever leads nowhere is taken back: an
exhaustive search whose first answer counts. Each request is a generator of the ways to fulfil it,
so that the search is a stack of generators, and may be set down after each device.
Source: Kubernetes dynamic-resource-allocation/structured, incubating allocator (v1.37). What is not
kept of it: docs/adr/0006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.devices.candidate_order import CandidateOrder
from moorage.core.devices.capacity import UnusableCapacity, added, consumed, fits, total
from moorage.core.devices.claim_requests import (
    MAX_DEVICES_PER_CLAIM,
    ClaimQueries,
    DeviceQuery,
    Steps,
    queries_of,
)
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


class _Given(NamedTuple):
    """What a device was given to, and how to take it back: the claim, the device, what was consumed
    of it before, and what it pays of which counters.
    """

    claim: int
    assignment: DeviceAssignment
    before: dict[str, int] | None
    left: dict[CounterId, int]
    pays: Mapping[CounterId, int]


_NO_MORE: Any = object()


class RequestSlot(NamedTuple):
    """A request in the order of the search: its claim, and its alternatives."""

    claim: int
    alternatives: tuple[DeviceQuery, ...]


PauseFn: TypeAlias = Callable[[], bool]
"""Whether the search is to be set down now."""


class Allocator:
    """A search that can be set down and gone on with, as long as the offer is the same. Raises
    AllocationError for a fault.

    A fault in an alternative excludes that alternative only, and is told (AlternativesFailed) where
    no other way is found. ``order``: in which order devices are tried for each request; as the
    pools have them without.
    """

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        offer: AvailableDevices,
        order: CandidateOrder | None = None,
    ) -> None:
        self.available = offer
        self.assignments: tuple[ClaimAssignment, ...] | None = None
        """What each claim gets; None where there is no way, or none yet."""
        self.seconds = 0.0
        """What it took so far, kept here by whoever has a clock."""
        self._order = order
        self._steps = self._search(claims)

    def run(self, pause: PauseFn) -> bool:
        """Go on; whether it has come to its end, else it is set down. ``pause`` is asked after each
        device or expression that was looked at.
        """
        return not any(pause() for _ in self._steps)

    def _search(self, claims: Sequence[ResourceClaim]) -> Steps[None]:
        asked: dict[int, ClaimQueries] = {}
        for i, claim in enumerate(claims):
            asked[i] = yield from queries_of(claim, self.available)
        slots = [
            RequestSlot(i, alternatives)
            for i, wishes in asked.items()
            for alternatives in wishes.requests
        ]
        constraints = [wishes.constraints for wishes in asked.values()]
        attempt = _Attempt(claims, constraints, self.available, self._order)
        chosen = yield from attempt.fulfil(slots)
        if chosen is None:
            _check_faults(
                [fault for wishes in asked.values() for fault in wishes.faults] + attempt.faults
            )
            return
        by_claim: list[list[DeviceQuery]] = [[] for _ in claims]
        for slot, wish in zip(slots, chosen, strict=True):
            by_claim[slot.claim].append(wish)
        self.assignments = tuple(
            ClaimAssignment(tuple(given), tuple(mine))
            for given, mine in zip(attempt.assigned, by_claim, strict=True)
        )


def _check_faults(faults: Sequence[AllocationError]) -> None:
    """Raises AlternativesFailed where a fault has excluded an alternative."""
    if faults:
        first = faults[0]
        raise AlternativesFailed(first.anywhere if isinstance(first, DeviceFault) else str(first))


class _Attempt:
    """What is given so far."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        constraints: Sequence[Sequence[DeviceConstraint]],
        offer: AvailableDevices,
        order: CandidateOrder | None,
    ) -> None:
        self.assigned: list[list[DeviceAssignment]] = [[] for _ in claims]
        self.faults: list[AllocationError] = []
        """Of alternatives."""
        self._given: list[_Given] = []
        """In this order. Plain values: who takes it back by closures is a reference cycle for each
        node.
        """
        self._claims = claims
        self._constraints = constraints
        self._available = offer
        self._pools = {pool.id: pool for pool in offer.pools}
        self._candidates = [
            one for pool in offer.pools if pool.state is PoolState.USABLE for one in pool.devices
        ]
        self._order = order
        self._holders: dict[DeviceId, list[int]] = {}
        self._consumed: dict[DeviceId, dict[str, int]] = {}
        self._counters: dict[PoolId, dict[CounterId, int] | None] = {}

    def fulfil(self, slots: Sequence[RequestSlot]) -> Steps[list[DeviceQuery] | None]:
        """The alternatives by which all requests are fulfilled; None where there is no way."""
        stack: list[Iterator[DeviceQuery | None]] = []
        chosen: list[DeviceQuery] = []
        while len(chosen) < len(slots):
            if len(stack) == len(chosen):
                stack.append(self._alternatives(slots[len(stack)]))
            wish = next(stack[-1], _NO_MORE)
            if wish is None:
                yield
            elif wish is not _NO_MORE:
                chosen.append(wish)
                yield
            else:
                stack.pop()
                if not stack:
                    return None
                chosen.pop()
        return chosen

    def _alternatives(self, place: RequestSlot) -> Iterator[DeviceQuery | None]:
        """Each way to fulfil a request; when the next one is asked for, the one before is taken
        back. None: none yet, and the search may be set down.
        """
        before = len(self._given)
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
        before = len(self._given)
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
            candidate = candidates[i]
            if not wish.is_judged(candidate) and not self._in_use(claim, wish, candidate):
                for _ in wish.ask(candidate):
                    yield False
            if self._assign(claim, wish, candidate):
                yield False
                yield from self._combinations(claim, wish, candidates, taken + 1, i + 1)
                self._undo_to(len(self._given) - 1)
            else:
                yield False

    def _undo_to(self, kept: int) -> None:
        """All that was given after the first ``kept`` devices."""
        while len(self._given) > kept:
            self._take_back(self._given.pop())

    # ---- one device ------------------------------------------------------------------------------

    def _assign(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Give a device to a request, if it can be given. Raises AllocationError."""
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

    def _is_available(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Whether the device is of the right kind, and its users, taints and counters allow for one
        more. Raises AllocationError.
        """
        return (
            not self._in_use(claim, wish, candidate)
            and (wish.all_devices is not None or wish.selects(candidate))
            and not any(untolerated_taints(candidate.device.taints or (), wish.tolerations))
            and self._has_counters(candidate)
        )

    def _in_use(self, claim: int, wish: DeviceQuery, candidate: CandidateDevice) -> bool:
        """Who only looks on shares a device with anybody but its own claim; shares go with other
        shares.
        """
        device, shared = candidate.id, candidate.device.allow_multiple_allocations
        holders = self._holders.get(device, ())
        if wish.admin:
            return claim in holders
        return bool(holders) or (
            self._available.uses.of(device).whole > 0 if shared else device in self._available.uses
        )

    def _has_counters(self, candidate: CandidateDevice) -> bool:
        """Whether the pool's counters allow for one more device; one that is in use already, and
        shared, is paid for.
        """
        shared = candidate.device.allow_multiple_allocations
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
        self.assigned[claim].append(given)
        before = self._consumed.get(id_)
        first = given.consumes is None or (before is None and id_ not in self._available.uses)
        pays = takes if first else {}
        left = self._counters.get(_pool_of(given.candidate)) or {}
        if given.consumes is None:
            self._holders.setdefault(id_, []).append(claim)
        else:
            self._consumed[id_] = total(given.consumes, before or {})
        _subtract(left, pays)
        self._given.append(_Given(claim, given, before, left, pays))

    def _take_back(self, last: _Given) -> None:
        id_ = last.assignment.candidate.id
        self.assigned[last.claim].pop()
        if last.assignment.consumes is None:
            self._holders[id_].pop()
        elif last.before is None:
            del self._consumed[id_]
        else:
            self._consumed[id_] = last.before
        _subtract(last.left, last.pays, -1)


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
