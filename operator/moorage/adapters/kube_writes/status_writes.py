"""The writes of a leader about itself: what became of its profiles, and which replicas are gone.

Each passes the fence right before it goes out, again when it is sent again because the API server
had too much to do. Bodies are encoded before the fence is asked, so that nothing but the send
follows it.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.api.v1alpha1.common import API_VERSION
from moorage.ports.clock import Clock
from moorage.ports.errors import NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.leadership import Fence
from moorage.ports.retrying import until_admitted
from moorage.ports.texts import replica_lease

_encode = msgspec.json.Encoder().encode
_CUSTOM = f"/apis/{API_VERSION}"


class HttpStatusWriter:
    """``ports.status_writer.StatusWriter``. ``home``: namespace and name of the leader's Lease.

    At most ``concurrency`` requests are under way at a time; one that the API server has put off
    waits beside them.
    """

    def __init__(
        self,
        session: HttpSession,
        fence: Fence,
        clock: Clock,
        home: tuple[str, str],
        concurrency: int = 64,
    ) -> None:
        self._session = session
        self._fence = fence
        self._clock = clock
        self._namespace, self._lease = home
        self._turns = asyncio.Semaphore(concurrency)

    @property
    def open(self) -> bool:
        """Whether the fence is open."""
        return self._fence.open

    async def profile_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a SchedulerProfile's status."""
        await self._send(
            "PATCH",
            f"{_CUSTOM}/schedulerprofiles/{name}/status",
            _encode({"status": status}),
            MERGE_PATCH,
        )

    async def plugin_config_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge-patch a PluginConfig's status."""
        await self._send(
            "PATCH",
            f"{_CUSTOM}/pluginconfigs/{name}/status",
            _encode({"status": status}),
            MERGE_PATCH,
        )

    async def delete_replica(self, identity: str) -> None:
        """Delete a replica's Lease."""
        name = replica_lease(self._lease, identity)
        await self._delete(
            f"/apis/coordination.k8s.io/v1/namespaces/{self._namespace}/leases/{name}"
        )

    async def _delete(self, path: str) -> None:
        try:
            await self._send("DELETE", path)
        except NotFound:
            return  # as wished

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        guard = functools.partial(self._fence.check, f"{method} {path}")
        call = HttpCall(method, path, body, content_type, guard=guard)
        return await until_admitted(functools.partial(self._in_turn, call), self._clock)

    async def _in_turn(self, call: HttpCall) -> bytes:
        async with self._turns:
            return await self._session.call(call)
