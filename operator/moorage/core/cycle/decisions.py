"""Decisions as entries of the journal, and who decides, beside what becomes of the state
(``core.columns.changes``).

An entry is appended when its decision is made and before anything is done about it, so that whoever
has the same state by then can make it again. What is done about it follows as changes.
"""

from __future__ import annotations

import enum

from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import Decision
from moorage.core.framework.extenders import ExtenderAnswer
from moorage.core.framework.holds import Hold
from moorage.core.framework.placement_contract import ALL_NODES, Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Status
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod


class DecidedBy(enum.IntEnum):
    """Which function of ``core.cycle`` decided."""

    CYCLE = 0
    GANG_MEMBER = 1
    HOLDING_GANG_MEMBER = 2
    """Members of groups that others than Kubernetes declare, in recordings of when these had a
    cycle of their own: they are not made again.
    """
    EXTENDER_CYCLE = 3
    GROUP_MEMBER = 5
    """A member of a pod group, on the nodes of one placement."""
    POD_GROUP = 6
    """A pod group as a whole, with what is said of each of its members."""
    NOBODY = 4
    """A fault or the clock ended the attempt: it cannot be decided again."""


class Decided(Entry, frozen=True):
    """An outcome. ``sampled_from``: where the search of a sampling profile began.
    ``cycle``: the number of the extender cycle, 0 for none. ``placement``: on which nodes a member
    of a PodGroup was tried. ``makes_room`` as in ``CycleContext``.
    """

    outcome: Decision
    by: DecidedBy
    sampled_from: int = 0
    cycle: int = 0
    placement: Placement = ALL_NODES
    makes_room: bool = True


class ExtenderCycleBegan(Entry, frozen=True):
    """A pod that extenders are asked about; ``cycle`` numbers it. ``placement``: the nodes that a
    member of a group is tried on, None for a pod alone. ``makes_room`` as in ``CycleContext``.
    """

    cycle: int
    pod: Pod
    revision: Revision
    sampled_from: int
    placement: Placement | None = None
    makes_room: bool = True


class ExtenderAnswered(Entry, frozen=True):
    """The answer to the question that the cycle has come to; ``makes_room`` as above."""

    cycle: int
    answer: ExtenderAnswer
    sampled_from: int
    makes_room: bool = True


class ExtenderCycleEnded(Entry, frozen=True, tag=23):
    """It is over, decided or not."""

    cycle: int


class GroupAttemptBegan(Entry, frozen=True):
    """The attempt of a PodGroup begins, as its ``attempt``-th; the fields are ``GroupAttempt``'s,
    ``scheduled`` by UID. Decisions about its members follow, and are taken for its own.
    """

    attempt: int
    group: GroupSpec
    members: tuple[Pod, ...]
    scheduled: tuple[str, ...]
    revision: Revision
    holds: bool = False


class GroupMoment(Entry, frozen=True, tag=34):
    """The attempt has asked something of the state of now: what became of a member, which placement
    is best, what a plugin says, or for a copy on which room is made. ``makes_room``: whether room
    might be made for it then; asked at some of these moments, as are ``lost``
    and ``min_count`` (``GroupNews``).
    """

    attempt: int
    makes_room: bool = True
    lost: tuple[str, ...] = ()
    min_count: int | None = None


class GroupExtenderAnswered(Entry, frozen=True):
    """The answer to the question about a member that the attempt has come to on a copy of the
    state.
    """

    attempt: int
    answer: ExtenderAnswer


class GroupDecided(Entry, frozen=True):
    """What came of a group (``GroupOutcome``); ``first`` is the first of its members.
    ``overtaken``: by what others did, which is not looked at again in a replay.
    """

    attempt: int
    first: Pod
    revision: Revision
    status: Status
    members: tuple[Decision, ...]
    victims: tuple[Pod, ...]
    overtaken: bool


class GroupAttemptEnded(Entry, frozen=True, tag=35):
    """It is over, decided or not."""

    attempt: int


class ProfileActivated(Entry, frozen=True):
    """This revision decides from now on for pods with the schedulerName. ``revision``: None in a
    replay where it cannot be made.
    """

    scheduler_name: str
    revision: Revision | None


class ProfileDeactivated(Entry, frozen=True, tag=31):
    """None does."""

    scheduler_name: str


class ProfileHeld(Entry, frozen=True, tag=32):
    """Nobody tries pods with this schedulerName from now on; ``hold``: None where they are tried
    again.
    """

    scheduler_name: str
    hold: Hold | None
