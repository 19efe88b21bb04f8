"""Objects of a cluster, of any kind: looked at, applied, listed and deleted, by their documents.

Where a kind is served is what the API server says of itself (discovery), so a custom resource takes
no more than a Pod does.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import AsyncIterator, Iterable
from typing import Final, Literal

import msgspec

from moorage.adapters.answers import decoded, object_at
from moorage.apps.install.guests import Residents
from moorage.apps.install.object_keys import (
    PART_OF,
    Document,
    Kind,
    ObjectKey,
    key_of,
)
from moorage.apps.reach.listing import each_item
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import APPLY_PATCH, METADATA_ALONE, HttpCall, HttpSession

FIELD_MANAGER: Final = "moorage-install"
OTHERS_MANAGE: Final = "Apply failed with "
"""How the message of a Conflict begins where others manage fields, and force is not used."""
_SECONDS: Final = 30.0
"""For one answer: webhooks of others may be asked first, 10 s each as a rule."""
_PAGE: Final = "500"
Propagation = Literal["Background", "Foreground", "Orphan"]


class KindNotServed(EdgeError):
    """The API server does not have this kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"the API server does not serve {kind.kind} of {kind.api_version}")
        self.kind = kind


class _Resource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()


class _Resources(msgspec.Struct):
    resources: tuple[_Resource, ...] = ()


class _Version(msgspec.Struct):
    groupVersion: str  # noqa: N815 - as it is called there


class _Group(msgspec.Struct):
    preferredVersion: _Version  # noqa: N815 - as it is called there
    versions: tuple[_Version, ...] = ()


class _Groups(msgspec.Struct):
    groups: tuple[_Group, ...] = ()


class ClusterObjects:
    """All objects of an API server. What is served is remembered; a kind that was not is asked for
    again, as it may come with a CRD.
    """

    def __init__(self, session: HttpSession) -> None:
        self._session = session
        self._served: dict[Kind, _Resource] = {}

    async def serves(self, kind: Kind) -> bool:
        """Whether there are objects of this kind. Raises EdgeError."""
        try:
            await self._resource(kind)
        except KindNotServed:
            return False
        return True

    async def get(self, key: ObjectKey) -> Document | None:
        """The object, None where there is none. Raises KindNotServed, EdgeError."""
        path = await self._path(key)
        try:
            return await object_at(self._session, HttpCall("GET", path, timeout=_SECONDS))
        except NotFound:
            return None

    async def apply(
        self, document: Document, *, force: bool = False, dry_run: bool = False
    ) -> Document:
        """Apply it on the server's side, as ``FIELD_MANAGER``. Where others manage a field and have
        another value there, it is a Conflict, or with ``force`` becomes ours. What the object is
        then: where it was so before, its resourceVersion stays. Raises KindNotServed, EdgeError.
        """
        query = {"fieldManager": FIELD_MANAGER}
        query |= {"force": "true"} if force else {}
        query |= {"dryRun": "All"} if dry_run else {}
        path = await self._path(key_of(document))
        asked = urllib.parse.urlencode(query)
        body = json.dumps(document).encode()
        call = HttpCall("PATCH", f"{path}?{asked}", body, APPLY_PATCH, timeout=_SECONDS)
        return await object_at(self._session, call)

    async def delete(
        self, key: ObjectKey, *, uid: str = "", propagation: Propagation = "Background"
    ) -> bool:
        """Have it deleted; False where it is gone. With ``uid`` that very object alone: another one
        of its name is a Conflict. It may still be there for a while. Raises KindNotServed,
        EdgeError.
        """
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        only = {"preconditions": {"uid": uid}} if uid else {}
        body = json.dumps({**options, **only}).encode()
        path = await self._path(key)
        try:
            await self._session.call(HttpCall("DELETE", path, body, timeout=_SECONDS))
        except NotFound:
            return False
        return True

    async def list_ours(self, kinds: Iterable[Kind]) -> list[Document]:
        """The objects of all installations, and what these have in common, of these kinds and in
        all namespaces, each with its kind. Kinds that are not served have none. Raises EdgeError.
        """
        found: list[Document] = []
        for kind in kinds:
            try:
                resource = await self._resource(kind)
            except KindNotServed:
                continue
            query = {"labelSelector": f"{PART_OF}=moorage", "limit": _PAGE}
            items = each_item(self._session, f"{_root(kind.api_version)}/{resource.name}", query)
            whose = {"apiVersion": kind.api_version, "kind": kind.kind}
            found += [{**whose, **item} async for item in items]
        return found

    async def list_all_in(self, namespace: str) -> Residents:
        """Whatever can be listed and deleted in a namespace, of all kinds that are served, by its
        metadata. What is only derived from other objects (metrics) cannot be deleted. Raises
        EdgeError where the API server does not say what it serves.
        """
        found: dict[str, Document] = {}
        unseen: list[str] = []
        for api_version in await self._api_versions():
            try:
                async for one in self._of_version(api_version, namespace):
                    found.setdefault(str(one["metadata"]["uid"]), one)
            except EdgeError as error:
                unseen.append(f"nobody knows what of {api_version} is in it: {error}")
        return Residents([*found.values()], unseen)

    async def _api_versions(self) -> list[str]:
        """All that are served, those that are preferred first."""
        body = await self._session.call(HttpCall("GET", "/apis", timeout=_SECONDS))
        groups = decoded("GET /apis", body, _Groups).groups
        first = [one.preferredVersion.groupVersion for one in groups]
        others = [it.groupVersion for one in groups for it in one.versions]
        return [*dict.fromkeys(("v1", *first, *others))]

    async def _of_version(self, api_version: str, namespace: str) -> AsyncIterator[Document]:
        await self._discover(api_version)
        quoted = urllib.parse.quote(namespace, safe="")
        for kind, resource in [*self._served.items()]:
            wanted = resource.namespaced and {"list", "delete"} <= {*resource.verbs}
            if kind.api_version == api_version and wanted:
                path = f"{_root(api_version)}/namespaces/{quoted}/{resource.name}"
                query = {"limit": _PAGE}
                items = each_item(self._session, path, query, accept=METADATA_ALONE)
                async for item in items:
                    yield {**item, "apiVersion": kind.api_version, "kind": kind.kind}

    async def _path(self, key: ObjectKey) -> str:
        """Raises KindNotServed, EdgeError."""
        resource = await self._resource(Kind(key.api_version, key.kind))
        quoted = urllib.parse.quote(key.namespace, safe="")
        place = f"/namespaces/{quoted}" if resource.namespaced else ""
        name = urllib.parse.quote(key.name, safe="")
        return f"{_root(key.api_version)}{place}/{resource.name}/{name}"

    async def _resource(self, kind: Kind) -> _Resource:
        if kind not in self._served:
            await self._discover(kind.api_version)
        if kind not in self._served:
            raise KindNotServed(kind)
        return self._served[kind]

    async def _discover(self, api_version: str) -> None:
        path = _root(api_version)
        try:
            body = await self._session.call(HttpCall("GET", path, timeout=_SECONDS))
        except NotFound:
            return
        for one in decoded(f"GET {path}", body, _Resources).resources:
            if "/" not in one.name:  # no subresource
                self._served[Kind(api_version, one.kind)] = one


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
