"""Outcomes: what nodes' devices offer, and what is left when a pod has taken its own; remembered by
shape, so that each is looked at once.

What is expected changes often where it is learnt, which devices are the best for a pod seldom: what
came of a search is kept as long as waste ranks the devices as it did.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.store import Store
from moorage.core.devices.allocator import ClaimAssignment
from moorage.core.devices.capacity import total
from moorage.core.devices.device_demand import Alternatives, DeviceDemand, DevicesFound
from moorage.core.devices.device_searches import AllocationTimeout
from moorage.core.devices.extended_resources import requests_for
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pools import AllocationError
from moorage.core.devices.uses import AvailableDevices, DevicesInUseWith, DeviceUse
from moorage.core.objects.nodes import Node
from moorage.core.objects.resource_claims import DeviceClass
from moorage.core.plugins.device_scoring.device_order import DeviceOrder, UnitChange
from moorage.core.plugins.device_scoring.device_units import units_of
from moorage.core.plugins.device_scoring.islands import cost_of_islands
from moorage.core.plugins.device_scoring.waste import WasteTable
from moorage.core.structures.budget import Budget

_SECONDS = 1.0
"""Own time of a search on one node; where that is not enough the node is the last choice."""
_MAX_KNOWN = 2**16
_MAX_REQUESTS, _MAX_SEARCHES = 512, 256


class DeviceOutcome(NamedTuple):
    """What a node has left (stock) once the pod has its devices, and what it costs of islands."""

    stock: int
    islands: int


class DeviceChoice(NamedTuple):
    """What comes of a search, None where nothing was found, and what that rests on: for each
    request how devices change their units, with the ranks of these changes; None where that can't
    be told.
    """

    outcome: DeviceOutcome | None
    rests_on: tuple[tuple[tuple[UnitChange, ...], bytes], ...] | None

    def holds(self, order: DeviceOrder) -> bool:
        """Whether the same comes of a search in this order, by the same islands."""
        return self.rests_on is not None and all(
            order.ranks(changes) == ranks for changes, ranks in self.rests_on
        )


_Key = TypeVar("_Key")
_Known = TypeVar("_Known")
_Where = tuple[int, int]
"""The way and the shape."""
KnownOutcomes = dict[_Where, DeviceOutcome | None]
"""None where nothing was found."""


class NodeStocks:
    """What nodes have left, by requests that are expected; and what came of searches: by order, and
    what may hold for other weights, too.
    """

    def __init__(self, ledger: DeviceLedger, table: WasteTable) -> None:
        self.table = table
        self._ledger = ledger
        self._of_shape: dict[int, int] = {}
        self._known: OrderedDict[tuple[bytes, DeviceOrder], KnownOutcomes] = OrderedDict()
        self._choices: OrderedDict[tuple[bytes, tuple[str, ...]], dict[_Where, DeviceChoice]] = (
            OrderedDict()
        )

    def stock(self, node: Node) -> int:
        """What a node has left now. Raises AllocationError."""
        shape = self._ledger.shape(node)
        stock = self._of_shape.get(shape)
        if stock is None:
            units = units_of(self._ledger.available(node))
            stock = self._of_shape[shape] = self.table.stock(units)
        return stock

    def known(self, wanted: bytes, order: DeviceOrder) -> KnownOutcomes:
        """What came of searches for these claims."""
        return _latest(self._known, (wanted, order))

    def choices(self, wanted: bytes, islands: tuple[str, ...]) -> dict[_Where, DeviceChoice]:
        """What came of the latest searches for these claims, whatever the weights."""
        return _latest(self._choices, (wanted, islands))

    def forget_if_many(self) -> None:
        """Numbers of stocks hold until then."""
        found: list[dict[_Where, Any]] = [*self._known.values(), *self._choices.values()]
        if max(len(self.table), len(self._of_shape), sum(map(len, found))) > _MAX_KNOWN:
            self.table.clear()
            self._of_shape.clear()
            for each in found:
                each.clear()


class OutcomeSearch:
    """Searches for a pod's devices on nodes."""

    def __init__(
        self, wanted: DeviceDemand, order: DeviceOrder, stocks: NodeStocks, budget: Budget
    ) -> None:
        self._wanted = wanted
        self._order = order
        self._stocks = stocks
        self._budget = budget
        self._content = _content(wanted)

    def ways(self, nodes: NodeColumns, rows: Rows) -> Alternatives:
        """As ``DeviceDemand.alternatives``; -1, too, where there is nothing to be found."""
        ways = self._wanted.alternatives(nodes, rows)
        return ways if self._wanted.unallocated else np.where(ways > 0, ways, -1)

    def known(self) -> KnownOutcomes:
        """What came of searches so far; as long as ``NodeStocks`` forgets nothing."""
        return self._stocks.known(self._content, self._order)

    def outcome(self, node: Node, way: int, known: KnownOutcomes) -> DeviceOutcome | None:
        """What comes of it on a node; None where nothing was found. Raises OutOfTime."""
        of = way, self._wanted.devices.shape(node)
        if of not in known:
            choices = self._stocks.choices(self._content, self._order.islands)
            choice = choices.get(of)
            if choice is None or not choice.holds(self._order):
                choice = choices[of] = self._search(node, way)
            known[of] = choice.outcome
            self._budget.check()
        return known[of]

    def _search(self, node: Node, way: int) -> DeviceChoice:
        try:
            found = self._wanted.find(node, way, _SECONDS, self._budget, self._order)
        except (AllocationError, AllocationTimeout, QuantityError):
            # another order may come to an end before it comes to this
            return DeviceChoice(None, None)
        if found is None:
            return DeviceChoice(None, ())
        offer = self._wanted.devices.available(node)
        taken = [_uses(answer) for answer in found.assignments]
        each = [one for uses in taken for by_request in uses for one in by_request]
        then = offer._replace(uses=DevicesInUseWith(offer.uses, each))
        ids = [[one.device for one in by_request] for uses in taken for by_request in uses]
        outcome = DeviceOutcome(
            self._stocks.table.stock(units_of(then)),
            cost_of_islands(self._order.islands, ids, offer),
        )
        return DeviceChoice(outcome, self._rests_on(found, offer))

    def _rests_on(
        self, found: DevicesFound, offer: AvailableDevices
    ) -> tuple[tuple[tuple[UnitChange, ...], bytes], ...] | None:
        wishes = [wish for answer in found.assignments for wish in answer.chosen]
        if any(wish.alternative is not None for wish in wishes):
            return None  # which one it comes to may be due to the order, too: a fault ends one
        changes = [tuple(self._order.changes(wish, offer).values()) for wish in wishes]
        return tuple((each, self._order.ranks(each)) for each in changes)


class DeviceOutcomes:
    """The stocks by requests; one per store."""

    def __init__(self, store: Store) -> None:
        self._ledger = store.index(DeviceLedger)
        self._classes = store.objects(DeviceClass)
        self._class_version = store.version_counter(DeviceClass)
        self._version = self._class_version.version
        self._stocks = NodeStocks(self._ledger, WasteTable(self._classes))

    def stocks(self, requests: Sequence[bytes]) -> NodeStocks:
        """By these requests and others, as classes are now."""
        many = len(self._stocks.table.requests) > _MAX_REQUESTS
        if many or self._version != self._class_version.version:
            self._version = self._class_version.version
            self._stocks = NodeStocks(self._ledger, WasteTable(self._classes))
        self._stocks.table.rows(requests)
        return self._stocks


def _latest(kept: OrderedDict[_Key, dict[_Where, _Known]], key: _Key) -> dict[_Where, _Known]:
    """What is known by this key; what nobody has asked for lately is forgotten."""
    found = kept.setdefault(key, {})
    kept.move_to_end(key)
    if len(kept) > _MAX_SEARCHES:
        kept.popitem(last=False)
    return found


def _uses(answer: ClaimAssignment) -> list[list[DeviceUse]]:
    """What each request of a claim takes; nothing where it only looks on."""
    found: dict[str, list[DeviceUse]] = {}
    for one in answer.devices:
        if not one.query.admin:
            share = None if one.consumes is None else total(one.consumes, {})
            found.setdefault(one.query.reference, []).append(DeviceUse(one.candidate.id, share))
    return list(found.values())


def _content(wanted: DeviceDemand) -> bytes:
    """All that a search goes by, but for the way and what a node offers."""
    named = [resource for resource in wanted.resources if resource in wanted.classes]
    extended = requests_for(wanted.pod, named, wanted.classes).requests
    return msgspec.json.encode(([claim.spec for claim in wanted.unallocated], extended))
