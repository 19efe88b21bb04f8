"""What lists and watches consist of: decoded so far that one object which is broken spoils no
other.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.adapters.answers import DECODE_ERRORS
from moorage.adapters.reflector.watched import decode_leniently
from moorage.core.objects.meta import PartialObject
from moorage.ports.errors import Retryable


class ListMeta(msgspec.Struct, rename="camel"):
    """The part of a metav1.ListMeta that leads on."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class ListPage(msgspec.Struct):
    """A page of a list whose objects are still text, so that one bad object spoils no other."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class Bookmark(msgspec.Struct):
    """A BOOKMARK line: its object is what is watched, with a resource version alone."""

    object: PartialObject


class WatchStatus(msgspec.Struct):
    """The part of a metav1.Status that decides what to do."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


class ErrorEvent(msgspec.Struct):
    """A line of type ERROR in a watch."""

    object: WatchStatus


class EventOutline(msgspec.Struct):
    """Any line, its object still text."""

    type: str
    object: msgspec.Raw


_LIST_PAGE = msgspec.json.Decoder(ListPage)
BOOKMARK = msgspec.json.Decoder(Bookmark)
ERROR_EVENT = msgspec.json.Decoder(ErrorEvent)
EVENT_OUTLINE = msgspec.json.Decoder(EventOutline)


def read_page(path: str, body: bytes) -> ListPage:
    """A page of the list at ``path``. Raises Retryable."""
    try:
        page = decode_leniently(_LIST_PAGE, body)
    except DECODE_ERRORS as error:
        raise Retryable(f"GET {path}: not a list: {error}: {body[:200]!r}") from error
    if not page.metadata.resource_version:
        raise Retryable(
            f"GET {path}: a list without a resourceVersion is not the API server's: {body[:200]!r}"
        )
    return page
