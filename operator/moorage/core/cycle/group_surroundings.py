"""Surroundings of a group's attempt: what it asks about others between two slices.

The engine knows; in a replay it is what was said then.
"""

from __future__ import annotations

from typing import Final, Protocol

from moorage.core.framework.extenders import ExtenderAnswer, ExtenderFailure, ExtenderQuestion
from moorage.core.objects.pods import Pod


class GroupSurroundings(Protocol):
    """Asked at a moment of the attempt."""

    def may_make_room(self) -> bool:
        """Whether others may be displaced for the group now: not while members of other groups are
        placed that may be taken back. Raises OutOfTime where it will be known soon.
        """

    @property
    def asks_extenders(self) -> bool:
        """Whether extenders have a say about members on a copy."""

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        """Their answer about a member. Raises OutOfTime until it is there; the same is asked again
        then.
        """


class _Undisturbed:
    asks_extenders = False

    def may_make_room(self) -> bool:
        return True

    def ask(self, _pod: Pod, _question: ExtenderQuestion) -> ExtenderAnswer:
        return ExtenderFailure("nobody is asked")


UNDISTURBED: Final[GroupSurroundings] = _Undisturbed()
"""Nothing else happens, and extenders are not asked."""
