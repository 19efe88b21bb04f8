"""Amounts as people write them: ``12``, ``1500m``, ``28Gi``, ``47m``.

Amounts are in the node table's units: cpu in millicores, all else in whole units.
"""

from __future__ import annotations

import datetime
from typing import Literal

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_BYTES = ("memory", "ephemeral-storage")
_THOUSAND = 1000
_DIGITS = 4
"""Of a number that is still read at a glance."""
_AGES = ((86_400, "d"), (3_600, "h"), (60, "m"))


def exact_quantity(resource: str, amount: int) -> str:
    """The amount to the last unit, as Kubernetes writes it."""
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if not _is_bytes(resource):
        return str(amount)
    place = 0
    while amount and amount % 1024 == 0 and place < len(_BINARY) - 1:
        amount, place = amount // 1024, place + 1
    return f"{amount}{_BINARY[place]}"


def rounded_quantity(resource: str, amount: int, towards: Literal["up", "down"]) -> str:
    """The amount with at most four digits, where it is one of bytes: up for
    what is lacking, down for what there is.
    """
    step = granularity(resource, amount)
    number = -(-amount // step) if towards == "up" else amount // step
    return exact_quantity(resource, number * step)


def granularity(resource: str, amount: int) -> int:
    """The step in which an amount of this size is written by ``rounded_quantity``."""
    step = 1
    while _is_bytes(resource) and abs(amount) // step >= 10**_DIGITS:
        step *= 1024
    return step


def counted(number: int, one: str, more: str = "") -> str:
    """``1 pod``, ``3,000 pods``; ``more`` where the plural is no mere ``s``."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def age(seconds: float) -> str:
    """How long: ``3s``, ``47m``, ``2h11m``, ``3d5h``; tenths below ten seconds."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    for i, (size, unit) in enumerate(_AGES):
        if whole >= size:
            finer = (whole % size) // _AGES[i + 1][0] if i + 1 < len(_AGES) else 0
            return f"{whole // size}{unit}" + (f"{finer}{_AGES[i + 1][1]}" if finer else "")
    return f"{whole}s"


def size(amount: int) -> str:
    """Bytes of a file: ``41 KB``, ``3.1 MB``."""
    left, unit = float(amount), "bytes"
    for larger in ("KB", "MB", "GB"):
        if left < _THOUSAND:
            break
        left, unit = left / _THOUSAND, larger
    return f"{left:.1f} {unit}" if unit != "bytes" and left < 10 else f"{left:.0f} {unit}"


def moment(seconds: float) -> str:
    """A time (Unix, seconds) in RFC 3339, to the millisecond, in UTC."""
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_bytes(resource: str) -> bool:
    return resource in _BYTES or resource.startswith("hugepages-")
