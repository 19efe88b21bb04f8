"""Outcomes: what nodes' devices offer, and what is left when a pod has taken its own; remembered by
shape, so that each is looked at once.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec
import numpy as np

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.store import Store
from moorage.core.devices.allocator import ClaimAssignment
from moorage.core.devices.capacity import total
from moorage.core.devices.device_demand import Alternatives, DeviceDemand
from moorage.core.devices.device_searches import AllocationTimeout
from moorage.core.devices.extended_resources import requests_for
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pools import AllocationError
from moorage.core.devices.uses import DevicesInUseWith, DeviceUse
from moorage.core.objects.nodes import Node
from moorage.core.objects.resource_claims import DeviceClass
from moorage.core.plugins.device_scoring.device_order import DeviceOrder
from moorage.core.plugins.device_scoring.device_units import units_of
from moorage.core.plugins.device_scoring.islands import cost_of_islands
from moorage.core.plugins.device_scoring.waste import WasteTable
from moorage.core.structures.budget import Budget

_SECONDS = 1.0
"""Own time of a search on one node; where that is not enough the node is the last choice."""
_MAX_KNOWN = 2**16
_MAX_TABLES, _MAX_SEARCHES = 4, 256


class DeviceOutcome(NamedTuple):
    """What a node offers (profile) once the pod has its devices, and what it costs of islands."""

    profile: int
    islands: int


KnownOutcomes = dict[tuple[int, int], DeviceOutcome | None]
"""By way and shape; None where nothing was found."""


class NodeProfiles:
    """What nodes offer, by requests that are expected."""

    def __init__(self, ledger: DeviceLedger, table: WasteTable) -> None:
        self.table = table
        self._ledger = ledger
        self._of_shape: dict[int, int] = {}
        self._known: OrderedDict[tuple[bytes, DeviceOrder], KnownOutcomes] = OrderedDict()

    def profile(self, node: Node) -> int:
        """What a node offers now. Raises AllocationError."""
        shape = self._ledger.shape(node)
        profile = self._of_shape.get(shape)
        if profile is None:
            units = units_of(self._ledger.available(node))
            profile = self._of_shape[shape] = self.table.profile(units)
        return profile

    def known(self, wanted: bytes, order: DeviceOrder) -> KnownOutcomes:
        """What came of searches for these claims."""
        found = self._known.setdefault((wanted, order), {})
        self._known.move_to_end((wanted, order))
        if len(self._known) > _MAX_SEARCHES:
            self._known.popitem(last=False)
        return found

    def forget_if_many(self) -> None:
        """Numbers of profiles hold until then."""
        searches = sum(map(len, self._known.values()))
        if max(len(self.table), len(self._of_shape), searches) > _MAX_KNOWN:
            self.table.clear()
            self._of_shape.clear()
            for known in self._known.values():
                known.clear()


class OutcomeSearch:
    """Searches for a pod's devices on nodes."""

    def __init__(
        self, wanted: DeviceDemand, order: DeviceOrder, profiles: NodeProfiles, budget: Budget
    ) -> None:
        self._wanted = wanted
        self._order = order
        self._profiles = profiles
        self._budget = budget
        self._content = _content(wanted)

    def ways(self, nodes: NodeColumns, rows: Rows) -> Alternatives:
        """As ``DeviceDemand.alternatives``; -1, too, where there is nothing to be found."""
        ways = self._wanted.alternatives(nodes, rows)
        return ways if self._wanted.unallocated else np.where(ways > 0, ways, -1)

    def known(self) -> KnownOutcomes:
        """What came of searches so far; as long as ``NodeProfiles`` forgets nothing."""
        return self._profiles.known(self._content, self._order)

    def outcome(self, node: Node, way: int, known: KnownOutcomes) -> DeviceOutcome | None:
        """What comes of it on a node; None where nothing was found. Raises OutOfTime."""
        of = way, self._wanted.devices.shape(node)
        if of not in known:
            known[of] = self._search(node, way)
            self._budget.check()
        return known[of]

    def _search(self, node: Node, way: int) -> DeviceOutcome | None:
        try:
            found = self._wanted.find(node, way, _SECONDS, self._budget, self._order)
        except (AllocationError, AllocationTimeout, QuantityError):
            return None
        if found is None:
            return None
        offer = self._wanted.devices.available(node)
        taken = [_uses(answer) for answer in found.assignments]
        each = [one for uses in taken for by_request in uses for one in by_request]
        then = offer._replace(uses=DevicesInUseWith(offer.uses, each))
        ids = [[one.device for one in by_request] for uses in taken for by_request in uses]
        return DeviceOutcome(
            self._profiles.table.profile(units_of(then)),
            cost_of_islands(self._order.islands, ids, offer),
        )


class DeviceOutcomes:
    """The profiles by requests; one per store."""

    def __init__(self, store: Store) -> None:
        self._ledger = store.index(DeviceLedger)
        self._classes = store.objects(DeviceClass)
        self._class_version = store.version_counter(DeviceClass)
        self._profiles: OrderedDict[tuple[tuple[bytes, ...], int], NodeProfiles] = OrderedDict()

    def profiles(self, requests: tuple[bytes, ...]) -> NodeProfiles:
        """Those by these requests, as classes are now."""
        by = requests, self._class_version.version
        found = self._profiles.get(by)
        if found is None:
            table = WasteTable(requests, self._classes)
            found = self._profiles[by] = NodeProfiles(self._ledger, table)
            if len(self._profiles) > _MAX_TABLES:
                self._profiles.popitem(last=False)
        self._profiles.move_to_end(by)
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
