"""Surroundings of a group's attempt: what it asks about others between two slices.

A member that is deleted meanwhile, or has a node by somebody else's doing, is not placed; the
others go on while they can be enough. The engine knows; in a replay it is what was said then.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from moorage.core.cycle.context import Diagnosis
from moorage.core.framework.extenders import ExtenderAnswer, ExtenderFailure, ExtenderQuestion
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod

LOST_MEMBER: Final = "pod is gone, is going, or has a node"


class GroupNews(NamedTuple):
    """What has become of a group since its attempt began. ``lost``: UIDs of members that are not to
    be placed any more, or are not on their nodes any more. ``min_count``: None as it was.
    """

    lost: frozenset[str] = frozenset()
    min_count: int | None = None


class OthersAround(Protocol):
    """Who is asked for the sake of a group."""

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


class GroupSurroundings(OthersAround, Protocol):
    """Asked at a moment of the attempt."""

    def news(self) -> GroupNews:
        """What has become of the group."""


class _Undisturbed:
    asks_extenders = False

    def may_make_room(self) -> bool:
        return True

    def ask(self, _pod: Pod, _question: ExtenderQuestion) -> ExtenderAnswer:
        return ExtenderFailure("nobody is asked")

    def news(self) -> GroupNews:
        return GroupNews()


UNDISTURBED: Final[GroupSurroundings] = _Undisturbed()
"""Nothing else happens, and extenders are not asked."""


def lost_member(pod: Pod, revision: Revision) -> Diagnosis:
    """What is decided about a member that is not to be placed any more."""
    return Diagnosis(pod=pod, revision=revision, code=Code.UNSCHEDULABLE, message=LOST_MEMBER)
