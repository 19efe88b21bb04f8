"""A pod that has no node: who refuses it where, what would change that, and what wakes it."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Collection
from typing import Any, NamedTuple

from kubefacts.quantities import QuantityError
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import run_filters
from moorage.core.cycle.post_filter import fit_error, run_post_filters
from moorage.core.explaining.gates import Gate, gate_of
from moorage.core.explaining.refusals import NEAREST_NODES, RefusalGroup, refusal_groups
from moorage.core.explaining.suggestions import Suggestion, suggestions
from moorage.core.explaining.what_if import WhatIf
from moorage.core.framework.cluster_events import ActionType, EventResource
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import FIT, pod_amounts


class Preemption(NamedTuple):
    """Whether the post-filters would make room, and whom that would hit; nobody is told to go.

    ``node`` is "" where it does not help; ``message`` says why.
    """

    node: str = ""
    victims: tuple[Pod, ...] = ()
    by_eviction: bool = False
    message: str = ""


class WakingEvent(NamedTuple):
    """Changes in the cluster for which a plugin that refused the pod has it tried again."""

    plugin: str
    resource: EventResource | str
    actions: ActionType


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PendingExplanation:
    """Why a pod is pending. Of a pod that is gated, or at which a plugin fails, no node is said
    anything.

    ``placement``: where it would go if it were tried now; then nothing refuses it. ``asked``: what
    it asks for, in the node table's units. ``error``: the fault that ends each attempt.
    ``untried``: changes for which there was no time. Of a member of a group it is said as if it
    went alone (``pending_groups``).
    """

    pod: Pod
    revision: Revision
    asked: dict[str, int]
    nodes: int
    placement: ScheduleResult | None = None
    gate: Gate | None = None
    error: str = ""
    refusals: tuple[RefusalGroup, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    untried: int = 0
    preemption: Preemption | None = None
    wakes_on: tuple[WakingEvent, ...] = ()


class Limits(NamedTuple):
    """How far an explanation goes: how many nodes of each group of refusals are named, and for how
    many seconds is searched for what would help, by the clock of the context's budget.
    """

    nearest: int = NEAREST_NODES
    seconds: float = math.inf


NO_LIMIT = Limits()


def explain_pending(
    context: CycleContext,
    pod: Pod,
    revision: Revision,
    limits: Limits = NO_LIMIT,
    unserved: Collection[str] = (),
) -> PendingExplanation:
    """Why this pod has no node, and what would help. Extenders are not asked. ``unserved``: the
    APIs of groups that the API server does not have.
    """
    explained = functools.partial(
        PendingExplanation,
        pod=pod,
        revision=revision,
        asked=_asked(pod),
        nodes=len(context.snapshot.nodes),
    )
    if (gate := gate_of(pod, revision, context, unserved)) is not None:
        return explained(gate=gate)
    evaluation = run_filters(pod, revision, context)
    if isinstance(evaluation, Diagnosis):
        return explained(error=evaluation.message)
    if evaluation.fits:
        outcome = WhatIf(context, revision).outcome(pod)
        if isinstance(outcome, ScheduleResult):
            return explained(placement=outcome)
        return explained(error=outcome.message)
    return explained(**_refused(evaluation, pod, revision, context, limits))


def _refused(
    evaluation: Evaluation, pod: Pod, revision: Revision, context: CycleContext, limits: Limits
) -> dict[str, Any]:
    """What there is to say of a pod that no node takes."""
    refusals = refusal_groups(evaluation, pod, context.snapshot, limits.nearest)
    refused_by = fit_error(evaluation, context.snapshot).unschedulable_plugins
    room = run_post_filters(pod, revision, context, evaluation).result
    near = [node.node for group in refusals for node in group.nearest]
    would_help = suggestions(WhatIf(context, revision), pod, near, limits.seconds)
    return {
        "refusals": refusals,
        "preemption": Preemption(
            room.nominated_node or "",
            room.victims,
            room.by_eviction,
            "" if room.nominated_node else room.status.message,
        ),
        "wakes_on": waking_events(revision, refused_by | room.unschedulable_plugins),
        "suggestions": would_help.found,
        "untried": would_help.untried,
    }


def _asked(pod: Pod) -> dict[str, int]:
    """Nothing where a quantity cannot be read: the cycle names it."""
    try:
        return dict(pod_amounts(pod, FIT))
    except QuantityError:
        return {}


def waking_events(revision: Revision, plugins: frozenset[str]) -> tuple[WakingEvent, ...]:
    """What may free a pod that these plugins refused, in the order of their names."""
    return tuple(
        WakingEvent(name, event.resource, event.actions)
        for name in sorted(plugins)
        for event in revision.events_to_register.get(name, ())
    )
