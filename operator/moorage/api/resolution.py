"""Resolution: from a SchedulerProfile and the PluginConfigs that it references to a revision that
can run, or to all that is wrong.

Pure, and never raises for what objects hold: they may have been stored before the schema said what
it says today. Plugins of kube-scheduler that are not built yet are refused, never ignored. Errors
have the path below ``spec``, the value, what to do and the condition reason; that of a PluginConfig
shows up at the profile's reference to it, and in full at the PluginConfig itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from moorage.api import bodies, extender_rules, plugin_args, queue_configs, revision_content
from moorage.api.assignment import assign_errors
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason
from moorage.api.decoding import DecodeError
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolved_profile import Resolution, bodies_of, document_of
from moorage.api.revision_content import Content
from moorage.api.rollouts import rollout_errors, trial_plan
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import (
    EnabledPlugin,
    Plugins,
    PluginSet,
    ProfilePluginConfig,
    SchedulerProfile,
)
from moorage.core.framework import revisions
from moorage.core.framework.extenders import Extender
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    FieldError,
    PluginRef,
    ProfileErrors,
    RequestedProfile,
    Revision,
)
from moorage.core.plugins.node_resources.fit import NAME as FIT
from moorage.core.plugins.node_resources.fit_arguments import NodeResourcesFitArgs
from moorage.core.queue.hints import queue_config_of

PLUGINS_TO_COME = frozenset({"DeferredPodScheduling"})
"""kube-scheduler's plugins that this version may lack: naming one is no misspelling."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves profiles with these plugins, these presets and the operator's values for what
    profiles leave out.
    """

    registry: Registry
    presets: Mapping[str, Preset]
    config: OperatorConfiguration = dataclasses.field(default_factory=OperatorConfiguration)
    quarantined: dict[str, str] = dataclasses.field(default_factory=dict)
    """Plugins that must not be called, with the reason why."""
    _made_of: WeakKeyDictionary[Revision, tuple[Body, Mapping[str, Body]]] = dataclasses.field(
        default_factory=WeakKeyDictionary, init=False
    )

    def document(self, revision: Revision) -> dict[str, Any]:
        """The objects that a revision of this resolver is made of, as its resolution has them.
        Raises KeyError for another's.
        """
        return document_of(*self._made_of[revision])

    def from_document(self, document: Mapping[str, Any]) -> Resolution | None:
        """Resolve what a resolution's ``document`` was; None where it is no such thing."""
        found = bodies_of(document)
        return self(*found, trusted=True) if found is not None else None

    def __call__(
        self, profile: Body, configs: Mapping[str, Body], *, trusted: bool = False
    ) -> Resolution:
        """Resolve a profile with all PluginConfigs by name. ``trusted``: they were good before."""
        used = {name: configs[name] for name in bodies.references(profile) if name in configs}
        blank = Resolution(
            scheduler_name=bodies.scheduler_name(profile),
            id="",
            profile=profile,
            used=used,
        )
        try:
            decoded = bodies.decode(SchedulerProfile, profile)
        except ProfileErrors as error:
            errors = (*error.errors, *self._others(error.errors, blank))
            return dataclasses.replace(blank, errors=errors)
        if (rollout := decoded.spec.rollout) is not None:
            blank = dataclasses.replace(blank, plan=trial_plan(rollout), stopped=rollout.stopped)
        resolution = _Resolving(self, decoded, used, trusted).outcome(blank)
        if resolution.made is not None:
            self._made_of[resolution.made] = profile, used
        return resolution

    def content(self, resolution: Resolution) -> Content:
        """What the id of one of its resolutions without errors stands for: made anew, as it may be
        large and is seldom asked for.
        """
        decoded = bodies.decode(SchedulerProfile, resolution.profile)
        return _Resolving(self, decoded, resolution.used, trusted=True).content(resolution.revision)

    def _others(self, unreadable: Sequence[FieldError], blank: Resolution) -> Iterator[FieldError]:
        """Which names and arguments are wrong beside fields that cannot be read, so that all is
        told at once.
        """
        paths = [error.path for error in unreadable]
        try:
            decoded = bodies.decode(SchedulerProfile, bodies.without(blank.profile, paths))
        except ProfileErrors:
            return
        for error in _Resolving(self, decoded, blank.used, trusted=False).outcome(blank).errors:
            # Not what is said of them only because a field in them was left out.
            because_of_that = any(path.startswith(error.path) for path in paths)
            if error.reason != ConditionReason.INVALID_SPEC and not because_of_that:
                yield error

    def config_errors(self, body: Body, *, trusted: bool = False) -> tuple[FieldError, ...]:
        """Everything that is wrong with a PluginConfig by itself."""
        try:
            config = bodies.decode(PluginConfig, body)
        except ProfileErrors as error:
            return error.errors
        plugin = self.registry.get(config.spec.plugin)
        if plugin is None:
            return (_unknown_plugin("plugin", config.spec.plugin, self.registry),)
        if plugin.name in self.quarantined:
            return (self._quarantine_error("plugin", plugin.name),)
        try:
            plugin_args.decode(plugin, config.spec.args, trusted=trusted)
        except DecodeError as error:
            return tuple(_below("args", error, ConditionReason.INVALID_PLUGIN_ARGS))
        return ()

    def quarantine(self, plugins: Mapping[str, str]) -> None:
        """From now on these plugins must not be called, for these reasons; whoever uses one of
        them, or one that was quarantined, is to be resolved anew.
        """
        self.quarantined.clear()
        self.quarantined.update(plugins)

    def quarantined_in(self, profile: SchedulerProfile) -> Iterator[FieldError]:
        """Where a profile has to do with plugins that must not be called, not even to look at their
        arguments.
        """
        for point, plugins in _by_point(profile.spec.plugins or Plugins()):
            for i, ref in enumerate(plugins.enabled):
                if ref.name in self.quarantined:
                    yield self._quarantine_error(f"plugins.{point}.enabled[{i}].name", ref.name)
        for i, entry in enumerate(profile.spec.plugin_config):
            if entry.name in self.quarantined and entry.args is not None:
                yield self._quarantine_error(f"pluginConfig[{i}].name", entry.name)

    def _quarantine_error(self, path: str, plugin: str) -> FieldError:
        reason = ConditionReason.PLUGIN_QUARANTINED
        return FieldError(path, plugin, self.quarantined[plugin], reason)


class _Resolving:
    """One profile being resolved: collects the errors of every part."""

    def __init__(
        self,
        resolver: Resolver,
        profile: SchedulerProfile,
        configs: Mapping[str, Body],
        trusted: bool,
    ) -> None:
        self._errors: list[FieldError] = []
        self._resolver = resolver
        self._trusted = trusted
        self._registry = resolver.registry
        self._config = resolver.config
        self._profile = profile
        self._spec = profile.spec
        self._configs = configs
        preset = resolver.presets.get(profile.spec.preset)
        self._preset_args = preset.args if preset is not None else {}

    def outcome(self, blank: Resolution) -> Resolution:
        """The resolution, ``blank`` filled in."""
        if faults := tuple(self._resolver.quarantined_in(self._profile)):
            return dataclasses.replace(blank, errors=faults)
        backoffs = queue_configs.backoffs(self._spec, self._config)
        self._errors += queue_configs.backoff_errors(backoffs)
        if self._spec.rollout is not None and not self._trusted:
            self._errors += rollout_errors(self._spec.rollout)
        if self._spec.assign is not None and not self._trusted:
            self._errors += assign_errors(self._spec.assign)
        requested = self._requested(blank.scheduler_name)
        try:
            made = revisions.resolve(requested, self._registry, self._resolver.presets)
            if not self._errors:
                name = revision_content.name(self.content(made, requested.args))
                return dataclasses.replace(
                    blank,
                    id=name,
                    made=dataclasses.replace(made, id=name),
                    queue_config=queue_config_of(made, *backoffs),
                )
        except ProfileErrors as error:
            self._errors += map(_to_come, error.errors)
        except DecodeError as error:
            self._errors += _below("pluginConfig", error, ConditionReason.INVALID_PLUGIN_ARGS)
        return dataclasses.replace(blank, errors=tuple(self._errors))

    def content(self, made: Revision, args: Mapping[str, Any] | None = None) -> Content:
        """The content of this profile's revision; ``args``: those that its spec gives, where they
        have been read. Raises DecodeError.
        """
        given = {**self._preset_args, **(self._args() if args is None else args)}
        backoffs = queue_configs.backoffs(self._spec, self._config)
        return revision_content.content(made, given, backoffs, self._registry)

    # ---- parts of the spec -----------------------------------------------------------------------

    def _requested(self, scheduler_name: str) -> RequestedProfile:
        """The spec as core is asked for it, with the operator's values for what it leaves out."""
        plugins, args = self._plugins(), self._args()
        percentage = self._spec.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self._config.percentage_of_nodes_to_score
        return RequestedProfile(
            scheduler_name=scheduler_name,
            preset=self._spec.preset,
            plugins=plugins,
            weights=self._spec.weights,
            args=args,
            percentage_of_nodes_to_score=percentage,
            extenders=self._extenders(args) if self._spec.extenders else (),
        )

    def _plugins(self) -> dict[str, EnabledPlugins]:
        """By "multiPoint" or extension point; queueSort is always the operator's."""
        absent = PLUGINS_TO_COME - self._registry.keys()  # these are as good as disabled
        sets = {}
        for point, plugins in _by_point(self._spec.plugins or Plugins()):
            sets[point] = EnabledPlugins(
                tuple(PluginRef(ref.name, ref.weight or None) for ref in plugins.enabled),
                tuple(ref.name for ref in plugins.disabled if ref.name not in absent),
            )
            self._errors += self._other_queue_sorts(point, plugins.enabled)
        ours = (PluginRef(self._config.queue_sort),)
        return {**sets, ExtensionPoint.QUEUE_SORT.value: EnabledPlugins(ours, ("*",))}

    def _other_queue_sorts(
        self, point: str, enabled: Sequence[EnabledPlugin]
    ) -> Iterator[FieldError]:
        mine = self._config.queue_sort
        text = (
            f"all profiles share one queue, whose order is the operator's: only {mine} may stand "
            f"here"
        )
        for i, ref in enumerate(enabled):
            known = self._registry.get(ref.name)
            sorts = point == ExtensionPoint.QUEUE_SORT.value or (
                known is not None and ExtensionPoint.QUEUE_SORT in known.points
            )
            path = f"plugins.{point}.enabled[{i}].name"
            if sorts and ref.name != mine:
                yield FieldError(path, ref.name, text, ConditionReason.QUEUE_SORT_CONFLICT)
            elif point == ExtensionPoint.QUEUE_SORT.value and i:  # core gets another list here
                yield FieldError(path, ref.name, "is enabled twice here")

    def _args(self) -> dict[str, Any]:
        """Arguments by plugin, those that can be read."""
        args: dict[str, Any] = {}
        given = self._spec.plugin_config
        for i, entry in enumerate(given):
            path = f"pluginConfig[{i}]"
            if any(entry.name == other.name for other in given[:i]):
                self._errors.append(FieldError(f"{path}.name", entry.name, "stands here twice"))
            elif entry.name not in self._registry:
                self._errors.append(_unknown_plugin(f"{path}.name", entry.name, self._registry))
            else:
                try:
                    args[entry.name] = self._args_of(entry, path)
                except ProfileErrors as error:
                    self._errors += error.errors
        return args

    def _args_of(self, entry: ProfilePluginConfig, path: str) -> Any:
        if (entry.args is None) == (entry.config_ref is None):
            text = "exactly one of args and configRef has to be set"
            raise ProfileErrors([FieldError(path, entry.name, text)])
        if entry.args is not None:
            return self._decoded(entry.name, entry.args, path)
        body = self._referenced(entry, f"{path}.configRef.name")
        shared = body.args if isinstance(body, bodies.Kept) else {}
        key = (self._spec.preset, entry.name)
        if key not in shared:
            document = bodies.decode(PluginConfig, body).spec.args
            shared[key] = self._decoded(entry.name, document, path)
        return shared[key]

    def _decoded(self, plugin: str, document: Mapping[str, Any], path: str) -> Any:
        spec, base = self._registry[plugin], self._preset_args.get(plugin)
        try:
            return plugin_args.decode(spec, document, base, trusted=self._trusted)
        except DecodeError as error:
            faults = _below(f"{path}.args", error, ConditionReason.INVALID_PLUGIN_ARGS)
            raise ProfileErrors(faults) from error

    def _referenced(self, entry: ProfilePluginConfig, path: str) -> Body:
        """The PluginConfig that an entry refers to."""
        name = entry.config_ref.name if entry.config_ref is not None else ""
        body = self._configs.get(name)
        if body is None:
            text = "there is no PluginConfig of this name"
            reason = ConditionReason.PLUGIN_CONFIG_NOT_FOUND
        elif faults := self._resolver.config_errors(body, trusted=self._trusted):
            text = f"this PluginConfig is not valid: {'; '.join(map(str, faults))}"
            reason = ConditionReason.PLUGIN_CONFIG_INVALID
        elif (plugin := bodies.decode(PluginConfig, body).spec.plugin) != entry.name:
            text = f"this PluginConfig is for {plugin}, not for {entry.name}"
            reason = ConditionReason.PLUGIN_MISMATCH
        else:
            return body
        raise ProfileErrors([FieldError(path, name, text, reason)])

    def _extenders(self, args: dict[str, Any]) -> tuple[Extender, ...]:
        """As core is told of them. What they want ignored takes the place of NodeResourcesFit's
        ignoredResources in ``args``.
        """
        given = self._spec.extenders
        for violation in (
            *extender_rules.violations(given),
            *extender_rules.unsafe(given, self._config.extenders.allowed_hosts),
        ):
            self._errors.append(FieldError(violation.path, violation.value, violation.message))
        if ignored := extender_rules.ignored_resources(given):
            fit = args.get(FIT, self._preset_args.get(FIT, NodeResourcesFitArgs()))
            args[FIT] = dataclasses.replace(fit, ignored_resources=tuple(ignored))
        return tuple(map(extender_rules.made, given))


# ---- small helpers -------------------------------------------------------------------------------


def _by_point(plugins: Plugins) -> Iterator[tuple[str, PluginSet]]:
    """The plugin sets that are given, by field name as users write it."""
    for name, field in Plugins.model_fields.items():
        value = getattr(plugins, name)
        if value is not None:
            yield field.alias or name, value


def _below(path: str, error: DecodeError, reason: ConditionReason) -> Iterator[FieldError]:
    """The violations as errors of the field ``path``."""
    for violation in error.violations:
        below = violation.under(path)
        yield FieldError(below.path, below.value, below.message, reason)


def _unknown_plugin(path: str, name: str, registry: Registry) -> FieldError:
    return _to_come(revisions.unknown_plugin(path, name, registry))


def _to_come(error: FieldError) -> FieldError:
    """An unknown plugin that kube-scheduler has is not misspelt but not built yet."""
    if error.reason != ConditionReason.UNKNOWN_PLUGIN or error.value not in PLUGINS_TO_COME:
        return error
    return dataclasses.replace(
        error,
        message="this plugin of kube-scheduler is not supported yet",
        reason=ConditionReason.NOT_YET_SUPPORTED,
    )
