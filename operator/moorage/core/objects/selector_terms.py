"""Selectors of labels and of nodes, as objects write them."""

from __future__ import annotations

from moorage.core.objects.meta import Labels, Struct

# ---- selectors -----------------------------------------------------------------------------------


class Requirement(Struct, frozen=True):
    """``key operator values``: a label selector requirement or a node selector requirement."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True):
    """metav1.LabelSelector: all of matchLabels and matchExpressions."""

    match_labels: Labels | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class NodeSelectorTerm(Struct, frozen=True):
    """All of matchExpressions (labels) and matchFields (only metadata.name exists)."""

    match_expressions: tuple[Requirement, ...] | None = None
    match_fields: tuple[Requirement, ...] | None = None


class NodeSelector(Struct, frozen=True):
    """Any of its terms."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredSchedulingTerm(Struct, frozen=True):
    """A term that adds ``weight`` where it matches."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()
