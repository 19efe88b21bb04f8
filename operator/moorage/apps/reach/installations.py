"""Installations: who serves the profiles of a cluster, as the Leases say.

A profile's status says which installation serves it, but tenants may write Leases in their own
namespaces: so a Lease counts where installations are at home (``HOME_LABEL``), and in the namespace
that the manifests use.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import json
import urllib.parse
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kubefacts import names
from moorage.adapters.answers import list_at, object_at
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.operator_options import LeaderElectionOptions
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import HttpCall, HttpSession
from moorage.ports.kube import (
    HOME_LABEL,
    INSTALLATION_LABEL,
    MODE_ANNOTATION,
    REVISIONS_ANNOTATION,
)
from moorage.ports.serving import SERVING_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION, ServedAt
from moorage.ports.texts import shortened

T = TypeVar("T")
U = TypeVar("U")
LATE_SECONDS: Final = 5.0
"""So much later than its duration a Lease has run out: our clock may be ahead."""
_USUAL = LeaderElectionOptions()


@dataclasses.dataclass(frozen=True, slots=True)
class Replica:
    """A process of the operator, by its own Lease. ``revisions``: profile name to the revision
    that it has ready.
    """

    identity: str
    revisions: Mapping[str, str]
    served: ServedAt | None
    seen: datetime.datetime | None
    """When it last said so."""
    observes: bool = False
    """Whether it decides nothing."""

    @property
    def pod(self) -> str:
        """The name of the pod that it is, "" where it cannot be one: whoever writes a Lease chooses
        the text, and it becomes part of paths.
        """
        name = self.identity.rpartition("_")[0]
        return "" if names.dns_subdomain(name) else name


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """An installation of the operator, by the Lease of its leader; ``leader`` is "" where nobody
    holds it.
    """

    namespace: str
    lease: str
    leader: str = ""
    since: datetime.datetime | None = None
    """When the leader took the lead."""
    renewed: datetime.datetime | None = None
    seconds: float = 0.0
    """For which a renewal counts."""
    replicas: tuple[Replica, ...] = ()

    @property
    def leading(self) -> Replica | None:
        """The replica that leads, where it has said something of itself."""
        return next((one for one in self.replicas if one.identity == self.leader), None)

    def seems_led(self, now: datetime.datetime) -> bool:
        """Whether somebody holds the Lease and has renewed it, if the clocks agree."""
        return _is_led(self.leader, self.renewed, self.seconds, now)


async def installation_of(session: HttpSession, profiles: Iterable[Body]) -> Installation:
    """The installation that serves or observes most of these, or the usual one. Raises
    EdgeError.
    """
    claims = collections.Counter(
        str(bodies.status(one).get("claimedBy") or bodies.status(one).get("observedBy") or "")
        for one in profiles
    )
    del claims[""]
    for claim, _ in claims.most_common():
        namespace, _, lease = claim.partition("/")
        if names.dns_label(namespace) or names.dns_subdomain(lease):
            continue
        if await _at_home(session, namespace):
            return await look(session, namespace, lease)
    return await look(session, _USUAL.resource_namespace, _USUAL.resource_name)


async def look(session: HttpSession, namespace: str, lease: str) -> Installation:
    """The installation as it is now. Raises EdgeError, but not where there is no Lease yet."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{_quoted(namespace)}/leases"
    selector = f"{INSTALLATION_LABEL}={shortened(lease)}"
    query = urllib.parse.urlencode({"labelSelector": selector})
    try:
        leader, replicas = await _both(
            object_at(session, HttpCall("GET", f"{path}/{_quoted(lease)}")),
            list_at(session, HttpCall("GET", f"{path}?{query}")),
        )
    except NotFound:
        return Installation(namespace, lease)
    spec = leader.get("spec") or {}
    return Installation(
        namespace,
        lease,
        leader=str(spec.get("holderIdentity") or ""),
        since=_time(spec.get("acquireTime")),
        renewed=_time(spec.get("renewTime")),
        seconds=float(spec.get("leaseDurationSeconds") or 0),
        replicas=_replicas(replicas.items or ()),
    )


def is_fresh(lease: Body, now: datetime.datetime) -> bool:
    """Whether somebody holds this Lease and has renewed it, if the clocks agree."""
    spec = lease.get("spec") or {}
    renewed, seconds = _time(spec.get("renewTime")), float(spec.get("leaseDurationSeconds") or 0)
    return _is_led(str(spec.get("holderIdentity") or ""), renewed, seconds, now)


def _is_led(
    holder: str, renewed: datetime.datetime | None, seconds: float, now: datetime.datetime
) -> bool:
    if not holder or renewed is None:
        return False
    return (now - renewed).total_seconds() < seconds + LATE_SECONDS


async def _both(one: Awaitable[T], other: Awaitable[U]) -> tuple[T, U]:
    """The outcome of both, at once; none is left under way when one fails."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second


async def _at_home(session: HttpSession, namespace: str) -> bool:
    if namespace == _USUAL.resource_namespace:
        return True
    try:
        call = HttpCall("GET", f"/api/v1/namespaces/{_quoted(namespace)}")
        found = await object_at(session, call)
    except EdgeError:
        return False  # who may not see it cannot know
    return HOME_LABEL in (found["metadata"].get("labels") or {})


def _replicas(leases: Sequence[Mapping[str, Any]]) -> tuple[Replica, ...]:
    found = []
    for lease in leases:
        spec, annotations = lease.get("spec") or {}, lease["metadata"].get("annotations") or {}
        found.append(
            Replica(
                identity=str(spec.get("holderIdentity") or ""),
                revisions=_revisions(annotations.get(REVISIONS_ANNOTATION)),
                served=_served(annotations),
                seen=_time(spec.get("renewTime")),
                observes=annotations.get(MODE_ANNOTATION) == "observer",
            )
        )
    return tuple(sorted(found, key=lambda one: one.identity))


def _served(annotations: Mapping[str, str]) -> ServedAt | None:
    """Where it answers by https: host and port alone of what is said; None where that is none."""
    certificate = annotations.get(SERVING_CERTIFICATE_ANNOTATION)
    try:
        url = urllib.parse.urlsplit(annotations.get(SERVING_ANNOTATION, ""))
        host, port = url.hostname, url.port
    except ValueError:
        return None
    if url.scheme != "https" or not host or not port or not certificate:
        return None
    shown = f"[{host}]" if ":" in host else host
    return ServedAt(f"https://{shown}:{port}", certificate)


def _revisions(text: str | None) -> Mapping[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _time(text: object) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
