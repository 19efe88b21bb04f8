"""A tiny API server: discovery, list and watch of a few cluster-scoped kinds, and whatever else a
test adds as a route.

It keeps every request, so that a test can say what was and what was not asked for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

SERVED = {
    "/api/v1": ["namespaces", "events"],
    "/apis/apiextensions.k8s.io/v1": ["customresourcedefinitions"],
    "/apis/moorage.dev/v1alpha1": ["schedulerprofiles", "pluginconfigs"],
}
KINDS = {
    "schedulerprofiles": "SchedulerProfile",
    "pluginconfigs": "PluginConfig",
    "customresourcedefinitions": "CustomResourceDefinition",
}


class FakeApi:
    """Objects by collection and name; a change is seen by every open watch."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str] = []
        """Authorization headers as they came."""
        self.refuse: dict[str, int] = {}
        """Token -> status that it is answered with."""
        self.version = 1
        self._objects: dict[str, dict[str, dict[str, Any]]] = {
            f"{base}/{plural}": {} for base, plurals in SERVED.items() for plural in plurals
        }
        self._watches: list[tuple[str, asyncio.Queue[bytes]]] = []
        self.app = web.Application(middlewares=[self._note])

    def put(self, plural: str, name: str, **spec: Any) -> None:
        """Make or change an object."""
        path = next(path for path in self._objects if path.endswith(f"/{plural}"))
        self.version += 1
        known = name in self._objects[path]
        body = {
            "apiVersion": path.removeprefix("/apis/").rsplit("/", 1)[0],
            "kind": KINDS[plural],
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": str(self.version),
                "generation": self.version,
            },
            "spec": spec,
        }
        self._objects[path][name] = body
        self._tell(path, "MODIFIED" if known else "ADDED", body)

    def delete(self, plural: str, name: str) -> None:
        """Delete an object."""
        path = next(path for path in self._objects if path.endswith(f"/{plural}"))
        self.version += 1
        body = self._objects[path].pop(name)
        body["metadata"]["resourceVersion"] = str(self.version)
        self._tell(path, "DELETED", body)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen on a free loopback port; gives the address."""
        self.app.router.add_get("/api", self._json({"versions": ["v1"]}))
        groups = [
            {
                "name": group,
                "versions": [{"version": version}],
                "preferredVersion": {"version": version},
            }
            for _, _, group, version in (
                path.split("/") for path in SERVED if path.startswith("/apis/")
            )
        ]
        self.app.router.add_get("/apis", self._json({"groups": groups}))
        for base, plurals in SERVED.items():
            resources = [
                {
                    "name": plural,
                    "kind": KINDS.get(plural, plural),
                    "singularName": "",
                    "namespaced": False,
                    "verbs": ["list", "watch"],
                }
                for plural in plurals
            ]
            self.app.router.add_get(base, self._json({"resources": resources}))
        for path in self._objects:
            self.app.router.add_get(path, self._collection)
        runner = web.AppRunner(self.app, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    def _tell(self, path: str, kind: str, body: dict[str, Any]) -> None:
        for watched, queue in self._watches:
            if watched == path:
                queue.put_nowait(json.dumps({"type": kind, "object": body}).encode() + b"\n")

    @web.middleware
    async def _note(self, request: web.Request, handler: Any) -> web.StreamResponse:
        token = request.headers.get("Authorization", "")
        self.requests.append((request.method, request.path))
        self.tokens.append(token)
        if token in self.refuse:
            raise _refusal(self.refuse[token])
        return await handler(request)  # type: ignore[no-any-return]

    async def _collection(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            items = list(self._objects[request.path].values())
            return web.json_response(
                {"metadata": {"resourceVersion": str(self.version)}, "items": items}
            )
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.append((request.path, queue))
        while True:
            await response.write(await queue.get())

    @staticmethod
    def _json(body: Any) -> Any:
        async def answer(_request: web.Request) -> web.Response:
            return web.json_response(body)

        return answer


def _refusal(status: int) -> web.HTTPException:
    return {401: web.HTTPUnauthorized, 403: web.HTTPForbidden}[status](
        text='{"kind": "Status"}', content_type="application/json"
    )
