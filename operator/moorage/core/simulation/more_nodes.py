"""More nodes: what would be if there were others like one that is there."""

from __future__ import annotations

from moorage.core.columns.cache import Cache
from moorage.core.columns.new_nodes import new_nodes
from moorage.core.objects.nodes import kind_of_node
from moorage.core.simulation.simulator import Simulator


def add_nodes(simulator: Simulator, like: str, count: int) -> tuple[str, ...]:
    """So many new nodes, each with what DaemonSets have on the one that they are like; their names.
    KeyError when that one is not there.
    """
    chosen = list(new_nodes(simulator.context.cache, like, count))
    for new in chosen:
        simulator.put_node(new.node)
        if new.drivers is not None:
            simulator.put_object(new.drivers)
        for pod in new.pods:
            simulator.log.observe(pod)
    return tuple(new.node.metadata.name for new in chosen)


def shapes(cache: Cache) -> list[str]:
    """One node of each kind there is, those of the most common kind first."""
    found: dict[bytes, list[str]] = {}
    for name, row in cache.nodes.row_of.items():
        node = cache.nodes.nodes[row]
        if node is not None:
            found.setdefault(kind_of_node(node), []).append(name)
    return [names[0] for names in sorted(found.values(), key=len, reverse=True)]
