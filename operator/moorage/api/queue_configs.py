"""How long pods of a profile wait before they are tried again."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfileSpec
from moorage.core.framework.revisions import FieldError


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
