"""PostFilter: when no node takes a pod, who rejected it, and what the plugins that may make room
for it say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.evaluator import Observer
from moorage.core.framework.evaluation.rejections import (
    RowMask,
    blocking_nominated_pods,
    node_codes,
    reason_counts,
    unschedulable_plugins,
)
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.post_filter_contract import FailedAttempt, PostFilterResult
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code, Status, fit_error_message
from moorage.core.objects.pods import Pod


class PostFilterOutcome(NamedTuple):
    """The proposal that counts of all that postFilter plugins made, and the actions of all of them,
    by plugin.
    """

    result: PostFilterResult
    actions: Mapping[str, Any] = MappingProxyType({})


class FitError(NamedTuple):
    """Who rejected a pod on how many of the ``num_all_nodes``, and with which reasons;
    ``pre_filter_message``: one for all of them.
    """

    code: Code
    unschedulable_plugins: frozenset[str]
    num_all_nodes: int
    reason_counts: Sequence[tuple[str, int]]
    pre_filter_message: str = ""
    blocking_nominated_pods: tuple[PodInfo, ...] = ()
    """Pods nominated to nodes that would take this one but for them."""

    def diagnosis(self, pod: Pod, revision: Revision, outcome: PostFilterOutcome) -> Diagnosis:
        """These rejections, and what plugins that make room say."""
        room = outcome.result
        return Diagnosis(
            pod=pod,
            revision=revision,
            code=self.code,
            message=fit_error_message(
                self.num_all_nodes, self.reason_counts, self.pre_filter_message, room.status.message
            ),
            unschedulable_plugins=self.unschedulable_plugins | room.unschedulable_plugins,
            nominated_node=room.nominated_node,
            victims=room.victims,
            by_eviction=room.by_eviction,
            blocking_nominated_pods=self.blocking_nominated_pods,
            post_filter_actions=outcome.actions,
        )


NOT_ASKED = PostFilterOutcome(PostFilterResult(SUCCESS))
"""Nobody is: a nomination is left alone."""


def fit_error(evaluation: Evaluation, snapshot: Snapshot, among: RowMask | None = None) -> FitError:
    """What plugins said of all nodes, or of those ``among`` (bool[capacity]); after
    ``run_filters``.
    """
    said = evaluation.pre_filter
    code, nodes = said.status.code, len(snapshot.nodes) if among is None else int(among.sum())
    if code is not Code.SUCCESS:
        return FitError(code, frozenset({said.plugin}), nodes, (), said.status.message)
    return FitError(
        Code.UNSCHEDULABLE,
        unschedulable_plugins(evaluation, among),
        nodes,
        list(reason_counts(evaluation, snapshot, among)),
        blocking_nominated_pods=tuple(blocking_nominated_pods(evaluation, snapshot)),
    )


def run_post_filters(
    pod: Pod, revision: Revision, context: CycleContext, evaluation: Evaluation
) -> PostFilterOutcome:
    """What the first postFilter plugin that makes room says, or else all of them; without any, a
    nomination is cleared.
    """
    heard = PostFilterResults(context.observer)
    plugins = list(revision.at(ExtensionPoint.POST_FILTER))
    attempt = (
        make_attempt(context, evaluation, node_codes(evaluation, context.snapshot))
        if plugins
        else None
    )
    for name, plugin in plugins:
        if (outcome := heard.add(name, plugin.post_filter(pod, attempt))) is not None:
            return outcome
    return heard.merged()


def make_attempt(
    context: CycleContext, evaluation: Evaluation, refused: npt.NDArray[np.int64]
) -> FailedAttempt:
    """What postFilter plugins are shown; ``refused`` as in ``FailedAttempt.node_codes``."""
    snapshot, memories = context.snapshot, context.row_caches
    beyond = (snapshot.nominations,) if evaluation.depends_on_far_nominations else ()
    return FailedAttempt(
        snapshot,
        refused,
        lambda: evaluation.dry_run(snapshot),
        lambda plugin, depends: memories.of(evaluation, plugin).catch_up(
            snapshot, (*depends, *beyond)
        ),
        context.seed,
    )


class PostFilterResults:
    """What postFilter plugins have said so far, one after another."""

    def __init__(self, observer: Observer) -> None:
        self._observer, self._began = observer, observer.mark()
        self._actions: dict[str, Any] = {}
        self._messages: list[str] = []
        self._nominated: str | None = None
        self._unschedulable_plugins: frozenset[str] = frozenset()
        self._any_ran = False

    def add(self, name: str, result: PostFilterResult) -> PostFilterOutcome | None:
        """One more plugin; what comes of them all when this is the last word."""
        self._any_ran = True
        self._observer.post_filter_ran(name, result.status.code.value, self._began)
        self._began = self._observer.mark()
        if result.action is not None:
            self._actions[name] = result.action
        if result.status.code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR):
            return PostFilterOutcome(result, self._actions)
        self._messages += result.status.reasons
        self._unschedulable_plugins |= result.unschedulable_plugins
        self._nominated = (
            self._nominated if result.nominated_node is None else result.nominated_node
        )
        return None

    def merged(self) -> PostFilterOutcome:
        """What comes of them when nobody has had the last word."""
        if not self._any_ran:
            return PostFilterOutcome(PostFilterResult(SUCCESS, ""))
        status = Status(Code.UNSCHEDULABLE, tuple(self._messages))
        result = PostFilterResult(
            status, self._nominated, unschedulable_plugins=self._unschedulable_plugins
        )
        return PostFilterOutcome(result, self._actions)
