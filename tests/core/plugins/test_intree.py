"""The plugins in the tree and the presets: promises to users, so they are spelt out here."""

from __future__ import annotations

import sys
from collections import defaultdict

import pytest

from moorage.core.framework.interfaces import ExtensionPoint, Plugin
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    ProfileErrors,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import Reason
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.plugins.pod_topology_spread.arguments import PodTopologySpreadArgs
from moorage.core.plugins.pod_topology_spread.plugin import PodTopologySpread

REGISTRY = build_registry(INTREE)


def revision(preset: str, **plugins: EnabledPlugins) -> Revision:
    """A profile of this preset."""
    return resolve(RequestedProfile("test", preset, plugins), REGISTRY, PRESETS)


def test_default_order_and_weights() -> None:
    """As in kube-scheduler 1.37."""
    default = revision("Default")
    assert {point: names for point, names in default.points.items() if names} == {
        ExtensionPoint.PRE_ENQUEUE: ("SchedulingGates", "DynamicResources"),
        ExtensionPoint.QUEUE_SORT: ("PrioritySort",),
        ExtensionPoint.PRE_FILTER: (
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "NodeDeclaredFeatures",
        ),
        ExtensionPoint.FILTER: (
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "NodeDeclaredFeatures",
        ),
        ExtensionPoint.POST_FILTER: ("DynamicResources", "DefaultPreemption"),
        ExtensionPoint.PRE_SCORE: (
            "TaintToleration",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeBinding",
            "PodTopologySpread",
            "InterPodAffinity",
            "NodeResourcesBalancedAllocation",
        ),
        ExtensionPoint.SCORE: (
            "TaintToleration",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeBinding",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
        ),
        ExtensionPoint.RESERVE: ("VolumeBinding", "DynamicResources"),
        ExtensionPoint.PRE_BIND: ("VolumeBinding", "DynamicResources"),
        ExtensionPoint.BIND: ("DefaultBinder",),
        ExtensionPoint.PLACEMENT_GENERATE: ("TopologyPlacementGenerator",),
        ExtensionPoint.PLACEMENT_SCORE: ("NodeResourcesFit", "PodGroupPodsCount"),
        ExtensionPoint.POD_GROUP_POST_FILTER: ("DynamicResources", "DefaultPreemption"),
    }
    assert default.placement_weights == {"NodeResourcesFit": 1, "PodGroupPodsCount": 1}
    assert default.weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


LED = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 20,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
}


@pytest.mark.parametrize(
    ("preset", "strategy", "weights"),
    [
        ("BinPack", "MostAllocated", LED),
        ("Spread", "LeastAllocated", {**LED, "NodeResourcesBalancedAllocation": 1}),
        ("NoScoring", "LeastAllocated", {}),
    ],
)
def test_other_presets(preset: str, strategy: str, weights: dict[str, int]) -> None:
    """What they score by; they filter as Default does."""
    made = revision(preset)
    assert made.weights == weights
    assert made.points[ExtensionPoint.FILTER] == revision("Default").points[ExtensionPoint.FILTER]
    fit = made.deciders["NodeResourcesFit"]
    assert isinstance(fit, NodeResourcesFit)
    assert fit.args.scoring_strategy is not None
    assert fit.args.scoring_strategy.type == strategy


@pytest.mark.parametrize(
    ("preset", "defaulting"), [("Default", "System"), ("Spread", "System"), ("BinPack", "List")]
)
def test_default_topology_constraints(preset: str, defaulting: str) -> None:
    """They pull pods apart, which BinPack does not want."""
    spread = revision(preset).deciders["PodTopologySpread"]
    assert isinstance(spread, PodTopologySpread)
    assert spread.args == PodTopologySpreadArgs(None, "List" if defaulting == "List" else "System")


@pytest.mark.parametrize("preset", ["BinPack", "Spread"])
def test_resources_lead(preset: str) -> None:
    """A full difference in resources outdoes all other scores together."""
    weights = dict(revision(preset).weights)
    assert weights.pop("NodeResourcesFit") > sum(weights.values())


def test_scores_can_be_added_to_no_scoring() -> None:
    """A plugin enabled at score by name scores there, with what it prepares."""
    made = revision("NoScoring", score=EnabledPlugins((PluginRef("NodeResourcesFit", 4),)))
    assert made.weights == {"NodeResourcesFit": 4}
    assert "NodeResourcesFit" in made.points[ExtensionPoint.PRE_SCORE]


STANDALONE = ("NodeName", "NodeUnschedulable", "TaintToleration")


def test_filters_that_prepare_nothing_stand_alone() -> None:
    """Their preFilter may be left out, where the others' may not."""
    made = revision("Default", preFilter=EnabledPlugins(disabled=STANDALONE))
    assert made.points[ExtensionPoint.FILTER][:3] == STANDALONE
    assert not {*STANDALONE} & {*made.points[ExtensionPoint.PRE_FILTER]}
    with pytest.raises(ProfileErrors, match=r"NodePorts.*enable both or neither"):
        revision("Default", preFilter=EnabledPlugins(disabled=("NodePorts",)))


def test_every_decider_is_a_plugin() -> None:
    """Made with default arguments, each has its own name, is hashable, and its reasons' ids are
    nobody else's.
    """
    ids: list[str] = []
    for spec in INTREE:
        decider = spec.make(spec.args() if spec.args is not None else None)
        if decider is not None:
            assert isinstance(decider, Plugin)
            assert decider.name == spec.name
            assert decider == spec.make(spec.args() if spec.args is not None else None)
            assert hash(decider)
            ids += [reason.id for reason in decider.reasons]  # type: ignore[attr-defined]  # all in the tree have them
    assert len(ids) == len(set(ids))


def test_every_reason_is_declared() -> None:
    """Plugins' ``reasons`` name all that their modules can refuse for: docs/conditions.md is made
    of them.
    """
    declared: defaultdict[str, set[Reason]] = defaultdict(set)
    for spec in INTREE:
        if spec.decider is not None:
            reasons = spec.decider.reasons  # type: ignore[attr-defined]  # all in the tree have them
            declared[_home(spec.decider.__module__)].update(reasons)
    found: defaultdict[str, set[Reason]] = defaultdict(set)
    for name, module in tuple(sys.modules.items()):
        if (home := _home(name)) in declared:
            found[home] |= {value for value in vars(module).values() if isinstance(value, Reason)}
    assert found == declared


def _home(module: str) -> str:
    """The module or the package of a plugin."""
    return ".".join(module.split(".")[:4])


@pytest.mark.parametrize("point", ["reserve", "preBind"])
@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_what_is_reserved_has_to_be_written(point: str, plugin: str) -> None:
    """A profile that would bind pods without their volumes or devices is refused; one without the
    plugin is not.
    """
    with pytest.raises(ProfileErrors, match="enable both or neither"):
        revision("Default", **{point: EnabledPlugins(disabled=(plugin,))})
    revision("Default", multiPoint=EnabledPlugins(disabled=(plugin,)))
