"""All controllers of a cluster, as its settings say.

None has a clock: they are notified of changes within the writes, say when work is due, and do one
slice of it when asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import datetime

from towtank.controllers.client import REPLICATION_CONTROLLERS, ControllerClient
from towtank.controllers.controller import Controller
from towtank.controllers.deployment import DeploymentController
from towtank.controllers.disruption import DisruptionController
from towtank.controllers.garbage_collector import GarbageCollector
from towtank.controllers.group_protection import PodGroupProtectionController
from towtank.controllers.job import JobController
from towtank.controllers.kubelet import KubeletSimulator
from towtank.controllers.namespace import CRDFinalizer, NamespaceController
from towtank.controllers.persistent_volume import PersistentVolumeController
from towtank.controllers.replica_set import ReplicaSetController
from towtank.controllers.stateful_set import StatefulSetController
from towtank.model.catalogue import Catalogue
from towtank.storage.store import StoreChange, notify_each
from towtank.storage.verbs import Verbs


@dataclasses.dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How the cluster moves: what is left out is done by nobody, or by whoever uses the cluster (a
    test, say).
    """

    start_after: float = 1.0
    """Seconds from a pod's binding until it is ready."""
    stop_after: float = 1.0
    """Seconds from a pod's deletion until it is gone, at most its grace."""
    workloads: bool = True
    """Deployments, ReplicaSets, ReplicationControllers, StatefulSets, Jobs, PodDisruptionBudgets
    and PodGroups.
    """
    kubelets: bool = True
    """Nodes become ready, pods run and go."""
    volumes: bool = True
    """Claims are bound."""
    provisioning: bool = True
    """Volumes are made for claims."""
    garbage: bool = True
    """What an owner or a namespace leaves behind is deleted."""

    @classmethod
    def none(cls) -> ControllerSettings:
        """An API server alone."""
        return cls(
            workloads=False, kubelets=False, volumes=False, provisioning=False, garbage=False
        )


class ControllerManager:
    """All of them; to be told of every change from now on. What is in the store already they find
    themselves.
    """

    def __init__(self, verbs: Verbs, catalogue: Catalogue, settings: ControllerSettings) -> None:
        self._client = ControllerClient(verbs, catalogue)
        self._next = 0
        self._all = list(_controllers(self._client, settings))
        for resource in {each.key: each for each in catalogue}:
            for stored in verbs.store.list(resource):
                self.on_change(resource, StoreChange("ADDED", stored, None))

    def on_change(self, resource: str, change: StoreChange) -> None:
        """Note what to look at; called within the write."""
        notify_each(
            (self._client.on_change, *(controller.on_change for controller in self._all)),
            resource,
            change,
        )

    def due(self) -> datetime | None:
        """When there is work next; a time that has passed means now."""
        return min(
            (when for controller in self._all if (when := controller.due()) is not None),
            default=None,
        )

    def work(self, now: datetime) -> None:
        """Let the next controller that has work do a slice of it: some milliseconds."""
        for _ in self._all:
            controller = self._all[self._next]
            self._next = (self._next + 1) % len(self._all)
            when = controller.due()
            if when is not None and when <= now:
                controller.work(now)
                return


def _controllers(client: ControllerClient, settings: ControllerSettings) -> Iterator[Controller]:
    """Those that are wanted."""
    yield CRDFinalizer(client)  # a part of the API server, as in Kubernetes
    if settings.garbage:
        yield GarbageCollector(client)
        yield NamespaceController(client)
    if settings.kubelets:
        yield KubeletSimulator(client, settings.start_after, settings.stop_after)
    if settings.workloads:
        yield ReplicaSetController(client)
        yield ReplicaSetController(client, REPLICATION_CONTROLLERS)
        yield DeploymentController(client)
        yield StatefulSetController(client)
        yield JobController(client)
        yield DisruptionController(client)
        yield PodGroupProtectionController(client)
    if settings.volumes:
        yield PersistentVolumeController(client, make=settings.provisioning)
