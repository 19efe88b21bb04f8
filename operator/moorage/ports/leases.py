"""A Lease, as leader election sees it: what is in it, and the requests that it takes."""

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
    """One Lease object. Raises only what ``ports.errors`` lists; every request ends within the store's own time-out.

    Requests may overlap. One that follows another without an answer goes over a connection of its own.
    """

    async def read(self) -> tuple[LeaseRecord, str]:
        """The record and its resourceVersion; NotFound when there is no Lease yet."""

    async def create(self, record: LeaseRecord) -> str:
        """Make the Lease, return its resourceVersion; Conflict when another was faster."""

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Write over exactly ``version``, return the new one; Conflict when it changed meanwhile."""

    async def rewrite(self, record: LeaseRecord, holder: str) -> str:
        """Write over whatever version ``holder`` holds, return the new one; Invalid when another holds it, NotFound when it is gone.

        Doing it twice does no harm, so an answer that was lost needs no reading.
        """
