"""Members of pod groups: which of them wait, which are away, and whether there are enough of them
to begin.

Members count while they wait and nothing but their group keeps them out, while they are in flight,
and while they are placed; each once. As long as fewer than the group's minimum count, those that
wait are gated (``POD_GROUP_GATE``). A minimum that was met stays met: once as many distinct members
were seen on nodes, nobody waits for others as long as any member is there. Groups whose count or
minimum may have changed are only noted; ``recheck``, which the queue calls before the next pod is
taken, looks at each of them once. So a member that comes, changes or goes costs a few dictionary
steps, and only a group that begins or ends to be complete moves its members.

Members that name different schedulerNames are counted apart: nobody could place them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from typing import TypeVar

from moorage.core.columns.pod_counters import AnyPod
from moorage.core.columns.store import Lister, Store
from moorage.core.groups import group_spec
from moorage.core.groups.group_spec import GROUP_KINDS, AnyPodGroup, GroupSpec
from moorage.core.groups.member_kinds import kind_of
from moorage.core.objects.pod_groups import API, GroupKey, group_of, membership_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_state import POD_GROUP_GATE, PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.structures.all_or_none import all_or_none

T = TypeVar("T", bound=Hashable)

AVAILABLE_STATES = (QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE)
"""Where a pod may be taken from when its group is placed."""


class PodGroupTracker:
    """Counts the members of each pod group and says whether it is complete.

    ``store`` has the PodGroups; until it has all of an API (``kind_listed``) no group of that API
    is complete. ``unserved``: the APIs that the API server does not have.
    """

    def __init__(self, store: Store) -> None:
        self.store: Lister = store
        self.changed: dict[PodGroupState, None] = {}
        """Groups that are not complete and for which ``gating_message`` may have a new text;
        whoever reports it takes them out.
        """
        self.dirty: dict[PodGroupState, None] = {}
        """Groups that ``recheck`` has to look at."""
        self.renewed: dict[PodGroupState, None] = {}
        """Groups that ask for something else, or have lost members; the queue takes them out."""
        self.unsaid: dict[PodGroupState, None] = {}
        """Groups of which ``is_met_unsaid`` may hold; whoever reports it takes them out."""
        self.that_wait: dict[str, dict[GroupKey, PodGroupState]] = {}
        """By schedulerName: the groups of which a member waits."""
        self._unlisted, self.unserved = set(GROUP_KINDS), set[str]()
        self._groups: dict[GroupKey, dict[str, PodGroupState]] = {}
        for kind in GROUP_KINDS.values():
            store.follow(kind, self._declaration_changed)

    # ---- what comes in ---------------------------------------------------------------------------

    def record_move(self, entry: QueuedPodInfo) -> None:
        """A member of a group is somewhere else now, or is not in the queue any more."""
        if (member := entry.membership) is None:
            return
        group = self._group(member.key, entry.scheduler_name)
        self.remove_member(entry)
        if entry.state is QueueState.IN_FLIGHT:
            group.in_flight[entry.uid] = entry
            _bump(group.assigned, entry.uid, 1)
        elif entry.state in AVAILABLE_STATES or entry.gating_plugin == POD_GROUP_GATE:
            group.waiting[entry.uid] = entry
        elif entry.state is QueueState.GATED and member.key.api == API:
            group.held_back[entry.uid] = entry
        else:
            return
        _bump(group.said, member, 1)
        self._note_waiting(group)

    def remove_member(self, entry: QueuedPodInfo) -> None:
        """An entry is no member any more, or will have another state."""
        if (member := entry.membership) is None:
            return
        group = self._group(member.key, entry.scheduler_name)
        if group.in_flight.pop(entry.uid, None) is not None:
            _bump(group.assigned, entry.uid, -1)
        elif (
            group.waiting.pop(entry.uid, None) is None
            and group.held_back.pop(entry.uid, None) is None
        ):
            return
        _bump(group.said, member, -1)
        self._note_waiting(group)

    def update_pod(self, entry: QueuedPodInfo, pod: Pod) -> None:
        """Give an entry the newest state of its pod, which may have another group, or say something
        else about its own.
        """
        self.remove_member(entry)
        entry.pod, entry.membership = pod, membership_of(pod)
        self.record_move(entry)

    def placed(self, pod: AnyPod, sign: int) -> None:
        """A member occupies a node from now on (1), or does not any more (-1)."""
        # the schedulerName of one that cannot be read is not known
        member = membership_of(pod) if isinstance(pod, Pod) else None
        if isinstance(pod, Pod) and member is not None:
            group = self._group(member.key, pod.spec.scheduler_name)
            all_or_none(
                sign,
                (_bump, group.assigned, pod.metadata.uid),
                (_bump, group.said, member),
                (_bump, group.placed, pod.metadata.uid),
                (_bump, group.kinds, kind_of(pod)),
            )

    def pod_bound(self, pod: Pod) -> None:
        """The API server shows a pod on a node."""
        key = group_of(pod)
        if key is not None:
            group = self._groups.get(key, {}).get(pod.spec.scheduler_name)
            if group is not None and not group.met and pod.metadata.uid not in group.seen:
                group.seen.add(pod.metadata.uid)
                self._look_whether_met(group)

    def kind_listed(self, api: str, served: bool = True) -> None:
        """All PodGroups of an API are in the store; ``served``: else the API server does not have
        that API, so there are none.
        """
        if api not in self._unlisted and served == (api not in self.unserved):
            return
        self._unlisted.discard(api)
        (self.unserved.discard if served else self.unserved.add)(api)
        for key, parts in self._groups.items():
            if key.api == api:
                self.dirty.update(dict.fromkeys(parts.values()))

    def all_listed(self, unserved: Collection[str] = ()) -> None:
        """All PodGroups are in the store, those of ``unserved`` as of ``kind_listed``."""
        for api in GROUP_KINDS:
            self.kind_listed(api, api not in unserved)

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
        spec = self.spec(group)
        if spec != group.spec or group.present < group.counted:
            self.renewed[group] = None
        group.spec, group.counted = spec, group.present
        least = None if spec is None else spec.min_count
        self._look_whether_met(group)
        if self.is_met_unsaid(group):
            self.unsaid[group] = None
        enough = least is not None and (group.met or group.present >= least)
        complete = enough and not group.held_back
        if not complete:
            self.changed[group] = None
        turned, needed = complete != group.complete, self.needed(group)
        eased = complete and group.needed > 1 and needed < group.needed
        group.needed = needed if complete else 0
        if turned:
            group.complete, group.complete_since = complete, now
        return turned or eased

    def _look_whether_met(self, group: PodGroupState) -> None:
        least = self.min_count(group) if group.seen else None
        if least is not None and len(group.seen) >= least:
            group.met, group.seen = True, set()
            self.dirty[group] = None

    def gating_plugin(self, entry: QueuedPodInfo) -> str:
        """``POD_GROUP_GATE`` when the pod's group is not complete, else ""."""
        if entry.group is None:
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
        """The members that are tried together with this one: all others that wait, however few
        must be placed at once.
        """
        return [
            other
            for other in self.group_of_entry(entry).waiting.values()
            if other is not entry and other.state in AVAILABLE_STATES
        ]

    # ---- looking ---------------------------------------------------------------------------------

    def group_of_entry(self, entry: QueuedPodInfo) -> PodGroupState:
        """The group of a member. Raises KeyError for a pod that is none."""
        if entry.group is None:
            raise KeyError(entry.uid)
        return self._groups[entry.group][entry.scheduler_name]

    def numbers(self, entry: QueuedPodInfo) -> tuple[int | None, int]:
        """Of a pod's group: how many members must be placed together, None while nothing says so,
        and how many are placed.
        """
        group = self._groups.get(entry.group, {}).get(entry.scheduler_name) if entry.group else None
        return (None, 0) if group is None else (self.min_count(group), group.bound)

    def assigned(self, key: GroupKey) -> list[str]:
        """UIDs of the members of a group that are in flight or placed."""
        return [uid for part in self._groups.get(key, {}).values() for uid in part.assigned]

    def waiting(self, key: GroupKey) -> list[QueuedPodInfo]:
        """The members of a group that wait."""
        parts = self._groups.get(key, {}).values()
        return [one for part in parts for one in (*part.waiting.values(), *part.held_back.values())]

    def spec(self, group: PodGroupState) -> GroupSpec | None:
        """What it asks for; None when nothing says so, or it is not known yet."""
        if group.key.api in self._unlisted:
            return None
        return group_spec.group_spec(group.key, group.said, self.store)

    def min_count(self, group: PodGroupState) -> int | None:
        """How many members must be placed together; None when nothing says so, or it is not known
        yet.
        """
        spec = self.spec(group)
        return None if spec is None else spec.min_count

    def is_met_unsaid(self, group: PodGroupState) -> bool:
        """Whether a PodGroup of Kubernetes had its minimum on nodes, and its condition does not say
        so.
        """
        spec = self.spec(group) if group.met and group.key.api == API else None
        return spec is not None and not spec.initially_scheduled

    def needed(self, group: PodGroupState) -> int:
        """How many more members must be placed at once."""
        return 0 if group.met else (self.min_count(group) or 0) - len(group.assigned)

    def member_message(self, entry: QueuedPodInfo) -> str:
        """Why a member is gated, and what of its pod does not count."""
        note = group_spec.other_groups_note(entry.pod)
        return self.gating_message(self.group_of_entry(entry)) + note

    def gating_message(self, group: PodGroupState) -> str:
        """Why its members are gated."""
        least = self.min_count(group)
        if least is not None and group.held_back:
            first = next(iter(group.held_back.values()))
            return f"{_waiting_for(group.key)}: pod {first.pod.metadata.name!r} is gated"
        if least is not None:
            here = f"{group.present} of {least} members are here{self._elsewhere(group)}"
            return f"{_waiting_for(group.key)}: {here}"
        api = group.key.api
        if api in self._unlisted:
            return (
                f'waiting for pod group "{group.name}": PodGroups are not listed yet (the operator '
                f"lists and watches podgroups.{api.partition('/')[0]})"
            )
        return group_spec.why_no_spec(group.key, group.said, self.store, self.unserved)

    # ---- inside ----------------------------------------------------------------------------------

    def _note_waiting(self, group: PodGroupState) -> None:
        groups = self.that_wait.setdefault(group.scheduler_name, {})
        if group.waiting or group.held_back:
            groups[group.key] = group
            return
        groups.pop(group.key, None)
        if not groups:
            del self.that_wait[group.scheduler_name]

    def _declaration_changed(self, old: AnyPodGroup | None, new: AnyPodGroup | None) -> None:
        declaration = new or old
        if declaration is not None:
            parts = self._groups.get(group_spec.key_of(declaration), {})
            self.dirty.update(dict.fromkeys(parts.values()))

    def _group(self, key: GroupKey, scheduler_name: str) -> PodGroupState:
        """The group, which is looked at soon."""
        parts = self._groups.setdefault(key, {})
        group = parts.get(scheduler_name)
        if group is None:
            group = parts[scheduler_name] = PodGroupState(key, scheduler_name)
        self.dirty[group] = None
        if len(parts) > 1:  # what is said of one part names the others
            self.dirty.update(dict.fromkeys(parts.values()))
        return group

    def _forget(self, group: PodGroupState) -> None:
        for noted in (self.changed, self.unsaid, self.renewed):
            noted.pop(group, None)
        parts = self._groups.get(group.key, {})
        if parts.get(group.scheduler_name) is group:
            del parts[group.scheduler_name]
            if not parts:
                del self._groups[group.key]

    def _elsewhere(self, group: PodGroupState) -> str:
        parts = [
            part
            for part in self._groups.get(group.key, {}).values()
            if part is not group and part.present
        ]
        return "".join(
            (
                f"; {part.present} more name the scheduler {part.scheduler_name!r}, and all must "
                f"name the same"
            )
            for part in parts
        )


def _waiting_for(key: GroupKey) -> str:
    if key.api == API:
        # kube-scheduler's text, and which group it is
        return f'waiting for minCount pods from a gang to appear in scheduling queue, "{key}"'
    return f'waiting for pod group "{key}"'


def _bump(counter: Counter[T], what: T, by: int) -> None:
    counter[what] += by
    if not counter[what]:
        del counter[what]
