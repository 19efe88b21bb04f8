"""Rosters: which pods of a profile, or of all profiles, are in the backlog, and how many of them are where."""

from __future__ import annotations

from collections import OrderedDict

from moorage.core.queue.queued_pod import Counts, Entry, Place


class Roster:
    """Kept up to date with each move, so that it can be read at any time for nothing."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        """By UID, in the order in which they came."""
        self._queued: OrderedDict[str, Entry] = OrderedDict()
        """Those that could have been tried, in the order of ``first_queued_at``."""
        self._sizes = dict.fromkeys(Place, 0)
        self._places: dict[str, Place] = {}

    def moved(self, entry: Entry) -> None:
        """An entry went to where it says it is; None stands for outside."""
        origin = self._places.pop(entry.uid, None)
        if origin is not None:
            self._sizes[origin] -= 1
        if entry.place is None:
            self.entries.pop(entry.uid, None)
            self._queued.pop(entry.uid, None)
            return
        self._places[entry.uid] = entry.place
        self.entries.setdefault(entry.uid, entry)
        self._sizes[entry.place] += 1
        if entry.place in (Place.ACTIVE, Place.BACKOFF):
            self._queued.setdefault(entry.uid, entry)

    def counts(self) -> Counts:
        """The numbers now."""
        oldest = next(iter(self._queued.values()), None)
        sizes = self._sizes
        return Counts(
            active=sizes[Place.ACTIVE],
            backoff=sizes[Place.BACKOFF],
            unschedulable=sizes[Place.UNSCHEDULABLE],
            gated=sizes[Place.GATED],
            in_flight=sizes[Place.IN_FLIGHT],
            held=sizes[Place.HELD],
            oldest=oldest.first_queued_at if oldest is not None else None,
        )
