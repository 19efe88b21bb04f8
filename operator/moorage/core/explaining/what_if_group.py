"""What if, asked of a whole pod group: one answer for all of its members.

A pod that is a member stands for all members that ask for the same: whatever is changed in it is
changed in them. Other pods are asked about alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from moorage.core.cycle.context import CycleContext, Decision, ScheduleResult
from moorage.core.cycle.cycle import unreserve_and_forget
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.cycle.group_steps import Steps
from moorage.core.explaining.searches import Search
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.pods.signatures import pod_signature
from moorage.core.structures.budget import OutOfTime

T = TypeVar("T")


class MinCountChange(NamedTuple):
    """The group needs no more than so many members together."""

    before: int
    after: int


class WhatIfGroup(WhatIf):
    """Asks the cycle about the group of an attempt. ``standing``: members that find a node as it
    is.
    """

    def __init__(
        self,
        context: CycleContext,
        revision: Revision,
        attempt: GroupAttempt,
        standing: Sequence[ScheduleResult] = (),
    ) -> None:
        super().__init__(context, revision)
        self.attempt = attempt
        self._standing = standing
        self._signatures = {pod.metadata.uid: pod_signature(pod) for pod in attempt.members}
        self.together = max(2, len(attempt.members))

    def fits(self, pod: Pod) -> bool:
        """Whether enough members fit with the member as it is here. Raises OutOfTime."""
        if not self._is_member(pod):
            return super().fits(pod)
        with self.placing(pod) as placed:
            return placed is not None

    def decide(self, pod: Pod) -> ScheduleResult | None:
        """Where this member would go, or where it has no place, another one of its group."""
        if not self._is_member(pod):
            return super().decide(pod)
        with self.placing(pod) as placed:
            return placed

    def fitting_nodes(self, pod: Pod) -> list[str]:
        """The nodes that the group's members go to."""
        with self._all_placed(pod) as placed:
            return sorted({one.node for one in placed})

    @contextlib.contextmanager
    def placing(self, pod: Pod) -> Iterator[ScheduleResult | None]:
        """With the whole group where it would go."""
        if not self._is_member(pod):
            with super().placing(pod) as alone:
                yield alone
            return
        with self._all_placed(pod) as placed:
            mine = (one for one in placed if one.pod.metadata.uid == pod.metadata.uid)
            yield next(mine, placed[0] if placed else None)

    @contextlib.contextmanager
    def beside_siblings(self) -> Iterator[None]:
        """With the members there that find a node as it is."""
        with self.nothing_stays(), contextlib.ExitStack() as undo:
            for one in self._standing:
                again = self._place(one.pod, Placement(name=one.node))
                if isinstance(again, ScheduleResult):
                    undo.callback(unreserve_and_forget, again, self.context.cache)
            yield

    def own_searches(self, pod: Pod) -> tuple[Search[Any], ...]:
        """A gang may need fewer members together."""
        if not self.attempt.group.is_gang:
            return ()
        return (Search([pod], self._greatest_minimum, most=1, expected=1),)

    @contextlib.contextmanager
    def with_minimum(self, least: int) -> Iterator[None]:
        """With another minCount."""
        before = self.attempt
        self.attempt = dataclasses.replace(
            before, group=dataclasses.replace(before.group, min_count=least)
        )
        try:
            yield
        finally:
            self.attempt = before

    @contextlib.contextmanager
    def nothing_stays(self) -> Iterator[None]:
        """Nominations of members, and where the search goes on, are afterwards as they were; who
        places members takes them back.
        """
        nominations, start = self.context.cache.nominations, self.context.sampler.start
        uids = self._signatures
        before = {uid: nominations.state(uid) for uid in uids if uid in nominations}
        try:
            yield
        finally:
            self.context.sampler.start = start
            for state in before.values():
                nominations.restore(state)

    # ---- inside ----------------------------------------------------------------------------------

    def _greatest_minimum(self, pod: Pod) -> MinCountChange | None:
        """The greatest that will do: who fits with one fits with each that is smaller."""
        low, high = 0, self.attempt.group.min_count
        while high - low > 1:
            middle = (low + high) // 2
            with self.with_minimum(middle):
                low, high = (middle, high) if self.fits(pod) else (low, middle)
        return MinCountChange(self.attempt.group.min_count, low) if low else None

    def _is_member(self, pod: Pod) -> bool:
        return pod.metadata.uid in self._signatures

    @contextlib.contextmanager
    def _all_placed(self, pod: Pod) -> Iterator[list[ScheduleResult]]:
        """With the members that find a node, if these are enough."""
        with self.nothing_stays():
            placed = self._result(pod).placed
            try:
                yield placed
            finally:
                for one in reversed(placed):
                    unreserve_and_forget(one, self.context.cache)

    def _result(self, pod: Pod) -> GroupResult:
        steps = schedule_group(self._changed(pod), self._place, self.context, self.revision)
        return at_once(steps, self.context)

    def _place(self, pod: Pod, placement: Placement, /) -> Decision:
        return place_member(pod, self.revision, self.context, placement)

    def _changed(self, pod: Pod) -> GroupAttempt:
        """The attempt with this pod for all that are as the member was, and what is on nodes
        now.
        """
        signature, infos = self._signatures[pod.metadata.uid], self.context.cache.pod_info
        found = (infos(one.metadata.uid) for one, _ in self.attempt.scheduled)
        return dataclasses.replace(
            self.attempt,
            members=[
                msgspec.structs.replace(one, spec=pod.spec)
                if self._signatures[one.metadata.uid] == signature
                else one
                for one in self.attempt.members
            ],
            scheduled=[
                (info.pod, info.node)
                for info in found
                if info is not None and isinstance(info.pod, Pod)
            ],
        )


def at_once(steps: Steps[T], context: CycleContext) -> T:
    """What a cycle in slices comes to when nobody has a turn in between. Raises OutOfTime: then all
    is as before.
    """
    going = True
    try:
        while going:
            going = bool(next(steps))
            context.budget.check()
    except StopIteration as end:
        found: T = end.value
        return found
    finally:
        steps.close()
    raise OutOfTime
