"""Pod reviews: what an API server asks of a pod that is being created (AdmissionReview,
admission.k8s.io/v1), and what it is answered.
"""

from __future__ import annotations

import base64
import json

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

DEFAULT_SCHEDULER = "default-scheduler"
"""What the API server puts into pods that name no scheduler."""


class _Part(BaseModel):
    """The rest of it does not matter here."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class NewPodOwner(_Part):
    """An owner of it."""

    kind: str = ""
    controller: bool | None = None


class NewPodMetadata(_Part):
    """Its metadata."""

    labels: dict[str, str] | None = None
    owner_references: tuple[NewPodOwner, ...] | None = None


class NewPodSpec(_Part):
    """Its spec."""

    scheduler_name: str = DEFAULT_SCHEDULER
    node_name: str = ""


class NewPod(_Part):
    """A pod that is being created."""

    metadata: NewPodMetadata
    spec: NewPodSpec

    @property
    def is_open(self) -> bool:
        """Whether it names no scheduler, has no node (mirror pods have one), and is no DaemonSet's:
        that chooses its node, and no other one would do.
        """
        owners = self.metadata.owner_references or ()
        return (
            self.spec.scheduler_name == DEFAULT_SCHEDULER
            and not self.spec.node_name
            and not any(owner.kind == "DaemonSet" and owner.controller for owner in owners)
        )


class PodRequest(_Part):
    """The question. The pod itself may have no namespace in it."""

    uid: str
    namespace: str
    object: NewPod


class PodReview(_Part):
    """The review that an API server sends."""

    request: PodRequest


def question(review: bytes) -> PodRequest:
    """What is asked. Raises ValueError for what is no review of a pod."""
    return PodReview.model_validate_json(review).request


def answer(uid: str, scheduler_name: str = "") -> bytes:
    """The review that lets a pod pass, and gives it this schedulerName, "" for none."""
    response: dict[str, object] = {"uid": uid, "allowed": True}
    if scheduler_name:
        change = {"op": "add", "path": "/spec/schedulerName", "value": scheduler_name}
        patch = base64.b64encode(json.dumps([change]).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    about = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**about, "response": response}).encode()
