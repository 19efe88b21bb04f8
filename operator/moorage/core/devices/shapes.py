"""Shapes: what nodes offer, names aside."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import msgspec

from moorage.core.devices.pools import CounterId, Pool, PoolState, facts_content
from moorage.core.devices.uses import AvailableDevices, DevicesInUse, UseCounts

_Shape: TypeAlias = tuple[
    str,
    PoolState,
    tuple[tuple[object, ...], ...],
    tuple[tuple[object, ...], ...],
    tuple[tuple[CounterId, int], ...] | None,
]

"""Driver, state, what each device looks like, how each is used (columns, as there are many devices
and each object costs the garbage collector time), and what is left of the counters.
"""


def shape_of(pool: Pool, uses: DevicesInUse) -> _Shape:
    """All of a pool that the search looks at, names left out."""
    left = uses.remaining_counters(pool)
    return (
        pool.id.driver,
        pool.state,
        tuple(one.equivalence_key for one in pool.devices),
        tuple(_content(uses.of(one.id)) for one in pool.devices),
        None if left is None else tuple(sorted(left.items())),
    )


def _content(use: UseCounts) -> tuple[object, ...]:
    """A use without what order its capacities came in."""
    if use == _NO_USE:
        return _UNUSED
    return use.whole > 0, use.shares > 0, tuple(sorted(use.consumed.items()))


_NO_USE = UseCounts()
_UNUSED: tuple[object, ...] = (False, False, ())


def offer_digest(offer: AvailableDevices) -> str:
    """The same for offers of one shape, in every process."""
    told = [
        (
            driver,
            state.value,
            [(*look[1:], use) for look, use in zip(looks, uses, strict=True)],
            left,
        )
        for driver, state, looks, uses, left in (shape_of(pool, offer.uses) for pool in offer.pools)
        if looks or state is not PoolState.USABLE
    ]
    facts = [
        facts_content(one.id.driver, one.device) for pool in offer.pools for one in pool.devices
    ]
    return hashlib.blake2b(msgspec.json.encode((told, facts)), digest_size=16).hexdigest()
