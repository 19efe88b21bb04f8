"""All or none: several changes that count as one.

A step that raises has changed nothing itself, so whoever takes several steps takes back those
before it. ``charge`` of every table of the cache is such a step, and is made of such steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Step: TypeAlias = tuple[Callable[..., object], *tuple[Any, ...]]
"""A function and its arguments but for the last, the sign. With -1 it takes back what it did with
1.
"""


def all_or_none(sign: int, *steps: Step) -> None:
    """Take these steps in order. If one raises, those before it are taken back, last one first."""
    done = 0
    try:
        for step in steps:
            step[0](*step[1:], sign)
            done += 1
    except BaseException:
        for step in reversed(steps[:done]):
            step[0](*step[1:], -sign)
        raise
