"""Synced kinds: which stored kinds are up to date, so that it can be decided by them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from moorage.core.framework.revisions import Revision
from moorage.ports.stored_kinds import StoredKind


class SyncedKinds:
    """A kind is up to date when it was listed once and, on a leader, when it holds what the API
    server held when the lease was had.
    """

    def __init__(self, kinds: Iterable[StoredKind]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._unlisted = set(self._kinds)
        self._unserved: set[str] = set()
        self._late: set[str] = set()

    def listed(self, kind: StoredKind, served: bool = True) -> None:
        """A whole list of this kind is in; an empty one, where the API server does not have it."""
        self._unlisted.discard(kind.name)
        (self._unserved.discard if served else self._unserved.add)(kind.name)

    def lead(self, late: Collection[str]) -> None:
        """The lease is had; these resources have not caught up since."""
        self._late = set(late)

    def caught_up(self, resource: str) -> None:
        """A resource that was late holds now what the API server held when the lease was had."""
        self._late.discard(resource)

    def missing(self, revision: Revision) -> tuple[str, ...]:
        """The resources that a revision's plugins read and that are not up to date."""
        return tuple(
            name
            for name, kind in self._kinds.items()
            if kind.struct in revision.required_kinds
            and (name in self._unlisted or name in self._late)
        )

    def unserved(self, revision: Revision) -> tuple[StoredKind, ...]:
        """What a revision's plugins read and the API server does not have."""
        return tuple(
            kind
            for name, kind in self._kinds.items()
            if kind.struct in revision.required_kinds and name in self._unserved
        )
