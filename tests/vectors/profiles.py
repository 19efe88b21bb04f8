"""From a KubeSchedulerProfile v1, as a user writes it, to a revision of ours."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from moorage.core.framework.arguments import Validated
from moorage.core.framework.profiles import PluginRef, PluginSet, ProfileSpec, Revision, resolve
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

REGISTRY = build_registry(INTREE)


def revision_of(profile: dict[str, Any]) -> Revision:
    """The profile resolved over the Default preset. Raises ProfileErrors, or ValueError for arguments."""
    plugins = {point: _plugin_set(entry) for point, entry in profile.get("plugins", {}).items()}
    args = {entry["name"]: _args(entry["name"], entry["args"]) for entry in profile.get("pluginConfig", ())}
    return resolve(ProfileSpec(profile["schedulerName"], plugins=plugins, args=args), REGISTRY, PRESETS)


def _plugin_set(entry: dict[str, Any]) -> PluginSet:
    enabled = tuple(PluginRef(one["name"], one.get("weight", 0)) for one in entry.get("enabled", ()))
    return PluginSet(enabled, tuple(one["name"] for one in entry.get("disabled", ())))


def _args(plugin: str, document: dict[str, Any]) -> Any:
    fields = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    kind = REGISTRY[plugin].args
    if kind is None:
        raise ValueError(f"{plugin} takes no arguments, got {fields}")
    args = TypeAdapter(kind).validate_json(json.dumps(fields), strict=True)
    if isinstance(args, Validated) and (violations := args.validate()):
        raise ValueError(f"{plugin}: {violations}")
    return args
