"""Held rooms: for which pod group room is kept free, and until when, for whoever tells it."""

from __future__ import annotations

import datetime
from typing import NamedTuple, Protocol

from moorage.core.objects.pod_groups import GroupKey
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.ports.clock import Clock


class HeldRoom(NamedTuple):
    """Room that is held for a group, until then at the latest, by the boot clock."""

    group: PodGroupState
    until: float


class RoomHolder(Protocol):
    """Whoever holds room, for one group at a time."""

    @property
    def held_room(self) -> HeldRoom | None:
        """What is held now."""


def held_until(holder: RoomHolder, key: GroupKey | None, scheduler_name: str) -> float | None:
    """Until when room is held for this group; None where none is."""
    held = holder.held_room
    if held is None or (held.group.key, held.group.scheduler_name) != (key, scheduler_name):
        return None
    return held.until


def wall_time(boottime: float, clock: Clock) -> datetime.datetime:
    """What clocks on the wall show at this moment of the boot clock."""
    return clock.now() + datetime.timedelta(seconds=boottime - clock.boottime())
