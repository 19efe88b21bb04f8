"""Applying an installation's objects, in the order that each needs the one before; and removing
those that it has no more.

Applying again changes nothing: each object is applied on the server's side, and what the operator
writes itself (its Leases, statuses, the certificate in its Secret) is never sent.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

from moorage.apps.exit_status import CommandError, ExitStatus
from moorage.apps.install.cluster_objects import FIELD_MANAGER, OTHERS_MANAGE, KindNotServed
from moorage.apps.install.inventories import CRD, DEPLOYMENT, NAMESPACE
from moorage.apps.install.object_keys import Document, ObjectKey, key_of
from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, Invalid, Retryable

T = TypeVar("T")
WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_ORDER: Final = (
    (CRD,),
    (NAMESPACE,),
    ("ResourceQuota", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
    (),  # all others: the configuration first of all
    (DEPLOYMENT,),
    WEBHOOKS,
)
_OTHERS: Final = _ORDER.index(())
_STAYS: Final = (CRD, NAMESPACE)
"""What is never removed here: with it would go what is others'."""
ESTABLISHED_SECONDS: Final = 60.0
RETRIED_SECONDS: Final = 30.0
"""For which an API server that is busy, or comes back, is asked again."""
_POLL_SECONDS: Final = 0.5


class InstallationFailed(CommandError):
    """It is not as it was to be."""

    status = ExitStatus.NO


class AppliedObjects(Protocol):
    """``ClusterObjects``, as far as is needed here."""

    async def get(self, key: ObjectKey) -> Document | None: ...
    async def apply(self, document: Document, *, force: bool) -> Document: ...
    async def delete(self, key: ObjectKey, *, uid: str) -> bool: ...


@dataclasses.dataclass(slots=True)
class AppliedChanges:
    """What became of the objects."""

    made: list[ObjectKey] = dataclasses.field(default_factory=list)
    changed: list[ObjectKey] = dataclasses.field(default_factory=list)
    unchanged: list[ObjectKey] = dataclasses.field(default_factory=list)
    removed: list[ObjectKey] = dataclasses.field(default_factory=list)
    left_out: list[ObjectKey] = dataclasses.field(default_factory=list)
    """Of kinds that the API server does not serve."""


def stage(document: Document) -> int:
    """Which place it has in the order."""
    found = (i for i, kinds in enumerate(_ORDER) if document["kind"] in kinds)
    return next(found, _OTHERS)


def in_order(documents: Iterable[Document]) -> list[Document]:
    """Each after what it needs, and else as before."""
    return sorted(documents, key=stage)


def stale(there: Iterable[Document], documents: Iterable[Document]) -> list[Document]:
    """What of an installation's objects that are ``there`` is none of its documents, each before
    what it needs.
    """
    wanted = {key_of(one) for one in documents}
    left = (one for one in there if key_of(one) not in wanted and one["kind"] not in _STAYS)
    return sorted(left, key=stage, reverse=True)


class Applying:
    """Writes objects. ``say`` is told what is done; ``force`` takes over what others manage."""

    def __init__(
        self,
        objects: AppliedObjects,
        clock: Clock,
        say: Callable[[str], None],
        *,
        force: bool = False,
    ) -> None:
        self._objects = objects
        self._force = force
        self._clock = clock
        self._say = say
        self.changes = AppliedChanges()

    async def apply(self, documents: Sequence[Document]) -> None:
        """Apply these in their order, and see CRDs served. Raises InstallationFailed, EdgeError."""
        for document in in_order(documents):
            self._say(f"{key_of(document)}")
            await self._patiently(functools.partial(self._apply, document))
        for document in documents:
            if document["kind"] == CRD:
                await self._established(key_of(document))

    async def remove(self, documents: Iterable[Document]) -> None:
        """Have these deleted. Raises EdgeError."""
        for document in documents:
            key, uid = key_of(document), str(document["metadata"].get("uid") or "")
            self._say(f"{key} goes")
            if await self._patiently(functools.partial(self._delete, key, uid)):
                self.changes.removed.append(key)

    async def _apply(self, document: Document) -> None:
        key = key_of(document)
        try:
            before = await self._objects.get(key)
            after = await self._objects.apply(document, force=self._force)
        except KindNotServed:
            self.changes.left_out.append(key)
            return
        except (Conflict, Invalid) as error:
            do = "; --force-conflicts takes it over" if OTHERS_MANAGE in error.message else ""
            text = f"the API server refuses {key}: {error.message}{do}"
            raise InstallationFailed(text) from error
        if before is None:
            self.changes.made.append(key)
        elif _has_changed(before["metadata"], after["metadata"]):
            self.changes.changed.append(key)
        else:
            self.changes.unchanged.append(key)

    async def _delete(self, key: ObjectKey, uid: str) -> bool:
        try:
            return await self._objects.delete(key, uid=uid)
        except Conflict:
            return False  # another one has come in its place

    async def _established(self, key: ObjectKey) -> None:
        """Raises InstallationFailed."""
        last = self._clock.boottime() + ESTABLISHED_SECONDS
        while True:
            found = await self._patiently(functools.partial(self._objects.get, key)) or {}
            conditions = (found.get("status") or {}).get("conditions") or ()
            if any((one["type"], one["status"]) == ("Established", "True") for one in conditions):
                return
            if self._clock.boottime() >= last:
                said = "; ".join(f"{one['type']}: {one.get('message')}" for one in conditions)
                why = said or "the API server says nothing of it"
                text = f"{key} is not served after {ESTABLISHED_SECONDS:.0f} s: {why}"
                raise InstallationFailed(text)
            await self._clock.sleep(_POLL_SECONDS)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the call gives, made again while the API server is busy. Raises EdgeError."""
        last = self._clock.boottime() + RETRIED_SECONDS
        while True:
            try:
                return await call()
            except Retryable as error:
                if self._clock.boottime() >= last:
                    raise
                await self._clock.sleep(max(error.after, _POLL_SECONDS))


def _has_changed(before: Document, after: Document) -> bool:
    """Whether it is we who changed the object of this metadata: controllers may have written its
    status meanwhile.
    """
    if before["resourceVersion"] == after["resourceVersion"]:
        return False
    return _ours(before) != _ours(after)


def _ours(metadata: Document) -> tuple[object, list[Document]]:
    """What tells of a change by us."""
    fields = metadata.get("managedFields") or ()
    return metadata.get("generation"), [one for one in fields if one["manager"] == FIELD_MANAGER]
