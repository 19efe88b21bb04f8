"""DefaultPreemption: when no node takes a pod, finds one that would without some pods of lower priority.

It decides which pods should go and nominates the pod to that node; evicting them is the engine's. Nodes are tried side by side:
all lower pods of each are taken away, then put back one by one, those first that a disruption budget protects, as long as the pod
still fits; who cannot be put back is a victim. Where kube-scheduler draws at random (where to begin, which of equals to take), a
function of (seed, pod, node) decides here. Source: kube-scheduler DefaultPreemption (v1.36).
Cost: nothing while pods fit; a pod that does not costs a dry run on nodes with pods of lower priority, remembered until they
change.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Interval

from moorage.core.cluster_events import Action, ClusterEvent, Resource, Wake
from moorage.core.columns.herds import Herd
from moorage.core.columns.records import Record
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Objects
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.interfaces import Attempt, PostFilterResult, Supposing, Victims
from moorage.core.framework.tie_breaking import in_order
from moorage.core.label_selectors import Selector, SelectorError, compile_selector
from moorage.core.objects import HasMetadata, Pod, priority
from moorage.core.verdicts import SUCCESS, Code, Reason, Status, fit_error, texts
from moorage.core.workload_objects import PodDisruptionBudget

IntRows = npt.NDArray[np.intp]

NAME = "DefaultPreemption"
NEVER = Reason("PreemptionPolicyNever", "preemption: not eligible due to preemptionPolicy=Never.", Code.UNSCHEDULABLE)
UNDER_WAY = Reason("VictimsTerminating", "preemption: not eligible due to a terminating pod on the nominated node.", Code.UNSCHEDULABLE)
NO_HELP = Reason("PreemptionNoHelp", "preemption: {}", Code.UNSCHEDULABLE)
NO_CANDIDATE = Reason("NoCandidateNode", "preemption: no candidate node for preemption", Code.UNSCHEDULABLE)
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
    cost: tuple[int, int, int, int]
    """Budget violations, the highest priority, the sum of priorities (each made positive), how many victims: the less the better."""
    started: str
    """When the first of the victims of highest priority started: the later the better."""


Outcome = Candidate | tuple[str, ...]
"""What came of a row: a candidate, or the reasons why it is none."""


def _never(_pod: Pod, _event: ClusterEvent, _store: Objects) -> bool:
    """Whether never by this: the plugins that refused nodes know what helps."""
    return False


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultPreemption:
    """Looks for room among pods of lower priority."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NEVER, UNDER_WAY, NO_HELP, NO_CANDIDATE)
    kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({PodDisruptionBudget})
    wakes: ClassVar[tuple[Wake, ...]] = (Wake(Resource.POD, Action.DELETE, _never),)

    args: DefaultPreemptionArgs = DefaultPreemptionArgs()

    def post_filter(self, pod: Pod, attempt: Attempt) -> PostFilterResult:
        """The best node and its victims, or why there is none; a pod that may not preempt keeps its nomination."""
        found = self._found(pod, attempt)
        return found if isinstance(found, PostFilterResult) else _taken(found, attempt)

    def candidates(self, pod: Pod, attempt: Attempt) -> Mapping[str, Victims] | PostFilterResult:
        """What ``post_filter`` would choose from."""
        found = self._found(pod, attempt)
        if isinstance(found, PostFilterResult):
            return found
        return {attempt.snapshot.nodes.names[one.row]: Victims(one.victims, one.violations) for one in found}

    def choose(self, candidates: Mapping[str, Victims], attempt: Attempt) -> PostFilterResult:
        """The best of them. Without any the nomination is left alone."""
        if not candidates:
            return PostFilterResult(Status(NO_CANDIDATE.code, (NO_CANDIDATE.text,)))
        row_of = attempt.snapshot.nodes.row_of
        return _taken([candidate_of(row_of[node], *victims) for node, victims in candidates.items()], attempt)

    def _found(self, pod: Pod, attempt: Attempt) -> list[Candidate] | PostFilterResult:
        """All candidates, the harmless ones first."""
        nodes = attempt.snapshot.nodes
        if ineligible := _ineligible(pod, attempt):
            return PostFilterResult(Status(ineligible.code, (ineligible.text,)))
        helpful = np.flatnonzero(attempt.refusals == _UNSCHEDULABLE)
        occupied = helpful[attempt.snapshot.priorities.below(priority(pod), nodes.rows)[helpful]]
        candidates, refused = self._search(pod, attempt, in_order(occupied, nodes.tie_break, pod.metadata.uid, attempt.seed))
        if candidates:
            return candidates
        refused[NO_VICTIMS] += helpful.size - occupied.size
        refused[NOT_TRIED] = len(nodes) - helpful.size
        text = fit_error(len(nodes), [(reason, count) for reason, count in refused.items() if count])
        return PostFilterResult(Status(NO_HELP.code, (NO_HELP.text.replace("{}", text),)), "")

    def _search(self, pod: Pod, attempt: Attempt, rows: IntRows) -> tuple[list[Candidate], Counter[str]]:
        """Candidates among these rows, in this order, until there are enough and one violates no budget; and the others' reasons."""
        percentage, absolute = self.args.min_candidate_nodes_percentage, self.args.min_candidate_nodes_absolute
        memory = attempt.remembered(NAME, (attempt.snapshot.store.clock(PodDisruptionBudget),))
        helpful = int(np.count_nonzero(attempt.refusals == _UNSCHEDULABLE))
        enough = min(helpful, max(helpful * percentage // 100, absolute))
        harmless: list[Candidate] = []
        violating: list[Candidate] = []
        refused: Counter[str] = Counter()
        start = 0
        while start < rows.size:
            end = start + max(enough - len(harmless) - len(violating), _FEWEST)
            for outcome in outcomes(pod, attempt, rows[start:end], memory):
                if not isinstance(outcome, Candidate):
                    refused.update(outcome)
                    continue
                (violating if outcome.violations else harmless).append(outcome)
                if harmless and len(harmless) + len(violating) >= enough:
                    return harmless + violating[:enough], refused
            start = end
        return harmless + violating[:enough], refused


def _taken(candidates: Sequence[Candidate], attempt: Attempt) -> PostFilterResult:
    best = choose(candidates)
    return PostFilterResult(SUCCESS, attempt.snapshot.nodes.names[best.row], best.victims)


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The one that does least harm; among equals the one whose best victims started last, then the first."""
    least = min(candidate.cost for candidate in candidates)
    return max((one for one in candidates if one.cost == least), key=lambda one: one.started)


def candidate_of(row: int, victims: tuple[Pod, ...], violations: int) -> Candidate:
    """A candidate, weighed."""
    priorities = [priority(victim) for victim in victims]
    cost = violations, priorities[0], sum(each - _PRIORITIES_FROM for each in priorities), len(priorities)
    started = min(_start(victim) for victim, each in zip(victims, priorities, strict=True) if each == priorities[0])
    return Candidate(row, victims, violations, cost, started)


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


def outcomes(pod: Pod, attempt: Attempt, rows: IntRows, memory: dict[int, Outcome]) -> list[Outcome]:
    """What came of each of these rows, now or in an earlier attempt. Where pods are nominated, it is asked each time."""
    row_of = attempt.snapshot.nodes.row_of
    nominated = {row_of[node] for node in attempt.snapshot.nominations.nodes if node in row_of}
    unknown = [row for row in rows.tolist() if row not in memory or row in nominated]
    found = dry_run(pod, attempt, np.array(unknown, np.intp)) if unknown else {}
    memory.update({row: outcome for row, outcome in found.items() if row not in nominated})
    return [found[row] if row in found else memory[row] for row in rows.tolist()]


def dry_run(pod: Pod, attempt: Attempt, rows: IntRows) -> dict[int, Outcome]:
    """Which of these rows would take the pod without whom, and why the others would not."""
    snapshot = attempt.snapshot
    lower = {row: sorted(_lower(pod, snapshot, snapshot.nodes.names[row]), key=_importance) for row in rows.tolist()}
    herd = Herd([record for records in lower.values() for record in records], snapshot.nodes)
    ends = np.cumsum([len(records) for records in lower.values()], dtype=np.intp)
    lanes = _Lanes(herd, rows, np.concatenate([[0], ends[:-1]]), ends, *_in_turn(herd, _budgets(snapshot)))
    with attempt.what_if() as what_if:
        what_if.remove(herd, lanes.queue)
        hopeless = what_if.ask(rows)
        fitting = np.flatnonzero([row not in hopeless for row in rows.tolist()])
        victims = _reprieve(what_if, lanes, fitting)
    came: dict[int, Outcome] = {row: tuple(texts(refusal.why)) for row, refusal in hopeless.items()}
    return came | {int(rows[i]): lanes.outcome(i, victims) for i in fitting.tolist()}


class _Lanes(NamedTuple):
    """The pods that are tried away from several rows, side by side: those of row i are at places starts[i]..ends[i] of the herd."""

    herd: Herd
    rows: IntRows
    starts: IntRows
    ends: IntRows
    queue: IntRows
    """Places in the order in which they are put back, within each row's range."""
    protected: npt.NDArray[np.bool_]
    """Whether a budget protects the pod at this place. bool[herd]."""

    def outcome(self, i: int, victims: npt.NDArray[np.bool_]) -> Outcome:
        """Row i without its victims (bool[herd]); if it needs none, somebody else refuses the pod there."""
        places = np.arange(self.starts[i], self.ends[i])[victims[self.starts[i] : self.ends[i]]]
        if not places.size:
            return (NO_VICTIMS,)
        records = [self.herd.records[place] for place in places.tolist()]
        return candidate_of(int(self.rows[i]), _pods(records), int(np.count_nonzero(self.protected[places])))


def _reprieve(what_if: Supposing, lanes: _Lanes, fitting: IntRows) -> npt.NDArray[np.bool_]:
    """Put the pods of these lanes back, one of each at a time; with whom the pod does not fit any more is a victim. bool[herd]."""
    victims = np.zeros(lanes.queue.size, bool)
    turn = 0
    while (trying := fitting[lanes.starts[fitting] + turn < lanes.ends[fitting]]).size:
        back = lanes.queue[lanes.starts[trying] + turn]
        what_if.put_back(lanes.herd, back)
        refused = what_if.ask(lanes.rows[trying])
        if refused:
            failed = back[[row in refused for row in lanes.rows[trying].tolist()]]
            what_if.remove(lanes.herd, failed)
            victims[failed] = True
        turn += 1
    return victims


def _lower(pod: Pod, snapshot: Snapshot, node: str) -> list[Record]:
    """The pods on a node that this one may displace."""
    mine = priority(pod)
    return [record for record in snapshot.pods_on(node) if isinstance(record.pod, Pod) and (record.pod.spec.priority or 0) < mine]


def _importance(record: Record) -> tuple[int, str, str]:
    """Lower for the more important: by priority, then by how long it runs. The UID only fixes the order of equals."""
    pod: Pod = record.pod  # type: ignore[assignment]  # only pods that could be read are displaced
    return -(pod.spec.priority or 0), pod.status.start_time or _NOT_STARTED, pod.metadata.uid


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

    def counts(self, pod: Pod) -> bool:
        """Whether it is charged for this pod of its namespace."""
        return pod.metadata.name not in self.already and self.selector.matches(pod.metadata.labels)


_Budgets = Mapping[str, Sequence[_Budget]]
"""By namespace."""


def _budgets(snapshot: Snapshot) -> _Budgets:
    """The budgets that count anybody. One that selects everything, nothing, or by a wrong selector counts nobody."""
    found: defaultdict[str, list[_Budget]] = defaultdict(list)
    for name, budget in snapshot.store.objects(PodDisruptionBudget).items():
        try:
            selector = compile_selector(budget.spec.selector)
        except SelectorError:
            continue
        if selector.conditions:
            disrupted = budget.status.disrupted_pods or {}
            found[budget.metadata.namespace].append(_Budget(name, selector, budget.status.disruptions_allowed, disrupted))
    return found


def _in_turn(herd: Herd, budgets: _Budgets) -> tuple[IntRows, npt.NDArray[np.bool_]]:
    """Places of the herd in the order in which its pods are put back, and whom budgets protect. (intp[herd], bool[herd]).

    On each row those come first whose going would violate a budget; the most important ones first in either group, as they stand
    in the herd. All budgets of a pod are charged for it, in the order of importance, whether they have anything left or not.
    """
    places = np.arange(len(herd.records))
    protected = np.zeros(places.size, bool)
    if not budgets:
        return places, protected
    spent: Counter[tuple[int, str]] = Counter()
    for i, (pod, row) in enumerate(zip(_pods(herd.records), herd.rows.tolist(), strict=True)):
        for budget in budgets.get(pod.metadata.namespace, ()) if pod.metadata.labels else ():
            if budget.counts(pod):
                spent[row, budget.name] += 1
                protected[i] |= spent[row, budget.name] > budget.allowed
    lane = np.concatenate([[0], np.cumsum(herd.rows[1:] != herd.rows[:-1])]) if places.size else places
    return np.lexsort((places, ~protected, lane)), protected
