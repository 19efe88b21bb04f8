"""The plugins of kube-scheduler 1.37 with its default gates: where they take part and what its
default profile makes of them.

This describes the other program: a plugin belongs here whether or not we have it. Source: observed
in kube-scheduler 1.37.2.
"""

from __future__ import annotations

from typing import NamedTuple

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
GROUP_POST_FILTER = "podGroupPostFilter"
GROUP_POINTS = (GROUP_POST_FILTER, "placementGenerate", "placementScore")
"""For groups of pods, which need a gate that is off."""
WEIGHTED = ("score", "placementScore")

REMOVED = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
"""Plugins that v1 knows of as gone; other names of the past are like any unknown one."""

OURS = {
    "DefaultPreemption": ("disruptionPolicy",),
    "InterPodAffinity": ("termsMetBy",),
    "TopologyPlacementGenerator": ("preferredTopologyKeys",),
}
"""Arguments that kube-scheduler does not have, by plugin."""


class KubePlugin(NamedTuple):
    """A plugin: the points that it has, the weight of its score in the default profile, whether
    that profile has it.
    """

    name: str
    points: tuple[str, ...]
    weight: int | None = None
    default: bool = True


_FILTERS = ("preFilter", "filter")
_POST_FILTERS = ("postFilter", GROUP_POST_FILTER)
_SCORES = ("preScore", "score")

_PLUGINS = (
    KubePlugin("SchedulingGates", ("preEnqueue",)),
    KubePlugin("PrioritySort", ("queueSort",)),
    KubePlugin("NodeName", _FILTERS),
    KubePlugin("NodeUnschedulable", _FILTERS),
    KubePlugin("TaintToleration", (*_FILTERS, *_SCORES), 3),
    KubePlugin("NodeAffinity", (*_FILTERS, *_SCORES), 2),
    KubePlugin("NodePorts", _FILTERS),
    KubePlugin("NodeResourcesFit", (*_FILTERS, *_SCORES, "placementScore"), 1),
    KubePlugin("VolumeRestrictions", _FILTERS),
    KubePlugin("NodeVolumeLimits", _FILTERS),
    KubePlugin("VolumeBinding", (*_FILTERS, *_SCORES, "reserve", "preBind")),
    KubePlugin("VolumeZone", _FILTERS),
    KubePlugin("PodTopologySpread", (*_FILTERS, *_SCORES), 2),
    KubePlugin("InterPodAffinity", (*_FILTERS, *_SCORES), 2),
    KubePlugin(
        "DynamicResources",
        ("preEnqueue", *_FILTERS, *_POST_FILTERS, "score", "reserve", "preBind"),
        2,
    ),
    KubePlugin("DefaultPreemption", ("preEnqueue", *_POST_FILTERS)),
    KubePlugin("NodeResourcesBalancedAllocation", _SCORES, 1),
    KubePlugin("ImageLocality", ("score",), 1),
    KubePlugin("DefaultBinder", ("bind",)),
    KubePlugin("NodeDeclaredFeatures", _FILTERS),
    # The rest is in the default profile by gates that are off: InPlacePodVerticalScaling-
    # SchedulerPreemption, GenericWorkload, TopologyAwareWorkloadScheduling.
    KubePlugin("DeferredPodScheduling", (*_FILTERS, "permit"), default=False),
    KubePlugin("GangScheduling", ("preEnqueue", "permit"), default=False),
    KubePlugin("TopologyPlacementGenerator", ("placementGenerate",), default=False),
    KubePlugin("PodGroupPodsCount", ("placementScore",), default=False),
)

KUBE_PLUGINS = {plugin.name: plugin for plugin in _PLUGINS}
DEFAULTS = tuple((plugin.name, plugin.weight) for plugin in _PLUGINS if plugin.default)
"""The default profile's multiPoint list; weight None where it does not say."""
