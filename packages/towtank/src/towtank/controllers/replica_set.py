"""ReplicaSets and ReplicationControllers: as many pods of a template as are wanted."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from kubefacts.labels import NOTHING, Selector
from towtank.controllers.client import (
    PODS,
    REPLICA_SETS,
    ControllerClient,
    controller_of,
    is_active,
    is_terminating,
    parse_time,
)
from towtank.controllers.controller import Controller, Key
from towtank.controllers.ownership import claim, labels_of, owner_name, owner_reference
from towtank.model import conditions
from towtank.model.api_errors import ApiError
from towtank.model.kinds import Body
from towtank.model.object_selectors import compiled
from towtank.model.times import after, timestamp
from towtank.storage.store import StoreChange
from towtank.strategies.pod_validation import deletion_cost

BURST = 16
"""Pods that are made or deleted at one look; then others have their turn."""
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class ReplicaSetController(Controller):
    """Keys: ("size" or "claim", namespace, name). Counting is cheap; which pods are whose is looked
    at when labels or owners change.
    """

    keys_per_slice = 1

    def __init__(self, world: ControllerClient, key: str = REPLICA_SETS) -> None:
        """``key`` is REPLICA_SETS or REPLICATION_CONTROLLERS."""
        super().__init__(world)
        self._key = key
        self._ranked: dict[tuple[str, str], tuple[object, collections.deque[str]]] = {}
        """Names of the surplus of a set, first to go first, and what it was ranked for."""
        self._kind = "ReplicaSet" if key == REPLICA_SETS else "ReplicationController"

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Sets, and pods: whoever looks after them before or after, or might."""
        if resource == self._key and change.type != "DELETED":
            if change.alters(lambda owner: owner["spec"]):
                yield "claim", *change.now.key
        elif resource == PODS:
            yield from self._of_pod(change)

    def _of_pod(self, change: StoreChange) -> Iterable[Key]:
        (namespace, pod_name), pod = change.now.key, change.now.body
        moved = change.before is not None and change.alters(self._belongs)
        for name in {owner_name(body, self._kind) for body in change.bodies} - {""}:
            yield "claim" if moved else "size", namespace, name
        stays = change.type != "DELETED" and not is_terminating(pod)
        if stays and not pod["metadata"].get("ownerReferences"):
            yield "free", namespace, pod_name

    def _belongs(self, pod: Body) -> object:
        """What says whose it is."""
        return labels_of(pod), owner_name(pod, self._kind)

    def reconcile(self, key: Key, now: datetime) -> None:
        """Claim, add or delete pods, and say how many there are."""
        what, namespace, name = key
        if what == "free":
            self._offer(namespace, name)
            return
        owner = self.client.verbs.find(self._key, namespace, name)
        if owner is None:
            self._ranked.pop((namespace, name), None)
            return
        if what == "claim":
            claim(self.client, PODS, owner, self._selector(owner))
        failure = None if is_terminating(owner) else self._size(owner)
        self._report(owner, failure, now)
        if failure:
            raise failure

    def _offer(self, namespace: str, name: str) -> None:
        """A pod is nobody's: look whether it is wanted."""
        pod = self.client.verbs.find(PODS, namespace, name)
        for stored in self.client.verbs.store.list(self._key, namespace) if pod else ():
            if pod and self._selector(stored.body).matches(labels_of(pod)):
                self.queue.add(("claim", *stored.key))

    def _selector(self, owner: Body) -> Selector:
        selector = owner["spec"].get("selector")
        return compiled(
            selector if self._key == REPLICA_SETS else {"matchLabels": selector}, empty=NOTHING
        )

    # ---- how many --------------------------------------------------------------------------------

    def _size(self, owner: Body) -> ApiError | None:
        """Make some that lack, or delete some of the surplus; returns why no more could be made."""
        active = len(self.client.pods["active", owner["metadata"]["uid"]])
        lacking = owner["spec"].get("replicas", 1) - active
        if lacking < 0:
            self._delete_some(owner, -lacking)
            return None
        self._ranked.pop(_place(owner), None)
        return self._make_some(owner, lacking)

    def _make_some(self, owner: Body, number: int) -> ApiError | None:
        again = number > BURST
        try:
            for _ in range(min(number, BURST)):
                self.client.create(PODS, self._pod(owner))
        except ApiError as problem:
            if problem.reason != "AlreadyExists":  # else a name was drawn twice, and is drawn again
                return problem
            again = True
        if again:
            self.queue.add(("size", *_place(owner)))
        return None

    def _delete_some(self, owner: Body, number: int) -> None:
        doomed = self._doomed(owner, number)
        for pod in doomed:
            self.client.delete(PODS, pod)
        if len(doomed) < number:
            self.queue.add(("size", *_place(owner)))

    def _doomed(self, owner: Body, number: int) -> Sequence[Body]:
        """The next of the surplus, at most a burst; ranking looks at all pods, so it is done once
        for many bursts.
        """
        place, uid = _place(owner), owner["metadata"]["uid"]
        stamp = uid, owner["spec"].get("replicas")
        before, names = self._ranked.get(place, (None, collections.deque[str]()))
        if not names or before != stamp:
            ranked = surplus(self.client.pods["active", uid], number)
            names = collections.deque(pod["metadata"]["name"] for pod in ranked)
            self._ranked[place] = stamp, names
        doomed: list[Body] = []
        while names and len(doomed) < min(number, BURST):
            pod = self.client.verbs.find(PODS, place[0], names.popleft())
            if pod and is_active(pod) and controller_of(pod) == uid:  # it may have gone since
                doomed.append(pod)
        return doomed

    def _pod(self, owner: Body) -> Body:
        template, metadata = owner["spec"]["template"], owner["metadata"]
        said = {
            name: value
            for name, value in template.get("metadata", {}).items()
            if name in ("labels", "annotations", "finalizers")
        }
        own = {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "ownerReferences": [owner_reference(owner)],
        }
        return {"metadata": {**said, **own}, "spec": template["spec"]}

    def _report(self, owner: Body, failure: ApiError | None, now: datetime) -> None:
        """Write the status, where it is another one than before."""
        uid = owner["metadata"]["uid"]
        count, ready = len(self.client.pods["active", uid]), self.client.pods["ready", uid]
        leaving = len(self.client.pods["leaving", uid])
        status = {
            "replicas": count,
            "fullyLabeledReplicas": count or None,
            "readyReplicas": len(ready) or None,
            "availableReplicas": self._available(owner, ready, now) or None,
            "terminatingReplicas": leaving if self._key == REPLICA_SETS else None,
            "observedGeneration": owner["metadata"].get("generation"),
            "conditions": _failed(owner, failure, now),
        }
        self.client.status(self._key, owner, status)

    def _available(self, owner: Body, ready: Collection[Body], now: datetime) -> int:
        """How many are ready for as long as they have to; looked at again when the next one is."""
        ready_for = owner["spec"].get("minReadySeconds", 0)
        times = [after(_ready_since(pod), ready_for) for pod in ready] if ready_for else []
        waiting = [when for when in times if when > now]
        if waiting:
            self.queue.add(("size", *_place(owner)), min(waiting))
        return len(ready) - len(waiting)


def surplus(pods: Collection[Body], number: int) -> Sequence[Body]:
    """The pods to delete first: that have no node, run least, are not ready, cost least, share
    their node, are youngest.
    """
    crowd = collections.Counter(pod["spec"].get("nodeName", "") for pod in pods)

    def rank(pod: Body) -> tuple[object, ...]:
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        return (
            bool(node),
            _PHASES.get(pod.get("status", {}).get("phase", "Pending"), 0),
            conditions.holds(pod, "Ready"),
            deletion_cost(metadata.get("annotations", {})) or 0,
            -crowd[node],
            -parse_time(metadata["creationTimestamp"]).timestamp(),
        )

    return sorted(pods, key=rank)[:number]


def _place(owner: Body) -> tuple[str, str]:
    return owner["metadata"]["namespace"], owner["metadata"]["name"]


def _ready_since(pod: Body) -> datetime:
    return parse_time(
        conditions.find(pod, "Ready").get("lastTransitionTime")
        or pod["metadata"]["creationTimestamp"]
    )


def _failed(owner: Body, failure: ApiError | None, now: datetime) -> list[Body] | None:
    """The conditions: that pods cannot be made, and why, or none."""
    if failure is None:
        return None
    told = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": failure.message,
    }
    return [conditions.with_transition_time(owner, told, timestamp(now))]
