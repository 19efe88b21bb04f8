"""The search for devices: the first way to give every claim all that it wants.

Claims, requests and devices are gone through in order, and whatever leads nowhere is taken back: an exhaustive search whose first
answer counts. Each request is a generator of the ways to fulfil it, so that the search is a stack of generators.
Source: Kubernetes dynamic-resource-allocation/structured, incubating allocator (v1.36). What is not kept of it: docs/adr/0006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.devices.capacity import added, consumed, fits, total
from moorage.core.devices.claim_requests import MOST_DEVICES, Wish, wishes_of
from moorage.core.devices.pools import AllocationError, AlternativesFailed, Candidate, Counted, DeviceId, PoolId, State
from moorage.core.devices.uses import Offer
from moorage.core.objects.meta import ResourceList, key
from moorage.core.objects.resource_claims import DeviceAttribute, DeviceConstraint, ResourceClaim
from moorage.core.pods.node_selection import untolerated

Undo = Callable[[], None]


class Given(NamedTuple):
    """A device that is given to a request; ``consumes`` is what it takes of a device that is shared, None for one that is not."""

    wish: Wish
    candidate: Candidate
    consumes: ResourceList | None


class Answer(NamedTuple):
    """What one claim gets: devices in the order of its requests, and the alternative chosen of each request."""

    given: tuple[Given, ...]
    chosen: tuple[Wish, ...]


class TriedTooLong(Exception):
    """The search was given up."""


_NO_MORE: Any = object()


def _never() -> bool:
    return False


class Place(NamedTuple):
    """A request in the order of the search: its claim, and its alternatives."""

    claim: int
    alternatives: tuple[Wish, ...]


Pause: TypeAlias = Callable[[], bool]
"""Whether the search is to be set down now."""


class Search:
    """A search that can be set down and gone on with, as long as the offer is the same.

    ``tries``: how many devices are looked at before TriedTooLong is raised, 0 for as many as it takes. Raises AllocationError for a fault.
    One in an alternative excludes that alternative only, and is told (AlternativesFailed) where no other way is found.
    """

    def __init__(self, claims: Sequence[ResourceClaim], offer: Offer, tries: int = 0) -> None:
        self.offer = offer
        self._wanted = [wishes_of(claim, offer) for claim in claims]
        self._places = [Place(i, alternatives) for i, wishes in enumerate(self._wanted) for alternatives in wishes.requests]
        self._attempt = _Attempt(claims, [wishes.constraints for wishes in self._wanted], offer, tries)
        self._stack: list[Iterator[Wish | None]] = []
        self._chosen: list[Wish] = []
        self.found = False
        """Whether there is a way; known once ``run`` has given True."""

    def run(self, pause: Pause) -> bool:
        """Go on; whether it has come to its end, else it is set down."""
        self._attempt.pause = pause
        while len(self._chosen) < len(self._places):
            if len(self._stack) == len(self._chosen):
                self._stack.append(self._attempt.ways(self._places[len(self._stack)]))
            wish = next(self._stack[-1], _NO_MORE)
            if wish is None:
                return False
            if wish is not _NO_MORE:
                self._chosen.append(wish)
                continue
            self._stack.pop()
            if not self._stack:
                if faults := [*(fault for wishes in self._wanted for fault in wishes.faults), *self._attempt.faults]:
                    raise AlternativesFailed(str(faults[0]))
                return True
            self._chosen.pop()
        self.found = True
        return True

    def answers(self) -> tuple[Answer, ...]:
        """What each claim gets, once a way was found."""
        by_claim: list[list[Wish]] = [[] for _ in self._wanted]
        for place, wish in zip(self._places, self._chosen, strict=True):
            by_claim[place.claim].append(wish)
        return tuple(Answer(tuple(given), tuple(mine)) for given, mine in zip(self._attempt.given, by_claim, strict=True))


class _Attempt:
    """What is given so far."""

    def __init__(
        self, claims: Sequence[ResourceClaim], constraints: Sequence[Sequence[DeviceConstraint]], offer: Offer, tries: int
    ) -> None:
        self.given: list[list[Given]] = [[] for _ in claims]
        self.faults: list[AllocationError] = []
        """Of alternatives."""
        self._undos: list[Undo] = []
        """How to take back what is given, the last first."""
        self._claims = claims
        self._constraints = constraints
        self._offer = offer
        self._tries = tries
        self.pause: Pause = _never
        self._pools = {pool.id: pool for pool in offer.pools}
        self._candidates = [one for pool in offer.pools if pool.state is State.USABLE for one in pool.devices]
        self._holders: dict[DeviceId, list[int]] = {}
        self._consumed: dict[DeviceId, dict[str, int]] = {}
        self._counters: dict[PoolId, dict[Counted, int] | None] = {}

    def ways(self, place: Place) -> Iterator[Wish | None]:
        """Each way to fulfil a request; when the next one is asked for, the one before is taken back. None: to be set down."""
        before = len(self._undos)
        for wish in place.alternatives:
            if len(self.given[place.claim]) + wish.count > MOST_DEVICES:
                continue
            one_by_one = self._combinations if wish.all_of is None else self._everything
            try:
                for fulfilled in one_by_one(place.claim, wish):
                    yield wish if fulfilled else None
            except AllocationError as fault:
                if wish.alternative is None:
                    raise
                self.faults.append(fault)
                self._take_back(before)

    def _everything(self, claim: int, wish: Wish) -> Iterator[bool]:
        """All of the devices, if there is one and nobody has any of them."""
        before = len(self._undos)
        if wish.all_of and all(self._give(claim, wish, candidate) for candidate in wish.all_of):
            yield True
        self._take_back(before)

    def _combinations(self, claim: int, wish: Wish) -> Iterator[bool]:
        """Every set of as many devices, in order; the same devices in another order are no other way. False: to be set down."""
        taken: list[int] = []
        at = 0
        while True:
            if len(taken) == wish.count:
                yield True
            else:
                for i in range(at, len(self._candidates)):
                    if self._give(claim, wish, self._candidates[i]):
                        taken.append(i)
                        break
                    if self.pause():
                        yield False
                else:
                    i = -1
                if i >= 0:
                    at = i + 1
                    continue
            if not taken:
                return
            self._take_back(len(self._undos) - 1)
            at = taken.pop() + 1

    def _take_back(self, kept: int) -> None:
        """All that was given after the first ``kept`` devices."""
        while len(self._undos) > kept:
            self._undos.pop()()

    # ---- one device --------------------------------------------------------------------------------------------------------

    def _give(self, claim: int, wish: Wish, candidate: Candidate) -> bool:
        """Give a device to a request, if it can be given. Raises AllocationError."""
        self._tries -= 1
        if self._tries == 0:
            raise TriedTooLong
        id_, device = candidate.id, candidate.device
        shared = bool(device.allow_multiple_allocations)
        if self._in_use(claim, wish, id_, shared) or (wish.all_of is None and not wish.selects(candidate)):
            return False
        if any(untolerated(device.taints or (), wish.tolerations)) or not self._has_counters(candidate, shared):
            return False
        if not self._satisfies(claim, wish, candidate):
            if wish.all_of is not None and wish.alternative is None:
                where = f"claim {key(self._claims[claim])}, request {wish.own_name}"
                raise AllocationError(f"{where}: cannot add device {id_} because a claim constraint would not be satisfied")
            return False
        used = added(self._consumed.get(id_, {}), self._offer.uses.of(id_).consumed)
        if not fits(device, wish.asked.capacity, used):
            return False
        self._note(claim, Given(wish, candidate, consumed(device, wish.asked.capacity) if shared else None))
        return True

    def _in_use(self, claim: int, wish: Wish, device: DeviceId, shared: bool) -> bool:
        """Who only looks on shares a device with anybody but its own claim; shares go with other shares."""
        holders = self._holders.get(device, ())
        if wish.admin:
            return claim in holders
        return bool(holders) or (self._offer.uses.of(device).whole > 0 if shared else device in self._offer.uses)

    def _has_counters(self, candidate: Candidate, shared: bool) -> bool:
        """Whether the pool's counters allow for one more device; one that is in use already, and shared, is paid for."""
        if not candidate.takes or (shared and (candidate.id in self._offer.uses or candidate.id in self._consumed)):
            return True
        pool = _pool_of(candidate)
        if pool not in self._counters:
            self._counters[pool] = self._offer.uses.left(self._pools[pool])
        left = self._counters[pool]
        return left is not None and all(amount >= candidate.takes.get(counted, 0) for counted, amount in left.items())

    def _satisfies(self, claim: int, wish: Wish, candidate: Candidate) -> bool:
        """Whether the claim's constraints allow for the device beside those that it got so far."""
        for constraint in self._constraints[claim]:
            if not wish.named_in(constraint.requests):
                continue
            name = constraint.match_attribute or constraint.distinct_attribute or ""
            value = attribute_of(candidate, name)
            if value is None:
                return False
            others = [attribute_of(one.candidate, name) for one in self.given[claim] if one.wish.named_in(constraint.requests)]
            if constraint.match_attribute is not None:
                if others and others[0] != value:
                    return False
            elif value in others:
                return False
        return True

    def _note(self, claim: int, given: Given) -> None:
        """Write down that a device is given, and how to take it back."""
        id_, takes = given.candidate.id, given.candidate.takes
        mine = self.given[claim]
        mine.append(given)
        before = self._consumed.get(id_)
        first = given.consumes is None or (before is None and id_ not in self._offer.uses)
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


def _pool_of(candidate: Candidate) -> PoolId:
    return PoolId(candidate.id.driver, candidate.id.pool)


def _subtract(left: dict[Counted, int], amounts: Mapping[Counted, int], sign: int = 1) -> None:
    for counted, amount in amounts.items():
        left[counted] = left.get(counted, 0) - sign * amount


def attribute_of(candidate: Candidate, name: str) -> DeviceAttribute | None:
    """A device's attribute by its full name; its driver may leave out its own domain."""
    attributes = candidate.device.attributes or {}
    found = attributes.get(name)
    domain, slash, own = name.partition("/")
    return attributes.get(own) if found is None and slash and domain == candidate.id.driver else found
