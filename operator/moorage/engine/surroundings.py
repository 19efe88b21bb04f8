"""Surroundings: everything that the engine does things with, made by apps and handed on to its parts."""

from __future__ import annotations

import dataclasses

from moorage.ports.extenders import Extenders
from moorage.ports.kube import Announcer, Reads, Writes
from moorage.ports.surroundings import Clock, EventSink, Telemetry


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """See the module's docstring."""

    clock: Clock
    writes: Writes
    reads: Reads
    events: EventSink
    telemetry: Telemetry
    announcer: Announcer
    extenders: Extenders
    identity: str
    """This replica's, as leader election has it."""
