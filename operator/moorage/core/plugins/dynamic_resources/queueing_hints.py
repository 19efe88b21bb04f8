"""What makes a pod worth another attempt that waits for its claims."""

from __future__ import annotations

from moorage.core.columns.store import Lister
from moorage.core.devices.device_demand import delegable
from moorage.core.devices.pod_claims import ClaimError, claim_names, claims_of
from moorage.core.framework.cluster_events import ClusterEvent
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim


def claim_problem(pod: Pod, store: Lister) -> str:
    """Why the pod's claims can't be used: one is missing, on its way out, or somebody else's. ""
    when they can.
    """
    if not pod.spec.resource_claims:
        return ""
    try:
        claims_of(pod, store.objects(ResourceClaim))
    except ClaimError as error:
        return str(error)
    return ""


def claim_helps(pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether the pod's claims are there, and devices were given back, or one of these claims came
    or got another status.
    """
    old, new = event.old, event.new
    if claim_problem(pod, store):
        return False
    if isinstance(old, ResourceClaim) and _gave_back(old, new):
        return True
    if (
        not isinstance(new, ResourceClaim)
        or new.metadata.namespace != pod.metadata.namespace
        or new.metadata.name not in (name for name, _ in claim_names(pod))
    ):
        return False
    return not isinstance(old, ResourceClaim) or old.status != new.status


def _gave_back(old: ResourceClaim, new: HasMetadata | None) -> bool:
    """Whether a claim, gone or not, has not all any more that it had."""
    had, has = (
        old.status.allocation,
        new.status.allocation if isinstance(new, ResourceClaim) else None,
    )
    if had is None or has is None:
        return had is not None
    return any(one not in (has.devices.results or ()) for one in had.devices.results or ())


def was_to_have_devices(pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether a pod that goes nowhere after all may have had devices set aside, which no claim's
    change tells.
    """
    old = event.old
    if not isinstance(old, Pod) or claim_problem(pod, store):
        return False
    claims = store.objects(ResourceClaim)
    names = [f"{old.metadata.namespace}/{name}" for name, _ in claim_names(old)]
    return any(name in claims and claims[name].status.allocation is None for name in names) or any(
        delegable(old)
    )


def claims_are_there(_pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether this pod was told the last of its claims, and they are there."""
    return isinstance(event.new, Pod) and not claim_problem(event.new, store)
