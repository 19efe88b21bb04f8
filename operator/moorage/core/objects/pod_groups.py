"""Pod groups: pods that are of use only together, and how many of them that takes.

A pod belongs to a group by its label (``pods.group_of``). How many members must be placed together
says the PodGroup of that name and namespace, or where there is none an annotation of the pods.
Source of label and kind: scheduler-plugins (sigs.k8s.io, v1alpha1).
"""

from __future__ import annotations

from moorage.core.objects.meta import ObjectMeta, Struct
from moorage.core.objects.pods import Pod

MIN_MEMBER = "moorage.dev/min-member"
API = "scheduling.x-k8s.io/v1alpha1"


class PodGroupSpec(Struct, frozen=True):
    """How many members must be placed together, and after how many seconds in vain that is to be
    told.
    """

    min_member: int = 0
    schedule_timeout_seconds: int | None = None


class PodGroup(Struct, frozen=True):
    """A pod group (scheduling.x-k8s.io/v1alpha1)."""

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()


def asked_min_member(pod: Pod) -> str:
    """What the pod's annotation says, "" when it has none."""
    annotations = pod.metadata.annotations
    return annotations.min_member if annotations is not None else ""
