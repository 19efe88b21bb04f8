"""Plugins that are no more. kube-scheduler wrote them into files of v1 itself, up to 1.31."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.apps.convert.kube_configuration import without_nulls
from moorage.apps.convert.kube_plugins import REMOVED
from moorage.apps.convert.remarks import ConversionRemark

LIMITS = "NodeVolumeLimits"


def without_removed(
    document: Mapping[str, Any], gone: Mapping[str, str]
) -> tuple[dict[str, Any], list[ConversionRemark]]:
    """The configuration without them, and without those in ``gone``: name -> what is to be
    known.
    """
    plain: dict[str, Any] = without_nulls(document)
    remarks: list[ConversionRemark] = []
    for i, profile in enumerate(objects_in(plain, "profiles")):
        plugins = profile.get("plugins", {})
        for point, plugin_set in plugins.items() if isinstance(plugins, dict) else ():
            remarks += _remove(f"profiles[{i}].plugins.{point}", plugin_set, gone)
        remarks += _remove_arguments(f"profiles[{i}].pluginConfig", profile)
    return plain, remarks


def _remove(path: str, plugin_set: Any, gone: Mapping[str, str]) -> list[ConversionRemark]:
    """Take them out of a plugin set. Those for limits of volumes are all one now."""
    remarks: list[ConversionRemark] = []
    for entry in objects_in(plugin_set, "enabled"):
        name = str(entry.get("name"))
        if name in REMOVED:
            remarks.append(ConversionRemark(path, f"{name} is gone: {LIMITS} does that now"))
            if not any(other.get("name") == LIMITS for other in objects_in(plugin_set, "enabled")):
                entry["name"] = LIMITS
                continue
        elif name in gone:
            remarks.append(ConversionRemark(path, f"{name} is gone: {gone[name]}"))
        else:
            continue
        plugin_set["enabled"].remove(entry)
    return remarks


def _remove_arguments(path: str, profile: dict[str, Any]) -> list[ConversionRemark]:
    removed = [
        (i, entry)
        for i, entry in enumerate(objects_in(profile, "pluginConfig"))
        if entry.get("name") in REMOVED
    ]
    for _, entry in removed:
        profile["pluginConfig"].remove(entry)
    return [
        ConversionRemark(f"{path}[{i}]", f"{entry['name']} is gone: {LIMITS} takes no arguments")
        for i, entry in removed
    ]


def objects_in(document: Any, field: str) -> list[dict[str, Any]]:
    """The objects in a list; what else may stand there is for who reads the configuration."""
    value = document.get(field) if isinstance(document, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
