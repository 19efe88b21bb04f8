"""The actors in the tree, and how plugins get theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import Registry
from moorage.engine.binding.actors.contract import (
    Actor,
    ActorFactory,
    ActorTools,
    BindActor,
    PermitActor,
    PostBindActor,
    PostFilterActor,
    PreBindActor,
)
from moorage.engine.binding.actors.default_binder import DefaultBinder
from moorage.engine.binding.actors.device_binder import DeviceBinder
from moorage.engine.binding.actors.group_permitter import GroupPermitter
from moorage.engine.binding.actors.volume_binder import VolumeBinder

ACTORS: dict[str, ActorFactory] = {
    "DefaultBinder": DefaultBinder,
    "VolumeBinding": VolumeBinder,
    "DynamicResources": DeviceBinder,
    "GangScheduling": GroupPermitter,
}
"""By plugin name."""

_PROTOCOLS: dict[ExtensionPoint, type[Any]] = {
    ExtensionPoint.POST_FILTER: PostFilterActor,
    ExtensionPoint.PERMIT: PermitActor,
    ExtensionPoint.PRE_BIND: PreBindActor,
    ExtensionPoint.BIND: BindActor,
    ExtensionPoint.POST_BIND: PostBindActor,
}


def join(
    registry: Registry, factories: Mapping[str, ActorFactory], tools: ActorTools
) -> dict[str, Actor]:
    """Make the actors. Raises ValueError when a plugin lacks the half that it says it has, or an
    actor has no plugin.
    """
    if strangers := [name for name in factories if name not in registry]:
        raise ValueError(f"actors without a plugin: {', '.join(strangers)}")
    actors: dict[str, Actor] = {}
    for name, spec in registry.items():
        if not spec.acts_at:
            continue
        if name not in factories:
            points = ", ".join(sorted(point.value for point in spec.acts_at))
            raise ValueError(f"plugin {name!r} acts at {points} but has no actor")
        actors[name] = factories[name](tools)
        _check_methods(name, actors[name], spec.acts_at)
    return actors


def _check_methods(name: str, actor: Actor, points: Iterable[ExtensionPoint]) -> None:
    for point in points:
        if not isinstance(actor, _PROTOCOLS[point]):
            raise ValueError(f"the actor of plugin {name!r} lacks the method for {point.value}")
