"""Having the resource claims of a pod allocated and reserved."""

from __future__ import annotations

from typing import Any

from moorage.core.claim_objects import DeviceClass, ResourceClaim
from moorage.core.columns.requests import pod_requests
from moorage.core.columns.store import Objects
from moorage.core.devices.extended_resources import PREFIX
from moorage.core.objects import Pod, key
from moorage.core.storage_objects import PersistentVolumeClaim
from moorage.core.volumes import claim_uses, is_bound
from moorage.engine.actors.contract import Tools
from moorage.ports.errors import EdgeError


class DeviceBinder:
    """Keeps pods from being bound before their claims are allocated and reserved. Source: kube-scheduler DynamicResources (v1.36)."""

    def __init__(self, tools: Tools) -> None:
        self._writes = tools.writes

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """Nothing is to be done where all claims are allocated and reserved for the pod; writing that is not built yet."""
        claims = reserved.claims if reserved is not None else ()
        lacking = [key(claim) for claim, allocation in claims if allocation is not None or not _is_for(claim, pod)]
        if lacking:
            raise EdgeError(f"claims of the pod are not allocated to it ({', '.join(lacking)}): Moorage can't have claims allocated yet")


def would_fail(pod: Pod, store: Objects) -> bool:
    """Whether one of these two would keep the pod from being bound, for want of what is not built yet: nobody goes in vain for it."""
    claims = store.objects(PersistentVolumeClaim)
    unbound = any((claim := claims.get(use.key)) is None or not is_bound(claim) for use in claim_uses(pod))
    names = {one.spec.extended_resource_name for one in store.objects(DeviceClass).values()}
    delegated = any(name in names or name.startswith(PREFIX) for name, _ in pod_requests(pod).others)
    return unbound or delegated or bool(pod.spec.resource_claims)


def _is_for(claim: ResourceClaim, pod: Pod) -> bool:
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for or ())
