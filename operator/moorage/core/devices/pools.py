"""Pools of devices, as far as a node can reach them.

A driver publishes a pool as slices of one generation; older ones are out of date. Until all slices
of a generation are there the pool is being updated, and nothing is taken from it.
Source: Kubernetes dynamic-resource-allocation/structured, ``GatherPools`` (v1.36).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from kubefacts.cel import CELExpressionError
from kubefacts.cel_functions import quantity_value
from kubefacts.labels import SelectorError
from kubefacts.quantities import nanos
from moorage.core.devices.device_cel import DeviceFacts, semver
from moorage.core.objects.nodes import Node
from moorage.core.objects.resource_claims import (
    CounterConsumption,
    CounterSet,
    Device,
    DeviceAttribute,
    Reach,
    ResourceSlice,
)
from moorage.core.objects.selector_terms import NodeSelector
from moorage.core.pods.node_selection import NodeTerms, compile_node_selector, extent, matches_any
from moorage.core.structures.remembering import byte_size, memoized


class AllocationError(ValueError):
    """Claims, classes or slices that nothing can be decided by: a fault, whatever the node. The
    message is for people.
    """

    @property
    def anywhere(self) -> str:
        """The message without the name of a device."""
        return str(self)


class DeviceFault(AllocationError):
    """A fault that one device has shown: ``about`` it."""

    def __init__(self, where: str, about: str, error: Exception) -> None:
        super().__init__(f"{where}{about}: {error}")
        self._anywhere = f"{where}: {error}"

    @property
    def anywhere(self) -> str:
        return self._anywhere


class AlternativesFailed(AllocationError):
    """Nothing was found on a node, and an alternative of a request has a fault; the message, the
    fault's, is the same for all nodes.
    """


class PoolNotUsable(AllocationError):
    """All devices are wanted, and of a pool nobody can tell now which there are."""


class PoolId(NamedTuple):
    """What tells pools apart, and what they are ordered by."""

    driver: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class DeviceId(NamedTuple):
    """What tells devices apart."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class CounterId(NamedTuple):
    """A counter: its set and its name."""

    set: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CandidateDevice:
    """A device in a slice that a node can reach. ``here``: the node can reach the device itself."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    facts: DeviceFacts
    reachable: bool
    counters: Mapping[CounterId, int]
    """Of its pool's counters, in nano-units."""
    equivalence_key: tuple[object, ...]
    """Equal for devices that the search can't tell apart."""


class PoolState(enum.Enum):
    """Whether devices can be taken from a pool."""

    USABLE = "usable"
    INCOMPLETE = "being updated"
    INVALID = "invalid"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool as one node sees it; ``counters`` are what it has, ``takes`` what each of its devices
    takes of them, in nano-units.

    A pool with counters knows all of its devices, also those that this node can't reach.
    """

    id: PoolId
    state: PoolState
    devices: tuple[CandidateDevice, ...] = ()
    counters: Mapping[CounterId, int] = dataclasses.field(default_factory=dict)
    consumed_counters: Mapping[DeviceId, Mapping[CounterId, int]] = dataclasses.field(
        default_factory=dict
    )

    @property
    def binds_late(self) -> bool:
        """Whether a device is usable only once something has been done for it: such pools come
        last.
        """
        return any(one.device.binding_conditions is not None for one in self.devices)


def pool_of(piece: ResourceSlice) -> PoolId:
    """The pool that a slice is a part of."""
    return PoolId(piece.spec.driver, piece.spec.pool.name)


def check_slice(piece: ResourceSlice) -> None:
    """Raises QuantityError where a slice names an amount that can't be read."""
    for device in piece.spec.devices or ():
        facts_of(piece.spec.driver, device)
        _takes(device.consumes_counters)
    for counters in piece.spec.shared_counters or ():
        _amounts(counters)


def gather_pools(pools: Mapping[PoolId, Sequence[ResourceSlice]], node: Node) -> tuple[Pool, ...]:
    """The pools that a node can reach, in the order in which devices are taken from them.

    ``pools`` has all slices of each, by name. Raises AllocationError for a node selector that can't
    be read.
    """
    found = [
        pool
        for name in sorted(pools)
        if (pool := _gather_pool(name, pools[name], node)) is not None
    ]
    return tuple(sorted(found, key=lambda pool: pool.binds_late))


def devices_near(
    pieces: Iterable[ResourceSlice], node: Node
) -> Iterator[tuple[DeviceId, DeviceFacts]]:
    """Every device that a node can reach, also in pools that nothing is taken from now. Raises
    AllocationError.
    """
    for piece in pieces:
        spec = piece.spec
        whole = not spec.per_device_node_selection
        limited = whole and (spec.node_name or spec.node_selector is not None)
        if limited and not node_can_reach(spec, node, piece):
            continue
        for device in spec.devices or ():
            if whole or node_can_reach(device, node, piece):
                id_ = DeviceId(spec.driver, spec.pool.name, device.name)
                yield id_, facts_of(spec.driver, device)


def node_can_reach(reach: Reach, node: Node, piece: ResourceSlice) -> bool:
    """Whether a node can use what says this of itself, a slice or a device in it. Raises
    AllocationError.
    """
    if reach.node_name:
        return reach.node_name == node.metadata.name
    if reach.all_nodes or reach.node_selector is None:
        return bool(reach.all_nodes)
    try:
        return matches_any(_terms(reach.node_selector), node)
    except SelectorError as error:
        name = piece.metadata.name
        raise AllocationError(
            f"gather pool information: failed to perform node selection for slice {name}: {error}"
        ) from error


@memoized(lambda terms, _: extent(terms), most=1024)
def _terms(selector: NodeSelector) -> NodeTerms:
    return compile_node_selector(selector)


def _gather_pool(name: PoolId, pieces: Sequence[ResourceSlice], node: Node) -> Pool | None:
    reached = [piece for piece in pieces if _relevant(piece, node)]
    if not reached:
        return None
    generation = max(piece.spec.pool.generation for piece in reached)
    current = [piece for piece in reached if piece.spec.pool.generation == generation]
    wanted = current[0].spec.pool.resource_slice_count
    everywhere = current
    if len(current) != wanted:
        if any(piece.spec.pool.generation > generation for piece in pieces):
            return None  # the driver is about to replace what this node sees
        everywhere = [piece for piece in pieces if piece.spec.pool.generation == generation]
        if len(everywhere) != wanted:
            return Pool(name, PoolState.INCOMPLETE)
    return _build(name, current, everywhere, node)


def _relevant(piece: ResourceSlice, node: Node) -> bool:
    """One that says nothing about nodes is from another time than ours."""
    spec = piece.spec
    if (
        spec.node_name
        or spec.all_nodes
        or spec.node_selector is not None
        or not spec.per_device_node_selection
    ):
        return node_can_reach(spec, node, piece)
    return any(node_can_reach(device, node, piece) for device in spec.devices or ())


def _build(
    name: PoolId, current: Sequence[ResourceSlice], everywhere: Sequence[ResourceSlice], node: Node
) -> Pool:
    devices = tuple(
        candidate
        for piece in current
        if not piece.spec.shared_counters
        for candidate in _candidates(piece, node)
    )
    sets = [counters for piece in everywhere for counters in piece.spec.shared_counters or ()]
    counters = {counted: amount for one in sets for counted, amount in _amounts(one).items()}
    names = [one.id.device for one in devices]
    takes = {
        DeviceId(*name, one.name): _takes(one.consumes_counters)
        for piece in everywhere
        for one in piece.spec.devices or ()
    }
    sound = (
        len(set(names)) == len(names)
        and len({one.name for one in sets}) == len(sets)
        and all(counted in counters for taken in takes.values() for counted in taken)
    )
    if not sound:
        return Pool(name, PoolState.INVALID)
    return Pool(name, PoolState.USABLE, devices, counters, takes if counters else {})


def _candidates(piece: ResourceSlice, node: Node) -> Iterator[CandidateDevice]:
    spec = piece.spec
    for device in spec.devices or ():
        here = not spec.per_device_node_selection or node_can_reach(device, node, piece)
        facts, takes = facts_of(spec.driver, device), _takes(device.consumes_counters)
        policies = msgspec.json.encode(device.capacity) if device.capacity else b""
        look = facts, here, policies, tuple(takes.items()), device.taints or ()
        yield CandidateDevice(
            DeviceId(spec.driver, spec.pool.name, device.name),
            device,
            piece,
            facts,
            here,
            takes,
            look,
        )


def _amounts(counters: CounterSet) -> dict[CounterId, int]:
    return {
        CounterId(counters.name, name): nanos(counter.value)
        for name, counter in (counters.counters or {}).items()
    }


def _takes(consumptions: Iterable[CounterConsumption] | None) -> dict[CounterId, int]:
    taken: dict[CounterId, int] = {}
    for one in consumptions or ():
        for name, counter in (one.counters or {}).items():
            counted = CounterId(one.counter_set, name)
            taken[counted] = taken.get(counted, 0) + nanos(counter.value)
    return taken


# ---- what expressions see of a device ------------------------------------------------------------

_MAX_KEPT_FACTS = 2**16
"""More than the devices of 5,000 nodes with eight each: drivers tell each by an attribute of its
own.
"""
_Content = tuple[str, bool, dict[str, DeviceAttribute], dict[str, str | int]]


def facts_of(driver: str, device: Device) -> DeviceFacts:
    """The same value for all devices that look the same to expressions."""
    return _facts(facts_content(driver, device))


def facts_content(driver: str, device: Device) -> bytes:
    """All that expressions can ask of a device."""
    capacity = {name: one.value for name, one in (device.capacity or {}).items()}
    content: _Content = (
        driver,
        bool(device.allow_multiple_allocations),
        device.attributes or {},
        capacity,
    )
    return msgspec.json.encode(content)


@memoized(byte_size, most=_MAX_KEPT_FACTS, budget=2**23)
def _facts(content: bytes) -> DeviceFacts:
    driver, shared, attributes, capacity = msgspec.json.decode(content, type=_Content)
    known: dict[str, dict[str, object]] = {}
    amounts: dict[str, dict[str, object]] = {}
    fault = ""
    for name, attribute in attributes.items():
        try:
            _under(known, name, driver, _value(attribute))
        except CELExpressionError as error:
            fault = f"attribute {name}: {error}"
    for name, amount in capacity.items():
        _under(amounts, name, driver, quantity_value(amount))
    return DeviceFacts(driver, shared, known, amounts, fault)


def _under(domains: dict[str, dict[str, object]], name: str, driver: str, value: object) -> None:
    """Names without a domain are in the driver's."""
    domain, slash, own = name.partition("/")
    if not slash:
        domain, own = driver, name
    domains.setdefault(domain, {})[own] = value


def _value(attribute: DeviceAttribute) -> object:
    for value in (attribute.integer, attribute.boolean, attribute.string):
        if value is not None:
            return value
    if attribute.version is None:
        raise CELExpressionError("unsupported attribute value")
    return semver(attribute.version)
