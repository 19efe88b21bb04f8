"""The event recorder: what is told of an object where its users see it."""

from __future__ import annotations

import dataclasses
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectRef:
    """The object that an event is about."""

    kind: str
    name: str
    uid: str
    namespace: str = ""
    api_version: str = "v1"


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to an object, for people (events.k8s.io/v1). ``note`` is cut to 1024
    bytes when sent.
    """

    regarding: ObjectRef
    reason: str
    note: str
    action: str
    controller: str
    """reportingController: the pod's schedulerName, or moorage for profiles."""
    warning: bool = False
    related: ObjectRef | None = None
    once: bool = False
    """Whether its name is made of what it says: as long as the API server keeps it, nobody makes a
    second one, not even another replica.
    """


class EventRecorder(Protocol):
    """Takes events, sends them in its own time; never blocks, never raises."""

    def record(self, event: Event) -> None:
        """Log it and queue it for the API server."""


class EventSender(EventRecorder, Protocol):
    """An event recorder whose events go out while ``run`` is running."""

    async def run(self) -> None:
        """Send until cancelled."""

    async def flush(self, seconds: float) -> None:
        """Wait at most so long until all is sent."""
