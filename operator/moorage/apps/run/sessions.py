"""Sessions with the API server: one for each loop, as connections belong to the loop that opened
them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging

import moorage
from moorage.adapters.kube_session import KubeSession, KubeSource, ResponseObserver
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run.side_loop import Side
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.leadership import late_seconds

log = logging.getLogger(__name__)

WARM_CONNECTIONS = 16
"""Opened before the first decision, so that the first bindings of a new leader do not wait for TLS
handshakes.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Sessions:
    """That of the main loop, and that of the side loop."""

    main: KubeSession
    side: KubeSession
    rights_in_doubt: asyncio.Event
    """Set where something on the main loop was answered with 403."""

    async def close(self, side: Side) -> None:
        """Close both."""
        await self.main.close()
        await side.run(self.side.close())

    async def warm(self) -> None:
        """Open the main loop's connections ahead."""
        try:
            await self.main.warm(WARM_CONNECTIONS)
        except EdgeError as error:
            log.warning("connections could not be opened ahead: %s", error)


async def open_session(
    config: OperatorConfiguration, identity: str, clock: Clock, observe: ResponseObserver
) -> KubeSession:
    """As the configuration says. Raises KubeconfigError."""
    connection = config.client_connection
    source = KubeSource(connection.kubeconfig, connection.master)
    # The identity tells replicas apart in the API server's audit log.
    user_agent = f"moorage/{moorage.__version__} {identity}"
    late = late_seconds(config.leader_election.lease_duration)
    return await KubeSession.open(source, user_agent, clock, observe, late)


def doubting(observe: ResponseObserver, rights_in_doubt: asyncio.Event) -> ResponseObserver:
    """Tells of answers as ``observe`` does; one that is a 403 puts our rights in doubt."""

    def told(host: str, method: str, code: str, seconds: float) -> None:
        observe(host, method, code, seconds)
        if code == "403":
            rights_in_doubt.set()

    return told
