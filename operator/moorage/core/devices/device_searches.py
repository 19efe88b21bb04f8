"""Searches for devices: what came of them, and those that were set down or given up.

A search goes by what claims want and by what a node offers, names aside; so what came of it is the
answer for all pods that want the same, on all nodes of the same shape. It is set down where a slice
is over and gone on with in a later one, if all that it looks at is as it was.

``filterTimeout`` is a time, so that a search was given up does not follow from the state. It is an
entry of the journal (``DeviceSearchGivenUp``), and holds for all offers that are alike until a
class changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from moorage.core.columns.changes import DeviceSearchGivenUp, Journal
from moorage.core.devices.allocator import Allocator, ClaimAssignment, DeviceAssignment
from moorage.core.devices.candidate_order import CandidateOrder
from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.device_supply import DeviceSupply
from moorage.core.devices.pools import CandidateDevice, PoolState
from moorage.core.devices.shapes import offer_digest
from moorage.core.devices.uses import AvailableDevices
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.nodes import Node
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.core.structures.budget import Budget, OutOfTime

_MAX_PAUSED = 64
"""Searches that are kept while others have their turn."""
_MAX_ANSWERS = 50_000
"""Answers that are kept, for all that is sought together."""
_MAX_GIVEN_UP = 1024
_MAX_STEP_SECONDS = 0.05
"""What one device may count for: whatever takes longer was the machine's doing."""


class AllocationTimeout(Exception):
    """The search took longer than it may, and is given up."""


class SoughtDevices(NamedTuple):
    """Claims that devices are searched for. ``what`` is the same for all that want the same;
    ``seconds``: how long the search on one node may take, 0 for as long as it takes. ``order``: in
    which order devices are tried.
    """

    what: str
    claims: Sequence[ResourceClaim]
    seconds: float
    order: CandidateOrder | None = None

    @property
    def known_as(self) -> str:
        """What a search is written down as that was given up."""
        return self.what if self.order is None else f"{self.what} in order"


class _GivenDevices(NamedTuple):
    """As a ``ClaimAssignment``, by the devices' places among all of a node's. In columns: answers
    are many, and each object in them costs the garbage collector time.
    """

    queries: tuple[DeviceQuery, ...]
    places: tuple[int, ...]
    consumes: tuple[ResourceList | None, ...]
    chosen: tuple[DeviceQuery, ...]


_Answer: TypeAlias = tuple[_GivenDevices, ...] | None
"""What each claim gets; None where there is no way."""


_Where: TypeAlias = tuple[str, CandidateOrder | None, str]
"""What is sought, in which order, and the node."""


class DeviceSearches:
    """Finds devices, in slices."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._answers: OrderedDict[str, dict[int, _Answer]] = OrderedDict()
        self._paused: OrderedDict[_Where, tuple[int, Allocator]] = OrderedDict()
        self._given_up: dict[DeviceSearchGivenUp, None] = {}

    def find(
        self, sought: SoughtDevices, node: Node, supply: DeviceSupply, budget: Budget
    ) -> tuple[ClaimAssignment, ...] | None:
        """What each claim gets on a node; None where there is no way. Raises AllocationError,
        AllocationTimeout, OutOfTime.
        """
        shape, offer = supply.shape(node), supply.available(node)
        # an order may go by more than a shape tells
        answers = self._answers.get(sought.what) if sought.order is None else None
        if answers is not None and shape in answers:
            self._answers.move_to_end(sought.what)
            return _assignments(answers[shape], offer)
        where = sought.what, sought.order, node.metadata.name
        search = self._resumed(where, shape, offer)
        if search is None:
            if self._given_up and _given_up(sought, offer) in self._given_up:
                raise AllocationTimeout
            search = Allocator(sought.claims, offer, sought.order)
        if not _go_on(search, sought.seconds, budget):
            self._set_down(where, shape, search, sought)
        if sought.order is None:
            self._keep(sought.what, shape, _answer(search.assignments, offer))
        return search.assignments

    def give_up(self, what: DeviceSearchGivenUp) -> None:
        """Whoever seeks this where there is the same on offer is told that it takes too long."""
        self._given_up.pop(what, None)
        self._given_up[what] = None
        if len(self._given_up) > _MAX_GIVEN_UP:
            del self._given_up[next(iter(self._given_up))]
        self._journal.append(what)

    def given_up(self) -> Iterator[DeviceSearchGivenUp]:
        """What was given up, as changes, the oldest first."""
        yield from self._given_up

    def forget(self) -> None:
        """What classes say has changed: nothing holds any more."""
        self._answers.clear()
        self._paused.clear()
        self._given_up.clear()

    def keep_shapes(self, there: Collection[int | None]) -> None:
        """Only these shapes may still be asked about."""
        for what, answers in self._answers.items():
            self._answers[what] = {one: answers[one] for one in answers if one in there}

    # ---- inside ----------------------------------------------------------------------------------

    def _resumed(self, where: _Where, shape: int, offer: AvailableDevices) -> Allocator | None:
        """The search that was set down here, if it can be gone on with."""
        before, search = self._paused.pop(where, (None, None))
        same = search is not None and before == shape and search.available.pools is offer.pools
        return search if same else None

    def _set_down(
        self, where: _Where, shape: int, search: Allocator, sought: SoughtDevices
    ) -> None:
        """Raises OutOfTime, or AllocationTimeout where it is given up."""
        if 0 < sought.seconds < search.seconds:
            self.give_up(_given_up(sought, search.available))
            raise AllocationTimeout
        self._paused[where] = shape, search
        if len(self._paused) > _MAX_PAUSED:
            self._paused.popitem(last=False)
        raise OutOfTime

    def _keep(self, what: str, shape: int, answer: _Answer) -> None:
        self._answers.setdefault(what, {})[shape] = answer
        self._answers.move_to_end(what)
        while len(self._answers) > 1 and sum(map(len, self._answers.values())) > _MAX_ANSWERS:
            self._answers.popitem(last=False)


def _go_on(search: Allocator, seconds: float, budget: Budget) -> bool:
    """Go on with a search until the slice is over, or it took so many seconds; whether it has come
    to its end.
    """
    last = budget.now()

    def pause() -> bool:
        nonlocal last
        now = budget.now()
        search.seconds += min(now - last, _MAX_STEP_SECONDS)
        last = now
        return budget.over or 0 < seconds < search.seconds

    return search.run(pause)


def _given_up(sought: SoughtDevices, offer: AvailableDevices) -> DeviceSearchGivenUp:
    return DeviceSearchGivenUp(sought.known_as, offer_digest(offer))


def _candidates(offer: AvailableDevices) -> list[CandidateDevice]:
    """Nodes of one shape have as many, alike in each place."""
    return [one for pool in offer.pools if pool.state is PoolState.USABLE for one in pool.devices]


def _answer(found: Sequence[ClaimAssignment] | None, offer: AvailableDevices) -> _Answer:
    if found is None:
        return None
    places = {one.id: place for place, one in enumerate(_candidates(offer))}
    return tuple(
        _GivenDevices(
            tuple(one.query for one in claim.devices),
            tuple(places[one.candidate.id] for one in claim.devices),
            tuple(one.consumes for one in claim.devices),
            claim.chosen,
        )
        for claim in found
    )


def _assignments(answer: _Answer, offer: AvailableDevices) -> tuple[ClaimAssignment, ...] | None:
    if answer is None:
        return None
    devices = _candidates(offer)
    return tuple(
        ClaimAssignment(
            tuple(
                DeviceAssignment(query, devices[place], consumes)
                for query, place, consumes in zip(
                    one.queries, one.places, one.consumes, strict=True
                )
            ),
            one.chosen,
        )
        for one in answer
    )
