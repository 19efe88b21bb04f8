"""DefaultPreemption: when no node takes a pod, finds one that would without some pods of lower priority.

It decides which pods should go and nominates the pod to that node; evicting them is the engine's. Nodes are tried side by side:
all lower pods of each are taken away, then put back one by one, those first that a disruption budget protects, as long as the pod
still fits; who cannot be put back is a victim. Where kube-scheduler draws at random (where to begin, which of equals to take), a
function of (seed, pod, node) decides here. Source: kube-scheduler DefaultPreemption (v1.36).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Interval

from moorage.core.cluster_events import Action, Resource, Wake
from moorage.core.columns.records import Record
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.interfaces import Attempt, PostFilterResult, Supposing
from moorage.core.framework.tie_breaking import in_order
from moorage.core.label_selectors import Selector, SelectorError, compile_selector
from moorage.core.objects import HasMetadata, Pod, priority
from moorage.core.verdicts import SUCCESS, Code, Reason, Status, fit_error, texts
from moorage.core.workload_objects import PodDisruptionBudget

NAME = "DefaultPreemption"
NEVER = Reason("PreemptionPolicyNever", "preemption: not eligible due to preemptionPolicy=Never.", Code.UNSCHEDULABLE)
UNDER_WAY = Reason("VictimsTerminating", "preemption: not eligible due to a terminating pod on the nominated node.", Code.UNSCHEDULABLE)
NO_HELP = Reason("PreemptionNoHelp", "preemption: {}", Code.UNSCHEDULABLE)
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_TRIED = "Preemption is not helpful for scheduling"

BY_PREEMPTION = "PreemptionByScheduler"
"""The reason in a victim's DisruptionTarget condition."""

_UNSCHEDULABLE = 1
_FEWEST = 64
"""Nodes are tried at least so many at a time: one by one would cost more."""
_NOT_STARTED = "~"
"""Sorts behind every time. A pod without a start counts as started just now."""
_PRIORITIES_FROM = -(2**31)


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs:
    """How many candidates are enough to choose from: this share (percent) of the nodes, but not fewer than this number."""

    __pydantic_config__: ClassVar = ARGUMENTS

    min_candidate_nodes_percentage: Annotated[int, Interval(ge=0, le=100)] = 10
    min_candidate_nodes_absolute: Annotated[int, Ge(0)] = 100

    def validate(self) -> list[Violation]:
        """One of them must ask for something."""
        if self.min_candidate_nodes_percentage or self.min_candidate_nodes_absolute:
            return []
        percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
        return [
            Violation(percentage, 0, f"cannot be zero at the same time as {absolute}"),
            Violation(absolute, 0, f"cannot be zero at the same time as {percentage}"),
        ]


class Candidate(NamedTuple):
    """A row where the pod fits once the victims are gone, the most important of them first."""

    row: int
    victims: tuple[Pod, ...]
    violations: int
    """How many of them a disruption budget protects."""


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPreemption:
    """Looks for room among pods of lower priority."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NEVER, UNDER_WAY, NO_HELP)
    kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({PodDisruptionBudget})
    wakes: ClassVar[tuple[Wake, ...]] = (Wake(Resource.POD, Action.DELETE, lambda _pod, _event: False),)
    """It refuses no node itself: whoever did knows what helps."""

    args: DefaultPreemptionArgs = DefaultPreemptionArgs()

    def post_filter(self, pod: Pod, attempt: Attempt) -> PostFilterResult:
        """The best node and its victims, or why there is none; a pod that may not preempt keeps its nomination."""
        nodes = attempt.snapshot.nodes
        if ineligible := _ineligible(pod, attempt):
            return PostFilterResult(Status(ineligible.code, (ineligible.text,)))
        helpful = np.flatnonzero(attempt.refusals == _UNSCHEDULABLE)
        rows = in_order(helpful, nodes.tie_break, pod.metadata.uid, attempt.seed)
        candidates, refused = self._search(pod, attempt, rows)
        if candidates:
            best = choose(candidates)
            return PostFilterResult(SUCCESS, nodes.names[best.row], best.victims)
        refused[NOT_TRIED] = len(nodes) - rows.size
        text = fit_error(len(nodes), [(reason, count) for reason, count in refused.items() if count])
        return PostFilterResult(Status(NO_HELP.code, (NO_HELP.text.replace("{}", text),)), "")

    def _search(self, pod: Pod, attempt: Attempt, rows: npt.NDArray[np.intp]) -> tuple[list[Candidate], Counter[str]]:
        """Candidates among these rows, in this order, until there are enough and one violates no budget; and the others' reasons."""
        percentage, absolute = self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute
        enough = min(rows.size, max(rows.size * percentage // 100, absolute))
        harmless: list[Candidate] = []
        violating: list[Candidate] = []
        refused: Counter[str] = Counter()
        start = 0
        while start < rows.size:
            end = start + max(enough - len(harmless) - len(violating), _FEWEST)
            found, reasons = dry_run(pod, attempt, rows[start:end])
            refused += reasons
            for candidate in found:
                (violating if candidate.violations else harmless).append(candidate)
                if harmless and len(harmless) + len(violating) >= enough:
                    return harmless + violating[:enough], refused
            start = end
        return harmless + violating[:enough], refused


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The one that does least harm; among equals the one whose best victims started last, then the first."""
    costs = [_cost(candidate) for candidate in candidates]
    least = min(costs)
    return max((one for one, cost in zip(candidates, costs, strict=True) if cost == least), key=_started)


def _cost(candidate: Candidate) -> tuple[int, int, int, int]:
    """Budget violations, the highest priority, the sum of priorities (each made positive), how many."""
    priorities = [priority(victim) for victim in candidate.victims]
    return candidate.violations, priorities[0], sum(each - _PRIORITIES_FROM for each in priorities), len(priorities)


def _started(candidate: Candidate) -> str:
    """When the first of the victims of highest priority started."""
    highest = priority(candidate.victims[0])
    return min(_start(victim) for victim in candidate.victims if priority(victim) == highest)


def _start(pod: Pod) -> str:
    """RFC 3339 in UTC with whole seconds, as API servers write it: sorts by time."""
    return pod.status.start_time or _NOT_STARTED


def _ineligible(pod: Pod, attempt: Attempt) -> Reason | None:
    """Why the pod may not preempt: it does not want to, or what it did preempt is still going."""
    if pod.spec.preemption_policy == "Never":
        return NEVER
    node = pod.status.nominated_node_name
    row = attempt.snapshot.nodes.row_of.get(node)
    if row is None or attempt.refusals[row] != _UNSCHEDULABLE:
        return None
    return UNDER_WAY if any(map(_preempted, _lower(pod, attempt.snapshot, node))) else None


def _preempted(record: Record) -> bool:
    pod = record.pod
    if not isinstance(pod, Pod) or pod.metadata.deletion_timestamp is None:
        return False
    conditions = pod.status.conditions or ()
    return any((c.type, c.status, c.reason) == ("DisruptionTarget", "True", BY_PREEMPTION) for c in conditions)


# ---- the dry run -----------------------------------------------------------------------------------------------------------


class _Lane:
    """One row's dry run: pods to put back, in turn, each with whether a budget protects it; and who had to stay away."""

    __slots__ = ("queue", "row", "victims", "violations")

    def __init__(self, row: int, queue: list[tuple[Record, bool]]) -> None:
        self.row = row
        self.queue = queue
        self.victims: list[Record] = []
        self.violations = 0


def dry_run(pod: Pod, attempt: Attempt, rows: npt.NDArray[np.intp]) -> tuple[list[Candidate], Counter[str]]:
    """Which of these rows would take the pod without whom; of the other rows how many have which reason."""
    snapshot = attempt.snapshot
    below = snapshot.priorities.below(priority(pod), snapshot.nodes.rows)[rows]
    refused: Counter[str] = Counter({NO_VICTIMS: int(rows.size - np.count_nonzero(below))})
    rows = rows[below]
    lower = {row: sorted(_lower(pod, snapshot, snapshot.nodes.names[row]), key=_importance) for row in rows.tolist()}
    with attempt.what_if() as what_if:
        what_if.remove(*itertools.chain.from_iterable(lower.values()))
        hopeless = what_if.ask(rows)
        for refusal in hopeless.values():
            refused.update(texts(refusal.why))
        protects = _protection(snapshot)
        lanes = [_Lane(row, _in_turn(lower[row], protects)) for row in rows.tolist() if row not in hopeless]
        for turn in range(max((len(lane.queue) for lane in lanes), default=0)):
            _reprieve(what_if, [lane for lane in lanes if turn < len(lane.queue)], turn)
    candidates = [Candidate(lane.row, _pods(sorted(lane.victims, key=_importance)), lane.violations) for lane in lanes if lane.victims]
    refused[NO_VICTIMS] += len(lanes) - len(candidates)
    return candidates, refused


def _reprieve(what_if: Supposing, lanes: Sequence[_Lane], turn: int) -> None:
    """Put the next pod of each lane back; where the pod does not fit any more, that one is a victim."""
    what_if.put_back(*(lane.queue[turn][0] for lane in lanes))
    refused = what_if.ask(np.array([lane.row for lane in lanes], np.intp))
    failed = [lane for lane in lanes if lane.row in refused]
    what_if.remove(*(lane.queue[turn][0] for lane in failed))
    for lane in failed:
        record, protected = lane.queue[turn]
        lane.victims.append(record)
        lane.violations += protected


def _lower(pod: Pod, snapshot: Snapshot, node: str) -> Iterable[Record]:
    """The pods on a node that this one may displace."""
    mine = priority(pod)
    return (record for record in snapshot.pods_on(node) if isinstance(record.pod, Pod) and (record.pod.spec.priority or 0) < mine)


def _importance(record: Record) -> tuple[int, str, str]:
    """Lower for the more important: by priority, then by how long it runs. The UID only fixes the order of equals."""
    (pod,) = _pods((record,))
    return -priority(pod), _start(pod), pod.metadata.uid


def _pods(records: Iterable[Record]) -> tuple[Pod, ...]:
    return tuple(record.pod for record in records if isinstance(record.pod, Pod))


# ---- disruption budgets ----------------------------------------------------------------------------------------------------


class _Budget(NamedTuple):
    """A budget that protects somebody."""

    name: str
    selector: Selector
    allowed: int
    already: Mapping[str, str]
    """Names of pods that it counts as gone."""


_Protects = Callable[[Pod], list[_Budget]]


def _protection(snapshot: Snapshot) -> _Protects:
    """Tells which budgets count a pod. One that selects everything, nothing, or by a wrong selector counts none."""
    by_namespace: defaultdict[str, list[_Budget]] = defaultdict(list)
    for name, budget in snapshot.store.objects(PodDisruptionBudget).items():
        try:
            selector = compile_selector(budget.spec.selector)
        except SelectorError:
            continue
        if selector.conditions:
            disrupted = budget.status.disrupted_pods or {}
            by_namespace[budget.metadata.namespace].append(_Budget(name, selector, budget.status.disruptions_allowed, disrupted))

    def protects(pod: Pod) -> list[_Budget]:
        labels, name = pod.metadata.labels, pod.metadata.name
        mine = by_namespace.get(pod.metadata.namespace)
        return [one for one in mine if name not in one.already and one.selector.matches(labels)] if mine and labels else []

    return protects


def _in_turn(records: Sequence[Record], protects: _Protects) -> list[tuple[Record, bool]]:
    """Who is put back in which order: first those whose going would violate a budget, most important first in either group.

    All budgets of a pod are charged for it, in the order of importance, whether they have anything left or not.
    """
    spent: Counter[str] = Counter()
    marked = []
    for record, pod in zip(records, _pods(records), strict=True):
        budgets = protects(pod)
        spent.update(budget.name for budget in budgets)
        marked.append((record, any(spent[budget.name] > budget.allowed for budget in budgets)))
    return sorted(marked, key=lambda pair: not pair[1])
