"""HTTP: who asks, how much of it is read, and how answers and watches go out. No decision about
objects is made here.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import HttpVersion11, web

from towtank.handlers.dispatcher import RequestDispatcher
from towtank.model.api_errors import ApiError, bad_request, too_large, unauthorized
from towtank.model.requests import ApiRequest, ApiResponse, WatchOptions
from towtank.serving.watch_streams import Watch, Watches

log = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 3 * 1024 * 1024
"""Bytes of a body, as many as a kube-apiserver reads."""
_MAX_HEAD_LINE_BYTES: Final = 1024 * 1024
"""Bytes of a line of a request's head."""
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e]")
_OPEN_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
_SEND_TIMEOUT_SECONDS: Final = 10.0
"""Seconds that a watch's reader may take for what is waiting: then it is dropped, and may come
again.
"""
_ENCODER: Final = msgspec.json.Encoder()


class HttpFrontend:
    """A handler for aiohttp's server. ``token_user`` says whose a bearer token is."""

    def __init__(
        self, answering: RequestDispatcher, watches: Watches, token_user: Callable[[str], str]
    ) -> None:
        self._dispatcher = answering
        self._watches = watches
        self._token_user = token_user

    def server(self) -> web.Server:
        """What listens; a request ends with its connection, so a watch whose reader has gone goes
        too.
        """
        return web.Server(
            self.handle,
            access_log=None,
            handler_cancellation=True,
            max_line_size=_MAX_HEAD_LINE_BYTES,
            max_field_size=_MAX_HEAD_LINE_BYTES,
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            answer = await self._answer(request)
            if not isinstance(answer.body, WatchOptions):
                return _response(request, answer)
            watch = self._watches.open(answer.body)
        except ApiError as problem:
            return _response(request, ApiResponse(problem.code, problem.status()))
        except ConnectionError:
            raise  # nobody is there to be answered
        except Exception as fault:
            log.exception(
                "a request could not be answered",
                extra={"method": request.method, "path": request.path},
            )
            status = ApiError(500, "InternalError", f"Internal error occurred: {fault!r}").status()
            return _response(request, ApiResponse(500, status))
        return await _stream(request, watch)

    async def _answer(self, request: web.BaseRequest) -> ApiResponse:
        user = self._user(request)
        if not user and request.path not in _OPEN_PATHS:
            raise unauthorized()
        return self._dispatcher.answer(_api_request(request, await _body(request), user))

    def _user(self, request: web.BaseRequest) -> str:
        """The certificate's user, or else the token's; "" for nobody we know."""
        certificate = request.get_extra_info("peercert") or {}
        subject = {name: value for part in certificate.get("subject", ()) for name, value in part}
        if name := subject.get("commonName"):
            return str(name)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return self._token_user(token.strip()) if scheme.lower() == "bearer" else ""


async def _stream(request: web.BaseRequest, watch: Watch) -> web.StreamResponse:
    """What a watch tells. From the first byte on there is no other answer: whatever goes wrong
    breaks the connection.
    """
    response = _stream_response(request)
    try:
        await _send(request, response, watch)
    except TimeoutError:
        log.info("a watch was not read", extra={"path": request.path})
        _break(request)
    except ConnectionError:
        raise  # nobody is there any more
    except Exception:
        log.exception("a watch broke off", extra={"path": request.path})
        _break(request)
    finally:
        watch.close()
    return response


def _stream_response(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
    )
    if request.version >= HttpVersion11:
        response.enable_chunked_encoding()
    else:
        response.force_close()  # the end of the connection is the end of the watch
    return response


async def _send(request: web.BaseRequest, response: web.StreamResponse, watch: Watch) -> None:
    """All that it tells, to its end. Raises TimeoutError when nobody reads it."""
    await response.prepare(request)
    async for chunk in watch.chunks():
        async with asyncio.timeout(_SEND_TIMEOUT_SECONDS):
            await response.write(chunk)
    async with asyncio.timeout(_SEND_TIMEOUT_SECONDS):
        await response.write_eof()


def _api_request(request: web.BaseRequest, body: bytes, user: str) -> ApiRequest:
    headers = request.headers
    return ApiRequest(
        method=request.method,
        path=_text(request.path),
        query={_text(name): _text(value) for name, value in request.query.items()},
        body=body,
        content_type=_text(headers.get("Content-Type", "")),
        accept=_text(", ".join(headers.getall("Accept", ()))),
        user_agent=_text(headers.get("User-Agent", "")),
        user=user,
        host=_text(request.host),
    )


def _break(request: web.BaseRequest) -> None:
    """So that the reader sees that this is not the end."""
    if request.transport:
        request.transport.abort()


def _text(text: str) -> str:
    """What came, without the surrogates that stand for bytes that are no UTF-8: those go into no
    answer.
    """
    return text.encode(errors="replace").decode()


async def _body(request: web.BaseRequest) -> bytes:
    """The body. Raises ApiError 400 and 413."""
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)
    if not request.body_exists:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    read = bytearray()
    try:
        async for chunk in request.content.iter_any():
            read += chunk
            if len(read) > MAX_BODY_BYTES:
                raise too_large(MAX_BODY_BYTES)
    except web.RequestPayloadError as fault:
        raise bad_request(f"the body cannot be read: {fault}") from fault
    return bytes(read)


def _response(request: web.BaseRequest, answer: ApiResponse) -> web.Response:
    body = answer.body if isinstance(answer.body, bytes) else _ENCODER.encode(answer.body) + b"\n"
    response = web.Response(
        body=body,
        status=answer.code,
        headers={"Content-Type": answer.content_type, **answer.headers},
    )
    response.headers["Cache-Control"] = "no-cache, private"
    for text in answer.warnings:
        shown = _UNPRINTABLE.sub("?", text).replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{shown}"')
    if answer.code == 413:
        response.force_close()
    return response
