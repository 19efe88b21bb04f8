"""The cache: which pods are where, on nodes known or not, including pods that we placed and the API
server has not shown yet.

A pod that occupies a node is in one of two states; the events on the left move it (a move that is
not in the table raises ``CacheError``). ``observe`` is what a watch says, ``assume`` and ``forget``
are what we decide. Whatever raises in one of them, or in what they call: nothing has changed then.

=============  ==========  ==========  ==========
event          absent      ASSUMED     OBSERVED
=============  ==========  ==========  ==========
assume         ASSUMED     error       error
forget         (nothing)   absent      error
observe        OBSERVED    OBSERVED    OBSERVED
remove         (nothing)   absent      absent
=============  ==========  ==========  ==========

There is no expiry: an assumed pod stays until its binding is known to have failed or the watch
shows it. Pods may name a node that is not there (yet): they are kept and charged when it appears.
One writer, one thread; plugins read through ``snapshot``.

Each change is appended to the store's journal once it is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from typing import Protocol

from moorage.core.columns import changes
from moorage.core.columns.change_log import Aspect
from moorage.core.columns.grouped_pods import GroupedPods
from moorage.core.columns.nominations import NominationListener, Nominator
from moorage.core.columns.pod_counters import AnyPod, PodCounters
from moorage.core.columns.pod_info import PodInfo, PodState, confirms, counts_alike
from moorage.core.columns.store import Store
from moorage.core.columns.volume_table import VolumeTable
from moorage.core.objects.meta import Namespace, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod, is_ready
from moorage.core.pods.requests import Requests
from moorage.core.structures.all_or_none import Step, all_or_none
from moorage.core.volumes.pod_volumes import NO_VOLUMES

__all__ = ["Cache", "CacheError", "PodInfo", "PodState"]


class CacheError(RuntimeError):
    """A move that the state table does not have: a bug in the caller, never a user's fault."""


class GroupMemberListener(Protocol):
    """Follows which members of pod groups occupy nodes."""

    def placed(self, pod: AnyPod, sign: int) -> None:
        """A member occupies a node from now on (1), or does not any more (-1)."""


class Cache:
    """Nodes, the pods on them with the sums and counts kept of them, and all other objects."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        pods: GroupMemberListener | None = None,
        nominations: NominationListener | None = None,
    ) -> None:
        self.waiting: dict[str, Pod] = {}
        """The pods that wait for a node, by UID."""
        self.store = Store() if store is None else store
        self.journal = self.store.journal
        self.nodes = self.store.room.nodes
        self.priorities = self.store.room.priorities
        self.grouped_pods = GroupedPods(self.store, self.priorities)
        self.pod_counters = PodCounters(self._pods_in, self.store.objects(Namespace))
        self.volumes = VolumeTable(self.store, self.nodes)
        self.nominations = Nominator(self.nodes, nominations, self.journal)
        self._pod_listener = pods
        self._pod_infos: dict[str, PodInfo] = {}
        self._on_node: dict[str, dict[str, PodInfo]] = {}
        self._in_namespace: dict[str, dict[str, PodInfo]] = {}
        self._assumed = 0
        self._node_generations: dict[str, int] = {}
        self._changes = 0

    # ---- reading ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many pods occupy a node."""
        return len(self._pod_infos)

    @property
    def assumed(self) -> int:
        """How many of them are assumed."""
        return self._assumed

    def pod_info(self, uid: str) -> PodInfo | None:
        """What is known of a pod, None when it occupies no node."""
        return self._pod_infos.get(uid)

    def pod_infos(self) -> Iterator[PodInfo]:
        """All pods that occupy a node. Not to be changed while this runs."""
        return iter(self._pod_infos.values())

    @property
    def occupied(self) -> Collection[str]:
        """The nodes that pods are on, whether they are there or not."""
        return self._on_node.keys()

    def pods_on(self, node: str) -> Iterator[PodInfo]:
        """The pods on a node, in the order in which they came."""
        return iter(self._on_node.get(node, {}).values())

    def pods_in(self, namespace: str) -> Iterator[PodInfo]:
        """The pods of a namespace that occupy a node."""
        return iter(self._in_namespace.get(namespace, {}).values())

    def node_generation(self, node: str) -> int:
        """A number that moves when others change a node or what is on it, not by what we assume."""
        return self._node_generations.get(node, 0)

    # ---- nodes -----------------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """Add or update a node; pods that were waiting for it are charged. Raises QuantityError
        with nothing changed.
        """
        name = node.metadata.name
        known = name in self.nodes.row_of
        row = self.nodes.put(node)
        if not known:
            try:
                all_or_none(1, (self.volumes.charge_node, row, name), *self._counts_on(row, name))
            except BaseException:
                self.nodes.remove(name)
                raise
        self._changes += 1
        self._node_generations[name] = self._changes
        self.journal.append(changes.NodePut(node))

    def keep_node_order(self, names: tuple[str, ...]) -> None:
        """Look at nodes in this order until one comes or goes."""
        self.nodes.order.keep(names)
        self.journal.append(changes.NodesOrdered(names))

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay known until they are removed themselves. Unknown names are
        ignored.
        """
        row = self.nodes.row_of.get(name)
        if row is not None:
            there = (*self._counts_on(row, name), (self.volumes.charge_node, row, name))
            all_or_none(-1, *there)
            try:
                self.nodes.remove(name)
            except BaseException:
                all_or_none(1, *reversed(there))
                raise
            self._node_generations.pop(name, None)
            self.journal.append(changes.NodeRemoved(name))

    # ---- pods ------------------------------------------------------------------------------------

    def assume(self, pod: Pod, node: str, requests: Requests) -> None:
        """Take the pod to be on ``node`` from now on."""
        if pod.metadata.uid in self._pod_infos:
            raise CacheError(
                f"pod {pod.metadata.namespace}/{pod.metadata.name} is in the cache, so it "
                f"can't be assumed"
            )
        self._add(PodInfo(pod, node, requests, PodState.ASSUMED))
        self.journal.append(changes.PodAssumed(pod, node))

    def forget(self, uid: str) -> bool:
        """Take an assumption back; whether there was one. A pod that the watch has shown is not
        ours to forget.
        """
        record = self._pod_infos.get(uid)
        if record is None:
            return False
        if record.state is PodState.OBSERVED:
            raise CacheError(
                f"pod {record.pod.metadata.namespace}/{record.pod.metadata.name} was seen on "
                f"{record.node}, so it can't be forgotten"
            )
        self._drop(record)
        self.journal.append(changes.PodForgotten(uid))
        return True

    def observe(self, pod: Pod, requests: Requests) -> None:
        """The watch shows this pod on its spec.nodeName: confirms an assumption, adds, moves or
        updates.
        """
        self._observe(pod, pod.spec.node_name, requests)
        self.waiting.pop(pod.metadata.uid, None)
        self.journal.append(changes.PodObserved(pod))

    def observe_waiting(self, pod: Pod, requests: Requests) -> bool:
        """The watch shows this pod without a node; whether its status changes the node that it is
        nominated to. One that is assumed keeps its place.
        """
        uid = pod.metadata.uid
        record = self._pod_infos.get(uid)
        waits = record is None or record.state is PodState.OBSERVED
        nominated_anew = waits and self.nominations.observe_status(pod, requests)
        if pod.metadata.deletion_timestamp is not None:
            self.nominations.remove(uid)  # it will not come
        if waits:
            self._remove(uid)
        self.waiting[uid] = pod
        self.journal.append(changes.PodWaiting(pod))
        return nominated_anew

    def observe_unreadable(self, pod: PartialObject, node: str, requests: Requests) -> None:
        """The watch shows a pod that could not be decoded, on ``node`` or ("") waiting for one;
        ``requests`` is what we know that it takes there.
        """
        if node:
            self._observe(pod, node, requests)
        self.nominations.remove(pod.metadata.uid)
        self.waiting.pop(pod.metadata.uid, None)
        self.journal.append(changes.PodUnreadable(pod, node, requests))

    def remove(self, uid: str) -> bool:
        """The pod is gone, has ended or cannot be placed: it occupies no node, waits for none and
        is nominated to none. Whether it occupied one.
        """
        self.nominations.remove(uid)
        removed = self._remove(uid)
        self.waiting.pop(uid, None)
        self.journal.append(changes.PodRemoved(uid))
        return removed

    def mark_stuck(self, uid: str) -> None:
        """A pod was told to go long ago and does not go: preemption leaves it out of account from
        now on.
        """
        record = self._pod_infos[uid]
        self._mark_pods_changed(record)
        self._rewrite(dataclasses.replace(record, stuck=True))
        self.journal.append(changes.PodStuck(uid))

    def mark_preempted(self, uid: str) -> None:
        """We have told a pod to go, which the watch may not show yet."""
        record = self._pod_infos.get(uid)
        if record is not None:
            self._rewrite(dataclasses.replace(record, preempted=True))
            self.journal.append(changes.PodPreempted(uid))

    def put_back(self, info: PodInfo) -> None:
        """A pod that was removed is on its node again, as this says."""
        pod, uid = info.pod, info.pod.metadata.uid
        if not isinstance(pod, Pod):
            self.observe_unreadable(pod, info.node, info.requests)
        elif info.state is PodState.ASSUMED:
            self.assume(pod, info.node, info.requests)
        else:
            self.observe(pod, info.requests)
        if info.preempted:
            self.mark_preempted(uid)
        if info.stuck:
            self.mark_stuck(uid)

    # ---- inside ----------------------------------------------------------------------------------

    def _remove(self, uid: str) -> bool:
        record = self._pod_infos.get(uid)
        if record is not None:
            self._bump_generation(record.node)
            self._drop(record)
        return record is not None

    def _observe(self, pod: AnyPod, node: str, requests: Requests) -> None:
        known = self._pod_infos.get(pod.metadata.uid)
        here = known if known is not None and known.node == node else None
        preempted, stuck = (False, False) if here is None else (here.preempted, here.stuck)
        new = PodInfo(pod, node, requests, PodState.OBSERVED, preempted, stuck)
        if here is not None and here.requests == requests and counts_alike(here.pod, pod):
            if _read_by_preemption(here.pod) != _read_by_preemption(pod):
                self._mark_pods_changed(new)
            self._rewrite(new)
            self._assumed -= here.state is PodState.ASSUMED
            return
        if here is None or not confirms(here, new):
            self._bump_generation(node)
        if known is None:
            self._add(new)
        else:
            self._replace(known, new)

    def _replace(self, old: PodInfo, new: PodInfo) -> None:
        """A pod is on another node than it was, or counts otherwise there."""
        if old.node != new.node:
            self._bump_generation(old.node)
        self._drop(old)
        try:
            self._add(new)
        except BaseException:
            self._add(old)
            raise

    def _bump_generation(self, node: str) -> None:
        self._changes += 1
        if node in self.nodes.row_of:
            self._node_generations[node] = self._changes

    def _mark_pods_changed(self, record: PodInfo) -> None:
        """Something about a pod on a node is another, though nothing that is counted."""
        if record.node in self.nodes.row_of:
            self.nodes.logs[Aspect.PODS].add(self.nodes.row_of[record.node])
            self.grouped_pods.touch(record.pod)

    def _add(self, record: PodInfo) -> None:
        steps = self._steps(record)
        all_or_none(1, *steps)
        try:
            self.nominations.remove(record.pod.metadata.uid, placed=record.node)
        except BaseException:
            all_or_none(-1, *steps)
            raise

    def _drop(self, record: PodInfo) -> None:
        all_or_none(-1, *self._steps(record))

    def _steps(self, record: PodInfo) -> tuple[Step, ...]:
        """All that it takes to put a pod on a node, or to take it off."""
        row = self.nodes.row_of.get(record.node)
        counted = () if row is None else self._counts(row, record)
        if self._pod_listener is not None and group_of(record.pod) is not None:
            counted = (*counted, (self._pod_listener.placed, record.pod))
        return (*counted, (self._enter, record))

    def _enter(self, record: PodInfo, sign: int) -> None:
        """Write down a pod (``sign`` 1), or cross it out (-1)."""
        meta = record.pod.metadata
        self._pod_infos[meta.uid] = record
        if sign < 0:
            del self._pod_infos[meta.uid]
        for groups, group in ((self._on_node, record.node), (self._in_namespace, meta.namespace)):
            members = groups.setdefault(group, {})
            members[meta.uid] = record
            if sign < 0:
                del members[meta.uid]
                if not members:
                    del groups[group]
        self._assumed += sign * (record.state is PodState.ASSUMED)

    def _rewrite(self, record: PodInfo) -> None:
        """A pod that counts as before is known otherwise; it keeps its place in every order."""
        meta = record.pod.metadata
        self._pod_infos[meta.uid] = record
        self._on_node[record.node][meta.uid] = record
        self._in_namespace[meta.namespace][meta.uid] = record

    def _counts_on(self, row: int, node: str) -> tuple[Step, ...]:
        """The steps that count the pods on a node."""
        return tuple(
            step
            for record in self._on_node.get(node, {}).values()
            for step in self._counts(row, record)
        )

    def _counts(self, row: int, record: PodInfo) -> tuple[Step, ...]:
        """The steps that count a pod wherever pods are counted."""
        pod = record.pod
        counts: tuple[Step, ...] = (
            (self.nodes.charge, row, record.requests),
            (self.pod_counters.charge, row, pod),
            (self.priorities.charge, row, pod),
        )
        if isinstance(pod, Pod) and pod.spec.scheduling_group is not None:
            counts = (*counts, (self.grouped_pods.charge, row, pod))
        if record.volumes is not NO_VOLUMES:
            counts = (*counts, (self._use_volumes, row, record))
        return counts

    def _use_volumes(self, row: int, record: PodInfo, sign: int) -> None:
        self.volumes.uses.increment()
        self.nodes.logs[Aspect.VOLUMES].add(row)
        self.volumes.charge(row, record.volumes, sign)

    def _pods_in(self, namespaces: frozenset[str] | None) -> Iterator[tuple[AnyPod, int]]:
        """The pods of these namespaces (None: of all) that are on a node which is there, with its
        row.
        """
        for namespace in self._in_namespace if namespaces is None else sorted(namespaces):
            for record in self._in_namespace.get(namespace, {}).values():
                row = self.nodes.row_of.get(record.node)
                if row is not None:
                    yield record.pod, row


def _read_by_preemption(pod: Pod | PartialObject) -> tuple[str | None, str, bool] | None:
    """What preemption reads of the status of a pod that runs."""
    if not isinstance(pod, Pod):
        return None
    return pod.status.start_time, pod.status.phase, is_ready(pod)
