"""SchedulingGates: a pod with scheduling gates stays out of the queue until the last of them is
gone.

Cost: one look at the pod when it comes, none at nodes.
Source: kube-scheduler (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.status import SUCCESS, Code, Reason, Status
from moorage.core.objects.pods import Pod

NAME = "SchedulingGates"
GATED = Reason(
    "SchedulingGated", "waiting for scheduling gates: [{}]", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingGates:
    """Holds gated pods back."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (GATED,)
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(
            EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        ),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        """There is no hint."""
        return ()

    def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
        """Names the gates in the order in which the pod has them."""
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates or ())
        return Status(GATED.code, (GATED.text.replace("{}", gates),)) if gates else SUCCESS
