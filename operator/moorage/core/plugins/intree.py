"""The plugins in the tree, in kube-scheduler's default order, those that only we have last, and the
presets made of them.

Plugins that are not built yet are missing from both; docs/limits.md names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from moorage.core.columns.store import Store
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import PluginSpec, RequiredAccess
from moorage.core.plugins import (
    gang_scheduling,
    image_locality,
    node_affinity,
    node_declared_features,
    node_name,
    node_ports,
    node_unschedulable,
    node_volume_limits,
    pod_group_pods_count,
    priority_sort,
    scheduling_gates,
    taint_toleration,
    topology_placement_generator,
    volume_restrictions,
    volume_zone,
)
from moorage.core.plugins.cel import plugin as cel
from moorage.core.plugins.cel.arguments import CELArgs
from moorage.core.plugins.default_preemption import plugin as default_preemption
from moorage.core.plugins.device_scoring import plugin as device_scoring
from moorage.core.plugins.device_scoring.arguments import DeviceScoringArgs
from moorage.core.plugins.dynamic_resources import plugin as dynamic_resources
from moorage.core.plugins.dynamic_resources.arguments import DynamicResourcesArgs
from moorage.core.plugins.inter_pod_affinity import plugin as inter_pod_affinity
from moorage.core.plugins.node_resources import balanced_allocation, fit
from moorage.core.plugins.node_resources.fit_arguments import NodeResourcesFitArgs, ScoringStrategy
from moorage.core.plugins.pod_topology_spread import plugin as pod_topology_spread
from moorage.core.plugins.pod_topology_spread.arguments import PodTopologySpreadArgs
from moorage.core.plugins.pod_topology_spread.default_selectors import ServiceSelectors
from moorage.core.plugins.volume_binding import plugin as volume_binding
from moorage.core.plugins.volume_binding.offers import StorageCapacities, VolumeOffers

DEFAULT_BINDER = "DefaultBinder"

_PRE_FILTER = frozenset({ExtensionPoint.PRE_FILTER})
INDEXES: tuple[Callable[[Store], object], ...] = (
    DeviceLedger,
    ServiceSelectors,
    StorageCapacities,
    VolumeOffers,
)
"""What these plugins keep of objects beside the store."""

INTREE: tuple[PluginSpec, ...] = (
    PluginSpec(scheduling_gates.NAME, scheduling_gates.SchedulingGates),
    PluginSpec(priority_sort.NAME, priority_sort.PrioritySort),
    PluginSpec(node_name.NAME, node_name.NodeName, dispensable=_PRE_FILTER),
    PluginSpec(
        node_unschedulable.NAME, node_unschedulable.NodeUnschedulable, dispensable=_PRE_FILTER
    ),
    PluginSpec(
        taint_toleration.NAME, taint_toleration.TaintToleration, weight=3, dispensable=_PRE_FILTER
    ),
    PluginSpec(
        node_affinity.NAME,
        node_affinity.NodeAffinityPlugin,
        node_affinity.NodeAffinityArgs,
        weight=2,
    ),
    PluginSpec(node_ports.NAME, node_ports.NodePorts),
    PluginSpec(fit.NAME, fit.NodeResourcesFit, NodeResourcesFitArgs),
    PluginSpec(volume_restrictions.NAME, volume_restrictions.VolumeRestrictions),
    PluginSpec(node_volume_limits.NAME, node_volume_limits.NodeVolumeLimits),
    PluginSpec(
        volume_binding.NAME,
        volume_binding.VolumeBinding,
        volume_binding.VolumeBindingArgs,
        acts_at=frozenset({ExtensionPoint.PRE_BIND}),
        writes=(
            RequiredAccess(("patch",), "", "persistentvolumes"),
            RequiredAccess(("patch",), "", "persistentvolumeclaims"),
        ),
    ),
    PluginSpec(volume_zone.NAME, volume_zone.VolumeZone),
    PluginSpec(
        pod_topology_spread.NAME,
        pod_topology_spread.PodTopologySpread,
        PodTopologySpreadArgs,
        weight=2,
    ),
    PluginSpec(
        inter_pod_affinity.NAME,
        inter_pod_affinity.InterPodAffinity,
        inter_pod_affinity.InterPodAffinityArgs,
        weight=2,
    ),
    PluginSpec(
        dynamic_resources.NAME,
        dynamic_resources.DynamicResources,
        DynamicResourcesArgs,
        acts_at=frozenset({ExtensionPoint.POST_FILTER, ExtensionPoint.PRE_BIND}),
        weight=2,
        writes=(
            RequiredAccess(("create", "delete", "patch"), "resource.k8s.io", "resourceclaims"),
            RequiredAccess(("patch",), "resource.k8s.io", "resourceclaims/status"),
            # Kubernetes asks for this one too (1.36 on) where a claim's devices or users change.
            RequiredAccess(("patch",), "resource.k8s.io", "resourceclaims/binding"),
        ),
    ),
    PluginSpec(
        default_preemption.NAME,
        default_preemption.DefaultPreemption,
        default_preemption.DefaultPreemptionArgs,
    ),
    PluginSpec(
        balanced_allocation.NAME,
        balanced_allocation.NodeResourcesBalancedAllocation,
        balanced_allocation.NodeResourcesBalancedAllocationArgs,
    ),
    PluginSpec(image_locality.NAME, image_locality.ImageLocality),
    PluginSpec(DEFAULT_BINDER, None, acts_at=frozenset({ExtensionPoint.BIND})),
    PluginSpec(node_declared_features.NAME, node_declared_features.NodeDeclaredFeatures),
    PluginSpec(
        gang_scheduling.NAME,
        gang_scheduling.GangScheduling,
        acts_at=frozenset({ExtensionPoint.PERMIT}),
    ),
    PluginSpec(
        topology_placement_generator.NAME,
        topology_placement_generator.TopologyPlacementGenerator,
        topology_placement_generator.TopologyPlacementGeneratorArgs,
    ),
    PluginSpec(pod_group_pods_count.NAME, pod_group_pods_count.PodGroupPodsCount),
    PluginSpec(cel.CEL.name, cel.CEL, CELArgs),
    PluginSpec(device_scoring.NAME, device_scoring.DeviceScoring, DeviceScoringArgs),
)
OURS = frozenset({cel.CEL.name, device_scoring.NAME})
"""Plugins that kube-scheduler does not have. No preset has them."""
_IN_NO_PRESET = OURS | {gang_scheduling.NAME}

_ALL = tuple((spec.name, spec.weight) for spec in INTREE if spec.name not in _IN_NO_PRESET)
_LEADING = 20
"""A weight that outdoes all others of a preset together."""


def _led_by_resources(*without: str) -> tuple[tuple[str, int], ...]:
    """All plugins but some, with NodeResourcesFit's score above the others'. Of placements of a
    group how many members they take counts as much, as in all presets.
    """
    return tuple(
        (name, _LEADING if name in (fit.NAME, pod_group_pods_count.NAME) else weight)
        for name, weight in _ALL
        if name not in without
    )


_ONLY_OWN_CONSTRAINTS = PodTopologySpreadArgs(defaulting_type="List")
_MOST_ALLOCATED = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("MostAllocated"))

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        # As kube-scheduler without a configuration.
        Preset("Default", _ALL),
        # Fill nodes up, so that others empty. What draws pods elsewhere is left out: evenness,
        # images that are there already, and default topology constraints; those that a pod has
        # itself, hard or soft, are its owner's wish and stay.
        Preset(
            "BinPack",
            _led_by_resources(balanced_allocation.NAME, image_locality.NAME),
            {fit.NAME: _MOST_ALLOCATED, pod_topology_spread.NAME: _ONLY_OWN_CONSTRAINTS},
        ),
        # Load nodes alike. ImageLocality is left out: it draws pods of one image together.
        Preset("Spread", _led_by_resources(image_locality.NAME)),
        # Any node that fits.
        Preset("NoScoring", _ALL, without={ExtensionPoint.SCORE: ("*",)}),
    )
}
