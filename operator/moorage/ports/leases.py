"""A Lease, as leader election sees it: what is in it, and the three requests that it takes."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a coordination.k8s.io/v1 LeaseSpec that election uses; times are aware, duration is in seconds."""

    holder: str
    duration: int
    acquired: datetime.datetime | None
    renewed: datetime.datetime | None
    transitions: int


class LeaseStore(Protocol):
    """One Lease object. Raises only what ``ports.errors`` lists; every request ends within the store's own time-out."""

    async def read(self) -> tuple[LeaseRecord, str]:
        """The record and its resourceVersion; NotFound when there is no Lease yet."""

    async def create(self, record: LeaseRecord) -> str:
        """Make the Lease, return its resourceVersion; Conflict when another was faster."""

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Write over exactly ``version``, return the new one; Conflict when it changed meanwhile."""
