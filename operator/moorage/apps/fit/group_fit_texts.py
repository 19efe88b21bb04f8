"""What `moorage fit` prints of pod groups, for people and for programs, and of more nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from moorage.apps.printing.amounts import counted
from moorage.apps.printing.terminal import Style, sentence
from moorage.core.objects.meta import key
from moorage.core.simulation.fitting import MAX_MORE_NODES, MoreNodes
from moorage.core.simulation.group_fits import GroupFit

_DOMAINS = 5
"""Values of a topology key that are shown."""


def group_parts(group: GroupFit) -> Iterator[RenderableType]:
    """Whether the group would start, what stands in the way, and each value of its topology key."""
    yield sentence(group_sentence(group), Style.WELL if group.fits else Style.REFUSED)
    if group.obstacle is not None and not group.fits:
        yield sentence(f"  lacks   {key(group.obstacle)}: {group.reason}")
    elif not group.starts:
        yield sentence(f"  lacks   {group.reason}")
    elif group.counted_out:
        yield sentence(f"  next    {_of_obstacle(group)}{group.reason}", Style.DIM)
    if topology := group.spec.topology_key:
        for one in group.domains[:_DOMAINS]:
            why = f": {one.reason}" if one.reason else ""
            yield sentence(f"  {topology} {one.name} takes {one.found}{why}")
        if more := len(group.domains[_DOMAINS:]):
            yield sentence(f"  and {more} more values of {topology}", Style.DIM)
    if not group.starts and group.obstacle is not None:
        yield sentence(f"  short   {short_of(group.more_nodes, 'the group')}")


def group_sentence(group: GroupFit) -> str:
    """Whether it would start."""
    name, placed, members = group.spec.name, len(group.nodes), len(group.members)
    if not group.starts:
        needed = group.spec.min_count
        return (
            f"Pod group {name} would not start: it needs {needed} together, {placed} find a place."
        )
    nodes = counted(len({node for _, node in group.nodes}), "node")
    least = "" if group.counted_out else "at least "
    room = f"there is room for {least}{counted(group.room, 'such group')} in all"
    return f"Pod group {name} starts: {placed} of {members} members fit, on {nodes}; {room}."


def _of_obstacle(group: GroupFit) -> str:
    return "" if group.obstacle is None else f"another such group lacks {key(group.obstacle)}: "


def short_of(more_nodes: MoreNodes | None, what: str) -> str:
    """How many more nodes would do for what lacks a place."""
    if more_nodes is None:
        return f"{what}; more nodes of the kinds that there are would not do"
    needed, like = more_nodes
    if needed > MAX_MORE_NODES:
        return f"{what}; {counted(MAX_MORE_NODES, 'more node')} like {like} would not do"
    return f"{what}; {counted(needed, 'more node')} like {like} would do"


def short_group(group: GroupFit) -> dict[str, Any]:
    """Of one that would not start."""
    return {
        "name": group.spec.name,
        "needed": group.spec.min_count,
        "placed": len(group.nodes),
    }


def group_document(group: GroupFit) -> dict[str, Any]:
    """The group for programs."""
    spec = group.spec
    return {
        "name": spec.name,
        "api": spec.key.api,
        "gang": spec.is_gang,
        "minCount": spec.min_count,
        "members": len(group.members),
        "starts": group.starts,
        "placements": [{"pod": key(pod), "node": node} for pod, node in group.nodes],
        "room": group.room,
        "roomIsExact": group.counted_out,
        "topologyKey": spec.topology_key,
        "domains": [
            {"name": one.name, "members": one.found, "reason": one.reason, "tried": one.tried}
            for one in group.domains
        ],
        "obstacle": "" if group.obstacle is None else key(group.obstacle),
        "reason": group.reason,
        "moreNodes": more_nodes_document(group.more_nodes),
    }


def more_nodes_document(found: MoreNodes | None) -> dict[str, Any] | None:
    """Nodes with which what lacks a place would have one."""
    if found is None:
        return None
    exact = found.needed <= MAX_MORE_NODES
    return {"needed": found.needed, "isExact": exact, "like": found.like}
