"""The node sink: takes nodes into the cache, and wakes the pods that a change of one may help."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.core.framework import object_changes
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.pods import ceilings
from moorage.engine.intake.latest import LatestObjects
from moorage.engine.intake.listeners import NodeListener
from moorage.engine.intake.object_sink import IntakeTargets, ObjectSink
from moorage.ports.guards import guarded_port


class NodeSink(ObjectSink[Node]):
    """Takes nodes from the watch into cache and queue."""

    resource, kind_name = "nodes", "Node"

    def __init__(self, targets: IntakeTargets, listener: NodeListener) -> None:
        super().__init__(LatestObjects())
        self._cache = targets.cache
        self._queue = targets.queue
        self._now = targets.now
        self._listener = guarded_port(listener)

    def on_added_or_updated(self, old: Node | None, new: Node) -> str:
        """Write it down and move the pods that it may help; both, or none."""
        ceilings.check(new)
        self._cache.put_node(new)
        try:
            events = _events(old, new)
            for event in events:
                self._queue.move_on_event(event, self._now())
        except BaseException:
            if old is not None:
                self._cache.put_node(old)
            else:
                self._cache.remove_node(new.metadata.name)
            raise
        if old is not None and (events or old.spec != new.spec):
            self._listener.node_changed(new.metadata.name)
        return ""

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """A node's name, as everything refers to it so."""
        return metadata.name

    def lost(self, obj: Node) -> bool:
        """Whether it has no row."""
        return obj.metadata.name not in self._cache.nodes.row_of

    def on_delete(self, old: Node | PartialObject) -> None:
        self._cache.remove_node(old.metadata.name)
        self._listener.node_deleted(old.metadata.name)
        if isinstance(old, Node):
            self._queue.move_on_event(
                ClusterEvent(EventResource.NODE, ActionType.DELETE, old=old), self._now()
            )


def _events(old: Node | None, new: Node) -> Sequence[ClusterEvent]:
    if old is None:
        return [ClusterEvent(EventResource.NODE, ActionType.ADD, new=new)]
    return object_changes.node_changes(old, new)
