"""Intake: what the watches say, written into the cache and the backlog, and told to whom it may wake.

Sinks are called on the loop's thread for every watch line, so each call is a few dictionary steps. An object that cannot be read, or
that anything fails on, harms itself only. It is set aside until it changes: a pod on a node still takes what it took there, or one
pod's place, one that waits is left out, a node keeps its last readable state.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from kubefacts.quantities import QuantityError
from moorage.core.columns.cache import Cache, State
from moorage.core.framework import object_changes
from moorage.core.framework.cluster_events import Action, ClusterEvent, Resource
from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject, key, version
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, PodSpec, pod_meta
from moorage.core.pods import ceilings
from moorage.core.pods.requests import pod_requests, takes_alike, unreadable_requests
from moorage.core.queue.scheduling_queue import Backlog
from moorage.ports.guards import FAULTS, guard, tell
from moorage.ports.kinds import StoredKind
from moorage.ports.kube import Unreadable
from moorage.ports.repeats import told_once

log = logging.getLogger(__name__)
T = TypeVar("T", bound=HasMetadata)
VANISHED_AT_ONCE = 256
"""Objects that a list did not have, and that are taken out in one go: a few milliseconds."""

_TOLD = (QuantityError, ceilings.TooLarge)
"""Errors whose text says it all: what else is raised is a bug."""
_ENDED = ("Succeeded", "Failed")


class Sink(Generic[T]):
    """Keeps the newest readable state of each object, so that a relist can tell what is gone, and calls the hooks below."""

    resource = kind_name = ""
    api = "v1"
    """What the API calls its objects, all of them and one, and its version."""

    def __init__(self) -> None:
        self.objects: dict[str, T] = {}
        self.aside: dict[str, Unreadable] = {}
        """What is set aside, by identity."""
        self.untold: dict[str, Unreadable] = {}
        """What of it was not told yet."""
        self.synced = False
        self._unseen: dict[str, T | PartialObject] | None = None

    def list_started(self) -> None:
        """Whatever is not put before ``list_ended`` is gone."""
        self._unseen = self.known()

    def put(self, obj: T) -> None:
        """Added or changed."""
        name = self.identity(obj.metadata)
        if self._unseen is not None:
            self._unseen.pop(name, None)
        old = self.objects.get(name)
        if old is not None and old.metadata.resource_version == obj.metadata.resource_version and not self.lost(old):
            return
        self.take(old, obj)

    def take(self, old: T | None, obj: T) -> None:
        """Put its newest state where it belongs, or set it aside."""
        name = self.identity(obj.metadata)
        self.objects[name] = obj
        try:
            ceilings.check(obj)
            self.on_put(old, obj)
        except FAULTS as error:
            del self.objects[name]
            if old is not None:
                self.objects[name] = old
            self._set_aside(Unreadable(PartialObject(obj.metadata), node_of(obj), _why(error), obj), error)
        else:
            self._in_order(name)
            if uncounted := self.uncounted(old, obj):
                log.warning("not all of an object counts: %s", uncounted, extra=told_once(f"{name} {uncounted}", object=key(obj)))
                self.untold[name] = Unreadable(PartialObject(obj.metadata), node_of(obj), uncounted)

    def delete(self, obj: T | PartialObject) -> None:
        """Gone. Where that cannot be written down now, the next list tells it again."""
        name = self.identity(obj.metadata)
        old, aside = self.objects.pop(name, None), self.aside.get(name)
        if old is None and aside is None:
            return
        try:
            self.on_delete(old or obj)
        except FAULTS as error:
            node = node_of(obj) if isinstance(obj, Pod) else ""
            self._set_aside(Unreadable(PartialObject(obj.metadata), node, f"it is gone: {_why(error)}"), error, gone=True)
        else:
            self._in_order(name)

    def unreadable(self, obj: Unreadable, deleted: bool) -> None:
        """Cannot be decoded."""
        if deleted:
            self.delete(obj.partial)
            return
        if self._unseen is not None:
            self._unseen.pop(self.identity(obj.partial.metadata), None)
        self._set_aside(obj)

    def _set_aside(self, obj: Unreadable, error: BaseException | None = None, *, gone: bool = False) -> None:
        """Leave it out of account, but for its place; told once with what failed, and once for each object."""
        name, named = self.identity(obj.partial.metadata), key(obj.partial)
        if error is not None and not isinstance(error, _TOLD):
            tell("taking in an object", error, resource=self.resource, object=named)
        log.error("an object is set aside: %s", obj.error, extra=told_once(f"{self.resource} {named} {obj.error}", object=named))
        before = self.aside.get(name)
        self.aside[name] = obj
        if before is None or before.error != obj.error or name in self.untold:
            self.untold[name] = obj
        if not gone:
            with guard("setting an object aside", resource=self.resource, object=named):
                self.on_unreadable(obj)

    def _in_order(self, name: str) -> None:
        if self.aside:
            self.aside.pop(name, None)
            self.untold.pop(name, None)

    def list_ended(self) -> bool:
        """Delete what the list did not have, or some of it; whether there is more."""
        unseen = self._unseen or {}
        for name in list(itertools.islice(unseen, VANISHED_AT_ONCE)):
            self.delete(unseen.pop(name))
        if unseen:
            return True
        self._unseen = None
        self.synced = True
        return False

    def known(self) -> dict[str, T | PartialObject]:
        """All objects by identity, also those that are set aside."""
        return {**{name: aside.partial for name, aside in self.aside.items()}, **self.objects}

    def state(self, identity: str) -> int | None:
        """The newest version of an object that is known; None when there is none, or it was lost since."""
        obj, aside = self.objects.get(identity), self.aside.get(identity)
        if aside is not None:
            return max(version(aside.partial.metadata), 0 if obj is None else version(obj.metadata))
        return None if obj is None or self.lost(obj) else version(obj.metadata)

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """What tells objects apart."""
        return metadata.uid

    def lost(self, obj: T) -> bool:
        """Whether an object that was put is not where its state says that it is: a bug, which the next ``put`` of it mends."""
        return False

    def uncounted(self, old: T | None, new: T) -> str:
        """What of an object is left out of account though the rest of it counts, where that is to be told now; else ""."""
        return ""

    def on_put(self, old: T | None, new: T) -> None:
        """An object is there for the first time (``old`` None) or anew. What it raises sets the object aside."""

    def on_delete(self, old: T | PartialObject) -> None:
        """An object is gone."""

    def on_unreadable(self, obj: Unreadable) -> None:
        """An object is there that only its metadata is known of."""


def _why(error: BaseException) -> str:
    """What a person needs to know of it: a bug's text alone may say nothing."""
    return str(error) if isinstance(error, _TOLD) else repr(error)


def node_of(obj: HasMetadata) -> str:
    """The node that a pod is on, else ""."""
    return obj.spec.node_name if isinstance(obj, Pod) else ""


class Pods(Sink[Pod]):
    """Pods: on a node (cache) or waiting for one (backlog)."""

    resource, kind_name = "pods", "Pod"

    def __init__(self, cache: Cache, backlog: Backlog, now: Callable[[], float], queued: Callable[[Pod], None]) -> None:
        super().__init__()
        self._cache = cache
        self._backlog = backlog
        self._now = now
        self._queued = queued
        """Told of each pod that came into the backlog."""
        self.left: Callable[[str], None] = lambda _: None
        """Told of the UID of a pod that wants no node any more: it is gone, it is going, or it has one."""
        self.came: Callable[[str], None] = lambda _: None
        """Told of the node that a pod has come to."""

    def on_put(self, old: Pod | None, new: Pod) -> None:
        """Write it where it belongs now."""
        if new.status.phase in _ENDED:
            self.on_delete(new)
        elif new.spec.node_name:
            self._on_node(old, new)
        else:
            self._waiting(old, new)

    def on_delete(self, old: Pod | PartialObject) -> None:
        """Free what it took, or was to take."""
        uid = old.metadata.uid
        record = self._cache.record(uid)
        self._backlog.remove(uid)
        self.left(uid)
        self._cache.nominations.remove(uid)
        if record is not None:
            self._cache.remove(uid)
            pod = record.pod if isinstance(record.pod, Pod) else Pod(pod_meta(record.pod), PodSpec(node_name=record.node))
            self._backlog.wake(object_changes.room_freed(pod), self._now())

    def uncounted(self, old: Pod | None, new: Pod) -> str:
        """What is above a ceiling, told when it has come to its node."""
        came = new.spec.node_name and new.status.phase not in _ENDED and not (old is not None and old.spec.node_name)
        return ceilings.uncounted(new) if came else ""

    def lost(self, obj: Pod) -> bool:
        """Whether it is neither on its node nor in the queue."""
        uid = obj.metadata.uid
        if obj.status.phase in _ENDED or self._cache.record(uid) is not None:
            return False
        return bool(obj.spec.node_name) or (obj.metadata.deletion_timestamp is None and self._backlog.get(uid) is None)

    def on_unreadable(self, obj: Unreadable) -> None:
        """It takes its place on its node; a waiting one cannot be placed, and what is assumed of it its binding will tell."""
        uid, node = obj.partial.metadata.uid, obj.node_name
        self.objects.pop(uid, None)
        self._backlog.remove(uid)
        self._cache.nominations.remove(uid)
        if node:
            known = self._cache.record(uid)
            self._cache.observe_unreadable(obj.partial, node, known.requests if known and known.node == node else unreadable_requests())

    def _on_node(self, old: Pod | None, new: Pod) -> None:
        now, uid = self._now(), new.metadata.uid
        record = self._cache.record(uid)
        alike = record is not None and isinstance(record.pod, Pod) and takes_alike(record.pod, new)
        requests = record.requests if record is not None and alike else pod_requests(new)
        seen_before = record is not None and record.state is State.OBSERVED
        self._cache.observe(new, requests)
        self._backlog.groups.bound(new)
        if not seen_before:
            self._backlog.remove(uid)
            self.left(uid)
            self._backlog.wake(ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, new=new), now)
            self.came(new.spec.node_name)
        elif old is not None:
            for event in object_changes.pod_changes(old, new):
                self._backlog.wake(event, now)

    def _waiting(self, old: Pod | None, new: Pod) -> None:
        now, uid = self._now(), new.metadata.uid
        record = self._cache.record(uid)
        # Raises where the queue and the cycle would; what a pod asks for that will be refused anyway is not added up.
        requests = unreadable_requests() if ceilings.too_large(new) else pod_requests(new)
        if new.metadata.deletion_timestamp is not None:
            self.left(uid)
        waits = record is None or record.state is State.OBSERVED  # else it has its place, which the watch does not show yet
        promised_another = waits and self._cache.nominations.read(new, requests)
        if new.metadata.deletion_timestamp is not None:
            self._cache.nominations.remove(uid)  # it will not come
        if self._backlog.get(uid) is not None:  # in flight too: if its binding fails, it is tried in its newest state
            self._backlog.update(new, now)
            if promised_another:
                self._backlog.retry(uid, now)
        elif old is not None and old.metadata.deletion_timestamp is not None:
            return  # it was skipped as it is being deleted, and told so: that finalizers hold it makes no difference
        elif waits:
            self._cache.remove(uid)
            self._backlog.add(new, now)
            self._queued(new)

    def look_again(self, uid: str) -> None:
        """A binding came to nothing: a pod that left the queue meanwhile, and is there and waits after all, is queued anew."""
        pod = self.objects.get(uid)
        if pod is not None and not pod.spec.node_name and self._backlog.get(uid) is None:
            self.take(pod, pod)


class Nodes(Sink[Node]):
    """Nodes."""

    resource, kind_name = "nodes", "Node"

    def __init__(self, cache: Cache, backlog: Backlog, now: Callable[[], float]) -> None:
        super().__init__()
        self._cache = cache
        self._backlog = backlog
        self._now = now
        self.left: Callable[[str], None] = lambda _: None
        """Told of the name of a node that is gone."""
        self.changed: Callable[[str], None] = lambda _: None
        """Told of the name of a node that decisions may see with other eyes now."""

    def on_put(self, old: Node | None, new: Node) -> None:
        """Write it down and wake whom it may help; both, or none."""
        self._cache.put_node(new)
        try:
            events = [ClusterEvent(Resource.NODE, Action.ADD, new=new)] if old is None else object_changes.node_changes(old, new)
            for event in events:
                self._backlog.wake(event, self._now())
        except BaseException:
            if old is not None:
                self._cache.put_node(old)
            else:
                self._cache.remove_node(new.metadata.name)
            raise
        if old is not None and (events or old.spec != new.spec):
            self.changed(new.metadata.name)

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """A node's name, as everything refers to it so."""
        return metadata.name

    def lost(self, obj: Node) -> bool:
        """Whether it has no row."""
        return obj.metadata.name not in self._cache.nodes.row_of

    def on_delete(self, old: Node | PartialObject) -> None:
        """Free its row."""
        self._cache.remove_node(old.metadata.name)
        self.left(old.metadata.name)
        if isinstance(old, Node):
            self._backlog.wake(ClusterEvent(Resource.NODE, Action.DELETE, old=old), self._now())


class Others(Sink[HasMetadata]):
    """Objects of another kind: kept in the store, for whoever decides by them."""

    def __init__(self, kind: StoredKind, cache: Cache, backlog: Backlog, now: Callable[[], float]) -> None:
        super().__init__()
        self.kind = kind
        self.resource, self.kind_name, self.api = kind.name, kind.struct.__name__, kind.api
        self.listed: Callable[[], None] = lambda: None
        """Called when a whole list is in."""
        self._store = cache.store
        self._backlog = backlog
        self._now = now

    def on_put(self, old: HasMetadata | None, new: HasMetadata) -> None:
        """Keep its newest state and wake whom it may help; both, or none."""
        self._store.put(new)
        try:
            self._wake(Action.ADD if old is None else Action.UPDATE, old, new)
        except BaseException:
            if old is not None:
                self._store.put(old)
            else:
                self._store.remove(self.kind.struct, key(new))
            raise

    def on_delete(self, old: HasMetadata | PartialObject) -> None:
        """Forget it."""
        self._store.remove(self.kind.struct, key(old))
        self._wake(Action.DELETE, old, None)

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """Its name, as the store has it: an object made anew takes the old one's place."""
        return f"{metadata.namespace}/{metadata.name}"

    def list_ended(self) -> bool:
        """A whole list is in, once nothing more is to be deleted."""
        more = super().list_ended()
        if not more:
            self.listed()
        return more

    def _wake(self, action: Action, old: HasMetadata | None, new: HasMetadata | None) -> None:
        if self.kind.event is not None:
            self._backlog.wake(ClusterEvent(self.kind.event, action, old, new), self._now())
