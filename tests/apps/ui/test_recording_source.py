"""The page of a recording: its moments, its timeline, and another world."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.printing.amounts import moment
from moorage.apps.recordings.timelines import TimelineMaker
from moorage.apps.ui import other_worlds
from moorage.apps.ui.questions import parse
from moorage.apps.ui.recording_source import HAS, RecordingSource
from moorage.ports.requesters import Denied
from tests.apps.ui.worlds import recorded, revision
from tests.apps.worlds.recordings import BEGIN, RESOLVER

Ask = Callable[..., Awaitable[Any]]


def watch(folder: Path, scenario: Callable[[Ask], Awaitable[None]]) -> None:
    """Have it happen, with the timeline made."""

    async def happens() -> None:
        candidates = {"test": revision("Spread")}
        source = RecordingSource(recorded(folder / "a.rec"), RESOLVER, candidates)
        await source.open()
        await source.run()

        async def ask(document: str, **query: str) -> Any:
            return await source.document(parse(document, query))

        try:
            await scenario(ask)
        finally:
            await source.close()

    asyncio.run(happens())


def test_moments(tmp_path: Path) -> None:
    """The end, where none is named; any other, as it was."""

    async def scenario(ask: Ask) -> None:
        end = await ask("overview")
        assert (end["nodes"], end["pods"], end["waiting"]) == (4, 12, 8)
        assert (end["live"], end["has"], end["cluster"]) == (False, [*HAS], "a.rec")
        at = moment(BEGIN + 41.5)
        then = await ask("overview", at=at)
        assert (then["pods"], then["waiting"], then["at"]) == (4, 1, at)
        assert [one["pod"] for one in (await ask("queue", at=at))["pods"]] == ["default/p4"]
        assert (await ask("nodes", at=at))["pods"] == [1, 1, 1, 1]
        assert (await ask("node", name="n1", at=at))["zone"] == "z1"
        pod = await ask("pod", name="default/p4", at=at)
        assert (pod["verdict"], pod["revision"]) == ("WouldBePlaced", revision("Default").id)
        later = await ask("pod", name="default/p19")
        assert later["revision"] == revision("BinPack").id
        found = await ask("find", text="p1")
        assert found["pods"][0] == {"pod": "default/p1", "node": "n1"}

    watch(tmp_path, scenario)


@pytest.mark.parametrize(
    ("document", "query", "status"),
    [
        ("overview", {"at": moment(BEGIN - 1)}, 404),
        ("pod", {"name": "default/p19", "at": moment(BEGIN + 1)}, 404),
        ("node", {"name": "n9"}, 404),
        ("status", {}, 404),
        ("trial", {"profile": "test"}, 404),
        ("compare", {"b": "test@none"}, 404),
        ("nodes", {"b": "none"}, 404),
    ],
)
def test_what_is_not_there(
    document: str, query: dict[str, str], status: int, tmp_path: Path
) -> None:
    """It is said what there is."""

    async def scenario(ask: Ask) -> None:
        with pytest.raises(Denied) as denied:
            await ask(document, **query)
        assert denied.value.status == status

    watch(tmp_path, scenario)


def test_the_timeline(tmp_path: Path) -> None:
    """A point a second; pods placed, pods that wait, cpu, and the swap."""

    async def scenario(ask: Ask) -> None:
        found = await ask("timeline")
        assert (found["begin"], found["step"], found["progress"]) == (BEGIN, 1.0, 1.0)
        assert found["end"] == BEGIN + 191
        assert sum(found["placed"]) == 12
        assert found["waiting"][:4] == [0, 1, 0, 0]
        assert found["waiting"][-1] == 8
        assert found["cpu"][-1] == 12 / 16
        assert found["p99"][2] == 1.0
        (mark,) = found["marks"]
        assert (mark["what"], mark["profile"], mark["time"]) == ("swap", "test", BEGIN + 105.5)
        worlds = {f"test@{revision(preset).id}" for preset in ("Default", "BinPack")}
        assert set(found["worlds"]) == {"candidates", *worlds}

    watch(tmp_path, scenario)


def test_decisions_to_step_through(tmp_path: Path) -> None:
    """From a moment on, and what was before it."""

    async def scenario(ask: Ask) -> None:
        found = await ask("decisions", at=moment(BEGIN + 50), limit="2")
        assert [one["pod"] for one in found["before"]][-1] == "default/p4"
        assert [(one["pod"], one["node"]) for one in found["decisions"]] == [
            ("default/p5", "n1"),
            ("default/p6", "n2"),
        ]

    watch(tmp_path, scenario)


def test_a_pod_has_its_history(tmp_path: Path) -> None:
    """When it came to its node; nothing of what was to come."""

    async def scenario(ask: Ask) -> None:
        (one,) = (await ask("pod", name="default/p5"))["history"]
        assert (one["node"], one["time"]) == ("n1", BEGIN + 52)
        early = await ask("pod", name="default/p5", at=moment(BEGIN + 51.5))
        assert early["history"] == []
        assert (await ask("pod", name="default/p19"))["history"] == []

    watch(tmp_path, scenario)


def test_another_world(tmp_path: Path) -> None:
    """Made in the background; its nodes at a moment."""

    async def scenario(ask: Ask) -> None:
        world = f"test@{revision('BinPack').id}"
        found = await ask("compare", b=world)
        assert (found["progress"] < 1, found["measures"]) == (True, [])
        async with asyncio.timeout(60):
            while (found := await ask("compare", b=world))["progress"] < 1:
                await asyncio.sleep(0.02)
        assert found["arrivals"] == 20
        texts = {one["name"]: one["text"] for one in found["measures"]}
        assert set(texts["pods that wait"]) == {"a", "b", "difference", "interval"}
        assert len(found["windows"]["pods that wait"]["A"]) == 20
        assert found["cannotKnow"].startswith("Cannot know")
        early = await ask("nodes", b=world, at=moment(BEGIN + 60))
        late = await ask("nodes", b=world)
        assert sum(early["pods"]) < sum(late["pods"]) == 16

    watch(tmp_path, scenario)


def test_a_world_that_fails_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a plugin raises: it is logged, and nobody waits for that world for ever."""

    def fails(*_: Any) -> None:
        raise KeyError("rack")

    monkeypatch.setattr(other_worlds, "compare", fails)

    async def scenario(ask: Ask) -> None:
        async def until_it_fails() -> None:
            while await ask("compare", b="candidates"):
                await asyncio.sleep(0.02)

        with pytest.raises(Denied, match="world candidates: KeyError: 'rack'"):
            await asyncio.wait_for(until_it_fails(), 10)

    watch(tmp_path, scenario)
    assert "World candidates cannot be made" in caplog.text


@pytest.mark.parametrize("what", ["timeline", "compare"])
def test_closing_ends_what_is_being_made(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends waits for its threads: they go through no more of the recording."""
    makers: list[threading.Thread] = []
    begun = threading.Event()

    def for_half_a_minute(entries: Iterable[Any], *_: Any) -> None:
        makers.append(threading.current_thread())
        for _turn in range(3000):
            list(entries)
            begun.set()
            threading.Event().wait(0.01)

    monkeypatch.setattr(TimelineMaker, "go_on", lambda _, entries, __: for_half_a_minute(entries))
    monkeypatch.setattr(other_worlds, "compare", for_half_a_minute)

    async def happens() -> None:
        candidates = {"test": revision("Spread")}
        source = RecordingSource(recorded(tmp_path / "a.rec"), RESOLVER, candidates)
        await source.open()
        compare = parse("compare", {"b": "candidates"})
        asked = source.run() if what == "timeline" else source.document(compare)
        making = asyncio.create_task(asked)
        assert await asyncio.to_thread(begun.wait, 10)
        making.cancel()
        await source.close()

    asyncio.run(happens())
    (maker,) = makers
    maker.join(5)
    assert not maker.is_alive()
