"""The contracts of postFilter and podGroupPostFilter: what a plugin may ask and propose that makes
room for a pod, or for a pod group.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import Codes, FilterPlugin, Plugin
from moorage.core.framework.status import Status, Why
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod


class NodeRejection(NamedTuple):
    """One filter plugin's no to one row: what it said (``code``) and from which state, so that text
    can be made late.

    ``filter_index`` is the plugin's place among the profile's filters.
    """

    filter_index: int
    plugin: FilterPlugin
    state: Any
    code: int

    @property
    def why(self) -> Why:
        """The reasons with their arguments, from the plugin."""
        return self.plugin.explain(self.state, self.code)


class DryRun(Protocol):
    """Asks nodes as they would be with other pods on them; what was tried is undone when its
    ``with`` block ends.
    """

    def remove(self, batch: PodBatch, which: npt.NDArray[np.intp]) -> None:
        """Without these pods of the batch (by place)."""

    def add(self, batch: PodBatch, which: npt.NDArray[np.intp]) -> None:
        """With them there (again)."""

    def tell(self, row: int, others: Sequence[PodInfo], sign: int) -> None:
        """For this row, as if pods of other nodes had come there (1) or left (-1): only plugins
        whose state spans nodes hear of it.
        """

    def run_filters(self, rows: npt.NDArray[np.intp]) -> Mapping[int, NodeRejection]:
        """Who rejects these rows first; rows that pass are missing. Pods nominated there are taken
        into account.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What became of a pod that no node takes, for whoever may make room.

    ``node_codes``: int64[rows] of 0 not rejected, 1 unschedulable, 2 unresolvable. ``dry_run``
    begins a dry run; in its ``with`` block nothing else may be asked. ``seed`` is the tie-break's.
    ``row_cache(plugin, depends_on)``: what the plugin has put there by row in earlier attempts for
    pods of this template; what no longer holds, as the row or one of ``depends_on`` changed, is
    gone from it.
    """

    snapshot: Snapshot
    node_codes: Codes
    dry_run: Callable[[], contextlib.AbstractContextManager[DryRun]]
    row_cache: Callable[[str, tuple[Versioned, ...]], dict[int, Any]]
    seed: int


@dataclasses.dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What a postFilter plugin proposes.

    ``nominated_node``: None leaves a nomination alone, "" clears it. ``victims`` are the pods that
    must go before the pod fits there, the most important one first. ``action`` is what else has to
    be done, by the plugin's own actor. ``unschedulable_plugins``: plugins, beside those that
    rejected nodes, whose events may help the pod (the plugin itself, by its name). ``by_eviction``:
    the API server is to be asked to evict the victims, and may refuse for a disruption budget's
    sake.
    """

    status: Status
    nominated_node: str | None = None
    victims: tuple[Pod, ...] = ()
    action: Any = None
    unschedulable_plugins: frozenset[str] = frozenset()
    by_eviction: bool = False


@runtime_checkable
class PostFilterPlugin(Plugin, Protocol):
    """Runs when nothing fits; may make room."""

    def post_filter(self, pod: Pod, attempt: FailedAttempt) -> PostFilterResult:
        """SUCCESS with a node that will have room, or UNSCHEDULABLE, which leaves it to the next
        plugin; all other codes end it.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class FailedGroupAttempt:
    """What became of a pod group of which not enough members fit. ``members``: those that were
    tried, each with what the plugin found out about it, None where that could not be judged;
    ``scheduled``: how many others have a node.
    """

    group: GroupSpec
    members: Sequence[tuple[Pod, Any]]
    scheduled: int
    snapshot: Snapshot


@dataclasses.dataclass(frozen=True, slots=True)
class PodGroupPostFilterResult:
    """What a podGroupPostFilter plugin says. ``actions``: what has to be done by the plugin's own
    actor, by member (UID).
    """

    status: Status
    actions: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@runtime_checkable
class PodGroupPostFilterPlugin(Plugin, Protocol):
    """Runs when a pod group does not fit, after all of it was taken back."""

    def look_at_member(self, pod: Pod, group: GroupSpec, attempt: FailedAttempt) -> Any:
        """What keeps a member from nodes, as far as this plugin could change it."""

    def pod_group_post_filter(self, attempt: FailedGroupAttempt) -> PodGroupPostFilterResult:
        """UNSCHEDULABLE leaves it to the next plugin, too; all other codes end it."""


@runtime_checkable
class PodGroupPreemptionPlugin(Plugin, Protocol):
    """A podGroupPostFilter plugin that has pods of lower priority go. Whom, is found out on a copy
    of the state (``core.cycle.group_preemption``).
    """

    def asks_to_evict(self) -> bool:
        """As ``PostFilterResult.by_eviction``."""


class Victims(NamedTuple):
    """The pods that would have to go from a node, and how many of them a disruption budget
    protects.
    """

    pods: tuple[Pod, ...]
    num_pdb_violations: int


@runtime_checkable
class PreemptionPlugin(PostFilterPlugin, Protocol):
    """A postFilter plugin that extenders have a say with: ``find_candidates``, then
    ``select_candidate`` among them.
    """

    def find_candidates(
        self, pod: Pod, attempt: FailedAttempt
    ) -> Mapping[str, Victims] | PostFilterResult:
        """Nodes that could take the pod without some pods, in an order that decides between equals;
        or why there are none.
        """

    def select_candidate(
        self, candidates: Mapping[str, Victims], attempt: FailedAttempt
    ) -> PostFilterResult:
        """One of these nodes; there may be none left, or others than those that were found."""
