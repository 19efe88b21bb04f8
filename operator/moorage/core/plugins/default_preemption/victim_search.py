"""The dry run of preemption: whom a node would have to lose."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.post_filter_contract import DryRun, FailedAttempt
from moorage.core.framework.status import texts
from moorage.core.objects.pods import Pod, priority
from moorage.core.plugins.default_preemption.candidates import NOT_STARTED, RowOutcome, candidate_of
from moorage.core.plugins.default_preemption.disruption_budgets import (
    BudgetsByNamespace,
    budgets,
    unevictable_pods,
)
from moorage.core.plugins.default_preemption.lanes import (
    IntRows,
    Lanes,
    lanes_of_pods,
    lanes_of_units,
)
from moorage.core.plugins.default_preemption.units import units_of

BoolUnits = npt.NDArray[np.bool_]

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
        lanes.remove(what_if, lanes.queue)
        hopeless = what_if.run_filters(rows)
        fitting = np.flatnonzero([row not in hopeless for row in rows.tolist()])
        victims = _reprieve(what_if, lanes, fitting)
    came: dict[int, RowOutcome] = {
        row: tuple(texts(refusal.why)) for row, refusal in hopeless.items()
    }
    heeded = by_namespace if respectful else None
    return came | {int(rows[i]): _outcome(lanes, i, victims, heeded) for i in fitting.tolist()}


def _lanes(pod: Pod, snapshot: Snapshot, rows: IntRows, by_namespace: BudgetsByNamespace) -> Lanes:
    """All pods on these rows that the pod may displace, and whoever goes with them."""
    nodes = snapshot.nodes
    lower = [potential_victims(pod, snapshot, nodes.names[row]) for row in rows.tolist()]
    if snapshot.grouped_pods:
        units = [units_of(records, snapshot) for records in lower]
        return lanes_of_units(rows, units, nodes, by_namespace)
    for records in lower:
        records.sort(key=_importance)
    return lanes_of_pods(rows, lower, nodes, by_namespace)


def _outcome(
    lanes: Lanes, i: int, victims: BoolUnits, by_namespace: BudgetsByNamespace | None
) -> RowOutcome:
    """Row i without its victims (bool[units]); if it needs none, somebody else refuses the pod
    there.
    """
    units = np.arange(lanes.starts[i], lanes.ends[i])[victims[lanes.starts[i] : lanes.ends[i]]]
    if not units.size:
        return (NO_VICTIMS,)
    pods = lanes.pods_of(units)
    violations = (
        int(lanes.violations[units].sum())
        if by_namespace is None
        else unevictable_pods(pods, by_namespace)
    )
    return candidate_of(int(lanes.rows[i]), pods, violations)


def _reprieve(what_if: DryRun, lanes: Lanes, fitting: IntRows) -> BoolUnits:
    """Put the units of these lanes back, one of each at a time; with whom the pod does not fit any
    more is a victim. bool[units].
    """
    victims = np.zeros(lanes.queue.size, bool)
    turn = 0
    while (trying := fitting[lanes.starts[fitting] + turn < lanes.ends[fitting]]).size:
        back = lanes.queue[lanes.starts[trying] + turn]
        lanes.add(what_if, back)
        refused = what_if.run_filters(lanes.rows[trying])
        if refused:
            failed = back[[row in refused for row in lanes.rows[trying].tolist()]]
            lanes.remove(what_if, failed)
            victims[failed] = True
        turn += 1
    return victims


def potential_victims(pod: Pod, snapshot: Snapshot, node: str) -> list[PodInfo]:
    """The pods on a node that this one may displace, whatever goes with them; those that would not
    go are none.
    """
    mine = priority(pod)
    level_of = snapshot.priorities.level_of
    return [
        record
        for record in snapshot.pods_on(node)
        if not record.stuck
        and isinstance(record.pod, Pod)
        and (
            (record.pod.spec.priority or 0) < mine
            if record.pod.spec.scheduling_group is None
            else level_of(record.pod) < mine
        )
    ]


def _importance(record: PodInfo) -> tuple[int, str, str]:
    """Lower for the more important: by priority, then by how long it runs. The UID only fixes the
    order of equals.
    """
    pod: Pod = record.pod  # type: ignore[assignment]  # only pods that could be read are displaced
    return -(pod.spec.priority or 0), pod.status.start_time or NOT_STARTED, pod.metadata.uid
