"""Replica leases: each replica says what it has ready in a Lease of its own, which the leader reads
for the profiles' status.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.kube import INSTALLATION_LABEL, REPLICA_PERIOD_SECONDS, REVISIONS_ANNOTATION
from moorage.ports.texts import replica_lease, shortened


class ReplicaLeases:
    """``ports.kube.ReplicaAnnouncer``. ``namespace`` and ``lease`` are those of the leader's
    Lease.
    """

    def __init__(self, session: HttpSession, clock: Clock, namespace: str, lease: str) -> None:
        self._session = session
        self._clock = clock
        self._lease = lease
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    async def announce(self, identity: str, revisions: Mapping[str, str]) -> None:
        """Write our Lease, make it where there is none."""
        name = replica_lease(self._lease, identity)
        body = msgspec.json.encode(self._body(name, identity, revisions))
        try:
            await self._session.call(HttpCall("PATCH", f"{self._path}/{name}", body, MERGE_PATCH))
        except NotFound:
            await self._session.call(HttpCall("POST", self._path, body))

    async def withdraw(self, identity: str) -> None:
        try:
            await self._session.call(
                HttpCall("DELETE", f"{self._path}/{replica_lease(self._lease, identity)}")
            )
        except (NotFound, Conflict):
            return  # nothing there, or being deleted already

    def _body(self, name: str, identity: str, revisions: Mapping[str, str]) -> dict[str, object]:
        announced = msgspec.json.encode(dict(sorted(revisions.items()))).decode()
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "labels": {INSTALLATION_LABEL: shortened(self._lease)},
                "annotations": {REVISIONS_ANNOTATION: announced},
            },
            "spec": {
                "holderIdentity": identity,
                "leaseDurationSeconds": round(3 * REPLICA_PERIOD_SECONDS),
                "renewTime": self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
