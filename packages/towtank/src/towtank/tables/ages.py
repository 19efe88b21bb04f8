"""Ages: how long ago, as ``kubectl get`` shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

Age: TypeAlias = Callable[[str | None], str]
"""What to show for a timestamp of an object."""

UNKNOWN = "<unknown>"
_SECOND, _MINUTE, _HOUR, _DAY, _YEAR = 1, 60, 3600, 24 * 3600, 365 * 24 * 3600
_STEPS = (
    (2 * _MINUTE, _SECOND, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", _SECOND, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Up to how many seconds, in which unit, and in which smaller one the rest is shown (0: it is
not).
"""


def human(duration: timedelta) -> str:
    """``2m3s``, ``3h``, ``2d4h``. Clocks that differ by less than two seconds are not complained
    about.
    """
    seconds = int(duration.total_seconds())
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    for limit, unit, name, rest_unit, rest_name in _STEPS:
        if seconds < limit:
            rest = seconds % unit // rest_unit if rest_unit else 0
            return (
                f"{seconds // unit}{name}{rest}{rest_name}" if rest else f"{seconds // unit}{name}"
            )
    return f"{seconds // _YEAR}y"


def moment(text: str) -> datetime | None:
    """A timestamp that is aware of its zone, or None for what is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def at(now: datetime) -> Age:
    """Ages at a time. Many objects are of one age, so each timestamp is read once."""
    known: dict[str, str] = {}

    def age(text: str | None) -> str:
        if not text:
            return UNKNOWN
        if text not in known:
            then = moment(text)
            known[text] = "<invalid>" if then is None else human(now - then)
        return known[text]

    return age
