"""Intake: what the watches say, written into the cache and the backlog, and told to whom it may wake.

Sinks are called on the loop's thread for every watch line, so each call is a few dictionary steps. An object that cannot be read
harms itself only: a pod on a node still takes its place there, a node that cannot be read keeps its last readable state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from moorage.core import object_changes
from moorage.core.backlog.backlog import Backlog
from moorage.core.cluster_events import Action, ClusterEvent, Resource
from moorage.core.columns.cache import Cache, State
from moorage.core.columns.requests import pod_requests
from moorage.core.objects import Namespace, Node, PartialObject, Pod, key
from moorage.core.quantities import QuantityError
from moorage.ports.kube import Unreadable

log = logging.getLogger(__name__)
T = TypeVar("T", Pod, Node, Namespace)

_ENDED = ("Succeeded", "Failed")


class Sink(Generic[T]):
    """Keeps the newest state of each object, so that a relist can tell what is gone, and calls the hooks below."""

    def __init__(self) -> None:
        self.objects: dict[str, T] = {}
        self.synced = False
        self._unseen: dict[str, T] | None = None

    def list_started(self) -> None:
        """Whatever is not put before ``list_ended`` is gone."""
        self._unseen = dict(self.objects)

    def put(self, obj: T) -> None:
        """Added or changed."""
        name = identity(obj)
        if self._unseen is not None:
            self._unseen.pop(name, None)
        old = self.objects.get(name)
        self.objects[name] = obj
        if old is None or old.metadata.resource_version != obj.metadata.resource_version:
            self.on_put(old, obj)

    def delete(self, obj: T) -> None:
        """Gone."""
        if (old := self.objects.pop(identity(obj), None)) is not None:
            self.on_delete(old)

    def unreadable(self, obj: Unreadable, deleted: bool) -> None:
        """Cannot be decoded."""
        log.error("an object cannot be read: %s", obj.error, extra={"object": key(obj.partial)})
        name = obj.partial.metadata.uid or key(obj.partial)
        if self._unseen is not None:
            self._unseen.pop(name, None)
        self.on_unreadable(obj, deleted)

    def list_ended(self) -> None:
        """Delete what the list did not have."""
        for obj in (self._unseen or {}).values():
            self.delete(obj)
        self._unseen = None
        self.synced = True

    def on_put(self, old: T | None, new: T) -> None:
        """An object is there for the first time (``old`` None) or anew."""

    def on_delete(self, old: T) -> None:
        """An object is gone."""

    def on_unreadable(self, obj: Unreadable, deleted: bool) -> None:
        """An object came or went that only its metadata is known of."""


def identity(obj: Pod | Node | Namespace | PartialObject) -> str:
    """What tells objects apart: nodes by name, as everything refers to them so, all others by UID."""
    return obj.metadata.name if isinstance(obj, Node) else obj.metadata.uid


class Pods(Sink[Pod]):
    """Pods: on a node (cache) or waiting for one (backlog)."""

    def __init__(self, cache: Cache, backlog: Backlog, now: Callable[[], float], queued: Callable[[Pod], None]) -> None:
        super().__init__()
        self._cache = cache
        self._backlog = backlog
        self._now = now
        self._queued = queued
        """Told of each pod that came into the backlog."""

    def on_put(self, old: Pod | None, new: Pod) -> None:
        """Write it where it belongs now."""
        if new.status.phase in _ENDED:
            self.on_delete(new)
        elif new.spec.node_name:
            self._on_node(old, new)
        else:
            self._waiting(old, new)

    def on_delete(self, old: Pod) -> None:
        """Free what it took."""
        now, uid = self._now(), old.metadata.uid
        record = self._cache.record(uid)
        if self._cache.remove(uid):
            gone = record.pod if record is not None and isinstance(record.pod, Pod) else old
            self._backlog.wake(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, old=gone), now)
        self._backlog.remove(uid)

    def on_unreadable(self, obj: Unreadable, deleted: bool) -> None:
        """It takes its place on its node, or leaves it; a waiting one cannot be placed."""
        uid = obj.partial.metadata.uid
        self.objects.pop(uid, None)
        self._backlog.remove(uid)
        if deleted or not obj.node_name:
            self._cache.remove(uid)
        else:
            self._cache.observe_unreadable(obj.partial, obj.node_name)

    def _on_node(self, old: Pod | None, new: Pod) -> None:
        now, uid = self._now(), new.metadata.uid
        record = self._cache.record(uid)
        try:
            requests = pod_requests(new)
        except QuantityError as error:
            self.unreadable(Unreadable(PartialObject(new.metadata), new.spec.node_name, str(error)), deleted=False)
            return
        seen_before = record is not None and record.state is State.OBSERVED
        self._cache.observe(new, requests)
        if not seen_before:
            self._backlog.remove(uid)
            self._backlog.wake(ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, new=new), now)
        elif old is not None:
            for event in object_changes.pod_changes(old, new):
                self._backlog.wake(event, now)

    def _waiting(self, old: Pod | None, new: Pod) -> None:
        now = self._now()
        record = self._cache.record(new.metadata.uid)
        if record is not None and record.state is State.ASSUMED:
            return
        if record is not None:
            self._cache.remove(new.metadata.uid)
        try:
            pod_requests(new)
        except QuantityError as error:
            self.unreadable(Unreadable(PartialObject(new.metadata), "", str(error)), deleted=False)
            return
        if self._backlog.get(new.metadata.uid) is None:
            self._backlog.add(new, now)
            self._queued(new)
        else:
            self._backlog.update(new, now)


class Nodes(Sink[Node]):
    """Nodes."""

    def __init__(self, cache: Cache, backlog: Backlog, now: Callable[[], float]) -> None:
        super().__init__()
        self._cache = cache
        self._backlog = backlog
        self._now = now

    def on_put(self, old: Node | None, new: Node) -> None:
        """Write it down and wake whom it may help."""
        try:
            self._cache.put_node(new)
        except QuantityError as error:
            self.unreadable(Unreadable(PartialObject(new.metadata), "", str(error)), deleted=False)
            return
        events = [ClusterEvent(Resource.NODE, Action.ADD, new=new)] if old is None else object_changes.node_changes(old, new)
        for event in events:
            self._backlog.wake(event, self._now())

    def on_delete(self, old: Node) -> None:
        """Free its row."""
        self._backlog.wake(ClusterEvent(Resource.NODE, Action.DELETE, old=old), self._now())
        self._cache.remove_node(old.metadata.name)

    def on_unreadable(self, obj: Unreadable, deleted: bool) -> None:
        """Keep its last readable state until it is gone."""
        if deleted:
            self.objects.pop(obj.partial.metadata.name, None)
            self._cache.remove_node(obj.partial.metadata.name)


class Namespaces(Sink[Namespace]):
    """Namespaces: kept for selectors over their labels."""
