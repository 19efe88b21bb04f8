"""Parseable: answers for a library that parses them itself, less what is nested too deep for Python's parser to go.

One object of 1,000 levels would end the watch of all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

import aiohttp

from moorage.adapters.answers import Lines, TooLong
from moorage.api.extent import parseable


class Parseable(aiohttp.ClientResponse):
    """An answer that can be parsed, be it one document or a line for each."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        """As soon as its head is there its lines are looked at."""
        started = await super().start(connection)
        self.content = cast(aiohttp.StreamReader, _Lines(self.content))
        return started

    async def json(self, **options: Any) -> Any:
        """The document."""
        self._body = parseable(await self.read())
        return await super().json(**options)


class _Lines:
    """A stream of which Kopf reads lines by ``iter_chunked``, and everybody else what they want."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def iter_chunked(self, size: int) -> AsyncGenerator[bytes, None]:
        """Whole lines."""
        cut = Lines()
        async for chunk in self._stream.iter_chunked(size):
            try:
                lines = cut.split(chunk)
            except TooLong as error:
                raise aiohttp.ClientPayloadError(str(error)) from error
            if lines:
                yield b"".join(parseable(line) + b"\n" for line in lines)
        if rest := cut.rest():
            yield parseable(rest)
