"""Allocation of devices, naively: every way to give devices to all requests in order, and the first
in which nothing is wrong.

Of expressions and nodes it knows nothing: the devices given are those that the node reaches,
classes select by driver.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kubefacts.quantities import nanos
from moorage.core.objects.resource_claims import (
    Device,
    DeviceAttribute,
    DeviceConstraint,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)


class There(NamedTuple):
    """A device: the driver, the pool, and what the driver says of it."""

    driver: str
    pool: str
    device: Device


class Gift(NamedTuple):
    """A device for a request of a claim (by number); ``alternative`` is "" where there is none."""

    claim: int
    request: str
    alternative: str
    asked: DeviceSubRequest
    what: There


Counters = Mapping[str, int]
"""What a pool has to share among its devices: "mem" -> nano-units."""


def allocate(
    claims: Sequence[ResourceClaim],
    there: Sequence[There],
    taken: Sequence[There],
    counters: Counters,
) -> list[Gift] | None:
    """The first way in which all claims get all that they ask for; devices are tried in the order
    given.

    ``taken``: what others have, of a device that is shared as much as it says for a request that
    asks for no amount.
    """
    held = [Gift(-1, "", "", ExactDeviceRequest(), one) for one in taken]
    choices = [
        list(_choices(i, claim, number, there, held))
        for i, claim in enumerate(claims)
        for number in range(len(_requests(claim)))
    ]
    for way in itertools.product(*choices):
        gifts = [gift for part in way for gift in part]
        if _sound(claims, gifts, held, counters):
            return gifts
    return None


def _requests(claim: ResourceClaim) -> Sequence[object]:
    return claim.spec.devices.requests or ()


def _choices(
    claim_number: int,
    claim: ResourceClaim,
    number: int,
    there: Sequence[There],
    held: Sequence[Gift],
) -> Iterator[list[Gift]]:
    """All of them are those that have room left, whoever else has a share."""
    request = (claim.spec.devices.requests or ())[number]
    options: list[tuple[str, DeviceSubRequest]] = (
        [("", request.exactly)] if request.exactly is not None else []
    )
    options += [(option.name, option) for option in request.first_available or ()]
    for alternative, asked in options:
        matching = [one for one in there if asked.device_class_name in ("any", one.driver)]
        all_of = tuple(
            one
            for one in matching
            if _roomy(
                Gift(claim_number, "", "", asked, one), [gift for gift in held if gift.what == one]
            )
        )
        ways = [all_of] if asked.allocation_mode == "All" and all_of else []
        if asked.allocation_mode != "All":
            ways = list(itertools.combinations(matching, asked.count))
        for way in ways:
            yield [Gift(claim_number, request.name, alternative, asked, one) for one in way]


def _sound(
    claims: Sequence[ResourceClaim],
    gifts: Sequence[Gift],
    taken: Sequence[Gift],
    counters: Counters,
) -> bool:
    if any(not _tolerated(gift) for gift in gifts):
        return False
    for i, one in enumerate(gifts):
        looks = isinstance(one.asked, ExactDeviceRequest) and bool(one.asked.admin_access)
        earlier = [gift for gift in (*taken, *gifts[:i]) if gift.what == one.what]
        if not one.what.device.allow_multiple_allocations:
            if looks and any(gift.claim == one.claim for gift in earlier):
                return False
            if not looks and earlier:
                return False
        if not _roomy(one, earlier):
            return False
    return _within_counters(gifts, taken, counters) and all(
        _kept(constraint, [gift for gift in gifts if gift.claim == i])
        for i, claim in enumerate(claims)
        for constraint in claim.spec.devices.constraints or ()
    )


def _tolerated(gift: Gift) -> bool:
    tolerations = gift.asked.tolerations or ()
    return all(
        any(one.key in ("", taint.key) for one in tolerations)
        for taint in gift.what.device.taints or ()
    )


def _roomy(gift: Gift, earlier: Sequence[Gift]) -> bool:
    """Capacities without policies: what is not asked for is taken as a whole."""
    has = {name: nanos(one.value) for name, one in (gift.what.device.capacity or {}).items()}
    asked = _asked(gift)
    used: Counter[str] = Counter()
    for one in earlier if gift.what.device.allow_multiple_allocations else ():
        used.update({name: _asked(one).get(name, amount) for name, amount in has.items()})
    return asked.keys() <= has.keys() and all(
        used[name] + asked.get(name, amount) <= amount for name, amount in has.items()
    )


def _asked(gift: Gift) -> dict[str, int]:
    capacity = gift.asked.capacity
    return {
        name: nanos(amount)
        for name, amount in ((capacity.requests if capacity is not None else None) or {}).items()
    }


def _within_counters(gifts: Sequence[Gift], taken: Sequence[Gift], counters: Counters) -> bool:
    """A device pays each time that it is given, unless it is shared: then once."""
    left = Counter(dict(counters))
    everybody = [*taken, *gifts]
    paying = [gift.what for gift in everybody if not gift.what.device.allow_multiple_allocations]
    paying += {
        id(gift.what.device): gift.what
        for gift in everybody
        if gift.what.device.allow_multiple_allocations
    }.values()
    for one in paying:
        for consumption in one.device.consumes_counters or ():
            for name, counter in (consumption.counters or {}).items():
                left[name] -= nanos(counter.value)
    paid = [gift.what for gift in taken if gift.what.device.allow_multiple_allocations]
    any_pays = any(gift.what.device.consumes_counters for gift in gifts if gift.what not in paid)
    return not any_pays or all(amount >= 0 for amount in left.values())


def _kept(constraint: DeviceConstraint, gifts: Sequence[Gift]) -> bool:
    names = constraint.requests or ()
    meant = [
        gift
        for gift in gifts
        if not names or gift.request in names or f"{gift.request}/{gift.alternative}" in names
    ]
    values = [
        _attribute(gift.what, constraint.match_attribute or constraint.distinct_attribute or "")
        for gift in meant
    ]
    if None in values:
        return False
    different = len({str(value) for value in values})
    return different <= 1 if constraint.match_attribute is not None else different == len(values)


def _attribute(what: There, name: str) -> DeviceAttribute | None:
    attributes = what.device.attributes or {}
    domain, own = name.split("/")
    return attributes.get(name, attributes.get(own) if domain == what.driver else None)
