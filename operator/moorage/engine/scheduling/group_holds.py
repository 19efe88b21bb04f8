"""Group holds: room that is kept free for the first group that waits, so that a stream of pods of
lower priority, or of younger ones of the same, cannot starve it.

A group holds nothing at first. One that has waited in vain for ``HOLD_AFTER_SECONDS`` seconds may
hold room, one group at a time, the most important one, the one that waits longest among equals; for
``MAX_HOLD_SECONDS`` seconds at most, and not again for as long. Its members are nominated to where
they would be without those pods (``core/cycle/group_seats.py``), which stay until they end. A group
that would not fit even then holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from moorage.core.columns.nominations import Nominator
from moorage.core.cycle.context import Diagnosis
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.engine.reports.held_rooms import HeldRoom
from moorage.engine.reports.pod_conditions import PodConditionWriter

HOLD_AFTER_SECONDS = 30.0
MAX_HOLD_SECONDS = 300.0
HOLD_MESSAGE = (
    f" Room is held for the group against pods of lower priority and younger ones of the same, for "
    f"{MAX_HOLD_SECONDS:g} s at most."
)


class GroupHolds:
    """Says which group may hold room, and ends it. ``unplaced``: the groups that are
    complete and did not fit, with the diagnoses of their members.
    """

    def __init__(
        self,
        nominations: Nominator,
        pod_conditions: PodConditionWriter,
        unplaced: Mapping[PodGroupState, Sequence[Diagnosis]],
    ) -> None:
        self._nominations = nominations
        self._pod_conditions = pod_conditions
        self._unplaced = unplaced
        self._holder: PodGroupState | None = None
        self._until = 0.0
        self._resting: dict[PodGroupState, float] = {}
        """Groups that have held room in vain, or could not, and until when they may not again."""

    @property
    def held_room(self) -> HeldRoom | None:
        """For which group room is held now, if for any."""
        return None if self._holder is None else HeldRoom(self._holder, self._until)

    def may_hold(self, group: PodGroupState, now: float) -> bool:
        """Whether a group whose attempt begins may hold room."""
        if self._holder is not None:
            return self._holder is group
        due = [
            other
            for other in self._unplaced
            if (other is group or (other.complete and other.waiting)) and self._is_due(other, now)
        ]
        return group in due and group is min(due, key=self._rank)

    def _is_due(self, group: PodGroupState, now: float) -> bool:
        """Whether it has waited for long, and has not held room lately."""
        waited = now - group.complete_since
        return waited >= HOLD_AFTER_SECONDS and now >= self._resting.get(group, 0.0)

    def attempted(self, group: PodGroupState, refusals: Sequence[Diagnosis], now: float) -> bool:
        """The attempt of a group that might hold room ended so; whether it holds some from now on
        and did not before.
        """
        if any(refusal.held for refusal in refusals):
            begins = self._holder is not group
            if begins:
                self._holder, self._until = group, now + MAX_HOLD_SECONDS
            return begins
        self._holder = None
        self._rest(group, now + HOLD_AFTER_SECONDS, now)
        self._let_go(refusal.pod for refusal in refusals)
        return False

    def end_if_due(self, now: float) -> None:
        """Let go of what is held for too long, or by a group that cannot be placed any more. An
        attempt is waited for.
        """
        group = self._holder
        if (
            group is None
            or group.in_flight
            or (now < self._until and group.complete and group.waiting)
        ):
            return
        self._holder = None
        self._rest(group, now + MAX_HOLD_SECONDS, now)
        self._let_go(entry.pod for entry in group.waiting.values())

    def _let_go(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            nominated = self._nominations.get(pod.metadata.uid)
            if nominated is not None and nominated.held:
                self._nominations.nominate(pod, "")
                self._pod_conditions.write_nomination(pod)

    def _rest(self, group: PodGroupState, until: float, now: float) -> None:
        self._resting = {other: end for other, end in self._resting.items() if end > now} | {
            group: until
        }

    def _rank(self, group: PodGroupState) -> tuple[int, float]:
        return -max(map(priority, self._pods(group)), default=0), group.complete_since

    def _pods(self, group: PodGroupState) -> list[Pod]:
        return [diagnosis.pod for diagnosis in self._unplaced[group]]
