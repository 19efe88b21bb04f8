"""The way to the API server: configuration, TLS, credentials, connections.

kubernetes.aio reads kubeconfig files, runs credential plugins and builds the TLS context. Watches, and all there is behind a proxy, go
over aiohttp; single requests go over ``connections``. Everything that these raise ends here, as ``ports.errors``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import pathlib
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import aiohttp
from kubernetes.aio import client
from kubernetes.aio.config import incluster_config, kube_config

from moorage.adapters.kube_session.connections import CONNECT_TIMEOUT, IDLE_SECONDS, ConnectionFailed, Connections, Options
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.surroundings import Clock
from moorage.ports.wire import Call, refusal

log = logging.getLogger(__name__)

CREDENTIALS_PERIOD = 60.0
"""Seconds after which the Authorization header is made anew: projected tokens are replaced in their files about hourly."""
SILENCE = 130.0
"""Seconds without a byte after which a stream counts as dead: bookmarks come once a minute, two may be lost."""

Observe = Callable[[str, str, float], None]
"""Told of each answer: method, HTTP code or ``<error>``, seconds."""


class KubeconfigError(Exception):
    """The API server cannot be reached with what was configured; the text says which file or flag to look at."""


@dataclasses.dataclass(frozen=True, slots=True)
class KubeSource:
    """Where the connection is described: a kubeconfig file, else the pod's service account; ``master`` replaces the address."""

    kubeconfig: str = ""
    master: str = ""

    async def load(self) -> tuple[client.Configuration, Callable[[], Awaitable[None]]]:
        """The configuration, and what reads its credentials again. Raises KubeconfigError."""
        configuration = client.Configuration()
        # The generated client would read ~/.netrc before every request.
        configuration.client_session_kwargs = {"trust_env": False}
        loader = self._loader()

        async def reload() -> None:
            loaded = loader.load_and_set(configuration) if loader is not None else None
            if loaded is not None:
                await loaded
            if self.master:
                configuration.host = self.master.rstrip("/")

        try:
            await reload()
        except Exception as error:  # whatever the library meets in a file that a person wrote
            raise KubeconfigError(f"{self}: {error}") from error
        return configuration, reload

    def _loader(self) -> Any:
        """kubernetes.aio's loader for the source; None when only an address is given."""
        if self.kubeconfig:
            if not pathlib.Path(self.kubeconfig).is_file():
                raise KubeconfigError(f"--kubeconfig {self.kubeconfig}: no such file")
            try:
                merged = kube_config.KubeConfigMerger(self.kubeconfig)  # type: ignore[no-untyped-call]
                return kube_config.KubeConfigLoader(merged.config, config_base_path=None)  # type: ignore[no-untyped-call]
            except Exception as error:  # as above
                raise KubeconfigError(f"--kubeconfig {self.kubeconfig}: not a kubeconfig file: {error}") from error
        if self.master:
            return None
        files = incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME
        return incluster_config.InClusterConfigLoader(*files)  # type: ignore[no-untyped-call]

    def __str__(self) -> str:
        if self.kubeconfig:
            return f"--kubeconfig {self.kubeconfig}"
        return f"--master {self.master}" if self.master else "no --kubeconfig given and not in a pod"


class KubeSession:
    """``ports.wire.Session``. Open it with ``KubeSession.open`` inside the event loop, close it at the end.

    The pool of connections has no limit: callers bound their own concurrency, so that a write that has passed the fence never waits
    for a connection.
    """

    def __init__(self, api: client.ApiClient, reload: Callable[[], Awaitable[None]], clock: Clock, observe: Observe) -> None:
        self.api = api
        """The generated client, with a session of its own: what goes through it (the Lease) never queues behind other requests."""
        self._configuration = api.configuration
        self._reload = reload
        self._clock = clock
        self._observe = observe
        self._credentials_due = clock.boottime() + CREDENTIALS_PERIOD
        self._connector = aiohttp.TCPConnector(
            limit=0, ssl=api.rest_client.ssl_context, keepalive_timeout=IDLE_SECONDS, socket_factory=_socket
        )
        self._http = self._session(owner=True)
        self._sessions = [self._http]
        self._connections = Connections(self.server, api.rest_client.ssl_context, self._configuration.tls_server_name)
        self._connections.headers.update(self._http.headers)

    @classmethod
    async def open(cls, source: KubeSource, user_agent: str, clock: Clock, observe: Observe = lambda *_: None) -> KubeSession:
        """Connect nothing yet, but read all that is needed to. Raises KubeconfigError."""
        configuration, reload = await source.load()
        try:
            api = client.ApiClient(configuration)
        except (OSError, ValueError) as error:
            raise KubeconfigError(f"{source}: a certificate or key cannot be used: {error}") from error
        api.user_agent = user_agent
        session = cls(api, reload, clock, observe)
        await session._authorize()
        return session

    @property
    def server(self) -> str:
        """The API server's address, without a slash at its end."""
        return str(self._configuration.host).rstrip("/")

    def lend(self) -> aiohttp.ClientSession:
        """Another session on the same connections and credentials, for a library that closes what it is given (Kopf does)."""
        session = self._session(owner=False)
        session.headers.update({key: value for key, value in self._http.headers.items() if key == "Authorization"})
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()
        for session in self._sessions:
            await session.close()
        await self._connector.close()
        await self.api.close()  # type: ignore[no-untyped-call]

    async def warm(self, connections: int) -> None:
        """Open so many connections before they are needed."""
        await asyncio.gather(*(self.call(Call("GET", "/version")) for _ in range(connections)))

    async def call(self, call: Call) -> bytes:
        """The body of a 2xx answer. Raises EdgeError; Retryable says whether the request may have been carried out."""
        if self._clock.boottime() >= self._credentials_due:
            await self._refresh()
        status, body, retry_after = await self._send(call)
        if status == 401:
            # The token may have been replaced; asking once more is safe, as nothing was done.
            await self._refresh()
            status, body, retry_after = await self._send(call)
        if 200 <= status < 300:
            return body
        raise refusal(f"{call.method} {call.path}", status, body, retry_after)

    async def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """The chunks of a watch as they come; the first is empty. Raises EdgeError; a stream that goes silent is Retryable."""
        if self._clock.boottime() >= self._credentials_due:
            await self._refresh()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=SILENCE)
        started = time.perf_counter()
        try:
            async with self._http.request("GET", self.server + path, timeout=timeout, **self._options()) as response:
                self._observe("GET", str(response.status), time.perf_counter() - started)
                if response.status != 200:
                    if response.status == 401:
                        self._credentials_due = 0.0
                    raise refusal(f"GET {path}", response.status, await response.read(), response.headers.get("Retry-After", ""))
                try:
                    yield b""
                    async for chunk in response.content.iter_any():
                        yield chunk
                finally:
                    _abandon(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _fault(f"GET {path}", error) from error

    async def _send(self, call: Call) -> tuple[int, bytes, str]:
        """One attempt: status, body, Retry-After."""
        started = time.perf_counter()
        try:
            answered = await (self._by_proxy(call) if self._configuration.proxy else self._directly(call))
        except Retryable:
            self._observe(call.method, "<error>", time.perf_counter() - started)
            raise
        self._observe(call.method, str(answered[0]), time.perf_counter() - started)
        return answered

    async def _directly(self, call: Call) -> tuple[int, bytes, str]:
        own = f"Content-Type: {call.content_type}\r\n" if call.body is not None else ""
        try:
            answer = await self._connections.request(call.method, call.path, call.body, own, Options(call.timeout, call.guard))
        except ConnectionFailed as error:
            raise Retryable(f"{call.method} {call.path}: {error}", outcome_unknown=error.sent) from error
        return answer.status, answer.body, answer.header(b"retry-after")

    async def _by_proxy(self, call: Call) -> tuple[int, bytes, str]:
        """The long way; here the guard is asked before the request, not in the moment that it is written."""
        if call.guard is not None:
            call.guard()
        headers = {"Content-Type": call.content_type} if call.body is not None else None
        url, timeout = self.server + call.path, _timeout(call.timeout)
        try:
            async with self._http.request(
                call.method, url, data=call.body, headers=headers, timeout=timeout, **self._options()
            ) as response:
                return response.status, await response.read(), response.headers.get("Retry-After", "")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _fault(f"{call.method} {call.path}", error) from error

    async def _refresh(self) -> None:
        """Read the credentials again. Where that fails the old ones stay in use, which a log line tells."""
        # Set first: one caller waits for a credential plugin, the others go on with what they have.
        self._credentials_due = self._clock.boottime() + CREDENTIALS_PERIOD
        try:
            await self._reload()
            await self._authorize()
        except Exception as error:  # noqa: BLE001 the library and the plugins that it runs raise anything
            log.warning("the credentials could not be read again, the old ones stay in use: %s", error)

    async def _authorize(self) -> None:
        """Make the Authorization header of all sessions from the configuration."""
        settings = await self._configuration.auth_settings()
        token = str(settings.get("BearerToken", {}).get("value") or "").strip()
        for headers in (self._connections.headers, *(session.headers for session in self._sessions)):
            if token:
                headers["Authorization"] = token
            else:
                headers.pop("Authorization", None)

    def _session(self, owner: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=self._connector,
            connector_owner=owner,
            # Nothing is compressed: unpacking a long list would hold the loop for longer than the list takes to come in.
            headers={"User-Agent": self.api.user_agent, "Accept": "application/json", "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._configuration.proxy,
            read_bufsize=2**20,
        )

    def _options(self) -> dict[str, Any]:
        """What every request needs beside the obvious."""
        name = self._configuration.tls_server_name
        return {"allow_redirects": False, "server_hostname": name} if name else {"allow_redirects": False}


@functools.lru_cache(maxsize=64)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_TIMEOUT))


def _fault(request: str, error: aiohttp.ClientError | TimeoutError) -> EdgeError:
    """The error for a request that has no answer."""
    unsent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.InvalidURL)
    text = str(error) or type(error).__name__
    return Retryable(f"{request}: {text}", outcome_unknown=not unsent)


def _abandon(response: aiohttp.ClientResponse) -> None:
    """End the connection of a stream that is cut: a TLS goodbye would wait for the other side, for up to half a minute."""
    # An answer that came to its end has given its connection back.
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _socket(address: Any) -> socket.socket:
    """A socket that notices within half a minute that the other side has vanished."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3)):
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    return made
