"""Reads of the API server beside the informers: where pods are, stored revisions, the other
replicas, our own rights.
"""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubefacts import names
from moorage.adapters.answers import DECODE_ERRORS, decoded
from moorage.core.objects.meta import Struct
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.ports import quarantine_record
from moorage.ports.access_rights import AccessRight
from moorage.ports.clock import Clock
from moorage.ports.errors import NotFound, Retryable
from moorage.ports.http_calls import HttpCall, HttpSession, next_page
from moorage.ports.kube import (
    CHANGED_AT,
    CHANGED_BY,
    INSTALLATION_LABEL,
    LIVE_PODS,
    PROFILE_LABEL,
    REPLICA_PERIOD_SECONDS,
    REVISIONS_ANNOTATION,
    TRIAL_ANNOTATION,
    PodNode,
    PodRef,
    ReplicaAnnouncement,
    StoredRevision,
)
from moorage.ports.texts import replica_lease, shortened

LIVE_SECONDS = 3 * REPLICA_PERIOD_SECONDS
"""A replica counts as live for so long after its Lease last changed."""
PAGE_SIZE = 500
"""Objects a page: a few milliseconds to read."""
REVISIONS_PAGE = 10
"""The same of stored revisions, each of which may have a megabyte."""
NOT_FOUND = "NotFound"
"""The reason in the API server's own 404."""
_COORDINATION = "/apis/coordination.k8s.io/v1"
DEAD_SECONDS = 600.0
"""After this the Lease of a replica is litter."""


class _Meta(Struct, frozen=True):
    name: str = ""
    annotations: dict[str, str] | None = None


class _Named(Struct, frozen=True):
    metadata: _Meta


class _PodMeta(Struct, frozen=True):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    deletion_timestamp: str | None = None


class _PodSpec(Struct, frozen=True):
    node_name: str = ""


class _PodPlace(Struct, frozen=True):
    """No more of a pod than is asked for, so that nothing else in it can be unreadable."""

    metadata: _PodMeta
    spec: _PodSpec = _PodSpec()


class _ListMeta(Struct, frozen=True):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Places(Struct, frozen=True):
    """A page of pods, or of nodes."""

    metadata: _ListMeta = _ListMeta()
    items: tuple[_PodPlace, ...] | None = None


class _Whole(Struct, frozen=True):
    """A page of objects as they are."""

    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class _Secret(Struct, frozen=True):
    data: dict[str, bytes] | None = None
    """msgspec reads base64 as bytes."""


class _ControllerRevision(Struct, frozen=True):
    metadata: _Meta
    revision: int = 0
    data: Any = None
    """Whatever somebody may have put there: one spoilt revision must not hide the others."""


class _RevisionList(Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[_ControllerRevision, ...] | None = None


class _LeaseSpec(Struct, frozen=True):
    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(Struct, frozen=True):
    metadata: _Meta
    spec: _LeaseSpec = _LeaseSpec()


class _LeaseList(Struct, frozen=True):
    items: tuple[_Lease, ...] | None = None


class _ReviewStatus(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


@dataclasses.dataclass(slots=True)
class _Sighting:
    """What a replica's Lease said when it last changed, and when that was by our own clock."""

    renewed: str
    at: float


def _sighting(before: _Sighting | None, lease: _Lease, now: float) -> _Sighting:
    renewed = lease.spec.renew_time or ""
    return before if before is not None and before.renewed == renewed else _Sighting(renewed, now)


T = TypeVar("T")


class HttpKubeReader:
    """``ports.kube.KubeReader``. ``namespace`` and ``lease`` are those of the leader's Lease."""

    def __init__(self, session: HttpSession, clock: Clock, namespace: str, lease: str) -> None:
        self._session = session
        self._clock = clock
        self._namespace = namespace
        self._lease = lease
        self._sightings: dict[str, _Sighting] = {}
        self._others: dict[tuple[str, str], _Sighting] = {}

    async def pod_node(self, pod: PodRef) -> str | None:
        """The node of the pod with this UID, "" for none, None when it is gone."""
        found = await self._named(f"/api/v1/namespaces/{pod.namespace}/pods", pod.name, _PodPlace)
        return found.spec.node_name if found is not None and found.metadata.uid == pod.uid else None

    async def node_names(self) -> Sequence[str]:
        """Page by page, of one moment."""
        return [node.metadata.name async for node in self._pages("/api/v1/nodes", {}, _Places)]

    async def pod_places(self) -> Sequence[PodNode]:
        """Page by page, of one moment."""
        return [
            PodNode(
                pod.metadata.uid,
                f"{pod.metadata.namespace}/{pod.metadata.name}",
                pod.spec.node_name,
                bool(pod.metadata.deletion_timestamp),
            )
            async for pod in self._pages("/api/v1/pods", {"fieldSelector": LIVE_PODS}, _Places)
        ]

    async def pod_json(self, pod: PodRef) -> bytes | None:
        """The whole pod as the API server's JSON; None when it is gone."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods"
        found = await self._named(path, pod.name, msgspec.Raw)
        if found is None or decoded(path, bytes(found), _PodPlace).metadata.uid != pod.uid:
            return None
        return _without_managers(path, bytes(found), apiVersion="v1", kind="Pod")

    async def nodes_json(self) -> Mapping[str, bytes]:
        """Page by page, of one moment."""
        path = "/api/v1/nodes"
        found = [
            _without_managers(path, bytes(node)) async for node in self._pages(path, {}, _Whole)
        ]
        return {decoded(path, node, _Named).metadata.name: node for node in found}

    async def secret(self, name: str) -> Mapping[str, bytes] | None:
        """The data of a Secret in the Lease's namespace."""
        path = f"/api/v1/namespaces/{self._namespace}/secrets/{urllib.parse.quote(name, safe='')}"
        found = await self._found(path, _Secret)
        return None if found is None else (found.data or {})

    async def resource_claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """The claim, None when it is gone."""
        path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
        return await self._named(path, name, ResourceClaim)

    async def revisions(self) -> Sequence[StoredRevision]:
        """All stored revisions, the oldest first."""
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions"
        pages = self._pages(path, {"labelSelector": PROFILE_LABEL}, _RevisionList, REVISIONS_PAGE)
        found = [_named(item) async for item in pages if isinstance(item.data, dict)]
        return sorted(found, key=lambda one: (one.profile, one.number, one.name))

    async def revision(self, name: str) -> StoredRevision | None:
        """The stored revision of this name; None when there is none."""
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions"
        found = await self._named(path, name, _ControllerRevision)
        return None if found is None else _stored(found)

    async def replicas(self) -> Sequence[ReplicaAnnouncement]:
        """The live replicas, by identity.

        Times of other machines are not compared with ours: a replica is live until its Lease has
        not changed for LIVE_SECONDS, so one that died before our first look is shown for that long.
        """
        now = self._clock.boottime()
        leases = await self._leases()
        self._sightings = {
            identity: _sighting(self._sightings.get(identity), lease, now)
            for identity, lease in leases.items()
        }
        return [
            ReplicaAnnouncement(identity, _announced(lease.metadata.annotations))
            for identity, lease in sorted(leases.items())
            if now - self._sightings[identity].at < LIVE_SECONDS
        ]

    async def dead_replicas(self) -> Sequence[str]:
        """Identities whose Lease has not changed for DEAD_SECONDS."""
        now = self._clock.boottime()
        return sorted(
            identity
            for identity, sighting in self._sightings.items()
            if now - sighting.at >= DEAD_SECONDS
        )

    async def lease_renewed(self, namespace: str, name: str) -> bool:
        """Held, and changed within its own duration; at the first look a Lease that is held counts
        as renewed.
        """
        lease = await self._lease_of(namespace, name)
        if lease is None:
            return False
        now = self._clock.boottime()
        seen = _sighting(self._others.get((namespace, name)), lease, now)
        self._others[namespace, name] = seen
        duration = lease.spec.lease_duration_seconds or 0
        return bool(lease.spec.holder_identity) and now - seen.at < duration

    async def serves(self, namespace: str, lease: str, profile: str) -> bool:
        """By the annotation that every replica writes into its own Lease."""
        leader = await self._lease_of(namespace, lease)
        if leader is None or not leader.spec.holder_identity:
            return False
        own = replica_lease(lease, leader.spec.holder_identity)
        announced = await self._lease_of(namespace, own)
        return announced is not None and profile in _announced(announced.metadata.annotations)

    async def quarantined(self) -> Mapping[str, str]:
        """As the leader's Lease has them; none without it."""
        path = f"{_COORDINATION}/namespaces/{self._namespace}/leases/{self._lease}"
        lease = await self._found(path, _Lease)
        if lease is None:
            return {}
        return quarantine_record.parse_annotations(lease.metadata.annotations)

    async def allowed(self, right: AccessRight) -> bool:
        """Ask with a SelfSubjectAccessReview."""
        resource, _, subresource = right.resource.partition("/")
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self._namespace if right.home else "",
            "name": right.name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        body = await self._session.call(HttpCall("POST", path, msgspec.json.encode(review)))
        return decoded(path, body, _Review).status.allowed

    async def _lease_of(self, namespace: str, name: str) -> _Lease | None:
        """Another installation's; the names come from a status that anyone with the right to may
        have written.
        """
        if names.dns_label(namespace) or names.dns_subdomain(name):
            return None  # "..", for one, would lead elsewhere
        return await self._found(f"{_COORDINATION}/namespaces/{namespace}/leases/{name}", _Lease)

    async def _leases(self) -> dict[str, _Lease]:
        """Replicas' Leases of this installation by identity."""
        selector = f"{INSTALLATION_LABEL}={shortened(self._lease)}"
        query = urllib.parse.urlencode({"labelSelector": selector})
        path = f"{_COORDINATION}/namespaces/{self._namespace}/leases?{query}"
        items = (await self._get(path, _LeaseList)).items or ()
        return {one.spec.holder_identity: one for one in items if one.spec.holder_identity}

    async def _pages(
        self,
        path: str,
        query: Mapping[str, str],
        kind: type[_Places | _Whole | _RevisionList],
        limit: int = PAGE_SIZE,
    ) -> AsyncIterator[Any]:
        """All objects of a list, by pages of this kind. Raises ResourceExpired where it takes so
        long that the API server forgets where it was.
        """
        token = ""
        while True:
            asked = urllib.parse.urlencode({**query, "limit": limit, "continue": token})
            page = await self._get(f"{path}?{asked}", kind)
            for item in page.items or ():
                yield item
            if not (token := next_page(path, token, page.metadata.continue_ or "")):
                return

    async def _named(self, path: str, name: str, kind: type[T]) -> T | None:
        """The object of this name, by a list of it alone: an empty one says that it is not there,
        while a 404 may be a proxy's.
        """
        path = f"{path}?{urllib.parse.urlencode({'fieldSelector': f'metadata.name={name}'})}"
        found = await self._get(path, _Whole)
        if not found.metadata.resource_version:
            raise Retryable(f"{path}: the answer is no list")
        return next((decoded(path, bytes(item), kind) for item in found.items or ()), None)

    async def _found(self, path: str, kind: type[T]) -> T | None:
        """The object, where lists are not for us; None when the API server says, in its own words,
        that it is not there.
        """
        try:
            return await self._get(path, kind)
        except NotFound as error:
            if error.reason != NOT_FOUND:
                raise
            return None

    async def _get(self, path: str, kind: type[T]) -> T:
        return decoded(path, await self._session.call(HttpCall("GET", path)), kind)


def _named(item: _ControllerRevision) -> StoredRevision:
    """No more of it than what it is called: together they may have gigabytes."""
    stored = _stored(item)
    return dataclasses.replace(
        stored, data={key: stored.data[key] for key in ("revision", "uid") if key in stored.data}
    )


def _stored(item: _ControllerRevision) -> StoredRevision:
    data = item.data if isinstance(item.data, dict) else {}
    annotations = item.metadata.annotations or {}
    profile, *more = (
        annotations.get(name, "")
        for name in (PROFILE_LABEL, CHANGED_BY, TRIAL_ANNOTATION, CHANGED_AT)
    )
    return StoredRevision(item.metadata.name, profile, item.revision, data, *more)


def _without_managers(path: str, body: bytes, **more: str) -> bytes:
    """The object without metadata.managedFields, which are often most of it and which no schedulers
    and extenders read.
    """
    fields = decoded(path, body, dict[str, msgspec.Raw])
    metadata = decoded(path, bytes(fields.get("metadata", b"{}")), dict[str, msgspec.Raw])
    metadata.pop("managedFields", None)
    return msgspec.json.encode({**more, **fields, "metadata": metadata})


def _announced(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Profile name -> revision, as a replica wrote it; {} where it wrote something else."""
    try:
        return msgspec.json.decode(
            (annotations or {}).get(REVISIONS_ANNOTATION, "{}"), type=dict[str, str]
        )
    except DECODE_ERRORS:
        return {}
