"""An embedded cluster in which somebody plays kubelets and the operator: pods of the installation
become Ready, and one of them holds the Lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.object_keys import INSTANCE, ObjectKey
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from towtank import Cluster, ClusterSettings
from towtank.controllers.manager import ControllerSettings

LEASE: Final = ("coordination.k8s.io/v1", "Lease")


class Played:
    """What a test asks of the cluster. ``plays``: whether pods become Ready."""

    def __init__(self, session: HttpSession, kubeconfig: Path) -> None:
        self.session = session
        self.objects = ClusterObjects(session)
        self.kubeconfig = kubeconfig
        self.plays = True

    async def play(self, namespace: str) -> None:
        """Until it is cancelled."""
        while True:
            with contextlib.suppress(EdgeError):  # nothing is there yet
                if self.plays:
                    await self._step(namespace)
            await asyncio.sleep(0.05)

    async def _step(self, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods"
        leaders: dict[str, str] = {}
        for pod in json.loads(await self.session.call(HttpCall("GET", path)))["items"]:
            name = pod["metadata"]["name"]
            leaders.setdefault(pod["metadata"]["labels"][INSTANCE], name)
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            await self._merge(f"{path}/{name}/status", {"status": status})
        for lease, pod_name in leaders.items():
            await self._hold(namespace, lease, pod_name)

    async def _hold(self, namespace: str, lease: str, pod: str) -> None:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": f"{pod}_1", "leaseDurationSeconds": 15, "renewTime": now}
        body: dict[str, Any] = {"metadata": {"name": lease}, "spec": spec}
        path = f"/apis/{LEASE[0]}/namespaces/{namespace}/leases"
        if await self.objects.get(ObjectKey(*LEASE, lease, namespace)) is None:
            await self.session.call(HttpCall("POST", path, json.dumps(body).encode()))
        else:
            await self._merge(f"{path}/{lease}", body)

    async def _merge(self, path: str, patch: dict[str, Any]) -> None:
        await self.session.call(HttpCall("PATCH", path, json.dumps(patch).encode(), MERGE_PATCH))


@contextlib.asynccontextmanager
async def played(namespace: str = "moorage-system") -> AsyncIterator[Played]:
    """The cluster; Deployments have pods there."""
    settings = ClusterSettings(controllers=ControllerSettings(kubelets=False))
    async with Cluster(settings) as cluster:
        choice = ClusterChoice(str(cluster.kubeconfig))
        async with connected(choice, waits_alone=False) as connection:
            there = Played(connection.session, cluster.kubeconfig)
            playing = asyncio.create_task(there.play(namespace))
            try:
                yield there
            finally:
                playing.cancel()
                await asyncio.wait({playing})
