"""Consumable capacity: how much of a device a request takes, and whether that much is left. Amounts
in nano-units.

Source: Kubernetes dynamic-resource-allocation/structured, ``consumable_capacity`` (v1.37).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubefacts.quantities import NANO, canonical, nanos
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.resource_claims import (
    CapacityPolicy,
    CapacityRange,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

Used = Mapping[str, int]
"""Capacity -> what is taken of it."""
_MILLI = 10**6
_MOST = 2**63 - 1
_EXPONENT = re.compile(r"[eE][+-]?\d")


class UnusableCapacity(ValueError):
    """An amount that cannot be given of any device: the search ends."""


def fits(device: Device, asked: CapacityRequirements | None, used: Used) -> bool:
    """Whether the device has all that is asked for, beside what is used; a capacity that it does
    not have at all never fits. Raises UnusableCapacity.
    """
    capacity = device.capacity or {}
    if any(name not in capacity for name in _requests(asked)):
        return False
    amounts = {name: nanos(amount) for name, amount in _all_taken(device, asked).items()}
    return not any(
        _violates(amount, capacity[name].request_policy)
        or used.get(name, 0) + amount > nanos(capacity[name].value)
        for name, amount in amounts.items()
    )


def consumed(device: Device, asked: CapacityRequirements | None) -> ResourceList:
    """What a request takes of each capacity of a device that can be shared, as Kubernetes writes
    quantities. Raises UnusableCapacity.
    """
    return {name: canonical(amount) for name, amount in _all_taken(device, asked).items()}


def _all_taken(device: Device, asked: CapacityRequirements | None) -> ResourceList:
    requests, taken = _requests(asked), dict[str, str | int]()
    for name, has in (device.capacity or {}).items():
        try:
            taken[name] = _taken(requests.get(name), has)
        except UnusableCapacity as error:
            raise UnusableCapacity(f'capacity "{name}": {error}') from error
        if nanos(taken[name]) < 0:
            raise UnusableCapacity(f'capacity "{name}": capacity value is negative')
    return taken


def _requests(asked: CapacityRequirements | None) -> ResourceList:
    return (asked.requests if asked is not None else None) or {}


def _taken(asked: str | int | None, has: DeviceCapacity) -> str | int:
    """An unasked capacity is taken by its default, or as a whole; an amount is rounded up to one
    that the policy knows.
    """
    policy = has.request_policy
    if asked is None:
        return has.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    span = policy.valid_range
    if span is not None and span.min is not None:
        return _rounded_up(asked, span.min, span)
    return next(
        (value for value in policy.valid_values or () if nanos(asked) <= nanos(value)), asked
    )


def _rounded_up(asked: str | int, least: str | int, span: CapacityRange) -> str | int:
    """To ``least``, or to a whole number of steps beyond it, written as the step is. Raises
    UnusableCapacity.
    """
    if nanos(asked) < nanos(least):
        return least
    unit = _unit(span)
    first, size = _units(least, unit), _units(span.step or 0, unit)
    if not size:
        return asked
    if unit == _MILLI and not _is_in_milli(asked):
        raise _not_representable(f"request {canonical(asked)} is not a representable milli value")
    amount = first + size * -(-(_units(asked, unit) - first) // size)
    if amount > _MOST:
        limit = "the milli-value range" if unit == _MILLI else "MaxInt64"
        what = f"rounding request {canonical(asked)} up to the next step passes {limit}"
        raise _not_representable(what)
    return _written_like(amount * unit // _MILLI, str(span.step))


def _not_representable(what: str) -> UnusableCapacity:
    text = "capacity request cannot be represented in the device's range arithmetic"
    return UnusableCapacity(f"{text}: {what}")


def _unit(span: CapacityRange) -> int:
    """What a range is counted in, in nano-units: thousandths, or ones where these do not do."""
    said = [one for one in (span.min, span.max, span.step) if one is not None]
    in_milli = all(map(_is_in_milli, said)) and nanos(span.step or 0) >= _MILLI
    return _MILLI if in_milli else NANO


def _is_in_milli(quantity: str | int) -> bool:
    amount = nanos(quantity)
    return amount % _MILLI == 0 and abs(amount) <= _MOST * _MILLI


def _written_like(milli: int, step: str) -> str:
    """So many thousandths, in the style of a step."""
    whole, rest = divmod(milli, 1000)
    if step.endswith("i") and not rest:
        kibi, ones = divmod(whole, 1024)
        return f"{kibi}.{ones * 9765625:010}Ki"
    return f"{milli}e-3" if _EXPONENT.search(step) else f"{milli}m"


def _violates(amount: int, policy: CapacityPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == nanos(policy.default)):
        return False
    span = policy.valid_range
    if span is None:
        return bool(policy.valid_values) and amount not in map(nanos, policy.valid_values or ())
    if span.max is not None and amount > nanos(span.max):
        return True
    unit = _unit(span)
    size = _units(span.step or 0, unit)
    if size and unit == _MILLI and amount % _MILLI:
        return True
    return size != 0 and (-(-amount // unit) - _units(span.min or 0, unit)) % size != 0


def _units(quantity: str | int, unit: int) -> int:
    """Rounded up."""
    return -(-nanos(quantity) // unit)


def total(taken: Mapping[str, str | int], used: Used) -> dict[str, int]:
    """``used`` and, beside it, quantities that are taken."""
    return added({name: nanos(amount) for name, amount in taken.items()}, used)


def added(one: Used, other: Used) -> dict[str, int]:
    """The sums of both."""
    return {**other, **{name: other.get(name, 0) + amount for name, amount in one.items()}}
