"""Assignment reviews: API servers without policies ask here which profile a pod gets.

Any answer lets the pod pass: whatever fails is told in the log, and the pod stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from moorage.api import pod_reviews
from moorage.api.assignment import chosen
from moorage.api.pod_reviews import PodRequest
from moorage.core.objects.meta import Namespace
from moorage.engine.profiles.assignments import Assignments
from moorage.ports.guards import FAULTS, log_bug
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)


class AssignmentReviews:
    """Answers AdmissionReviews of pods that are created, on any thread: it reads only what is
    replaced whole. ``namespaces``: by name, as they are now.
    """

    def __init__(self, assignments: Assignments, namespaces: Mapping[str, Namespace]) -> None:
        self._assignments = assignments
        self._namespaces = namespaces

    def assign(self, review: bytes) -> bytes:
        """The review (JSON) that answers this one."""
        try:
            request = pod_reviews.question(review)
        except ValueError as error:
            # Whoever reaches the port may send anything: so all of it is one cause.
            cause = once_per_cause("no review of a pod")
            log.warning("a review that is none of a pod was let pass: %s", error, extra=cause)
            return pod_reviews.answer("")
        try:
            return pod_reviews.answer(request.uid, self._scheduler_name(request))
        except FAULTS as error:
            log_bug("assigning a pod", error)
            return pod_reviews.answer(request.uid)

    def _scheduler_name(self, request: PodRequest) -> str:
        """What the pod gets, "" for nothing."""
        namespace = self._namespaces.get(request.namespace)
        if namespace is None:
            cause = once_per_cause("a pod's unknown namespace", namespace=request.namespace)
            log.warning("a pod was let pass: its namespace is not known yet", extra=cause)
            return ""
        profiles, labels = self._assignments.by_age, namespace.metadata.labels or {}
        profile = chosen(profiles, request.object, labels)
        return profile.scheduler_name if profile is not None else ""
