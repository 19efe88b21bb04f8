"""Required rights: what the service account must be allowed to do for every profile, and what only
some profiles need; and which of these it lacks.

Whoever decides, and does what was decided, cannot do without some rights: who lacks one of them has
the pods of its profile held. Others are for what is told and kept beside: Permitted names them, and
the profile goes on as well as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.core.framework.extenders import secret_access
from moorage.core.framework.registry import RequiredAccess
from moorage.core.framework.revisions import Revision
from moorage.ports.access_rights import AccessRight
from moorage.ports.stored_kinds import NAMESPACES, POD_GROUPS, StoredKind, kinds_of


def _rights(*rows: tuple[str, str, str, bool]) -> tuple[AccessRight, ...]:
    """Of verbs, API group, resource, and whether only in its own namespace."""
    return tuple(
        AccessRight(verb, group, resource, home)
        for verbs, group, resource, home in rows
        for verb in verbs.split()
    )


TO_DECIDE_BY = _rights(
    ("list watch", "", "nodes", False),
    ("list watch", "", NAMESPACES.resource, False),
    ("list watch", "", "pods", False),
)
"""Without these no profile decides."""
TO_OBSERVE = _rights(
    ("list watch", "moorage.dev", "schedulerprofiles", False),
    ("list watch", "moorage.dev", "pluginconfigs", False),
    ("patch", "moorage.dev", "schedulerprofiles/status", False),
    ("get", "coordination.k8s.io", "leases", False),
    ("list watch", "apiextensions.k8s.io", "customresourcedefinitions", False),
    ("create delete get list patch", "coordination.k8s.io", "leases", True),
    ("list", "apps", "controllerrevisions", True),
)
"""What every profile needs beside, of an observer too."""
TO_BIND = _rights(("create", "", "pods/binding", False))
"""Without these no decision is carried out."""
TO_SERVE = _rights(
    ("delete", "", "pods", False),
    ("create", "", "pods/eviction", False),
    ("patch", "", "pods/status", False),
    ("patch", POD_GROUPS[0].group, "podgroups/status", False),
    ("create patch", "events.k8s.io", "events", False),
    ("patch", "moorage.dev", "pluginconfigs/status", False),
    ("create delete patch", "apps", "controllerrevisions", True),
)
"""What every profile needs beside, where it decides: to make room by preemption, to tell, to keep
revisions.
"""
FOR_ALL = {
    True: (*TO_DECIDE_BY, *TO_OBSERVE),
    False: (*TO_DECIDE_BY, *TO_BIND, *TO_OBSERVE, *TO_SERVE),
}
"""What every profile needs, by whether the installation is an observer."""


def rights_to(need: StoredKind | RequiredAccess) -> tuple[AccessRight, ...]:
    """What it takes to decide by objects of a kind, or to do what an actor does."""
    if isinstance(need, RequiredAccess):
        return tuple(
            AccessRight(verb, need.group, need.resource, need.own_namespace_only, need.name)
            for verb in need.verbs
        )
    return tuple(AccessRight(verb, need.group, need.resource) for verb in ("list", "watch"))


def rights_of(revision: Revision, *, observes: bool = False) -> Iterator[AccessRight]:
    """What a revision's plugins and extenders need beside what every profile needs. An observer
    reads what they decide by, and does none of what they do.
    """
    needs: list[StoredKind | RequiredAccess] = [*kinds_of(revision)]
    if not observes:
        secrets = sorted({extender.secret for extender in revision.extenders} - {""})
        needs += [*revision.writes, *map(secret_access, secrets)]
    for need in needs:
        yield from rights_to(need)


class MissingRights:
    """The rights that the service account lacks, of those that were asked for last."""

    def __init__(self) -> None:
        self._lacking: frozenset[AccessRight] = frozenset()

    def __bool__(self) -> bool:
        return bool(self._lacking)

    def replace(self, lacking: Iterable[AccessRight]) -> bool:
        """It lacks these and no others; returns whether that is news."""
        old, self._lacking = self._lacking, frozenset(lacking)
        return old != self._lacking

    def of(self, revision: Revision | None) -> tuple[str, ...]:
        """Those that a profile with this revision needs; with None, what every profile needs."""
        if not self._lacking:
            return ()
        return self._said(*FOR_ALL[False], *(rights_of(revision) if revision else ()))

    def holding(self, revision: Revision) -> tuple[str, ...]:
        """Those without which this revision cannot decide, or have done what it decided."""
        if not self._lacking:
            return ()
        return self._said(*TO_DECIDE_BY, *TO_BIND, *rights_of(revision))

    def _said(self, *needed: AccessRight) -> tuple[str, ...]:
        return tuple(str(right) for right in dict.fromkeys(needed) if right in self._lacking)
