"""A pod under another revision of its profile: which reasons would be gone, which would come."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from typing import NamedTuple

from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import run_filters
from moorage.core.explaining.gates import Gate, gate_of
from moorage.core.explaining.refusals import RefusalGroup, refusal_groups
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, off_node


class RefusalChange(NamedTuple):
    """How many nodes a plugin refuses for the same reasons under either revision."""

    plugin: str
    reasons: tuple[str, ...]
    now: int
    then: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CandidateExplanation:
    """What another revision would do with a pod.

    ``node`` is where it is, "" where it is pending. ``now`` and ``then``: where it would be placed,
    None for nowhere. ``error``: the fault that would end each attempt under the candidate.
    ``gate``: what would keep it out of the queue under it.
    """

    pod: Pod
    node: str
    revision: Revision
    candidate: Revision
    now: ScheduleResult | None
    then: ScheduleResult | None
    refusals: tuple[RefusalChange, ...]
    error: str = ""
    gate: Gate | None = None


def explain_candidate(
    context: CycleContext,
    pod: Pod,
    revision: Revision,
    candidate: Revision,
    unserved: Collection[str] = (),
) -> CandidateExplanation:
    """The pod under both; one that is on a node is taken off it first. ``unserved`` as in
    ``pending_pods.explain_pending``.
    """
    info = context.cache.pod_info(pod.metadata.uid)
    if info is None:
        found = _under_both(context, pod, "", revision, candidate)
        return dataclasses.replace(found, gate=gate_of(pod, candidate, context, unserved))
    with WhatIf(context, revision).without(info):
        return _under_both(context, off_node(pod), info.node, revision, candidate)


def _under_both(
    context: CycleContext, pod: Pod, node: str, revision: Revision, candidate: Revision
) -> CandidateExplanation:
    now, then = (_groups(context, pod, one) for one in (revision, candidate))
    return CandidateExplanation(
        pod=pod,
        node=node,
        revision=revision,
        candidate=candidate,
        now=WhatIf(context, revision).decide(pod),
        then=WhatIf(context, candidate).decide(pod),
        refusals=tuple(refusal_changes(now.groups, then.groups)),
        error=then.error,
    )


class _Refused(NamedTuple):
    groups: tuple[RefusalGroup, ...]
    error: str = ""


def _groups(context: CycleContext, pod: Pod, revision: Revision) -> _Refused:
    evaluation = run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return _Refused((), evaluation.message)
    return _Refused(refusal_groups(evaluation, pod, context.snapshot))


def refusal_changes(
    now: tuple[RefusalGroup, ...], then: tuple[RefusalGroup, ...]
) -> Iterator[RefusalChange]:
    """What refuses under either, those that differ first, each in the order of nearness."""
    counts = [{group[:2]: group.nodes for group in groups} for groups in (now, then)]
    both = dict.fromkeys((*counts[0], *counts[1]))
    changes = [
        RefusalChange(plugin, reasons, *(one.get((plugin, reasons), 0) for one in counts))
        for plugin, reasons in both
    ]
    yield from sorted(changes, key=lambda change: change.now == change.then)
