"""Recordings for which it is known what a profile can gain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from moorage.core.framework.revisions import Revision
from tests.apps.worlds.recordings import RESOLVER, write_recording
from tests.builders import make_node
from tests.core.simulation.clusters import a_context, a_pod
from tests.core.simulation.recordings import Visit, recorded
from tests.engine.worlds import a_body

SECONDS, CUT = 600.0, 400.0
"""How long a recording is, and what of it is searched."""
NODES, CORES = 6, 4


def small(begin: float, end: float) -> list[Visit]:
    """Pods of one core, four at a time, so that one node has room for all of them."""
    times = range(int(begin) + 5, int(end), 10)
    return [Visit(float(at), a_pod(f"s{at}", cpu="1", memory="100Mi"), 39.0) for at in times]


def whole(begin: float, end: float) -> list[Visit]:
    """Pods that fill a node, three at a time: no profile can put two of them on one."""
    times = range(int(begin) + 5, int(end), 13)
    return [Visit(float(at), a_pod(f"w{at}", cpu="4", memory="100Mi"), 38.0) for at in times]


def a_recording(
    path: Path, visits: Iterable[Visit], profiles: Mapping[str, Revision] | None = None
) -> Path:
    """Of ten minutes in which these pods come and go; decided by preset Default unless these
    profiles, by schedulerName, are given.
    """
    revisions = profiles or {"test": RESOLVER(a_body("test"), {}).revision}
    nodes = [make_node(f"n{i}", cpu=str(CORES)) for i in range(NODES)]
    entries = recorded(a_context(nodes), visits, SECONDS, revisions)
    begin = [entry for time, entry in entries if time == 0]
    return write_recording(path, begin, *entries[len(begin) :])
