"""The dry run of preemption: whom a node would have to lose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.post_filter_contract import DryRun, FailedAttempt
from moorage.core.framework.status import texts
from moorage.core.objects.pods import Pod, priority
from moorage.core.plugins.default_preemption.candidates import NOT_STARTED, RowOutcome, candidate_of
from moorage.core.plugins.default_preemption.disruption_budgets import (
    BudgetsByNamespace,
    budgets,
    unevictable_pods,
    violating_pods,
)

IntRows = npt.NDArray[np.intp]

NO_VICTIMS = "No preemption victims found for incoming pod"


def dry_run(
    pod: Pod, attempt: FailedAttempt, rows: IntRows, respectful: bool = False
) -> dict[int, RowOutcome]:
    """Which of these rows would take the pod without whom, and why the others would not.

    ``respectful``: violations are counted as the API server would see them, victim by victim, not
    as kube-scheduler does.
    """
    by_namespace = budgets(attempt.snapshot.store)
    lanes = _lanes(pod, attempt.snapshot, rows, by_namespace)
    with attempt.dry_run() as what_if:
        what_if.remove(lanes.batch, lanes.queue)
        hopeless = what_if.run_filters(rows)
        fitting = np.flatnonzero([row not in hopeless for row in rows.tolist()])
        victims = _reprieve(what_if, lanes, fitting)
    came: dict[int, RowOutcome] = {
        row: tuple(texts(refusal.why)) for row, refusal in hopeless.items()
    }
    heeded = by_namespace if respectful else None
    return came | {int(rows[i]): lanes.outcome(i, victims, heeded) for i in fitting.tolist()}


def _lanes(
    pod: Pod, snapshot: Snapshot, rows: IntRows, by_namespace: BudgetsByNamespace
) -> _DryRunLanes:
    """All pods on these rows that the pod may displace."""
    lower = {
        row: sorted(potential_victims(pod, snapshot, snapshot.nodes.names[row]), key=_importance)
        for row in rows.tolist()
    }
    batch = PodBatch([record for records in lower.values() for record in records], snapshot.nodes)
    ends = np.cumsum([len(records) for records in lower.values()], dtype=np.intp)
    starts = np.concatenate([[0], ends[:-1]])
    return _DryRunLanes(batch, rows, starts, ends, *_reprieve_order(batch, by_namespace))


class _DryRunLanes(NamedTuple):
    """The pods that are tried away from several rows, side by side: those of row i are at places
    starts[i]..ends[i] of the batch.
    """

    batch: PodBatch
    rows: IntRows
    starts: IntRows
    ends: IntRows
    queue: IntRows
    """Places in the order in which they are put back, within each row's range."""
    protected: npt.NDArray[np.bool_]
    """Whether a budget protects the pod at this place. bool[pods]."""

    def outcome(
        self, i: int, victims: npt.NDArray[np.bool_], by_namespace: BudgetsByNamespace | None
    ) -> RowOutcome:
        """Row i without its victims (bool[pods]); if it needs none, somebody else refuses the pod
        there.
        """
        places = np.arange(self.starts[i], self.ends[i])[victims[self.starts[i] : self.ends[i]]]
        if not places.size:
            return (NO_VICTIMS,)
        pods = _pods(self.batch.records[place] for place in places.tolist())
        violations = (
            int(np.count_nonzero(self.protected[places]))
            if by_namespace is None
            else unevictable_pods(pods, by_namespace)
        )
        return candidate_of(int(self.rows[i]), pods, violations)


def _reprieve(what_if: DryRun, lanes: _DryRunLanes, fitting: IntRows) -> npt.NDArray[np.bool_]:
    """Put the pods of these lanes back, one of each at a time; with whom the pod does not fit any
    more is a victim. bool[pods].
    """
    victims = np.zeros(lanes.queue.size, bool)
    turn = 0
    while (trying := fitting[lanes.starts[fitting] + turn < lanes.ends[fitting]]).size:
        back = lanes.queue[lanes.starts[trying] + turn]
        what_if.add(lanes.batch, back)
        refused = what_if.run_filters(lanes.rows[trying])
        if refused:
            failed = back[[row in refused for row in lanes.rows[trying].tolist()]]
            what_if.remove(lanes.batch, failed)
            victims[failed] = True
        turn += 1
    return victims


def potential_victims(pod: Pod, snapshot: Snapshot, node: str) -> list[PodInfo]:
    """The pods on a node that this one may displace; those that would not go are none."""
    mine = priority(pod)
    there = (record for record in snapshot.pods_on(node) if not record.stuck)
    return [
        record
        for record in there
        if isinstance(record.pod, Pod) and (record.pod.spec.priority or 0) < mine
    ]


def _importance(record: PodInfo) -> tuple[int, str, str]:
    """Lower for the more important: by priority, then by how long it runs. The UID only fixes the
    order of equals.
    """
    pod: Pod = record.pod  # type: ignore[assignment]  # only pods that could be read are displaced
    return -(pod.spec.priority or 0), pod.status.start_time or NOT_STARTED, pod.metadata.uid


def _pods(records: Iterable[PodInfo]) -> tuple[Pod, ...]:
    return tuple(record.pod for record in records if isinstance(record.pod, Pod))


def _reprieve_order(
    batch: PodBatch, by_namespace: BudgetsByNamespace
) -> tuple[IntRows, npt.NDArray[np.bool_]]:
    """Places of the batch in the order in which its pods are put back, and whom budgets protect.
    (intp[pods], bool[pods]).

    On each row those come first whose going would violate a budget; the most important ones first
    in either group, as they stand in the batch. Budgets are charged in the order of importance of
    the pods, each pod's up to the first that has nothing left.
    """
    places = np.arange(len(batch.records))
    if not by_namespace:
        return places, np.zeros(places.size, bool)
    pods = zip(_pods(batch.records), batch.rows.tolist(), strict=True)
    protected = np.array(violating_pods(pods, by_namespace), bool)
    steps = np.cumsum(batch.rows[1:] != batch.rows[:-1])
    lane = np.concatenate([[0], steps]) if places.size else places
    return np.lexsort((places, ~protected, lane)), protected
