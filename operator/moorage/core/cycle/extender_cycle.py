"""The cycle of a pod whose profile asks extenders about it: a generator, as answers take their
time.

It yields what is to be asked and is resumed with the answer; meanwhile other pods are decided and
watches write. So what lives across a question are names of nodes, and whatever is decided is
decided by the nodes as they are then: scores are added up after the last filter has answered, and
of the best nodes the first is taken that plugins still let through. When none of them does any
more, the cycle begins anew.
Source: kube-scheduler's findNodesThatPassExtenders, prioritizeNodes and callExtenders (v1.37), in
words of our own. Different on purpose: a node that an extender leaves out without a word has a
reason all the same; of nodes that an extender was not asked about nothing is believed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Generator, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import run_filters, run_scores
from moorage.core.cycle.extender_victims import Steps, process_preemption
from moorage.core.cycle.post_filter import (
    NOT_ASKED,
    PostFilterOutcome,
    PostFilterResults,
    fit_error,
    make_attempt,
)
from moorage.core.framework.evaluation.evaluation import PASSES, Evaluation
from moorage.core.framework.evaluation.rejections import RowMask, node_codes
from moorage.core.framework.extenders import (
    EXTENDER,
    MAX_PRIORITY,
    AskFilter,
    AskPriorities,
    Extender,
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderFilterResult,
    ExtenderQuestion,
)
from moorage.core.framework.interfaces import MAX_NODE_SCORE, ExtensionPoint, is_a
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.post_filter_contract import (
    FailedAttempt,
    PostFilterResult,
    PreemptionPlugin,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Reason, error_status, texts
from moorage.core.objects.pods import Pod
from moorage.core.structures.tie_breaking import pick

_MAX_STARTS = 3
"""How often the nodes that extenders let through may be lost to others before the pod waits for a
while.
"""
TAKEN_MEANWHILE = "the nodes that extenders let through were taken by others while they were asked"
_FITS_NOW = "a node has room now that had none when extenders were asked about victims"

FAILED_BY_EXTENDER = Reason("ExtenderFailed", "{}", Code.UNSCHEDULABLE)
UNRESOLVABLE_BY_EXTENDER = Reason("ExtenderUnresolvable", "{}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
LEFT_OUT_BY_EXTENDER = Reason(
    "ExtenderSilent", 'node(s) were left out by extender "{}"', Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
REASONS = (FAILED_BY_EXTENDER, UNRESOLVABLE_BY_EXTENDER, LEFT_OUT_BY_EXTENDER)


def extenders_interested(pod: Pod, revision: Revision) -> tuple[Extender, ...]:
    """The extenders that have a say about this pod before it has its node."""
    return tuple(
        extender
        for extender in revision.extenders
        if extender.decides and extender.is_interested(pod)
    )


def look_at_nodes(pod: Pod, revision: Revision, context: CycleContext) -> None:
    """Run the plugins over all nodes, so that the next step finds the results. Raises OutOfTime."""
    evaluation = run_filters(pod, revision, context)
    if isinstance(evaluation, Evaluation) and evaluation.fits:
        evaluation.refresh_scores(context.snapshot)


def extender_cycle(
    pod: Pod, revision: Revision, context: CycleContext, placement: Placement | None = None
) -> Generator[ExtenderQuestion, ExtenderAnswer, Decision]:
    """As ``cycle.decide``: yields questions, is sent the answers, returns what is decided; to be
    committed at once. A member of a group is tried on the nodes of a ``placement``, and no room is
    made for it alone, as by ``group_cycle.decide_member``.
    """
    interested = extenders_interested(pod, revision)
    cycle = _ExtenderCycle(pod, revision, context, interested, placement)
    for _ in range(_MAX_STARTS):
        outcome = yield from cycle.decide()
        if outcome is not None:
            return outcome
    return Diagnosis.error(pod, revision, TAKEN_MEANWHILE)


@dataclasses.dataclass(slots=True)
class _ExtenderCycle:
    """One pod's cycle. ``rejected``: the nodes that extenders rejected, and why."""

    pod: Pod
    revision: Revision
    context: CycleContext
    extenders: tuple[Extender, ...]
    placement: Placement | None
    rejected: dict[str, tuple[Reason, str]] = dataclasses.field(default_factory=dict)

    def decide(self) -> Steps[Decision | None]:
        """The steps to a node or a diagnosis; None when the cycle has to begin anew."""
        self.rejected = {}
        placement = yield from self._evaluate_nominated_node()
        if placement is not None:
            return placement
        evaluation = self._run_filters()
        if isinstance(evaluation, Diagnosis):
            return evaluation
        left: tuple[str, ...] | ExtenderFailure = ()
        if evaluation.fits:
            left = yield from self._ask_filters(self._names(self._sampled(evaluation)))
        if isinstance(left, ExtenderFailure):
            return Diagnosis.error(self.pod, self.revision, left.text)
        return (yield from (self._choose(left) if left else self._diagnose()))

    def _evaluate_nominated_node(self) -> Steps[ScheduleResult | None]:
        """A nominated node that plugins and extenders let through is taken."""
        node = self.context.snapshot.nominations.nominated_node(self.pod.metadata.uid)
        if not node or not self._feasible_among([node]).size:
            return None
        left = yield from self._ask_filters((node,))
        if isinstance(left, ExtenderFailure) or not self._feasible_among(left).size:
            return None
        return ScheduleResult(self.pod, node, self.revision, 1)

    # ---- the nodes as they are now ---------------------------------------------------------------

    def _run_filters(self) -> Evaluation | Diagnosis:
        return run_filters(self.pod, self.revision, self.context)

    def _feasible_among(self, names: Iterable[str]) -> npt.NDArray[np.intp]:
        """The rows of those of these nodes that all plugins let through."""
        evaluation, row_of = self._run_filters(), self.context.snapshot.nodes.row_of
        if isinstance(evaluation, Diagnosis) or not evaluation.fits:
            return np.empty(0, np.intp)
        rows = np.array([row_of[name] for name in names if name in row_of], np.intp)
        among = self._among()
        passing = evaluation.rejected_by[rows] == PASSES
        passing &= True if among is None else among[rows]
        found: npt.NDArray[np.intp] = rows[passing]
        return found

    def _among(self) -> RowMask | None:
        """The nodes that it is tried on; None for all."""
        on = self.placement
        return None if on is None else on.rows(self.context.snapshot.nodes)

    def _names(self, rows: npt.NDArray[np.intp]) -> tuple[str, ...]:
        names = self.context.snapshot.nodes.names
        return tuple(names[row] for row in rows.tolist())

    def _sampled(self, evaluation: Evaluation) -> npt.NDArray[np.intp]:
        if (among := self._among()) is not None:
            inside: npt.NDArray[np.intp] = (among & (evaluation.rejected_by == PASSES)).nonzero()[0]
            return inside
        sample = self.context.sampler.choose(evaluation, self.revision, self.context.snapshot)
        return evaluation.feasible() if sample is None else sample

    # ---- filter ----------------------------------------------------------------------------------

    def _ask_filters(self, names: tuple[str, ...]) -> Steps[tuple[str, ...] | ExtenderFailure]:
        """Those of the nodes that all extenders let through; the others are ``rejected``."""
        for extender in self.extenders:
            if not names or not extender.filter_verb:
                continue
            answer = _checked_answer((yield AskFilter(extender, names)), extender, names)
            if not isinstance(answer, ExtenderFailure):
                names = self._apply_answer(extender, names, answer)
            elif not extender.ignorable:
                return answer
        return names

    def _apply_answer(
        self, extender: Extender, names: tuple[str, ...], answer: ExtenderFilterResult
    ) -> tuple[str, ...]:
        """The nodes that an extender lets through; what it says of the others is remembered."""
        passed = set(answer.passed)
        for name in names:
            if name in answer.unresolvable_nodes:
                self.rejected[name] = UNRESOLVABLE_BY_EXTENDER, answer.unresolvable_nodes[name]
            elif name in answer.failed_nodes:
                self.rejected[name] = FAILED_BY_EXTENDER, answer.failed_nodes[name]
            elif name not in passed:
                self.rejected[name] = LEFT_OUT_BY_EXTENDER, extender.url
        return tuple(name for name in names if name in passed)

    # ---- score -----------------------------------------------------------------------------------

    def _choose(self, left: tuple[str, ...]) -> Steps[Decision | None]:
        """The best of these nodes that still fits, None when none does; a lone one needs no
        score.
        """
        evaluation = self._run_filters()
        if isinstance(evaluation, Diagnosis):
            return evaluation
        rows = self._feasible_among(left)
        if rows.size == 1:
            return ScheduleResult(self.pod, self._names(rows)[0], self.revision, 1)
        if not rows.size:
            return None
        totals = self._totals(evaluation, rows)
        if isinstance(totals, Diagnosis):
            return totals
        yield from self._prioritize(totals)
        return self._best(totals)

    def _totals(
        self, evaluation: Evaluation, rows: npt.NDArray[np.intp]
    ) -> dict[str, int] | Diagnosis:
        """What plugins give these rows, as if no others were feasible."""
        status = run_scores(evaluation, self.revision, self.context)
        if status.code is not Code.SUCCESS:
            return Diagnosis.error(self.pod, self.revision, status.message)
        return dict(
            zip(self._names(rows), evaluation.totals_among(rows)[rows].tolist(), strict=True)
        )

    def _prioritize(self, totals: dict[str, int]) -> Steps[None]:
        """Add what extenders give these nodes; one that fails gives nothing."""
        extenders = tuple(extender for extender in self.extenders if extender.prioritize_verb)
        if not extenders:
            return
        answers = yield AskPriorities(extenders, tuple(totals))
        for extender, answer in zip(extenders, answers, strict=True):
            for name, value in () if isinstance(answer, ExtenderFailure) else answer:
                if name in totals:
                    totals[name] += value * extender.weight * (MAX_NODE_SCORE // MAX_PRIORITY)

    def _best(self, totals: Mapping[str, int]) -> ScheduleResult | None:
        """The best of the nodes that still fit, ties by (seed, pod, node); None when none does."""
        rows = self._feasible_among(totals)
        if not rows.size:
            return None
        names = self.context.snapshot.nodes.names
        best = max(totals[names[row]] for row in rows.tolist())
        equals = np.array([row for row in rows.tolist() if totals[names[row]] == best], np.intp)
        row = pick(
            equals, self.context.snapshot.nodes.tie_break, self.pod.metadata.uid, self.context.seed
        )
        return ScheduleResult(self.pod, names[row], self.revision, len(totals), best)

    # ---- when nobody fits ------------------------------------------------------------------------

    def _diagnose(self) -> Steps[Diagnosis]:
        """Why the pod goes nowhere, and whom postFilter would have go."""
        evaluation = self._run_filters()
        if isinstance(evaluation, Diagnosis):
            return evaluation
        said = fit_error(evaluation, self.context.snapshot, self._among())
        if self.rejected:
            counts = Counter(dict(said.reason_counts))
            # What plugins refuse by now has a reason of theirs.
            others = self._names(self._feasible_among(self.rejected))
            counts.update(texts(tuple(self.rejected[name] for name in others)))
            said = said._replace(
                unschedulable_plugins=said.unschedulable_plugins | {EXTENDER},
                reason_counts=list(counts.items()),
            )
        alone = self.placement is None and self.context.makes_room
        room = (yield from self._run_post_filters()) if alone else NOT_ASKED
        return said.diagnosis(self.pod, self.revision, room)

    def _run_post_filters(self) -> Steps[PostFilterOutcome]:
        """As ``post_filter.run_post_filters``, with the extenders' say about victims."""
        heard, passing = PostFilterResults(self.context.observer), frozenset(self._feasible())
        for name, plugin in self.revision.at(ExtensionPoint.POST_FILTER):
            evaluation = self._run_filters()
            if isinstance(evaluation, Diagnosis):
                return PostFilterOutcome(PostFilterResult(error_status(evaluation.message)))
            attempt = make_attempt(self.context, evaluation, self._node_codes(evaluation))
            if is_a(plugin, PreemptionPlugin):
                found = yield from self._preempt(plugin, attempt, passing)
            else:
                found = plugin.post_filter(self.pod, attempt)
            if (outcome := heard.add(name, found)) is not None:
                return outcome
        return heard.merged()

    def _preempt(
        self, plugin: PreemptionPlugin, attempt: FailedAttempt, passing: frozenset[str]
    ) -> Steps[PostFilterResult]:
        """Candidates, what extenders make of them, the one that is chosen. ``passing``: the nodes
        that plugins let through before extenders were asked.
        """
        found = plugin.find_candidates(self.pod, attempt)
        if isinstance(found, PostFilterResult):
            return found
        left = yield from process_preemption(found, self.extenders, self.context.snapshot)
        if not passing.issuperset(self._feasible()):
            left = ExtenderFailure(_FITS_NOW)
        if isinstance(left, ExtenderFailure):
            return PostFilterResult(error_status(left.text))
        return plugin.select_candidate(left, attempt)

    def _node_codes(self, evaluation: Evaluation) -> npt.NDArray[np.int64]:
        """``FailedAttempt.node_codes``: those of plugins, and on the nodes that these let through
        those of extenders.
        """
        codes, row_of = (
            node_codes(evaluation, self.context.snapshot),
            self.context.snapshot.nodes.row_of,
        )
        for name in self._feasible():
            reason, _ = self.rejected.get(name, (UNRESOLVABLE_BY_EXTENDER, ""))
            codes[row_of[name]] = 1 if reason.code is Code.UNSCHEDULABLE else 2
        return codes

    def _feasible(self) -> tuple[str, ...]:
        """All nodes that plugins let through."""
        evaluation = self._run_filters()
        return (
            ()
            if isinstance(evaluation, Diagnosis) or not evaluation.fits
            else self._names(evaluation.feasible())
        )


def _checked_answer(
    answer: ExtenderFilterResult | ExtenderFailure, extender: Extender, names: tuple[str, ...]
) -> ExtenderFilterResult | ExtenderFailure:
    """The answer, unless it speaks of nodes that the extender was not asked about."""
    if isinstance(answer, ExtenderFailure):
        return answer
    known = set(names)
    strange = next((name for name in answer.passed if name not in known), None)
    if strange is None:
        return answer
    return ExtenderFailure(
        f'extender "{extender.url}" claims a filtered node "{strange}" which is not found in '
        f"the input node list"
    )
