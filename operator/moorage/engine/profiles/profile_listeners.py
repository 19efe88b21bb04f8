"""Listeners: who hears that profiles were reconciled, or that one of them is gone."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Protocol

from moorage.engine.intake.latest import LatestPods
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.unmatched_pods import PodsOfInvalidProfiles, UnmatchedPods


class ProfileListener(Protocol):
    """Hears of profiles, once it is decided what becomes of them."""

    def profiles_reconciled(self) -> None:
        """Records may have changed."""

    def profile_orphaned(self, scheduler_name: str, profile: str) -> None:
        """A profile is gone and no other one has its schedulerName."""


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileReports:
    """``ProfileListener``: what users see follows, and this replica announces what it serves."""

    status: ProfileStatusWriter
    invalid: PodsOfInvalidProfiles
    unmatched: UnmatchedPods
    pods: LatestPods
    changed: asyncio.Event
    """Set for ``ReplicaMonitor``."""
    rights_in_doubt: asyncio.Event
    """Set for ``RightsMonitor``."""

    def profiles_reconciled(self) -> None:
        """Statuses are written, and pods that no valid profile serves have it explained."""
        self.status.notify()
        self.changed.set()
        self.rights_in_doubt.set()
        self.invalid.profiles_reconciled()
        self.pods.report_waiting_aside()

    def profile_orphaned(self, scheduler_name: str, profile: str) -> None:
        """Its pods have it explained."""
        self.unmatched.profile_orphaned(scheduler_name, profile)
