"""Which nodes can reach a volume, and for which ones a class can have one made."""

from __future__ import annotations

from collections.abc import Mapping

from kubefacts.labels import LabelRequirementCheck
from moorage.core.objects.meta import Labels
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.objects.storage import (
    CSINode,
    PersistentVolume,
    StorageClass,
)
from moorage.core.pods.node_selection import NodeTerm, NodeTerms, valid_terms
from moorage.core.volumes.csi_migration import (
    _SUCCESSORS,
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    in_tree_plugin,
    migrated_on,
)

# ---- where volumes can be reached ----------------------------------------------------------------


def affinity_of(pv: PersistentVolume) -> NodeTerms | None:
    """The nodes that can reach a volume, by their labels alone; None for all."""
    required = _required(pv)
    return _by_labels(required) if required is not None else None


def migrated_affinity_of(pv: PersistentVolume) -> NodeTerms | None:
    """``affinity_of`` where a CSI driver serves an in-tree volume: zones go by its own label."""
    zone_key = _SUCCESSORS[in_tree_plugin(pv)].zone_key
    required, labels = _required(pv), pv.metadata.labels or {}
    terms = (required.node_selector_terms if required is not None else None) or ()
    keys = {one.key for term in terms for one in term.match_expressions or ()}
    named = keys if keys & {ZONE, BETA_ZONE} else labels.keys()
    beta = BETA_ZONE in named and ZONE not in named
    old = BETA_ZONE if beta else ZONE
    labelled = {zone.strip() for zone in labels.get(old, "").split("__")} - {""}
    zones = sorted(labelled) if old not in keys else []
    if not zone_key or not (zones or terms):
        return affinity_of(pv)
    added = (Requirement(zone_key, "In", tuple(zones)),) if zones else ()
    renamed = {old: zone_key, BETA_REGION: REGION} if beta else {old: zone_key}
    moved = tuple(_renamed(term, renamed, added) for term in terms or (NodeSelectorTerm(),))
    return _by_labels(NodeSelector(moved))


def node_can_attach(labels: Labels, csi_node: CSINode | None, pv: PersistentVolume) -> bool:
    """Whether a node with these labels and drivers can reach a volume."""
    plugin = in_tree_plugin(pv)
    terms = (
        migrated_affinity_of(pv) if plugin and plugin in migrated_on(csi_node) else affinity_of(pv)
    )
    return terms is None or any(term.matches(labels, "") for term in terms)


def _required(pv: PersistentVolume) -> NodeSelector | None:
    return pv.spec.node_affinity.required if pv.spec.node_affinity is not None else None


def _by_labels(selector: NodeSelector) -> NodeTerms:
    return tuple(NodeTerm(term.labels) for term in valid_terms(selector))


def _renamed(
    term: NodeSelectorTerm, names: Mapping[str, str], added: tuple[Requirement, ...]
) -> NodeSelectorTerm:
    """A term whose labels have other names, with what is added to it."""
    changed = (
        Requirement(names.get(one.key, one.key), one.operator, one.values)
        for one in term.match_expressions or ()
    )
    return NodeSelectorTerm((*changed, *added), term.match_fields)


def allowed_topologies(storage_class: StorageClass) -> NodeTerms | None:
    """The nodes that a class's volumes can be made for; None for all. A term without expressions
    matches nothing.
    """
    if not storage_class.allowed_topologies:
        return None
    return tuple(
        NodeTerm(
            tuple(
                LabelRequirementCheck(one.key, "In", frozenset(one.values or ()))
                for one in term.match_label_expressions
            )
        )
        for term in storage_class.allowed_topologies
        if term.match_label_expressions
    )
