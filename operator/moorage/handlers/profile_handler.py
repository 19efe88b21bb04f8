"""The handler for SchedulerProfiles."""

from __future__ import annotations

from typing import Any

import kopf

from moorage.handlers.deliveries import Deliveries, ProfileReceiver

PLURAL = "schedulerprofiles"


def register(
    registry: kopf.OperatorRegistry, group: str, version: str, receiver: ProfileReceiver
) -> Deliveries:
    """Make ``receiver`` hear of every SchedulerProfile."""
    profiles = Deliveries(PLURAL, receiver.profile_changed)

    @kopf.on.event(group, version, PLURAL, registry=registry)
    async def scheduler_profile(event: kopf.RawEvent, **_: Any) -> None:
        profiles.heard(event)

    return profiles
