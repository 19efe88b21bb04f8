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
        stored = self.store.get(target.resource.key, target.namespace, target.name)
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

    # ---- writing ---------------------------------------------------------------------------------

    def create(
        self, target: RequestTarget, body: Body, options: WriteOptions, *, tracked: bool = False
    ) -> Body:
        """Create; ``target.name`` is not looked at, and owners of fields not where they are
        ``tracked``. Returns the object as stored.
        """
        resource, strategy = target.resource, target.resource.strategy
        body = object_meta.decoded(resource, body, options)
        object_meta.initialise(
            target,
            body,
            self.clock(),
            self._uids(),
            lambda name: self.find(resource.key, target.namespace, name) is not None,
        )
        if not tracked:  # before admission and strategies: what they set belongs to nobody
            managed_fields.track(body, None, self._write(target, options))
        self._require_namespace(target, body["metadata"].get("name", ""))
        strategy.admit(body, self)
        if resource.has_status and not strategy.status_at_creation:
            body.pop("status", None)
        strategy.prepare_create(body)
        self._refuse(resource, body, self._causes(resource, body, None))
        options.warnings += (
            metadata_rules.finalizer_warnings(body["metadata"], {}) if resource.custom else ()
        )
        name = body["metadata"]["name"]
        if there := self.store.get(resource.key, target.namespace, name):
            going = "deletionTimestamp" in there.body["metadata"]
            raise already_exists(
                resource.plural, resource.error_group or resource.group, name, going=going
            )
        if options.dry_run:
            return body
        return self.store.put(resource.key, target.namespace, body).body

    def update(self, target: RequestTarget, body: Body, options: WriteOptions) -> tuple[Body, bool]:
        """Replace the object, or with ``target.subresource`` "status" its status. Returns the
        object and whether it was created.
        """
        resource = target.resource
        new = object_meta.decoded(resource, body, options)
        object_meta.require_name(new["metadata"], target.name)
        if (
            resource.strategy.made_by_update
            and not target.subresource
            and not self.store.get(resource.key, target.namespace, target.name)
        ):
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
            self._refuse(
                target.resource,
                new,
                [StatusCause.invalid("metadata.uid", uid, "field is immutable")],
            )
        return self._change(target, old.body, new, options)

    def apply(
        self, target: RequestTarget, applied: Body, options: WriteOptions
    ) -> tuple[Body, bool]:
        """Server-side apply: create or merge. Returns the object and whether it was created. Raises
        ApiError 409 with the owners' names.
        """
        resource = target.resource
        old = self.store.get(resource.key, target.namespace, target.name)
        if old is None and target.subresource:
            raise not_found(resource.plural, resource.group, target.name)
        live = copied(old) if old else None
        stored = dataclasses.replace(target, shown=None)  # from here on it is in the stored version
        merged = managed_fields.apply(
            applied, live, self._write(stored, options), force=options.force
        )
        merged["metadata"].setdefault(
            "name", target.name
        )  # a body that is applied may leave it out
        if old is None:
            object_meta.require_name(merged["metadata"], target.name)
            return self.create(target, merged, options, tracked=True), True
        return self._change(
            target, old.body, object_meta.decoded(resource, merged, options), options, tracked=True
        ), False

    def _write(
        self, target: RequestTarget, options: WriteOptions
    ) -> managed_fields.ManagedFieldsEntry:
        """The entry of metadata.managedFields that this write is recorded under."""
        return managed_fields.ManagedFieldsEntry(
            target.shown or target.resource, options.manager, target.subresource, self.clock()
        )

    def _change(
        self,
        target: RequestTarget,
        old: Body,
        new: Body,
        options: WriteOptions,
        *,
        tracked: bool = False,
    ) -> Body:
        resource, strategy = target.resource, target.resource.strategy
        object_meta.keep_server_fields(target, new, old)
        new = _parted(target, new, old)
        if target.subresource != "status":
            strategy.prepare_update(new, old)
            if resource.generation and _content(new) != _content(old):
                new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        self._refuse(
            resource, new, self._causes(resource, new, old, status=target.subresource == "status")
        )
        options.warnings += (
            metadata_rules.finalizer_warnings(new["metadata"], old["metadata"])
            if resource.custom
            else ()
        )
        if not tracked:
            managed_fields.track(new, old, self._write(target, options))
        if managed_fields.same(new, old):
            return old
        if options.dry_run:
            return new
        if (
            "deletionTimestamp" in new["metadata"]
            and not strategy.held(new)
            and not new["metadata"].get("deletionGracePeriodSeconds")
        ):
            # what watches see last is what was there; who wrote sees what it made of it
            self._remove(target, old)
            return new
        return self.store.put(resource.key, target.namespace, new).body

    def _causes(
        self, resource: APIResource, new: Body, old: Body | None, *, status: bool = False
    ) -> Sequence[StatusCause]:
        causes = object_meta.metadata_causes(new, resource)
        if resource.custom:
            wrong = pruning.validate(new, resource.schema, "")
            # A rule may count on the types and the fields that the schema promises.
            blocked = validation_rules.blocked(wrong, resource.schema)
            causes += (
                [*wrong, validation_rules.NOT_CHECKED]
                if blocked
                else [*wrong, *validation_rules.check(new, old, resource.schema)]
            )
        if status:
            return [*causes, *resource.strategy.validate_status(new, old or {})]
        causes += (
            []
            if old is None
            else metadata_rules.new_finalizer_causes(new["metadata"], old["metadata"])
        )
        causes += resource.strategy.validate(new)
        return causes if old is None else [*causes, *resource.strategy.validate_update(new, old)]

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
            why = (
                f"unable to create new content in namespace {target.namespace} because it is "
                f"being terminated"
            )
            problem = forbidden(target.resource.plural, target.resource.group, name, why)
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {target.namespace} is being terminated",
            }
            raise problem.with_causes([cause | {"field": "metadata.namespace"}])

    # ---- deleting --------------------------------------------------------------------------------

    def delete(self, target: RequestTarget, options: DeleteOptions) -> Body:
        """Remove it, or begin to: returns its last state, with a deletionTimestamp when somebody
        has to finish it.
        """
        old = self.get(target)
        object_meta.require_same(target, old.body, options.preconditions, going=True)
        new, strategy = copied(old), target.resource.strategy
        metadata = new["metadata"]
        finalizers = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
        if wanted := finalizers.get(options.propagation or strategy.propagation):
            metadata["finalizers"] = sorted({*metadata.get("finalizers", ()), wanted})
        grace = strategy.grace(new, options.grace_seconds)
        if options.dry_run:
            return new
        at_once = not grace and not strategy.held(new)
        if at_once and not strategy.grace_seconds:
            return self._remove(target, new)
        if (
            not at_once
            and "deletionTimestamp" in metadata
            and metadata.get("deletionGracePeriodSeconds", 0) <= grace
        ):
            return old.body
        metadata["deletionTimestamp"] = times.timestamp(times.after(self.clock(), grace))
        metadata["deletionGracePeriodSeconds"] = grace
        strategy.prepare_delete(new)
        # What has no time to end in is only marked.
        if (
            target.resource.generation
            and "deletionTimestamp" not in old.body["metadata"]
            and "deletionGracePeriodSeconds" in metadata
        ):
            metadata["generation"] = metadata.get("generation", 0) + 1
        if at_once:  # a kind with a grace period shows that it was none
            return self._remove(target, new)
        return self.store.put(target.resource.key, target.namespace, new).body

    def delete_collection(
        self, target: RequestTarget, which: ListOptions, options: DeleteOptions
    ) -> Sequence[Stored]:
        """Delete each of what the selectors choose; returns what they were."""
        chosen = tuple(self.list(target, which).items)
        for stored in chosen:
            one = RequestTarget(target.resource, *stored.key)
            if self.store.get(one.resource.key, one.namespace, one.name):
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


def _content(body: Body) -> Body:
    return {key: value for key, value in body.items() if key not in ("metadata", "status")}
