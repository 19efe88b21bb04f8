"""Blueprints: a template of pods compiled for a revision of a profile.

A blueprint joins the columns of the revision's plugins: which filter plugin refuses each row first, and the weighted total of each
row that none refuses. Both arrays are kept from pod to pod and corrected where a column changed, so that a decision costs what
changed since the last one, not what the cluster holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import NOTHING, Aspect, Changed, Reader
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.pod_info import Record
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.dry_run import FarGuests, WhatIf
from moorage.core.framework.evaluation.plugin_result import Column
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    AdjustingPlugin,
    FailingPlugin,
    FilterPlugin,
    NormalizePlugin,
    PausingPlugin,
    Ranking,
    RankingPlugin,
    ReadingPlugin,
    Refusal,
    is_a,
)
from moorage.core.framework.status import REFUSALS, SUCCESS, Code, Status, Why, failed, hopeless, refused_for, texts
from moorage.core.objects.pods import Pod

PASSES = -1
"""In ``blame``: no filter refuses this row."""
OUT_OF_SCOPE = -2
"""In ``blame``: preFilter left this node out."""
INFEASIBLE = -1
"""In ``totals``: not a candidate."""


class ScoreColumn:
    """A score plugin in a blueprint. ``normalized`` is meaningful on feasible rows only."""

    __slots__ = ("column", "normalized", "normalizes", "weight")

    def __init__(self, column: Column, weight: int) -> None:
        self.column = column
        self.weight = weight
        self.normalized: npt.NDArray[np.int64] | None = None
        self.normalizes = is_a(column.plugin, NormalizePlugin) or is_a(column.plugin, RankingPlugin)
        """Whether scores mean something only beside each other."""

    def rank(self, feasible: npt.NDArray[np.intp]) -> Ranking:
        """The plugin's raw scores of these rows, and its share of 0..100 for each."""
        plugin, state = self.column.plugin, self.column.prepared.state
        if is_a(plugin, RankingPlugin):
            return plugin.rank(state, feasible)
        raw = self.column.values[feasible]
        return Ranking(raw, plugin.normalize(state, raw) if is_a(plugin, NormalizePlugin) else raw)


_HEEDED = frozenset({Aspect.MEMBERSHIP, Aspect.NOMINATIONS})
NOBODY, STALE = ("", -1), ("", -2)


class Follower:
    """Tells which rows changed for any of several columns, and whether one of them was compiled anew."""

    def __init__(self, columns: Iterable[Column], aspects: frozenset[Aspect] = frozenset({Aspect.MEMBERSHIP})) -> None:
        self.columns = list(columns)
        self._aspects = aspects.union(*(column.reads for column in self.columns))
        self._preparations: list[int] | None = None
        self._reader: Reader

    @property
    def stale(self) -> bool:
        """Whether a column was compiled since the last ``catch_up``."""
        return self._preparations != [column.preparations for column in self.columns]

    def catch_up(self, snapshot: Snapshot) -> Changed:
        """The rows that changed since the last call; None for all."""
        if self.stale:
            self._preparations = [column.preparations for column in self.columns]
            self._reader = snapshot.nodes.reader(self._aspects)
        return self._reader.catch_up(snapshot.nodes.rows)


class Blueprint:
    """See the module's docstring. ``verdict`` is what preFilter said of all nodes at once, with the plugin's name.

    ``pod`` stands for all pods of the template. They differ on one row alone: where a pod is nominated itself, it need not leave room
    for itself (``_own``).
    """

    def __init__(self, pod: Pod, preparing: dict[str, Column], filters: dict[str, Column], scores: dict[str, ScoreColumn]) -> None:
        self.pod = pod
        self.preparing = preparing
        self.filters = filters
        self.scores = scores
        self.verdict: tuple[str, Status] = ("", SUCCESS)
        self.narrowed_by: tuple[str, ...] = ()
        self.blame: npt.NDArray[np.int16] = np.zeros(0, np.int16)
        self.passing = 0
        """How many rows no plugin refuses."""
        self._whole = False
        """Whether ``blame`` is right for what was caught up with; not after a look that was broken off."""
        self.fault = ""
        """Why an attempt can't go on, although preFilter let it pass: a plugin could not judge a node."""
        self.crowded: dict[int, Refusal] = {}
        """Rows refused where pods are nominated, with them or without: what counts there instead of the columns."""
        self.totals: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._names: frozenset[str] | None = None
        self._own = self._scored_for = NOBODY
        """The pod (UID) and the row where it is nominated that ``blame`` was last corrected for, and ``totals``."""
        self._far: FarGuests = {}
        """The pods nominated elsewhere that ``blame`` heeds."""
        self._far_asked: tuple[int, int, object] = (-1, 0, NOBODY)
        """The version of the nominations and of what plugins read, and the pod, that this was last looked at for."""
        self._failing = [(i, column) for i, column in enumerate(filters.values()) if is_a(column.plugin, FailingPlugin)]
        self._filter_follower = Follower({**preparing, **filters}.values(), _HEEDED)
        score_columns = [part.column for part in scores.values()]
        self._score_follower = Follower([*self._filter_follower.columns, *score_columns], _HEEDED)
        self._normal_follower = Follower([part.column for part in scores.values() if part.normalizes])

    # ---- catching up -------------------------------------------------------------------------------------------------------

    def refresh_filters(self, snapshot: Snapshot) -> None:
        """Bring ``verdict`` and, unless that refuses all nodes, ``blame`` up to date."""
        nodes = snapshot.nodes
        for column in self._filter_follower.columns:
            column.prepare(snapshot)
        if self._filter_follower.stale:
            self.verdict, self.narrowed_by, self._names = _judge(self.preparing)
        if self.verdict[1].code is not Code.SUCCESS:
            self.fault = ""  # of nodes that nobody looks at now
            return
        active = [(i, column) for i, column in enumerate(self.filters.values()) if column.takes_part]
        for _, column in active:
            column.refresh(snapshot)
        whole, self._whole = self._whole, False
        changed = self._with_far(self._with_own(self._filter_follower.catch_up(snapshot), snapshot), snapshot)
        if changed is None or not whole or self.blame.size < nodes.live.size:
            self.blame = np.full(nodes.live.size, OUT_OF_SCOPE, np.int16)
            self.passing = 0
            rows: Rows = nodes.all_rows
        elif changed.size:
            rows = changed
        else:
            self._whole = True
            return
        before = np.count_nonzero(self.blame[rows] == PASSES)
        self.blame[rows] = self._blame(snapshot, rows, active)
        if self.crowded or len(snapshot.nominations):
            self._heed_nominations(snapshot, rows)
        self.passing += int(np.count_nonzero(self.blame[rows] == PASSES) - before)
        self.fault = self._fault(snapshot)
        self._whole = True

    def refresh_scores(self, snapshot: Snapshot) -> Status:
        """Bring ``totals`` up to date after ``refresh_filters``; ERROR when a plugin failed."""
        nodes = snapshot.nodes
        totals, self.totals = self.totals, np.zeros(0, np.int64)  # after a fault, everything is added up anew
        for name, part in self.scores.items():
            prepared = part.column.prepare(snapshot)
            if prepared.status.code not in (Code.SUCCESS, Code.SKIP):
                return failed(f'running PreScore plugin "{name}": {prepared.status.message}')
            if not part.column.takes_part:
                continue
            part.column.refresh(snapshot)
            if is_a(part.column.plugin, PausingPlugin) and (why := part.column.plugin.unfinished(prepared.state)):
                return failed(f'running Score plugin "{name}": {why}')
        changed = self._score_follower.catch_up(snapshot)
        renormalize = self._normal_follower.catch_up(snapshot)
        heeded, self._scored_for = self._scored_for == self._own, self._own
        if heeded and changed is not None and totals.size >= nodes.live.size and renormalize is not None and not renormalize.size:
            now, before = self.blame[changed] == PASSES, totals[changed] != INFEASIBLE
            if np.array_equal(now, before):
                return self._add_up(totals, changed[now], renormalize=False)
        return self._add_up(np.full(nodes.live.size, INFEASIBLE, np.int64), self.feasible(), renormalize=True)

    # ---- reading -----------------------------------------------------------------------------------------------------------

    @property
    def heeds_far(self) -> bool:
        """Whether pods that are nominated elsewhere matter."""
        return bool(self._far)

    @property
    def fits(self) -> bool:
        """Whether any node takes the pod."""
        return self.verdict[1].code is Code.SUCCESS and self.passing > 0

    def feasible(self) -> npt.NDArray[np.intp]:
        """The rows that no plugin refuses."""
        return np.flatnonzero(self.blame == PASSES)

    def totals_among(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """``totals`` as they would be if only these rows were feasible; call after ``refresh_scores``."""
        totals = np.full_like(self.totals, INFEASIBLE)
        parts = (part for part in self.scores.values() if part.column.takes_part)
        totals[rows] = sum((part.rank(rows).normalized * part.weight for part in parts), np.zeros(rows.size, np.int64))
        return totals

    def counts(self, snapshot: Snapshot) -> Iterator[tuple[str, int]]:
        """(reason text, number of nodes that gave it) over all refused nodes, for the diagnosis."""
        counts: dict[str, int] = {}
        for why, rows in self._refused():
            for text in texts(why):
                counts[text] = counts.get(text, 0) + rows.size
        outside = len(snapshot.nodes) - int(np.count_nonzero(self.blame != OUT_OF_SCOPE))
        if outside:
            counts[_narrowed(self.narrowed_by)] = outside
        yield from counts.items()

    def refusals(self, snapshot: Snapshot) -> npt.NDArray[np.int64]:
        """int64[capacity]: 0 not refused, 1 refused (removing pods may help), 2 unresolvable, out of scope or refused at preFilter."""
        if self.verdict[1].code is not Code.SUCCESS:
            return np.full(snapshot.nodes.live.size, 2)
        refusals = np.where(self.blame == OUT_OF_SCOPE, 2, 0)
        for why, rows in self._refused():
            refusals[rows] = 2 if hopeless(why) else 1
        return refusals

    def what_if(self, snapshot: Snapshot, without: Collection[str] = ()) -> WhatIf:
        """Suppose other pods on nodes; after ``refresh_filters``. Where preFilter refused all nodes, no filter is prepared to be asked.

        ``without``: plugins that are not to be asked.
        """
        filters = self.filters if self.verdict[1].code is Code.SUCCESS else {}
        if filters and not without:
            return WhatIf(self.pod, filters, snapshot, self._far)
        return WhatIf(self.pod, {name: column for name, column in filters.items() if name not in without}, snapshot)

    def rejectors(self) -> frozenset[str]:
        """The plugins that refused a node, or narrowed the choice of nodes."""
        names = list(self.filters)
        return frozenset({names[i] for i in np.unique(self.blame).tolist() if i >= 0} | set(self.narrowed_by))

    def keepers(self, snapshot: Snapshot) -> list[Record]:
        """The pods nominated to nodes that would take this pod but for them."""
        what_if, rows = self.what_if(snapshot), np.array(sorted(self.crowded), np.intp)
        for column in self.filters.values():
            if column.takes_part:
                rows = rows[column.values[rows] == 0]
        full = rows.tolist()
        near = {record.pod.metadata.uid: record for row in full for record in what_if.guests(row)}
        if any(not what_if.guests(row) for row in full):
            far = (pod.metadata.uid for guests in what_if.far.values() for pod, _ in guests)
            near |= {uid: record for uid in far if (record := snapshot.nominations.get(uid)) is not None}
        return list(near.values())

    def refusal(self, row: int) -> tuple[str, Status] | None:
        """Who refused this row and why; None when nobody did. A node out of scope has no plugin's name."""
        i = int(self.blame[row])
        if i == PASSES:
            return None
        if i == OUT_OF_SCOPE:
            return "", Status(Code.UNRESOLVABLE, (_narrowed(self.narrowed_by),))
        name = list(self.filters)[i]
        column = self.filters[name]
        crowded = self.crowded.get(row)
        return name, refused_for(crowded.why if crowded else _explain(column, int(column.values[row])))

    # ---- inside ------------------------------------------------------------------------------------------------------------

    def _blame(self, snapshot: Snapshot, rows: Rows, active: list[tuple[int, Column]]) -> npt.NDArray[np.int16]:
        """``blame`` of these rows, nominations left aside."""
        nodes = snapshot.nodes
        live = nodes.live[rows]
        blame = np.where(live, np.int16(PASSES), np.int16(OUT_OF_SCOPE))
        for i, column in reversed(active):
            blame[(column.values[rows] != 0) & live] = i
        if self._names is not None:
            inside = np.zeros(nodes.live.size, bool)
            inside[[nodes.row_of[name] for name in self._names if name in nodes.row_of]] = True
            blame[~inside[rows]] = OUT_OF_SCOPE
        return blame

    def _with_own(self, changed: Changed, snapshot: Snapshot) -> Changed:
        """These rows, and those that are not the same for this pod as for the last one of its template."""
        uid = self.pod.metadata.uid
        row = snapshot.nodes.row_of.get(snapshot.nominations.node(uid)) if len(snapshot.nominations) else None
        before, self._own = self._own, NOBODY if row is None else (uid, row)
        if changed is None or before == self._own:
            return changed
        own = [row for _, row in (before, self._own) if 0 <= row < snapshot.nodes.rows]
        return np.union1d(changed, np.array(own, np.intp))

    def _with_far(self, changed: Changed, snapshot: Snapshot) -> Changed:
        """These rows; or all of them, where pods nominated elsewhere matter and they, this pod or a row are not as before."""
        nominations = snapshot.nominations
        asked = nominations.version, self._read(snapshot) if len(nominations) else 0, self._own
        if asked == self._far_asked and changed is not None and not changed.size:
            return changed
        before, self._far = self._far, WhatIf(self.pod, self.filters, snapshot).far if len(nominations) else {}
        self._far_asked = asked
        if not before and not self._far:
            return changed
        self._scored_for = STALE
        return None

    def _read(self, snapshot: Snapshot) -> int:
        """Moves with all objects by which a plugin may tell what a nominated pod needs."""
        adjusting = [column.plugin for column in self.filters.values() if column.takes_part and is_a(column.plugin, AdjustingPlugin)]
        return sum(snapshot.store.clock(kind).version for plugin in adjusting if is_a(plugin, ReadingPlugin) for kind in plugin.kinds)

    def _heed_nominations(self, snapshot: Snapshot, rows: Rows) -> None:
        """Correct ``blame`` of those of these rows that pods are nominated to."""
        nodes, nominations = snapshot.nodes, snapshot.nominations
        if isinstance(rows, slice):
            self.crowded = {}
            near = [nodes.row_of[node] for node in nominations.nodes if node in nodes.row_of]
        else:
            for row in rows.tolist():
                self.crowded.pop(row, None)
            near = [row for row in rows.tolist() if nominations.on(nodes.names[row])]
        near = [row for row in near if self.blame[row] != OUT_OF_SCOPE]
        if not near and not self._far:
            return
        with self.what_if(snapshot) as what_if:
            asked = np.array([row for row in near if what_if.guests(row)], np.intp)
            if self._far:
                asked = np.union1d(asked, np.flatnonzero(self.blame == PASSES))
            for row, refusal in what_if.ask(asked).items():
                self.crowded[row] = refusal
                self.blame[row] = refusal.place

    def _fault(self, snapshot: Snapshot) -> str:
        """What a plugin says of the first node (by name) that it could not judge, with the pods nominated there or without."""
        for i, column in self._failing:
            rows = np.flatnonzero(self.blame == i) if column.takes_part else NOTHING
            found = {row: _explain(column, int(column.values[row])) for row in rows[column.values[rows] < 0].tolist()}
            found |= {row: refusal.why for row, refusal in self.crowded.items() if refusal.place == i and refusal.code < 0}
            if found:
                why = found[min(found, key=lambda row: snapshot.nodes.names[row])]
                return f'running "{column.plugin.name}" filter plugin: {", ".join(texts(why))}'
        return ""

    def _refused(self) -> Iterator[tuple[Why, npt.NDArray[np.intp]]]:
        """Each distinct answer of each refusing plugin with the rows that got it."""
        blame = self.blame
        if self.crowded:
            blame = blame.copy()
            blame[list(self.crowded)] = PASSES
            alike: dict[tuple[int, int, int], tuple[Refusal, list[int]]] = {}
            for row, refusal in self.crowded.items():
                alike.setdefault((refusal.place, refusal.code, id(refusal.state)), (refusal, []))[1].append(row)
            for refusal, among in alike.values():
                yield refusal.why, np.array(among)
        for i, column in enumerate(self.filters.values()):
            rows = np.flatnonzero(blame == i)
            codes, which = np.unique(column.values[rows], return_inverse=True)
            for j, code in enumerate(codes.tolist()):
                yield _explain(column, code), rows[which == j]

    def _add_up(self, totals: npt.NDArray[np.int64], rows: npt.NDArray[np.intp], renormalize: bool) -> Status:
        """Write the totals of these feasible rows into ``totals``, which are ours from then on."""
        total = np.zeros(rows.size, np.int64)
        for name, part in self.scores.items():
            if not part.column.takes_part or not rows.size:
                continue
            if not part.normalizes:
                scores = part.column.values[rows]
            elif renormalize or part.normalized is None:
                scores = part.rank(rows).normalized
                part.normalized = np.zeros(totals.size, np.int64)
                part.normalized[rows] = scores
            else:
                scores = part.normalized[rows]
            if scores.min() < 0 or scores.max() > MAX_NODE_SCORE:
                wrong = int(scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0])
                return failed(f'plugin "{name}" returns an invalid score {wrong}, it should be in the range of [0, 100] after normalizing')
            total += scores * part.weight
        totals[rows] = total
        self.totals = totals
        return SUCCESS


def _explain(column: Column, code: int) -> Why:
    plugin: FilterPlugin = column.plugin  # type: ignore[assignment]  # only filters refuse
    return plugin.explain(column.prepared.state, code)


def _narrowed(plugins: tuple[str, ...]) -> str:
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"


def _judge(preparing: dict[str, Column]) -> tuple[tuple[str, Status], tuple[str, ...], frozenset[str] | None]:
    """preFilter's common verdict: (plugin, status), the plugins that narrowed, the names that are left (None for all)."""
    verdict: tuple[str, Status] = ("", SUCCESS)
    narrowing: list[str] = []
    names: frozenset[str] | None = None
    for plugin, column in preparing.items():
        prepared = column.prepared
        code = prepared.status.code
        if code is Code.UNRESOLVABLE:
            return (plugin, prepared.status), (), None
        if code in REFUSALS:
            verdict = plugin, prepared.status
        elif code is Code.ERROR:
            return (plugin, failed(f'running PreFilter plugin "{plugin}": {prepared.status.message}')), (), None
        if prepared.names is not None:
            narrowing.append(plugin)
            names = prepared.names if names is None else names & prepared.names
            if not names:
                who = f"plugin {plugin}" if len(narrowing) == 1 else f"plugin(s) [{' '.join(sorted(narrowing))}] simultaneously"
                return (plugin, Status(Code.UNRESOLVABLE, (f"node(s) didn't satisfy {who}",))), tuple(narrowing), None
    return verdict, tuple(narrowing), names
