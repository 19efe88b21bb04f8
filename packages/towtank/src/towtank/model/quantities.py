"""Quantities: ``500m``, ``1Gi``, ``2``. Read exactly, and written the one way in which the API server writes them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_SHAPE: Final = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_SUFFIX: Final = re.compile(r"[numkMGTPE]?|[KMGTPE]i|[eE][+-]?0*[0-9]{1,3}")
"""An API server reads larger exponents too, and over very large ones it hangs."""
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FINEST: Final = -3
"""Resources are stored in thousandths."""

UNREADABLE: Final = f"quantities must match the regular expression '{_SHAPE}'"
_UNKNOWN: Final = "unable to parse quantity's suffix"


def parse(text: str | int | float) -> Fraction:
    """The number. Raises ValueError for what is none."""
    number, suffix = _parts(str(text))
    return number * _factor(suffix)


def _parts(text: str) -> tuple[Fraction, str]:
    match = re.fullmatch(_SHAPE, text)
    if match is None or not _NUMBER.fullmatch(match[1]):
        raise ValueError(UNREADABLE)
    if not _SUFFIX.fullmatch(match[2]):
        raise ValueError(_UNKNOWN)
    return Fraction(match[1]), match[2]


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
    exponents = suffix[:1] in {"e", "E"} and suffix[1:]
    power, whole = _FINEST, -(-value // Fraction(10) ** _FINEST)  # what is finer is rounded up
    while whole % 1000 == 0 and (exponents or power < max(_DECIMAL.values())):
        power, whole = power + 3, whole // 1000
    if exponents:
        return f"{whole}e{power}" if power else str(whole)
    return f"{whole}{next(name for name, one in _DECIMAL.items() if one == power)}"
