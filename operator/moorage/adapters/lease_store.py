"""The lease store: the leader's Lease. What others put into its metadata (labels, owners) stays: it
is patched, never replaced.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.adapters.answers import decoded
from moorage.ports.errors import Refused, Retryable
from moorage.ports.http_calls import JSON_PATCH, MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.leadership import LeaseRecord


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: datetime.datetime | None = None
    renew_time: datetime.datetime | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct, rename="camel"):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: _Spec | None = None


class KubeLeaseStore:
    """``ports.leadership.LeaseStore`` for one Lease. ``timeout`` in seconds ends every request."""

    def __init__(self, session: HttpSession, namespace: str, name: str, timeout: float) -> None:
        self._session = session
        self._name = name
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._timeout = timeout
        self._unanswered = False
        """Whether the last request has no answer, yet or for good: its connection, and all that are
        as old, may be dead.
        """

    async def read(self) -> tuple[LeaseRecord, str]:
        """The Lease's record and its resourceVersion."""
        lease = await self._ask(HttpCall("GET", f"{self._path}/{self._name}"))
        spec = lease.spec or _Spec()
        record = LeaseRecord(
            holder=spec.holder_identity or "",
            duration=spec.lease_duration_seconds or 0,
            acquired=spec.acquire_time,
            renewed=spec.renew_time,
            transitions=spec.lease_transitions or 0,
        )
        return record, lease.metadata.resource_version

    async def create(self, record: LeaseRecord) -> str:
        """Create the Lease; its resourceVersion."""
        kind = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name},
        }
        return await self._write("POST", self._path, kind | {"spec": _spec(record)})

    async def replace(self, record: LeaseRecord, version: str) -> str:
        """Write over exactly this version."""
        body = {"metadata": {"resourceVersion": version}, "spec": _spec(record)}
        return await self._write("PATCH", f"{self._path}/{self._name}", body, MERGE_PATCH)

    async def rewrite(self, record: LeaseRecord, holder: str) -> str:
        """Write over whatever this holder holds."""
        operations = [{"op": "test", "path": "/spec/holderIdentity", "value": holder}]
        operations += [
            {"op": "add", "path": f"/spec/{field}", "value": value}
            for field, value in _spec(record).items()
        ]
        return await self._write("PATCH", f"{self._path}/{self._name}", operations, JSON_PATCH)

    async def _write(
        self, method: str, path: str, body: object, content_type: str = "application/json"
    ) -> str:
        lease = await self._ask(HttpCall(method, path, msgspec.json.encode(body), content_type))
        return lease.metadata.resource_version

    async def _ask(self, call: HttpCall) -> _Lease:
        fresh, self._unanswered = self._unanswered, True
        try:
            body = await self._session.call(
                dataclasses.replace(call, timeout=self._timeout, fresh=fresh)
            )
        except Refused:
            self._unanswered = False
            raise
        self._unanswered = False
        request, unknown = f"{call.method} {call.path}", call.method != "GET"
        lease = decoded(request, body, _Lease, outcome_unknown=unknown)
        if not lease.metadata.resource_version:
            # a proxy may say 200, too
            raise Retryable(f"{request}: the answer is no Lease", outcome_unknown=unknown)
        return lease


def _spec(record: LeaseRecord) -> Mapping[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration,
        "acquireTime": _micro_time(record.acquired),
        "renewTime": _micro_time(record.renewed),
        "leaseTransitions": record.transitions,
    }


def _micro_time(time: datetime.datetime | None) -> str | None:
    """As the API server writes times of Leases: UTC, with six digits."""
    return (
        time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if time is not None
        else None
    )
