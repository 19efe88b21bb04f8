"""The operator's past, read by a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.operator_options import RecordingOptions
from moorage.apps.printing.amounts import moment
from moorage.apps.recordings.saving import new_recorder
from moorage.apps.run import recorded_past
from moorage.apps.run.past_process import PastServer
from moorage.apps.run.recorded_past import RecordedPast, past_of
from moorage.apps.ui import recording_source
from moorage.apps.ui.questions import parse
from moorage.ports.requesters import Denied
from tests.apps.ui.worlds import recorded
from tests.apps.worlds.recordings import BEGIN, RESOLVER
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop

KNOWN: Final = BEGIN + 500.0


def past(folder: Path) -> RecordedPast:
    """Of a recording in this folder."""
    recording = RecordingOptions(directory=str(folder))
    return RecordedPast(OperatorConfiguration(recording=recording), "moorage-1", lambda: KNOWN)


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[RecordedPast]:
    """The same, which ends."""
    found = past(folder)
    try:
        yield found
    finally:
        await found.close()


async def ask(past: RecordedPast, document: str, **query: str) -> Any:
    """A document."""
    return await past.document(parse(document, query))


def test_without_a_recording_there_is_none() -> None:
    """Nothing is ever started."""
    assert past_of(Running().engine, "moorage-1") is None


@in_a_loop
async def test_what_is_known_is_up_to_now(tmp_path: Path) -> None:
    """A moment ago, while all is recorded; nothing on a standby, and once something is missing."""
    recorder = new_recorder(tmp_path / "a.rec", RESOLVER)
    world = Running(journal=recorder)
    found = past_of(world.engine, "moorage-1")
    assert found is not None
    assert found._known() == 0.0
    world.engine.live.lead()
    assert found._known() == 0.0
    recorder.put_key_frame([])
    now = world.clock.now().timestamp()
    assert found._known() == now - recorded_past.WRITTEN_SECONDS


def test_it_answers_and_ends(tmp_path: Path) -> None:
    """Moments, the timeline, decisions and other worlds, several at once; refusals are its own.
    Whoever listens is told when the timeline is made.
    """
    recorded(tmp_path / "20261127T000000.000000Z.rec")
    at = moment(BEGIN + 41.5)

    async def scenario() -> None:
        async with opened(tmp_path) as there:
            then, chosen = await asyncio.gather(
                ask(there, "overview", at=at), ask(there, "decisions", at=at)
            )
            assert (then["pods"], then["waiting"], then["live"]) == (4, 1, True)
            assert (then["cluster"], then["at"]) == ("moorage-1", at)
            assert then["source"] == f"what was recorded of moorage-1, as it was at {at}"
            assert chosen["decisions"]
            async with asyncio.timeout(30):
                seen = there.changes.number
                while (times := await ask(there, "timeline"))["progress"] < 1:
                    await there.changes.wait(seen)
                    seen = there.changes.number
            assert (times["begin"], times["end"]) == (BEGIN, KNOWN)
            later = await ask(there, "nodes", at=moment(KNOWN - 1))
            assert later["leftOut"] == []
            with pytest.raises(Denied, match="begins at") as denied:
                await ask(there, "nodes", at=moment(BEGIN - 100))
            assert denied.value.status == 404

    asyncio.run(scenario())


def test_nothing_recorded_yet_is_no_end(tmp_path: Path) -> None:
    """As on a standby: it is looked for again at each question."""

    async def scenario() -> None:
        async with opened(tmp_path) as there:
            with pytest.raises(Denied) as denied:
                await ask(there, "timeline")
            assert denied.value.status == 503
            await asyncio.to_thread(recorded, tmp_path / "20261127T000000.000000Z.rec")
            assert (await ask(there, "timeline"))["kind"] == "Timeline"

    asyncio.run(scenario())


def test_a_process_that_dies_is_begun_anew(tmp_path: Path) -> None:
    """Whoever waits for it is told."""
    recorded(tmp_path / "20261127T000000.000000Z.rec")

    async def scenario() -> None:
        async with opened(tmp_path) as there:
            await ask(there, "timeline")
            reading = there._reading
            assert reading is not None
            waiting = asyncio.create_task(ask(there, "overview", at=moment(BEGIN + 41.5)))
            await asyncio.sleep(0)
            reading._process.kill()
            with pytest.raises(Denied, match="has ended; try again"):
                await waiting
            assert (await ask(there, "timeline"))["kind"] == "Timeline"

    asyncio.run(scenario())


def test_it_ends_when_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself, as it does when the operator is gone."""
    monkeypatch.setattr(recorded_past, "IDLE_SECONDS", 0.01)
    recorded(tmp_path / "20261127T000000.000000Z.rec")

    async def scenario() -> None:
        async with opened(tmp_path) as there:
            with contextlib.suppress(Denied):  # it may end in the middle
                await ask(there, "timeline")
            reading = there._reading
            assert reading is not None
            async with asyncio.timeout(20):
                assert await reading._process.wait() == 0

    asyncio.run(scenario())


async def asking(document: str) -> AsyncIterator[bytes]:
    """A line that asks for it."""
    question = dataclasses.asdict(parse(document, {}))
    yield json.dumps({"id": 7, "known": 0.0, "question": question}).encode()


def test_what_cannot_be_followed_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where all of the ring's files are gone, and others come."""
    monkeypatch.setattr(recording_source, "GROWS_SECONDS", 0.01)
    file = tmp_path / "20261127T000000.000000Z.rec"
    statuses: list[int] = []

    async def scenario() -> None:
        server = PastServer(
            tmp_path, RESOLVER, lambda head, _: statuses.append(head.get("status", 0)), 2**30
        )

        async def answered() -> int:
            statuses.clear()
            await server.run(asking("timeline"))
            while not any(statuses):
                await asyncio.sleep(0.01)
            return next(filter(None, statuses))

        async with asyncio.timeout(30):
            for _ in range(2):
                await asyncio.to_thread(recorded, file)
                assert await answered() == 200
                file.unlink()
                while await answered() == 200:
                    await asyncio.sleep(0.01)

    asyncio.run(scenario())


def test_a_fault_is_an_answer(tmp_path: Path) -> None:
    """Whoever asks is told at once, and does not wait for what never comes."""
    answers: list[tuple[dict[str, Any], bytes]] = []

    class Faulty(PastServer):
        async def _opened(self) -> Any:
            raise ZeroDivisionError("a plugin's own")

    async def scenario() -> None:
        server = Faulty(tmp_path, RESOLVER, lambda head, body: answers.append((head, body)), 1)
        await server.run(asking("timeline"))
        async with asyncio.timeout(30):
            while not answers:
                await asyncio.sleep(0)

    asyncio.run(scenario())
    assert answers == [({"id": 7, "status": 500}, b'"ZeroDivisionError: a plugin\'s own"')]
