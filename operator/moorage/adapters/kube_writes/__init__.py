"""The writes of whoever decides; each passes the fence, as ``status_writes`` sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.adapters.answers import decoded
from moorage.adapters.kube_writes.status_writes import HttpStatusWriter
from moorage.api.v1alpha1.common import API_VERSION
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import API as PODGROUPS
from moorage.core.objects.pods import ContainerExtendedResourceRequest
from moorage.core.objects.resource_claims import Allocation, Consumer, ResourceClaim
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.volumes.claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from moorage.ports.errors import Conflict, Invalid, Retryable
from moorage.ports.http_calls import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from moorage.ports.kube import (
    CHANGED_AT,
    CHANGED_BY,
    PROFILE_LABEL,
    TRIAL_ANNOTATION,
    PodRef,
    StoredRevision,
)
from moorage.ports.texts import shortened

_encode = msgspec.json.Encoder().encode

_FINALIZER = "resource.kubernetes.io/delete-protection"


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


class _Done(msgspec.Struct):
    """The part of a metav1.Status that says so."""

    status: str = ""


class HttpKubeWriter(HttpStatusWriter):
    """``ports.kube.KubeWriter``; revisions are stored beside the leader's Lease."""

    async def bind(self, pod: PodRef, node: str) -> None:
        """POST the Binding. A proxy, too, may say 200: only the API server's own word counts,
        anything else is as no answer.
        """
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        body = _encode(_Binding(_BindingMeta(pod.name, pod.namespace, pod.uid), _Target(node)))
        answer = await self._send("POST", path, body)
        if decoded(f"POST {path}", answer, _Done, outcome_unknown=True).status != "Success":
            raise Retryable(
                f"POST {path}: the answer does not say that it was done", outcome_unknown=True
            )

    async def pod_condition(
        self, pod: PodRef, condition: Mapping[str, Any], nominated_node: str | None = None
    ) -> None:
        """Patch the condition in by its type, and the nominated node unless None ("" takes it
        away).
        """
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
        await self._send(
            "DELETE", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", _encode(options)
        )

    async def evict_pod(self, pod: PodRef) -> None:
        """POST an Eviction of the pod with this UID and no other."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        await self._send(
            "POST",
            f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction",
            _encode(eviction),
        )

    async def pod_group_condition(self, group: PodRef, condition: Mapping[str, Any]) -> None:
        """Patch the condition in by its type."""
        path = f"/apis/{PODGROUPS}/namespaces/{group.namespace}/podgroups/{group.name}/status"
        body = {"metadata": {"uid": group.uid}, "status": {"conditions": [condition]}}
        await self._patch(path, body, STRATEGIC_MERGE_PATCH)

    async def _pod_status(self, pod: PodRef, status: Mapping[str, Any]) -> None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        await self._patch(
            path, {"metadata": {"uid": pod.uid}, "status": status}, STRATEGIC_MERGE_PATCH
        )

    async def _patch(self, path: str, patch: Mapping[str, Any], content_type: str) -> bytes:
        try:
            return await self._send("PATCH", path, _encode(patch), content_type)
        except Invalid as error:
            # A patch with another UID is answered with 422: the field is immutable.
            if "metadata.uid" not in error.message:
                raise
            raise Conflict(
                f"PATCH {path}",
                409,
                "Conflict",
                f"another object has this name now: {error.message}",
            ) from error

    # ---- volumes ---------------------------------------------------------------------------------

    async def bind_volume(self, volume: PersistentVolume) -> None:
        """Merge-patch the claimRef in, and the annotation that says that a controller chose the
        claim.
        """
        chosen = (volume.metadata.annotations or {}).get(BOUND_BY_CONTROLLER)
        annotations = {} if chosen is None else {"annotations": {BOUND_BY_CONTROLLER: chosen}}
        patch = {
            "metadata": _seen(volume.metadata) | annotations,
            "spec": {"claimRef": volume.spec.claim_ref},
        }
        await self._patch(f"/api/v1/persistentvolumes/{volume.metadata.name}", patch, MERGE_PATCH)

    async def select_node(self, claim: PersistentVolumeClaim) -> None:
        """Merge-patch the annotation in."""
        meta = claim.metadata
        patch = {
            "metadata": _seen(meta)
            | {"annotations": {SELECTED_NODE: (meta.annotations or {})[SELECTED_NODE]}}
        }
        await self._patch(
            f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}",
            patch,
            MERGE_PATCH,
        )

    # ---- resource claims -------------------------------------------------------------------------

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Add the finalizer to those that are there, which we do not read."""
        return await self._patch_claim(
            claim, {"metadata": _seen(claim.metadata) | {"finalizers": [_FINALIZER]}}
        )

    async def reserve_claim(
        self, claim: ResourceClaim, consumer: Consumer, allocation: Allocation | None
    ) -> ResourceClaim:
        """Add the consumer to those that the claim is reserved for, with the allocation."""
        status: dict[str, Any] = {"reservedFor": [consumer]}
        if allocation is not None:
            status["allocation"] = allocation
        return await self._patch_claim(
            claim, {"metadata": _seen(claim.metadata), "status": status}, "/status"
        )

    async def release_claim(self, claim: ResourceClaim, consumer: Consumer) -> None:
        """Take the consumer out of those that the claim is reserved for."""
        status = {"reservedFor": [{"$patch": "delete", "uid": consumer.uid}]}
        await self._patch_claim(
            claim, {"metadata": {"uid": claim.metadata.uid}, "status": status}, "/status"
        )

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        """Take allocation, devices' states and reservations out."""
        status = {"allocation": None, "devices": None, "reservedFor": None}
        await self._patch_claim(
            claim, {"metadata": _seen(claim.metadata), "status": status}, "/status"
        )

    async def create_claim(self, claim: ResourceClaim, prefix: str) -> ResourceClaim:
        """POST it; the API server makes up the name."""
        meta = claim.metadata
        metadata = {
            "generateName": prefix,
            "finalizers": [_FINALIZER],
            "annotations": meta.annotations,
            "ownerReferences": meta.owner_references,
        }
        body = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": metadata,
            "spec": claim.spec,
        }
        path = f"/apis/resource.k8s.io/v1/namespaces/{meta.namespace}/resourceclaims"
        return _claim(path, await self._send("POST", path, _encode(body)))

    async def delete_claim(self, claim: ResourceClaim) -> None:
        """Take the finalizer off, then DELETE the claim with this UID."""
        meta = claim.metadata
        gone = {"$deleteFromPrimitiveList/finalizers": [_FINALIZER]}
        await self._patch_claim(claim, {"metadata": {"uid": meta.uid} | gone})
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": meta.uid}}
        await self._send("DELETE", _claim_path(claim), _encode(options))

    async def pod_claim(
        self, pod: PodRef, claim: str, mappings: Sequence[ContainerExtendedResourceRequest]
    ) -> None:
        """Patch the pod's extendedResourceClaimStatus in."""
        await self._pod_status(
            pod,
            {
                "extendedResourceClaimStatus": {
                    "resourceClaimName": claim,
                    "requestMappings": mappings,
                }
            },
        )

    async def _patch_claim(
        self, claim: ResourceClaim, patch: Mapping[str, Any], subresource: str = ""
    ) -> ResourceClaim:
        path = _claim_path(claim) + subresource
        return _claim(path, await self._patch(path, patch, STRATEGIC_MERGE_PATCH))

    async def create_revision(self, revision: StoredRevision) -> None:
        """Store it as a ControllerRevision, labelled by its profile and owned by it, so that it
        goes when the profile does.
        """
        body = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": revision.name,
                "labels": {PROFILE_LABEL: shortened(revision.profile)},
                "annotations": {
                    PROFILE_LABEL: revision.profile,
                    CHANGED_BY: revision.changed_by,
                    CHANGED_AT: revision.changed_at,
                },
                "ownerReferences": [_owner(revision)],
            },
            "revision": revision.number,
            "data": revision.data,
        }
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions"
        await self._send("POST", path, _encode(body))

    async def delete_revision(self, name: str) -> None:
        await self._delete(f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions/{name}")

    async def revision_trial(self, name: str, document: str) -> None:
        """Merge-patch the annotation in: data of a ControllerRevision can't be changed."""
        path = f"/apis/apps/v1/namespaces/{self._namespace}/controllerrevisions/{name}"
        patch = {"metadata": {"annotations": {TRIAL_ANNOTATION: document}}}
        await self._patch(path, patch, MERGE_PATCH)


def _owner(revision: StoredRevision) -> dict[str, Any]:
    """An OwnerReference to the profile."""
    return {
        "apiVersion": API_VERSION,
        "kind": "SchedulerProfile",
        "name": revision.profile,
        "uid": revision.data["uid"],
    }


def _seen(meta: ObjectMeta) -> dict[str, Any]:
    """The state of the object that was decided by; the API server refuses to patch another one."""
    return {"uid": meta.uid, "resourceVersion": meta.resource_version}


def _claim_path(claim: ResourceClaim) -> str:
    meta = claim.metadata
    return f"/apis/resource.k8s.io/v1/namespaces/{meta.namespace}/resourceclaims/{meta.name}"


def _claim(path: str, body: bytes) -> ResourceClaim:
    return decoded(path, body, ResourceClaim, outcome_unknown=True)
