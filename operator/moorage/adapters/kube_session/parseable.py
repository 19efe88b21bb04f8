"""Parseable: answers for a library that parses them itself, less what is nested too deep for
Python's parser to go.

One object of 1,000 levels would end the watch of all.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Annotated, Any, cast

import aiohttp
import msgspec

from moorage.adapters.answers import DECODE_ERRORS, LineSplitter, LineTooLong
from moorage.api.json_depth import parseable
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)

GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n'
"""To Kopf: list anew."""


class _Metadata(msgspec.Struct, rename="camel"):
    """The part of it that Kopf looks at by itself, and our handlers do."""

    resource_version: Annotated[str, msgspec.Meta(pattern="^[0-9]*$")] = ""
    name: str = ""
    uid: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Object


_EVENT = msgspec.json.Decoder(_Event)
_ERROR = b'{"type":"ERROR"'
"""How the API server begins such a line."""


class ParseableResponse(aiohttp.ClientResponse):
    """An answer that can be parsed, be it one document or a line for each."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        """As soon as its head is there its lines are looked at."""
        started = await super().start(connection)
        self.content = cast(aiohttp.StreamReader, _Lines(self.content))
        return started

    async def json(self, **options: Any) -> Any:
        """The document, refused where it is nested too deep to be parsed."""
        self._body = parseable(await self.read())
        return await super().json(**options)


class _Lines:
    """A stream of which Kopf reads lines by ``iter_chunked``, and everybody else what they want."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def iter_chunked(self, size: int) -> AsyncGenerator[bytes, None]:
        """The stream cut after whole lines."""
        cut = LineSplitter()
        async for chunk in self._stream.iter_chunked(size):
            try:
                lines = cut.split(chunk)
            except LineTooLong as error:
                raise aiohttp.ClientPayloadError(str(error)) from error
            if lines:
                yield b"".join(map(_event, lines))
        if rest := cut.rest():
            yield _event(rest)


def _event(line: bytes) -> bytes:
    """The line as Kopf can take it. What is no event, and any error but 410, would end its watch
    for good, and the process with it.
    """
    if line.startswith(_ERROR):
        return GONE
    line = parseable(line)
    try:
        found = _EVENT.decode(line)
    except DECODE_ERRORS as error:
        log.error(
            "a line of Kopf's watch is no event: %s: %r",
            error,
            line[:200],
            extra=once_per_cause("no event"),
        )
        return b""
    return GONE if found.type == "ERROR" else line + b"\n"
