"""DefaultPreemption: when no node takes a pod, finds one that would without some pods of lower
priority.

It decides which pods should go and nominates the pod to that node; evicting them is the engine's.
Nodes are tried side by side: all lower pods of each are taken away, then put back one by one, those
first that a disruption budget protects, as long as the pod still fits; who cannot be put back is a
victim. Pods of a PodGroup count with the priority of that, and go all together, from all their
nodes, where it says so (``units``). Where kube-scheduler draws at random (where to begin, which of
equals to take), a function of (seed, pod, node) decides here.
Source: kube-scheduler DefaultPreemption (v1.37).

``disruptionPolicy`` is ours. BestEffort is kube-scheduler's way: budgets are respected where there
is a choice, and do not stop it. With RespectPDB no pod goes that a budget does not let go: such
nodes are no candidates, and victims are evicted instead of deleted.

Cost: nothing while pods fit; a pod that does not costs a dry run on nodes with pods of lower
priority, remembered until they change.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Interval

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.store import Lister
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.post_filter_contract import FailedAttempt, PostFilterResult, Victims
from moorage.core.framework.status import Code, Reason, Status, fit_error_message
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod, priority
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.candidates import (
    PreemptionCandidate,
    RowOutcome,
    candidate_of,
    choose,
)
from moorage.core.plugins.default_preemption.lanes import IntRows
from moorage.core.plugins.default_preemption.victim_search import (
    NO_VICTIMS,
    dry_run,
    potential_victims,
)
from moorage.core.structures.tie_breaking import in_order

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
FOUND = "preemption: found a potential placement for pod on node {}, preempting {} victims"
NOT_TRIED = "Preemption is not helpful for scheduling"
PROTECTED = "Preemption would violate a disruption budget"

BY_PREEMPTION = "PreemptionByScheduler"
"""The reason in a victim's DisruptionTarget condition."""

_UNSCHEDULABLE = 1
_MIN_ROWS_PER_SEARCH = 64
"""Nodes are tried at least so many at a time: one by one would cost more."""


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

    def enough(self, nodes: int) -> int:
        """How many candidates are enough, where so many nodes may become one."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(nodes, max(share, self.min_candidate_nodes_absolute))

    def validate(self) -> list[Violation]:
        """One of them must ask for something."""
        if self.min_candidate_nodes_percentage or self.min_candidate_nodes_absolute:
            return []
        percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
        return [
            Violation(percentage, 0, f"cannot be zero at the same time as {absolute}"),
            Violation(absolute, 0, f"cannot be zero at the same time as {percentage}"),
        ]


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


_GONE = shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, _never)
_BUDGET = shared_hint(
    EventResource.POD_DISRUPTION_BUDGET, ActionType.UPDATE | ActionType.DELETE, _lets_go
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

    def asks_to_evict(self) -> bool:
        """For groups, as for pods."""
        return self.respectful

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
        candidates, reasons = self._search(
            pod, attempt, in_order(occupied, nodes.tie_break, pod.metadata.uid, attempt.seed)
        )
        if candidates:
            return candidates
        refused = Counter(itertools.chain.from_iterable(reasons))
        refused[NO_VICTIMS] += helpful.size - occupied.size
        refused[NOT_TRIED] = len(nodes) - helpful.size
        return _no_candidates(len(nodes), refused)

    def _search(
        self, pod: Pod, attempt: FailedAttempt, rows: IntRows
    ) -> tuple[list[PreemptionCandidate], list[tuple[str, ...]]]:
        """Candidates among these rows, in this order, until there are enough and one violates no
        budget; and the others' reasons.
        """
        snapshot = attempt.snapshot
        budgets = snapshot.store.version_counter(PodDisruptionBudget)
        memory = attempt.row_cache(NAME, (budgets, snapshot.grouped_pods))
        enough = self.args.enough(int(np.count_nonzero(attempt.node_codes == _UNSCHEDULABLE)))
        harmless: list[PreemptionCandidate] = []
        violating: list[PreemptionCandidate] = []
        refused: list[tuple[str, ...]] = []
        start, worked = 0, False
        while start < rows.size:
            if worked:  # after the last rows the rest is done at once
                snapshot.budget.check()
            end = start + max(enough - len(harmless) - len(violating), _MIN_ROWS_PER_SEARCH)
            outcomes, worked = self._outcomes(pod, attempt, rows[start:end], memory)
            for outcome in outcomes:
                if not isinstance(outcome, PreemptionCandidate):
                    refused.append(outcome)
                    continue
                if outcome.num_pdb_violations and self.respectful:
                    refused.append((PROTECTED,))
                    continue
                (violating if outcome.num_pdb_violations else harmless).append(outcome)
                if harmless and len(harmless) + len(violating) >= enough:
                    return harmless + violating[:enough], refused
            start = end
        return harmless + violating[:enough], refused

    def _outcomes(
        self, pod: Pod, attempt: FailedAttempt, rows: IntRows, memory: dict[int, RowOutcome]
    ) -> tuple[list[RowOutcome], bool]:
        """What came of each of these rows, now or in an earlier attempt, and whether any was asked.
        Where the pod itself is nominated, it is asked each time.
        """
        snapshot = attempt.snapshot
        own = snapshot.nodes.row_of.get(snapshot.nominations.nominated_node(pod.metadata.uid), -1)
        unknown = [row for row in rows.tolist() if row not in memory or row == own]
        found = (
            dry_run(pod, attempt, np.array(unknown, np.intp), self.respectful) if unknown else {}
        )
        memory.update({row: outcome for row, outcome in found.items() if row != own})
        return [found[row] if row in found else memory[row] for row in rows.tolist()], bool(unknown)

    def _taken(
        self, candidates: Sequence[PreemptionCandidate], attempt: FailedAttempt
    ) -> PostFilterResult:
        best = choose(candidates)
        node = attempt.snapshot.nodes.names[best.row]
        return PostFilterResult(
            Status(Code.SUCCESS, (FOUND.format(node, len(best.victims)),)),
            node,
            best.victims,
            by_eviction=self.respectful,
        )


def _no_candidates(nodes: int, refused: Mapping[str, int]) -> PostFilterResult:
    text = fit_error_message(nodes, [(why, count) for why, count in refused.items() if count])
    return PostFilterResult(
        Status(NO_HELP.code, (NO_HELP.text.replace("{}", text),)),
        "",
        unschedulable_plugins=frozenset({NAME} if refused.get(PROTECTED) else ()),
    )


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
        if any(map(is_terminating_victim, potential_victims(pod, attempt.snapshot, node)))
        else None
    )


def is_terminating_victim(record: PodInfo) -> bool:
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
