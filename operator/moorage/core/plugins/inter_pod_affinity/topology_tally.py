"""Counts of pods, added up over topologies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.domains import per_domain
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Aspect
from moorage.core.columns.pod_counters import Counts
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.views import RowCounts
from moorage.core.objects.meta import Namespace
from moorage.core.pods.affinity_terms import AffinityTerm

PerKey = Mapping[str, Counts]
"""By topology key: int64[domains], pods (or weights) in each domain."""


class TopologyTally:
    """Adds up counters over topologies, and remembers what the sums depend on."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.depends_on: dict[Versioned, None] = {}
        self._nodes: NodeColumns = snapshot.nodes
        self._store = snapshot.store

    def add(self, sums: dict[str, Counts], counter: RowCounts, key: str, weight: int = 1) -> bool:
        """Add a counter, so many times, to the sums over this topology; whether it counts a pod in
        any of its domains.
        """
        self.depends_on[counter] = self.depends_on[self._nodes.logs[Aspect.LABELS]] = None
        counts = per_domain(counter.per_row(self._nodes.rows), key, self._nodes)
        weighed = counts if weight == 1 else counts * weight
        sums[key] = sums[key] + weighed if key in sums else weighed
        return bool(counts.any())

    def depend_on_namespaces(self, terms: Iterable[AffinityTerm]) -> None:
        """What these terms speak of may depend on the labels of namespaces."""
        if any(term.namespace_selector.conditions for term in terms):
            self.depends_on[self._store.version_counter(Namespace)] = None
