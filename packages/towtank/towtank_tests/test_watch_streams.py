"""Watches, chunk by chunk, without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank.serving import watch_streams
from towtank.serving.watch_streams import Watch, Watches
from towtank.storage import store
from towtank_tests.in_memory import InMemoryCluster, node

NODES = "/api/v1/nodes"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


class WatchReader:
    """Reads a watch's events one by one."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._chunks = watch.chunks()
        self._events: list[Any] = []

    async def next(self) -> Any:
        """The next event; None at the end."""
        while not self._events:
            chunk = await asyncio.wait_for(anext(self._chunks, None), 5)
            if chunk is None:
                return None
            self._events += [json.loads(line) for line in chunk.splitlines()]
        return self._events.pop(0)

    async def rest(self) -> list[Any]:
        """All events until the end."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
        return found


@asynccontextmanager
async def reading(asked: InMemoryCluster, query: str, **more: str) -> AsyncIterator[WatchReader]:
    """A watch of nodes."""
    watches = Watches(asked.verbs)
    watch = watches.open(asked.watching(f"{NODES}?watch=1&{query}", **more))
    try:
        yield WatchReader(watch)
    finally:
        watch.close()


def type_and_name(event: Any) -> tuple[str, str]:
    """Type and name."""
    return event["type"], event["object"]["metadata"].get("name", "")


def make(asked: InMemoryCluster, name: str, **labels: str) -> None:
    """A node."""
    assert asked.ask("POST", NODES, node(name, **labels)).code == 201


def relabel(asked: InMemoryCluster, name: str, **labels: str | None) -> None:
    """Change labels; None removes one."""
    assert (
        asked.ask(
            "PATCH",
            f"{NODES}/{name}",
            {"metadata": {"labels": labels}},
            "application/merge-patch+json",
        ).code
        == 200
    )


def test_what_is_there_comes_first_and_then_what_happens() -> None:
    """Synthetic ADDED events, then changes; none is lost that happens before the first chunk is
    read.
    """

    async def run() -> None:
        asked = InMemoryCluster()
        make(asked, "a")
        async with reading(asked, "") as reader:
            make(asked, "b")
            asked.ask("DELETE", f"{NODES}/a")
            assert [type_and_name(await reader.next()) for _ in range(3)] == [
                ("ADDED", "a"),
                ("ADDED", "b"),
                ("DELETED", "a"),
            ]

    asyncio.run(run())


def test_the_initial_state_ends_with_a_bookmark_that_says_so() -> None:
    """What clients of sendInitialEvents wait for."""

    async def run() -> None:
        asked = InMemoryCluster()
        make(asked, "a")
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with reading(asked, query) as reader:
            assert type_and_name(await reader.next()) == ("ADDED", "a")
            mark = await reader.next()
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert mark["object"]["metadata"]["resourceVersion"] == str(asked.verbs.store.revision)
        assert (mark["object"]["kind"], mark["object"]["apiVersion"]) == ("Node", "v1")

    asyncio.run(run())


def test_it_resumes_after_a_version() -> None:
    """With what came later, and nothing else."""

    async def run() -> None:
        asked = InMemoryCluster()
        make(asked, "a")
        version = asked.verbs.store.revision
        make(asked, "b")
        relabel(asked, "a", x="y")
        async with reading(asked, f"resourceVersion={version}") as reader:
            assert [type_and_name(await reader.next()) for _ in range(2)] == [
                ("ADDED", "b"),
                ("MODIFIED", "a"),
            ]

    asyncio.run(run())


def test_what_is_too_old_is_said_in_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """A 410 as a Status, and the end."""
    monkeypatch.setattr(store, "MAX_LOG_CHANGES", 3)

    async def run() -> None:
        asked = InMemoryCluster()
        version = asked.verbs.store.revision
        for name in "abcde":
            make(asked, name)
        async with reading(asked, f"resourceVersion={version}") as reader:
            [event] = await reader.rest()
        assert event["type"] == "ERROR"
        assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")

    asyncio.run(run())


def test_what_stops_matching_goes_and_what_starts_comes() -> None:
    """With the content that the watcher knew, at the version of the change."""

    async def run() -> None:
        asked = InMemoryCluster()
        make(asked, "a", pool="x")
        make(asked, "b")
        async with reading(asked, "labelSelector=pool=x") as reader:
            assert type_and_name(await reader.next()) == ("ADDED", "a")
            relabel(asked, "a", pool="y")
            version = str(asked.verbs.store.revision)
            relabel(asked, "b", other="z")
            relabel(asked, "b", pool="x")
            gone = await reader.next()
            assert type_and_name(gone) == ("DELETED", "a")
            assert gone["object"]["metadata"]["labels"]["pool"] == "x"
            assert gone["object"]["metadata"]["resourceVersion"] == version
            assert type_and_name(await reader.next()) == ("ADDED", "b")

    asyncio.run(run())


def test_tables_have_their_columns_once() -> None:
    """And metadata alone is what its name says."""

    async def run() -> None:
        asked = InMemoryCluster()
        make(asked, "a")
        make(asked, "b")
        async with reading(asked, "", accept=TABLE) as reader:
            first, second = await reader.next(), await reader.next()
            assert first["object"]["columnDefinitions"][0]["name"] == "Name"
            assert second["object"]["columnDefinitions"] is None
            assert second["object"]["rows"][0]["cells"][0] == "b"
        async with reading(asked, "", accept=PARTIAL) as reader:
            assert (await reader.next())["object"]["kind"] == "PartialObjectMetadata"

    asyncio.run(run())


def test_it_ends_when_its_time_is_over_and_a_bookmark_came() -> None:
    """At the latest with the bookmark that is sent at once."""

    async def run() -> None:
        asked = InMemoryCluster()
        async with reading(asked, "timeoutSeconds=1&allowWatchBookmarks=true") as reader:
            assert [event["type"] for event in await reader.rest()] == ["BOOKMARK"]

    asyncio.run(run())


def test_bookmarks_come_about_once_a_minute_and_before_the_end() -> None:
    """Two seconds before."""
    assert watch_streams._next_bookmark(0, 1000) == 60
    assert watch_streams._next_bookmark(0, 62) == 60
    assert watch_streams._next_bookmark(30, 62) == 60
    assert watch_streams._next_bookmark(61, 62) > 62


@pytest.mark.parametrize(
    ("bound", "most"), [("MAX_PENDING_CHANGES", 3), ("MAX_PENDING_BYTES", 1000)]
)
def test_a_slow_reader_is_dropped(monkeypatch: pytest.MonkeyPatch, bound: str, most: int) -> None:
    """What it has is bounded, by number and by bytes."""
    monkeypatch.setattr(watch_streams, bound, most)

    async def run() -> None:
        asked = InMemoryCluster()
        async with reading(asked, "") as reader:
            for number in range(10):
                make(asked, f"n{number}")
            assert 0 < len(reader.watch._changes) <= 3
            assert reader.watch._waiting == sum(change.now.size for change in reader.watch._changes)
            assert await reader.rest() == []

    asyncio.run(run())


def test_a_resource_that_goes_ends_its_watches() -> None:
    """And a closed watch listens no more."""

    async def run() -> None:
        asked = InMemoryCluster()
        watches = Watches(asked.verbs)
        watch = watches.open(asked.watching(f"{NODES}?watch=1"))
        waiting = asyncio.create_task(WatchReader(watch).rest())
        await asyncio.sleep(0)
        watches.end("nodes")
        assert await waiting == []
        watch.close()
        make(asked, "a")
        assert not watch._changes

    asyncio.run(run())


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), max_size=25)


@settings(max_examples=80, deadline=None)
@given(STEPS, STEPS)
def test_whoever_follows_a_watch_has_what_a_list_has(
    before: list[tuple[str, str | None]], after: list[tuple[str, str | None]]
) -> None:
    """For any history: initial state and events together give the chosen objects; and each event
    fits what was known.
    """

    def play(asked: InMemoryCluster, steps: list[tuple[str, str | None]]) -> None:
        for name, pool in steps:
            if asked.ask("GET", f"{NODES}/{name}").code == 404:
                make(asked, name, pool=pool or "")
            elif pool is None:
                asked.ask("DELETE", f"{NODES}/{name}")
            else:
                relabel(asked, name, pool=pool)

    async def run() -> None:
        asked = InMemoryCluster()
        play(asked, before)
        known: dict[str, Any] = {}
        async with reading(asked, "labelSelector=pool=x&timeoutSeconds=1") as reader:
            play(asked, after)
            events = list(reader.watch._first) + list(reader.watch._lines())
        for kind, body in ((event["type"], event["object"]) for event in map(json.loads, events)):
            name = body["metadata"]["name"]
            assert (kind == "ADDED") == (name not in known)
            if kind == "DELETED":
                del known[name]
            else:
                known[name] = body
        answer = asked.ask("GET", f"{NODES}?labelSelector=pool=x")
        assert isinstance(answer.body, bytes)
        typed = {"kind": "Node", "apiVersion": "v1"}
        assert sorted(known.items()) == [
            (item["metadata"]["name"], {**typed, **item})
            for item in json.loads(answer.body)["items"]
        ]

    asyncio.run(run())
