"""The leader's Lease, over kubernetes.aio's CoordinationV1Api."""

from __future__ import annotations

import datetime

import aiohttp
from kubernetes.aio import client

from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.leases import LeaseRecord
from moorage.ports.wire import refusal


class KubeLease:
    """``ports.leases.LeaseStore`` for one Lease. ``timeout`` in seconds ends every request."""

    def __init__(self, api: client.ApiClient, namespace: str, name: str, timeout: float) -> None:
        self._api = client.CoordinationV1Api(api)
        self._namespace = namespace
        self._name = name
        self._timeout = float(timeout)
        self._metadata = client.V1ObjectMeta()
        """As last read: what others put there (labels, owners) is written back with each renewal."""

    async def read(self) -> tuple[LeaseRecord, str]:
        """Record and resourceVersion."""
        try:
            lease = await self._api.read_namespaced_lease(self._name, self._namespace, _request_timeout=self._timeout)
        except _FAULTS as error:
            raise self._translated("GET", error) from error
        return _record(lease.spec or client.V1LeaseSpec()), self._keep(lease)

    async def create(self, record: LeaseRecord) -> str:
        """Make the Lease."""
        try:
            lease = await self._api.create_namespaced_lease(self._namespace, self._lease(record), _request_timeout=self._timeout)
        except _FAULTS as error:
            raise self._translated("POST", error) from error
        return self._keep(lease)

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Write over exactly this version."""
        body = self._lease(record, version)
        try:
            lease = await self._api.replace_namespaced_lease(self._name, self._namespace, body, _request_timeout=self._timeout)
        except _FAULTS as error:
            raise self._translated("PUT", error) from error
        return self._keep(lease)

    def _keep(self, lease: client.V1Lease) -> str:
        """Remember the metadata, return the resourceVersion."""
        self._metadata = lease.metadata or client.V1ObjectMeta()
        return self._metadata.resource_version or ""

    def _lease(self, record: LeaseRecord, version: str | None = None) -> client.V1Lease:
        return client.V1Lease(
            api_version="coordination.k8s.io/v1",
            kind="Lease",
            metadata=client.V1ObjectMeta(
                name=self._name,
                namespace=self._namespace,
                resource_version=version,
                labels=self._metadata.labels,
                annotations=self._metadata.annotations,
                owner_references=self._metadata.owner_references,
                finalizers=self._metadata.finalizers,
            ),
            spec=client.V1LeaseSpec(
                holder_identity=record.holder,
                lease_duration_seconds=record.duration,
                acquire_time=_micro_time(record.acquired),
                renew_time=_micro_time(record.renewed),
                lease_transitions=record.transitions,
            ),
        )

    def _translated(self, method: str, error: Exception) -> EdgeError:
        request = f"{method} lease {self._namespace}/{self._name}"
        if isinstance(error, client.ApiException) and error.status:
            body = error.body or b""
            return refusal(request, error.status, body if isinstance(body, bytes) else str(body).encode())
        return Retryable(f"{request}: {str(error) or type(error).__name__}", outcome_unknown=method != "GET")


_FAULTS = (client.ApiException, aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""ValueError is what the generated models raise for an answer that is no Lease."""


def _record(spec: client.V1LeaseSpec) -> LeaseRecord:
    return LeaseRecord(
        holder=spec.holder_identity or "",
        duration=spec.lease_duration_seconds or 0,
        acquired=spec.acquire_time,
        renewed=spec.renew_time,
        transitions=spec.lease_transitions or 0,
    )


def _micro_time(time: datetime.datetime | None) -> datetime.datetime | None:
    """In UTC and never on a whole second: the library leaves out zero microseconds, which the API server then refuses."""
    if time is None:
        return None
    utc = time.astimezone(datetime.UTC)
    return utc.replace(microsecond=utc.microsecond or 1)
