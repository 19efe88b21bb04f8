"""KubeSchedulerConfiguration v1beta2 and v1beta3 as v1: the same fields, with other defaults and
some plugins of the past.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.apps.convert.kube_configuration import API_GROUP, API_VERSION
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.removed_plugins import objects_in, without_removed

OLDER = (f"{API_GROUP}/v1beta2", f"{API_GROUP}/v1beta3")
_GONE = {
    "NodePreferAvoidPods": "nodes are kept free by taints now",
    "SelectorSpread": "PodTopologySpread's default constraints do that now",
}
_ADDRESSES = ("healthzBindAddress", "metricsBindAddress")
WEIGHTS_BEFORE_V1BETA3 = {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
"""Weights of default plugins that were raised in v1beta3."""


def as_v1(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[ConversionRemark]]:
    """The configuration in v1, as far as it has the right shape: the rest is for who reads it."""
    plain, past = without_removed(document, _GONE)
    gone = "is gone: serving.bindAddress of the OperatorConfiguration"
    remarks = [ConversionRemark(field, gone) for field in _ADDRESSES if plain.pop(field, "")]
    remarks += past
    before_v1beta3 = plain["apiVersion"] == OLDER[0]
    for profile in objects_in(plain, "profiles"):
        if before_v1beta3 and isinstance(plugins := profile.get("plugins", {}), dict):
            profile["plugins"] = _weighed_as_before(plugins)
        for entry in objects_in(profile, "pluginConfig"):
            args = entry.get("args")
            if isinstance(args, dict) and args.get("apiVersion") in OLDER:
                args["apiVersion"] = API_VERSION
    remarks += _with_a_lease(plain.get("leaderElection"))
    return {**plain, "apiVersion": API_VERSION}, remarks


def _with_a_lease(election: Any) -> Iterator[ConversionRemark]:
    """Take out which other lock there was."""
    if isinstance(election, dict) and election.get("resourceLock", "leases") != "leases":
        text = f"{election.pop('resourceLock')!r} is gone: the lock is a Lease"
        yield ConversionRemark("leaderElection.resourceLock", text)


def _weighed_as_before(plugins: dict[str, Any]) -> dict[str, Any]:
    """The plugins with the old weights of default plugins that nobody mentions."""
    multi = plugins.get("multiPoint", {})
    lists = [
        *objects_in(multi, "enabled"),
        *objects_in(multi, "disabled"),
        *objects_in(plugins.get("score"), "enabled"),
    ]
    mentioned = {entry.get("name") for entry in lists}
    if "*" in mentioned or not isinstance(multi, dict):
        return plugins
    added = [
        {"name": name, "weight": weight}
        for name, weight in WEIGHTS_BEFORE_V1BETA3.items()
        if name not in mentioned
    ]
    return {**plugins, "multiPoint": {**multi, "enabled": [*objects_in(multi, "enabled"), *added]}}
