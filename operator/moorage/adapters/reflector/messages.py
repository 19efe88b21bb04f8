"""What lists and watches consist of: decoded so far that one object which is broken spoils no other."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.objects.meta import PartialObject


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


LIST_PAGE = msgspec.json.Decoder(ListPage)
BOOKMARK = msgspec.json.Decoder(Bookmark)
ERROR_EVENT = msgspec.json.Decoder(ErrorEvent)
EVENT_OUTLINE = msgspec.json.Decoder(EventOutline)
