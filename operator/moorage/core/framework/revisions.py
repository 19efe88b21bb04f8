"""Revisions of profiles: from what a user asks for to what runs, or to the list of everything that
is wrong with it.

``resolve`` merges a profile with its preset, expands multiPoint, sets weights, makes the plugins
and checks that the result can run. Nothing live is touched: the outcome is a new ``Revision``, or
``ProfileErrors`` with every fault found.
Source: kube-scheduler's defaulting and multiPoint expansion (v1.37), in words of our own.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.core.framework.cluster_events import ClusterEventWithHint, HintSignature
from moorage.core.framework.companions import with_device_order
from moorage.core.framework.extenders import EXTENDER, Extender
from moorage.core.framework.guard import PluginFault
from moorage.core.framework.interfaces import (
    ExtensionPoint,
    HintSignaturePlugin,
    ObjectReadingPlugin,
    Plugin,
    SignPlugin,
    is_a,
)
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import PluginSpec, Registry, RequiredAccess
from moorage.core.framework.replaced_plugins import REPLACEMENTS
from moorage.core.objects.meta import HasMetadata
from moorage.core.structures.likeness import suggest
from moorage.core.structures.remembering import memoized, text_size

MULTI_POINT = "multiPoint"
MAX_WEIGHT = 2**31 - 1
_WEIGHTS = f"must be between 0 and {MAX_WEIGHT}"
_NAME_PACKAGE = (
    "; if a package has it, name the package under the OperatorConfiguration's plugins.packages"
)
_REQUIRED_POINTS = (
    (ExtensionPoint.FILTER, ExtensionPoint.PRE_FILTER),
    (ExtensionPoint.SCORE, ExtensionPoint.PRE_SCORE),
    (ExtensionPoint.RESERVE, ExtensionPoint.PRE_BIND),
    (ExtensionPoint.PRE_BIND, ExtensionPoint.RESERVE),
)
"""A plugin that prepares at the second point cannot run at the first without it, and what it
reserves has to be written.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class PluginRef:
    """A plugin in an ``enabled`` list."""

    name: str
    weight: int | None = None
    """Of its score; None where the list does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class EnabledPlugins:
    """What a user enables and disables at one extension point; ``*`` disables all that is not
    enabled here.
    """

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class RequestedProfile:
    """A profile as asked for. ``plugins`` is keyed by "multiPoint" or an ExtensionPoint; ``args``
    maps a plugin to its arguments.
    """

    scheduler_name: str
    preset: str = "Default"
    plugins: Mapping[str, EnabledPlugins] = dataclasses.field(default_factory=dict)
    weights: Mapping[str, int] = dataclasses.field(default_factory=dict)
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    percentage_of_nodes_to_score: int = 100
    extenders: tuple[Extender, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class FieldError:
    """One fault: where (below ``spec``), what stands there, what is wrong and which condition
    reason that is.
    """

    path: str
    value: object
    message: str
    reason: str = "InvalidSpec"

    def __str__(self) -> str:
        path = (
            self.path if self.path.startswith("metadata") else f"spec.{self.path}".removesuffix(".")
        )
        return f"{path}: {self.value!r}: {self.message}"


class ProfileErrors(ValueError):
    """Everything that is wrong with a profile."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(map(str, self.errors)))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Revision:
    """A profile that can run: what really is enabled, in order, with weights and arguments. Equal
    only to itself.
    """

    scheduler_name: str
    points: Mapping[ExtensionPoint, tuple[str, ...]]
    weights: Mapping[str, int]
    placement_weights: Mapping[str, int]
    """At placementScore, as ``weights`` at score."""
    deciders: Mapping[str, Plugin]
    percentage_of_nodes_to_score: int
    id: str
    extenders: tuple[Extender, ...]
    """In the order in which they are asked."""
    writes: tuple[RequiredAccess, ...]
    """What the plugins' actors do at the API server."""
    events_to_register: Mapping[str, tuple[ClusterEventWithHint, ...]]
    """By plugin: what may free a pod that it rejected."""
    hint_signatures: Mapping[str, HintSignature]
    """Of the plugins that have one."""
    required_kinds: frozenset[type[HasMetadata]]
    """What the plugins read beside pods, nodes and namespaces."""

    @functools.cached_property
    def sign_plugins(self) -> tuple[SignPlugin, ...]:
        """The plugins to which pods of one namespace and spec may differ."""
        return tuple(plugin for plugin in self.deciders.values() if is_a(plugin, SignPlugin))

    def at(self, point: ExtensionPoint) -> Iterator[tuple[str, Any]]:
        """The deciders of an extension point with their names, in order."""
        return ((name, self.deciders[name]) for name in self.points[point])

    def changed_since(self, old: Revision) -> frozenset[str]:
        """Plugins whose arguments or places differ between two revisions, either way; of extenders,
        all count as one.
        """
        names = {*self.deciders, *old.deciders}
        changed = frozenset(
            name
            for name in names
            if self.deciders.get(name) != old.deciders.get(name)
            or _points_of(self, name) != _points_of(old, name)
        )
        return changed | {EXTENDER} if self.extenders != old.extenders else changed


def resolve(
    spec: RequestedProfile, registry: Registry, presets: Mapping[str, Preset], revision: str = ""
) -> Revision:
    """The revision that this profile stands for. Raises ProfileErrors with all faults."""
    preset = presets.get(spec.preset)
    if preset is None:
        text = f"unknown preset{suggest(spec.preset, presets)}"
        raise ProfileErrors([FieldError("preset", spec.preset, text)])
    if unknown := list(_name_errors(spec, registry)):
        raise ProfileErrors(unknown)
    multi = merged(preset.plugins, spec.plugins.get(MULTI_POINT, EnabledPlugins()))
    points, misplaced = _expand(spec, preset, multi, registry)
    weights = _weights(spec, multi, points, ExtensionPoint.SCORE, spec.weights)
    placement_weights = _weights(spec, multi, points, ExtensionPoint.PLACEMENT_SCORE, {})
    points[ExtensionPoint.SCORE] = tuple(weights)
    points[ExtensionPoint.PLACEMENT_SCORE] = tuple(placement_weights)
    if not weights:
        points[ExtensionPoint.PRE_SCORE] = ()
    names = dict.fromkeys(name for chosen in points.values() for name in chosen)
    deciders, faults = _make_deciders(names, registry, {**preset.args, **spec.args})
    errors = [*misplaced, *faults, *_weight_errors(spec, weights)]
    errors += _missing_plugins(points, registry)
    if errors:
        raise ProfileErrors(errors)
    return Revision(
        scheduler_name=spec.scheduler_name,
        points=points,
        weights=weights,
        placement_weights=placement_weights,
        deciders=with_device_order({name: one.plugin for name, one in deciders.items()}),
        percentage_of_nodes_to_score=spec.percentage_of_nodes_to_score,
        id=revision,
        extenders=tuple(sorted(spec.extenders, key=lambda extender: extender.ignorable)),
        writes=tuple(one for name in names for one in registry[name].writes),
        events_to_register={name: one.events_to_register for name, one in deciders.items()},
        hint_signatures={
            name: one.hint_signature for name, one in deciders.items() if one.hint_signature
        },
        required_kinds=frozenset().union(*(one.required_kinds for one in deciders.values())),
    )


def merged(defaults: Iterable[tuple[str, int | None]], user: EnabledPlugins) -> list[PluginRef]:
    """The default multiPoint list with the user's laid over it: replaced in place, the rest
    appended in order. Of one that the user has twice the last replaces.
    """
    given = {ref.name: i for i, ref in enumerate(user.enabled)}
    kept = [one for one in defaults if one[0] not in user.disabled and "*" not in user.disabled]
    replacing = {given[name] for name, _ in kept if name in given}
    rest = [ref for i, ref in enumerate(user.enabled) if i not in replacing]
    return [
        user.enabled[given[name]] if name in given else PluginRef(name, weight)
        for name, weight in kept
    ] + rest


def in_order(
    here: Sequence[str], everywhere: Iterable[str], disabled: Collection[str]
) -> tuple[str, ...]:
    """The plugins of one extension point: ``here`` those that are enabled at it, ``everywhere``
    those of multiPoint that have it.

    First what stands in both, as ``here`` has it; then the others of multiPoint; then the others of
    ``here``. One that is also disabled here counts as named here only.
    """
    expanded = [] if "*" in disabled else [name for name in everywhere if name not in disabled]
    overrides = [name for name in here if name in expanded]
    return (
        *overrides,
        *(name for name in expanded if name not in here),
        *(name for name in here if name not in expanded),
    )


def replacement_hint(name: str) -> str:
    """``; X does that`` for a plugin that people have elsewhere, else nothing."""
    return f"; {REPLACEMENTS[name]}" if name in REPLACEMENTS else ""


# ---- the steps of resolve ------------------------------------------------------------------------


def _name_errors(spec: RequestedProfile, registry: Registry) -> Iterator[FieldError]:
    """Names that no plugin has or that come twice. Unlike kube-scheduler, disabling an unknown name
    is a fault too: a misspelling.
    """
    for place, plugins in spec.plugins.items():
        yield from _enabled_errors(f"plugins.{place}.enabled", plugins.enabled, registry)
        for i, name in enumerate(plugins.disabled):
            if name != "*" and name not in registry:
                yield unknown_plugin(f"plugins.{place}.disabled[{i}].name", name, registry)
    for field, names in (("weights", spec.weights), ("pluginConfig", spec.args)):
        for name in names:
            if name not in registry:
                yield unknown_plugin(f"{field}[{name}]", name, registry)


def _enabled_errors(
    path: str, enabled: Sequence[PluginRef], registry: Registry
) -> Iterator[FieldError]:
    for i, ref in enumerate(enabled):
        if ref.name not in registry:
            yield unknown_plugin(f"{path}[{i}].name", ref.name, registry)
        elif ref.weight is not None and not 0 <= ref.weight <= MAX_WEIGHT:
            yield FieldError(f"{path}[{i}].weight", ref.weight, _WEIGHTS)
        elif any(ref.name == other.name for other in enabled[:i]):
            yield FieldError(f"{path}[{i}].name", ref.name, "is enabled twice here")


def unknown_plugin(path: str, name: str, registry: Registry) -> FieldError:
    """What to say of a name that nothing is registered under."""
    advice = replacement_hint(name) or suggest(name, registry) or _NAME_PACKAGE
    return FieldError(path, name, f"no plugin has this name{advice}", "UnknownPlugin")


def _expand(
    spec: RequestedProfile, preset: Preset, multi: Sequence[PluginRef], registry: Registry
) -> tuple[dict[ExtensionPoint, tuple[str, ...]], list[FieldError]]:
    """The plugins of each extension point in order, and those that have no business there."""
    points, misplaced = {}, []
    for point in ExtensionPoint:
        user = spec.plugins.get(point.value, EnabledPlugins())
        here = [ref.name for ref in user.enabled if point in registry[ref.name].points]
        everywhere = [ref.name for ref in multi if point in registry[ref.name].points]
        disabled = user.disabled + preset.without.get(point, ())
        points[point] = in_order(here, everywhere, disabled)
        misplaced += [
            FieldError(
                f"plugins.{point.value}.enabled[{i}].name",
                ref.name,
                f"this plugin does not take part at {point.value}",
            )
            for i, ref in enumerate(user.enabled)
            if ref.name not in here
        ]
    return points, misplaced


def _weights(
    spec: RequestedProfile,
    multi: Iterable[PluginRef],
    points: Mapping[ExtensionPoint, Iterable[str]],
    point: ExtensionPoint,
    last: Mapping[str, int],
) -> dict[str, int]:
    """The weight of each plugin at a point, less those that have none: ``last`` goes before all,
    then the first of the point's ``enabled`` and multiPoint that names it; 1 where that does not
    say.
    """
    first: dict[str, int] = {}
    for ref in (*spec.plugins.get(point.value, EnabledPlugins()).enabled, *multi):
        first.setdefault(ref.name, 1 if ref.weight is None else ref.weight)
    weights = {name: last.get(name, first.get(name, 1)) for name in points[point]}
    return {name: weight for name, weight in weights.items() if weight}


def _weight_errors(spec: RequestedProfile, scoring: Collection[str]) -> Iterator[FieldError]:
    for name, weight in spec.weights.items():
        path = f"weights[{name}]"
        if not 0 <= weight <= MAX_WEIGHT:
            yield FieldError(path, weight, _WEIGHTS)
        elif weight and name not in scoring:
            text = "this plugin is not enabled at score: enable it there, or leave its weight out"
            yield FieldError(path, weight, text)


def _missing_plugins(
    points: Mapping[ExtensionPoint, tuple[str, ...]], registry: Registry
) -> Iterator[FieldError]:
    """What the result lacks to be able to run."""
    sorting = points[ExtensionPoint.QUEUE_SORT]
    if len(sorting) != 1:
        text = "exactly one queueSort plugin has to be enabled"
        yield FieldError("plugins.queueSort", list(sorting), text, "QueueSortConflict")
    if len(generating := points[ExtensionPoint.PLACEMENT_GENERATE]) > 1:
        text = "at most one placementGenerate plugin can be enabled"
        yield FieldError("plugins.placementGenerate", list(generating), text)
    if not points[ExtensionPoint.BIND]:
        yield FieldError("plugins.bind", [], "at least one bind plugin has to be enabled")
    for later, earlier in _REQUIRED_POINTS:
        for name in points[later]:
            needed = registry[name].points - registry[name].dispensable
            if earlier in needed and name not in points[earlier]:
                text = (
                    f"this plugin is enabled at {later.value}, which needs it at "
                    f"{earlier.value} too: enable both or neither"
                )
                yield FieldError(f"plugins.{earlier.value}", name, text)


class _Decider(NamedTuple):
    """What follows from a plugin and its arguments alone."""

    plugin: Plugin
    events_to_register: tuple[ClusterEventWithHint, ...]
    hint_signature: HintSignature | None
    required_kinds: frozenset[type[HasMetadata]]


def _make_deciders(
    names: Iterable[str], registry: Registry, args: Mapping[str, Any]
) -> tuple[dict[str, _Decider], list[FieldError]]:
    """The deciders, and the faults of those from outside the tree that cannot be made."""
    deciders, faults = {}, []
    for name in names:
        spec = registry[name]
        # One from outside the tree may fail, and have arguments without a hash: made each time.
        make = _make_decider if spec.guard is None else _make_decider.__wrapped__
        try:
            if (decider := make(args.get(name, spec.default_args), spec)) is not None:
                deciders[name] = decider
        except PluginFault as fault:
            path = f"pluginConfig[{name}]"
            faults.append(FieldError(path, name, str(fault), "InvalidPluginArgs"))
    return deciders, faults


@memoized(text_size)
def _make_decider(args: Any, spec: PluginSpec) -> _Decider | None:
    """The decider with these arguments, made once however often profiles are edited elsewhere."""
    plugin = spec.make(args)
    if plugin is None:
        return None
    return _Decider(
        plugin,
        plugin.events_to_register,
        plugin.hint_signature if is_a(plugin, HintSignaturePlugin) else None,
        plugin.required_kinds if is_a(plugin, ObjectReadingPlugin) else frozenset(),
    )


def _points_of(revision: Revision, name: str) -> tuple[ExtensionPoint, ...]:
    return tuple(point for point, names in revision.points.items() if name in names)
