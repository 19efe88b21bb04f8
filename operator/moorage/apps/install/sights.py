"""What an API server shows of an installation: its Deployment, pods and Leases, and their logs."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable
from typing import Final

from moorage.adapters.answers import list_at
from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.object_keys import APP, INSTANCE, Document, ObjectKey
from moorage.apps.install.readiness import Sight, has_ended
from moorage.apps.reach.installations import look
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import HttpCall, HttpSession

_LINES: Final = 5


async def sight(session: HttpSession, clock: Clock, key: ObjectKey, lease_namespace: str) -> Sight:
    """The installation of this Deployment. Raises EdgeError."""
    namespace = urllib.parse.quote(key.namespace, safe="")
    query = urllib.parse.urlencode({"labelSelector": f"{APP}=moorage,{INSTANCE}={key.name}"})
    pods = await list_at(session, HttpCall("GET", f"/api/v1/namespaces/{namespace}/pods?{query}"))
    return Sight(
        await ClusterObjects(session).get(key),
        tuple(pods.items or ()),
        await look(session, lease_namespace, key.name),
        clock.now(),
    )


async def last_lines(session: HttpSession, pods: Iterable[Document]) -> dict[str, str]:
    """The end of each pod's log, by its name; of one that ended, of what ended. Those that cannot
    be read are left out: most that do not start have none.
    """
    found = {}
    for pod in pods:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        before = {"previous": "true"} if has_ended(pod) else {}
        query = urllib.parse.urlencode({"tailLines": _LINES, **before})
        path = f"/api/v1/namespaces/{namespace}/pods/{urllib.parse.quote(name, safe='')}/log"
        try:
            found[name] = (await session.call(HttpCall("GET", f"{path}?{query}"))).decode()
        except (EdgeError, UnicodeDecodeError):
            continue
    return found
