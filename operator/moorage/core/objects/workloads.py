"""Services, controllers and disruption budgets, as far as placement reads them: whose pods belong
together.

Source of names and meanings: Kubernetes API reference v1.37, core/v1, apps/v1, policy/v1.
"""

from __future__ import annotations

from moorage.core.objects.meta import Labels, ObjectMeta, Struct
from moorage.core.objects.selector_terms import LabelSelector


class ServiceSpec(Struct, frozen=True):
    """Which pods stand behind a service; without a selector none do."""

    selector: Labels | None = None


class Service(Struct, frozen=True):
    """A Service (core/v1): the fields that we read."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Struct, frozen=True):
    """Which pods a replication controller keeps."""

    selector: Labels | None = None


class ReplicationController(Struct, frozen=True):
    """A replication controller (core/v1)."""

    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class SetSpec(Struct, frozen=True):
    """Which pods a ReplicaSet or StatefulSet keeps."""

    selector: LabelSelector | None = None


class ReplicaSet(Struct, frozen=True):
    """A replica set (apps/v1)."""

    metadata: ObjectMeta
    spec: SetSpec = SetSpec()


class StatefulSet(Struct, frozen=True):
    """A stateful set (apps/v1)."""

    metadata: ObjectMeta
    spec: SetSpec = SetSpec()


class PodDisruptionBudgetSpec(Struct, frozen=True):
    """Which pods a budget protects."""

    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True):
    """How many of them may go now; ``disrupted_pods`` are already counted as gone (pod name ->
    time).

    It speaks of the spec with the generation ``observed_generation``.
    """

    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    disrupted_pods: Labels | None = None


class PodDisruptionBudget(Struct, frozen=True):
    """A disruption budget (policy/v1)."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
