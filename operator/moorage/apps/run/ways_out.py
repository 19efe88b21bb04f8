"""Ways out: what goes to the API server, the Leases left out. Here, and nowhere else, is the
difference between who decides and who observes.

No writer of decisions and no recorder of events is made for an observer, so nothing in it can act.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Awaitable, Callable

from moorage.adapters.event_broadcaster import EventBroadcaster
from moorage.adapters.kube_session import KubeSession
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.kube_writes.status_writes import HttpStatusWriter
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run.home_namespace import ensure_namespace
from moorage.apps.run.serving_place import host_name
from moorage.engine.engine import Engine
from moorage.engine.observing import ObservingEngine
from moorage.ports.clock import Clock
from moorage.ports.event_recorder import EventSender
from moorage.ports.kube import KubeWriter
from moorage.ports.leadership import Fence
from moorage.ports.nowhere import NO_WRITES, NoEvents
from moorage.ports.status_writer import StatusWriter
from moorage.ports.telemetry import Telemetry


@dataclasses.dataclass(frozen=True, slots=True)
class WaysOut:
    """The engine's kind, what it writes by, and what is done before the lease is asked for."""

    engine: type[Engine]
    writes: KubeWriter
    status_writes: StatusWriter
    events: EventSender
    prepare: Callable[[], Awaitable[None]]


def ways_out(
    config: OperatorConfiguration,
    session: KubeSession,
    fence: Fence,
    clock: Clock,
    telemetry: Telemetry,
) -> WaysOut:
    """Those that the configuration's mode has."""
    home = config.leader_election.resource_namespace, config.leader_election.resource_name
    if config.observes:
        statuses = HttpStatusWriter(session, fence, clock, home)
        return WaysOut(ObservingEngine, NO_WRITES, statuses, NoEvents(), _nothing)
    writes = HttpKubeWriter(session, fence, clock, home, config.bind_concurrency)
    return WaysOut(
        engine=Engine,
        writes=writes,
        status_writes=writes,
        events=EventBroadcaster(session, clock, telemetry, host_name()),
        prepare=functools.partial(ensure_namespace, session, clock, home[0]),
    )


async def _nothing() -> None:
    pass
