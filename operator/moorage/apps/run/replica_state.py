"""The replica state, which says how far a replica is: the supervisor writes it, health checks read
it, on the side, and announcements.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from typing import Any


class ReplicaPhase(enum.Enum):
    """The steps of a replica's life."""

    STARTING = "starting"
    STANDBY = "standby"
    CATCHING_UP = "catching up"
    LEADING = "leading"
    STOPPING = "stopping"


class ReplicaState:
    """One replica's phase, its tasks that should run for ever, and the port at which it answers (0:
    none yet). Values are replaced whole.
    """

    def __init__(self) -> None:
        self.phase = ReplicaPhase.STARTING
        self.port = 0
        self.tasks: Mapping[str, asyncio.Task[Any]] = {}

    def dead(self) -> list[str]:
        """Names of tasks that have ended although they should not."""
        return (
            [name for name, task in self.tasks.items() if task.done()]
            if self.phase is not ReplicaPhase.STOPPING
            else []
        )
