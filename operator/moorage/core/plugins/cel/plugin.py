"""CEL: filters and scores that the administrator writes as CEL expressions over the pod and a node.

In no preset. A filter is true where the pod may run; where it fails (a key that is missing, say)
the pod may not. A score is a number, cut to 0..100 or, with ``normalize``, stretched so that the
worst feasible node has 0 and the best 100; where it fails it counts as 0. The plugin's score is the
mean of them by weight. docs/cel.md has the variables, and examples.

Cost: 5 to 10 µs for each expression and distinct input: nodes that are alike in all that the
expressions read are looked at once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    Codes,
    ExtensionPoint,
    PreFilterResult,
    Scores,
)
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.cel.arguments import NAME, CELArgs
from moorage.core.plugins.cel.cached_results import (
    CachedResults,
    CachedScores,
    cached_results,
    compiled_args,
)
from moorage.core.plugins.cel.variables import encode

FALSE = Reason("ExpressionFalse", "{}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
"""The text is the filter's message, or has the expression."""
FALSE_UNTIL_CHANGED = Reason("ExpressionFalseNow", "{}", Code.UNSCHEDULABLE)
"""Of a filter that reads what is requested of the node."""
FAILED = Reason(
    "ExpressionFailed", "node(s) on which the CEL filter {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)


# ---- the plugin ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class CEL:
    """Passes nodes of which all filters are true; scores by the weighted mean of the scores."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (FALSE, FALSE_UNTIL_CHANGED, FAILED)

    args: CELArgs = dataclasses.field(default_factory=CELArgs)

    @property
    def reads(self) -> frozenset[Aspect]:
        """The aspects that the expressions read."""
        compiled = compiled_args(self.args)
        return compiled.filters.aspects | compiled.scores.aspects | {Aspect.MEMBERSHIP}

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Nodes that come or change, pods that leave, the pod itself."""
        aspects = (
            ActionType.UPDATE_NODE_ALLOCATABLE
            | ActionType.UPDATE_NODE_LABEL
            | ActionType.UPDATE_NODE_TAINT
            | ActionType.UPDATE_NODE_ANNOTATION
        )
        return (
            shared_hint(EventResource.NODE, ActionType.ADD | aspects, self._is_true_now),
            shared_hint(EventResource.TARGET_POD, ActionType.UPDATE, self._is_seen_otherwise),
            shared_hint(
                EventResource.ASSIGNED_POD,
                ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN,
                self._frees_room,
            ),
        )

    def hint_signature(self, pod: Pod) -> Hashable:
        """What filters read of it."""
        return encode(compiled_args(self.args).filters.pod.values(pod))

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """What is read of its name and labels."""
        identity = compiled_args(self.args).identity
        return encode(identity.values(pod)) if identity.names else b""

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """It goes by names, or by nothing."""
        return None if compiled_args(self.args).identity.names else ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing to ask without filters."""
        return self._prepared(pod, CachedResults) if self.args.filters else PreFilterResult(SKIP)

    def filter(self, state: CachedResults, snapshot: Snapshot, rows: Rows) -> Codes:
        """Which filter is not true first."""
        return state.codes(snapshot, rows, ExtensionPoint.FILTER)

    def explain(self, state: CachedResults, code: int) -> Why:
        """That filter's message, or the error."""
        place, error = state.found[code]
        one = self.args.filters[place]
        if error:
            return ((FAILED, f"{_shown(one.expression)} fails: {_shown(error)}"),)
        text = (
            " ".join(one.message.split())
            or f"node(s) didn't satisfy the CEL filter {_shown(one.expression)}"
        )
        return ((FALSE_UNTIL_CHANGED if compiled_args(self.args).filters.moving else FALSE, text),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing to ask without scores."""
        return self._prepared(pod, CachedScores) if self.args.scores else PreFilterResult(SKIP)

    def score(self, state: CachedScores, snapshot: Snapshot, rows: Rows) -> Scores:
        """Not scores yet, but rows of the state's table."""
        return state.codes(snapshot, rows, ExtensionPoint.SCORE)

    def normalize_score(self, state: CachedScores, raw: Scores) -> Scores:
        """Each expression's numbers within 0..100, and their weighted mean, rounded down."""
        weights = np.array([one.weight for one in self.args.scores], np.float64)
        table = state.table[raw]
        for i, one in enumerate(self.args.scores):
            table[:, i] = (
                _scaled(table[:, i]) if one.normalize else np.clip(table[:, i], 0, MAX_NODE_SCORE)
            )
        means = np.nan_to_num(table, nan=0.0) @ weights / weights.sum()
        return np.asarray(np.floor(np.round(means, 6)), np.int64)

    def _prepared(self, pod: Pod, kind: type[CachedResults]) -> PreFilterResult:
        answers = cached_results(self.args, kind, pod)
        return PreFilterResult(SUCCESS, answers, depends_on=(answers,))

    def _is_true_now(self, pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """Whether the filters are true of the node now and, if it was there before, were not, or
        depend on what pods request there.
        """
        old, new = event.old, event.new
        if not isinstance(new, Node) or compiled_args(self.args).filters.moving:
            return isinstance(new, Node)
        answers = cached_results(self.args, CachedResults, pod)
        return answers.passes(new) and not (isinstance(old, Node) and answers.passes(old))

    def _is_seen_otherwise(self, _pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """Whether filters read something else of this pod than before."""
        old, new = event.old, event.new
        if not isinstance(old, Pod) or not isinstance(new, Pod):
            return False
        seen = compiled_args(self.args).filters.pod
        return seen.values(old) != seen.values(new)

    def _frees_room(self, _pod: Pod, _event: ClusterEvent, _store: Lister) -> bool:
        """Whether filters read what pods request of a node."""
        return compiled_args(self.args).filters.moving


def _scaled(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The lowest becomes 0, the highest 100; all 0 where they are alike."""
    low = np.min(numbers, initial=math.inf, where=~np.isnan(numbers))
    high = np.max(numbers, initial=-math.inf, where=~np.isnan(numbers))
    return (
        (numbers - low) * (MAX_NODE_SCORE / (high - low)) if high > low else np.zeros_like(numbers)
    )


def _shown(text: str) -> str:
    """On one line, and not the whole of a long one."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN_CHARACTERS else f"{line[:_MAX_SHOWN_CHARACTERS]}…"


_MAX_SHOWN_CHARACTERS = 100
