"""DefaultPreemption: when no node takes a pod, finds one that would without some pods of lower
priority.

It decides which pods should go and nominates the pod to that node; evicting them is the engine's.
Nodes are tried side by side: all lower pods of each are taken away, then put back one by one, those
first that a disruption budget protects, as long as the pod still fits; who cannot be put back is a
victim. Where kube-scheduler draws at random (where to begin, which of equals to take), a function
of (seed, pod, node) decides here. Source: kube-scheduler DefaultPreemption (v1.36).

``disruptionPolicy`` is ours. BestEffort is kube-scheduler's way: budgets are respected where there
is a choice, and do not stop it. With RespectPDB no pod goes that a budget does not let go: such
nodes are no candidates, and victims are evicted instead of deleted.

Cost: nothing while pods fit; a pod that does not costs a dry run on nodes with pods of lower
priority, remembered until they change.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Interval

from moorage.core.columns.pod_info import PodBatch, PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.interfaces import DryRun, FailedAttempt, PostFilterResult, Victims
from moorage.core.framework.status import SUCCESS, Code, Reason, Status, fit_error_message, texts
from moorage.core.framework.tie_breaking import in_order
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod, priority
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.disruption_budgets import (
    BudgetsByNamespace,
    budgets,
    unevictable_pods,
    violating_pods,
)

IntRows = npt.NDArray[np.intp]

NAME = "DefaultPreemption"
NEVER = Reason(
    "PreemptionPolicyNever",
    "preemption: not eligible due to preemptionPolicy=Never.",
    Code.UNSCHEDULABLE,
)
UNDER_WAY = Reason(
    "VictimsTerminating",
    "preemption: not eligible due to a terminating pod on the nominated node.",
    Code.UNSCHEDULABLE,
)
NO_HELP = Reason("PreemptionNoHelp", "preemption: {}", Code.UNSCHEDULABLE)
NO_CANDIDATE = Reason(
    "NoCandidateNode", "preemption: no candidate node for preemption", Code.UNSCHEDULABLE
)
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_TRIED = "Preemption is not helpful for scheduling"
PROTECTED = "Preemption would violate a disruption budget"

BY_PREEMPTION = "PreemptionByScheduler"
"""The reason in a victim's DisruptionTarget condition."""

_UNSCHEDULABLE = 1
_MIN_ROWS_PER_SEARCH = 64
"""Nodes are tried at least so many at a time: one by one would cost more."""
_NOT_STARTED = "~"
"""Sorts behind every time. A pod without a start counts as started just now."""
_PRIORITIES_FROM = -(2**31)


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs:
    """How many candidates are enough to choose from: this share (percent) of the nodes, but not
    fewer than this number.

    ``disruption_policy``: whether pods go that a disruption budget protects.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    min_candidate_nodes_percentage: Annotated[int, Interval(ge=0, le=100)] = 10
    min_candidate_nodes_absolute: Annotated[int, Ge(0)] = 100
    disruption_policy: Literal["BestEffort", "RespectPDB"] = "BestEffort"

    def validate(self) -> list[Violation]:
        """One of them must ask for something."""
        if self.min_candidate_nodes_percentage or self.min_candidate_nodes_absolute:
            return []
        percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
        return [
            Violation(percentage, 0, f"cannot be zero at the same time as {absolute}"),
            Violation(absolute, 0, f"cannot be zero at the same time as {percentage}"),
        ]


class PreemptionCandidate(NamedTuple):
    """A row where the pod fits once the victims are gone, the most important of them first."""

    row: int
    victims: tuple[Pod, ...]
    num_pdb_violations: int
    """How many of them a disruption budget protects."""
    cost: tuple[int, int, int, int]
    """Budget violations, the highest priority, the sum of priorities (each made positive), how many
    victims: the less the better.
    """
    started: str
    """When the first of the victims of highest priority started: the later the better."""


Outcome = PreemptionCandidate | tuple[str, ...]
"""What came of a row: a candidate, or the reasons why it is none."""


def _never(_pod: Pod, _event: ClusterEvent, _store: Lister) -> bool:
    """Whether never by this: the plugins that refused nodes know what helps."""
    return False


def _lets_go(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether a budget is gone, is another, or lets more pods go than before."""
    old, new = event.old, event.new
    if not isinstance(old, PodDisruptionBudget) or not isinstance(new, PodDisruptionBudget):
        return new is None
    return (
        old.spec != new.spec
        or old.status.disruptions_allowed < new.status.disruptions_allowed
        or not _known(old)
    )


def _known(budget: PodDisruptionBudget) -> bool:
    """Whether its status is about its present spec."""
    return budget.status.observed_generation >= (budget.metadata.generation or 0)


_GONE = ClusterEventWithHint(EventResource.POD, ActionType.DELETE, _never, shared_by_signature=True)
_BUDGET = ClusterEventWithHint(
    EventResource.POD_DISRUPTION_BUDGET,
    ActionType.UPDATE | ActionType.DELETE,
    _lets_go,
    shared_by_signature=True,
)


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPreemption:
    """Looks for room among pods of lower priority."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NEVER, UNDER_WAY, NO_HELP, NO_CANDIDATE)
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({PodDisruptionBudget})

    args: DefaultPreemptionArgs = DefaultPreemptionArgs()

    @property
    def respectful(self) -> bool:
        """Whether no pod may go that a budget protects."""
        return self.args.disruption_policy == "RespectPDB"

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """A budget that lets more pods go may help where it is what was in the way."""
        return (_GONE, _BUDGET) if self.respectful else (_GONE,)

    def hint_signature(self, pod: Pod) -> Hashable:
        """The hints look at budgets."""
        return ()

    def post_filter(self, pod: Pod, attempt: FailedAttempt) -> PostFilterResult:
        """The best node and its victims, or why there is none; a pod that may not preempt keeps its
        nomination.
        """
        found = self._found(pod, attempt)
        return found if isinstance(found, PostFilterResult) else self._taken(found, attempt)

    def find_candidates(
        self, pod: Pod, attempt: FailedAttempt
    ) -> Mapping[str, Victims] | PostFilterResult:
        """What ``post_filter`` would choose from."""
        found = self._found(pod, attempt)
        if isinstance(found, PostFilterResult):
            return found
        return {
            attempt.snapshot.nodes.names[one.row]: Victims(one.victims, one.num_pdb_violations)
            for one in found
        }

    def select_candidate(
        self, candidates: Mapping[str, Victims], attempt: FailedAttempt
    ) -> PostFilterResult:
        """The best of them. Without any the nomination is left alone."""
        if not candidates:
            return PostFilterResult(Status(NO_CANDIDATE.code, (NO_CANDIDATE.text,)))
        row_of = attempt.snapshot.nodes.row_of
        return self._taken(
            [candidate_of(row_of[node], *victims) for node, victims in candidates.items()], attempt
        )

    def _found(
        self, pod: Pod, attempt: FailedAttempt
    ) -> list[PreemptionCandidate] | PostFilterResult:
        """All candidates, the harmless ones first."""
        nodes = attempt.snapshot.nodes
        if ineligible := _ineligible(pod, attempt):
            return PostFilterResult(Status(ineligible.code, (ineligible.text,)))
        helpful = np.flatnonzero(attempt.node_codes == _UNSCHEDULABLE)
        occupied = helpful[attempt.snapshot.priorities.below(priority(pod), nodes.rows)[helpful]]
        candidates, refused = self._search(
            pod, attempt, in_order(occupied, nodes.tie_break, pod.metadata.uid, attempt.seed)
        )
        if candidates:
            return candidates
        refused[NO_VICTIMS] += helpful.size - occupied.size
        refused[NOT_TRIED] = len(nodes) - helpful.size
        text = fit_error_message(
            len(nodes), [(reason, count) for reason, count in refused.items() if count]
        )
        rejectors = frozenset({NAME}) if refused[PROTECTED] else frozenset[str]()
        return PostFilterResult(
            Status(NO_HELP.code, (NO_HELP.text.replace("{}", text),)),
            "",
            unschedulable_plugins=rejectors,
        )

    def _search(
        self, pod: Pod, attempt: FailedAttempt, rows: IntRows
    ) -> tuple[list[PreemptionCandidate], Counter[str]]:
        """Candidates among these rows, in this order, until there are enough and one violates no
        budget; and the others' reasons.
        """
        percentage, absolute = (
            self.args.min_candidate_nodes_percentage,
            self.args.min_candidate_nodes_absolute,
        )
        memory = attempt.row_cache(
            NAME, (attempt.snapshot.store.version_counter(PodDisruptionBudget),)
        )
        helpful = int(np.count_nonzero(attempt.node_codes == _UNSCHEDULABLE))
        enough = min(helpful, max(helpful * percentage // 100, absolute))
        harmless: list[PreemptionCandidate] = []
        violating: list[PreemptionCandidate] = []
        refused: Counter[str] = Counter()
        start = 0
        while start < rows.size:
            end = start + max(enough - len(harmless) - len(violating), _MIN_ROWS_PER_SEARCH)
            for outcome in self._outcomes(pod, attempt, rows[start:end], memory):
                if not isinstance(outcome, PreemptionCandidate):
                    refused.update(outcome)
                    continue
                if outcome.num_pdb_violations and self.respectful:
                    refused[PROTECTED] += 1
                    continue
                (violating if outcome.num_pdb_violations else harmless).append(outcome)
                if harmless and len(harmless) + len(violating) >= enough:
                    return harmless + violating[:enough], refused
            start = end
        return harmless + violating[:enough], refused

    def _outcomes(
        self, pod: Pod, attempt: FailedAttempt, rows: IntRows, memory: dict[int, Outcome]
    ) -> list[Outcome]:
        """What came of each of these rows, now or in an earlier attempt. Where the pod itself is
        nominated, it is asked each time.
        """
        snapshot = attempt.snapshot
        own = snapshot.nodes.row_of.get(snapshot.nominations.nominated_node(pod.metadata.uid), -1)
        unknown = [row for row in rows.tolist() if row not in memory or row == own]
        found = (
            dry_run(pod, attempt, np.array(unknown, np.intp), self.respectful) if unknown else {}
        )
        memory.update({row: outcome for row, outcome in found.items() if row != own})
        if unknown:
            snapshot.budget.check()
        return [found[row] if row in found else memory[row] for row in rows.tolist()]

    def _taken(
        self, candidates: Sequence[PreemptionCandidate], attempt: FailedAttempt
    ) -> PostFilterResult:
        best = choose(candidates)
        return PostFilterResult(
            SUCCESS,
            attempt.snapshot.nodes.names[best.row],
            best.victims,
            by_eviction=self.respectful,
        )


def choose(candidates: Sequence[PreemptionCandidate]) -> PreemptionCandidate:
    """The one that does least harm; among equals the one whose best victims started last, then the
    first.
    """
    least = min(candidate.cost for candidate in candidates)
    return max((one for one in candidates if one.cost == least), key=lambda one: one.started)


def candidate_of(row: int, victims: tuple[Pod, ...], violations: int) -> PreemptionCandidate:
    """The candidate with what candidates are compared by."""
    priorities = [priority(victim) for victim in victims]
    cost = (
        violations,
        priorities[0],
        sum(each - _PRIORITIES_FROM for each in priorities),
        len(priorities),
    )
    started = min(
        _start(victim)
        for victim, each in zip(victims, priorities, strict=True)
        if each == priorities[0]
    )
    return PreemptionCandidate(row, victims, violations, cost, started)


def _start(pod: Pod) -> str:
    """RFC 3339 in UTC with whole seconds, as API servers write it: sorts by time."""
    return pod.status.start_time or _NOT_STARTED


def _ineligible(pod: Pod, attempt: FailedAttempt) -> Reason | None:
    """Why the pod may not preempt: it does not want to, or what it did preempt is still going."""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    node = attempt.snapshot.nominations.nominated_node(pod.metadata.uid)
    row = attempt.snapshot.nodes.row_of.get(node)
    if row is None or attempt.node_codes[row] != _UNSCHEDULABLE:
        return None
    return (
        UNDER_WAY
        if any(map(_is_terminating_victim, _potential_victims(pod, attempt.snapshot, node)))
        else None
    )


def _is_terminating_victim(record: PodInfo) -> bool:
    """Whether it was told to go for somebody's sake, and goes."""
    pod = record.pod
    if record.preempted:
        return True
    if not isinstance(pod, Pod) or pod.metadata.deletion_timestamp is None:
        return False
    conditions = pod.status.conditions or ()
    return any(
        (c.type, c.status, c.reason) == ("DisruptionTarget", "True", BY_PREEMPTION)
        for c in conditions
    )


# ---- the dry run ---------------------------------------------------------------------------------


def dry_run(
    pod: Pod, attempt: FailedAttempt, rows: IntRows, respectful: bool = False
) -> dict[int, Outcome]:
    """Which of these rows would take the pod without whom, and why the others would not.

    ``respectful``: violations are counted as the API server would see them, victim by victim, not
    as kube-scheduler does.
    """
    snapshot = attempt.snapshot
    lower = {
        row: sorted(_potential_victims(pod, snapshot, snapshot.nodes.names[row]), key=_importance)
        for row in rows.tolist()
    }
    batch = PodBatch([record for records in lower.values() for record in records], snapshot.nodes)
    ends = np.cumsum([len(records) for records in lower.values()], dtype=np.intp)
    by_namespace = budgets(snapshot.store)
    lanes = _DryRunLanes(
        batch, rows, np.concatenate([[0], ends[:-1]]), ends, *_reprieve_order(batch, by_namespace)
    )
    with attempt.dry_run() as what_if:
        what_if.remove(batch, lanes.queue)
        hopeless = what_if.run_filters(rows)
        fitting = np.flatnonzero([row not in hopeless for row in rows.tolist()])
        victims = _reprieve(what_if, lanes, fitting)
    came: dict[int, Outcome] = {row: tuple(texts(refusal.why)) for row, refusal in hopeless.items()}
    return came | {
        int(rows[i]): lanes.outcome(i, victims, by_namespace if respectful else None)
        for i in fitting.tolist()
    }


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
    ) -> Outcome:
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


def _potential_victims(pod: Pod, snapshot: Snapshot, node: str) -> list[PodInfo]:
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
    return -(pod.spec.priority or 0), pod.status.start_time or _NOT_STARTED, pod.metadata.uid


def _pods(records: Iterable[PodInfo]) -> tuple[Pod, ...]:
    return tuple(record.pod for record in records if isinstance(record.pod, Pod))


def _reprieve_order(
    batch: PodBatch, by_namespace: BudgetsByNamespace
) -> tuple[IntRows, npt.NDArray[np.bool_]]:
    """Places of the batch in the order in which its pods are put back, and whom budgets protect.
    (intp[pods], bool[pods]).

    On each row those come first whose going would violate a budget; the most important ones first
    in either group, as they stand in the batch. All budgets of a pod are charged for it, in the
    order of importance, whether they have anything left or not.
    """
    places = np.arange(len(batch.records))
    if not by_namespace:
        return places, np.zeros(places.size, bool)
    protected = np.array(
        violating_pods(zip(_pods(batch.records), batch.rows.tolist(), strict=True), by_namespace),
        bool,
    )
    lane = (
        np.concatenate([[0], np.cumsum(batch.rows[1:] != batch.rows[:-1])])
        if places.size
        else places
    )
    return np.lexsort((places, ~protected, lane)), protected
