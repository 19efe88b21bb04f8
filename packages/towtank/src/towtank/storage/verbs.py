"""The verbs: get, list, create, update, patch, delete. What HTTP and the controllers both call.

Each is one synchronous call, so nobody else writes between its reading and its writing. A write
takes these steps:

1. the body is decoded (``object_meta.decoded``) and gets the metadata that only the server writes;
2. what the verb may not touch is put back: status by the main resource, all but status by the
   status subresource;
3. admission (on creation) and the kind's strategy have their say;
4. it is validated: metadata, schema, rules, strategy;
5. field owners are tracked (of a new object before 3, so that nobody owns what admission sets; of
   one that is applied before 1); a change that changes nothing ends here;
6. it is stored, or removed when it was being deleted and no finalizer is left.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from towtank import managed_fields
from towtank.model import metadata_rules, times
from towtank.model.api_errors import (
    ApiError,
    StatusCause,
    already_exists,
    forbidden,
    invalid,
    not_found,
)
from towtank.model.kinds import META, APIResource, Body
from towtank.model.requests import DeleteOptions, ListOptions, RequestTarget, WriteOptions
from towtank.schemas import pruning, validation_rules
from towtank.storage import object_meta
from towtank.storage.pages import ListPage, Pages
from towtank.storage.store import RevisionStore, Stored

_NAMESPACES = "namespaces"
_FINALIZERS = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
"""What waits for dependents, by propagationPolicy."""


class Verbs:
    """``clock`` gives the time, aware of its zone; ``uids`` new UIDs."""

    def __init__(
        self, store: RevisionStore, clock: Callable[[], datetime], uids: Callable[[], str]
    ) -> None:
        self.store = store
        self.clock = clock
        self._uids = uids
        self._pages = Pages(store, clock)

    # ---- reading ---------------------------------------------------------------------------------

    def get(self, target: RequestTarget) -> Stored:
        """The object. Raises ApiError 404."""
        stored = self._find(target)
        if stored is None:
            raise not_found(
                target.resource.plural,
                target.resource.error_group or target.resource.group,
                target.name,
            )
        return stored

    def list(self, target: RequestTarget, options: ListOptions) -> ListPage:
        """A page of what the selectors choose."""
        return self._pages.list(target, options)

    def find(self, resource: str, namespace: str, name: str) -> Body | None:
        """The object for strategies, as ``kinds.ObjectGetter`` has it; None when there is none."""
        stored = self.store.get(resource, namespace, name)
        return stored.body if stored else None

    def every(self, resource: str, namespace: str = "") -> Sequence[Body]:
        """All objects for strategies, as ``kinds.ObjectGetter`` has them."""
        return [stored.body for stored in self.store.list(resource, namespace)]

    def _find(self, target: RequestTarget) -> Stored | None:
        return self.store.get(target.resource.key, target.namespace, target.name)

    # ---- writing ---------------------------------------------------------------------------------

    def create(self, target: RequestTarget, body: Body, options: WriteOptions) -> Body:
        """Create; ``target.name`` is not looked at. Returns the object as stored."""
        resource, strategy = target.resource, target.resource.strategy
        body = object_meta.decoded(resource, body, options)
        taken = functools.partial(self.find, resource.key, target.namespace)
        object_meta.initialise(target, body, self.clock(), self._uids(), taken)
        if not options.tracked:  # before admission and strategies: what they set belongs to nobody
            managed_fields.track(body, None, self._write(target, options))
        self._require_namespace(target, body["metadata"].get("name", ""))
        strategy.admit(body, self)
        if resource.has_status and not strategy.status_at_creation:
            body.pop("status", None)
        strategy.prepare_create(body)
        self._validate(target, body, None, options)
        self._require_free(dataclasses.replace(target, name=body["metadata"]["name"]))
        return self._put(target, body, options)

    def update(self, target: RequestTarget, body: Body, options: WriteOptions) -> tuple[Body, bool]:
        """Replace the object, or with ``target.subresource`` "status" its status. Returns the
        object and whether it was created.
        """
        new = object_meta.decoded(target.resource, body, options)
        object_meta.require_name(new["metadata"], target.name)
        makes = target.resource.strategy.made_by_update and not target.subresource
        if makes and self._find(target) is None:
            new["metadata"].pop("resourceVersion", None)
            return self.create(target, new, options), True
        old = self.get(target)
        object_meta.require_version(target, new)
        return self._change(target, old.body, new, options), False

    def patch(
        self, target: RequestTarget, change: Callable[[Body], Body], options: WriteOptions
    ) -> Body:
        """Replace the object by what ``change`` makes of a copy of it."""
        old = self.get(target)
        patched = change(copied(old))
        try:
            new = object_meta.decoded(target.resource, patched, options)
        except ApiError as refused:
            raise object_meta.unpatched(target.resource, change(copied(old)), refused) from refused
        if (uid := new["metadata"].get("uid")) and uid != old.body["metadata"]["uid"]:
            cause = StatusCause.invalid("metadata.uid", uid, "field is immutable")
            self._refuse(target.resource, new, [cause])
        return self._change(target, old.body, new, options)

    def apply(
        self, target: RequestTarget, applied: Body, options: WriteOptions
    ) -> tuple[Body, bool]:
        """Server-side apply: create or merge. Returns the object and whether it was created. Raises
        ApiError 409 with the owners' names.
        """
        old = self.get(target) if target.subresource else self._find(target)
        stored = dataclasses.replace(target, shown=None)  # from here on it is in the stored version
        write, live = self._write(stored, options), copied(old) if old else None
        merged = managed_fields.apply(applied, live, write, force=options.force)
        merged["metadata"].setdefault("name", target.name)  # who applies may leave it out
        options = dataclasses.replace(options, tracked=True)
        if old is None:
            object_meta.require_name(merged["metadata"], target.name)
            return self.create(target, merged, options), True
        new = object_meta.decoded(target.resource, merged, options)
        return self._change(target, old.body, new, options), False

    def _write(
        self, target: RequestTarget, options: WriteOptions
    ) -> managed_fields.ManagedFieldsEntry:
        """The entry of metadata.managedFields that this write is recorded under."""
        return managed_fields.ManagedFieldsEntry(
            target.shown or target.resource, options.manager, target.subresource, self.clock()
        )

    def _change(self, target: RequestTarget, old: Body, new: Body, options: WriteOptions) -> Body:
        object_meta.keep_server_fields(target, new, old)
        new = _parted(target, new, old)
        if target.subresource != "status":
            target.resource.strategy.prepare_update(new, old)
            if target.resource.generation and _content(new) != _content(old):
                new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        self._validate(target, new, old, options)
        if not options.tracked:
            managed_fields.track(new, old, self._write(target, options))
        if managed_fields.same(new, old):
            return old
        if _ends(target.resource, new) and not options.dry_run:
            # what watches see last is what was there; who wrote sees what it made of it
            self._remove(target, old)
            return new
        return self._put(target, new, options)

    def _put(self, target: RequestTarget, body: Body, options: WriteOptions) -> Body:
        if options.dry_run:
            return body
        return self.store.put(target.resource.key, target.namespace, body).body

    def _validate(
        self, target: RequestTarget, new: Body, old: Body | None, options: WriteOptions
    ) -> None:
        """Refuse what breaks a rule, and warn of finalizers that could be somebody else's."""
        self._refuse(target.resource, new, self._causes(target, new, old))
        if target.resource.custom:
            before = old["metadata"] if old else {}
            options.warnings += metadata_rules.finalizer_warnings(new["metadata"], before)

    @staticmethod
    def _causes(target: RequestTarget, new: Body, old: Body | None) -> Sequence[StatusCause]:
        strategy = target.resource.strategy
        causes = object_meta.metadata_causes(new, target.resource)
        if target.resource.custom:
            causes += _schema_causes(target.resource, new, old)
        if target.subresource == "status":
            return [*causes, *strategy.validate_status(new, old or {})]
        if old is None:
            return [*causes, *strategy.validate(new)]
        causes += metadata_rules.new_finalizer_causes(new["metadata"], old["metadata"])
        return [*causes, *strategy.validate(new), *strategy.validate_update(new, old)]

    @staticmethod
    def _refuse(resource: APIResource, body: Body, causes: Sequence[StatusCause]) -> None:
        if causes:
            raise invalid(
                resource.kind, resource.group, str(body["metadata"].get("name", "")), causes
            )

    def _require_namespace(self, target: RequestTarget, name: str) -> None:
        """Nothing is made in a namespace that is not there, or is going."""
        if not target.resource.namespaced:
            return
        namespace = self.find(_NAMESPACES, "", target.namespace)
        if namespace is None:
            raise not_found(_NAMESPACES, "", target.namespace)
        if "deletionTimestamp" in namespace["metadata"]:
            text = f"namespace {target.namespace} is being terminated"
            why = (
                f"unable to create new content in namespace {target.namespace} because it is "
                f"being terminated"
            )
            problem = forbidden(target.resource.plural, target.resource.group, name, why)
            cause = {"reason": "NamespaceTerminating", "message": text}
            raise problem.with_causes([cause | {"field": "metadata.namespace"}])

    def _require_free(self, target: RequestTarget) -> None:
        if there := self._find(target):
            group = target.resource.error_group or target.resource.group
            going = "deletionTimestamp" in there.body["metadata"]
            raise already_exists(target.resource.plural, group, target.name, going=going)

    # ---- deleting --------------------------------------------------------------------------------

    def delete(self, target: RequestTarget, options: DeleteOptions) -> Body:
        """Remove it, or mark it where somebody has to finish it. Returns its last state."""
        old = self.get(target)
        object_meta.require_same(target, old.body, options.preconditions, going=True)
        new, strategy = copied(old), target.resource.strategy
        _propagate(new["metadata"], options.propagation, strategy.propagation)
        grace = strategy.grace(new, options.grace_seconds)
        at_once = not grace and not strategy.held(new)
        if options.dry_run:
            return new
        if not at_once and _goes_within(old.body, grace):
            settled = new["metadata"].get("deletionGracePeriodSeconds") or new == old.body
            return old.body if settled else self._stored(target, new)
        if not at_once or strategy.grace_seconds:  # a kind with a grace period shows that it was 0
            self._mark_deleted(target.resource, new, grace)
        if at_once:
            return self._remove(target, new)
        return self._stored(target, new)

    def _stored(self, target: RequestTarget, body: Body) -> Body:
        return self.store.put(target.resource.key, target.namespace, body).body

    def _mark_deleted(self, resource: APIResource, body: Body, grace: int) -> None:
        metadata = body["metadata"]
        before = "deletionTimestamp" in metadata
        metadata["deletionTimestamp"] = times.timestamp(times.after(self.clock(), grace))
        metadata["deletionGracePeriodSeconds"] = grace
        resource.strategy.prepare_delete(body)
        # what the strategy gives no time to end in is only marked
        if resource.generation and not before and "deletionGracePeriodSeconds" in metadata:
            metadata["generation"] = metadata.get("generation", 0) + 1

    def delete_collection(
        self, target: RequestTarget, which: ListOptions, options: DeleteOptions
    ) -> Sequence[Stored]:
        """Delete each of what the selectors choose; returns what they were."""
        chosen = tuple(self.list(target, which).items)
        for stored in chosen:
            one = RequestTarget(target.resource, *stored.key)
            if self._find(one):
                self.delete(one, options)
        return chosen

    def _remove(self, target: RequestTarget, last: Body) -> Body:
        removed = self.store.remove(target.resource.key, target.namespace, target.name, last)
        return removed.body if removed else last


def copied(stored: Stored) -> Body:
    """A body that may be changed."""
    body: Body = msgspec.json.decode(stored.text)
    return body


def _parted(target: RequestTarget, new: Body, old: Body) -> Body:
    """What the writer may change of the two halves of an object that has a status subresource."""
    if target.subresource == "status":
        leaves = META if target.resource.custom else target.resource.strategy.status_leaves
        unlike = {name: old["metadata"].get(name) for name in leaves}
        metadata = {
            name: value
            for name, value in {**new["metadata"], **unlike}.items()
            if value is not None
        }
        parted = {**old, "status": new.get("status"), "metadata": metadata}
        return {key: value for key, value in parted.items() if value is not None}
    if target.resource.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    return new


def _schema_causes(resource: APIResource, new: Body, old: Body | None) -> list[StatusCause]:
    """A rule may count on the types and the fields that the schema promises."""
    wrong = pruning.validate(new, resource.schema, "")
    if validation_rules.blocked(wrong, resource.schema):
        return [*wrong, validation_rules.NOT_CHECKED]
    return [*wrong, *validation_rules.check(new, old, resource.schema)]


def _ends(resource: APIResource, body: Body) -> bool:
    """Whether it is being deleted, and nobody has anything left to do for that."""
    metadata = body["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not resource.strategy.held(body)
        and not metadata.get("deletionGracePeriodSeconds")
    )


def _propagate(metadata: Body, asked: str, usual: str) -> None:
    """Have of the two finalizers for dependents the one that is asked for; who asks for nothing
    gets what is there, or else what is usual for the kind.
    """
    there = metadata.get("finalizers", [])
    others = [each for each in there if each not in _FINALIZERS.values()]
    if not asked and others != there:
        return
    finalizer = _FINALIZERS.get(asked or usual)
    wanted = [*others, finalizer] if finalizer else others
    if set(wanted) != set(there):
        metadata["finalizers"] = wanted
    if not wanted:
        metadata.pop("finalizers", None)


def _goes_within(body: Body, seconds: int) -> bool:
    metadata = body["metadata"]
    return (
        "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds", 0) <= seconds
    )


def _content(body: Body) -> Body:
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}
