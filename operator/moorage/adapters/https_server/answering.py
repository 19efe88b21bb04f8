"""What is answered: health to everybody, the rest to whom the gatekeeper admits.

Health answers are in kube-scheduler's form: ``ok``, or with ``?verbose`` and on failure a line per
check; ``?exclude=NAME`` leaves a check out; ``/readyz/NAME`` asks one. Unlike kube-scheduler the
reason of a failed check is shown: it is a short sentence of ours and holds nothing about the
cluster's objects.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import logging
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Protocol, cast

from aiohttp import web

from moorage.adapters.https_server.connections import ServerConnection
from moorage.ports.errors import EdgeError
from moorage.ports.repeated_logs import once_per_cause
from moorage.ports.requesters import Caller, CallerRight, Denied, Gatekeeper, parameters

log = logging.getLogger(__name__)

HealthCheck = Callable[[], str | None]
"""None when all is well, else what is wrong. Called on the server's event loop: it reads values and
is quick.
"""
_Page = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Explain = Callable[[str, str], Awaitable[Mapping[str, object] | None]]
"""The explanation of a pod (``namespace/name``); None where there is no such pod."""
ItemSource = Callable[[], AsyncGenerator[Mapping[str, object], None]]
"""Items of JSON, from whatever loop they are on."""

MAX_ADMITTED = 16
"""Requests under way that are no health checks."""
_EXPLAIN = "/explain"
_EVENTS = "/ui/events"
_UI_POD = "/ui/api/pod"
_PROFILES = CallerRight("list", resource="schedulerprofiles", group="moorage.dev")
_CONFIGS = CallerRight("list", resource="pluginconfigs", group="moorage.dev")
_MORE_RIGHTS: Mapping[str, tuple[CallerRight, ...]] = {
    "/ui/api/status": (_PROFILES,),
    "/ui/api/trial": (_PROFILES,),
    "/ui/api/history": (_PROFILES, _CONFIGS),
    "/ui/api/diff": (_PROFILES, _CONFIGS),
}
"""What it takes beside seeing pods and nodes, by path: these tell what is in such objects."""
CHUNK_BYTES = 32 * 1024
JSON = "application/json"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
HEADERS = {
    "Server": "moorage",
    "Cache-Control": "no-cache, private",
    "X-Content-Type-Options": "nosniff",
}


class AnswerPage(Protocol):
    """Answers what is asked below /ui/; bounds by itself how many listen to events."""

    def __call__(
        self, request: web.BaseRequest, path: str, query: dict[str, str]
    ) -> Awaitable[web.StreamResponse]:
        """Answer and send; ``path`` is what comes after /ui/. It was judged by this ``query`` who
        may, so that no other may be read.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class HttpEndpoints:
    """What is served: checks by name for each health path, the metrics page, the configuration, and
    under /debug what gives items. ``explain``: for /explain?pod=NAMESPACE/NAME
    (or podgroup=), by kind and name, None where nobody
    explains. ``page``: for /ui/, None where there is none.
    """

    healthz: Mapping[str, HealthCheck]
    livez: Mapping[str, HealthCheck]
    readyz: Mapping[str, HealthCheck]
    metrics: Callable[[], bytes]
    configz: Callable[[], Mapping[str, object]]
    debug: Mapping[str, ItemSource] = dataclasses.field(default_factory=dict)
    explain: Explain | None = None
    page: AnswerPage | None = None


class EndpointHandler:
    """Answers requests, and sends the answers. ``admitted`` are the connections whose requests are
    under way and no health checks.
    """

    body_bytes = 0
    """None of the requests needs a body."""

    def __init__(self, endpoints: HttpEndpoints, gatekeeper: Gatekeeper) -> None:
        self._gatekeeper = gatekeeper
        self._health = {
            path: _Health(path, getattr(endpoints, path)) for path in ("healthz", "livez", "readyz")
        }
        self._pages: dict[str, _Page] = {
            "/metrics": lambda request: sent(request, bytes_page(endpoints.metrics(), METRICS)),
            "/configz": lambda request: sent(
                request, bytes_page(_json({"componentconfig": endpoints.configz()}), JSON)
            ),
            **{
                f"/debug/{name}": functools.partial(_send_array, items)
                for name, items in endpoints.debug.items()
            },
        }
        self._explain = endpoints.explain
        self._page = endpoints.page
        self.admitted: set[object] = set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer and send; what is returned has been sent, and says whether the connection may
        stay.
        """
        name, _, check = request.path.removeprefix("/").partition("/")
        try:
            if request.method not in ("GET", "HEAD"):
                raise Denied(405, "only GET is allowed")
            if (health := self._health.get(name)) is not None:
                return await sent(request, health.answer(check, request))
            rights, page = self._asked(request)
            await self._gatekeeper.admit(_token(request), _certified(request), rights)
            if request.path == _EVENTS:
                return await page(request)  # lasts, and must keep nobody else out
            return await self._admitted(request, page)
        except Denied as denied:
            return await sent(request, refusal(denied))

    def _asked(self, request: web.BaseRequest) -> tuple[tuple[CallerRight, ...], _Page]:
        """What it takes to be answered, and what answers: an explanation tells of a pod, and of all
        nodes; the rest of the page of all pods, and some of profiles. Both go by one reading of the
        query. Raises Denied.
        """
        path = request.path
        if (page := self._pages.get(path)) is not None:
            return (CallerRight(request.method.lower(), path),), page
        first, _, below = path.removeprefix("/").partition("/")
        if path == _EXPLAIN and self._explain is not None:
            query = parameters(request.query.items())
            kind = "podgroup" if "podgroup" in query else "pod"
            name = _pod(query, kind)
            explain = functools.partial(_send_explanation, self._explain, kind, name)
            return _to_see(name), explain
        if first != "ui" or self._page is None:
            raise Denied(404, "there is nothing here")
        query = parameters(request.query.items())
        seen = _to_see(_pod(query, "name") if path == _UI_POD else "")
        more = (_PROFILES,) if query.get("profile") else ()  # another one is tried on the pod
        rights = (*seen, *_MORE_RIGHTS.get(path, more))
        return rights, functools.partial(self._page, path=below, query=query)

    async def _admitted(self, request: web.BaseRequest, page: _Page) -> web.StreamResponse:
        if len(self.admitted) >= MAX_ADMITTED:
            raise Denied(429, f"{MAX_ADMITTED} requests are under way")
        self.admitted.add(request.protocol)
        try:
            return await page(request)
        except EdgeError as error:
            raise Denied(503, str(error)) from error
        finally:
            self.admitted.discard(request.protocol)


class _Health:
    """One of the health paths. A failure is logged when it is asked for all of its checks."""

    def __init__(self, path: str, checks: Mapping[str, HealthCheck]) -> None:
        self._path = path
        self._checks = checks

    def answer(self, one: str, request: web.BaseRequest) -> web.Response:
        """200 or 500, with a line per check where one fails or it is asked for. Raises Denied."""
        if one and one not in self._checks:
            raise Denied(404, "there is no such check")
        excluded = set(request.query.getall("exclude", []))
        asked = [one] if one else [name for name in self._checks if name not in excluded]
        failures = {name: error for name in asked if (error := self._checks[name]()) is not None}
        if asked == [*self._checks]:
            self._log_failures(failures)
        lines = [
            f"[-]{name} failed: {failures[name]}" if name in failures else f"[+]{name} ok"
            for name in asked
        ]
        if not failures and "verbose" not in request.query:
            return web.Response(text="ok", headers=HEADERS)
        lines.append(f"{self._path} check {'failed' if failures else 'passed'}\n")
        return web.Response(text="\n".join(lines), status=500 if failures else 200, headers=HEADERS)

    def _log_failures(self, failures: Mapping[str, str]) -> None:
        if failures:
            text = "; ".join(f"{name}: {error}" for name, error in failures.items())
            log.warning(
                "%s failed: %s",
                self._path,
                text,
                extra=once_per_cause(f"{self._path} {' '.join(failures)}"),
            )


# ---- who asks ------------------------------------------------------------------------------------


def _token(request: web.BaseRequest) -> str:
    """The bearer token; ""."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _certified(request: web.BaseRequest) -> Caller | None:
    """Whom the client certificate names: the common name is the user, each organisation a group.
    One that has expired names nobody.
    """
    certificate = request.get_extra_info("peercert")
    if not certificate:
        return None
    if ssl.cert_time_to_seconds(certificate["notAfter"]) <= time.time():
        raise Denied(401, "the client certificate has expired")
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    groups = tuple(value for name, value in subject if name == "organizationName")
    user = next((value for name, value in subject if name == "commonName"), "")
    return Caller(user, (*groups, "system:authenticated")) if user else None


def _pod(query: Mapping[str, str], parameter: str) -> str:
    """The pod that is asked for, NAMESPACE/NAME. Raises Denied."""
    pod = query.get(parameter, "")
    if not all(pod.partition("/")):
        example = f"?{parameter}=NAMESPACE/NAME"
        raise Denied(400, f"say which pod is to be explained: {example}")
    return pod


def _to_see(pod: str) -> tuple[CallerRight, ...]:
    """What it takes to be told of this pod, or ("") of all, and of all nodes."""
    namespace = pod.partition("/")[0]
    return CallerRight("get", resource="pods", namespace=namespace), CallerRight(
        "list", resource="nodes"
    )


# ---- what goes out -------------------------------------------------------------------------------


async def sent(request: web.BaseRequest, response: web.Response) -> web.Response:
    """The answer, once its reader has it, or nearly."""
    await cast(ServerConnection, request.protocol).begin(response, request)
    await response.write_eof()
    return response


def bytes_page(body: bytes, content_type: str) -> web.Response:
    """An answer of these bytes."""
    return web.Response(body=body, headers={**HEADERS, "Content-Type": content_type})


def refusal(denied: Denied, allowed: str = "GET, HEAD") -> web.Response:
    """The answer to a request that is not to be answered; ``allowed``: the methods that are."""
    more = {
        401: {"WWW-Authenticate": "Bearer"},
        405: {"Allow": allowed},
        429: {"Retry-After": "1"},
    }.get(denied.status, {})
    return web.Response(status=denied.status, text=f"{denied.text}\n", headers={**HEADERS, **more})


async def _send_explanation(
    explain: Explain, kind: str, name: str, request: web.BaseRequest
) -> web.StreamResponse:
    explanation = await explain(kind, name)
    if explanation is None:
        raise Denied(404, f"there is no {kind} {name}")
    return await sent(request, bytes_page(_json(explanation), JSON))


async def _send_array(items: ItemSource, request: web.BaseRequest) -> web.StreamResponse:
    """Answer with the items as one JSON array, sent as they come."""
    if request.method == "HEAD":
        return await sent(request, bytes_page(b"", JSON))
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": JSON})
    async with contextlib.aclosing(items()) as each:
        first = await anext(each, None)  # what fails at once still gets a status of its own
        await cast(ServerConnection, request.protocol).begin(response, request)
        waiting = bytearray(b"[" if first is None else b"[" + _json(first))
        async for item in each:
            waiting += b",\n" + _json(item)
            if len(waiting) >= CHUNK_BYTES:
                await response.write(bytes(waiting))
                waiting.clear()
    await response.write(bytes(waiting) + b"]\n")
    await response.write_eof()
    return response


def _json(item: object) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode(errors="replace")
