"""Whole searches, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.devices.allocator import Answer, Search
from moorage.core.devices.uses import Offer
from moorage.core.objects.resource_claims import ResourceClaim


def search(claims: Sequence[ResourceClaim], offer: Offer, tries: int = 0) -> tuple[Answer, ...] | None:
    """A whole search, set down as often as that can be."""
    found = Search(claims, offer, tries)
    while not found.run(lambda: True):
        pass
    return found.answers() if found.found else None
