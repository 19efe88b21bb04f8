"""The way to the API server: configuration, TLS, credentials, connections.

kubernetes.aio reads kubeconfig files, runs credential plugins and builds the TLS context. Watches,
and all there is behind a proxy, go over aiohttp; single requests go over ``connections``.
Everything that these raise ends here, as ``ports.errors``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
import urllib.parse
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import aiohttp
from kubernetes.aio import client

from moorage.adapters.kube_session.connections import (
    CONNECT_TIMEOUT_SECONDS,
    IDLE_SECONDS,
    MAX_HEAD_BYTES,
    UNACKNOWLEDGED_SECONDS,
    ConnectionFailed,
    ConnectionPool,
    RequestOptions,
    set_user_timeout,
)
from moorage.adapters.kube_session.parseable import ParseableResponse
from moorage.adapters.kube_session.requests import (
    abandon,
    own_headers,
    request_error,
    timeout_of,
    trusting,
    whole_body,
)
from moorage.adapters.kube_session.source import KubeconfigError, KubeSource, Reload
from moorage.adapters.kube_session.trust import ClientTrust, distrusted, pinned
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.http_calls import HttpCall, error_from_response

__all__ = [
    "CREDENTIALS_PERIOD_SECONDS",
    "KubeSession",
    "KubeSource",
    "KubeconfigError",
    "ResponseObserver",
]

log = logging.getLogger(__name__)

CREDENTIALS_PERIOD_SECONDS = 60.0
"""Seconds after which the Authorization header is made anew: projected tokens are replaced in their
files about hourly.
"""
CREDENTIALS_WAIT_SECONDS = 1.0
"""Seconds that a request waits for credentials that are due; then it goes out with the old ones,
and a plugin may take its time.
"""
STREAM_SILENCE_SECONDS = 130.0
"""Seconds without a byte after which a stream counts as dead: bookmarks come once a minute, two may
be lost.
"""
_STREAM_TIMEOUT = aiohttp.ClientTimeout(
    total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=STREAM_SILENCE_SECONDS
)
_ACCEPT = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""Nothing is compressed: unpacking a long list would hold the loop for longer than the list takes
to come in.
"""

ResponseObserver = Callable[[str, str, str, float], None]
"""Told of each answer: the API server's host, method, HTTP code or ``<error>``, seconds."""


class KubeSession:
    """``ports.http_calls.HttpSession``. Open it with ``KubeSession.open`` inside the event loop,
    close it at the end.

    The pool of connections has no limit: callers bound their own concurrency, so that a write that
    has passed the fence never waits for a connection. What a call has handed to the kernel is given
    up after so many seconds ``unacknowledged``.
    """

    def __init__(
        self,
        api: client.ApiClient,
        reload: Reload,
        clock: Clock,
        observe: ResponseObserver,
        unacknowledged: float = UNACKNOWLEDGED_SECONDS,
    ) -> None:
        # for what it makes of the configuration: the TLS context, with the client's certificate
        self._api = api
        self._configuration = api.configuration
        self._reload = reload
        self._trust = ClientTrust(api.configuration, api.rest_client.ssl_context)
        self._clock = clock
        self._observe = observe
        self._netloc = urllib.parse.urlsplit(self.server).netloc
        self._credentials_due = clock.boottime() + CREDENTIALS_PERIOD_SECONDS
        self._refreshing: asyncio.Task[None] | None = None
        self._unacknowledged = unacknowledged
        self._connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=IDLE_SECONDS, socket_factory=self._socket
        )
        self._http = self._session(owner=True)
        self._sessions = [self._http]
        self._connections = ConnectionPool(
            self.server, self._trust.context, self._configuration.tls_server_name, unacknowledged
        )
        self._connections.headers.update(self._http.headers)

    @classmethod
    async def open(
        cls,
        source: KubeSource,
        user_agent: str,
        clock: Clock,
        observe: ResponseObserver = lambda *_: None,
        unacknowledged: float = UNACKNOWLEDGED_SECONDS,
    ) -> KubeSession:
        """Connect nothing yet, but read all that is needed to. Raises KubeconfigError."""
        configuration, reload = await source.load()
        try:
            api = client.ApiClient(configuration)
        except (OSError, ValueError) as error:
            text = f"{source}: a certificate or key cannot be used: {error}"
            raise KubeconfigError(text) from error
        api.user_agent = user_agent
        session = cls(api, reload, clock, observe, unacknowledged)
        async with session._closed_if_unusable():
            await session._authorize()
        return session

    async def beside(self, server: str, certificate: str) -> KubeSession:
        """A session with another server as the same user. That server is known by this certificate
        (PEM) alone, whatever names are in it. Raises KubeconfigError.
        """
        configuration, reload = pinned(self._configuration, self._reload, server, certificate)
        try:
            api = client.ApiClient(configuration)
        except (OSError, ValueError) as error:
            text = f"{server}: its certificate cannot be used: {error}"
            raise KubeconfigError(text) from error
        api.user_agent = self._api.user_agent
        session = KubeSession(api, reload, self._clock, self._observe)
        async with session._closed_if_unusable():
            await session._authorize()
        return session

    @property
    def server(self) -> str:
        """The API server's address, without a slash at its end."""
        return str(self._configuration.host).rstrip("/")

    def new_client_session(self) -> aiohttp.ClientSession:
        """Another session on the same connections and credentials, for a library that closes what
        it is given (Kopf does).
        """
        session = self._session(owner=False, response_class=ParseableResponse)
        if (token := self._http.headers.get("Authorization")) is not None:
            session.headers["Authorization"] = token
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        self._connections.close()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait({self._refreshing})
        for session in self._sessions:
            await session.close()
        await self._connector.close()
        await self._api.close()  # type: ignore[no-untyped-call]

    def sever(self) -> None:
        """End all connections that carry calls at once, so that nothing which they hold is
        delivered any more.
        """
        self._connections.sever()

    async def warm(self, connections: int) -> None:
        """Open so many connections before they are needed."""
        await asyncio.gather(*(self.call(HttpCall("GET", "/version")) for _ in range(connections)))

    async def call(self, call: HttpCall) -> bytes:
        """The body of a 2xx answer. Raises EdgeError; Retryable says whether the request may have
        been carried out.
        """
        if self._clock.boottime() >= self._credentials_due:
            await self._refresh(CREDENTIALS_WAIT_SECONDS)
        status, body, retry_after = await self._send(call)
        if status == 401:
            # The token may have been replaced; asking once more is safe, as nothing was done.
            await self._refresh(call.timeout, refused=True)
            status, body, retry_after = await self._send(call)
        if 200 <= status < 300:
            return body
        raise error_from_response(f"{call.method} {call.path}", status, body, retry_after)

    async def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The chunks of a watch as they come; the first is empty. Raises EdgeError; a stream that
        goes silent is Retryable.
        """
        if self._clock.boottime() >= self._credentials_due:
            await self._refresh(CREDENTIALS_WAIT_SECONDS)
        try:
            async with self._opened(path) as response:
                yield b""
                async for chunk in response.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError) as error:
            self._reread_soon(error)
            raise request_error(f"GET {path}", error) from error

    @contextlib.asynccontextmanager
    async def _opened(self, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """A stream that the API server has granted. Raises EdgeError where it refuses."""
        url, started = self.server + path, time.perf_counter()
        async with self._http.get(url, timeout=_STREAM_TIMEOUT, **self._options()) as response:
            seconds = time.perf_counter() - started
            self._observe(self._netloc, "GET", str(response.status), seconds)
            if response.status != 200:
                raise await self._refused_stream(path, response)
            try:
                yield response
            finally:
                abandon(response)

    async def _refused_stream(self, path: str, response: aiohttp.ClientResponse) -> EdgeError:
        if response.status == 401:
            self._credentials_due = 0.0
        body = await response.content.read(MAX_HEAD_BYTES)
        after = response.headers.get("Retry-After", "")
        return error_from_response(f"GET {path}", response.status, body, after)

    @contextlib.asynccontextmanager
    async def websocket(
        self, path: str, protocol: str
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """A WebSocket that the API server has granted. Raises EdgeError where it refuses."""
        name = self._configuration.tls_server_name
        try:
            opened = await self._http.ws_connect(
                self.server + path, protocols=(protocol,), server_hostname=name, max_msg_size=0
            )
        except aiohttp.WSServerHandshakeError as error:
            raise error_from_response(f"GET {path}", error.status, b"") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise request_error(f"GET {path}", error) from error
        async with opened:
            yield opened

    def _reread_soon(self, error: BaseException) -> None:
        """An API server with a certificate that is not believed may be one whose authority was
        replaced.
        """
        if distrusted(error):
            self._credentials_due = 0.0

    async def _send(self, call: HttpCall) -> tuple[int, bytes, str]:
        """One attempt: status, body, Retry-After."""
        started = time.perf_counter()
        try:
            answered = await (
                self._by_proxy(call) if self._configuration.proxy else self._directly(call)
            )
        except Retryable:
            self._observe(self._netloc, call.method, "<error>", time.perf_counter() - started)
            raise
        self._observe(self._netloc, call.method, str(answered[0]), time.perf_counter() - started)
        return answered

    async def _directly(self, call: HttpCall) -> tuple[int, bytes, str]:
        own = "".join(f"{name}: {value}\r\n" for name, value in own_headers(call).items())
        options = RequestOptions(call.timeout, call.guard, call.fresh)
        try:
            answer = await self._connections.request(
                call.method, call.path, call.body, own, options
            )
        except ConnectionFailed as error:
            self._reread_soon(error)
            text = f"{call.method} {call.path}: {error}"
            raise Retryable(text, outcome_unknown=error.sent) from error
        return answer.status, answer.body, answer.header(b"retry-after")

    async def _by_proxy(self, call: HttpCall) -> tuple[int, bytes, str]:
        """The long way; here the guard is asked before the request, not in the moment that it is
        written.
        """
        if call.guard is not None:
            call.guard()
        url = self.server + call.path
        options = {
            **self._options(),
            "headers": own_headers(call),
            "timeout": timeout_of(call.timeout),
        }
        try:
            async with self._http.request(call.method, url, data=call.body, **options) as response:
                after = response.headers.get("Retry-After", "")
                return response.status, await whole_body(response), after
        except (aiohttp.ClientError, TimeoutError) as error:
            self._reread_soon(error)
            raise request_error(f"{call.method} {call.path}", error) from error

    async def _refresh(self, patience: float, *, refused: bool = False) -> None:
        """Have the credentials read again, once for all who ask meanwhile; after ``patience``
        seconds go on with what there is.
        """
        if self._refreshing is None or self._refreshing.done():
            self._credentials_due = self._clock.boottime() + CREDENTIALS_PERIOD_SECONDS
            self._refreshing = asyncio.create_task(self._reread(refused), name="credentials")
        await asyncio.wait({self._refreshing}, timeout=patience)

    async def _reread(self, refused: bool) -> None:
        """Read the credentials again. Where that fails the old ones stay in use, which a log line
        tells.
        """
        try:
            await self._reload(refused)
            if self._trust.reread():
                self._connections.trust(self._trust.context)
            await self._authorize()
        except Exception as error:  # noqa: BLE001 - see below
            # the library and the plugins that it runs raise anything
            log.warning(
                "the credentials could not be read again, the old ones stay in use: %s", error
            )

    @contextlib.asynccontextmanager
    async def _closed_if_unusable(self) -> AsyncIterator[None]:
        """Close it where the block raises: nobody else will."""
        async with contextlib.AsyncExitStack() as closing:
            closing.push_async_callback(self.close)
            yield
            closing.pop_all()

    async def _authorize(self) -> None:
        """Make the Authorization header of all sessions from the configuration."""
        settings = await self._configuration.auth_settings()
        token = str(settings.get("BearerToken", {}).get("value") or "").strip()
        for headers in (
            self._connections.headers,
            *(session.headers for session in self._sessions),
        ):
            if token:
                headers["Authorization"] = token
            else:
                headers.pop("Authorization", None)

    def _session(
        self, owner: bool, response_class: type[aiohttp.ClientResponse] = aiohttp.ClientResponse
    ) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            request_class=trusting(self._trust),
            response_class=response_class,
            connector=self._connector,
            connector_owner=owner,
            headers={"User-Agent": self._api.user_agent, **_ACCEPT},
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._configuration.proxy,
            read_bufsize=2**20,
        )

    def _socket(self, address: Any) -> socket.socket:
        """A socket that notices within half a minute that the other side has vanished."""
        family, kind, protocol = address[:3]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (
            (socket.TCP_KEEPIDLE, 15),
            (socket.TCP_KEEPINTVL, 5),
            (socket.TCP_KEEPCNT, 3),
        ):
            made.setsockopt(socket.IPPROTO_TCP, option, value)
        set_user_timeout(
            made, self._unacknowledged if self._configuration.proxy else UNACKNOWLEDGED_SECONDS
        )  # calls go this way through a proxy only
        return made

    def _options(self) -> dict[str, Any]:
        """What every request needs beside the obvious."""
        name = self._configuration.tls_server_name
        return (
            {"allow_redirects": False, "server_hostname": name}
            if name
            else {"allow_redirects": False}
        )
