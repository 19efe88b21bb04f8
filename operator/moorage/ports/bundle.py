"""All ports that the engine is given, in one piece."""

from __future__ import annotations

import dataclasses

from moorage.ports.clock import Clock
from moorage.ports.event_recorder import EventSink
from moorage.ports.extender_calls import Extenders
from moorage.ports.kube import Announcer, Reads, Writes
from moorage.ports.telemetry import Telemetry


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
