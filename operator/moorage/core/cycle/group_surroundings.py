"""Surroundings of a group's attempt: what it asks about others between two slices.

The engine knows; in a replay it is what was said then.
"""

from __future__ import annotations

from typing import Final, Protocol


class GroupSurroundings(Protocol):
    """Asked at a moment of the attempt."""

    def may_make_room(self) -> bool:
        """Whether others may be displaced for the group now: not while members of other groups are
        placed that may be taken back. Raises OutOfTime where it will be known soon.
        """


class _Undisturbed:
    def may_make_room(self) -> bool:
        return True


UNDISTURBED: Final[GroupSurroundings] = _Undisturbed()
"""Nothing else happens."""
