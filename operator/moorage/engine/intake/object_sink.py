"""The object sink: keeps objects as a watch brings them, compares each with what was there, and
sets aside what cannot be used.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from kubefacts.quantities import QuantityError
from moorage.core.columns.cache import Cache
from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject, key, version
from moorage.core.objects.pods import Pod
from moorage.core.pods import ceilings
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.intake.latest import LatestObjects
from moorage.ports.guards import FAULTS, guard, log_bug
from moorage.ports.kube import UnreadableObject
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)
T = TypeVar("T", bound=HasMetadata)
MAX_DELETES_PER_STEP = 256
"""Objects that a list did not have, and that are taken out in one go: a few milliseconds."""

_EXPECTED_ERRORS = (QuantityError, ceilings.TooLarge)
"""Errors whose text says it all: what else is raised is a bug."""


@dataclasses.dataclass(frozen=True, slots=True)
class IntakeTargets:
    """Where objects go. ``now`` gives the time of what they change in the queue (boottime)."""

    cache: Cache
    queue: SchedulingQueue
    now: Callable[[], float]


class ObjectSink(Generic[T]):
    """Keeps the newest readable state of each object, so that a relist shows what is gone, and
    calls the hooks below.
    """

    resource = kind_name = ""
    api = "v1"
    """What the API calls its objects, all of them and one, and its version."""

    def __init__(self, latest: LatestObjects[T]) -> None:
        self.objects = latest.objects
        self.aside = latest.aside
        self.unreported = latest.unreported
        self.synced = False
        self.served = True
        """Whether the API server had the resource when it was last listed."""
        self._unseen: dict[str, T | PartialObject] | None = None

    def list_started(self, served: bool = True) -> None:
        """Whatever is not put before ``list_ended`` is gone."""
        self.served = served
        self._unseen = self.known()

    def put(self, obj: T) -> None:
        """An object was added or changed."""
        name = self.identity(obj.metadata)
        if self._unseen is not None:
            self._unseen.pop(name, None)
        old = self.objects.get(name)
        if (
            old is not None
            and old.metadata.resource_version == obj.metadata.resource_version
            and not self.lost(old)
        ):
            return
        self.take(old, obj)

    def take(self, old: T | None, obj: T) -> None:
        """Put its newest state where it belongs, or set it aside."""
        name = self.identity(obj.metadata)
        self.objects[name] = obj
        try:
            uncounted = self.on_added_or_updated(old, obj)
        except FAULTS as error:
            del self.objects[name]
            if old is not None:
                self.objects[name] = old
            self._set_aside(_unreadable(obj, _error_text(error), obj), error)
        else:
            if self.aside:
                self._in_order(name)
            if uncounted:
                extra = once_per_cause(f"{name} {uncounted}", object=key(obj))
                log.warning("not all of an object counts: %s", uncounted, extra=extra)
                self.unreported[name] = _unreadable(obj, uncounted)

    def delete(self, obj: T | PartialObject) -> None:
        """Gone. Where that cannot be written down now, the next list brings it again."""
        name = self.identity(obj.metadata)
        old, aside = self.objects.pop(name, None), self.aside.get(name)
        if old is None and aside is None:
            return
        try:
            self.on_delete(old or obj)
        except FAULTS as error:
            aside = _unreadable(obj, f"it is gone: {_error_text(error)}")
            self._set_aside(aside, error, gone=True)
        else:
            if self.aside:
                self._in_order(name)

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        """An object was delivered that cannot be decoded."""
        if deleted:
            self.delete(obj.partial)
            return
        if self._unseen is not None:
            self._unseen.pop(self.identity(obj.partial.metadata), None)
        self._set_aside(obj)

    def _set_aside(
        self, obj: UnreadableObject, error: BaseException | None = None, *, gone: bool = False
    ) -> None:
        """Leave it out of account, but for its place; logged once with what failed, and once for
        each object.
        """
        name, named = self.identity(obj.partial.metadata), key(obj.partial)
        if error is not None and not isinstance(error, _EXPECTED_ERRORS):
            log_bug("taking in an object", error, resource=self.resource, object=named)
        extra = once_per_cause(f"{self.resource} {named} {obj.error}", object=named)
        log.error("an object is set aside: %s", obj.error, extra=extra)
        before = self.aside.get(name)
        self.aside[name] = obj
        if before is None or before.error != obj.error or name in self.unreported:
            self.unreported[name] = obj
        if not gone:
            with guard("setting an object aside", resource=self.resource, object=named):
                self.on_unreadable(obj)

    def _in_order(self, name: str) -> None:
        self.aside.pop(name, None)
        self.unreported.pop(name, None)

    def list_ended(self) -> bool:
        """Delete what the list did not have, or some of it; whether there is more."""
        unseen = self._unseen or {}
        for name in list(itertools.islice(unseen, MAX_DELETES_PER_STEP)):
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
        """The newest version of an object that is known; None when there is none, or it was lost
        since.
        """
        obj, aside = self.objects.get(identity), self.aside.get(identity)
        if aside is not None:
            return max(version(aside.partial.metadata), 0 if obj is None else version(obj.metadata))
        return None if obj is None or self.lost(obj) else version(obj.metadata)

    @staticmethod
    def identity(metadata: ObjectMeta) -> str:
        """What identifies an object."""
        return metadata.uid

    def lost(self, obj: T) -> bool:
        """Whether an object that was put is not where its state says that it is: a bug, which the
        next ``put`` of it mends.
        """
        return False

    def on_added_or_updated(self, old: T | None, new: T) -> str:
        """An object is there for the first time (``old`` None) or anew. What it raises sets the
        object aside.

        Returns what of it is left out of account though the rest counts, where that is to be
        reported now; else "".
        """
        return ""

    def on_delete(self, old: T | PartialObject) -> None:
        """An object is gone."""

    def on_unreadable(self, obj: UnreadableObject) -> None:
        """An object is there that only its metadata is known of."""


def _error_text(error: BaseException) -> str:
    """What a person needs to know of it: a bug's text alone may say nothing."""
    return str(error) if isinstance(error, _EXPECTED_ERRORS) else repr(error)


def _unreadable(obj: HasMetadata, text: str, whole: HasMetadata | None = None) -> UnreadableObject:
    """What is kept of an object that is set aside for this reason."""
    return UnreadableObject(PartialObject(obj.metadata), node_of(obj), text, whole)


def node_of(obj: HasMetadata) -> str:
    """The node that a pod is on, else ""."""
    return obj.spec.node_name if isinstance(obj, Pod) else ""
