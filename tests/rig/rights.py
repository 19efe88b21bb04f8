"""Rights: those that roles give, those that the operator used according to audit logs, and those
that docs/security.md tells of, as one type.

Control planes tell of their audit logs when they start and stop, so that the last test of a run can
look at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.rig import audits
from tests.rig.audits import AuditEvent, Target

HOME: Final = "moorage-system"
ACCOUNT: Final = f"system:serviceaccount:{HOME}:moorage"
OPERATOR: Final = "moorage/"
"""What the user agent begins with where the operator's own code asks; tests that act in its stead
have another one.
"""
REFUSED: Final = "refused-"
"""What the name of a replica begins with that is to be refused something."""
_BY_NAME: Final = frozenset({"secrets", "configmaps"})
"""Resources that roles give by name; of others the name does not matter."""


class Right(NamedTuple):
    """A right as roles have it: anywhere, or in one namespace; to any object, or to one name."""

    verb: str
    group: str
    resource: str
    """With its subresource, as in pods/binding."""
    namespace: str = ""
    name: str = ""

    def covers(self, other: Right) -> bool:
        """Whether it lets whoever has it do the other thing."""
        return self[:3] == other[:3] and all(
            mine in ("", theirs) for mine, theirs in zip(self[3:], other[3:], strict=True)
        )

    def __str__(self) -> str:
        of = f"{self.resource}.{self.group}" if self.group else self.resource
        name = f" {self.name}" if self.name else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {of}{name}{where}"


class Asked(NamedTuple):
    """What was asked of an API server: the right that it takes, with the object's namespace, by
    which user agent, and whether it was refused for want of that right.
    """

    right: Right
    agent: str
    refused: bool


_ENDED: Final[set[Asked]] = set()
"""Of all control planes of this process that have ended."""
_RUNNING: Final[set[Path]] = set()
"""Audit logs of those that run."""


def control_plane_started(log: Path) -> None:
    """One runs that writes this audit log."""
    _RUNNING.add(log)


def control_plane_stopped(log: Path) -> None:
    """Its log is about to be deleted; what the operator asked for is kept."""
    if log in _RUNNING:
        _RUNNING.discard(log)
        _ENDED.update(_asked_in(log))


def asked_so_far() -> set[Asked]:
    """What the operator asked for in this process, of all control planes."""
    return _ENDED.union(*map(_asked_in, _RUNNING))


def given_by(roles: Iterable[Mapping[str, Any]]) -> set[Right]:
    """The rights to resources of Roles and ClusterRoles; other objects give none."""
    return {
        Right(verb, group, resource, role["metadata"].get("namespace", ""), name)
        for role in roles
        if role["kind"] in ("Role", "ClusterRole")
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ("",))
    }


_ROW: Final = re.compile(r"\| (?P<component>[\w-]+) \| (?P<rights>[^|]+) \| [^|]+ \|")
_CLAUSE: Final = re.compile(
    r"(?:in (?P<where>[\w -]+): )?(?P<resources>[\w/]+(?:, [\w/]+)*)"
    r"(?: `(?P<name>[\w-]+)`)?(?: \((?P<groups>[\w.-]+(?:, [\w.-]+)*)\))?: (?P<verbs>\w+(?:, \w+)*)"
)
_PLACES: Final = {None: "", "its own namespace": HOME, "kube-system": "kube-system"}


def told_in(section: str) -> dict[str, set[Right]]:
    """By component, the rights that a section has in rows `component | rights | why`, where rights
    are `resources (groups): verbs`, of one name `resource NAME: verbs`, in a namespace `in
    NAMESPACE: ...`, with semicolons between them. Raises ValueError for rights that read otherwise.
    """
    found: dict[str, set[Right]] = {}
    for row in list(_ROW.finditer(section))[1:]:  # the first is the heading
        for clause in row["rights"].split("; "):
            said = _CLAUSE.fullmatch(clause)
            if said is None:
                raise ValueError(f"no rights: {clause!r}")
            found.setdefault(row["component"], set()).update(_told(said))
    return found


def _told(clause: re.Match[str]) -> Iterator[Right]:
    for group in (clause["groups"] or "").split(", "):
        for resource in clause["resources"].split(", "):
            for verb in clause["verbs"].split(", "):
                yield Right(verb, group, resource, _PLACES[clause["where"]], clause["name"] or "")


def _asked_in(log: Path) -> set[Asked]:
    """What the operator's code asked for as its ServiceAccount, by an audit log."""
    return {
        _asked(event, event.object_ref)
        for event in audits.read(log, ACCOUNT)
        if event.user.username == ACCOUNT
        and event.object_ref is not None
        and event.user_agent.startswith(OPERATOR)
    }


def _asked(event: AuditEvent, target: Target) -> Asked:
    resource = "/".join(filter(None, (target.resource, target.subresource)))
    name = target.name if target.resource in _BY_NAME else ""
    right = Right(event.verb, target.api_group, resource, target.namespace, name)
    agent = re.sub(r"_[0-9a-f]{8}$", "", event.user_agent)
    return Asked(right, agent, event.forbidden)
