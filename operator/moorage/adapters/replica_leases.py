"""Replica leases: each replica says what it has ready, and where it answers, in a Lease of its own.
The leader reads them for the profiles' status, commands to find the leader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.kube import (
    INSTALLATION_LABEL,
    MODE_ANNOTATION,
    REPLICA_PERIOD_SECONDS,
    REVISIONS_ANNOTATION,
)
from moorage.ports.serving import SERVING_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION, ServedAt
from moorage.ports.texts import replica_lease, shortened

_SERVED_ANNOTATIONS = (SERVING_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION)


class ReplicaLeases:
    """``ports.kube.ReplicaAnnouncer``. ``home`` is namespace and name of the leader's Lease;
    ``served`` says where the replica answers, None while it does not; ``mode`` is that of its
    configuration.
    """

    def __init__(
        self,
        session: HttpSession,
        clock: Clock,
        home: tuple[str, str],
        served: Callable[[], ServedAt | None] = lambda: None,
        mode: str = "decider",
    ) -> None:
        self._mode = mode
        self._session = session
        self._clock = clock
        self._served = served
        namespace, self._lease = home
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
        served = self._served()
        at = dict(zip(_SERVED_ANNOTATIONS, served, strict=True)) if served is not None else {}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "labels": {INSTALLATION_LABEL: shortened(self._lease)},
                "annotations": {
                    REVISIONS_ANNOTATION: announced,
                    MODE_ANNOTATION: self._mode,
                    **at,
                },
            },
            "spec": {
                "holderIdentity": identity,
                "leaseDurationSeconds": round(3 * REPLICA_PERIOD_SECONDS),
                "renewTime": self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
