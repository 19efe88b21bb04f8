"""Assembling a kube-scheduler profile: which plugins run where, in which order and with which
weights, and why it can't be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence

from moorage.api import extender_rules
from moorage.apps.convert.kube_configuration import (
    KubePluginSet,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
)
from moorage.apps.convert.kube_plugins import (
    DEFAULTS,
    GROUP_POINTS,
    KUBE_PLUGINS,
    POINTS,
    WEIGHTED,
)
from moorage.core.framework import revisions
from moorage.core.framework.arguments import Violation
from moorage.core.framework.interfaces import MAX_NODE_SCORE
from moorage.core.framework.revisions import PluginRef, replacement_hint
from moorage.core.structures.likeness import suggest

FIT = "NodeResourcesFit"
_INT64 = 2**63


@dataclasses.dataclass(frozen=True, slots=True)
class AssembledProfile:
    """What runs at each point in order, with its weight (0 where that means nothing); ``plugins``
    are made, wherever they run.
    """

    points: dict[str, tuple[PluginRef, ...]]
    plugins: frozenset[str]
    faults: tuple[Violation, ...]


def assemble(path: str, profile: KubeSchedulerProfile) -> AssembledProfile:
    """The profile laid over the default one."""
    plugins = profile.plugins
    multi = revisions.merged(DEFAULTS, core_set(plugins.multi_point))
    faults = list(_unknown(f"{path}.plugins.multiPoint", multi))
    points: dict[str, tuple[PluginRef, ...]] = {}
    for point in (*POINTS, *GROUP_POINTS):
        at, here = f"{path}.plugins.{point}", core_set(plugins.at(point))
        everywhere = [ref.name for ref in multi if _takes_part(ref.name, point)]
        weights = _weights(point, (*here.enabled, *multi))
        faults += _misplaced(at, point, here)
        faults += _twice(at, here, everywhere)
        faults += _too_heavy(at, weights.values())
        names = revisions.in_order([ref.name for ref in here.enabled], everywhere, here.disabled)
        points[point] = tuple(PluginRef(name, weights.get(name)) for name in names)
    faults += _missing(path, points)
    made = {ref.name for ref in multi} | {ref.name for point in points.values() for ref in point}
    return AssembledProfile(points, frozenset(made), tuple(faults))


def extender_faults(
    config: KubeSchedulerConfiguration,
    built: Sequence[AssembledProfile],
    given: Sequence[Collection[str]],
) -> Iterator[Violation]:
    """An extender's resources that are to be ignored need somebody who ignores them. ``given``:
    plugins with arguments, by profile.
    """
    if not extender_rules.ignored_resources(config.extenders):
        return
    for i, (profile, names) in enumerate(zip(built, given, strict=True)):
        if FIT not in profile.plugins and FIT not in names:
            yield Violation(
                f"profiles[{i}]",
                FIT,
                "has to be enabled, or have arguments, for an extender's ignoredByScheduler",
            )


def core_set(plugins: KubePluginSet) -> revisions.EnabledPlugins:
    """The same as core has it."""
    return revisions.EnabledPlugins(
        tuple(PluginRef(one.name, one.weight or None) for one in plugins.enabled),
        tuple(one.name for one in plugins.disabled),
    )


def overflows(weights: Collection[int]) -> bool:
    """Whether the sum of the highest scores does not fit into 64 bits, computed in 64 bits as
    kube-scheduler does.
    """
    total = 0
    for weight in weights:
        room = (_INT64 - 1 - total + _INT64) % (2 * _INT64) - _INT64
        if weight * MAX_NODE_SCORE > room:
            return True
        total += weight * MAX_NODE_SCORE
    return False


def _takes_part(name: str, point: str) -> bool:
    return name in KUBE_PLUGINS and point in KUBE_PLUGINS[name].points


def _weights(point: str, refs: Sequence[PluginRef]) -> dict[str, int]:
    """Of each plugin that is named, where its first mention counts; also of those that are disabled
    at the point after all.
    """
    found: dict[str, int] = {}
    for ref in refs:
        if point in WEIGHTED and _takes_part(ref.name, point):
            found.setdefault(ref.name, 1 if ref.weight is None else ref.weight)
    return found


def _unknown(path: str, refs: Sequence[PluginRef]) -> Iterator[Violation]:
    for ref in refs:
        if ref.name not in KUBE_PLUGINS:
            advice = replacement_hint(ref.name) or suggest(ref.name, KUBE_PLUGINS)
            yield Violation(
                f"{path}.enabled",
                ref.name,
                f"kube-scheduler has no such plugin{advice}; take out what is not in its tree",
            )


def _misplaced(path: str, point: str, here: revisions.EnabledPlugins) -> Iterator[Violation]:
    yield from _unknown(path, here.enabled)
    for ref in here.enabled:
        if ref.name in KUBE_PLUGINS and not _takes_part(ref.name, point):
            yield Violation(
                f"{path}.enabled", ref.name, f"this plugin does not take part at {point}"
            )


def _twice(
    path: str, here: revisions.EnabledPlugins, everywhere: Sequence[str]
) -> Iterator[Violation]:
    """Twice at the point; or twice at multiPoint, unless the point says itself what is to become of
    the plugin.
    """
    mine = [ref.name for ref in here.enabled]
    rest = (
        []
        if "*" in here.disabled
        else [name for name in everywhere if name not in mine and name not in here.disabled]
    )
    for names in (mine, rest):
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            yield Violation(f"{path}.enabled", name, "is enabled twice")


def _too_heavy(path: str, weights: Collection[int]) -> Iterator[Violation]:
    if overflows(weights):
        text = "the weights are too high, or a negative one makes their sum so"
        yield Violation(path, "{…}", text)


def _missing(path: str, points: dict[str, tuple[PluginRef, ...]]) -> Iterator[Violation]:
    if len(points["queueSort"]) != 1:
        names = [ref.name for ref in points["queueSort"]]
        yield Violation(
            f"{path}.plugins.queueSort", names, "exactly one queueSort plugin has to be enabled"
        )
    if not points["bind"]:
        yield Violation(f"{path}.plugins.bind", [], "at least one bind plugin has to be enabled")
