"""Evaluations: a template of pods compiled for a revision of a profile.

An evaluation joins the results of the revision's plugins: which filter plugin rejects each row
first, and the weighted total of each row that none rejects. Both arrays are kept from pod to pod
and corrected where a result changed, so that a decision costs what changed since the last one, not
what the cluster holds.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import NO_ROWS, Aspect, ChangedRows
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.dry_run import FilterDryRun, IntRows
from moorage.core.framework.evaluation.far_nominations import FarNominatedPods, FarNominations
from moorage.core.framework.evaluation.nominated_rejections import NominatedRejections
from moorage.core.framework.evaluation.plugin_result import PluginResult, ResultFollower
from moorage.core.framework.evaluation.pre_filters import PreFilterSummary, merge_pre_filters
from moorage.core.framework.evaluation.score_result import ScoreResult
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    FallibleFilterPlugin,
    Scores,
    SkippingReservePlugin,
    is_a,
)
from moorage.core.framework.status import SUCCESS, Code, Status, error_status, texts
from moorage.core.objects.pods import Pod

PASSES = -1
"""In ``rejected_by``: no filter rejects this row."""
OUT_OF_SCOPE = -2
"""In ``rejected_by``: preFilter left this node out."""
INFEASIBLE = -1
"""In ``totals``: not a candidate."""


_FOLLOWED_ASPECTS = (Aspect.MEMBERSHIP, Aspect.NOMINATIONS)
NO_NOMINATION = ("", -1)
STALE: tuple[tuple[str, int], list[int]] = ("", -2), []


class Evaluation:
    """What the plugins of a revision say of all nodes for one template of pods.

    ``pre_filter`` is what preFilter said of all nodes at once.

    ``pod`` stands for all pods of the template. They differ on one row alone: where a pod is
    nominated itself, it need not leave room for itself (``_own_nomination``).
    """

    def __init__(
        self,
        pod: Pod,
        preparing: dict[str, PluginResult],
        filters: dict[str, PluginResult],
        scores: dict[str, ScoreResult],
    ) -> None:
        self.pod = pod
        self.pre_filters = preparing
        self.filters = filters
        self.scores = scores
        self.pre_filter = PreFilterSummary()
        self.nothing_to_reserve: frozenset[str] = frozenset()
        """Plugins that have nothing to reserve, as preFilter left them out."""
        self.rejected_by: npt.NDArray[np.int16] = np.zeros(0, np.int16)
        self.feasible_count = 0
        """How many rows no plugin rejects."""
        self._is_complete = False
        """Whether ``rejected_by`` is right for what was caught up with; not after a look that was
        broken off.
        """
        self.error = ""
        """Why an attempt can't go on, although preFilter let it pass: a plugin could not judge a
        node.
        """
        self.nominated_rejections = NominatedRejections()
        """What counts, instead of the results, where pods are nominated."""
        self.totals: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._own_nomination = NO_NOMINATION
        """The pod (UID) and the row where it is nominated that ``rejected_by`` was last corrected
        for.
        """
        self._far_nominations = FarNominations(filters)
        self._far_nominated_pods: FarNominatedPods = {}
        """The pods nominated elsewhere that ``rejected_by`` takes into account."""
        self._far_checked_for: tuple[int, int, object] = (-1, 0, NO_NOMINATION)
        """The version of the nominations and of what plugins read, and the pod, that this was last
        looked at for.
        """
        self._fallible_filters = [
            (i, column)
            for i, column in enumerate(filters.values())
            if is_a(column.plugin, FallibleFilterPlugin)
        ]
        self._skipping = [
            (name, column)
            for name, column in preparing.items()
            if is_a(column.plugin, SkippingReservePlugin)
        ]
        self._filter_follower = ResultFollower({**preparing, **filters}.values(), _FOLLOWED_ASPECTS)
        self._score_follower = ResultFollower(
            [part.result for part in scores.values()],
            _FOLLOWED_ASPECTS,
            beside=self._filter_follower.results,
        )
        self._active_filters: list[tuple[int, PluginResult]] = []
        """Those that have a say about the template, with their places among all."""
        self._may_fail = False
        """Whether one of them may be unable to judge a node."""
        self._active_scores: list[tuple[str, ScoreResult]] = []
        self._normalized: list[PluginResult] = []
        self._score_fault = SUCCESS
        """What preScore said, where a plugin failed there."""
        self._scored_for: tuple[tuple[str, int], list[int]] = STALE
        """The own nomination that ``totals`` were last added up for, and how often scores that are
        normalized had been asked for then.
        """

    # ---- catching up -----------------------------------------------------------------------------

    def refresh_filters(self, snapshot: Snapshot) -> None:
        """Bring ``pre_filter`` up to date and, unless that rejects all nodes, ``rejected_by``."""
        nodes = snapshot.nodes
        if self._filter_follower.prepare(self.pod, snapshot):
            self._prepared_filters()
        if self.pre_filter.status.code is not Code.SUCCESS:
            self.error = ""  # of nodes that nobody looks at now
            return
        whole, self._is_complete = self._is_complete, False
        changed = self._filter_follower.refresh(snapshot)
        if not whole or self.rejected_by.size < nodes.live.size:
            changed = None
        nominated = len(snapshot.nominations)
        if nominated or self._own_nomination != NO_NOMINATION or self._far_nominated_pods:
            changed = self._with_far_rows(self._with_own_row(changed, snapshot), snapshot)
        if changed is None:
            self.rejected_by = np.full(nodes.live.size, OUT_OF_SCOPE, np.int16)
            self.feasible_count = 0
            rows: Rows = nodes.all_rows
        elif changed.size:
            rows = changed
        else:
            self._is_complete = True
            return
        before = np.count_nonzero(self.rejected_by[rows] == PASSES)
        self.rejected_by[rows] = self._first_rejections(snapshot, rows)
        if nominated or self.nominated_rejections.rows:
            self._apply_nominations(snapshot, rows)
        self.feasible_count += int(np.count_nonzero(self.rejected_by[rows] == PASSES) - before)
        judged = not self._may_fail and not self.nominated_rejections.rows
        self.error = "" if judged else self._first_error(snapshot)
        self._is_complete = True

    def refresh_scores(self, snapshot: Snapshot) -> Status:
        """Bring ``totals`` up to date after ``refresh_filters``; ERROR when a plugin failed."""
        nodes = snapshot.nodes
        # after a fault, everything is added up anew
        totals, self.totals = self.totals, np.zeros(0, np.int64)
        if self._score_follower.prepare(self.pod, snapshot):
            self._prepared_scores()
        if self._score_fault is not SUCCESS:
            return self._score_fault
        changed = self._score_follower.refresh(snapshot)
        now_for = self._own_nomination, [result.refresh_count for result in self._normalized]
        heeded, self._scored_for = self._scored_for == now_for, now_for
        if heeded and changed is not None and totals.size >= nodes.live.size:
            now, before = self.rejected_by[changed] == PASSES, totals[changed] != INFEASIBLE
            if np.logical_and.reduce(now == before):
                return self._add_up(totals, changed[now], renormalize=False)
        totals = np.full(nodes.live.size, INFEASIBLE, np.int64)
        return self._add_up(totals, self.feasible(), renormalize=True)

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def depends_on_far_nominations(self) -> bool:
        """Whether pods that are nominated elsewhere matter."""
        return bool(self._far_nominated_pods)

    @property
    def fits(self) -> bool:
        """Whether any node takes the pod."""
        return self.pre_filter.status.code is Code.SUCCESS and self.feasible_count > 0

    def fits_among(self, rows: npt.NDArray[np.bool_]) -> bool:
        """Whether one of these nodes takes the pod (bool[capacity])."""
        return bool(np.logical_and(rows, self.rejected_by == PASSES).any())

    @property
    def normalized_count(self) -> int:
        """How many arrays of normalized scores it keeps."""
        return len(self._normalized)

    def feasible(self) -> npt.NDArray[np.intp]:
        """The rows that no plugin rejects."""
        rows: npt.NDArray[np.intp] = (self.rejected_by == PASSES).nonzero()[0]
        return rows

    def totals_among(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """``totals`` as they would be if only these rows were feasible; call after
        ``refresh_scores``.
        """
        totals = np.full_like(self.totals, INFEASIBLE)
        totals[rows] = sum(
            (part.score_feasible(rows).normalized * part.weight for _, part in self._active_scores),
            np.zeros(rows.size, np.int64),
        )
        return totals

    def dry_run(self, snapshot: Snapshot, without: Collection[str] = ()) -> FilterDryRun:
        """A dry run with other pods on nodes; after ``refresh_filters``.

        Where preFilter rejected all nodes, no filter is prepared to be asked. ``without``: plugins
        that are not to be asked.
        """
        filters = self.filters if self.pre_filter.status.code is Code.SUCCESS else {}
        if filters and not without:
            return FilterDryRun(self.pod, filters, snapshot, self._far_nominated_pods)
        return FilterDryRun(
            self.pod,
            {name: column for name, column in filters.items() if name not in without},
            snapshot,
        )

    # ---- inside ----------------------------------------------------------------------------------

    def _prepared_filters(self) -> None:
        """Which filters count, and what preFilter said of all nodes."""
        self.pre_filter = merge_pre_filters(self.pre_filters)
        self._active_filters = [
            (i, column) for i, column in enumerate(self.filters.values()) if column.applies
        ]
        self.nothing_to_reserve = frozenset(
            [name for name, column in self._skipping if not column.applies]
        )
        self._may_fail = True in [column.applies for _, column in self._fallible_filters]

    def _prepared_scores(self) -> None:
        """Which scores count, or what preScore failed with."""
        self._active_scores = [
            (name, part) for name, part in self.scores.items() if part.result.applies
        ]
        self._normalized = [part.result for _, part in self._active_scores if part.normalizes]
        self._score_fault = next(
            (
                error_status(f'running PreScore plugin "{name}": {status.message}')
                for name, part in self._active_scores
                if (status := part.result.prepared.status).code is not Code.SUCCESS
            ),
            SUCCESS,
        )

    def _first_rejections(self, snapshot: Snapshot, rows: Rows) -> npt.NDArray[np.int16]:
        """``rejected_by`` of these rows, nominations left aside."""
        nodes = snapshot.nodes
        live = nodes.live[rows]
        rejected_by = np.where(live, np.int16(PASSES), np.int16(OUT_OF_SCOPE))
        for i, column in reversed(self._active_filters):
            codes = column.values[rows]
            # most plugins reject no row: to look is all that they cost
            if np.logical_or.reduce(codes):
                rejected_by[(codes != 0) & live] = i
        if self.pre_filter.node_names is not None:
            inside = np.zeros(nodes.live.size, bool)
            inside[
                [nodes.row_of[name] for name in self.pre_filter.node_names if name in nodes.row_of]
            ] = True
            rejected_by[~inside[rows]] = OUT_OF_SCOPE
        return rejected_by

    def _with_own_row(self, changed: ChangedRows, snapshot: Snapshot) -> ChangedRows:
        """These rows, and those that are not the same for this pod as for the last one of its
        template.
        """
        uid = self.pod.metadata.uid
        row = (
            snapshot.nodes.row_of.get(snapshot.nominations.nominated_node(uid))
            if len(snapshot.nominations)
            else None
        )
        before, self._own_nomination = (
            self._own_nomination,
            NO_NOMINATION if row is None else (uid, row),
        )
        if changed is None or before == self._own_nomination:
            return changed
        own = [row for _, row in (before, self._own_nomination) if 0 <= row < snapshot.nodes.rows]
        return np.union1d(changed, np.array(own, np.intp))

    def _with_far_rows(self, changed: ChangedRows, snapshot: Snapshot) -> ChangedRows:
        """These rows; or all of them, where pods nominated elsewhere matter and they, this pod or a
        row are not as before.
        """
        nominations = snapshot.nominations
        objects = self._far_nominations.objects_version(snapshot)
        asked = (nominations.version, objects, self._own_nomination)
        if asked == self._far_checked_for and changed is not None and not changed.size:
            return changed
        news = changed if objects == self._far_checked_for[1] else None
        before, far = self._far_nominated_pods, self._far_nominations.find(self.pod, snapshot, news)
        self._far_nominated_pods, self._far_checked_for = far, asked
        if not before and not far:
            return changed
        self._scored_for = STALE
        return None

    def _apply_nominations(self, snapshot: Snapshot, rows: Rows) -> None:
        """Correct ``rejected_by`` of those of these rows that pods are nominated to."""
        nodes, nominations = snapshot.nodes, snapshot.nominations
        if isinstance(rows, slice):
            self.nominated_rejections.clear()
            near = [nodes.row_of[node] for node in nominations.nodes if node in nodes.row_of]
        else:
            for row in rows.tolist():
                self.nominated_rejections.discard(row)
            near = [row for row in rows.tolist() if nominations.nominated_pods(nodes.names[row])]
        near = [row for row in near if self.rejected_by[row] != OUT_OF_SCOPE]
        if not near and not self._far_nominated_pods:
            return
        with self.dry_run(snapshot) as what_if:
            asked = np.array([row for row in near if what_if.nominated_pods(row)], np.intp)
            if self._far_nominated_pods:
                asked = np.union1d(asked, np.flatnonzero(self.rejected_by == PASSES))
            for row, refusal in what_if.run_filters(asked).items():
                self.nominated_rejections.add(row, refusal)
                self.rejected_by[row] = refusal.filter_index

    def _first_error(self, snapshot: Snapshot) -> str:
        """What a plugin says of the first node (by name) that it could not judge, with the pods
        nominated there or without.
        """
        for i, column in self._fallible_filters:
            rejected = (self.rejected_by == i).nonzero()[0]
            rows = rejected[column.values[rejected] < 0] if column.applies else NO_ROWS
            found = {row: column.explain(int(column.values[row])) for row in rows.tolist()}
            for refusal, among in self.nominated_rejections.alike():
                if refusal.filter_index == i and refusal.code < 0:
                    found |= dict.fromkeys(among, refusal.why)
            if found:
                why = found[min(found, key=lambda row: snapshot.nodes.names[row])]
                return f'running "{column.plugin.name}" filter plugin: {", ".join(texts(why))}'
        return ""

    def _add_up(self, totals: Scores, rows: IntRows, renormalize: bool) -> Status:
        """Write the totals of these feasible rows into ``totals``, which are ours from then on."""
        if not rows.size:
            self.totals = totals
            return SUCCESS
        total = np.zeros(rows.size, np.int64)
        for name, part in self._active_scores:
            if not part.normalizes:
                scores = part.result.values[rows]
            elif renormalize or part.normalized is None:
                scores = part.score_feasible(rows).normalized
                part.normalized = np.zeros(totals.size, np.int64)
                part.normalized[rows] = scores
            else:
                scores = part.normalized[rows]
            if np.minimum.reduce(scores) < 0 or np.maximum.reduce(scores) > MAX_NODE_SCORE:
                return _invalid_score(name, scores)
            total += scores * part.weight
        totals[rows] = total
        self.totals = totals
        return SUCCESS


def _invalid_score(plugin: str, scores: Scores) -> Status:
    wrong = int(scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0])
    return error_status(
        f'plugin "{plugin}" returns an invalid score {wrong}, it should be in the range of '
        f"[0, 100] after normalizing"
    )
