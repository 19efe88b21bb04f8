"""Visitors of the page: a server with the invented cluster, and real clients."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from moorage.apps.ui.loopback import Doorkeeper, LoopbackHandler
from moorage.apps.ui.loopback_server import LoopbackServer
from moorage.apps.ui.page_handler import PageHandler
from moorage.apps.ui.page_source import PageSource
from moorage.apps.ui.static_files import StaticFiles


@dataclasses.dataclass(frozen=True, slots=True)
class Visited:
    """A page that is served, and a client that has its cookie."""

    client: aiohttp.ClientSession
    server: LoopbackServer
    doorkeeper: Doorkeeper

    def url(self, path: str) -> str:
        """Of this port."""
        return f"http://127.0.0.1:{self.server.port}{path}"

    async def get(self, path: str, **more: Any) -> tuple[aiohttp.ClientResponse, bytes]:
        """An answer with its body."""
        async with self.client.get(self.url(path), **more) as answer:
            return answer, await answer.read()


@contextlib.asynccontextmanager
async def visited(source: PageSource) -> AsyncIterator[Visited]:
    """The page of this source, opened as a browser does."""
    server, doorkeeper = LoopbackServer(0), Doorkeeper()
    page = PageHandler(source, StaticFiles.of_package())
    await server.start(LoopbackHandler(page, doorkeeper, server.port).answer)
    jar = aiohttp.CookieJar(unsafe=True)  # it is an address, no name
    connector = aiohttp.TCPConnector(limit=0)
    try:
        async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as client:
            found = Visited(client, server, doorkeeper)
            await found.get(f"/open/{doorkeeper.token}")
            yield found
    finally:
        await server.stop()
        await asyncio.sleep(0)  # transports close in the next turn
