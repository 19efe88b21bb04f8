"""What goes to the API server, by the configuration's mode."""

from __future__ import annotations

import asyncio

from moorage.adapters.event_broadcaster import EventBroadcaster
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.kube_writes.status_writes import HttpStatusWriter
from moorage.adapters.system_clock import SystemClock
from moorage.api.operator_config import load_config
from moorage.apps.run.ways_out import WaysOut, ways_out
from moorage.engine.engine import Engine
from moorage.engine.observing import ObservingEngine
from moorage.ports.leadership import Fence
from moorage.ports.nowhere import NO_WRITES, NoEvents
from tests.adapters.api_server import StubApiServer, api_server
from tests.fakes.kube import WRITES
from tests.fakes.sinks import CountingTelemetry


def made(mode: str, *, prepare: bool = False) -> tuple[WaysOut, StubApiServer]:
    """Those of this mode, and whom they lead to."""

    async def scenario() -> tuple[WaysOut, StubApiServer]:
        clock, config = SystemClock(), load_config(None, {}, {"mode": mode})
        async with api_server() as server:
            session = await KubeSession.open(KubeSource(master=server.url), "test", clock)
            fence = Fence(clock.boottime)
            out = ways_out(config, session, fence, clock, CountingTelemetry())
            if prepare:
                await out.prepare()
            await session.close()
            return out, server

    return asyncio.run(scenario())


def test_an_observer_has_no_writer() -> None:
    """But one of statuses, which cannot do anything else; and nothing is made or asked ahead."""
    out, server = made("observer", prepare=True)
    assert (out.engine, out.writes) == (ObservingEngine, NO_WRITES)
    assert isinstance(out.events, NoEvents)
    assert type(out.status_writes) is HttpStatusWriter
    can = {name for name in WRITES if hasattr(out.status_writes, name)}
    assert can == {"profile_status", "plugin_config_status", "delete_replica"}
    assert not server.requests


def test_a_decider_has_one() -> None:
    """For all that is written."""
    out, _ = made("decider")
    assert out.engine is Engine
    assert isinstance(out.writes, HttpKubeWriter)
    assert out.status_writes is out.writes
    assert isinstance(out.events, EventBroadcaster)
