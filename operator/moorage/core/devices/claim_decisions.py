"""Claim decisions: allocations that were decided and are not seen in the claims' status yet."""

from __future__ import annotations

import dataclasses

from moorage.core.devices.extended_resources import is_extended_claim, owner_of
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.resource_claims import ResourceClaim


@dataclasses.dataclass(slots=True)
class ClaimDecision:
    """What was decided for a claim.

    ``claim``: as it will be, or as it was ``written`` (that state's version). ``group``: whose
    members share it. ``holders``: the pods (UIDs) that it was decided for; recordings have none.
    """

    claim: ResourceClaim
    group: GroupKey | None = None
    written: int | None = None
    holders: set[str] = dataclasses.field(default_factory=set, compare=False)


def identity_of(claim: ResourceClaim) -> str:
    """A claim's uid. What stands for extended resources is one for each pod, also before it is
    created.
    """
    return (
        f"extended resources of {owner_of(claim)}"
        if is_extended_claim(claim)
        else claim.metadata.uid
    )
