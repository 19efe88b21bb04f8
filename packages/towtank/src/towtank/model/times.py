"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)


def timestamp(now: datetime) -> str:
    """As metav1.Time is written."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def after(start: datetime, seconds: float) -> datetime:
    """So many seconds later, or the last moment that can be written."""
    return start + timedelta(seconds=min(seconds, (_LAST - start).total_seconds()))
