"""The quarantine writer: writes into the leader's Lease which plugin hung
(``ports.quarantine_record``), once the hung process is gone.

Everybody who may lead may write there, so it takes no further right; the next replica sees it
before it decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging

import moorage
from moorage.adapters.answers import object_at
from moorage.adapters.kube_session import KubeconfigError, KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.api.operator_config import OperatorConfiguration
from moorage.ports import quarantine_record
from moorage.ports.errors import Conflict, EdgeError, NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.retrying import Backoff, retrying

log = logging.getLogger(__name__)

WRITE_TIMEOUT_SECONDS = 20.0
"""Seconds for it; where it fails, the same plugin will hang again, and then it is written."""
RETRY_SECONDS = Backoff(0.5, 0.5)


def record(config: OperatorConfiguration, plugin: str, version: str) -> None:
    """Write down which plugin hung; the log says when that cannot be done."""
    asyncio.run(_record(config, plugin, version))


async def _record(config: OperatorConfiguration, plugin: str, version: str) -> None:
    connection, lease = config.client_connection, config.leader_election
    home = (lease.resource_namespace, lease.resource_name)
    try:
        async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
            source = KubeSource(connection.kubeconfig, connection.master)
            clock = SystemClock()
            user_agent = f"moorage/{moorage.__version__} watchdog"
            session = await KubeSession.open(source, user_agent, clock)
            try:
                write = functools.partial(add, session, *home, {plugin: version})
                await retrying(write, RETRY_SECONDS, clock, on_failure=_not_written)
            finally:
                await session.close()
    except (KubeconfigError, OSError, TimeoutError) as error:
        log.error("plugin %s could not be quarantined: %r", plugin, error)
    else:
        extra = {"lease": "/".join(home)}
        log.error("plugin %s %s is quarantined", plugin, version, extra=extra)


def _not_written(error: EdgeError, delay: float) -> None:
    log.warning("the record was not written, next attempt in %.1f s: %s", delay, error)


async def add(session: HttpSession, namespace: str, lease: str, plugins: dict[str, str]) -> None:
    """Add to the Lease's record, over exactly what was read; without leader election there may be
    no Lease yet.
    """
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    try:
        metadata = (await object_at(session, HttpCall("GET", f"{leases}/{lease}")))["metadata"]
    except NotFound:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        named = {"name": lease, "annotations": quarantine_record.annotation_value(plugins)}
        with contextlib.suppress(Conflict):
            made = json.dumps({**body, "metadata": named}).encode()
            await session.call(HttpCall("POST", leases, made))
            return
        metadata = (await object_at(session, HttpCall("GET", f"{leases}/{lease}")))["metadata"]
    known = quarantine_record.parse_annotations(metadata.get("annotations"))
    annotations = quarantine_record.annotation_value({**known, **plugins})
    version = {"resourceVersion": metadata["resourceVersion"], "annotations": annotations}
    patch = json.dumps({"metadata": version}).encode()
    await session.call(HttpCall("PATCH", f"{leases}/{lease}", patch, MERGE_PATCH))
