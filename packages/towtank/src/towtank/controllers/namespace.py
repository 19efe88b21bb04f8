"""Namespaces and definitions: what is deleted with what it is in, and what a new namespace has.

What keeps both is a finalizer, which goes when the last object has gone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from datetime import datetime

from towtank.controllers.client import MANAGER, NAMESPACES, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.model.kinds import APIResource
from towtank.model.requests import DeleteOptions, RequestTarget, WriteOptions
from towtank.storage.store import StoreChange, Stored
from towtank.strategies import crd
from towtank.strategies.namespace_strategy import NamespaceFinalizeStrategy

_SERVICE_ACCOUNTS = "serviceaccounts"
_KUBERNETES = "kubernetes"
BURST = 16
"""Objects whose deletion begins at one look."""


class NamespaceController(Controller):
    """Keys: ("end" or "account", namespace)."""

    keys_per_slice = 1

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Namespaces; what is gone in one that ends; ServiceAccounts that every namespace has."""
        namespace, name = change.now.key
        if resource == NAMESPACES and change.type != "DELETED":
            yield "end" if is_terminating(change.now.body) else "account", name
        elif namespace and change.type == "DELETED":
            if self._ends(namespace):
                yield "end", namespace
            elif resource == _SERVICE_ACCOUNTS and name == "default":
                yield "account", namespace

    def _ends(self, namespace: str) -> bool:
        found = self.client.verbs.find(NAMESPACES, "", namespace)
        return found is not None and is_terminating(found)

    def reconcile(self, key: Key, now: datetime) -> None:
        """Make the ServiceAccount, or delete what is in it and then let it go."""
        what, name = key
        namespace = self.client.verbs.find(NAMESPACES, "", name)
        if namespace is None:
            return
        if what == "end" and is_terminating(namespace):
            self._end(name)
        elif (
            what == "account"
            and not is_terminating(namespace)
            and not self.client.verbs.find(_SERVICE_ACCOUNTS, name, "default")
        ):
            self.client.create(
                _SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}}
            )

    def _end(self, name: str) -> None:
        left = False
        for resource in {
            each.key: each
            for each in self.client.catalogue
            if each.namespaced and each.mapping is None
        }.values():
            found = self.client.verbs.store.list(resource.key, name)
            left = left or bool(found)
            if _delete_some(self, resource, found):
                self.queue.add(("end", name))
                return
        if not left:
            self._let_go(name)

    def _let_go(self, name: str) -> None:
        resource = self.client.resource(NAMESPACES)
        namespace = self.client.verbs.find(NAMESPACES, "", name)
        if resource and namespace:
            left = [each for each in namespace["spec"].get("finalizers", ()) if each != _KUBERNETES]
            target = RequestTarget(
                dataclasses.replace(resource, strategy=NamespaceFinalizeStrategy()),
                "",
                name,
                "finalize",
            )
            self.client.verbs.patch(
                target, lambda copy: {**copy, "spec": {"finalizers": left}}, WriteOptions(MANAGER)
            )


class CRDFinalizer(Controller):
    """Deletes a CustomResourceDefinition's objects before it goes. Keys: ("end", "", name)."""

    keys_per_slice = 1

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Definitions that are to go, and objects of such."""
        if resource == crd.KEY and change.type != "DELETED" and is_terminating(change.now.body):
            yield "end", *change.now.key
        elif change.type == "DELETED" and self._ends(resource):
            yield "end", "", resource

    def _ends(self, resource: str) -> bool:
        found = self.client.verbs.find(crd.KEY, "", resource)
        return found is not None and is_terminating(found)

    def reconcile(self, key: Key, now: datetime) -> None:
        """Delete some; without any left, let the definition go."""
        definition = self.client.verbs.find(crd.KEY, *key[1:])
        if definition is None or crd.CLEANUP not in definition["metadata"].get("finalizers", ()):
            return
        spec, name = definition["spec"], definition["metadata"]["name"]
        found = self.client.verbs.store.list(name)
        kind, plural = spec["names"]["kind"], spec["names"]["plural"]
        # Also objects of versions that are not served are deleted, so this is not asked of the
        # catalogue.
        resource = APIResource(
            spec["group"], "", plural, kind, namespaced=spec["scope"] == "Namespaced", custom=True
        )
        if _delete_some(self, resource, found):
            self.queue.add(key)
        elif not found:
            self.client.drop_finalizer(crd.KEY, definition, crd.CLEANUP)


def _delete_some(controller: Controller, resource: APIResource, found: Iterable[Stored]) -> bool:
    """Begin the deletion of some that are not going yet; returns whether there were any."""
    fresh = [stored for stored in found if not is_terminating(stored.body)][:BURST]
    for stored in fresh:
        controller.client.verbs.delete(
            RequestTarget(resource, *stored.key), DeleteOptions(propagation="Background")
        )
    return bool(fresh)
