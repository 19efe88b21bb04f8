"""The names of nodes, namespaces and pods, as far as they may be listed."""

from __future__ import annotations

import json
import urllib.parse

from moorage.apps.exit_status import NoAnswer
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import HttpCall

_ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_PAGE = 5000


async def names_of_objects(connection: Connection) -> frozenset[str]:
    """Each alone. Raises NoAnswer where one of the lists cannot be had: its names would stay."""
    found: set[str] = set()
    for resource in ("nodes", "namespaces", "pods"):
        token = ""
        while True:
            query = urllib.parse.urlencode({"limit": _PAGE, "continue": token})
            call = HttpCall("GET", f"/api/v1/{resource}?{query}", accept=_ACCEPT, timeout=60.0)
            try:
                page = json.loads(await connection.session.call(call))
            except EdgeError as error:
                raise NoAnswer(f"--hash-names: {resource} cannot be listed: {error}") from error
            found |= {item["metadata"]["name"] for item in page["items"]}
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                break
    return frozenset(found)
