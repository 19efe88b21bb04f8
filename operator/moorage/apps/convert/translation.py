"""Translation of a KubeSchedulerConfiguration that kube-scheduler would start with into
SchedulerProfiles and PluginConfigs.

Most of a profile is pasted in as it is. What has no place in one, or would be refused there, is
left out and remarked on; so is what our own resolver has to say of the result. Extenders become
part of each profile; settings of the whole belong to the operator.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.api.extender_rules import ANY_HOST, ignored_resources
from moorage.api.operator_options import ExtenderPolicy
from moorage.api.resolution import Resolver
from moorage.apps.convert import custom_resources, global_settings
from moorage.apps.convert.assembling import FIT
from moorage.apps.convert.kube_configuration import DEFAULT_SCHEDULER, KubePluginSet, PluginEntry
from moorage.apps.convert.kube_plugins import KUBE_PLUGINS
from moorage.apps.convert.loading import LoadedConfiguration, LoadedProfile
from moorage.apps.convert.remarks import ConversionRemark

_WEIGHTED = ("score", "placementScore", "multiPoint")
_HEADER = ("apiVersion", "kind")


class Translation(NamedTuple):
    """Objects to apply, PluginConfigs first, and what there is to say about them."""

    objects: tuple[dict[str, Any], ...]
    remarks: tuple[ConversionRemark, ...]


def translate(
    loaded: LoadedConfiguration,
    resolver: Resolver,
    beside: Sequence[dict[str, Any]] = (),
    *,
    share_all: bool = False,
) -> Translation:
    """The whole configuration, with other names than the objects ``beside`` it have.

    ``share_all``: all arguments become PluginConfigs, not only those that profiles have in common.
    """
    extenders, remarks = global_settings.extenders(loaded.config)
    ignored = ignored_resources(loaded.config.extenders)
    profiles: list[dict[str, Any]] = []
    for i, (profile, built) in enumerate(zip(loaded.profiles, loaded.built, strict=True)):
        translating = _Translating(f"profiles[{i}]", profile, resolver)
        spec = {
            **translating.plugins(),
            **translating.plugin_config(ignored if FIT in built.plugins else []),
            **global_settings.of_every_profile(loaded.config, profile.profile),
            **({"extenders": extenders} if extenders else {}),
        }
        profiles.append(
            custom_resources.profile(profile.profile.scheduler_name, spec, [*beside, *profiles])
        )
        remarks += translating.remarks
    remarks += global_settings.remarks(loaded.config)
    configs = _share(profiles, beside, share_all)
    return Translation((*configs, *profiles), (*remarks, *refusals(profiles, configs, resolver)))


class _Translating:
    """One profile; collects remarks."""

    def __init__(self, path: str, loaded: LoadedProfile, resolver: Resolver) -> None:
        self.remarks: list[ConversionRemark] = []
        self._path = path
        self._loaded = loaded
        self._registry = resolver.registry
        if loaded.profile.scheduler_name == DEFAULT_SCHEDULER:
            text = "this profile is not served while kube-scheduler runs, which has this name too"
            self.remarks.append(ConversionRemark(f"{path}.schedulerName", text))

    def _remark(self, path: str, text: str) -> None:
        self.remarks.append(ConversionRemark(path, text))

    def plugins(self) -> dict[str, Any]:
        """The field ``plugins``; empty when there is nothing to say in it. The queue's order is the
        operator's.
        """
        found = {}
        for point, plugin_set in self._loaded.profile.plugins.by_point().items():
            path = f"{self._path}.plugins.{point}"
            if point != "queueSort" and (entries := self._plugin_set(path, point, plugin_set)):
                found[point] = entries
        return {"plugins": found} if found else {}

    def _plugin_set(self, path: str, point: str, plugin_set: KubePluginSet) -> dict[str, Any]:
        fields = {
            "enabled": self._enabled(f"{path}.enabled", point, plugin_set.enabled),
            "disabled": self._disabled(f"{path}.disabled", plugin_set.disabled),
        }
        return {field: entries for field, entries in fields.items() if entries}

    def _enabled(self, path: str, point: str, given: Sequence[PluginEntry]) -> list[dict[str, Any]]:
        enabled: list[dict[str, Any]] = []
        for i, entry in enumerate(given):
            if entry.name not in self._registry:
                text = f"{entry.name} is left out: there is no such plugin here"
                self._remark(f"{path}[{i}]", text)
                continue
            enabled.append({"name": entry.name})
            if entry.weight < 0:
                text = f"{entry.weight} is left out: a weight can't be negative"
                self._remark(f"{path}[{i}].weight", text)
            elif entry.weight and point in _WEIGHTED:
                enabled[-1]["weight"] = entry.weight
        return enabled

    def _disabled(self, path: str, given: Sequence[PluginEntry]) -> list[dict[str, Any]]:
        disabled = []
        for i, entry in enumerate(given):
            if entry.name == "*" or entry.name in self._registry:
                disabled.append({"name": entry.name})
            elif entry.name not in KUBE_PLUGINS:
                self._remark(f"{path}[{i}]", f"{entry.name!r} is left out: no plugin has this name")
        return disabled

    def plugin_config(self, ignored: Sequence[str]) -> dict[str, Any]:
        """The field ``pluginConfig``. ``ignored``: resources that extenders want to be ignored, in
        the place of those listed.
        """
        documents: dict[str, dict[str, Any]] = {}
        for i, entry in enumerate(self._loaded.profile.plugin_config):
            given = {key: value for key, value in (entry.args or {}).items() if key not in _HEADER}
            if left_out := self._why_left_out(entry.name):
                self._remark(f"{self._path}.pluginConfig[{i}]", left_out)
            elif given:
                documents[entry.name] = given
        if ignored:
            documents[FIT] = {**documents.get(FIT, {}), "ignoredResources": list(ignored)}
        entries = [{"name": name, "args": args} for name, args in documents.items()]
        return {"pluginConfig": entries} if entries else {}

    def _why_left_out(self, name: str) -> str:
        plugin = self._registry.get(name)
        if plugin is None:
            return f"{name!r} is left out: there is no such plugin here"
        if plugin.args is None:
            return f"{name!r} is left out: this plugin takes no arguments"
        if name not in self._loaded.args:
            text = "the profile does not use it, and its arguments are wrong"
            return f"{name} is left out: {text}"
        return ""


# ---- objects -------------------------------------------------------------------------------------


def _share(
    profiles: Sequence[Mapping[str, Any]], beside: Sequence[Mapping[str, Any]], share_all: bool
) -> list[dict[str, Any]]:
    """Turn arguments that several profiles have into PluginConfigs, and the profiles' entries into
    references to them.
    """
    entries = [entry for profile in profiles for entry in profile["spec"].get("pluginConfig", ())]
    counts = Counter(map(_contents, entries))
    configs: dict[str, dict[str, Any]] = {}
    for entry in entries:
        contents = _contents(entry)
        if share_all or counts[contents] > 1:
            if contents not in configs:
                configs[contents] = custom_resources.plugin_config(
                    entry, [*beside, *configs.values()]
                )
            del entry["args"]
            entry["configRef"] = {"name": configs[contents]["metadata"]["name"]}
    return list(configs.values())


def _contents(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True)


def refusals(
    profiles: Iterable[dict[str, Any]], configs: Iterable[dict[str, Any]], resolver: Resolver
) -> Iterator[ConversionRemark]:
    """What the operator would say to the objects; which hosts it has to allow is said by then."""
    config = resolver.config.model_copy(
        update={"extenders": ExtenderPolicy.model_construct(allowed_hosts=(ANY_HOST,))}
    )
    resolver = dataclasses.replace(resolver, config=config)
    by_name = {config["metadata"]["name"]: config for config in configs}
    for profile in profiles:
        for error in resolver(profile, by_name).errors:
            yield ConversionRemark(
                f"{profile['kind']} {profile['metadata']['name']}", f"is refused: {error}"
            )
