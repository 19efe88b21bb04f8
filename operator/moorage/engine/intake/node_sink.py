"""The node sink: takes nodes into the cache, and wakes the pods that a change of one may help."""

from __future__ import annotations

from collections.abc import Callable

from moorage.core.columns.cache import Cache
from moorage.core.framework import object_changes
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.intake.object_sink import ObjectSink


class NodeSink(ObjectSink[Node]):
    """Takes nodes from the watch into cache and queue."""

    resource, kind_name = "nodes", "Node"

    def __init__(self, cache: Cache, queue: SchedulingQueue, now: Callable[[], float]) -> None:
        super().__init__()
        self._cache = cache
        self._queue = queue
        self._now = now
        self.left: Callable[[str], None] = lambda _: None
        """Told of the name of a node that is gone."""
        self.changed: Callable[[str], None] = lambda _: None
        """Told of the name of a node that decisions may see with other eyes now."""

    def on_added_or_updated(self, old: Node | None, new: Node) -> None:
        """Write it down and wake whom it may help; both, or none."""
        self._cache.put_node(new)
        try:
            events = (
                [ClusterEvent(EventResource.NODE, ActionType.ADD, new=new)]
                if old is None
                else object_changes.node_changes(old, new)
            )
            for event in events:
                self._queue.move_on_event(event, self._now())
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
        self._cache.remove_node(old.metadata.name)
        self.left(old.metadata.name)
        if isinstance(old, Node):
            self._queue.move_on_event(
                ClusterEvent(EventResource.NODE, ActionType.DELETE, old=old), self._now()
            )
