"""SchedulingGates: a pod with scheduling gates stays out of the queue until the last of them is
gone.

Cost: one look at the pod when it comes, none at nodes.
Source: kube-scheduler (v1.36).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.status import SUCCESS, Code, Reason, Status
from moorage.core.objects.pods import Pod

NAME = "SchedulingGates"
GATED = Reason(
    "SchedulingGated", "waiting for scheduling gates: [{}]", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)


def _is_about(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether it is this pod that lost its gates."""
    return isinstance(event.new, Pod) and event.new.metadata.uid == pod.metadata.uid


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulingGates:
    """Holds gated pods back."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (GATED,)
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(
            EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _is_about
        ),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        """The hint looks at the pod that an event is about."""
        return ()

    def pre_enqueue(self, pod: Pod, _store: Lister) -> Status:
        """Names the gates in the order in which the pod has them."""
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates or ())
        return Status(GATED.code, (GATED.text.replace("{}", gates),)) if gates else SUCCESS
