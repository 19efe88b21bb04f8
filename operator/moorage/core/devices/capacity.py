"""Consumable capacity: how much of a device a request takes, and whether that much is left. Amounts
in nano-units.

Source: Kubernetes dynamic-resource-allocation/structured, ``consumable_capacity`` (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping

from kubefacts.quantities import canonical, nanos, to_units
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.resource_claims import (
    CapacityPolicy,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

Used = Mapping[str, int]
"""Capacity -> what is taken of it."""


def fits(device: Device, asked: CapacityRequirements | None, used: Used) -> bool:
    """Whether the device has all that is asked for, beside what is used; a capacity that it does
    not have at all never fits.
    """
    capacity = device.capacity or {}
    requests = _requests(asked)
    if any(name not in capacity for name in requests):
        return False
    for name, has in capacity.items():
        amount = nanos(_taken(requests.get(name), has))
        if _violates(amount, has.request_policy) or used.get(name, 0) + amount > nanos(has.value):
            return False
    return True


def consumed(device: Device, asked: CapacityRequirements | None) -> ResourceList:
    """What a request takes of each capacity of a device that can be shared, as Kubernetes writes
    quantities.
    """
    requests = _requests(asked)
    return {
        name: canonical(_taken(requests.get(name), has))
        for name, has in (device.capacity or {}).items()
    }


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
        return _rounded_up(asked, span.min, span.step)
    return next(
        (value for value in policy.valid_values or () if nanos(asked) <= nanos(value)), asked
    )


def _rounded_up(asked: str | int, least: str | int, step: str | int | None) -> str | int:
    """To ``least``, or to a whole number of steps beyond it (in whole units)."""
    if nanos(asked) < nanos(least):
        return least
    first, size = _units(least), _units(step or 0)
    if not size:
        return asked
    amount = first + size * -(-(_units(asked) - first) // size)
    return f"{amount // 1024}Ki" if amount % 1024 == 0 else amount


def _violates(amount: int, policy: CapacityPolicy | None) -> bool:
    if policy is None or (policy.default is not None and amount == nanos(policy.default)):
        return False
    span = policy.valid_range
    if span is None:
        return bool(policy.valid_values) and amount not in map(nanos, policy.valid_values or ())
    if span.max is not None and amount > nanos(span.max):
        return True
    size = _units(span.step or 0)
    return size != 0 and (to_units(amount) - _units(span.min or 0)) % size != 0


def _units(quantity: str | int) -> int:
    return to_units(nanos(quantity))


def total(taken: Mapping[str, str | int], used: Used) -> dict[str, int]:
    """``used`` and, beside it, quantities that are taken."""
    return added({name: nanos(amount) for name, amount in taken.items()}, used)


def added(one: Used, other: Used) -> dict[str, int]:
    """The sums of both."""
    return {**other, **{name: other.get(name, 0) + amount for name, amount in one.items()}}
