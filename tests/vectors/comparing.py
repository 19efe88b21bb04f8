"""Comparing two documents: where they differ, path by path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MISSING = object()


def differences(expected: Any, got: Any, path: str = "") -> Iterator[str]:
    """``path: expected X, got Y`` for each place that differs; "nothing" stands for a field that is
    not there.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted(expected.keys() | got.keys()):
            below = f"{path}.{key}" if path else key
            yield from differences(expected.get(key, _MISSING), got.get(key, _MISSING), below)
    elif expected != got:
        yield f"{path}: expected {_shown(expected)}, got {_shown(got)}"


def _shown(value: Any) -> str:
    return "nothing" if value is _MISSING else repr(value)
