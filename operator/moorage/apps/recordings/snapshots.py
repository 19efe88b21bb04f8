"""The snapshot: what the API server says of a cluster now, in a file that every command opens as it
opens a recording.
"""

from __future__ import annotations

import asyncio
import datetime
import re
import urllib.parse
from pathlib import Path

from moorage.api.resolution import Resolver
from moorage.apps.commands.output_files import shown
from moorage.apps.recordings.saving import finish, new_recorder
from moorage.apps.worlds import deciding
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.from_cluster import list_whole, who_decides
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.reaching import Connection, connected
from moorage.apps.worlds.world import ProgressListener, empty_context, unheard
from moorage.core.recording.key_frames import key_frame
from moorage.ports.stored_kinds import kinds_in


def snapshot(
    choice: ClusterChoice,
    path: Path | None,
    resolver: Resolver,
    listener: ProgressListener = unheard,
) -> list[str]:
    """Write it; the lines to print, the answer first. Without a path the file is named after the
    cluster and the time. ``listener`` hears how far that has come. Raises NoAnswer and WrongUse.
    """
    return asyncio.run(_snapshot(choice, path, resolver, listener))


async def _snapshot(
    choice: ClusterChoice, path: Path | None, resolver: Resolver, listener: ProgressListener
) -> list[str]:
    observed = ObservedCluster(empty_context(), kinds_in(resolver.registry))
    async with connected(choice, waits_alone=False) as connection:
        file = path or Path(f"{_short_name(choice, connection)}-{_now()}.snap")
        unlisted = await list_whole(connection, observed, listener)
        found = await who_decides(connection, observed, resolver)
        recorder = new_recorder(file, resolver, connection.version, unlisted.forbidden)
    recorder.start()
    holds = deciding.holds(observed.profiles.bodies())
    recorder.put_key_frame(key_frame(observed.context.cache, found.revisions(), holds))
    finish(recorder, file)
    warnings = (*unlisted.warnings(), *found.warnings, *observed.set_aside())
    return [
        f"Wrote {shown(file)}: {_contents(observed)}.",
        *(f"  {warning}" for warning in warnings),
    ]


def _contents(observed: ObservedCluster) -> str:
    cache = observed.context.cache
    nodes, pods, waiting = len(cache.nodes), len(cache), len(cache.waiting)
    return f"{nodes:,} nodes, {pods:,} pods on nodes, {waiting:,} that wait"


def _short_name(choice: ClusterChoice, connection: Connection) -> str:
    """The context's name, or the API server's, as a file may be called."""
    host = urllib.parse.urlsplit(connection.session.server).hostname or "cluster"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", choice.context or host).strip("-.") or "cluster"


def _now() -> str:
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}"
