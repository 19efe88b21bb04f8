"""List and watch over real HTTP: how streams end, what lines may hold, how far the reflector has
come.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from moorage.adapters import reflector
from moorage.adapters.answers import MAX_LINE_BYTES, LineSplitter, LineTooLong
from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.reflector import HttpUncachedReader, ListWatch, Reflector
from moorage.core.objects.pods import Pod
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import MAX_RETRY_AFTER_SECONDS
from moorage.ports.kube import UnreadableObject
from tests.adapters.api_server import (
    Answer,
    StubApiServer,
    answers,
    api_server,
    line,
    status,
    streams,
)
from tests.fakes.clocks import EagerClock

PATH = "/api/v1/pods"


class Sink:
    """Keeps what it is told, as short texts."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.broken: list[UnreadableObject] = []
        self.changed = asyncio.Event()
        self.pieces = 0

    def _tell(self, text: str) -> None:
        self.told.append(text)
        self.changed.set()

    def list_started(self, served: bool = True) -> None:
        """Told."""
        self._tell("list" if served else "list of nothing")

    def put(self, obj: Pod) -> None:
        """Told, with the version."""
        self._tell(f"put {obj.metadata.name} {obj.metadata.resource_version}")

    def delete(self, obj: Pod) -> None:
        """Told."""
        self._tell(f"delete {obj.metadata.name}")

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        """Told, and kept."""
        self.broken.append(obj)
        self._tell(f"unreadable {obj.partial.metadata.name}{' deleted' if deleted else ''}")

    def list_ended(self) -> bool:
        """Told; the first ``pieces`` times it is not enough."""
        self.pieces -= 1
        if self.pieces >= 0:
            asyncio.get_running_loop().call_soon(self._tell, "turn of others")
            return True
        self._tell("listed")
        return False

    async def until(self, text: str) -> None:
        """Wait until this was told."""
        async with asyncio.timeout(30):
            while text not in self.told:
                self.changed.clear()
                await self.changed.wait()


def pod(name: str, version: int, **more: Any) -> dict[str, Any]:
    """A pod as the API server writes it."""
    return {
        "metadata": {
            "name": name,
            "namespace": "d",
            "uid": f"u-{name}",
            "resourceVersion": str(version),
        },
        **more,
    }


def pods(version: int, *items: dict[str, Any], token: str = "") -> Answer:
    """A page of a list."""
    return answers(
        {
            "metadata": {"resourceVersion": str(version), **({"continue": token} if token else {})},
            "items": list(items),
        }
    )


def by_query(lists: list[Answer], watches: list[Answer]) -> Answer:
    """One answer for the path: gives the next list or the next watch, whichever is asked for; the
    last of each for ever.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        wanted = watches if "watch" in request.query else lists
        return await (wanted.pop(0) if len(wanted) > 1 else wanted[0])(request)

    return answer


@contextlib.asynccontextmanager
async def feeding(
    lists: list[Answer],
    watches: list[Answer],
    optional: bool = False,
    early: list[asyncio.Task[None]] | None = None,
    path: str = PATH,
) -> AsyncIterator[tuple[Reflector[Pod], Sink, StubApiServer]]:
    """A running reflector of pods; a watch that hangs is added at the end. ``early`` gets a caller
    of catch_up from before it runs.
    """
    hanging = asyncio.Event()
    clock, sink = EagerClock(), Sink()
    async with api_server() as server:
        server.then("GET", path, by_query(lists, [*watches, streams(hanging)]))
        session = await KubeSession.open(KubeSource(master=server.url), "moorage/0", clock)
        feed = Reflector(
            session, clock, ListWatch("pods", path, Pod, "status.phase!=Failed", optional), sink
        )
        if early is not None:
            early.append(asyncio.create_task(feed.wait_caught_up()))
            await asyncio.sleep(0)
        task = asyncio.create_task(feed.run())
        try:
            yield feed, sink, server
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            hanging.set()
            await session.close()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    """Run a scenario to its end, within a minute."""

    async def bounded() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(bounded())


def test_pages_then_events() -> None:
    """All pages between one list_started and one list_ended; then events, from the list's version
    on.
    """

    async def scenario() -> None:
        lists = [pods(7, pod("a", 1), token="more&?"), pods(7, pod("b", 2))]
        events = [
            line("ADDED", pod("c", 8)),
            line("MODIFIED", pod("a", 9)),
            line("DELETED", pod("b", 10)),
        ]
        async with feeding(lists, [streams(*events, 0.2)]) as (feed, sink, server):
            assert not feed.has_synced
            await sink.until("delete b")
            assert sink.told == [
                "list",
                "put a 1",
                "put b 2",
                "listed",
                "put c 8",
                "put a 9",
                "delete b",
            ]
            assert feed.has_synced and feed.failures == 0
            first, second = server.queries(PATH, limit=str(reflector.PAGE_SIZE))
            assert "continue" not in first and second["continue"] == "more&?"
            assert "resourceVersion" not in first  # unset asks for a consistent list
            watch = server.queries(PATH, watch="true")[0]
            assert watch["resourceVersion"] == "7" and watch["allowWatchBookmarks"] == "true"
            assert 300 <= int(watch["timeoutSeconds"]) <= 600
            assert all(
                query["fieldSelector"] == "status.phase!=Failed" for query in (first, second, watch)
            )

    run(scenario)


def test_a_stream_that_ends_is_resumed_at_once() -> None:
    """The API server ends a watch without an error: the next one begins at the last version,
    bookmarks counted, with no wait.
    """

    async def scenario() -> None:
        bookmark = line(
            "BOOKMARK",
            {
                "metadata": {"resourceVersion": "20", "creationTimestamp": None},
                "spec": {"containers": None},
            },
        )
        first, last = streams(line("ADDED", pod("a", 8))), streams(line("ADDED", pod("c", 21)), 0.2)
        watches = [first, streams(line("ADDED", pod("b", 9)), bookmark), last]
        async with feeding([pods(7)], watches) as (feed, sink, server):
            await sink.until("put c 21")
            assert [query["resourceVersion"] for query in server.queries(PATH, watch="true")][
                :3
            ] == ["7", "8", "20"]
            assert sink.told == ["list", "listed", "put a 8", "put b 9", "put c 21"]
            assert feed._clock.slept == []  # type: ignore[attr-defined]

    run(scenario)


@pytest.mark.parametrize(
    "ending",
    [
        status(410, "Expired", "too old resource version"),
        streams(
            line("ADDED", pod("x", 8)),
            line(
                "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            ),
        ),
    ],
    ids=["answer", "in-stream"],
)
def test_410_lists_anew(ending: Answer) -> None:
    """A version that is too old, as the answer or as an ERROR line: a whole list follows, and a
    watch from its version.
    """

    async def scenario() -> None:
        lists, watches = (
            [pods(7, pod("a", 1)), pods(30, pod("b", 29))],
            [ending, streams(line("ADDED", pod("c", 31)), 0.2)],
        )
        async with feeding(lists, watches) as (_, sink, server):
            await sink.until("put c 31")
            told = [text for text in sink.told if text != "put x 8"]
            assert told == ["list", "put a 1", "listed", "list", "put b 29", "listed", "put c 31"]
            assert server.queries(PATH, watch="true")[1]["resourceVersion"] == "30"

    run(scenario)


def apis(*group_versions: str) -> Answer:
    """The API server's list of groups."""
    return answers(
        {"groups": [{"name": "g", "versions": [{"groupVersion": one}]} for one in group_versions]}
    )


OPTIONAL = "/apis/x.io/v1/pods"
UNKNOWN = status(404, "NotFound", "the server could not find the requested resource")


@pytest.mark.parametrize(
    "kinds", [None, [{"name": "other"}]], ids=["no such API", "an API without it"]
)
def test_a_resource_that_the_server_does_not_have_is_an_empty_list(
    kinds: list[dict[str, str]] | None,
) -> None:
    """It counts as listed, catching up waits for nothing, and when the API server has it, it is
    listed like any other.
    """

    async def scenario() -> None:
        async with feeding(
            [UNKNOWN, UNKNOWN, pods(7, pod("a", 1))], [], optional=True, path=OPTIONAL
        ) as (feed, sink, server):
            server.then("GET", "/apis", apis("other/v1") if kinds is None else apis("x.io/v1"))
            server.then("GET", "/apis/x.io/v1", answers({"resources": kinds}))
            await sink.until("listed")
            assert feed.has_synced
            assert sink.told == ["list", "list of nothing", "listed"]
            await feed.wait_caught_up()
            await sink.until("put a 1")

    run(scenario)


@pytest.mark.parametrize(
    "served",
    [apis("x.io/v1"), UNKNOWN, answers({})],
    ids=["it has the API", "404 for all", "nothing"],
)
def test_one_404_does_not_empty_a_list(served: Answer) -> None:
    """A proxy's page for a request, or for each for a while: the objects stay, and the watch goes
    on.
    """

    async def scenario() -> None:
        page = answers(b"<html>404 page not found</html>", 404)
        watches = [page, page, streams(line("ADDED", pod("b", 8)), 0.2)]
        async with feeding([pods(7, pod("a", 1))], watches, optional=True, path=OPTIONAL) as (
            _,
            sink,
            server,
        ):
            server.then("GET", "/apis", served)
            server.then("GET", "/apis/x.io/v1", answers({"resources": [{"name": "pods"}]}))
            await sink.until("put b 8")
            assert sink.told == ["list", "put a 1", "listed", "put b 8"]

    run(scenario)


def test_a_list_without_a_version_is_none() -> None:
    """An answer that anything may give empties no sink."""

    async def scenario() -> None:
        async with feeding([answers({"metadata": {}, "items": []}), pods(7, pod("a", 1))], []) as (
            _,
            sink,
            _,
        ):
            await sink.until("listed")
            assert sink.told == ["list", "list", "put a 1", "listed"]

    run(scenario)


@pytest.mark.parametrize(
    ("fault", "least"),
    [
        (status(500, "InternalError"), 0.05),
        (status(429, "TooManyRequests", "", {"Retry-After": "4"}), 4.0),
        (
            status(429, "TooManyRequests", "", {"Retry-After": "1000000000"}),
            MAX_RETRY_AFTER_SECONDS,
        ),
        (
            status(429, "TooManyRequests", "", {"Retry-After": "Wed, 21 Oct 2065 07:28:00 GMT"}),
            0.05,
        ),
        (status(403, "Forbidden", "no"), 0.05),
        (streams(abort=True), 0.05),
        (streams(line("ERROR", {"kind": "Status", "code": 500, "message": "etcd"})), 0.05),
        (streams(), 0.05),
    ],
    ids=[
        "500",
        "429-retry-after",
        "429-for-years",
        "429-with-a-date",
        "403",
        "broken",
        "error-line",
        "ends-at-once",
    ],
)
def test_faults_wait_and_resume(fault: Answer, least: float) -> None:
    """After a fault the watch goes on from the last version, not sooner than it should; failures
    are counted until something comes.
    """

    async def scenario() -> None:
        async with feeding([pods(7)], [fault, fault, streams(line("ADDED", pod("a", 8)), 0.2)]) as (
            feed,
            sink,
            server,
        ):
            await sink.until("put a 8")
            assert sink.told == ["list", "listed", "put a 8"]
            slept = feed._clock.slept  # type: ignore[attr-defined]
            assert len(slept) == 2 and all(
                least <= seconds <= MAX_RETRY_AFTER_SECONDS for seconds in slept
            )
            assert {query["resourceVersion"] for query in server.queries(PATH, watch="true")} == {
                "7"
            }
            assert feed.failures == 0

    run(scenario)


def test_what_a_list_did_not_have_goes_piece_by_piece() -> None:
    """The sink is asked until it has taken everything out, others have their turn, and only then
    the reflector is synced.
    """

    async def scenario() -> None:
        async with feeding([pods(7, pod("a", 1))], []) as (feed, sink, _server):
            sink.pieces = 2
            await sink.until("listed")
            assert sink.told == ["list", "put a 1", "turn of others", "turn of others", "listed"]
            assert feed.has_synced

    run(scenario)


def test_a_list_that_breaks_off_begins_again() -> None:
    """A fault between two pages: no list_ended, and the next list starts over."""

    async def scenario() -> None:
        lists = [pods(7, pod("a", 1), token="t"), status(503), pods(8, pod("a", 1))]
        async with feeding(lists, []) as (_, sink, _server):
            await sink.until("listed")
            assert sink.told == ["list", "put a 1", "list", "put a 1", "listed"]

    run(scenario)


BROKEN = pod(
    "bad",
    9,
    spec={"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {"cpu": [1]}}}]},
)
HOPELESS = {"metadata": {"name": ["?"]}}


def test_a_broken_object_harms_itself_only(caplog: pytest.LogCaptureFixture) -> None:
    """An object that does not decode is named, with its node; one without a name is logged and
    counted; all others come.
    """

    async def scenario() -> None:
        events = [
            line("ADDED", BROKEN),
            b"{not json}\n",
            line("ADDED", HOPELESS),
            line("DELETED", BROKEN),
            line("ADDED", pod("z", 12)),
        ]
        async with feeding(
            [pods(7, pod("a", 1), BROKEN, HOPELESS, pod("b", 2))], [streams(*events, 0.2)]
        ) as (feed, sink, _server):
            await sink.until("put z 12")
            listed = ["list", "put a 1", "unreadable bad", "put b 2", "listed"]
            assert sink.told == [*listed, "unreadable bad", "unreadable bad deleted", "put z 12"]
            assert feed.lost == 3
            broken = sink.broken[0]
            assert (
                broken.partial.metadata.uid,
                broken.partial.metadata.namespace,
                broken.node_name,
            ) == ("u-bad", "d", "n1")
            assert "requests" in broken.error

    with caplog.at_level(logging.ERROR):
        run(scenario)
    assert "cannot be read" in caplog.text and "no readable metadata" in caplog.text


@pytest.mark.parametrize(
    "damage",
    [
        {
            "metadata": {"name": "bad", "uid": "u", "resourceVersion": "9", "labels": {"a": 1}},
            "spec": {"nodeName": "n1"},
        },
        {
            "metadata": {"name": "bad", "uid": "u", "resourceVersion": "9"},
            "spec": {"nodeName": "n1", "containers": "none"},
        },
        {
            "metadata": {"name": "bad", "uid": "u", "resourceVersion": "9"},
            "spec": {"nodeName": "n1"},
            "status": [],
        },
    ],
    ids=["labels", "containers", "status"],
)
def test_every_kind_of_damage_keeps_name_and_node(damage: dict[str, Any]) -> None:
    """Broken labels, spec or status: name, UID, version and node are still read, and the reflector
    goes on from that version.
    """

    async def scenario() -> None:
        async with feeding(
            [pods(7)],
            [streams(line("MODIFIED", damage)), streams(line("ADDED", pod("c", 11)), 0.2)],
        ) as (_, sink, server):
            await sink.until("put c 11")
            assert [
                (b.partial.metadata.name, b.partial.metadata.uid, b.node_name) for b in sink.broken
            ] == [("bad", "u", "n1")]
            assert server.queries(PATH, watch="true")[1]["resourceVersion"] == "9"

    run(scenario)


def test_a_pod_with_null_lists_is_read() -> None:
    """What the API server may write as null decodes."""

    async def scenario() -> None:
        nulls = pod(
            "n",
            8,
            spec={"containers": None, "tolerations": None, "nodeSelector": None},
            status={"conditions": None},
        )
        async with feeding([pods(7)], [streams(line("ADDED", nulls), 0.2)]) as (_, sink, _server):
            await sink.until("put n 8")
            assert not sink.broken

    run(scenario)


def test_a_giant_line_in_small_pieces() -> None:
    """A line of 3 MB, and a line cut at any place, arrive whole."""

    async def scenario() -> None:
        giant = line("ADDED", pod("giant", 8, spec={"extra": "x" * 3_000_000}))
        small = line("ADDED", pod("small", 9))
        async with feeding(
            [pods(7)], [streams(giant, small[:1], 0.01, small[1:20], 0.01, small[20:], 0.2)]
        ) as (_, sink, _server):
            await sink.until("put small 9")
            assert sink.told[-2:] == ["put giant 8", "put small 9"]

    run(scenario)


def test_a_line_without_end_is_given_up() -> None:
    """It is kept up to a limit that no object reaches; lines that come to their end have no limit
    together.
    """
    lines = LineSplitter()
    for _ in range(40):
        assert lines.split(b"x" * (2**20 - 1) + b"\n") == [b"x" * (2**20 - 1)]
    for _ in range(MAX_LINE_BYTES // 2**20):
        assert lines.split(b"x" * 2**20) == []
    with pytest.raises(LineTooLong):
        lines.split(b"x")


@pytest.mark.parametrize(
    "garbage",
    [
        b"[" * 100_000,
        b'["' * 100_000,
        b'[{"a":' * 50_000 + b'"' + b"b" * 50_000,
        b"\xff" * 1000,
        b"nonsense",
    ],
)
def test_garbage_in_a_watch_costs_its_line(garbage: bytes) -> None:
    """However deep, broken or without end: it is told, and the lines after it come at once."""

    async def scenario() -> None:
        odd = b'{"type":"ADDED","object":' + garbage + b"\n"
        async with feeding([pods(7)], [streams(odd, odd, line("ADDED", pod("a", 8)), 0.2)]) as (
            feed,
            sink,
            _server,
        ):
            began = time.perf_counter()
            await sink.until("put a 8")
            assert time.perf_counter() - began < 2
            assert feed.lost == 2

    run(scenario)


def test_a_list_whose_page_names_itself_is_no_list() -> None:
    """It would go on for ever; it is begun anew."""

    async def scenario() -> None:
        round_and_round = [pods(7, pod("a", 1), token="t")] * 3
        async with feeding([*round_and_round, pods(8, pod("a", 1))], []) as (feed, sink, _server):
            await sink.until("listed")
            assert len(feed._clock.slept) >= 1  # type: ignore[attr-defined]

    run(scenario)


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"\xff", b'{"metadata":' + b"[" * 50_000 + b"]" * 50_000, b'{"items":{}}'],
)
def test_an_answer_that_is_no_list_is_asked_for_again(body: bytes) -> None:
    """Whatever it is, before the first list and for a caller of catch_up."""

    async def odd(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    async def scenario() -> None:
        async with feeding(
            [odd, pods(7), odd, pods(9)], [streams(line("ADDED", pod("a", 9)), 0.2)]
        ) as (feed, sink, _server):
            await sink.until("put a 9")
            await feed.wait_caught_up()

    run(scenario)


@given(
    st.lists(st.binary(max_size=5).map(lambda raw: raw.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_lines_come_out_as_they_went_in(parts: list[bytes], cuts: list[int]) -> None:
    """However the text is cut into chunks, the same lines come out (empty ones left out), and an
    unfinished one waits.
    """
    text = b"\n".join([*parts, b"rest"])
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    lines = LineSplitter()
    found = [found for a, b in itertools.pairwise(edges) for found in lines.split(text[a:b])]
    assert found == [part for part in parts if part]
    assert lines.split(b"\n") == [b"rest"]


def test_the_loop_is_never_held_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """While 5,000 pods are listed and as many events come in one burst, into a sink as slow as a
    real one, nobody waits for long.
    """

    def slow(sink: Sink, obj: Pod) -> None:
        until = time.perf_counter() + 50e-6
        while time.perf_counter() < until:
            pass
        if obj.metadata.name == "last":
            sink._tell("last")

    worst = float("inf")

    async def scenario() -> None:
        nonlocal worst
        worst = 0.0
        monkeypatch.setattr(Sink, "put", slow)
        items = [pod(f"p{n}", n) for n in range(reflector.PAGE_SIZE)]
        pages = [pods(7, *items, token="t") for _ in range(9)] + [pods(7, *items)]
        burst = b"".join(line("MODIFIED", pod(f"p{n}", 100 + n)) for n in range(5000)) + line(
            "ADDED", pod("last", 9000)
        )

        async def heartbeat() -> None:
            nonlocal worst
            while True:
                before = time.thread_time()
                await asyncio.sleep(0)
                worst = max(worst, time.thread_time() - before)

        async with feeding(pages, [streams(burst, 1.0)]) as (_, sink, _server):
            beating = asyncio.create_task(heartbeat())
            await sink.until("last")
            beating.cancel()

    # CPU time, as the machine may be busy with something else, which makes that longer, too: so the
    # best of three counts. The server shares this loop: a step of its own may come in between.
    for _ in range(3):
        if worst >= 0.012:
            run(scenario)
    assert worst < 0.012


def test_catch_up_returns_at_once_when_it_is_there() -> None:
    """The version read now is the one that the list had: nothing to wait for."""

    async def scenario() -> None:
        async with feeding([pods(7)], []) as (feed, sink, server):
            await sink.until("listed")
            await feed.wait_caught_up()
            assert server.queries(PATH, limit="1")

    run(scenario)


def test_catch_up_before_the_first_list_waits_for_that_alone() -> None:
    """It is newer than the call, whatever other writes have done to the version since."""

    async def scenario() -> None:
        early: list[asyncio.Task[None]] = []
        async with feeding([pods(7), pods(50)], [], early=early) as (_, sink, server):
            await asyncio.wait_for(early[0], 5)
            assert sink.told[:2] == ["list", "listed"]
            assert not server.queries(PATH, limit="1")

    run(scenario)


def test_catch_up_asks_for_a_bookmark_soon() -> None:
    """The watch is cut and opened anew from the last version, for three seconds, until a bookmark
    says that the version is reached.
    """

    async def scenario() -> None:
        silent, reached = asyncio.Event(), asyncio.Event()
        bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "50"}})
        watches = [streams(line("ADDED", pod("a", 8)), silent), streams(reached, bookmark, 0.05)]
        async with feeding([pods(7), pods(50)], watches) as (feed, sink, server):
            await sink.until("put a 8")
            waiting = asyncio.create_task(feed.wait_caught_up())
            await asyncio.sleep(0.05)
            assert not waiting.done()
            second = server.queries(PATH, watch="true")[1]
            assert (second["resourceVersion"], second["timeoutSeconds"]) == (
                "8",
                str(reflector.CATCH_UP_SECONDS),
            )
            reached.set()
            await waiting
            await asyncio.sleep(0.1)
            third = server.queries(PATH, watch="true")[2]
            assert third["resourceVersion"] == "50" and int(third["timeoutSeconds"]) >= 300
            assert sink.told == ["list", "listed", "put a 8"]
            silent.set()

    run(scenario)


def test_catch_up_is_served_by_an_event_too() -> None:
    """An object at or after the version is as good as a bookmark; one before it is not."""

    async def scenario() -> None:
        silent = asyncio.Event()
        watches = [
            streams(silent),
            streams(line("ADDED", pod("a", 49)), 0.05, line("ADDED", pod("b", 51)), 0.05),
        ]
        async with feeding([pods(7), pods(50)], watches) as (feed, sink, _server):
            await sink.until("listed")
            await asyncio.sleep(0.02)
            await feed.wait_caught_up()
            assert sink.told[-1] == "put b 51"
            silent.set()

    run(scenario)


def test_catch_up_lists_when_bookmarks_do_not_come() -> None:
    """Three short watches without progress: a list settles it, whatever the resource versions look
    like.
    """

    async def scenario() -> None:
        silent = asyncio.Event()
        watches = [streams(silent), *[streams(0.01)] * 3, streams(0.2)]
        lists = [
            pods(7),
            answers({"metadata": {"resourceVersion": "opaque"}, "items": []}),
            pods(60, pod("late", 40)),
        ]
        async with feeding(lists, watches) as (feed, sink, server):
            await sink.until("listed")
            await asyncio.sleep(0.02)
            await feed.wait_caught_up()
            assert sink.told == ["list", "listed", "list", "put late 40", "listed"]
            assert len(server.queries(PATH, timeoutSeconds="3")) == 3
            silent.set()

    run(scenario)


def test_catch_up_outlives_faults_and_serves_all_callers() -> None:
    """A fault while the version is read is tried again; two callers at once are both served."""

    async def scenario() -> None:
        silent = asyncio.Event()
        lists = [pods(7), status(503), pods(9)]
        async with feeding(lists, [streams(silent), streams(line("ADDED", pod("a", 9)), 0.1)]) as (
            feed,
            sink,
            _server,
        ):
            await sink.until("listed")
            await asyncio.sleep(0.02)
            await asyncio.gather(feed.wait_caught_up(), feed.wait_caught_up())
            assert "put a 9" in sink.told
            assert not feed._waiters
            silent.set()

    run(scenario)


def test_age_counts_from_the_last_word() -> None:
    """The age is the time since anything came, an opened stream included."""

    async def scenario() -> None:
        more = asyncio.Event()
        async with feeding([pods(7)], [streams(more, line("ADDED", pod("a", 8)), 0.2)]) as (
            feed,
            sink,
            _server,
        ):
            await sink.until("listed")
            await asyncio.sleep(0.05)
            feed._clock.jump(40)  # type: ignore[attr-defined]
            assert feed.age == 40
            more.set()
            await sink.until("put a 8")
            assert feed.age == 0

    run(scenario)


def test_a_page_that_is_no_list_is_a_fault() -> None:
    """A proxy's HTML is no reason to die: the list is asked for again."""

    async def scenario() -> None:
        async with feeding(
            [answers(b"<html>"), answers(json.dumps({"items": 3}).encode()), pods(7)], []
        ) as (feed, sink, _server):
            await sink.until("listed")
            assert sink.told == ["list", "list", "list", "listed"]
            assert len(feed._clock.slept) == 2  # type: ignore[attr-defined]

    run(scenario)


def test_what_is_too_deep_for_a_parser_is_read_without_its_depths() -> None:
    """In a page as in an event: one such object spoils no other, and its own name and node are
    known.
    """
    levels = 3000
    deep = b'{"a":' * levels + b"1" + b"}" * levels

    def odd(version: int) -> bytes:
        text = json.dumps(pod(f"odd{version}", version, spec={"nodeName": "n1"}))
        return text[:-1].encode() + b',"status":{"unknown":' + deep + b"}}"

    async def scenario() -> None:
        page = (
            b'{"metadata":{"resourceVersion":"7"},"items":['
            + odd(1)
            + b","
            + json.dumps(pod("a", 2)).encode()
            + b"]}"
        )
        event = b'{"type":"ADDED","object":' + odd(8) + b"}\n"
        async with feeding([answers(page)], [streams(event, line("ADDED", pod("c", 9)), 0.2)]) as (
            feed,
            sink,
            _server,
        ):
            await sink.until("put c 9")
            assert sink.told == ["list", "put odd1 1", "put a 2", "listed", "put odd8 8", "put c 9"]
            assert feed.lost == 0

    run(scenario)


def test_a_sink_that_fails_does_not_end_the_feed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, and all is listed anew."""
    put = Sink.put

    def failing(sink: Sink, obj: Pod) -> None:
        monkeypatch.setattr(Sink, "put", put)
        raise RecursionError("too deep")

    async def scenario() -> None:
        async with feeding(
            [pods(7, pod("a", 1)), pods(9, pod("a", 1), pod("b", 8))], [streams(0.2)]
        ) as (_feed, sink, _server):
            await sink.until("put b 8")
            assert sink.told == ["list", "list", "put a 1", "put b 8", "listed"]

    monkeypatch.setattr(Sink, "put", failing)
    run(scenario)
    assert any(record.exc_info for record in caplog.records)


def test_looking_beside_the_watch() -> None:
    """Pages of metadata and single objects, by the reflector's own selection; what cannot be read
    is named, what is no list is an error.
    """

    async def story() -> None:
        async with api_server() as server:
            session = await KubeSession.open(
                KubeSource(master=server.url), "moorage/0", EagerClock()
            )
            look = HttpUncachedReader(session, ListWatch("pods", PATH, Pod, "status.phase!=Failed"))
            server.then(
                "GET",
                PATH,
                pods(9, pod("a", 1), pod("b", 2), token="more"),
                pods(9),
                answers({"metadata": {}}),
            )
            page = await look.page("")
            assert [
                (one.namespace, one.name, one.uid, one.resource_version) for one in page.objects
            ] == [
                ("d", "a", "u-a", "1"),
                ("d", "b", "u-b", "2"),
            ]
            assert (page.version, page.token, (await look.page("more")).token) == (9, "more", "")
            assert (
                server.requests[0]
                .headers.getall("Accept")[0]
                .startswith("application/json;as=PartialObjectMetadataList")
            )
            assert server.queries(PATH)[1] == {
                "fieldSelector": "status.phase!=Failed",
                "limit": "500",
                "continue": "more",
            }
            one = "/api/v1/namespaces/d/pods"
            server.then(
                "GET",
                one,
                pods(10, pod("a", 3)),
                pods(11),
                pods(12, pod("a", 4, spec=[])),
                answers({}),
                status(404),
            )
            found = await look.read("d", "a")
            assert (found.version, found.object.metadata.resource_version) == (10, "3")  # type: ignore[union-attr]
            assert server.queries(one)[0] == {
                "fieldSelector": "metadata.name=a,status.phase!=Failed"
            }
            assert await look.read("d", "a") == (11, None)
            broken = (await look.read("d", "a")).object
            assert isinstance(broken, UnreadableObject) and broken.partial.metadata.name == "a"
            for _ in range(2):
                with pytest.raises(EdgeError):
                    await look.read("d", "a")
            with pytest.raises(EdgeError):
                await look.page("")
            await session.close()

    asyncio.run(story())
