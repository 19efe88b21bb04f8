"""What a profile means to the queue: its gates, what wakes its pods, and how long they wait."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfileSpec
from moorage.core.framework.extenders import EVENTS_TO_REGISTER, EXTENDER
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import FieldError, Revision
from moorage.core.queue.hints import ProfileQueueConfig


def backoffs(spec: SchedulerProfileSpec, config: OperatorConfiguration) -> tuple[float, float]:
    """Initial and maximum, in seconds; the operator's where the profile leaves them out."""
    return (
        spec.pod_initial_backoff_seconds or config.pod_initial_backoff_seconds,
        spec.pod_max_backoff_seconds or config.pod_max_backoff_seconds,
    )


def backoff_errors(backoffs: tuple[float, float]) -> Iterator[FieldError]:
    """What is wrong with them."""
    initial, most = backoffs
    if initial > most:
        text = f"must be greater than or equal to podInitialBackoffSeconds, which is {initial:g}"
        yield FieldError("podMaxBackoffSeconds", most, text)


def queue_config(revision: Revision, initial: float, most: float) -> ProfileQueueConfig:
    """As the queue is told of it."""
    # A plugin that only acts cannot say what may change its mind.
    events = dict.fromkeys(revision.points[ExtensionPoint.PERMIT], EVENTS_TO_REGISTER)
    events |= revision.events_to_register
    if revision.extenders:
        events[EXTENDER] = EVENTS_TO_REGISTER
    return ProfileQueueConfig(
        tuple(plugin for _, plugin in revision.at(ExtensionPoint.PRE_ENQUEUE)),
        events,
        initial,
        most,
        revision.hint_signatures,
    )
