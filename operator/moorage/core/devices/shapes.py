"""Shapes: what nodes offer, names aside."""

from __future__ import annotations

from moorage.core.devices.pools import Pool
from moorage.core.devices.uses import DevicesInUse, UseCounts


def shape_of(pool: Pool, uses: DevicesInUse) -> tuple[object, ...]:
    """All of a pool that the search looks at, names left out."""
    devices = tuple((one.equivalence_key, _content(uses.of(one.id))) for one in pool.devices)
    left = uses.remaining_counters(pool)
    return (
        pool.id.driver,
        pool.state,
        devices,
        None if left is None else tuple(sorted(left.items())),
    )


def _content(use: UseCounts) -> tuple[object, ...]:
    """A use without what order its capacities came in."""
    return use.whole > 0, use.shares > 0, tuple(sorted(use.consumed.items()))
