"""Nominations: which waiting pods are nominated to which node, where a preemption made room for
them.

Other pods of lower priority must leave that room alone until the pod is there. A nomination comes
from two sides, and the newer one counts: what we decide (``nominate``) stands from then on, before
the API server has shown it; what ``status.nominatedNodeName`` of the pod says (``observe_status``)
counts whenever no decision of ours has yet to be written there. So in the end both are the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from moorage.core.columns.change_log import Aspect, VersionCounter
from moorage.core.columns.changes import NO_JOURNAL, Journal, Nomination
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.pod_info import PodInfo, PodState
from moorage.core.objects.pod_groups import GroupKey, group_of
from moorage.core.objects.pods import Pod, priority
from moorage.core.pods.requests import Requests, pod_requests
from moorage.core.structures.all_or_none import Step, all_or_none

_Level = tuple[int, tuple[str, ...]]
"""Of a pod: minus its priority, and the key of its group, () for none."""
_HeldKey = tuple[int, tuple[str, ...], str]
"""Of a pod whose room is held: its level, and when it was created."""
_NO_PODS: dict[str, PodInfo] = {}
MAX_NOMINATED_ELSEWHERE = 100
"""So many nominated pods count on other nodes than theirs at most, the most important ones."""


class NominationListener(Protocol):
    """Follows which room is not kept for a nominated pod any more."""

    def nomination_cleared(self, pod: Pod, node: str) -> None:
        """This pod neither is on this node nor is nominated to it any more."""


class Nominator:
    """Knows which waiting pods are nominated to which node.

    The rows of the node table whose nominations change are in its log of NOMINATIONS.
    """

    def __init__(
        self,
        nodes: NodeTable,
        listener: NominationListener | None = None,
        journal: Journal = NO_JOURNAL,
    ) -> None:
        self._nodes = nodes
        self._journal = journal
        self._listener = listener
        self.version = 0
        """Moves with every change of a nomination."""
        self.presence = VersionCounter()
        """Moves when a first pod is nominated, and when the last one is not any more."""
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._records: dict[str, PodInfo] = {}
        self._by_level: dict[_Level, dict[str, PodInfo]] = {}
        self._by_group: dict[GroupKey, dict[str, PodInfo]] = {}
        self._held: dict[_HeldKey, dict[str, PodInfo]] = {}
        self._unwritten: dict[str, str] = {}
        """What we decided and the pod's status does not say yet, by UID; "" for no node."""
        self._lapsed: dict[str, str] = {}
        """UID -> the node that a pod's status names still, which is not kept for it any more."""
        self._tried: dict[str, Nomination | None] = {}
        """UIDs of pods that are tried; what is known of one that is where it is nominated to."""

    def __len__(self) -> int:
        """How many pods are nominated."""
        return len(self._records)

    def __contains__(self, uid: str) -> bool:
        """Whether this pod is."""
        return uid in self._records

    def __iter__(self) -> Iterator[PodInfo]:
        """The nominated pods, each with its node. Not to be changed while this runs."""
        return iter(self._records.values())

    def get(self, uid: str) -> PodInfo | None:
        """The pod with its node, None when it is not nominated."""
        return self._records.get(uid)

    def nominated_node(self, uid: str) -> str:
        """The node that a pod is nominated to, "" for none."""
        record = self._records.get(uid)
        return record.node if record is not None else ""

    @property
    def nodes(self) -> Collection[str]:
        """The nodes that pods are nominated to, whether they are there or not."""
        return self._by_node.keys()

    def nominated_pods(self, node: str) -> Collection[PodInfo]:
        """The pods nominated to a node, in the order in which they came."""
        return self._by_node.get(node, _NO_PODS).values()

    @property
    def unwritten(self) -> Collection[str]:
        """UIDs of the pods whose status does not say yet what we decided."""
        return self._unwritten.keys()

    def by_priority(self) -> Iterator[PodInfo]:
        """All of them, the most important pods first, of equals those of no group, then one group
        after another. Not to be changed while this runs.
        """
        for level in sorted(self._by_level):
            yield from self._by_level[level].values()

    def siblings_of(self, pod: Pod) -> Mapping[str, PodInfo]:
        """The nominated members of the pod's group (by UID), itself included."""
        group = group_of(pod) if self._by_group else None
        return _NO_PODS if group is None else self._by_group.get(group, _NO_PODS)

    def ahead_on(self, pod: Pod, node: str) -> Sequence[PodInfo]:
        """Those on this node that a pod must leave room for; siblings need not leave each other
        any.
        """
        if not (there := self._by_node.get(node)):
            return ()
        siblings = self.siblings_of(pod) if self._by_group else _NO_PODS
        return [one for uid, one in there.items() if uid not in siblings and _yields_to(pod, one)]

    def ahead_of(self, pod: Pod) -> Iterator[PodInfo]:
        """The same on any node, the most important one first."""
        mine, siblings = -priority(pod), group_of(pod) if self._by_group else None
        for level in sorted(self._by_level):
            if level[0] > mine:
                return
            if level[1] == siblings:
                continue
            for uid, record in self._by_level[level].items():
                # there are many, and all but those that are held are left their room
                if _yields_to(pod, record) if record.held else uid != pod.metadata.uid:
                    yield record

    # ---- nominations come and go -----------------------------------------------------------------

    def held_from(self, pod: Pod) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Of what is kept, that which pods of one template may differ in: the pod's own group, with
        "", if members of it are nominated; and groups for which room is held among pods of its
        priority, each with the creation of the youngest member that it stands back for.
        """
        if not (self._by_group or self._held):
            return ()
        mine, own, born = -priority(pod), group_of(pod), pod.metadata.creation_timestamp or ""
        youngest = dict[tuple[str, ...], str]()
        if own in self._by_group:
            youngest[own] = ""
        for level, group, created in self._held:
            if level == mine and group != own and created < born:
                youngest[group] = max(created, youngest.get(group, ""))
        return tuple(sorted(youngest.items()))

    def nominate(self, pod: Pod, node: str, held: bool = False) -> None:
        """From now on the pod is nominated to this node, or to none (""); ``pod`` is its newest
        state, ``held`` as in ``PodInfo``.
        """
        uid = pod.metadata.uid
        if node:
            self._add(pod, node, pod_requests(pod), held)
        else:
            self._replace(uid, None)
        self._lapsed.pop(uid, None)
        self._unwritten[uid] = node
        if pod.status.nominated_node_name == node:
            del self._unwritten[uid]
        self._journal.append(
            Nomination(uid, pod if node else None, node, held, self._unwritten.get(uid))
        )

    def observe_status(self, pod: Pod, requests: Requests) -> bool:
        """The pod waits in a new state, may ask for something else; whether its node changes."""
        uid, shown = pod.metadata.uid, pod.status.nominated_node_name
        if not shown and not (
            uid in self._records or uid in self._unwritten or uid in self._lapsed
        ):
            return False
        old, node = self._records.get(uid), self._unwritten.get(uid, shown)
        held = old is not None and old.held and old.node == node
        if self._lapsed.get(uid) == node:
            node = ""
        before = "" if old is None else old.node
        if node:
            self._add(pod, node, requests, held)
        else:
            self._replace(uid, None)
        if self._unwritten.get(uid) == shown:
            del self._unwritten[uid]
        if node:
            self._lapsed.pop(uid, None)
        self._journal.append(
            Nomination(
                uid,
                pod if node else None,
                node,
                held and bool(node),
                self._unwritten.get(uid),
                self._lapsed.get(uid),
            )
        )
        return node != before

    def lapse(self, uid: str) -> None:
        """Its node is not kept for this pod any more, whatever its status goes on to say; another
        node will be.
        """
        if (old := self._replace(uid, None)) is not None:
            self._lapsed[uid] = old.node
            self._journal.append(
                Nomination(uid, unwritten=self._unwritten.get(uid), lapsed=old.node)
            )

    def add(self, pod: Pod, node: str, requests: Requests, held: bool = False) -> None:
        """The pod is nominated to this node and to no other; ``requests`` is what it will take
        there.
        """
        self._add(pod, node, requests, held)
        uid = pod.metadata.uid
        self._journal.append(
            Nomination(uid, pod, node, held, self._unwritten.get(uid), self._lapsed.get(uid))
        )

    def remove(self, uid: str, placed: str = "") -> None:
        """The pod waits no more: it is gone, or has its place on this node."""
        before = None
        if not placed:
            self._tried.pop(uid, None)
        elif uid in self._tried and uid in self._records:
            before = self._tried[uid] = self.state(uid)
        # of one that is tried nobody hears before it is settled
        self._forget(uid, placed if before is None else before.node)

    def try_out(self, uid: str) -> None:
        """Until ``settle`` any place that the pod gets may be taken back."""
        self._tried.setdefault(uid, None)

    def resume(self, uid: str, placed: str = "") -> None:
        """One that is tried has lost its place, or has it on this node for now: unless it is
        nominated to the same, that room is kept as before.
        """
        before = self._tried.get(uid)
        if before is not None and before.node != placed:
            self._tried[uid] = None
            self.restore(before)

    def settle(self, uid: str, placed: str = "") -> None:
        """A pod is not tried any more: it waits, is gone, or has its place on this node."""
        self._tried.pop(uid, None)
        if placed:
            self._forget(uid, placed)

    def _forget(self, uid: str, placed: str = "") -> None:
        if not (uid in self._records or uid in self._unwritten or uid in self._lapsed):
            return
        if uid in self._records:
            self._replace(uid, None, placed)
        self._unwritten.pop(uid, None)
        self._lapsed.pop(uid, None)
        self._journal.append(Nomination(uid))

    def states(self) -> Iterator[Nomination]:
        """All that is known now of each pod of which anything is, those that are nominated first
        and in order; it may change while this runs.
        """
        return _states(dict(self._records), dict(self._unwritten), dict(self._lapsed))

    def state(self, uid: str) -> Nomination:
        """All that is known of one pod."""
        return _state(uid, self._records.get(uid), self._unwritten.get(uid), self._lapsed.get(uid))

    def restore(self, state: Nomination) -> None:
        """Have it so again."""
        if state.pod is not None:
            self._add(state.pod, state.node, pod_requests(state.pod), state.held)
        else:
            self._replace(state.uid, None)
        for kept, value in ((self._unwritten, state.unwritten), (self._lapsed, state.lapsed)):
            if value is not None:
                kept[state.uid] = value
            else:
                kept.pop(state.uid, None)
        self._journal.append(state)

    # ---- inside ----------------------------------------------------------------------------------

    def _add(self, pod: Pod, node: str, requests: Requests, held: bool) -> None:
        old = self._records.get(pod.metadata.uid)
        if (
            old is not None
            and old.node == node
            and old.held == held
            and group_of(old.pod) == group_of(pod)
            and _chooses_alike(old, pod, requests)
        ):
            self._rewrite(dataclasses.replace(old, pod=pod))
            return
        self._replace(pod.metadata.uid, PodInfo(pod, node, requests, PodState.ASSUMED, held=held))

    def _rewrite(self, record: PodInfo) -> None:
        """The same nomination of a newer state of its pod; it keeps its place in every order."""
        uid, places = record.pod.metadata.uid, self._places(record)
        self._records[uid] = record
        for groups, group in places:
            groups[group][uid] = record

    def _replace(self, uid: str, new: PodInfo | None, placed: str = "") -> PodInfo | None:
        """The pod is nominated so now, or (None) not any more; what was before. All or nothing,
        whoever is told included.
        """
        old = self._records.get(uid)
        for record in (old, new):
            row = self._nodes.row_of.get(record.node) if record is not None else None
            if row is not None:
                self._nodes.logs[Aspect.NOMINATIONS].add(row)
        stays, tell = (placed, "" if new is None else new.node), list[Step]()
        if old is not None and old.node not in stays and isinstance(old.pod, Pod):
            tell = [(self._notify_cleared, old.pod, old.node)]
        all_or_none(1, (self._swap, uid, old, new), *tell)
        return old

    def _swap(self, uid: str, old: PodInfo | None, new: PodInfo | None, sign: int) -> None:
        gone, come = (old, new) if sign > 0 else (new, old)
        left = [] if gone is None else self._places(gone)
        entered = [] if come is None else self._places(come)
        self.version += 1
        others = len(self._records) - (uid in self._records)
        if bool(self._records) != bool(others or come is not None):
            self.presence.increment()
        self._records.pop(uid, None)
        for groups, group in left:
            del groups[group][uid]
            if not groups[group]:
                del groups[group]
        if come is not None:
            self._records[uid] = come
        for groups, group in entered:
            groups.setdefault(group, {})[uid] = come

    def _places(self, record: PodInfo) -> list[tuple[dict[Any, Any], Hashable]]:
        """Where a record is found beside its UID."""
        pod, group = record.pod, group_of(record.pod)
        level = -priority(pod) if isinstance(pod, Pod) else 0, group or ()
        places: list[Any] = [(self._by_node, record.node), (self._by_level, level)]
        if group is not None:
            places.append((self._by_group, group))
        if record.held:
            created = pod.metadata.creation_timestamp or ""
            places.append((self._held, (*level, created)))
        return places

    def _notify_cleared(self, pod: Pod, node: str, _sign: int) -> None:
        if self._listener is not None:
            self._listener.nomination_cleared(pod, node)


def _states(
    records: Mapping[str, PodInfo], unwritten: Mapping[str, str], lapsed: Mapping[str, str]
) -> Iterator[Nomination]:
    for uid in dict.fromkeys([*records, *unwritten, *lapsed]):
        yield _state(uid, records.get(uid), unwritten.get(uid), lapsed.get(uid))


def _state(
    uid: str, record: PodInfo | None, unwritten: str | None, lapsed: str | None
) -> Nomination:
    if record is None or not isinstance(record.pod, Pod):
        return Nomination(uid, unwritten=unwritten, lapsed=lapsed)
    return Nomination(uid, record.pod, record.node, record.held, unwritten, lapsed)


def _yields_to(pod: Pod, record: PodInfo) -> bool:
    """Whether a pod must leave room for this nominated one, which is no sibling of it."""
    other = record.pod
    if not isinstance(other, Pod) or other.metadata.uid == pod.metadata.uid:
        return False
    if record.held and priority(other) == priority(pod):
        return is_younger(pod, other)
    return priority(other) >= priority(pod)


def is_younger(pod: Pod, other: Pod) -> bool:
    """Whether a pod was created later than another one; the API server tells whole seconds."""
    return (pod.metadata.creation_timestamp or "") > (other.metadata.creation_timestamp or "")


def _chooses_alike(old: PodInfo, pod: Pod, requests: Requests) -> bool:
    """Whether a new state of a nominated pod needs the same room, and uses the same claims."""
    mine = old.pod
    return (
        isinstance(mine, Pod)
        and old.requests == requests
        and mine.spec == pod.spec
        and mine.metadata.labels == pod.metadata.labels
        and mine.status.resource_claim_statuses == pod.status.resource_claim_statuses
    )
