"""What is watched, and how its objects are read: each by itself, so that one that is broken spoils
no other.
"""

from __future__ import annotations

import dataclasses
import urllib.parse
from typing import Generic, Protocol, TypeVar

import msgspec

from moorage.adapters.answers import DECODE_ERRORS
from moorage.api.json_depth import shallow
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.ports.kube import UnreadableObject


class Watchable(Protocol):
    """Any struct of core.objects."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=Watchable)
M = TypeVar("M")


@dataclasses.dataclass(frozen=True, slots=True)
class ListWatch(Generic[T]):
    """What to watch: its plural name, its path (``/api/v1/pods``), its struct, and a field selector
    if any.

    ``optional``: only some profiles need it, and the API server may not know it; then there are no
    such objects.
    """

    resource: str
    path: str
    kind: type[T]
    field_selector: str = ""
    optional: bool = False

    def url(self, **parameters: str | int) -> str:
        """The path with a query; empty values are left out."""
        query = {"fieldSelector": self.field_selector, **parameters}
        stated = {key: value for key, value in query.items() if value != ""}
        return f"{self.path}?{urllib.parse.urlencode(stated)}"


def decode_leniently(decoder: msgspec.json.Decoder[M], text: bytes) -> M:
    """Decoded, less what is nested too deeply. Raises DECODE_ERRORS."""
    try:
        return decoder.decode(text)
    except RecursionError:
        return decoder.decode(shallow(text))


class Identity(msgspec.Struct, rename="camel"):
    """The least that tells which object it is, whatever else in its metadata is broken."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Remains(msgspec.Struct):
    metadata: Identity
    spec: msgspec.Raw = msgspec.Raw(b"{}")


class _Placed(msgspec.Struct, rename="camel"):
    node_name: str = ""


_REMAINS = msgspec.json.Decoder(_Remains)
_PLACED = msgspec.json.Decoder(_Placed)


def readable_part(raw: msgspec.Raw, error: Exception) -> UnreadableObject | None:
    """What can be read of a broken object; None when not even its name can."""
    try:
        found = _REMAINS.decode(raw)
    except DECODE_ERRORS:
        return None
    named = found.metadata
    meta = ObjectMeta(
        name=named.name,
        namespace=named.namespace,
        uid=named.uid,
        resource_version=named.resource_version,
    )
    return UnreadableObject(PartialObject(meta), _node_name(found.spec), str(error))


def _node_name(spec: msgspec.Raw) -> str:
    """spec.nodeName, "" where it has none that can be read."""
    try:
        return _PLACED.decode(spec).node_name
    except DECODE_ERRORS:
        return ""
