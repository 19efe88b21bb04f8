"""Verdicts of DynamicResources: reasons, their codes, and what was found out for one pod."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from moorage.core.devices.device_demand import DeviceDemand
from moorage.core.devices.device_supply import KeptDevices
from moorage.core.framework.status import Code, Reason

NOT_READY = Reason("ClaimsNotReady", "{}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
"""A claim or a class that is missing, not to be used, or just being allocated; the text says
which.
"""

CANNOT_ALLOCATE = Reason(
    "CannotAllocate", "cannot allocate all claims", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)

NOT_AVAILABLE = Reason(
    "ClaimNotAvailable",
    "resourceclaim not available on the node",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)

STALE_CLAIM = Reason(
    "StaleExtendedClaim",
    "cannot schedule extended resource claim",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)

CANNOT_FIT = Reason("NoSuchResource", "cannot fit resource", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

INVALID_POOLS = Reason(
    "InvalidPools", "invalid resource pools were encountered", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)

CANNOT_JUDGE = Reason("CannotJudgeDevices", "{}", Code.ERROR)

ALTERNATIVES_FAILED = Reason(
    "AlternativesFailed", "cannot allocate all claims: {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)

NODE_REASONS = (CANNOT_ALLOCATE, NOT_AVAILABLE, STALE_CLAIM, CANNOT_FIT, INVALID_POOLS)

CODE_OF = {reason: code for code, reason in enumerate(NODE_REASONS, start=1)}

FIRST_EXCLUSION_CODE = len(NODE_REASONS) + 1


KnownBy: TypeAlias = tuple[int | str, ...]
"""A way and a shape; where the search failed, the node too."""


@dataclasses.dataclass(slots=True, eq=False)
class DynamicResourcesState:
    """A pod's wants, and texts about faults: code -1 - i stands for text i of ``faults``, by which
    nothing could be judged.

    Code ``FIRST_EXCLUSION_CODE + i`` stands for text i of ``excluded``, which only excluded
    alternatives; these name no node's devices. Both only grow.
    """

    demand: DeviceDemand
    faults: dict[str, int] = dataclasses.field(default_factory=dict)
    excluded: dict[str, int] = dataclasses.field(default_factory=dict)
    known: dict[KnownBy, int | None] = dataclasses.field(default_factory=dict)
    """What came of a search, None where it took too long."""
    kept: tuple[KeptDevices, ...] = ()
    """What is kept for other pods; ``demand`` takes the devices into account."""

    def without_kept(self, kept: KeptDevices) -> DynamicResourcesState:
        """The same, with this kept too. What came of searches, they share: it goes by what is
        left.
        """
        every = (*self.kept, kept)
        return dataclasses.replace(self, demand=self.demand.without_kept(every), kept=every)

    @property
    def waits(self) -> bool:
        """Whether a claim of this pod is to be allocated for another one."""
        return any(
            claim.metadata.uid in kept.claims
            for kept in self.kept
            for claim in self.demand.unallocated
        )

    def fault(self, text: str) -> int:
        """The code of a fault."""
        return -1 - self.faults.setdefault(text, len(self.faults))

    def exclusion(self, text: str) -> int:
        """The code of a fault in an alternative."""
        return FIRST_EXCLUSION_CODE + self.excluded.setdefault(text, len(self.excluded))
