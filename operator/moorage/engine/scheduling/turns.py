"""Turns: no profile has the loop to itself while pods of others are ready.

The queue's order is that of all profiles. But one whose pods are many, or take long, would have
everybody else wait for all of them; so each has a turn of own time, and then stands back until
those that are ready have had theirs. What it took beyond its turn counts against it the next time.
"""

from __future__ import annotations

from moorage.core.structures.budget import SLICE_SECONDS

ROUND_SECONDS = 0.25
"""Seconds of own time that the turns of all profiles take which are busy."""
MIN_SLICE_SECONDS = 0.001
"""Seconds of a slice: in a shorter one little would be done beside beginning anew."""


class ProfileTurns:
    """See the module's docstring."""

    def __init__(self) -> None:
        self.late: dict[str, float] = {}
        """The profiles that had their turn, by schedulerName, and how long it was."""
        self.slice = SLICE_SECONDS
        """How long an attempt may take before it is set down: less where many profiles are busy, so
        that a round is not longer.
        """
        self._used: dict[str, float] = {}

    def used(self, name: str, seconds: float) -> None:
        """So much time went to a pod of this profile."""
        total = self._used[name] = self._used.get(name, 0.0) + seconds
        turn = ROUND_SECONDS / len(self._used)
        self.slice = min(SLICE_SECONDS, max(MIN_SLICE_SECONDS, turn))
        if total >= turn:
            self.late[name] = total

    def begins(self, name: str) -> None:
        """A pod of this profile is next. If it is late no other was ready, so all are let off
        what it has used.
        """
        off = self.late.get(name)
        if off is not None:
            self._used = {
                other: left for other, total in self._used.items() if (left := total - off) > 0
            }
            turn = ROUND_SECONDS / max(1, len(self._used))
            self.late = {other: total for other, total in self._used.items() if total >= turn}
