"""Undoing: what a simulation does to its context, so that all of it can be taken back.

What is known afterwards is what was known before, the order of pods on nodes included. So one
context serves many trials, each of which begins from the same state.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Nomination
from moorage.core.columns.pod_counters import AnyPod
from moorage.core.columns.pod_info import PodInfo
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, ScheduleResult
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim, ResourceClaimStatus
from moorage.core.pods.requests import pod_requests
from moorage.core.queue.pod_group_members import PodGroupTracker

Step = Callable[[], object]


class UndoLog:
    """Changes a context, and notes how to take that back. ``groups`` is told which pods occupy
    nodes.
    """

    def __init__(self, context: CycleContext, groups: PodGroupTracker) -> None:
        self._context = context
        self._cache = context.cache
        self._groups = groups
        self._steps: list[Step] = []
        self._placed: dict[str, tuple[int, ScheduleResult]] = {}
        """By UID: the pods that were placed since the begin, and the step that takes that back."""
        self._observed: set[str] = set()
        """UIDs of the pods that came to a node without being placed."""
        self._orders: dict[str, list[str]] = {}
        """Of each node that a pod was taken off: the UIDs of those that were there at the begin."""
        self._nominations = _nominations(self._cache)
        self._sampled_from = context.sampler.start

    # ---- pods ------------------------------------------------------------------------------------

    def wait(self, pod: Pod) -> None:
        """The pod waits for a node. One that is known to wait already stays as it is."""
        uid = pod.metadata.uid
        before = self._cache.waiting.get(uid)
        if before is not pod:
            self._cache.observe_waiting(pod, pod_requests(pod))
            self._steps.append(
                functools.partial(self._cache.remove, uid)
                if before is None
                else functools.partial(self._wait_again, before)
            )

    def commit(self, placement: ScheduleResult) -> Decision:
        """Let the pod have its place, as ``cycle.assume_and_reserve`` does."""
        outcome = cycle.assume_and_reserve(placement, self._context)
        if isinstance(outcome, ScheduleResult):
            self.note_placed(outcome)
        return outcome

    def note_placed(self, placement: ScheduleResult) -> None:
        """The pod has its place already: note how to take it back."""
        uid = placement.pod.metadata.uid
        self._count(placement.pod, 1)
        self._placed[uid] = len(self._steps), placement
        self._steps.append(functools.partial(self._displace, placement))

    def take_off(self, record: PodInfo) -> None:
        """The pod leaves its node."""
        uid = record.pod.metadata.uid
        if uid in self._placed:
            step, placement = self._placed.pop(uid)
            self._displace(placement)
            self._steps[step] = _nothing
            return
        if record.node not in self._orders:
            there = (one.pod.metadata.uid for one in self._cache.pods_on(record.node))
            self._orders[record.node] = [
                one for one in there if one not in self._placed and one not in self._observed
            ]
        waiting = self._cache.waiting.get(uid)
        self._cache.remove(uid)
        self._count(record.pod, -1)
        self._steps.append(functools.partial(self._put_back, record, waiting))

    def observe(self, pod: Pod) -> None:
        """A new pod is on its node."""
        self._cache.observe(pod, pod_requests(pod))
        self._count(pod, 1)
        self._observed.add(pod.metadata.uid)
        self._steps.append(functools.partial(self._vanish, pod))

    def remove_waiting(self, pod: Pod) -> None:
        """The pod waits no more: it is gone."""
        self._cache.remove(pod.metadata.uid)
        self._steps.append(functools.partial(self._wait_again, pod))

    def free_claims(self, pod: Pod) -> None:
        """Claims that are this pod's alone lose their devices, as they do once it is gone."""
        claims, status = self._cache.store.objects(ResourceClaim), pod.status
        extended = status.extended_resource_claim_status
        names = [use.resource_claim_name for use in pod.spec.resource_claims or ()]
        names += [use.resource_claim_name for use in status.resource_claim_statuses or ()]
        names += [] if extended is None else [extended.resource_claim_name]
        for name in names:
            claim = claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is not None and _is_only_for(claim, pod):
                self.put_object(msgspec.structs.replace(claim, status=ResourceClaimStatus()))

    # ---- everything else -------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """A node comes, or is in another state."""
        name = node.metadata.name
        old = node_named(name, self._cache)
        self._cache.put_node(node)
        self._steps.append(
            functools.partial(self._cache.remove_node, name)
            if old is None
            else functools.partial(self._cache.put_node, old)
        )

    def remove_node(self, node: Node) -> None:
        """This node is gone."""
        self._cache.remove_node(node.metadata.name)
        self._steps.append(functools.partial(self._cache.put_node, node))

    def put_object(self, obj: HasMetadata) -> None:
        """An object that is neither pod nor node comes, or is in another state."""
        store = self._cache.store
        old = store.objects(type(obj)).get(key(obj))
        store.put(obj)
        self._steps.append(
            functools.partial(store.remove, type(obj), key(obj))
            if old is None
            else functools.partial(store.put, old)
        )

    def remove_object(self, obj: HasMetadata) -> None:
        """This object is gone."""
        store = self._cache.store
        store.remove(type(obj), key(obj))
        self._steps.append(functools.partial(store.put, obj))

    def undo(self) -> None:
        """Take back all of it; the log begins anew."""
        while self._steps:
            self._steps.pop()()
        for node, order in self._orders.items():
            self._reorder(node, order)
        self._restore_nominations()
        self._context.sampler.start = self._sampled_from
        self._placed.clear()
        self._observed.clear()
        self._orders.clear()

    # ---- inside ----------------------------------------------------------------------------------

    def _count(self, pod: AnyPod, sign: int) -> None:
        """A member of a group occupies a node from now on (1), or does not any more (-1)."""
        if group_of(pod) is not None:
            self._groups.placed(pod, sign)

    def _displace(self, placement: ScheduleResult) -> None:
        self._count(placement.pod, -1)
        cycle.unreserve_and_forget(placement, self._cache)

    def _vanish(self, pod: Pod) -> None:
        self._count(pod, -1)
        self._cache.remove(pod.metadata.uid)

    def _put_back(self, record: PodInfo, waiting: Pod | None) -> None:
        self._count(record.pod, 1)
        self._put(record, waiting)

    def _put(self, record: PodInfo, waiting: Pod | None) -> None:
        if waiting is not None:
            self._wait_again(waiting)
        self._cache.put_back(record)

    def _wait_again(self, pod: Pod) -> None:
        self._cache.observe_waiting(pod, pod_requests(pod))

    def _reorder(self, node: str, order: list[str]) -> None:
        """Have the pods on a node in this order again."""
        there = {record.pod.metadata.uid: record for record in self._cache.pods_on(node)}
        if list(there) == order:
            return
        for uid in order:
            waiting = self._cache.waiting.get(uid)
            self._cache.remove(uid)
            self._put(there[uid], waiting)

    def _restore_nominations(self) -> None:
        nominations = self._cache.nominations
        if _nominations(self._cache) != self._nominations:
            for known in nominations.states():
                nominations.restore(Nomination(known.uid))
            for state in self._nominations:
                nominations.restore(state)


def node_named(name: str, cache: Cache) -> Node | None:
    """The node of this name, None where there is none."""
    row = cache.nodes.row_of.get(name)
    return None if row is None else cache.nodes.nodes[row]


def _nothing() -> None:
    """What is left to do of what was taken back before."""


def _nominations(cache: Cache) -> list[Nomination]:
    return list(cache.nominations.states())


def _is_only_for(claim: ResourceClaim, pod: Pod) -> bool:
    reserved = claim.status.reserved_for or ()
    return [one.uid for one in reserved] == [pod.metadata.uid]
