"""All ports that the engine is given, in one piece."""

from __future__ import annotations

import asyncio
import dataclasses

from moorage.core.columns.changes import NO_JOURNAL, Journal
from moorage.ports.clock import Clock
from moorage.ports.event_recorder import EventRecorder
from moorage.ports.extender_calls import ExtenderClient
from moorage.ports.kube import KubeReader, KubeWriter, ReplicaAnnouncer
from moorage.ports.leadership import Election
from moorage.ports.status_writer import StatusWriter
from moorage.ports.telemetry import Telemetry


@dataclasses.dataclass(frozen=True, slots=True)
class Ports:
    """The ports that the engine is given."""

    clock: Clock
    writes: KubeWriter
    status_writes: StatusWriter
    reads: KubeReader
    events: EventRecorder
    telemetry: Telemetry
    announcer: ReplicaAnnouncer
    extenders: ExtenderClient
    election: Election
    rights_in_doubt: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    """Set where rights may be others than they were: a request was answered with 403, or profiles
    are others.
    """
    journal: Journal = dataclasses.field(default_factory=lambda: NO_JOURNAL)
