"""Controllers: what else moves in a cluster. Deployments get pods, pods run, garbage goes.

None has a clock. They are told of changes within the writes (``told``), say when they have work (``due``), and do a slice of it when they
are asked (``work``), by the same verbs that HTTP calls.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime

from towtank.controllers.budgets import Budgets
from towtank.controllers.controlling import Controller
from towtank.controllers.deployments import Deployments
from towtank.controllers.garbage import Garbage
from towtank.controllers.kubelet import Kubelet
from towtank.controllers.namespaces import Definitions, Namespaces
from towtank.controllers.replicas import Replicas
from towtank.controllers.statefulsets import StatefulSets
from towtank.controllers.volumes import Volumes
from towtank.controllers.world import REPLICATION_CONTROLLERS, World
from towtank.model.catalogue import Catalogue
from towtank.storage.store import Change, tell_each
from towtank.storage.verbs import Verbs


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
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
    def bare(cls) -> Settings:
        """An API server alone."""
        return cls(workloads=False, kubelets=False, volumes=False, provisioning=False, garbage=False)


class Controllers:
    """All of them; to be told of every change from now on. What is in the store already they find themselves."""

    def __init__(self, verbs: Verbs, catalogue: Catalogue, settings: Settings) -> None:
        self._world = World(verbs, catalogue)
        self._next = 0
        self._all: list[Controller] = [Definitions(self._world)]  # a part of the API server, as in Kubernetes
        if settings.garbage:
            self._all += [Garbage(self._world), Namespaces(self._world)]
        if settings.kubelets:
            self._all.append(Kubelet(self._world, settings.start_after, settings.stop_after))
        if settings.workloads:
            self._all += [Replicas(self._world), Replicas(self._world, REPLICATION_CONTROLLERS)]
            self._all += [Deployments(self._world), StatefulSets(self._world), Budgets(self._world)]
        if settings.volumes:
            self._all.append(Volumes(self._world, make=settings.provisioning))
        for resource in {each.key: each for each in catalogue}:
            for stored in verbs.store.list(resource):
                self.told(resource, Change("ADDED", stored, None))

    def told(self, resource: str, change: Change) -> None:
        """Note what to look at; called within the write."""
        tell_each((self._world.told, *(controller.told for controller in self._all)), resource, change)

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
