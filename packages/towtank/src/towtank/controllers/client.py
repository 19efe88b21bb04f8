"""What controllers see and do: reads and writes by the verbs that HTTP calls too, and objects by
what they say.

``OwnerIndex`` is told of every change, so a controller that looks after ten pods does not read ten
thousand to find them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Hashable, Iterable
from datetime import UTC, datetime

import msgspec

from towtank.model import conditions
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import APIResource, Body
from towtank.model.requests import DeleteOptions, RequestTarget, WriteOptions
from towtank.storage.store import StoreChange
from towtank.storage.verbs import Verbs

PODS, NODES, NAMESPACES = "pods", "nodes", "namespaces"
REPLICA_SETS, REPLICATION_CONTROLLERS = "replicasets.apps", "replicationcontrollers"
MANAGER, KUBELET = "kube-controller-manager", "kubelet"


class OwnerIndex:
    """Bodies by the places that ``places`` gives each: ``index["owner", uid]``."""

    def __init__(self, places: Callable[[Body], Iterable[Hashable]]) -> None:
        self._keys_of = places
        self._found: dict[Hashable, dict[tuple[str, str], Body]] = collections.defaultdict(dict)

    def on_change(self, change: StoreChange) -> None:
        """Follow a change of the store."""
        key = change.now.key
        for place in self._keys_of(change.before.body) if change.before else ():
            bodies = self._found[place]
            bodies.pop(key, None)
            if not bodies:
                del self._found[place]
        if change.type != "DELETED":
            for place in self._keys_of(change.now.body):
                self._found[place][key] = change.now.body

    def __getitem__(self, place: Hashable) -> Collection[Body]:
        """What is there, the oldest change first; not to be kept over a write."""
        return self._found[place].values() if place in self._found else ()


def controller_of(body: Body) -> str:
    """The UID of the owner that looks after this object, "" for none."""
    return next(
        (
            str(owner["uid"])
            for owner in body["metadata"].get("ownerReferences", ())
            if owner.get("controller")
        ),
        "",
    )


def deep_copy(body: Body) -> Body:
    """A copy of which nothing is shared."""
    copy: Body = msgspec.json.decode(msgspec.json.encode(body))
    return copy


def is_terminating(body: Body) -> bool:
    """Whether its deletion has begun."""
    return "deletionTimestamp" in body["metadata"]


def is_finished(pod: Body) -> bool:
    """Whether its containers have ended for good."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Body) -> bool:
    """Whether it counts as a replica."""
    return not is_terminating(pod) and not is_finished(pod)


def parse_time(text: str) -> datetime:
    """A time as objects have it, whose writers may be anybody: what is none was long ago."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)


def _owned(body: Body) -> Iterable[Hashable]:
    namespace, uid = body["metadata"].get("namespace", ""), controller_of(body)
    yield "namespace", namespace
    yield ("owner", uid) if uid else ("free", namespace)


def _pod(body: Body) -> Iterable[Hashable]:
    yield from _owned(body)
    if node := body["spec"].get("nodeName"):
        yield "node", node
    if is_active(body):
        yield "active", controller_of(body)
        if conditions.holds(body, "Ready"):
            yield "ready", controller_of(body)
    elif not is_finished(body):
        yield "leaving", controller_of(body)


class ControllerClient:
    """``manager`` of a write is the component that does this in other clusters; field owners name
    it.
    """

    def __init__(self, verbs: Verbs, catalogue: Catalogue) -> None:
        self.verbs = verbs
        self.catalogue = catalogue
        self.indexes = {PODS: OwnerIndex(_pod), REPLICA_SETS: OwnerIndex(_owned)}

    @property
    def pods(self) -> OwnerIndex:
        """By namespace, owner, free (without owner, by namespace), node; active, ready and leaving
        ones by owner.
        """
        return self.indexes[PODS]

    def on_change(self, resource: str, change: StoreChange) -> None:
        """Follow a change of the store."""
        if resource in self.indexes:
            self.indexes[resource].on_change(change)

    def resource(self, key: str) -> APIResource | None:
        """How objects of this qualified plural name are written."""
        return next(
            (each for each in self.catalogue if each.key == key and each.mapping is None), None
        )

    def target(self, key: str, body: Body, subresource: str = "") -> RequestTarget:
        """Where this object is."""
        resource = self.resource(key)
        if resource is None:
            raise LookupError(f"no resource {key} is served")
        return RequestTarget(
            resource,
            body["metadata"].get("namespace", ""),
            body["metadata"].get("name", ""),
            subresource,
        )

    # ---- writing; each raises ApiError -----------------------------------------------------------

    def create(self, key: str, body: Body, manager: str = MANAGER) -> Body:
        """Create; the body may have parts of others."""
        return self.verbs.create(self.target(key, body), deep_copy(body), WriteOptions(manager))

    def patch(
        self, key: str, body: Body, change: Callable[[Body], None], subresource: str = ""
    ) -> Body:
        """Change the present state of this object in place."""

        def changed(copy: Body) -> Body:
            change(copy)
            return copy

        return self.verbs.patch(self.target(key, body, subresource), changed, WriteOptions(MANAGER))

    def status(self, key: str, body: Body, status: Body, manager: str = MANAGER) -> Body:
        """Replace its status by this, unless it says that already; keys whose value is None are
        left out.
        """
        status = deep_copy({name: value for name, value in status.items() if value is not None})
        if status == body.get("status"):
            return body
        target = self.target(key, body, "status")
        return self.verbs.patch(
            target, lambda copy: {**copy, "status": status}, WriteOptions(manager)
        )

    def delete(
        self, key: str, body: Body, propagation: str = "Background", grace: int | None = None
    ) -> None:
        """Delete this object and no later one of its name."""
        options = DeleteOptions(
            grace_seconds=grace,
            preconditions={"uid": body["metadata"]["uid"]},
            propagation=propagation,
        )
        self.verbs.delete(self.target(key, body), options)

    def drop_finalizer(self, key: str, body: Body, finalizer: str) -> None:
        """Its part is done."""

        def without(copy: Body) -> None:
            copy["metadata"]["finalizers"] = [
                each for each in copy["metadata"].get("finalizers", ()) if each != finalizer
            ]

        self.patch(key, body, without)
