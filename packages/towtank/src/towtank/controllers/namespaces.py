"""Namespaces and definitions: what is deleted with what it is in, and what a new namespace has.

What keeps both is a finalizer, which goes when the last object has gone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime

from towtank.controllers.controlling import Controller, Key
from towtank.controllers.world import MANAGER, NAMESPACES, leaving
from towtank.model.kinds import Resource
from towtank.model.requests import DeleteOptions, Target, WriteOptions
from towtank.storage.store import Change, Stored
from towtank.strategies import crds
from towtank.strategies.namespaces import FinalizedNamespaces

_SERVICE_ACCOUNTS = "serviceaccounts"
_KUBERNETES = "kubernetes"
BURST = 16
"""Objects whose deletion begins at one look."""


class Namespaces(Controller):
    """Keys: ("end" or "account", namespace)."""

    slice = 1

    def concerned(self, resource: str, change: Change) -> Iterable[Key]:
        """Namespaces; what is gone in one that ends; ServiceAccounts that every namespace has."""
        namespace, name = change.now.key
        if resource == NAMESPACES and change.type != "DELETED":
            yield "end" if leaving(change.now.body) else "account", name
        elif namespace and change.type == "DELETED":
            if self._ends(namespace):
                yield "end", namespace
            elif resource == _SERVICE_ACCOUNTS and name == "default":
                yield "account", namespace

    def _ends(self, namespace: str) -> bool:
        found = self.world.verbs.find(NAMESPACES, "", namespace)
        return found is not None and leaving(found)

    def reconcile(self, key: Key, now: datetime) -> None:
        """Make the ServiceAccount, or delete what is in it and then let it go."""
        what, name = key
        namespace = self.world.verbs.find(NAMESPACES, "", name)
        if namespace is None:
            return
        if what == "end" and leaving(namespace):
            self._end(name)
        elif what == "account" and not leaving(namespace) and not self.world.verbs.find(_SERVICE_ACCOUNTS, name, "default"):
            self.world.create(_SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}})

    def _end(self, name: str) -> None:
        left = False
        for resource in {each.key: each for each in self.world.catalogue if each.namespaced and each.form is None}.values():
            found = self.world.verbs.store.list(resource.key, name)
            left = left or bool(found)
            if _delete_some(self, resource, found):
                self.queue.add(("end", name))
                return
        if not left:
            self._let_go(name)

    def _let_go(self, name: str) -> None:
        resource = self.world.resource(NAMESPACES)
        namespace = self.world.verbs.find(NAMESPACES, "", name)
        if resource and namespace:
            left = [each for each in namespace["spec"].get("finalizers", ()) if each != _KUBERNETES]
            target = Target(dataclasses.replace(resource, strategy=FinalizedNamespaces()), "", name, "finalize")
            self.world.verbs.patch(target, lambda copy: {**copy, "spec": {"finalizers": left}}, WriteOptions(MANAGER))


class Definitions(Controller):
    """Deletes a CustomResourceDefinition's objects before it goes. Keys: ("end", "", name)."""

    slice = 1

    def concerned(self, resource: str, change: Change) -> Iterable[Key]:
        """Definitions that are to go, and objects of such."""
        if resource == crds.KEY and change.type != "DELETED" and leaving(change.now.body):
            yield "end", *change.now.key
        elif change.type == "DELETED" and self._ends(resource):
            yield "end", "", resource

    def _ends(self, resource: str) -> bool:
        found = self.world.verbs.find(crds.KEY, "", resource)
        return found is not None and leaving(found)

    def reconcile(self, key: Key, now: datetime) -> None:
        """Delete some; without any left, let the definition go."""
        definition = self.world.verbs.find(crds.KEY, *key[1:])
        if definition is None or crds.CLEANUP not in definition["metadata"].get("finalizers", ()):
            return
        spec, name = definition["spec"], definition["metadata"]["name"]
        found = self.world.verbs.store.list(name)
        kind, plural = spec["names"]["kind"], spec["names"]["plural"]
        # Also objects of versions that are not served are deleted, so this is not asked of the catalogue.
        resource = Resource(spec["group"], "", plural, kind, namespaced=spec["scope"] == "Namespaced", custom=True)
        if _delete_some(self, resource, found):
            self.queue.add(key)
        elif not found:
            self.world.drop_finalizer(crds.KEY, definition, crds.CLEANUP)


def _delete_some(controller: Controller, resource: Resource, found: Iterable[Stored]) -> bool:
    """Begin the deletion of some that are not going yet; returns whether there were any."""
    fresh = [stored for stored in found if not leaving(stored.body)][:BURST]
    for stored in fresh:
        controller.world.verbs.delete(Target(resource, *stored.key), DeleteOptions(propagation="Background"))
    return bool(fresh)
