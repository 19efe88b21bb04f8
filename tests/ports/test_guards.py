"""What one object, one listener or one step raises is told with its name and ends there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from moorage.ports.guards import (
    FAULTS,
    MAX_FAILURES_IN_A_ROW,
    guard,
    guarded_listener,
    guarded_port,
    run_restarting,
)
from tests.fakes.clocks import EagerClock

KINDS = [ValueError("v"), RecursionError("r"), MemoryError(), SystemExit(3)]


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: type(fault).__name__)
def test_what_is_raised_ends_there_and_is_named(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """Around a block, a listener and the methods of a port."""

    def listener(pod: str) -> None:
        raise fault

    class Port:
        def told(self, pod: str) -> None:
            raise fault

    with guard("taking it in", pod="d/p"):
        raise fault
    guarded_listener(listener)("d/p")
    guarded_port(Port()).told("d/p")
    assert [vars(record).get("pod") or vars(record)["about"] for record in caplog.records] == [
        "d/p"
    ] * 3
    assert all(record.levelno == logging.ERROR and record.exc_info for record in caplog.records)


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_what_is_no_fault_passes(error: type[BaseException]) -> None:
    """A cancellation, and the interpreter's own."""
    with pytest.raises(error), guard("anything"):
        raise error
    assert not issubclass(error, FAULTS)


@pytest.mark.parametrize(
    ("part", "attempts"),
    [
        pytest.param(
            lambda attempt: 5.0 if attempt % 2 else 0.0, 200, id="fails now and then: begun anew"
        ),
        pytest.param(
            lambda attempt: 0.0, MAX_FAILURES_IN_A_ROW, id="fails each time: cannot go on"
        ),
    ],
)
def test_a_part_is_begun_anew(part: Callable[[int], float], attempts: int) -> None:
    """Also when it was cancelled by somebody who had no right to; unless it only ever fails."""
    clock, count = EagerClock(), 0

    async def run() -> None:
        nonlocal count
        count += 1
        if count == 200:
            raise KeyboardInterrupt  # the end of this test
        await clock.sleep(part(count))
        raise ValueError if count % 3 else asyncio.CancelledError

    with pytest.raises((KeyboardInterrupt, ValueError, asyncio.CancelledError)):
        asyncio.run(run_restarting("it", run, clock))
    assert count == attempts
