"""The writes that only the leader may make: each passes the fence right before it goes out.

Bodies are encoded before the fence is asked, so that nothing but the send follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.v1alpha1.resources import API_VERSION
from moorage.ports.errors import Conflict, Invalid, NotFound
from moorage.ports.fencing import Fence
from moorage.ports.kube import PROFILE_LABEL, PodRef, Revision
from moorage.ports.names import replica_lease, shortened
from moorage.ports.wire import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Call, Session

_encode = msgspec.json.Encoder().encode

_CUSTOM = f"/apis/{API_VERSION}"


class _BindingMeta(msgspec.Struct):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct, rename="camel"):
    name: str
    kind: str = "Node"
    api_version: str = "v1"


class _Binding(msgspec.Struct, rename="camel"):
    """core/v1 Binding; with a UID in its metadata the API server refuses to bind a namesake."""

    metadata: _BindingMeta
    target: _Target
    kind: str = "Binding"
    api_version: str = "v1"


class KubeWrites:
    """``ports.kube.Writes``. ``namespace`` and ``lease`` are those of the leader's Lease; revisions are stored beside it."""

    def __init__(self, session: Session, fence: Fence, namespace: str, lease: str) -> None:
        self._session = session
        self._fence = fence
        self._namespace = namespace
        self._lease = lease

    @property
    def open(self) -> bool:
        """Whether the fence is open."""
        return self._fence.open

    async def bind(self, pod: PodRef, node: str) -> None:
        """POST the Binding."""
        body = _encode(_Binding(_BindingMeta(pod.name, pod.namespace, pod.uid), _Target(node)))
        await self._send("POST", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding", body)

    async def pod_condition(self, pod: PodRef, condition: Mapping[str, Any], nominated_node: str | None = None) -> None:
        """Patch the condition in by its type, and the nominated node unless None ("" takes it away)."""
        status: dict[str, Any] = {"conditions": [condition]}
        if nominated_node is not None:
            status["nominatedNodeName"] = nominated_node or None
        await self._pod_status(pod, status)

    async def pod_nomination(self, pod: PodRef, node: str) -> None:
        """Patch the nominated node ("" takes it away)."""
        await self._pod_status(pod, {"nominatedNodeName": node or None})

    async def delete_pod(self, pod: PodRef) -> None:
        """DELETE the pod with this UID and no other."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        await self._send("DELETE", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", _encode(options))

    async def _pod_status(self, pod: PodRef, status: Mapping[str, Any]) -> None:
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        try:
            await self._send("PATCH", path, _encode(patch), STRATEGIC_MERGE_PATCH)
        except Invalid as error:
            # A patch with another UID is answered with 422: the field is immutable.
            if "metadata.uid" not in error.message:
                raise
            raise Conflict(f"PATCH {path}", 409, "Conflict", f"another pod has this name now: {error.message}") from error

    async def profile_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a SchedulerProfile's status."""
        await self._send("PATCH", f"{_CUSTOM}/schedulerprofiles/{name}/status", _encode({"status": status}), MERGE_PATCH)

    async def plugin_config_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a PluginConfig's status."""
        await self._send("PATCH", f"{_CUSTOM}/pluginconfigs/{name}/status", _encode({"status": status}), MERGE_PATCH)

    async def create_revision(self, revision: Revision) -> None:
        """Store it as a ControllerRevision, labelled by its profile and owned by it, so that it goes when the profile does."""
        owner = {"apiVersion": API_VERSION, "kind": "SchedulerProfile", "name": revision.profile, "uid": revision.data["uid"]}
        metadata = {
            "name": revision.name,
            "labels": {PROFILE_LABEL: shortened(revision.profile)},
            "annotations": {PROFILE_LABEL: revision.profile},
            "ownerReferences": [owner],
        }
        body = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": metadata,
            "revision": revision.number,
            "data": revision.data,
        }
        await self._send("POST", f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions", _encode(body))

    async def delete_revision(self, name: str) -> None:
        """Delete a ControllerRevision."""
        await self._delete(f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions/{name}")

    async def delete_replica(self, identity: str) -> None:
        """Delete a replica's Lease."""
        name = replica_lease(self._lease, identity)
        await self._delete(f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{name}")

    async def _delete(self, path: str) -> None:
        try:
            await self._send("DELETE", path)
        except NotFound:
            return  # as wished

    async def _send(self, method: str, path: str, body: bytes | None = None, content_type: str = "application/json") -> None:
        await self._session.call(Call(method, path, body, content_type, guard=lambda: self._fence.check(f"{method} {path}")))
