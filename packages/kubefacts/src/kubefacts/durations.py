"""Durations as Go writes them, ``15s`` or ``1m30s``. In Python: seconds, a float."""

from __future__ import annotations

import re

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_TERM = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"0|({_TERM.pattern})+")
MAX_CHARACTERS = 40
"""Characters; the longest that makes sense has fewer."""


def parse(text: object) -> float:
    """Seconds. Raises ValueError for what is no such duration; none is negative here."""
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS or not _WHOLE.fullmatch(text):
        raise ValueError('must be a duration such as "15s", "1m30s" or "200ms"')
    return sum(float(number) * _NANOSECONDS[unit] for number, unit in _TERM.findall(text)) / 10**9


def parse_signed(text: object) -> float:
    """The same with a sign, which Go takes too, and refuses later with other words or not at
    all.
    """
    if isinstance(text, str) and text[:1] in ("+", "-"):
        return parse(text[1:]) * (-1 if text[0] == "-" else 1)
    return parse(text)


def text_of(seconds: float) -> str:
    """The duration as Go prints it: ``1m30s``, ``200ms``, ``0s``."""
    if seconds < 0:
        return f"-{text_of(-seconds)}"
    nanoseconds = round(seconds * 10**9)
    for unit in ("ns", "µs", "ms"):
        if 0 < nanoseconds < 1000 * _NANOSECONDS[unit]:
            return f"{nanoseconds / _NANOSECONDS[unit]:.9g}{unit}"
    minutes, rest = divmod(nanoseconds, _NANOSECONDS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds_text = f"{rest // 10**9}.{rest % 10**9:09d}".rstrip("0").rstrip(".") + "s"
    return (
        (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + seconds_text
    )
