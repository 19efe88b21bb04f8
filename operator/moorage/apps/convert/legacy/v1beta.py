"""KubeSchedulerConfiguration v1beta2 and v1beta3 as v1: the same fields, with other defaults and some plugins of the past."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.apps.convert.kube_configuration import API_GROUP, API_VERSION, without_nulls
from moorage.apps.convert.kube_plugins import REMOVED
from moorage.apps.convert.remarks import Remark

OLDER = (f"{API_GROUP}/v1beta2", f"{API_GROUP}/v1beta3")
LIMITS = "NodeVolumeLimits"
_GONE = {
    "NodePreferAvoidPods": "nodes are kept free by taints now",
    "SelectorSpread": "PodTopologySpread's default constraints do that now",
}
_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
WEIGHTS_BEFORE_V1BETA3 = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
"""Weights of default plugins that were raised in v1beta3."""


def as_v1(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Remark]]:
    """The configuration in v1, as far as it has the right shape: the rest is for who reads it."""
    plain, past = without_the_past(document)
    remarks = [Remark(field, "is gone: serving.bindAddress of the OperatorConfiguration") for field in _ADDRESSES if plain.pop(field, "")]
    remarks += past
    before_v1beta3 = plain["apiVersion"] == OLDER[0]
    for profile in _objects(plain, "profiles"):
        plugins = profile.get("plugins", {})
        if isinstance(plugins, dict) and before_v1beta3:
            profile["plugins"] = _weighed_as_before(plugins)
        for entry in _objects(profile, "pluginConfig"):
            if (args := entry.get("args")) and isinstance(args, dict) and args.get("apiVersion") in OLDER:
                args["apiVersion"] = API_VERSION
    election = plain.get("leaderElection")
    if isinstance(election, dict) and election.get("resourceLock", "leases") != "leases":
        remarks.append(Remark("leaderElection.resourceLock", f"{election.pop('resourceLock')!r} is gone: the lock is a Lease"))
    return {**plain, "apiVersion": API_VERSION}, remarks


def without_the_past(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[Remark]]:
    """The configuration without plugins that are no more. kube-scheduler wrote them into files of v1 itself, up to 1.31."""
    plain: dict[str, Any] = without_nulls(document)
    remarks: list[Remark] = []
    beta = plain.get("apiVersion") in OLDER
    for i, profile in enumerate(_objects(plain, "profiles")):
        plugins = profile.get("plugins", {})
        for point, plugin_set in plugins.items() if isinstance(plugins, dict) else ():
            remarks += _without_the_past(f"profiles[{i}].plugins.{point}", plugin_set, _GONE if beta else {})
        for j, entry in enumerate(_objects(profile, "pluginConfig")):
            if entry.get("name") in REMOVED:
                remarks.append(Remark(f"profiles[{i}].pluginConfig[{j}]", f"{entry['name']} is gone: {LIMITS} takes no arguments"))
        if isinstance(profile.get("pluginConfig"), list):
            kept = [one for one in profile["pluginConfig"] if not isinstance(one, dict) or one.get("name") not in REMOVED]
            profile["pluginConfig"] = kept
    return plain, remarks


def _without_the_past(path: str, plugin_set: Any, gone: Mapping[str, str]) -> list[Remark]:
    """Take plugins that are no more out of a plugin set. Those for limits of volumes are all one now."""
    remarks: list[Remark] = []
    for entry in _objects(plugin_set, "enabled"):
        name = str(entry.get("name"))
        if name in REMOVED:
            remarks.append(Remark(path, f"{name} is gone: {LIMITS} does that now"))
            if not any(other.get("name") == LIMITS for other in _objects(plugin_set, "enabled")):
                entry["name"] = LIMITS
                continue
        elif name in gone:
            remarks.append(Remark(path, f"{name} is gone: {gone[name]}"))
        else:
            continue
        plugin_set["enabled"].remove(entry)
    return remarks


def _weighed_as_before(plugins: dict[str, Any]) -> dict[str, Any]:
    """The plugins with the old weights of default plugins that nobody mentions."""
    multi = plugins.get("multiPoint", {})
    lists = [*_objects(multi, "enabled"), *_objects(multi, "disabled"), *_objects(plugins.get("score"), "enabled")]
    mentioned = {entry.get("name") for entry in lists}
    if "*" in mentioned or not isinstance(multi, dict):
        return plugins
    added = [{"name": name, "weight": weight} for name, weight in WEIGHTS_BEFORE_V1BETA3.items() if name not in mentioned]
    return {**plugins, "multiPoint": {**multi, "enabled": [*_objects(multi, "enabled"), *added]}}


def _objects(document: Any, field: str) -> list[dict[str, Any]]:
    """The objects in a list; what else may stand there is for who reads the configuration."""
    value = document.get(field) if isinstance(document, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
