"""Surveying: what a replica announces of itself and finds out about the others, at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.replica_monitor import (
    ROUND_INTERVAL_SECONDS,
    ReplicaMonitor,
)
from moorage.engine.profiles.swap import ProfileSwapper
from tests.engine.worlds import make_engine, make_ports
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

COMPONENTS = Path(__file__).parents[3] / "manifests" / "components"


class CountingKube(InMemoryKube):
    """Counts announcements."""

    announcements = 0

    async def announce(self, identity: str, revisions: Mapping[str, str]) -> None:
        """Remember and count it."""
        self.announcements += 1
        await super().announce(identity, revisions)


class Survey:
    """A leader's replica monitor, its API server, and what it tells status."""

    def __init__(self) -> None:
        self.kube, self.clock = CountingKube(), ManualClock()
        events = FakeEventRecorder()
        engine = make_engine(self.kube, events)
        self.swapper: ProfileSwapper = engine.swapper
        self.reconciler: ProfileStatusWriter = engine.profile_status
        self.surveyor = ReplicaMonitor(
            live=engine.live,
            records=engine.records,
            inputs=engine.replica_monitor.inputs,
            status=engine.profile_status,
            quarantine=engine.quarantine,
            changed=asyncio.Event(),
            ports=make_ports(self.kube, self.clock, events, CountingTelemetry()),
        )

    def look(self) -> None:
        """One round."""
        asyncio.run(self.surveyor.check_once())


def test_a_storm_of_changes_is_no_storm_of_requests() -> None:
    """However often the live revisions change, rounds are seconds apart, and the last change is
    told.
    """

    async def scenario() -> int:
        survey = Survey()
        running = asyncio.create_task(survey.surveyor.run())
        for _ in range(100):
            survey.surveyor.changed.set()
            await survey.clock.advance(0.1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert survey.kube.announced == {}, "the announcement is taken back at the end"
        return survey.kube.announcements

    assert asyncio.run(scenario()) == pytest.approx(10 / ROUND_INTERVAL_SECONDS, abs=1)


def test_a_change_is_looked_at_twice() -> None:
    """The other replicas follow a moment later; then nothing is asked until the next change."""

    async def scenario() -> list[int]:
        survey = Survey()
        running = asyncio.create_task(survey.surveyor.run())
        counts = []
        for _ in range(2):
            for _ in range(5):
                await survey.clock.advance(ROUND_INTERVAL_SECONDS)
            counts.append(survey.kube.announcements)
            survey.surveyor.changed.set()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return counts

    assert asyncio.run(scenario()) == [2, 4]
