"""Loading a KubeSchedulerConfiguration v1 as kube-scheduler 1.37 does when it starts: what it
refuses, or what it comes to.

It goes wrong in one of three ways, the first of which hides the others: the document can't be
decoded, it breaks rules, or the profiles can't be built. Certificates of extenders are not opened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from moorage.api import plugin_args
from moorage.api.decoding import DecodeError, decoder, shown
from moorage.api.extender_rules import ignored_resources
from moorage.apps.convert import assembling, validation
from moorage.apps.convert.kube_configuration import (
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    without_nulls,
)
from moorage.apps.convert.kube_plugins import OURS
from moorage.core.framework.arguments import FieldErrorType, Violation
from moorage.core.framework.registry import PluginSpec, Registry

RefusalStage: TypeAlias = Literal["decodeError", "invalid", "buildError"]
_JUDGED_LATE = ("NodeResourcesFit",)
"""kube-scheduler looks at these arguments only when it makes the plugin; nobody minds them in a
profile without it.
"""

_LISTED = "ignoredResources"
"""The field of NodeResourcesFit's arguments, which no other plugin has."""


class ConfigurationRefused(ValueError):
    """kube-scheduler would not start: how far it comes, and all that is wrong up to there. Paths
    are the document's.
    """

    def __init__(self, stage: RefusalStage, violations: Sequence[Violation]) -> None:
        self.stage = stage
        self.violations = tuple(violations)
        super().__init__(
            "; ".join(f"{one.path}: {one.value!r}: {one.message}" for one in violations)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile and its arguments: dataclasses of plugins that we know, documents of the others."""

    profile: KubeSchedulerProfile
    args: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration that kube-scheduler starts with."""

    config: KubeSchedulerConfiguration
    profiles: tuple[LoadedProfile, ...]
    built: tuple[assembling.AssembledProfile, ...]


def read(document: object, registry: Registry) -> LoadedConfiguration:
    """The configuration. ``registry`` has the arguments of plugins. Raises ConfigurationRefused."""
    config = _decoded(document)
    profiles = {f"profiles[{i}]": profile for i, profile in enumerate(config.profiles)}
    replaces = bool(ignored_resources(config.extenders))
    reads = [_Arguments(path, profile, registry, replaces) for path, profile in profiles.items()]
    faults = [one for read in reads for one in read.faults]
    if malformed := [one for one in faults if one.error_type is FieldErrorType.MALFORMED]:
        raise ConfigurationRefused("decodeError", malformed)
    if invalid := [*validation.violations(config), *faults]:
        raise ConfigurationRefused("invalid", invalid)
    built = tuple(assembling.assemble(path, profile) for path, profile in profiles.items())
    if unfit := list(_build_faults(config, built, reads)):
        raise ConfigurationRefused("buildError", unfit)
    loaded = tuple(LoadedProfile(read.profile, read.args) for read in reads)
    return LoadedConfiguration(config, loaded, built)


def _decoded(document: object) -> KubeSchedulerConfiguration:
    plain = without_nulls(document)
    if faults := list(_wrong_header(plain)):
        raise ConfigurationRefused("decodeError", faults)
    try:
        return decoder(KubeSchedulerConfiguration).decode(plain).defaulted()
    except DecodeError as error:
        raise ConfigurationRefused("decodeError", error.violations) from error


def _build_faults(
    config: KubeSchedulerConfiguration,
    built: Sequence[assembling.AssembledProfile],
    reads: Sequence[_Arguments],
) -> Iterator[Violation]:
    """Why the profiles cannot be made of what was read."""
    for profile in built:
        yield from profile.faults
    for profile, read in zip(built, reads, strict=True):
        for name in read.late:
            if name in profile.plugins:
                yield from read.late[name]
    given = [{*read.args, *read.late} for read in reads]
    yield from assembling.extender_faults(config, built, given)


def _wrong_header(document: object) -> Iterator[Violation]:
    if not isinstance(document, Mapping):
        yield Violation("", shown(document), "must be an object", FieldErrorType.MALFORMED)
        return
    for field, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if document.get(field) != wanted:
            yield Violation(
                field, shown(document.get(field)), f'must be "{wanted}"', FieldErrorType.MALFORMED
            )


def _not_kube_schedulers(
    path: str, plugin: str, document: Mapping[str, Any]
) -> Iterator[Violation]:
    """Arguments that only our plugin has."""
    for field in OURS.get(plugin, ()):
        if field in document:
            yield Violation(
                f"{path}.{field}",
                shown(document[field]),
                "kube-scheduler has no such field",
                FieldErrorType.MALFORMED,
            )


class _Arguments:
    """The arguments in one profile: those that can be read, faults, and faults that come out late,
    by plugin.

    ``replaces``: extenders name the resources that are to be ignored, in the place of those that
    the arguments of NodeResourcesFit list. Nobody judges these then.
    """

    def __init__(
        self, path: str, profile: KubeSchedulerProfile, registry: Registry, replaces: bool
    ) -> None:
        self.profile = profile
        self._replaces = replaces
        self.args: dict[str, Any] = {}
        self.faults: list[Violation] = []
        self.late: dict[str, list[Violation]] = {}
        for i, entry in enumerate(profile.plugin_config):
            plugin = registry.get(entry.name)
            if plugin is None or plugin.args is None:
                if entry.args is not None:
                    self.args[entry.name] = entry.args
                continue
            place = f"{path}.pluginConfig[{i}].args"
            document = {} if entry.args is None else entry.args
            if isinstance(document, Mapping):
                self._read(place, plugin, document)
            else:
                kind = FieldErrorType.MALFORMED
                self.faults.append(Violation(place, shown(document), "must be an object", kind))

    def _read(self, path: str, plugin: PluginSpec, document: Mapping[str, Any]) -> None:
        self.faults += _not_kube_schedulers(path, plugin.name, document)
        try:
            self.args[plugin.name] = plugin_args.decode(plugin, document)
        except DecodeError as error:
            if self._replaces and all(_is_of_a_listed_resource(one) for one in error.violations):
                self.args[plugin.name] = plugin_args.decode(plugin, {**document, _LISTED: []})
                return
            found = [one.under(path) for one in error.violations]
            late = [one for one in found if _is_judged_late(plugin.name, one)]
            self.faults += [one for one in found if one not in late]
            self.late[plugin.name] = late


def _is_of_a_listed_resource(fault: Violation) -> bool:
    return fault.path.startswith(f"{_LISTED}[") and fault.error_type is not FieldErrorType.MALFORMED


def _is_judged_late(plugin: str, fault: Violation) -> bool:
    return plugin in _JUDGED_LATE and fault.error_type is not FieldErrorType.MALFORMED
