"""Health, metrics and looks inside over plain HTTP.

Health answers are in kube-scheduler's form: ``ok``, or with ``?verbose`` and on failure a line per check; ``?exclude=NAME`` leaves a
check out; ``/readyz/NAME`` asks one. Unlike kube-scheduler the reason of a failed check is shown: it is a short sentence of ours and
holds nothing about the cluster's objects.

``/debug`` names pods and nodes, so it answers on loopback only: to processes of the same pod, and through ``kubectl port-forward``
to whoever has the right to that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from aiohttp import web

from moorage.ports.errors import EdgeError

log = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""None when all is well, else what is wrong. Called on the event loop; must be quick."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoints:
    """What is served: checks by name for each health path, the metrics page, and under /debug by name what gives items of JSON."""

    healthz: Mapping[str, Check]
    livez: Mapping[str, Check]
    readyz: Mapping[str, Check]
    metrics: Callable[[], bytes]
    debug: Mapping[str, Callable[[], AsyncGenerator[Mapping[str, object], None]]] = dataclasses.field(default_factory=dict)


class HttpServer:
    """Serves ``endpoints`` on ``address``:``port``; port 0 takes any free one."""

    def __init__(self, endpoints: Endpoints, address: str, port: int) -> None:
        self._endpoints = endpoints
        self._address = address
        self._port = port
        self._runner: web.AppRunner | None = None

    async def start(self) -> int:
        """Listen; returns the port. Raises OSError when the address cannot be had."""
        app = web.Application()
        for path in ("healthz", "livez", "readyz"):
            handler = self._health(path, getattr(self._endpoints, path))
            app.router.add_get(f"/{path}", handler)
            app.router.add_get(f"/{path}/{{check}}", handler)
        app.router.add_get("/metrics", self._metrics)
        for name, items in self._endpoints.debug.items():
            app.router.add_get(f"/debug/{name}", _array(items))
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._address, self._port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening; requests under way have a second to end."""
        if self._runner is not None:
            await self._runner.cleanup()

    def _health(self, path: str, checks: Mapping[str, Check]) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            wanted = checks
            if (one := request.match_info.get("check")) is not None:
                if one not in checks:
                    raise web.HTTPNotFound
                wanted = {one: checks[one]}
            excluded = request.query.getall("exclude", [])
            return _verdict(path, {name: check for name, check in wanted.items() if name not in excluded}, "verbose" in request.query)

        return answer

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(
            body=self._endpoints.metrics(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"},
        )


def _array(items: Callable[[], AsyncGenerator[Mapping[str, object], None]]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Answers with the items as one JSON array, sent as they come."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if not _is_loopback(request.remote) or not _is_loopback(request.url.host):
            raise web.HTTPForbidden(text="/debug answers on loopback only: use kubectl port-forward, and localhost as the host\n")
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-store"})
        async with contextlib.aclosing(items()) as each:
            try:
                first = await anext(each, None)
            except EdgeError as error:
                raise web.HTTPServiceUnavailable(text=f"{error}\n") from error
            await response.prepare(request)
            await response.write(b"[" if first is None else b"[" + _json(first))
            async for item in each:
                await response.write(b",\n" + _json(item))
        await response.write(b"]\n")
        return response

    return answer


def _json(item: object) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode()


def _is_loopback(host: str | None) -> bool:
    """Whether this is an address of this machine's own, or the name of one. A page in a browser may reach loopback, not by such a name."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _verdict(path: str, checks: Mapping[str, Check], verbose: bool) -> web.Response:
    """200 or 500, with a line per check where it was asked for or something is wrong."""
    failures = {name: error for name, check in checks.items() if (error := check()) is not None}
    if failures:
        log.warning("%s failed: %s", path, "; ".join(f"{name}: {error}" for name, error in failures.items()))
    lines = [f"[-]{name} failed: {failures[name]}" if name in failures else f"[+]{name} ok" for name in checks]
    if not failures and not verbose:
        return web.Response(text="ok")
    lines.append(f"{path} check {'failed' if failures else 'passed'}\n")
    return web.Response(text="\n".join(lines), status=500 if failures else 200)
