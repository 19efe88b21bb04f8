"""Controllers: what else moves in a cluster. Deployments get pods, pods run, garbage goes.

None has a clock. They are told of changes within the writes (``told``), say when they have work (``due``), and do a slice of it when they
are asked (``work``), by the same verbs that HTTP calls.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime

from towtank.controllers.budgets import DisruptionController
from towtank.controllers.controlling import Controller
from towtank.controllers.deployments import DeploymentController
from towtank.controllers.garbage import GarbageCollector
from towtank.controllers.kubelet import KubeletSimulator
from towtank.controllers.namespaces import CRDFinalizer, NamespaceController
from towtank.controllers.replicas import ReplicaSetController
from towtank.controllers.statefulsets import StatefulSetController
from towtank.controllers.volumes import PersistentVolumeController
from towtank.controllers.world import REPLICATION_CONTROLLERS, ControllerClient
from towtank.model.catalogue import Catalogue
from towtank.storage.store import StoreChange, notify_each
from towtank.storage.verbs import Verbs


@dataclasses.dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How the cluster moves: what is left out is done by nobody, or by whoever uses the cluster (a test, say)."""

    start_after: float = 1.0
    """Seconds from a pod's binding until it is ready."""
    stop_after: float = 1.0
    """Seconds from a pod's deletion until it is gone, at most its grace."""
    workloads: bool = True
    """Deployments, ReplicaSets, ReplicationControllers, StatefulSets and PodDisruptionBudgets."""
    kubelets: bool = True
    """Nodes become ready, pods run and go."""
    volumes: bool = True
    """Claims are bound."""
    provisioning: bool = True
    """Volumes are made for claims."""
    garbage: bool = True
    """What an owner or a namespace leaves behind is deleted."""

    @classmethod
    def bare(cls) -> ControllerSettings:
        """An API server alone."""
        return cls(workloads=False, kubelets=False, volumes=False, provisioning=False, garbage=False)


class ControllerManager:
    """All of them; to be told of every change from now on. What is in the store already they find themselves."""

    def __init__(self, verbs: Verbs, catalogue: Catalogue, settings: ControllerSettings) -> None:
        self._client = ControllerClient(verbs, catalogue)
        self._next = 0
        self._all: list[Controller] = [CRDFinalizer(self._client)]  # a part of the API server, as in Kubernetes
        if settings.garbage:
            self._all += [GarbageCollector(self._client), NamespaceController(self._client)]
        if settings.kubelets:
            self._all.append(KubeletSimulator(self._client, settings.start_after, settings.stop_after))
        if settings.workloads:
            self._all += [ReplicaSetController(self._client), ReplicaSetController(self._client, REPLICATION_CONTROLLERS)]
            self._all += [DeploymentController(self._client), StatefulSetController(self._client), DisruptionController(self._client)]
        if settings.volumes:
            self._all.append(PersistentVolumeController(self._client, make=settings.provisioning))
        for resource in {each.key: each for each in catalogue}:
            for stored in verbs.store.list(resource):
                self.on_change(resource, StoreChange("ADDED", stored, None))

    def on_change(self, resource: str, change: StoreChange) -> None:
        """Note what to look at; called within the write."""
        notify_each((self._client.on_change, *(controller.on_change for controller in self._all)), resource, change)

    def due(self) -> datetime | None:
        """When there is work next; a time that has passed means now."""
        return min((when for controller in self._all if (when := controller.due()) is not None), default=None)

    def work(self, now: datetime) -> None:
        """Let the next controller that has work do a slice of it: some milliseconds."""
        for _ in self._all:
            controller = self._all[self._next]
            self._next = (self._next + 1) % len(self._all)
            when = controller.due()
            if when is not None and when <= now:
                controller.work(now)
                return
