"""One scheduling attempt: what is kept of it while it is under way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator

from moorage.core.cycle.context import Decision
from moorage.core.cycle.group_cycle import GroupWithdrawn
from moorage.core.framework.extenders import ExtenderAnswer
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.scheduling.group_scheduler import GroupDone
from moorage.engine.scheduling.whole_objects import WholeObjects


@dataclasses.dataclass(slots=True, eq=False)
class MemberQuestion:
    """What extenders are asked about a member of a group. ``withdraw`` ends it before they have
    answered; ``starts``: how often it was begun.
    """

    withdraw: Callable[[], None]
    starts: int = 1
    waits: bool = True
    decision: Decision | None = None
    """What came of it; None where the member is gone, is going, or has a node."""
    answer: ExtenderAnswer | None = None
    """The same, for a question about a member on a copy."""


@dataclasses.dataclass(slots=True, eq=False)
class SchedulingAttempt:
    """An attempt that is under way. ``spent``: seconds of its own time. ``placing``: what is placed
    of a group so far.
    """

    entry: QueuedPodInfo
    started: float
    spent: float = 0.0
    placing: Generator[bool, bool | None, GroupDone] | None = None
    others_restarted: bool = False
    """Whether groups that were begun later have been taken back, and wait until the member that is
    being placed is.
    """
    kept_out: list[str] = dataclasses.field(default_factory=list)
    """Pods (UIDs) that were rejected meanwhile: perhaps for the room that this group may give back,
    and nobody made any.
    """
    restart_was_futile: bool = False
    """Whether that has helped no member: it is not done again."""
    is_withdrawn: bool = False
    """Whether what is placed of its group is being taken back, so that it begins anew."""
    question: MemberQuestion | None = None
    """What extenders are asked about the member whose turn it is."""
    objects: WholeObjects | None = None
    """What was read to ask them."""

    @property
    def waits(self) -> bool:
        """Whether it can go on only with an extender's answer."""
        return self.question is not None and self.question.waits

    def take_back_some(self) -> None:
        """A step of taking back what is placed of its group; after the last one it is not being
        placed any more, and may begin anew.
        """
        placing, begins, self.is_withdrawn = self.placing, not self.is_withdrawn, True
        self._withdraw_question()
        try:
            if placing is not None:
                placing.throw(GroupWithdrawn()) if begins else placing.send(False)
        except (GroupWithdrawn, StopIteration):
            self.placing, self.is_withdrawn = None, False
        except BaseException:
            self.placing, self.is_withdrawn = None, False
            raise

    def undo_placing(self) -> None:
        """What is placed of its group is not any more, at once."""
        placing, self.placing = self.placing, None
        self.is_withdrawn = False
        self._withdraw_question()
        if placing is not None:
            placing.close()

    def _withdraw_question(self) -> None:
        question, self.question = self.question, None
        if question is not None:
            question.withdraw()


def give_back(entry: QueuedPodInfo, queue: SchedulingQueue, now: float) -> None:
    """A pod is not tried after all: it goes back to the queue, with those of its group that are
    left.
    """
    for each in (entry, *entry.companions):
        queue.put_back(each, now)
