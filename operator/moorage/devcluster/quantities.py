"""Quantities: ``500m``, ``1Gi``, ``2``. Read exactly, and written the one way in which the API server writes them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_FORM: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FINEST: Final = -3
"""Resources are stored in thousandths."""

UNREADABLE: Final = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def parse(text: str | int | float) -> Fraction:
    """The number. Raises ValueError for what is none."""
    number, suffix = _parts(str(text))
    return number * _factor(suffix)


def _parts(text: str) -> tuple[Fraction, str]:
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(UNREADABLE)
    return Fraction(match[1]), match[2] or ""


def _factor(suffix: str) -> Fraction:
    if suffix in _DECIMAL:
        return Fraction(10) ** _DECIMAL[suffix]
    if suffix.endswith("i"):
        return Fraction(1024 ** _BINARY.index(suffix))
    return Fraction(10) ** int(suffix[1:])


def canonical(text: str | int | float) -> str:
    """The same quantity with the largest suffix that needs no fraction, as it is stored. Raises ValueError."""
    number, suffix = _parts(str(text))
    value = number * _factor(suffix)
    if not value:
        return "0"
    if suffix.endswith("i") and value.denominator == 1 and abs(value) >= 1024:
        power = next(p for p in reversed(range(len(_BINARY))) if value % 1024**p == 0)
        return f"{int(value / 1024**power)}{_BINARY[power]}"
    powers = {power: name for name, power in _DECIMAL.items() if power >= _FINEST}
    power = next((p for p in sorted(powers, reverse=True) if (value / Fraction(10) ** p).denominator == 1), _FINEST)
    whole = -(-value // Fraction(10) ** power)  # what is finer is rounded up
    if suffix[:1] in {"e", "E"} and suffix[1:]:
        return f"{whole}e{power}" if power else str(whole)
    return f"{whole}{powers[power]}"
