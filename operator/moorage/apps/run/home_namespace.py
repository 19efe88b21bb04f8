"""The namespace of Lease and revisions, which the manifests bring and CRDs alone do not."""

from __future__ import annotations

import json
import logging
import urllib.parse

from moorage.adapters.answers import list_at
from moorage.adapters.kube_session import KubeSession
from moorage.apps.run.supervisor import RETRY_SECONDS
from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, EdgeError, Retryable
from moorage.ports.http_calls import HttpCall
from moorage.ports.kube import HOME_LABEL
from moorage.ports.repeated_logs import once_per_failure
from moorage.ports.retrying import Backoff, retrying

log = logging.getLogger(__name__)


async def ensure_namespace(session: KubeSession, clock: Clock, namespace: str) -> None:
    """Make the namespace of Lease and revisions where it is missing: the manifests bring it, CRDs
    alone do not.
    """

    def unanswered(error: EdgeError, seconds: float) -> None:
        text = "whether namespace %s is there could not be asked, next attempt in %.0f s: %s"
        log.warning(text, namespace, seconds, error, extra=once_per_failure(error))

    pause = Backoff(RETRY_SECONDS, RETRY_SECONDS)
    await retrying(lambda: _make_namespace(session, namespace), pause, clock, unanswered)


async def _make_namespace(session: KubeSession, namespace: str) -> None:
    # whoever may list may ask this
    query = urllib.parse.urlencode({"fieldSelector": f"metadata.name={namespace}"})
    home = {"metadata": {"name": namespace, "labels": {HOME_LABEL: "true"}}}
    try:
        found = await list_at(session, HttpCall("GET", f"/api/v1/namespaces?{query}"))
        if not found.items:
            await session.call(HttpCall("POST", "/api/v1/namespaces", json.dumps(home).encode()))
    except Conflict:
        pass  # another replica was faster
    except Retryable:
        raise
    except EdgeError as error:
        text = (
            "namespace %s is missing, and without it there is no Lease: kubectl create namespace "
            "%s: %s"
        )
        log.error(text, namespace, namespace, error)
