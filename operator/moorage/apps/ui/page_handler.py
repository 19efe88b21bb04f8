"""The page over HTTP: static files, documents and events, all of it read-only.

``moorage ui`` and the operator have the same handler; who may ask is settled before.

======================  =====================================================
below ``/ui/``          answer
======================  =====================================================
``static/NAME``         a file of the package
``api/NAME?...``        a document (``questions``, ``page_documents``)
``events``              server-sent events (``event_stream``)
anything else           index.html: the page reads views from its address
======================  =====================================================
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from moorage.apps.ui.bodies import Body
from moorage.apps.ui.event_stream import EventStream
from moorage.apps.ui.page_source import PageSource
from moorage.apps.ui.questions import Question, parse
from moorage.apps.ui.static_files import INDEX, StaticFiles
from moorage.ports.errors import EdgeError
from moorage.ports.requesters import Denied

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "font", "connect")),
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'none'",
    )
)
HEADERS: Final[Mapping[str, str]] = {
    "Server": "moorage",
    "Cache-Control": "no-cache, private",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer."""
JSON: Final = "application/json"
MAX_UNDER_WAY: Final = 16
"""Documents that are being made."""


class PageHandler:
    """Answers what is asked below ``/ui/``."""

    def __init__(self, source: PageSource, files: StaticFiles) -> None:
        self._source = source
        self._files = files
        self._events = EventStream(source.changes, HEADERS)
        self._under_way = 0

    async def answer(
        self, request: web.BaseRequest, path: str, query: dict[str, str]
    ) -> web.StreamResponse:
        """Answer and send; ``path`` is what comes after ``/ui/``."""
        try:
            if request.method not in ("GET", "HEAD"):
                raise Denied(405, "this page is read-only: only GET is allowed")
            if path == "events":
                return await self._events.send(request)
            body = await self._body(path, query)
        except Denied as denied:
            return await send(request, refusal(denied))
        except EdgeError as error:
            return await send(request, refusal(Denied(503, str(error))))
        return await send(request, await _response(request, body))

    async def _body(self, path: str, query: dict[str, str]) -> Body:
        """Raises Denied."""
        folder, _, name = path.partition("/")
        if folder == "api":
            return await self._document(parse(name, query))
        if folder != "static":
            name = INDEX
        if (body := self._files.get(name)) is None:
            raise Denied(404, "there is no such file")
        return body

    async def _document(self, question: Question) -> Body:
        if self._under_way >= MAX_UNDER_WAY:
            raise Denied(429, f"{MAX_UNDER_WAY} documents are being made")
        self._under_way += 1
        try:
            document = await self._source.document(question)
            return await asyncio.to_thread(_json_body, document)
        finally:
            self._under_way -= 1


def _json_body(document: Mapping[str, Any]) -> Body:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Body(text.encode(errors="replace"), JSON)


async def _response(request: web.BaseRequest, body: Body) -> web.Response:
    tag = f'"{body.tag}"'
    headers = {**HEADERS, "ETag": tag, "Vary": "Accept-Encoding"}
    known = request.headers.get("If-None-Match", "")
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return web.Response(status=304, headers=headers)
    encoding = body.encoding(request.headers.get("Accept-Encoding", ""))
    data = await asyncio.to_thread(body.encoded, encoding) if encoding else body.data
    if encoding:
        headers["Content-Encoding"] = encoding
    return web.Response(body=data, headers={**headers, "Content-Type": body.content_type})


def refusal(denied: Denied) -> web.Response:
    """The answer to what is not answered."""
    more = {405: {"Allow": "GET, HEAD"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}
    body = json.dumps({"error": denied.text}).encode()
    headers = {**HEADERS, "Content-Type": JSON, **more.get(denied.status, {})}
    return web.Response(status=denied.status, body=body, headers=headers)


async def send(request: web.BaseRequest, response: web.Response) -> web.Response:
    """Send it whole."""
    await response.prepare(request)
    await response.write_eof()
    return response
