"""What a configuration comes to: the document that kube-scheduler would print, and for each
extension point what runs there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from moorage.api import plugin_args
from moorage.api.decoding import decoder
from moorage.api.extender_rules import ignored_resources
from moorage.apps.convert.assembling import FIT, AssembledProfile
from moorage.apps.convert.kube_configuration import (
    API_VERSION,
    ExtenderConfiguration,
    KubeSchedulerConfiguration,
)
from moorage.apps.convert.kube_plugins import OURS
from moorage.apps.convert.loading import LoadedConfiguration, LoadedProfile
from moorage.core.framework.registry import Registry
from moorage.core.plugins.node_resources.resource_allocation import CPU_AND_MEMORY
from moorage.core.plugins.volume_binding import plugin as volume_binding

_DEFAULT_RESOURCES = [{"name": spec.name, "weight": spec.weight} for spec in CPU_AND_MEMORY]


def effective(loaded: LoadedConfiguration, registry: Registry) -> dict[str, Any]:
    """The document, defaults filled in. ``profiles[].plugins`` maps an extension point to what runs
    there, in order.
    """
    config = loaded.config
    document: dict[str, Any] = decoder(KubeSchedulerConfiguration).encode(config)
    document["extenders"] = [_extender(extender) for extender in config.extenders]
    document["profiles"] = [
        _profile(profile, made, ignored_resources(config.extenders), registry)
        for profile, made in zip(loaded.profiles, loaded.built, strict=True)
    ]
    if config.enable_contention_profiling is None:
        document["enableContentionProfiling"] = config.enable_profiling
    for field in ("extenders", "delayCacheUntilActive"):
        if not document[field]:
            del document[field]
    return document


def _extender(extender: ExtenderConfiguration) -> dict[str, Any]:
    """Only what is set, and what always is."""
    given = extender.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    always = extender.model_dump(mode="json", by_alias=True, include={"url_prefix", "http_timeout"})
    return {**given, **always}


def _profile(
    loaded: LoadedProfile, made: AssembledProfile, ignored: list[str], registry: Registry
) -> dict[str, Any]:
    profile = loaded.profile
    document: dict[str, Any] = {
        "schedulerName": profile.scheduler_name,
        "plugins": {
            point: [{"name": ref.name, "weight": ref.weight or 0} for ref in plugins]
            for point, plugins in made.points.items()
            if plugins
        },
    }
    configured = [name for name in sorted(made.plugins) if _has_args(name, loaded, registry)]
    if configured:
        document["pluginConfig"] = [
            {"name": name, "args": _args(name, loaded.args.get(name), ignored, registry)}
            for name in configured
        ]
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return document


def _has_args(name: str, loaded: LoadedProfile, registry: Registry) -> bool:
    """Whether it is given some, or takes some of kube-scheduler's."""
    takes = registry[name].args if name in registry else None
    theirs = takes is not None and len(dataclasses.fields(takes)) > len(OURS.get(name, ()))
    return name in loaded.args or theirs


def _args(name: str, args: Any, ignored: list[str], registry: Registry) -> Any:
    """One plugin's arguments as a document; those of a plugin that takes none are passed
    through.
    """
    plugin = registry.get(name)
    if plugin is None or plugin.args is None:
        return args
    document = plugin_args.encode(plugin.args() if args is None else args)
    ours = OURS.get(name, ())
    document = {field: value for field, value in document.items() if field not in ours}
    if name == FIT:
        strategy = document.get("scoringStrategy") or {"type": "LeastAllocated"}
        document["scoringStrategy"] = _with_resources(strategy)
        if ignored:
            document["ignoredResources"] = ignored
    elif name == "NodeResourcesBalancedAllocation":
        document = _with_resources(document)
    elif name == volume_binding.NAME and not document.get("shape"):
        document["shape"] = plugin_args.encode(plugin.args())["shape"]
    return {**document, "apiVersion": API_VERSION, "kind": f"{name}Args"}


def _with_resources(document: Mapping[str, Any]) -> dict[str, Any]:
    """No resources means the default ones, and no weight means 1."""
    resources = [
        {**resource, "weight": resource["weight"] or 1}
        for resource in document.get("resources") or _DEFAULT_RESOURCES
    ]
    return {**document, "resources": resources}
