"""What claims want: their requests, read once and checked against the classes and pools that there
are.

Source: Kubernetes dynamic-resource-allocation/structured, ``validateDeviceRequest`` (v1.37), texts
included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from kubefacts.cel import CELExpressionError
from moorage.core.devices.capacity import UnusableCapacity, fits
from moorage.core.devices.device_cel import holds, is_compile_error
from moorage.core.devices.pools import (
    AllocationError,
    CandidateDevice,
    DeviceFault,
    PoolNotUsable,
    PoolState,
)
from moorage.core.devices.uses import AvailableDevices
from moorage.core.objects.meta import key
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Yields after each piece of work, a device or an expression: there it may be set down."""

MAX_DEVICES_PER_CLAIM = 32
"""Devices that the API lets one claim have."""


class ClaimSelector(NamedTuple):
    """An expression, and whose it is."""

    expression: str
    origin: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DeviceQuery:
    """A request, or one alternative of it, that devices are looked for.

    ``name`` is that of the request; ``alternative`` its place among the alternatives, None for a
    request that has none. ``all_devices``: the devices wanted, where all that match are.
    """

    name: str
    reference: str
    request: DeviceSubRequest
    class_: DeviceClass
    selectors: tuple[ClaimSelector, ...]
    alternative: int | None
    count: int
    all_devices: tuple[CandidateDevice, ...] | None = None

    @property
    def own_name(self) -> str:
        """The alternative's name, or the request's."""
        return self.name if self.alternative is None else self.request.name

    @property
    def admin(self) -> bool:
        """Whether it wants to look at devices rather than have them."""
        return isinstance(self.request, ExactDeviceRequest) and bool(self.request.admin_access)

    @property
    def tolerations(self) -> tuple[DeviceToleration, ...]:
        """Which taints it bears."""
        return self.request.tolerations or ()

    def ask(self, candidate: CandidateDevice) -> Steps[None]:
        """Have expressions judge a device that were not asked about it yet, as far as that is
        needed: it may take long, so each is a step.
        """
        for expression, _ in self.selectors:
            new = not candidate.facts.is_evaluated(expression)
            answer = candidate.facts.evaluate(expression)
            if new:
                yield
            if answer is not True:
                return

    def is_judged(self, candidate: CandidateDevice) -> bool:
        """Whether there is nothing to ``ask`` of it."""
        for expression, _ in self.selectors:
            answer = candidate.facts.answer(expression)
            if answer is not True:
                return answer is not None
        return True

    def selects(self, candidate: CandidateDevice) -> bool:
        """Whether a device is of the right kind and within the node's reach. Raises
        AllocationError.
        """
        for expression, whose in self.selectors:
            try:
                if not holds(expression, candidate.facts):
                    return False
            except CELExpressionError as error:
                if is_compile_error(error):
                    raise AllocationError(f"{whose}: {error}") from error
                raise DeviceFault(whose, f" on device {candidate.id}", error) from error
        return candidate.reachable

    def named_in(self, names: Sequence[str] | None) -> bool:
        """Whether it is among these requests; all are, where none is named."""
        return not names or self.name in names or self.reference in names


class ClaimQueries(NamedTuple):
    """What one claim wants: for each request its alternatives, the best first; and what all of it
    must fulfil.

    ``faults``: of alternatives that are left out.
    """

    requests: tuple[tuple[DeviceQuery, ...], ...]
    constraints: tuple[DeviceConstraint, ...]
    faults: tuple[AllocationError, ...]


def queries_of(claim: ResourceClaim, offer: AvailableDevices) -> Steps[ClaimQueries]:
    """Read a claim. Raises AllocationError when it, or what it needs, can't be used."""
    devices = claim.spec.devices
    faults: list[AllocationError] = []
    requests: list[tuple[DeviceQuery, ...]] = []
    least = 0
    for request in devices.requests or ():
        requests.append((yield from _alternatives(claim, request, offer, faults)))
        more = min((wish.count for wish in requests[-1]), default=0)
        if least + more > MAX_DEVICES_PER_CLAIM:
            limit = (
                f"the claim limit of {MAX_DEVICES_PER_CLAIM}, with {least} already accounted for"
            )
            where = f"claim {key(claim)}, request {request.name}"
            raise AllocationError(f"{where}: adding {more} devices exceeds {limit}")
        least += more
    constraints = devices.constraints or ()
    for i, one in enumerate(constraints):
        if one.match_attribute is None and one.distinct_attribute is None:
            text = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {key(claim)}, constraint #{i}: {text}")
    return ClaimQueries(tuple(requests), constraints, tuple(faults))


def _alternatives(
    claim: ResourceClaim,
    request: DeviceRequest,
    offer: AvailableDevices,
    faults: list[AllocationError],
) -> Steps[tuple[DeviceQuery, ...]]:
    """The best first, without those that have a fault, unless all have, or can't be now; a request
    without alternatives is one.
    """
    if not request.first_available:
        return ((yield from _query(claim, request, None, offer)),)
    wishes: list[DeviceQuery] = []
    mine: list[AllocationError] = []
    for place in range(len(request.first_available)):
        try:
            wishes.append((yield from _query(claim, request, place, offer)))
        except PoolNotUsable:
            continue
        except AllocationError as fault:
            mine.append(fault)
    if len(mine) == len(request.first_available):
        raise mine[0]
    faults += mine
    return tuple(wishes)


def _query(
    claim: ResourceClaim, request: DeviceRequest, place: int | None, offer: AvailableDevices
) -> Steps[DeviceQuery]:
    """The request's alternative at this place, None for one that has none. Raises
    AllocationError.
    """
    asked: DeviceSubRequest = request.exactly or ExactDeviceRequest()
    own_name = reference = request.name
    if place is not None:
        asked = (request.first_available or ())[place]
        own_name, reference = asked.name, f"{request.name}/{asked.name}"
    where = f"claim {key(claim)}, request {own_name}"
    class_ = _class_of(asked, where, offer)
    selectors = _selectors(asked, class_, claim, where)
    wish = DeviceQuery(request.name, reference, asked, class_, selectors, place, asked.count)
    return (yield from _counted(wish, where, offer))


def _class_of(asked: DeviceSubRequest, where: str, offer: AvailableDevices) -> DeviceClass:
    name = asked.device_class_name
    if not name:
        raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
    class_ = offer.classes.get(name)
    if class_ is None:
        raise AllocationError(
            f"{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "
            f'"{name}" not found'
        )
    return class_


def _selectors(
    asked: DeviceSubRequest, class_: DeviceClass, claim: ResourceClaim, where: str
) -> tuple[ClaimSelector, ...]:
    """The class's expressions before the request's own."""
    name = f"class {class_.metadata.name}"
    mine = _expressions(asked.selectors, f"claim {key(claim)}", where)
    return _expressions(class_.spec.selectors, name, name) + mine


def _expressions(
    selectors: Iterable[DeviceSelector] | None, whose: str, where: str
) -> tuple[ClaimSelector, ...]:
    found: list[ClaimSelector] = []
    for i, selector in enumerate(selectors or ()):
        if selector.cel is None:
            raise AllocationError(
                f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)"
            )
        found.append(ClaimSelector(selector.cel.expression, f"{whose}: selector #{i}"))
    return tuple(found)


def _counted(wish: DeviceQuery, where: str, offer: AvailableDevices) -> Steps[DeviceQuery]:
    """The wish with the devices that it wants, where all are wanted."""
    mode = wish.request.allocation_mode
    yield
    if mode == "ExactCount":
        return wish
    if mode != "All":
        raise AllocationError(f"{where}: unsupported count mode {mode}")
    found: list[CandidateDevice] = []
    for pool in offer.pools:
        if pool.state is not PoolState.USABLE:
            state = f"resource pool {pool.id} is currently {pool.state.value}"
            raise PoolNotUsable(f"{where}: asks for all devices, but {state}")
        for one in pool.devices:
            yield from wish.ask(one)
            if wish.selects(one) and _is_large_enough(one, wish, where):
                found.append(one)
            yield
    return dataclasses.replace(wish, count=len(found), all_devices=tuple(found))


def _is_large_enough(candidate: CandidateDevice, wish: DeviceQuery, where: str) -> bool:
    """Whether the device would have all that is asked for, if nobody used it."""
    try:
        return fits(candidate.device, wish.request.capacity, {})
    except UnusableCapacity as error:
        about = f": checking capacity for device {candidate.id.device}"
        raise DeviceFault(where, about, error) from error
