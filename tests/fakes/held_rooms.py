"""Who holds room for a group: nobody, or whom a test says."""

from __future__ import annotations

import dataclasses

from moorage.engine.reports.held_rooms import HeldRoom


@dataclasses.dataclass
class ScriptedRooms:
    """``RoomHolder``."""

    held_room: HeldRoom | None = None
