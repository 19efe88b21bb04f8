"""The stored object sink: takes all other objects that plugins read into the store."""

from __future__ import annotations

from moorage.core.framework.cluster_events import ActionType, ClusterEvent
from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject, key
from moorage.core.pods import ceilings
from moorage.engine.intake.latest import LatestObjects
from moorage.engine.intake.listeners import ListListener
from moorage.engine.intake.object_sink import IntakeTargets, ObjectSink
from moorage.ports.guards import guarded_port
from moorage.ports.stored_kinds import StoredKind


class StoredObjectSink(ObjectSink[HasMetadata]):
    """Objects of another kind: kept in the store, for whoever decides by them."""

    def __init__(self, kind: StoredKind, targets: IntakeTargets, listener: ListListener) -> None:
        super().__init__(LatestObjects())
        self.kind = kind
        self.resource, self.kind_name, self.api = kind.name, kind.kind, kind.api
        self._store = targets.cache.store
        self._queue = targets.queue
        self._now = targets.now
        self._listener = guarded_port(listener)

    def on_added_or_updated(self, old: HasMetadata | None, new: HasMetadata) -> str:
        """Keep its newest state and move the pods that it may help; both, or none."""
        ceilings.check(new)
        self._store.put(new)
        try:
            self._move_on_event(ActionType.ADD if old is None else ActionType.UPDATE, old, new)
        except BaseException:
            if old is not None:
                self._store.put(old)
            else:
                self._store.remove(self.kind.struct, key(new))
            raise
        return ""

    def on_delete(self, old: HasMetadata | PartialObject) -> None:
        self._store.remove(self.kind.struct, key(old))
        self._move_on_event(ActionType.DELETE, old, None)

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """Its name, as the store has it: an object made anew takes the old one's place."""
        return f"{metadata.namespace}/{metadata.name}"

    def list_ended(self) -> bool:
        """A whole list is in, once nothing more is to be deleted."""
        more = super().list_ended()
        if not more:
            self._listener.kind_listed(self.kind, self.served)
        return more

    def _move_on_event(
        self, action: ActionType, old: HasMetadata | None, new: HasMetadata | None
    ) -> None:
        if self.kind.event is not None:
            self._queue.move_on_event(ClusterEvent(self.kind.event, action, old, new), self._now())
