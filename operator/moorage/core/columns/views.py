"""What plugins read of the cache's other tables: queries, none of what writes.

Each class names the one that it shows, which says more of its methods. Of nodes there are
``nodes.node_columns``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import RowVersioned, Versioned
from moorage.core.columns.pod_counters import Counts, ExistingTerm
from moorage.core.columns.pod_info import PodInfo
from moorage.core.objects.pods import Pod
from moorage.core.structures.sparse import Amounts
from moorage.core.volumes.csi_migration import VolumeId
from moorage.core.volumes.pod_volumes import ClaimUse, Disk


class RowCounts(Versioned, Protocol):
    """Pods per row: ``pod_counters.RowCounter``."""

    @property
    def id(self) -> int: ...

    @property
    def total(self) -> int: ...

    def per_row(self, rows: int) -> Counts: ...


class PodCountersView(Protocol):
    """Terms that pods on nodes carry: ``pod_counters.PodCounters``. ``Snapshot.matching`` gives the
    other counters.
    """

    @property
    def existing_terms(self) -> Versioned: ...

    @property
    def has_existing_terms(self) -> bool: ...

    def existing_terms_matching(self, pod: Pod) -> Iterator[tuple[ExistingTerm, RowCounts]]: ...


class VolumeColumns(Protocol):
    """Which rows use which volumes: ``volume_table.VolumeTable``."""

    @property
    def uses(self) -> Versioned: ...

    def in_use(self, claim: ClaimUse) -> bool: ...

    def clashing(self, disk: Disk) -> list[int]: ...

    def mounted(self, volume: VolumeId) -> Collection[int]: ...

    def spare(self, driver: str) -> Amounts | None: ...

    def installed(self, driver: str) -> Collection[int]: ...


class PrioritiesView(Protocol):
    """On which rows there are pods of which priorities: ``priorities.PriorityTable``."""

    def below(self, level: int, rows: int) -> npt.NDArray[np.bool_]: ...

    def any_below(self, level: int, row: int) -> bool: ...

    def level_of(self, pod: Pod) -> int: ...


class GroupedPodsView(RowVersioned, Protocol):
    """Which pods on nodes go together: ``grouped_pods.GroupedPods``."""

    def __len__(self) -> int: ...

    def together_with(self, pod: Pod) -> Collection[str]: ...


class NominatorView(Versioned, Protocol):
    """Which waiting pods are nominated to which node: ``nominations.Nominator``."""

    @property
    def presence(self) -> Versioned: ...

    def __len__(self) -> int: ...

    def __contains__(self, uid: str) -> bool: ...

    def __iter__(self) -> Iterator[PodInfo]: ...

    def get(self, uid: str) -> PodInfo | None: ...

    def nominated_node(self, uid: str) -> str: ...

    @property
    def nodes(self) -> Collection[str]: ...

    def nominated_pods(self, node: str) -> Collection[PodInfo]: ...

    def by_priority(self) -> Iterator[PodInfo]: ...

    def siblings_of(self, pod: Pod) -> Mapping[str, PodInfo]: ...

    def ahead_on(self, pod: Pod, node: str) -> Sequence[PodInfo]: ...

    def ahead_of(self, pod: Pod) -> Iterator[PodInfo]: ...

    def held_from(self, pod: Pod) -> tuple[tuple[tuple[str, ...], str], ...]: ...
