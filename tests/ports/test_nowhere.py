"""Ways out that lead nowhere."""

from __future__ import annotations

import asyncio

import pytest

from moorage.ports.event_recorder import Event, ObjectRef
from moorage.ports.nowhere import NO_WRITES, NoEvents
from tests.fakes.kube import WRITES


@pytest.mark.parametrize("write", WRITES)
def test_there_is_no_write(write: str) -> None:
    """Whoever asks for one is told so."""
    with pytest.raises(AttributeError, match=f"so there is no {write}"):
        getattr(NO_WRITES, write)
    assert not NO_WRITES.open


def test_events_are_told_to_nobody() -> None:
    """It runs until it is cancelled, and owes nothing at the end."""

    async def scenario() -> bool:
        events = NoEvents()
        running = asyncio.create_task(events.run())
        events.record(Event(ObjectRef("Pod", "p", "1"), "Reason", "note", "Action", "moorage"))
        await events.flush(0.0)
        done = running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return done

    assert asyncio.run(scenario()) is False
