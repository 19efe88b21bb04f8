"""Members of pod groups: which of them wait, which are away, and whether there are enough of them
to begin.

Members count while they wait and nothing but their group keeps them out, while they are in flight,
and while they are placed; each once. As long as fewer than the group's minimum count, those that
wait are gated (``POD_GROUP_GATE``). A minimum that was met stays met: of a group that has a member
on a node, or had one since it came, each goes by itself. Groups whose count or minimum may have
changed are only noted; ``recheck``, which the queue calls before the next pod is taken, looks at
each of them once. So a member that comes, changes or goes costs a few dictionary steps, and only a
group that begins or ends to be complete moves its members.

Members that name different schedulerNames are counted apart: nobody could place them together.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator

from moorage.core.columns.pod_counters import AnyPod
from moorage.core.columns.store import Lister, Store
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import API, MIN_MEMBER, PodGroup, asked_min_member
from moorage.core.objects.pods import Pod, group_of
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.structures.all_or_none import all_or_none

POD_GROUP_GATE = "PodGroup"
"""What gates members whose group is not complete, beside the preEnqueue plugins."""
AVAILABLE_STATES = (QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE)
"""Where a pod may be taken from when its group is placed."""
_MAX_SHOWN_CHARACTERS = 40
"""Characters of an annotation that are shown."""
_MAX_DIGITS = 10
"""A number with so many is none."""


@dataclasses.dataclass(slots=True, eq=False)
class PodGroupState:
    """The members of one group that name one schedulerName."""

    name: str
    scheduler_name: str
    waiting: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID: those that nothing but their group keeps out."""
    in_flight: dict[str, QueuedPodInfo] = dataclasses.field(default_factory=dict)
    """By UID: those in flight."""
    assigned: Counter[str] = dataclasses.field(default_factory=Counter)
    """UIDs of members in flight, placed (assumed or on a node), or both: the count says how many of
    the two.
    """
    requested_minimums: Counter[str] = dataclasses.field(default_factory=Counter)
    """What members' annotations say about the minimum."""
    begun: bool = False
    """Whether a member was seen on a node: then the minimum was met, and those that follow or
    replace others need nobody.
    """
    complete: bool = False
    complete_since: float = 0.0
    needed: int = 0
    """While it is complete: how many members had to be placed at once when that was last looked
    at.
    """

    @property
    def present(self) -> int:
        """How many members count."""
        return len(self.waiting) + len(self.assigned)

    @property
    def bound(self) -> int:
        """How many are placed and need nothing more."""
        return len(self.assigned) - len(self.in_flight)

    @property
    def gated(self) -> list[QueuedPodInfo]:
        """Those that wait for others to come."""
        return [entry for entry in self.waiting.values() if entry.gating_plugin == POD_GROUP_GATE]


class PodGroupTracker:
    """Counts the members of each pod group and says whether it is complete.

    ``store`` has the PodGroups; until it has all of them (``listed``) no group is complete.
    """

    def __init__(self, store: Store) -> None:
        self.store: Lister = store
        self.listed = False
        self.changed: dict[PodGroupState, None] = {}
        """Groups that are not complete and for which ``gating_message`` may have a new text;
        whoever reports it takes them out.
        """
        self.dirty: dict[PodGroupState, None] = {}
        """Groups that ``recheck`` has to look at."""
        self._declared = store.objects(PodGroup)
        self._groups: dict[str, dict[str, PodGroupState]] = {}
        store.follow(PodGroup, self._declaration_changed)

    # ---- what comes in ---------------------------------------------------------------------------

    def record_move(self, entry: QueuedPodInfo) -> None:
        """A member of a group is somewhere else now, or is not in the queue any more."""
        group = self._group(entry.group, entry.scheduler_name)
        self.remove_member(entry)
        if entry.state is QueueState.IN_FLIGHT:
            group.in_flight[entry.uid] = entry
            _bump(group.assigned, entry.uid, 1)
        elif entry.state in AVAILABLE_STATES or entry.gating_plugin == POD_GROUP_GATE:
            group.waiting[entry.uid] = entry
        else:
            return
        _bump(group.requested_minimums, asked_min_member(entry.pod), 1)

    def remove_member(self, entry: QueuedPodInfo) -> None:
        """An entry is no member any more, or will have another state."""
        group = self._group(entry.group, entry.scheduler_name)
        if group.in_flight.pop(entry.uid, None) is not None:
            _bump(group.assigned, entry.uid, -1)
        elif group.waiting.pop(entry.uid, None) is None:
            return
        _bump(group.requested_minimums, asked_min_member(entry.pod), -1)

    def update_pod(self, entry: QueuedPodInfo, pod: Pod) -> None:
        """Give an entry the newest state of its pod, which may have another group, or say something
        else about its own.
        """
        if entry.group:
            self.remove_member(entry)
        entry.pod, entry.group = pod, group_of(pod)
        if entry.group:
            self.record_move(entry)

    def placed(self, pod: AnyPod, sign: int) -> None:
        """A member occupies a node from now on (1), or does not any more (-1)."""
        # the schedulerName of one that cannot be read is not known
        if isinstance(pod, Pod):
            group = self._group(group_of(pod), pod.spec.scheduler_name)
            all_or_none(
                sign,
                (_bump, group.assigned, pod.metadata.uid),
                (_bump, group.requested_minimums, asked_min_member(pod)),
            )

    def pod_bound(self, pod: Pod) -> None:
        """The API server shows a pod on a node."""
        name = group_of(pod)
        if name:
            group = self._groups.get(name, {}).get(pod.spec.scheduler_name)
            if group is not None and not group.begun:
                group.begun = True
                self.dirty[group] = None

    def all_listed(self) -> None:
        """All PodGroups are in the store."""
        self.listed = True
        for parts in self._groups.values():
            self.dirty.update(dict.fromkeys(parts.values()))

    # ---- what follows ----------------------------------------------------------------------------

    def recheck(self, now: float) -> Iterator[PodGroupState]:
        """Look at the groups that have changed; those whose members may go on now, or may not any
        more.

        That is: those that are complete now, or are not any more, or need fewer members at once
        than when they were tried.
        """
        while self.dirty:
            group = next(iter(self.dirty))
            del self.dirty[group]
            if not group.present:
                self._forget(group)
            elif self._recheck(group, now):
                yield group

    def _recheck(self, group: PodGroupState, now: float) -> bool:
        least = self.min_member(group)
        complete = least is not None and (group.begun or group.present >= least)
        if not complete:
            self.changed[group] = None
        turned, needed = complete != group.complete, self.needed(group)
        was_together = group.needed > 1
        eased = complete and was_together and needed < group.needed
        group.needed = needed if complete else 0
        if turned:
            group.complete, group.complete_since = complete, now
        return turned or eased

    def gating_plugin(self, entry: QueuedPodInfo) -> str:
        """``POD_GROUP_GATE`` when the pod's group is not complete, else ""."""
        if not entry.group:
            return ""
        group = self._groups.get(entry.group, {}).get(entry.scheduler_name)
        return "" if group is not None and group.complete else POD_GROUP_GATE

    def is_gated_wrongly(self, entry: QueuedPodInfo) -> bool:
        """Whether a pod that waits has to be gated by its group and is not, or the other way
        round.
        """
        if self.gating_plugin(entry):
            return entry.state in AVAILABLE_STATES
        return entry.gating_plugin == POD_GROUP_GATE

    def companions(self, entry: QueuedPodInfo) -> list[QueuedPodInfo]:
        """The members that have to be placed together with this one; none when enough of them are
        placed or on their way.
        """
        group = self.group_of_entry(entry)
        if self.needed(group) <= 1:
            return []
        return [
            other
            for other in group.waiting.values()
            if other is not entry and other.state in AVAILABLE_STATES
        ]

    # ---- looking ---------------------------------------------------------------------------------

    def group_of_entry(self, entry: QueuedPodInfo) -> PodGroupState:
        """The group of a member."""
        return self._groups[entry.group][entry.scheduler_name]

    def declaration(self, group: PodGroupState) -> PodGroup | None:
        """Its PodGroup, if there is one."""
        return self._declared.get(group.name)

    def min_member(self, group: PodGroupState) -> int | None:
        """How many members must be placed together; None when nothing says so, or it is not known
        yet.
        """
        if not self.listed:
            return None
        declaration = self.declaration(group)
        if declaration is not None:
            return declaration.spec.min_member
        asks = [ask for ask in group.requested_minimums if ask]
        return max(map(int, asks)) if asks and all(map(_is_number, asks)) else None

    def needed(self, group: PodGroupState) -> int:
        """How many more members must be placed at once."""
        return 0 if group.begun else (self.min_member(group) or 0) - len(group.assigned)

    def gating_message(self, group: PodGroupState) -> str:
        """Why its members are gated."""
        name = f'pod group "{group.name}"'
        least = self.min_member(group)
        if least is not None:
            here = f"{group.present} of {least} members are here{self._elsewhere(group)}"
            return f"waiting for {name}: {here}"
        if not self.listed:
            return (
                f"waiting for {name}: PodGroups are not listed yet (the operator lists and "
                f"watches podgroups.scheduling.x-k8s.io)"
            )
        return f"{name}: {_why_no_minimum(group)}"

    # ---- inside ----------------------------------------------------------------------------------

    def _declaration_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        declaration = new or old
        if declaration is not None:
            self.dirty.update(dict.fromkeys(self._groups.get(key(declaration), {}).values()))

    def _group(self, name: str, scheduler_name: str) -> PodGroupState:
        """The group, which is looked at soon."""
        parts = self._groups.setdefault(name, {})
        group = parts.get(scheduler_name)
        if group is None:
            group = parts[scheduler_name] = PodGroupState(name, scheduler_name)
        self.dirty[group] = None
        if len(parts) > 1:  # what is said of one part names the others
            self.dirty.update(dict.fromkeys(parts.values()))
        return group

    def _forget(self, group: PodGroupState) -> None:
        self.changed.pop(group, None)
        parts = self._groups.get(group.name, {})
        if parts.get(group.scheduler_name) is group:
            del parts[group.scheduler_name]
            if not parts:
                del self._groups[group.name]

    def _elsewhere(self, group: PodGroupState) -> str:
        parts = [
            part
            for part in self._groups.get(group.name, {}).values()
            if part is not group and part.present
        ]
        return "".join(
            (
                f"; {part.present} more name the scheduler {part.scheduler_name!r}, and all must "
                f"name the same"
            )
            for part in parts
        )


def _why_no_minimum(group: PodGroupState) -> str:
    wrong = next((ask for ask in group.requested_minimums if ask and not _is_number(ask)), None)
    if wrong is not None:
        return (
            f"annotation {MIN_MEMBER} is {wrong[:_MAX_SHOWN_CHARACTERS]!r}; write a whole number, "
            f'as in {MIN_MEMBER}: "3"'
        )
    return (
        f"nothing says how many members it takes; create the PodGroup {group.name} ({API}) with "
        f"spec.minMember, or give its pods the annotation {MIN_MEMBER}"
    )


def _bump(counter: Counter[str], what: str, by: int) -> None:
    counter[what] += by
    if not counter[what]:
        del counter[what]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS
