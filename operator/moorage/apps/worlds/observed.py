"""What is observed of a cluster, by somebody who decides nothing in it.

Sinks take objects as lists and watches bring them, into a context that they alone change; its
journal tells what came in which order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from moorage.adapters.reflector import ListWatch
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import API_VERSION
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject, Struct, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods import ceilings
from moorage.core.pods.requests import pod_requests, unreadable_requests
from moorage.engine.intake.latest import LatestObjects
from moorage.engine.intake.object_sink import ObjectSink
from moorage.ports.kube import LIVE_PODS, UnreadableObject
from moorage.ports.stored_kinds import StoredKind

T = TypeVar("T", bound=HasMetadata)
_ENDED: Final = ("Succeeded", "Failed")


class ObservedPods(ObjectSink[Pod]):
    """Pods, on a node or waiting for one."""

    resource, kind_name = "pods", "Pod"

    def __init__(self, cache: Cache) -> None:
        super().__init__(LatestObjects())
        self._cache = cache
        self.arrivals = 0
        """Pods that came."""
        self.bound: Counter[str] = Counter()
        """Pods that waited and were given a node, by schedulerName."""

    def on_added_or_updated(self, old: Pod | None, new: Pod) -> str:
        """Where it is now."""
        self.arrivals += old is None
        if old is not None and new.spec.node_name and not old.spec.node_name:
            self.bound[new.spec.scheduler_name] += 1
        if new.status.phase in _ENDED:
            self._cache.remove(new.metadata.uid)
        elif new.spec.node_name:
            self._cache.observe(new, pod_requests(new))
        else:
            self._cache.observe_waiting(new, pod_requests(new))
        return ""

    def on_delete(self, old: Pod | PartialObject) -> None:
        self._cache.remove(old.metadata.uid)

    def on_unreadable(self, obj: UnreadableObject) -> None:
        """It takes its place on its node."""
        uid, node = obj.partial.metadata.uid, obj.node_name
        self.objects.pop(uid, None)
        known = self._cache.pod_info(uid)
        takes = known.requests if known and known.node == node else unreadable_requests()
        self._cache.observe_unreadable(obj.partial, node, takes)


class _Named(ObjectSink[T]):
    """Objects that are known by name: one made anew takes the old one's place."""

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        return f"{metadata.namespace}/{metadata.name}"


class ObservedNodes(_Named[Node]):
    """Nodes."""

    resource, kind_name = "nodes", "Node"

    def __init__(self, cache: Cache) -> None:
        super().__init__(LatestObjects())
        self._cache = cache

    def on_added_or_updated(self, old: Node | None, new: Node) -> str:
        ceilings.check(new)
        self._cache.put_node(new)
        return ""

    def on_delete(self, old: Node | PartialObject) -> None:
        self._cache.remove_node(old.metadata.name)


class ObservedObjects(_Named[HasMetadata]):
    """Objects of one other kind."""

    def __init__(self, kind: StoredKind, cache: Cache) -> None:
        super().__init__(LatestObjects())
        self.resource, self.kind_name, self.api = kind.name, kind.kind, kind.api
        self._struct = kind.struct
        self._store = cache.store

    def on_added_or_updated(self, old: HasMetadata | None, new: HasMetadata) -> str:
        ceilings.check(new)
        self._store.put(new)
        return ""

    def on_delete(self, old: HasMetadata | PartialObject) -> None:
        self._store.remove(self._struct, key(old))


class CustomObject(Struct, frozen=True):
    """An object of a kind of Moorage's own, as it is."""

    metadata: ObjectMeta
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] = msgspec.field(default_factory=dict)


class ObservedCustomObjects(_Named[CustomObject]):
    """Objects of a kind of Moorage's own; nothing in the context depends on them."""

    api = API_VERSION

    def __init__(self, resource: str, kind: str) -> None:
        super().__init__(LatestObjects())
        self.resource, self.kind_name = resource, kind

    def bodies(self) -> list[Body]:
        """The objects, as data."""
        named = {"apiVersion": API_VERSION, "kind": self.kind_name}
        return [{**named, **msgspec.to_builtins(one)} for one in self.objects.values()]


class ObservedCluster:
    """A context and the sinks that fill it; beside it the profiles, which only say who decides."""

    def __init__(self, context: CycleContext, kinds: Iterable[StoredKind]) -> None:
        """``kinds`` are those beside pods and nodes (``kinds_in`` of a registry)."""
        cache = context.cache
        self.context = context
        self.pods = ObservedPods(cache)
        self.nodes = ObservedNodes(cache)
        self.others = {kind: ObservedObjects(kind, cache) for kind in kinds}
        self.profiles = ObservedCustomObjects("schedulerprofiles", "SchedulerProfile")
        self.configs = ObservedCustomObjects("pluginconfigs", "PluginConfig")

    def watched(self) -> Iterator[tuple[ListWatch[Any], ObjectSink[Any]]]:
        """What is to be listed and watched, and where it goes."""
        yield ListWatch("nodes", "/api/v1/nodes", Node), self.nodes
        yield ListWatch("pods", "/api/v1/pods", Pod, LIVE_PODS), self.pods
        for kind, sink in self.others.items():
            yield ListWatch(kind.name, kind.path, kind.struct, optional=True), sink
        for custom in (self.profiles, self.configs):
            path = f"/apis/{API_VERSION}/{custom.resource}"
            yield ListWatch(custom.resource, path, CustomObject, optional=True), custom

    def profile_versions(self) -> list[tuple[str, str, str]]:
        """What is another list once a profile or PluginConfig comes, changes or goes."""
        return [
            (name, one.metadata.uid, one.metadata.resource_version)
            for kind in (self.profiles.objects, self.configs.objects)
            for name, one in kind.items()
        ]

    def unserved(self) -> frozenset[str]:
        """The APIs that the API server did not have when it was last asked."""
        return frozenset(kind.api for kind, sink in self.others.items() if not sink.served)

    def set_aside(self) -> Iterator[str]:
        """A sentence for each object that cannot be used."""
        for _, sink in self.watched():
            for aside in sink.aside.values():
                yield f"{sink.kind_name} {key(aside.partial)} is left out of account: {aside.error}"
