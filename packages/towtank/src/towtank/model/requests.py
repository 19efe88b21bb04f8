"""Requests and responses: HTTP without HTTP.

The HTTP front end makes an ``ApiRequest`` of what came over the wire and writes the
``ApiResponse``; what is in between is synchronous.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from towtank.model.api_errors import ApiError, bad_request, quoted
from towtank.model.kinds import APIResource, Body

SERVER: Final = "kube-apiserver"
"""Who owns the fields that the API server writes of its own accord."""


@dataclasses.dataclass(frozen=True, slots=True)
class ApiRequest:
    """What came: ``path`` decoded, ``query`` with each parameter's last value, ``content_type`` and
    ``accept`` as sent.
    """

    method: str
    path: str
    query: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    user_agent: str = ""
    user: str = "admin"
    warnings: list[str] = dataclasses.field(default_factory=list)
    """Gathers what the answer's Warning headers will say, whatever the answer."""
    host: str = ""
    """Where the client thinks that we are."""


@dataclasses.dataclass(frozen=True, slots=True)
class RequestTarget:
    """What a request is about: a resource's collection where ``name`` is empty, an object, or a
    subresource of one.
    """

    resource: APIResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    shown: APIResource | None = None
    """As what the objects are shown, where that is another form of what is stored."""


@dataclasses.dataclass(slots=True)
class WriteOptions:
    """Of create, update and patch. ``warnings`` gathers what the answer's Warning headers will
    say.
    """

    manager: str = "unknown"
    user: str = "admin"
    """Who writes; reviews of oneself tell it."""
    dry_run: bool = False
    field_validation: str = "Warn"
    """Strict, Warn or Ignore; the API server's default is Warn."""
    force: bool = False
    """Of server-side apply: take fields from their owners."""
    tracked: bool = False
    """Whether the body says already who owns which field, as what was applied does."""
    warnings: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class DeleteOptions:
    """Options of a DELETE."""

    grace_seconds: int | None = None
    preconditions: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The uid and the resourceVersion that it must have."""
    propagation: str = ""
    """Background, Foreground, Orphan, or "" for the kind's own way."""
    dry_run: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ListOptions:
    """Of list, watch and deletecollection, as the query has them."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class WatchOptions:
    """Of a watch: ``since`` None starts with what is there now, as synthetic ADDED events and a
    bookmark that ends them.
    """

    target: RequestTarget
    label_selector: str = ""
    field_selector: str = ""
    since: int | None = None
    bookmarks: bool = False
    timeout_seconds: float | None = None
    as_table: bool = False
    metadata_only: bool = False
    include_object: str = ""
    """What rows of a Table have of their objects."""
    meta: str = "meta.k8s.io/v1"
    """The apiVersion of a Table, or of metadata alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class ApiResponse:
    """``body`` is an object, or JSON as text already, or a watch to be streamed."""

    code: int
    body: Body | bytes | WatchOptions
    warnings: tuple[str, ...] = ()
    content_type: str = "application/json"
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


_MAX_DIGITS = 19


def parsed_version(text: str, prefix: str = "") -> int:
    """A resourceVersion as a number. Raises ApiError: 400 where lists say so with ``prefix``, else
    500 as the API server has it.
    """
    whole = text.isascii() and text.isdecimal()
    if whole and len(text) <= _MAX_DIGITS:
        return int(text)
    why = "value out of range" if whole else "invalid syntax"
    message = (
        f"{prefix}resourceVersion: Invalid value: {quoted(text)}: strconv.ParseUint: parsing "
        f"{quoted(text)}: {why}"
    )
    raise bad_request(message) if prefix else ApiError(500, "", message)
