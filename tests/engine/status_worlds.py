"""A leader that sees profiles and writes their statuses, one call at a time."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage.engine.profiles.profile_status import WRITE_INTERVAL_SECONDS
from moorage.ports.leadership import Leadership
from tests.engine.worlds import make_engine
from tests.fakes.clocks import EagerClock
from tests.fakes.election import FakeElection
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder


class StatusWorld:
    """The engine of installation ``moorage``, and what it writes."""

    def __init__(self) -> None:
        self.kube, self.clock = InMemoryKube(), EagerClock()
        election = FakeElection(lambda: Leadership("me", "", 0, ""))
        self.engine = make_engine(self.kube, FakeEventRecorder(), self.clock, election=election)

    def see(self, *bodies: dict[str, Any]) -> None:
        """Profiles and PluginConfigs are in this state; settle, and write what is due."""
        for body in bodies:
            is_profile = body["kind"] == "SchedulerProfile"
            engine = self.engine
            tell = engine.profile_changed if is_profile else engine.plugin_config_changed
            tell(body["metadata"]["name"], body)
        self.settle()

    def gone(self, name: str) -> None:
        """A profile is deleted; the same."""
        self.engine.profile_changed(name, None)
        self.settle()

    def settle(self) -> None:
        """Reconcile, and write what is due."""
        self.clock.jump(WRITE_INTERVAL_SECONDS)
        asyncio.run(self.engine.swapper.reconcile())
        asyncio.run(self.engine.profile_status.write_due())

    def condition(self, kind: str, profile: str) -> tuple[str, str, str] | None:
        """Status, reason and message as the API server has them; None without the condition."""
        conditions = self.kube.statuses["SchedulerProfile", profile]["conditions"]
        return next(
            (
                (one["status"], one["reason"], one["message"])
                for one in conditions
                if one["type"] == kind
            ),
            None,
        )
