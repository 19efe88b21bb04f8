"""Server-sent events: ``changed``, with the names of the documents that did.

A stream ends by itself after a while, as every answer of the operator's server has a deadline; the
browser comes back with the number of the last event, and gets all that changed meanwhile.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from moorage.apps.ui.document_changes import Changes
from moorage.ports.requesters import Denied

MAX_LISTENERS: Final = 32
BETWEEN_SECONDS: Final = 0.5
"""Between two events."""
HEARTBEAT_SECONDS: Final = 10.0
STREAM_SECONDS: Final = 50.0
"""Less than a connection of the operator has for an answer."""
WRITE_SECONDS: Final = 5.0
"""Until a listener that does not read is dropped."""
_RETRY: Final = b"retry: 1000\n\n"
_HEARTBEAT: Final = b": so far nothing\n\n"


class EventStream:
    """Those who listen, and what they are sent."""

    def __init__(self, changes: Changes, headers: Mapping[str, str]) -> None:
        self._changes = changes
        self._headers = {**headers, "Content-Type": "text/event-stream; charset=utf-8"}
        self.listeners = 0

    async def send(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send events until the stream is over. Raises Denied where too many listen."""
        if self.listeners >= MAX_LISTENERS:
            raise Denied(429, f"{MAX_LISTENERS} pages listen already")
        response = web.StreamResponse(headers=self._headers)
        self.listeners += 1
        try:
            await response.prepare(request)
            if request.method != "HEAD":
                await self._events(response, self._seen(request.headers.get("Last-Event-ID", "")))
            await asyncio.wait_for(response.write_eof(), WRITE_SECONDS)
        except TimeoutError:
            if (transport := request.transport) is not None:
                transport.abort()  # it does not read: what it has not taken is given up
        except ConnectionError:
            pass  # it has gone
        finally:
            self.listeners -= 1
        return response

    def _seen(self, last: str) -> int:
        """The number up to which a listener knows everything."""
        if not last:
            return self._changes.number
        life, _, number = last.partition("-")
        known = life == self._changes.life and number.isascii() and number.isdigit()
        return min(int(number[:18]), self._changes.number) if known else 0

    async def _events(self, response: web.StreamResponse, seen: int) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + STREAM_SECONDS
        documents, seen = self._changes.since(seen), self._changes.number
        await _write(response, _RETRY + self._event(seen, documents))
        while (left := end - loop.time()) > 0:
            try:
                await asyncio.wait_for(self._changes.wait(seen), min(HEARTBEAT_SECONDS, left))
            except TimeoutError:
                await _write(response, _HEARTBEAT)
                continue
            documents, seen = self._changes.since(seen), self._changes.number
            await _write(response, self._event(seen, documents))
            await asyncio.sleep(BETWEEN_SECONDS)

    def _event(self, number: int, documents: list[str]) -> bytes:
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        data = json.dumps({"documents": documents, "at": at})
        return f"event: changed\nid: {self._changes.life}-{number}\ndata: {data}\n\n".encode()


async def _write(response: web.StreamResponse, data: bytes) -> None:
    """Raises TimeoutError where it is not read."""
    await asyncio.wait_for(response.write(data), WRITE_SECONDS)
