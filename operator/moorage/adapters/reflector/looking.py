"""Looking at the API server's objects of one kind beside the watch: lists of metadata by pages,
single objects, whether it has the kind.
"""

from __future__ import annotations

import urllib.parse
from typing import Generic

import msgspec

from moorage.adapters.answers import DECODE_ERRORS
from moorage.adapters.reflector.watched import (
    Identity,
    ListWatch,
    M,
    T,
    decode_leniently,
    readable_part,
)
from moorage.core.objects.meta import ObjectMeta, version
from moorage.ports.errors import Retryable
from moorage.ports.http_calls import METADATA_ALONE, HttpCall, HttpSession
from moorage.ports.kube import ListedPage, ObjectAtVersion, UnreadableObject

PAGE_SIZE = 500
"""Objects a page: their metadata is a few milliseconds to read."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Named(msgspec.Struct):
    metadata: Identity


class _Names(msgspec.Struct):
    metadata: _ListMeta
    items: list[_Named] | None = None


class _Whole(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Version(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct):
    versions: list[_Version]


class _Groups(msgspec.Struct):
    groups: list[_Group]


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


class HttpUncachedReader(Generic[T]):
    """The ``ports.kube.UncachedReader`` of one resource."""

    def __init__(self, session: HttpSession, watched: ListWatch[T]) -> None:
        self._session = session
        self._list_watch = watched
        self._api, _, self._plural = watched.path.rpartition("/")
        self._decode = msgspec.json.Decoder(watched.kind).decode
        self._names = msgspec.json.Decoder(_Names)
        self._whole = msgspec.json.Decoder(_Whole)

    @property
    def resource(self) -> str:
        """What is looked at."""
        return self._list_watch.resource

    async def page(self, token: str) -> ListedPage:
        """The objects that a page of the list has, by name; all pages show one moment."""
        page = await self._get(
            self._list_watch.url(limit=PAGE_SIZE, **{"continue": token}),
            self._names,
            METADATA_ALONE,
        )
        named = (item.metadata for item in page.items or ())
        found = [
            ObjectMeta(
                one.name,
                namespace=one.namespace,
                uid=one.uid,
                resource_version=one.resource_version,
            )
            for one in named
        ]
        return ListedPage(_moment(page.metadata), found, page.metadata.continue_ or "")

    async def read(self, namespace: str, name: str) -> ObjectAtVersion[T]:
        """One object, by a list of it alone: an empty one says that it is not there, while a 404
        may be a proxy's.
        """
        selector = ",".join(
            filter(None, (f"metadata.name={name}", self._list_watch.field_selector))
        )
        within = f"/namespaces/{namespace}" if namespace else ""
        query = urllib.parse.urlencode({"fieldSelector": selector})
        url = f"{self._api}{within}/{self._plural}?{query}"
        page = await self._get(url, self._whole)
        return ObjectAtVersion(
            _moment(page.metadata), next((self._read(url, raw) for raw in page.items or ()), None)
        )

    def _read(self, url: str, raw: msgspec.Raw) -> T | UnreadableObject:
        try:
            return self._decode(raw)
        except DECODE_ERRORS as error:
            if (found := readable_part(raw, error)) is None:
                raise Retryable(
                    f"GET {url}: not even the object's name can be read: {error}"
                ) from error
            return found

    async def served(self) -> bool:
        """Whether the API server has such objects at all, as its lists of APIs say."""
        group_version = self._api.removeprefix("/apis/")
        if group_version != self._api:
            groups = (await self._get("/apis", msgspec.json.Decoder(_Groups))).groups
            if not any(
                version.group_version == group_version
                for group in groups
                for version in group.versions
            ):
                return False
        resources = (await self._get(self._api, msgspec.json.Decoder(_Resources))).resources
        return any(resource.name == self._plural for resource in resources)

    async def _get(self, url: str, decoder: msgspec.json.Decoder[M], accept: str = "") -> M:
        body = await self._session.call(HttpCall("GET", url, accept=accept))
        try:
            return decode_leniently(decoder, body)
        except DECODE_ERRORS as error:
            raise Retryable(f"GET {url}: the answer cannot be read: {error}") from error


def _moment(metadata: _ListMeta) -> int:
    return version(ObjectMeta(resource_version=metadata.resource_version))
