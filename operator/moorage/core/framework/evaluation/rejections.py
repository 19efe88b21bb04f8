"""Why nodes are rejected: what an evaluation says of them to people, events and postFilter."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import OUT_OF_SCOPE, PASSES, Evaluation
from moorage.core.framework.status import Code, Status, Why, is_unresolvable, rejected_for, texts

RowMask: TypeAlias = npt.NDArray[np.bool_]
"""bool[capacity]: the rows that are spoken of."""


class RejectedRows(NamedTuple):
    """Rows of which one filter plugin said the same."""

    plugin: str
    why: Why
    rows: npt.NDArray[np.intp]


def reason_counts(
    evaluation: Evaluation, snapshot: Snapshot, among: RowMask | None = None
) -> Iterator[tuple[str, int]]:
    """(reason text, number of nodes that gave it) over all rejected nodes, or those ``among``, for
    the diagnosis.
    """
    counts: dict[str, int] = {}
    for _, why, rows in rejected_rows(evaluation):
        size = rows.size if among is None else int(np.count_nonzero(among[rows]))
        for text in texts(why) if size else ():
            counts[text] = counts.get(text, 0) + size
    inside = evaluation.rejected_by != OUT_OF_SCOPE
    if among is None:
        outside = len(snapshot.nodes) - int(np.count_nonzero(inside))
    else:
        outside = int(np.count_nonzero(among & ~inside))
    if outside:
        counts[narrowed_message(evaluation.pre_filter.narrowed_by)] = outside
    yield from counts.items()


def node_codes(evaluation: Evaluation, snapshot: Snapshot) -> npt.NDArray[np.int64]:
    """int64[capacity]: 0 not rejected, 1 rejected (removing pods may help), 2 unresolvable, out
    of scope or rejected at preFilter.
    """
    if evaluation.pre_filter.status.code is not Code.SUCCESS:
        return np.full(snapshot.nodes.live.size, 2)
    refusals = np.where(evaluation.rejected_by == OUT_OF_SCOPE, 2, 0)
    for _, why, rows in rejected_rows(evaluation):
        refusals[rows] = 2 if is_unresolvable(why) else 1
    return refusals


def unschedulable_plugins(evaluation: Evaluation, among: RowMask | None = None) -> frozenset[str]:
    """The plugins that rejected a node, or one ``among`` these, or narrowed the choice of nodes."""
    names = list(evaluation.filters)
    rejected_by = evaluation.rejected_by if among is None else evaluation.rejected_by[among]
    return frozenset(
        {names[i] for i in np.unique(rejected_by).tolist() if i >= 0}
        | set(evaluation.pre_filter.narrowed_by)
    )


def blocking_nominated_pods(evaluation: Evaluation, snapshot: Snapshot) -> list[PodInfo]:
    """The pods nominated to nodes that would take this pod but for them."""
    rows = np.fromiter(evaluation.nominated_rejections.rows, np.intp)
    for column in evaluation.filters.values():
        if column.applies:
            rows = rows[column.values[rows] == 0]
    nodes, nominations = snapshot.nodes, snapshot.nominations
    wanted = {nodes.names[row] for row in rows.tolist()}
    near = [record for record in nominations.ahead_of(evaluation.pod) if record.node in wanted]
    blocking = {record.pod.metadata.uid: record for record in near}
    if len({record.node for record in near}) < len(wanted):
        far = evaluation.dry_run(snapshot).far_nominated_pods
        for pod, _ in itertools.chain(*far.values()):
            if (record := nominations.get(pod.metadata.uid)) is not None:
                blocking[pod.metadata.uid] = record
    return list(blocking.values())


def rejection(evaluation: Evaluation, row: int | None) -> tuple[str, Status] | None:
    """Who rejected this row (None: a node that is not there) and why; None when nobody did. What
    preFilter rejects is rejected everywhere. A node out of scope has no plugin's name.
    """
    if evaluation.pre_filter.status.code is not Code.SUCCESS:
        return evaluation.pre_filter.plugin, evaluation.pre_filter.status
    if row is None:
        return None
    i = int(evaluation.rejected_by[row])
    if i == PASSES:
        return None
    if i == OUT_OF_SCOPE:
        return "", Status(
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            (narrowed_message(evaluation.pre_filter.narrowed_by),),
        )
    name = list(evaluation.filters)[i]
    column = evaluation.filters[name]
    crowded = evaluation.nominated_rejections.get(row)
    return name, rejected_for(crowded.why if crowded else column.explain(int(column.values[row])))


def rejected_rows(evaluation: Evaluation) -> Iterator[RejectedRows]:
    """Each distinct answer of each refusing plugin with the rows that got it; rows out of scope are
    missing.
    """
    rejected_by = evaluation.rejected_by.copy()
    for refusal, among in evaluation.nominated_rejections.alike():
        rows = np.fromiter(among, np.intp, len(among))
        rejected_by[rows] = PASSES
        yield RejectedRows(refusal.plugin.name, refusal.why, rows)
    columns = list(evaluation.filters.values())
    for i in np.unique(rejected_by[rejected_by >= 0]).tolist():
        rows = (rejected_by == i).nonzero()[0]
        codes, which = np.unique(columns[i].values[rows], return_inverse=True)
        for j, code in enumerate(codes.tolist()):
            name = columns[i].plugin.name
            yield RejectedRows(name, columns[i].explain(code), rows[which == j])


def narrowed_message(plugins: tuple[str, ...]) -> str:
    """What is said of the nodes that these plugins left out."""
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
