"""A cluster from which an installation is removed: what of ours is there, and who waits for it."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

from moorage.adapters.answers import list_at
from moorage.api.v1alpha1.common import API_VERSION, CONFIGS_PATH, PROFILES_PATH
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.departures import PROFILE
from moorage.apps.install.inventories import NAMESPACE, Inventory, labels, of
from moorage.apps.install.object_keys import INSTANCE, Document, Kind, ObjectKey, key_of
from moorage.apps.install.variants import every_kind
from moorage.apps.reach.listing import each_item
from moorage.ports.errors import NotFound
from moorage.ports.http_calls import HttpCall, HttpSession
from moorage.ports.kube import HOME_LABEL, INSTALLATION_LABEL, PROFILE_LABEL

_PAGE: Final = "500"
_LEASES: Final = Kind("coordination.k8s.io/v1", "Lease")
_REVISIONS: Final = Kind("apps/v1", "ControllerRevision")
_REPLICA_SETS: Final = Kind("apps/v1", "ReplicaSet")
_SECRETS: Final = Kind("v1", "Secret")
_PODS: Final = Kind("v1", "Pod")
_NAME: Final = "app.kubernetes.io/name"


class Clearing:
    """``removing.Removed``, and what is there before."""

    def __init__(self, session: HttpSession) -> None:
        self._session = session
        self._objects = ClusterObjects(session)

    async def get(self, key: ObjectKey) -> Document | None:
        """The object, None where there is none. This and the others raise EdgeError."""
        return await self._objects.get(key)

    async def delete(self, key: ObjectKey, *, uid: str, foreground: bool) -> None:
        """Have it deleted."""
        await self._objects.delete(
            key, uid=uid, propagation="Foreground" if foreground else "Background"
        )

    async def inventory(self, place: Installed) -> Inventory:
        """What of ours is there."""
        objects = await self._objects.list_ours(every_kind())
        profiles = [one async for one in self._all(Kind(API_VERSION, PROFILE), PROFILES_PATH)]
        configs = [one async for one in self._all(Kind(API_VERSION, "PluginConfig"), CONFIGS_PATH)]
        written = [one async for one in self._written(place, objects)]
        homes = await self._homes(place)
        found = Inventory(objects, (), written, profiles, configs, homes)
        pods = [one async for one in self._pods(place.namespace, found.names(place))]
        if any(key.kind == NAMESPACE for key in map(key_of, found.of(place))):
            residents = await self._objects.list_all_in(place.namespace)
            found = dataclasses.replace(found, residents=residents)
        return dataclasses.replace(found, pods=pods)

    async def waiting(self, schedulers: frozenset[str]) -> list[str]:
        """The pods without a node that name one of these, as NAMESPACE/NAME."""
        query = {"fieldSelector": "spec.nodeName=,status.phase=Pending", "limit": _PAGE}
        pods = each_item(self._session, "/api/v1/pods", query)
        return [
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            async for pod in pods
            if pod["spec"].get("schedulerName") in schedulers
        ]

    async def _pods(self, namespace: str, names: Iterable[str]) -> AsyncIterator[Document]:
        """The operator's pods, with their ReplicaSets."""
        selector = f"{_NAME}=moorage,{INSTANCE} in ({','.join(sorted(names))})"
        query = {"labelSelector": selector, "limit": _PAGE}
        space = f"namespaces/{urllib.parse.quote(namespace, safe='')}"
        async for one in self._all(_REPLICA_SETS, f"/apis/apps/v1/{space}/replicasets", query):
            yield one
        async for one in self._all(_PODS, f"/api/v1/{space}/pods", query):
            yield one

    async def _written(self, place: Installed, objects: list[Document]) -> AsyncIterator[Document]:
        """Leases of all replicas; leaders' Leases, revisions and Secrets where installations may
        write them.
        """
        query = {"labelSelector": INSTALLATION_LABEL, "limit": _PAGE}
        async for one in self._all(_LEASES, "/apis/coordination.k8s.io/v1/leases", query):
            yield one
        named = {labels(one).get(INSTANCE, "") for one in objects} | {place.name}
        query = {"labelSelector": PROFILE_LABEL, "limit": "10"}
        spaces = {one["metadata"]["namespace"] for one in of(objects, "Role")} | {place.namespace}
        for space in sorted(spaces):
            at = f"namespaces/{urllib.parse.quote(space, safe='')}/controllerrevisions"
            async for one in self._all(_REVISIONS, f"/apis/apps/v1/{at}", query):
                yield one
            for name in sorted(named - {""}):
                for kind, whole in ((_LEASES, name), (_SECRETS, f"{name}-admission-tls")):
                    if found := await self.get(ObjectKey(*kind, whole, space)):
                        yield found

    async def _homes(self, place: Installed) -> frozenset[str]:
        query = urllib.parse.urlencode({"labelSelector": HOME_LABEL})
        found = await list_at(self._session, HttpCall("GET", f"/api/v1/namespaces?{query}"))
        names = (str(one["metadata"]["name"]) for one in found.items or ())
        return frozenset({*names, place.namespace})

    async def _all(
        self, kind: Kind, path: str, query: dict[str, str] | None = None
    ) -> AsyncIterator[Document]:
        """The objects there, each with its kind; none where the kind is not served."""
        try:
            async for one in each_item(self._session, path, query or {"limit": _PAGE}):
                yield dict[str, Any]({"apiVersion": kind.api_version, "kind": kind.kind, **one})
        except NotFound:
            return
