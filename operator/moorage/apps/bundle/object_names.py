"""The names of nodes, namespaces and pods, as far as they may be listed."""

from __future__ import annotations

from typing import Final

from moorage.apps.exit_status import NoAnswer
from moorage.apps.reach.listing import each_item
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import METADATA_ALONE

_PAGE: Final = {"limit": "5000"}


async def names_of_objects(connection: Connection) -> frozenset[str]:
    """Each alone. Raises NoAnswer where one of the lists cannot be had: its names would stay."""
    found: set[str] = set()
    for resource in ("nodes", "namespaces", "pods"):
        path = f"/api/v1/{resource}"
        try:
            async for one in each_item(connection.session, path, _PAGE, accept=METADATA_ALONE):
                found.add(one["metadata"]["name"])
        except EdgeError as error:
            raise NoAnswer(f"--hash-names: {resource} cannot be listed: {error}") from error
    return frozenset(found)
