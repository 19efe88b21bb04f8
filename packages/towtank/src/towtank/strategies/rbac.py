"""Roles and their bindings: they are stored, and nobody acts on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import IMMUTABLE, fill, indexed, one_of

_GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


class RBACStrategy(Strategy):
    """What roles and bindings have in common."""

    made_by_update = True

    def name(self, name: str) -> Sequence[str]:
        """Names have colons, such as system:node."""
        return names.path_segment(name)


class RoleStrategy(RBACStrategy):
    """Roles and ClusterRoles."""

    def default(self, body: Body) -> None:
        """No rules are rules."""
        body["rules"] = body.get("rules") or None


class RoleBindingStrategy(RBACStrategy):
    """RoleBindings and ClusterRoleBindings."""

    def default(self, body: Body) -> None:
        """Roles and people are of the group; service accounts are not."""
        role = body.setdefault("roleRef", {})
        role["apiGroup"] = role.get("apiGroup") or _GROUP
        for subject in body.get("subjects") or ():
            if subject.get("kind") in {"User", "Group"}:
                fill(subject, {"apiGroup": _GROUP})

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """A role is named; a ClusterRoleBinding's is a ClusterRole."""
        clusterwide, role = body["kind"] == "ClusterRoleBinding", body["roleRef"]
        kinds = ("ClusterRole",) if clusterwide else ("Role", "ClusterRole")
        causes = [
            *one_of(role["apiGroup"], (_GROUP,), "roleRef.apiGroup"),
            *one_of(role.get("kind") or "", kinds, "roleRef.kind"),
        ]
        if not role.get("name"):
            causes.append(StatusCause.required("roleRef.name"))
        for subject, where in indexed(body.get("subjects"), "subjects"):
            causes += _subject_causes(subject, where, clusterwide=clusterwide)
        return causes

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """The role is immutable."""
        if new["roleRef"] == old["roleRef"]:
            return ()
        shown = {
            name: new["roleRef"].get(key)
            for name, key in (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
        }
        return (StatusCause.invalid("roleRef", shown, IMMUTABLE),)


def _subject_causes(subject: Body, path: str, *, clusterwide: bool) -> Iterator[StatusCause]:
    kind = subject.get("kind") or ""
    if not subject.get("name"):
        yield StatusCause.required(f"{path}.name")
    yield from one_of(kind, _SUBJECTS, f"{path}.kind")
    if kind == "ServiceAccount" and clusterwide and not subject.get("namespace"):
        yield StatusCause.required(f"{path}.namespace")
