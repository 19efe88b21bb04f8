"""Node pools: the nodes on which a profile's pods may go, as NodeAffinity's addedAffinity requires
them for all of its pods; and whether two pools could have a node in common.

Pure, and judged from selectors: whether there is such a node today does not count. What single pods
select does not count either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from kubefacts.labels import LabelRequirementCheck, SelectorError, can_hold
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.decoding import DecodeError, decoder
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import Plugins, SchedulerProfile
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import ProfileErrors, Revision
from moorage.core.plugins.node_affinity import NAME, NodeAffinityArgs, NodeAffinityPlugin
from moorage.core.pods.node_selection import NODE_NAME, NodeTerm, NodeTerms

NodePool: TypeAlias = NodeTerms | None
"""Nodes that match any of the terms; None: all nodes."""

_ANY_NODE: NodeTerms = (NodeTerm(()),)
_NAMED = LabelRequirementCheck(NODE_NAME, "Exists")


def may_meet(one: NodePool, other: NodePool) -> bool:
    """Whether there could be a node in both."""
    return any(
        can_hold(mine.labels + theirs.labels) and can_hold((_NAMED, *mine.fields, *theirs.fields))
        for mine in (_ANY_NODE if one is None else one)
        for theirs in (_ANY_NODE if other is None else other)
    )


def pool_of(revision: Revision) -> NodePool:
    """The pool of a revision."""
    plugin = revision.deciders.get(NAME)
    filters = NAME in revision.points[ExtensionPoint.FILTER]
    return plugin.added_terms if filters and isinstance(plugin, NodeAffinityPlugin) else None


@dataclasses.dataclass(frozen=True, slots=True)
class StatedPool:
    """What a profile's spec says of its pool: NodeAffinity's arguments, or the name of the
    PluginConfig that has them. Neither: all nodes.
    """

    args: Mapping[str, Any] | None = None
    config: str = ""

    def pool(self, configs: Mapping[str, Body]) -> NodePool:
        """The pool; all nodes where it cannot be read, as another release may read it."""
        try:
            args = _args(configs[self.config]) if self.config in configs else self.args
            return NodeAffinityPlugin(decoder(NodeAffinityArgs).decode(args or {})).added_terms
        except (ProfileErrors, DecodeError, SelectorError):
            return None


def stated_pool(profile: Body) -> StatedPool:
    """What the spec of a profile says, of whichever installation: its plugins may be unknown
    here.
    """
    try:
        spec = bodies.decode(SchedulerProfile, profile).spec
    except ProfileErrors:
        return StatedPool()
    entry = next((one for one in spec.plugin_config if one.name == NAME), None)
    if entry is None or not _filters(spec.plugins or Plugins()):
        return StatedPool()
    return StatedPool(entry.args, entry.config_ref.name if entry.config_ref is not None else "")


def _args(config: Body) -> Mapping[str, Any] | None:
    spec = bodies.decode(PluginConfig, config).spec
    return spec.args if spec.plugin == NAME else None


def _filters(plugins: Plugins) -> bool:
    """Whether NodeAffinity runs as a filter: all presets have it, and what stands at the point
    itself comes last.
    """
    runs = True
    for given in (plugins.multi_point, plugins.filter):
        if given is None:
            continue
        if any(ref.name == NAME for ref in given.enabled):
            runs = True
        elif any(ref.name in (NAME, "*") for ref in given.disabled):
            runs = False
    return runs
