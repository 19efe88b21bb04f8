"""What ends a process whose main loop hangs, and what does not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time

import pytest

from moorage.apps.run.pulse import INTERVAL_SECONDS, Pulse
from moorage.apps.run.side_loop import OneLoop, Question, T
from moorage.ports.errors import MainLoopBusy
from tests.fakes.clocks import EagerClock

LIMIT = 35.0


class Answering(OneLoop):
    """A main loop that is silent for so many questions; then the test ends by an error."""

    def __init__(self, silent: int) -> None:
        self.silent = silent

    async def ask(self, question: Question[T], seconds: float = 0.0) -> T:
        """Counts down."""
        self.silent -= 1
        if self.silent >= 0:
            raise MainLoopBusy("silent")
        if self.silent < -1:
            raise KeyError("the end of the test")
        return await super().ask(question, seconds)


@pytest.mark.parametrize(
    ("looks", "ended"), [(34, []), (35, [1])], ids=["a long decision", "a hanging one"]
)
def test_silence_of_a_lease_and_twenty_seconds_ends_the_process(
    looks: int, ended: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Looks are counted. What goes on after less is alive again."""
    aborted: list[int] = []
    pulse = Pulse(Answering(looks), EagerClock(), LIMIT * INTERVAL_SECONDS, aborted.append)
    with pytest.raises(KeyError):
        asyncio.run(pulse.run())
    assert aborted == ended
    assert ("in run_until_complete" in capfd.readouterr().err) is bool(ended), "the stacks"
    assert pulse.check() is None and pulse.silence == 0


def test_it_is_told_before_it_ends() -> None:
    """By /livez."""
    pulse = Pulse(OneLoop(), EagerClock(), LIMIT, lambda _status: None)
    pulse.silence = LIMIT - 1
    assert pulse.check() is None
    pulse.silence = LIMIT
    assert pulse.check() == "the main loop has not answered for 35 s"


PROGRAM = """
    import asyncio, os, time
    from moorage.adapters.system_clock import SystemClock
    from moorage.apps.run.pulse import Pulse
    from moorage.apps.run.side_loop import SideLoop

    async def main():
        with SideLoop() as side:
            asyncio.create_task(side.run(Pulse(side, SystemClock(), 2, os._exit).run()))
            await asyncio.sleep(0.2)
            def decides_for_ever():
                time.sleep(60)
            decides_for_ever()

    asyncio.run(main())
"""


def test_a_process_that_hangs_ends_with_its_stacks() -> None:
    """A real one: not zero, in time, and where it hung is said."""
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert time.monotonic() - began < 15
    assert "in decides_for_ever" in ended.stderr
