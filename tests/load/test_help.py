"""`moorage --help` answers before anybody has looked up."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from tests.suites import BUDGET_FACTOR

SECONDS = 0.15
RUNS = 15
FACTOR = float(os.environ.get(BUDGET_FACTOR, "1"))


def test_help_is_quick(figures: Callable[..., None]) -> None:
    """At the median of several, the first one being for the disk."""
    took = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-I", "-m", "moorage", "--help"], check=True, stdout=subprocess.DEVNULL
        )
        took.append(time.perf_counter() - began)
    median = statistics.median(took[1:])
    figures(seconds=round(median, 3))
    assert median <= SECONDS * FACTOR
