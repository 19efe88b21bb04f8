"""A frame: what is seen of a cluster at one moment, taken by reference and by copies of arrays.

It is taken in one short step of whoever changes the cluster's context, and read on any thread
later. It is enough for all that tells of nodes and pods and decides nothing.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from moorage.core.columns.cache import PodInfo
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import BASIC

MAX_RESOURCES: Final = 20
"""Resources beside the basic ones; whoever writes nodes may name any number."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorldFrame:
    """``nodes`` in the order of their names; ``has`` and ``taken``: int64[len(nodes)] by resource.

    ``placed`` are pods on nodes, ``waiting`` those without.
    """

    nodes: tuple[Node, ...]
    has: Mapping[str, npt.NDArray[np.int64]]
    taken: Mapping[str, npt.NDArray[np.int64]]
    placed: tuple[PodInfo, ...]
    waiting: tuple[Pod, ...]
    profiles: Mapping[str, Revision]
    """The revisions that decide, by schedulerName."""
    origin: str
    """Continues a sentence after "from"."""
    at: datetime.datetime
    warnings: tuple[str, ...] = ()


def take_frame(
    context: CycleContext,
    profiles: Mapping[str, Revision],
    origin: str,
    at: datetime.datetime,
    warnings: tuple[str, ...] = (),
) -> WorldFrame:
    """The cluster now: milliseconds at 5,000 nodes and 150,000 pods."""
    cache = context.cache
    table = cache.nodes
    rows = np.array([table.row_of[name] for name in sorted(table.row_of)], np.intp)
    names = [*BASIC, *sorted(name for name in table.resources.names if name not in BASIC)]
    amounts = {name: table.amounts(name, rows) for name in names[: MAX_RESOURCES + len(BASIC)]}
    found = {name: one for name, one in amounts.items() if one is not None and one[0].any()}
    return WorldFrame(
        tuple(node for row in rows.tolist() if (node := table.nodes[row]) is not None),
        {name: has.copy() for name, (has, _) in found.items()},
        {name: taken.copy() for name, (_, taken) in found.items()},
        tuple(cache.pod_infos()),
        tuple(pod for uid, pod in cache.waiting.items() if cache.pod_info(uid) is None),
        dict(profiles),
        origin,
        at,
        warnings,
    )
