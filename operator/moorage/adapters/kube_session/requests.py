"""Requests over aiohttp: what they send, how long they take, and what their failures mean."""

from __future__ import annotations

import functools
from typing import Any

import aiohttp

from moorage.adapters.kube_session.connections import CONNECT_TIMEOUT_SECONDS, MAX_BODY_BYTES
from moorage.adapters.kube_session.source import redacted
from moorage.adapters.kube_session.trust import ClientTrust
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.http_calls import HttpCall


def own_headers(call: HttpCall) -> dict[str, str]:
    """What this request alone has."""
    headers = {"Accept": call.accept} if call.accept else {}
    return headers | {"Content-Type": call.content_type} if call.body is not None else headers


def trusting(trust: ClientTrust) -> type[aiohttp.ClientRequest]:
    """Requests over connections that were made with the present context: also for libraries that
    know of no context.
    """

    class Trusting(aiohttp.ClientRequest):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "ssl": trust.context})

    return Trusting


@functools.lru_cache(maxsize=64)
def timeout_of(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_TIMEOUT_SECONDS))


def request_error(request: str, error: aiohttp.ClientError | TimeoutError) -> EdgeError:
    """The error for a request that has no answer."""
    unsent = isinstance(
        error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.InvalidURL
    )
    text = redacted(str(error)) or type(error).__name__  # a proxy's address may hold a password
    return Retryable(f"{request}: {text}", outcome_unknown=not unsent)


async def whole_body(response: aiohttp.ClientResponse) -> bytes:
    """All of it. Raises ClientPayloadError where that is too much."""
    parts, room = [], MAX_BODY_BYTES
    async for part in response.content.iter_any():
        parts.append(part)
        if (room := room - len(part)) < 0:
            raise aiohttp.ClientPayloadError(f"the answer is longer than {MAX_BODY_BYTES} bytes")
    return b"".join(parts)


def abandon(response: aiohttp.ClientResponse) -> None:
    """End the connection of a stream that is cut: a TLS goodbye would wait for the other side, for
    up to half a minute.
    """
    # An answer that came to its end has given its connection back.
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()
