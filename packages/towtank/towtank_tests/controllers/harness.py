"""A cluster of verbs and controllers on virtual time: nothing sleeps, an hour passes in no time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from towtank.controllers.manager import ControllerManager, ControllerSettings
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import APIResource, Body
from towtank.model.requests import DeleteOptions, RequestTarget, WriteOptions
from towtank.storage.store import RevisionStore, StoreChange
from towtank.storage.verbs import Verbs
from towtank.strategies import kind_registry
from towtank.subresources import pod_binding

NAMESPACE = "default"
_STEPS = 100_000


RESOURCES = (
    *kind_registry.resources(),
    APIResource("example.com", "v1", "ships", "Ship", custom=True),
)


class ControllerHarness:
    """What a test acts on. ``binds``: whether a stand-in for a scheduler puts every pod on the node
    ``node-1``.
    """

    def __init__(
        self,
        settings: ControllerSettings | None = None,
        *,
        binds: bool = True,
        resources: Sequence[APIResource] = RESOURCES,
    ) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.store = RevisionStore()
        numbers = itertools.count(1)
        self.verbs = Verbs(self.store, lambda: self.now, lambda: f"uid-{next(numbers)}")
        self.catalogue = Catalogue(resources)
        self.controllers = ControllerManager(
            self.verbs, self.catalogue, settings or ControllerSettings()
        )
        self.store.subscribe_to_all(self.controllers.on_change)
        self._unbound: dict[str, None] = {}
        if binds:
            self.store.subscribe("pods", self._bind_later)
        self.watchers: list[Callable[[], None]] = []
        self.create("namespaces", "default")
        self.settle()

    # ---- time ------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Do all that is due now."""
        for _ in range(_STEPS):
            due = self.controllers.due()
            if self._unbound:
                self._bind()
            elif due is None or due > self.now:
                return
            else:
                self.controllers.work(self.now)
            for watcher in self.watchers:
                watcher()
        raise AssertionError(
            f"the controllers never rest: "
            f"{[vars(each.queue) for each in self.controllers._all if each.due()]}"
        )

    def run(self, seconds: float) -> None:
        """Let time pass, and do all that becomes due meanwhile."""
        end = self.now + timedelta(seconds=seconds)
        self.settle()
        while (due := self.controllers.due()) is not None and due <= end:
            self.now = max(due, self.now)
            self.settle()
        self.now = end

    # ---- what a test does ------------------------------------------------------------------------

    def target(
        self, key: str, name: str, namespace: str = NAMESPACE, subresource: str = ""
    ) -> RequestTarget:
        """Where something is."""
        resource = next(each for each in self.catalogue if each.key == key)
        return RequestTarget(resource, namespace if resource.namespaced else "", name, subresource)

    def create(self, key: str, name: str, namespace: str = NAMESPACE, **body: Any) -> Body:
        """Create; ``body`` has spec, status and so on, and metadata besides the name."""
        metadata = {"name": name, **body.pop("metadata", {})}
        target = self.target(key, name, namespace)
        said = {
            "apiVersion": target.resource.api_version,
            "kind": target.resource.kind,
            "metadata": metadata,
            **body,
        }
        return self.verbs.create(target, said, WriteOptions("test"))

    def change(
        self, key: str, name: str, change: Callable[[Body], object], subresource: str = ""
    ) -> Body:
        """Change a copy in place."""

        def changed(copy: Body) -> Body:
            change(copy)
            return copy

        return self.verbs.patch(
            self.target(key, name, subresource=subresource), changed, WriteOptions("test")
        )

    def delete(
        self, key: str, name: str, propagation: str = "Background", namespace: str = NAMESPACE
    ) -> None:
        """Delete."""
        self.verbs.delete(self.target(key, name, namespace), DeleteOptions(propagation=propagation))

    def get(self, key: str, name: str, namespace: str = NAMESPACE) -> Body:
        """The object."""
        return self.verbs.get(self.target(key, name, namespace)).body

    def names(self, key: str, namespace: str = "") -> list[str]:
        """Of all, or of one namespace's."""
        return [stored.key[1] for stored in self.store.list(key, namespace)]

    # ---- the scheduler ---------------------------------------------------------------------------

    def _bind_later(self, change: StoreChange) -> None:
        if change.type == "ADDED" and not change.now.body["spec"].get("nodeName"):
            self._unbound["/".join(change.now.key)] = None

    def _bind(self) -> None:
        for key in tuple(self._unbound):
            del self._unbound[key]
            namespace, name = key.split("/")
            if self.store.get("pods", namespace, name):
                self.bind(name, namespace)

    def bind(self, name: str, namespace: str = NAMESPACE) -> None:
        """Put a pod on the node."""
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}}
        pod_binding.bind(
            self.verbs, self.target("pods", name, namespace), binding, WriteOptions("scheduler")
        )


def template(image: str = "app:1", labels: Mapping[str, str] | None = None) -> Body:
    """Of pods."""
    return {
        "metadata": {"labels": dict(labels or {"app": "web"})},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def deployment(replicas: int, image: str = "app:1", **more: Any) -> Body:
    """A spec."""
    strategy = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    }
    selector = {"matchLabels": {"app": "web"}}
    spec = {
        "replicas": replicas,
        "selector": selector,
        "template": template(image),
        "strategy": strategy,
        "progressDeadlineSeconds": 600,
    }
    return {**spec, **more}
