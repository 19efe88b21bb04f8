"""Rates of the last minute, from counters that only grow."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.apps.run.recent_rates import (
    STEP_SECONDS,
    WINDOW_SECONDS,
    Buckets,
    RecentRates,
    quantile,
)
from tests.fakes.clocks import ManualClock


async def rates_of(rates: RecentRates) -> list[Any]:
    """What is said now."""
    return [item async for item in rates.items()]


def test_of_the_last_minute_alone() -> None:
    """What was long ago does not count any more; what found no node never does."""

    async def story() -> None:
        telemetry, clock = PrometheusTelemetry(), ManualClock()
        rates = RecentRates(telemetry.attempt_durations, clock)
        assert await rates_of(rates) == []
        task = asyncio.create_task(rates.run())
        await clock.advance(0)
        telemetry.attempt("scheduled", "gpu", 0.003)
        telemetry.attempt("unschedulable", "gpu", 3)
        await clock.advance(STEP_SECONDS)
        (gpu,) = await rates_of(rates)
        assert (gpu["profile"], gpu["podsPerSecond"]) == ("gpu", 1 / STEP_SECONDS)
        assert 0.002 < gpu["p99Seconds"] <= 0.004
        await clock.advance(WINDOW_SECONDS + STEP_SECONDS)
        for _ in range(30):
            telemetry.attempt("scheduled", "spread", 0.001)
        gpu, spread = await rates_of(rates)
        assert (gpu["podsPerSecond"], gpu["p99Seconds"]) == (0.0, None)
        assert spread["podsPerSecond"] == pytest.approx(30 / spread["seconds"], abs=0.001)
        assert spread["seconds"] <= WINDOW_SECONDS + STEP_SECONDS
        task.cancel()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ([], None),
        ([(1.0, 0.0), (math.inf, 0.0)], None),
        ([(1.0, 100.0), (math.inf, 100.0)], 0.99),
        ([(1.0, 98.0), (2.0, 100.0), (math.inf, 100.0)], 1.5),
        ([(1.0, 98.0), (2.0, 98.0), (math.inf, 100.0)], 2.0),
    ],
)
def test_the_quantile_is_that_of_prometheus(buckets: Buckets, expected: float | None) -> None:
    """Even within a bucket; what is beyond the last one is not known."""
    assert quantile(buckets, 0.99) == (expected and pytest.approx(expected))
