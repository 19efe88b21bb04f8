"""What a cache and a queue hold, as plain values that can be compared: by the names of nodes, not
by rows; by values, not by numbers.

The attributes are discovered. One that is not told of below is compared as it is; one whose value
nobody knows how to compare (an array, say) fails, and so does one that is added to a class of
``MEANINGS``. So there is nothing that is left out by accident.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import ChangeLog, VersionCounter
from moorage.core.columns.grouped_pods import GroupedPods
from moorage.core.columns.nodes.image_table import ImageTable
from moorage.core.columns.nodes.label_columns import LabelColumn, LabelTable
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.nodes.port_table import PortTable
from moorage.core.columns.nodes.zones import NodeOrder
from moorage.core.columns.nominations import Nominator
from moorage.core.columns.pod_counters import PodCounters, RowCounter
from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.priorities import PriorityTable
from moorage.core.columns.store import Store
from moorage.core.columns.volume_table import VolumeTable
from moorage.core.devices.claim_decisions import ClaimDecision
from moorage.core.devices.device_cel import DeviceFacts
from moorage.core.devices.device_searches import DeviceSearches
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pools import AllocationError
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.plugins.volume_binding.reach_index import _LabelIndex
from moorage.core.pods.requests import Requests
from moorage.core.queue.blocked_pods import BlockedPods, EquivalentPods
from moorage.core.queue.entry_heap import EntryHeap
from moorage.core.queue.hints import QueueingHints
from moorage.core.queue.pending_moves import PendingMoves
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.queue.sub_queues import InFlightPods, SubQueues
from moorage.core.structures.numbering import Numbering
from moorage.core.structures.sparse import SparseAmounts

UNTOLD: dict[type[Any], tuple[str, ...]] = {
    Cache: ("_changes", "_pod_listener", "journal", "waiting"),  # who waits the queue says, too
    Store: ("_views", "_version_counters", "_followers", "journal"),
    Nominator: ("version", "_listener", "_journal"),
    # the groups are the store's; when which one changed
    PriorityTable: ("_groups",),
    GroupedPods: ("version", "_groups", "_priorities", "_changed_at"),
    VolumeOffers: ("_journal",),
    PodCounters: ("made",),
    VersionCounter: ("version",),
    ChangeLog: ("_rows", "_base", "version"),
    PodInfo: ("preempted", "stuck"),  # what we did, which no object says
    # by what is nominated just then; each looks at the ledger itself
    DeviceLedger: ("_beside", "_journal"),
    DeviceSearches: ("_answers", "_paused", "_journal"),  # by shape: each is looked at before
    DeviceFacts: ("_results",),
    SchedulingQueue: ("_listener",),
    SubQueues: ("_listener",),
    QueueingHints: ("listener",),
    EntryHeap: ("_numbers", "_dead"),
    InFlightPods: ("_events", "_sizes", "_total", "_event_count"),  # what happened meanwhile
    # what is to be looked at, or told
    PodGroupTracker: ("changed", "dirty", "renewed", "unsaid"),
    # what was, and what follows: the test looks at that itself
    PodGroupState: ("seen", "met", "spec", "counted", "complete", "complete_since", "needed"),
    # what is to be moved: the test has all of it moved before
    PendingMoves: ("_freed", "_slices", "left", "may_pop"),
}
"""Attributes that say what happened, not what is."""

_SHOWN = 400
"""Characters of what differs."""
Meaning = Callable[["Description", Any], Any]
MEANINGS: dict[type[Any], tuple[frozenset[str], Meaning]] = {}
"""By class: the attributes that are told of together, and how. Others of these classes there must
not be.
"""


def means(kind: type[Any], *attributes: str) -> Callable[[Meaning], Meaning]:
    """The decorated function tells of all these attributes."""

    def enter(meaning: Meaning) -> Meaning:
        MEANINGS[kind] = frozenset(attributes), meaning
        return meaning

    return enter


def attributes(one: object) -> Iterator[str]:
    """The names of all that an object holds."""
    slots = (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()))
    yield from (
        name
        for name in dict.fromkeys([*slots, *getattr(one, "__dict__", {})])
        if not name.startswith("__")
    )


class Description:
    """Describes one cache, and what belongs to it. What is met a second time is only named, and so
    are the ``others``.
    """

    def __init__(self, cache: Cache, *others: object) -> None:
        self.names = cache.nodes.names
        self.live = cache.nodes.live
        self._met = {id(one) for one in others}

    def of(self, value: Any) -> Any:
        """A value that is equal for what means the same."""
        if value is None or isinstance(
            value, str | int | float | bytes | enum.Enum | msgspec.Struct | Requests | type
        ):
            return value
        if isinstance(value, Mapping):
            return {self.key(key): self.of(one) for key, one in value.items()}
        if isinstance(value, frozenset | set):
            return {self.key(one) for one in value}
        if isinstance(value, tuple | list):
            return [self.of(one) for one in value] if not hasattr(value, "_fields") else value
        if isinstance(value, EquivalentPods | QueuedPodInfo):
            return self.key(value)
        if inspect.isroutine(value) or isinstance(value, types.LambdaType):
            return value.__qualname__
        assert type(value).__module__.startswith("moorage."), (
            f"nobody knows how to compare {type(value)}: tell of it in MEANINGS"
        )
        return self._object(value)

    def key(self, value: Any) -> Any:
        """A value that can be a key; what is known by identity is told by what it is for."""
        if isinstance(value, QueuedPodInfo):
            return value.uid
        if isinstance(value, EquivalentPods):
            return (
                value.scheduler_name,
                value.plugin,
                value.key,
                value.moving,
                frozenset(value.entries),
            )
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(self.key(one) for one in value)
        return value

    def by_node(self, by_row: Mapping[int, Any]) -> dict[str, Any]:
        """What is kept by row."""
        return {self.names[row]: self.of(one) for row, one in by_row.items()}

    def _object(self, one: Any) -> Any:
        kind, there = type(one), frozenset(attributes(one))
        shared = not isinstance(
            one, RowCounter | LabelColumn | DeviceFacts
        ) and not dataclasses.is_dataclass(kind)
        if shared and id(one) in self._met:
            return kind.__name__
        self._met.add(id(one))
        untold = frozenset(UNTOLD.get(kind, ()))
        if kind not in MEANINGS:
            assert untold <= there, f"{kind.__name__} has no {untold - there}"
            return {name: self.of(getattr(one, name)) for name in sorted(there - untold)}
        told, meaning = MEANINGS[kind]
        assert told | untold == there, (
            f"{kind.__name__}: the description and the class differ in {(told | untold) ^ there}"
        )
        return meaning(self, one)


# ---- nodes ---------------------------------------------------------------------------------------

_ARRAYS = (
    "live",
    "allocatable",
    "requested",
    "non_zero_requested",
    "unschedulable",
    "taint_set",
    "tie_break",
)
_TABLES = ("labels", "ports", "images", "resources", "order")


@means(
    NodeTable,
    "rows",
    "all_rows",
    "row_of",
    "names",
    "nodes",
    "logs",
    *_TABLES,
    "_taints",
    "_free",
    "_arrays",
    *_ARRAYS,
    *(f"_{one}" for one in _ARRAYS),
)
def _(to: Description, table: NodeTable) -> Any:
    assert sorted([*table.row_of.values(), *table._free]) == list(range(table.rows)), (
        "each row is free, or a node's"
    )
    assert all(table.names[row] == name and table.live[row] for name, row in table.row_of.items())
    assert not any(table.live[row] or table.nodes[row] for row in table._free)
    assert set(table._arrays) == set(_ARRAYS)
    for name, array in table._arrays.items():
        assert getattr(table, f"_{name}") is array, f"{name} is not the array that is written"
        assert getattr(table, name).base is array, f"{name} does not show what is written"
    arrays = {name: array for name, array in table._arrays.items() if name != "taint_set"}
    return {
        "arrays": {
            name: {at: array[..., row].tolist() for at, array in arrays.items()}
            for name, row in table.row_of.items()
        },
        "nodes": {name: table.nodes[row] for name, row in table.row_of.items()},
        "taint sets": {
            name: table.taint_sets[table.taint_set[row]] for name, row in table.row_of.items()
        },
        "taints": to.of(table._taints),
        "tables": [to.of(getattr(table, name)) for name in _TABLES],
    }


@means(Numbering, "values", "version", "_number_of", "_uses", "_free")
def _(to: Description, numbering: Numbering[Any]) -> Any:
    numbers = numbering._number_of
    assert (
        sorted([*numbers.values(), *numbering._free])
        == list(range(len(numbering.values)))
        == list(range(len(numbering._uses)))
    )
    assert all(numbering.values[number] == value for value, number in numbers.items())
    return {value: numbering._uses[number] for value, number in numbers.items() if number}


@means(LabelTable, "_labels", "_columns", "_nodes_with", "_empty")
def _(to: Description, table: LabelTable) -> Any:
    assert not any(labels for row, labels in enumerate(table._labels) if not to.live[row])
    columns = {
        key: {
            to.names[row]: column.values[code]
            for row, code in enumerate(column.codes.tolist())
            if code
        }
        for key, column in table._columns.items()
    }
    return {
        "labels": {to.names[row]: labels for row, labels in enumerate(table._labels) if labels},
        "columns": columns,
        "coded": to.of(table._columns),
        "nodes with": table._nodes_with,
    }


@means(LabelColumn, "_integers", "_numbering", "codes")
def _(to: Description, column: LabelColumn) -> Any:
    numbers, are = column.numbers()
    found = {
        value: int(number)
        for value, number, one in zip(column.values, numbers, are, strict=True)
        if one
    }
    return {"numbers": found, "uses": to.of(column._numbering)}


@means(PortTable, "_users")
def _(to: Description, table: PortTable) -> Any:
    return {port: to.by_node(users) for port, users in table._users.items()}


@means(ImageTable, "version", "_sizes", "_images")
def _(to: Description, table: ImageTable) -> Any:
    return {
        "on": {image: to.by_node(sizes) for image, sizes in table._sizes.items()},
        "of": to.by_node(table._images),
    }


@means(SparseAmounts, "_names", "_places", "_lumps")
def _(to: Description, amounts: SparseAmounts) -> Any:
    for name, found in amounts._names.items():
        rows = found.rows[: found.size].tolist()
        assert all(amounts._places[row][name] == place for place, row in enumerate(rows))
        assert not found.amounts[:, found.size :].any(), f"{name} has amounts beyond its places"
    assert sum(map(len, amounts._places.values())) == sum(
        found.size for found in amounts._names.values()
    )
    return {to.names[row]: amounts.on(row) for row in {**amounts._places, **amounts._lumps}}


@means(NodeOrder, "_zone_of", "_zones", "_names", "_stands")
def _(to: Description, order: NodeOrder) -> Any:
    assert sorted(order.names) == sorted(order._zone_of)
    return {
        "zone of": order._zone_of,
        "zones": {zone: set(names) for zone, names in order._zones.items()},
    }


# ---- pods on nodes -------------------------------------------------------------------------------


@means(PriorityTable, "_counts", "_totals")
def _(to: Description, table: PriorityTable) -> Any:
    counts = {
        level: {to.names[row]: int(counts[row]) for row in np.flatnonzero(counts)}
        for level, counts in table._counts.items()
    }
    return {"counts": counts, "totals": table._totals}


@means(GroupedPods, "_members")
def _(to: Description, grouped: GroupedPods) -> Any:
    return {
        name: {uid: (to.names[row], own) for uid, (row, own) in members.items()}
        for name, members in grouped._members.items()
    }


@means(RowCounter, "_counts", "_few", "id", "total", "version")
def _(to: Description, counter: RowCounter) -> Any:
    per_row = counter.per_row(len(to.names))
    return {
        "total": counter.total,
        "on": {to.names[row]: int(per_row[row]) for row in np.flatnonzero(per_row)},
    }


@means(
    Cache,
    "nodes",
    "priorities",
    "grouped_pods",
    "store",
    "pod_counters",
    "volumes",
    "nominations",
    "_pod_infos",
    "_on_node",
    "_in_namespace",
    "_assumed",
    "_node_generations",
)
def _(to: Description, cache: Cache) -> Any:
    told = (
        "nodes",
        "priorities",
        "grouped_pods",
        "store",
        "pod_counters",
        "volumes",
        "nominations",
        "_pod_infos",
        "_on_node",
        "_in_namespace",
        "_assumed",
    )
    return {
        **{name: to.of(getattr(cache, name)) for name in told},
        "news of": set(cache._node_generations),
    }


# ---- other objects -------------------------------------------------------------------------------


@means(Store, "room", "_objects", "_indexes")
def _(to: Description, store: Store) -> Any:
    indexes = sorted(store._indexes.items(), key=lambda item: str(item[0]))
    return {
        "objects": {kind: to.of(objects) for kind, objects in store._objects.items() if objects},
        "indexes": {make: to.of(index) for make, index in indexes},
        "room": to.of(store.room),
    }


_BY_ROW = ("_mounted", "_attached", "_installed")
_AS_THEY_ARE = (
    "_resolved",
    "_resting_on",
    "_attachments_of",
    "_drivers",
    "uses",
    "_store",
    "_nodes",
)


@means(VolumeTable, *_BY_ROW, *_AS_THEY_ARE, "_users", "_disks", "_attachments")
def _(to: Description, table: VolumeTable) -> Any:
    return {
        **{name: to.of(getattr(table, name)) for name in _AS_THEY_ARE},
        **{
            name: {volume: to.by_node(holders) for volume, holders in getattr(table, name).items()}
            for name in _BY_ROW
        },
        "users": {
            claim: {(to.names[row], use): number for (row, use), number in users.items()}
            for claim, users in table._users.items()
        },
        "disks": {disk: to.by_node(rows) for disk, rows in table._disks.items()},
        "attachments": {
            name: (to.names[row], volume) for name, (row, volume) in table._attachments.items()
        },
    }


@means(
    _LabelIndex, "values", "_numbering", "_names", "_place", "_sizes", "_worths", "_which", "_codes"
)
def _(to: Description, label: _LabelIndex) -> Any:
    sizes, which = (
        list(zip(label._sizes.tolist(), label._worths.tolist(), strict=True)),
        [label._numbering.values[number] for number in label._which[: len(label._names)].tolist()],
    )
    assert {name: place for place, name in enumerate(label._names)} == label._place
    return {
        "values": label.values,
        "places": {name: (sizes[i], which[i]) for i, name in enumerate(label._names)},
        "uses": to.of(label._numbering),
    }


@means(ClaimDecision, "claim", "group", "written", "holders")
def _(to: Description, decision: ClaimDecision) -> Any:
    # who needs it only the one who decided knows
    return to.of(decision.claim), decision.group, decision.written


_LEDGER = (
    "_classes",
    "_uses",
    "_decided",
    "_for_pods",
    "_pools",
    "_of_node",
    "_for_many",
)


@means(
    DeviceLedger,
    *_LEDGER,
    "version_counter",
    "_nodes",
    "searches",
    "_seen",
    "_reached_by",
    "_shapes",
    "_next_shape",
)
def _(to: Description, ledger: DeviceLedger) -> Any:
    alike: dict[int, set[str]] = {}
    reach: dict[str, Any] = {}
    for node in filter(None, ledger._nodes.nodes):
        name = node.metadata.name
        try:
            alike.setdefault(ledger.shape(node), set()).add(name)
            reach[name] = [to.of(pool) for pool in ledger.available(node).pools]
        except AllocationError as error:
            reach[name] = str(error)
    return {
        **{name: to.of(getattr(ledger, name)) for name in _LEDGER},
        "reach": reach,
        "alike": {frozenset(names) for names in alike.values()},
        "counts": {
            name: {kind: ledger.count(node, one) for kind, one in ledger._classes.items()}
            for name, node in _nodes(ledger)
        },
    }


def _nodes(ledger: DeviceLedger) -> list[tuple[str, Any]]:
    return [(node.metadata.name, node) for node in ledger._nodes.nodes if node is not None]


# ---- pods that wait ------------------------------------------------------------------------------


@means(EntryHeap, "_heaps", "key", "_live")
def _(to: Description, heap: EntryHeap) -> Any:
    items = {id(item) for items in heap._heaps.values() for item in items}
    assert all(id(item) in items for item in heap._live.values()), "one that is in cannot be found"
    return {uid: key for uid, (key, _, _) in heap._live.items()}


@means(BlockedPods, "_equivalence_class_of", "_by_plugin", "_groups_of")
def _(to: Description, parked: BlockedPods) -> Any:
    return {
        "by plugin": to.of(parked._by_plugin),
        "among": {uid: {to.key(one) for one in among} for uid, among in parked._groups_of.items()},
    }


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two descriptions differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            yield from differences(
                one.get(key, "nothing"), other.get(key, "nothing"), f"{path}/{key}"
            )
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, its, f"{path}/{i}")
    elif one != other:
        yield f"{path}: {repr(one)[:_SHOWN]} is not {repr(other)[:_SHOWN]}"
