"""Health for everybody, the rest for those who may; and what anybody may send."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import ssl
import time
import warnings
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.adapters import https_server
from moorage.adapters.https_server import (
    HttpsServer,
    ListenAddress,
    ServerTrust,
    answering,
    connections,
)
from moorage.adapters.https_server.connections import ServerConnection, gives_way
from moorage.adapters.system_clock import SystemClock
from moorage.ports.errors import Retryable
from moorage.ports.requesters import Caller, Denied
from tests.adapters.serving import LOOPS, Serving, run, stranger
from tests.rig.certificates import Authority

both_loops = pytest.mark.parametrize("loop", LOOPS)


# ---- what is answered ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "wrong", "status", "text"),
    [
        ("/readyz", {}, 200, "ok"),
        ("/livez", {"feeds": "pods are not listed"}, 200, "ok"),
        ("/healthz?verbose", {}, 200, "[+]loop ok\n[+]feeds ok\nhealthz check passed\n"),
        (
            "/readyz",
            {"feeds": "pods are not listed"},
            500,
            "[+]loop ok\n[-]feeds failed: pods are not listed\nreadyz check failed\n",
        ),
        ("/readyz?exclude=feeds", {"feeds": "x"}, 200, "ok"),
        (
            "/readyz?exclude=feeds&exclude=loop&verbose",
            {"feeds": "x"},
            200,
            "readyz check passed\n",
        ),
        ("/readyz/loop", {"feeds": "x"}, 200, "ok"),
        ("/readyz/feeds", {"feeds": "x"}, 500, "[-]feeds failed: x\nreadyz check failed\n"),
        ("/readyz/unknown", {}, 404, "there is no such check\n"),
    ],
)
@both_loops
def test_health_is_open(
    path: str, wrong: dict[str, str], status: int, text: str, loop: str
) -> None:
    """In the forms of kube-scheduler; nobody is asked who asks, whatever he shows."""

    async def scenario(served: Serving) -> None:
        served.wrong |= wrong
        served.gate.broken = AssertionError("asked")
        assert await served.ask(path) == (status, text)
        assert await served.ask(path, "Authorization: Bearer bad") == (status, text)
        assert served.gate.asked == []

    run(scenario, loop)


def test_a_failed_check_is_logged_as_one_cause(caplog: pytest.LogCaptureFixture) -> None:
    """However often it is asked for; nobody fills the log by asking for some of the checks."""

    async def scenario(served: Serving) -> None:
        served.wrong["feeds"] = "nothing heard for 160 s"
        await served.ask("/readyz")
        served.wrong["feeds"] = "nothing heard for 165 s"
        for path in ("/readyz", "/readyz/feeds", "/readyz?exclude=loop"):
            await served.ask(path)

    run(scenario)
    assert [(record.cause, record.getMessage()) for record in caplog.records] == [  # type: ignore[attr-defined]
        ("readyz feeds", f"readyz failed: feeds: nothing heard for {seconds} s")
        for seconds in (160, 165)
    ]


PAGES = {
    "/metrics": b"metric 1\n",
    "/configz": b'{"componentconfig": {"kind": "OperatorConfiguration"}}',
    "/debug/none": b"[]\n",
    "/debug/some": (
        b'[{"i": 0, "text": "\xc3\xbc"},\n{"i": 1, "text": "\xc3\xbc"},\n{"i": 2, "text": '
        b'"\xc3\xbc"}]\n'
    ),
}


@pytest.mark.parametrize("path", PAGES)
@both_loops
def test_the_rest_is_for_those_who_may(path: str, loop: str) -> None:
    """The gatekeeper is asked for exactly what is asked of us; while he cannot say, nobody may."""

    async def scenario(served: Serving) -> None:
        assert await served.ask(path) == (401, "who are you\n")
        assert await served.ask(path, "Authorization: Bearer bad") == (401, "who are you\n")
        assert await served.ask(path, "Authorization: Basic good") == (401, "who are you\n")
        assert served.gate.asked == [
            ("", None, f"get {path}"),
            ("bad", None, f"get {path}"),
            ("", None, f"get {path}"),
        ]
        assert await served.good(path) == (200, PAGES[path].decode())
        assert await served.ask(path, "Authorization: Bearer good", method="HEAD") == (200, "")
        assert served.gate.asked[-1] == ("good", None, f"head {path}")
        served.gate.broken = Denied(503, "who knows")
        assert await served.good(path) == (503, "who knows\n")
        assert await served.ask("/livez") == (200, "ok")

    run(scenario, loop)


@both_loops
def test_an_explanation_is_for_those_who_may_see_what_it_tells(loop: str) -> None:
    """The pod, and all nodes; a pod that is not there is told to no one else."""

    async def scenario(served: Serving) -> None:
        path = "/explain?pod=shop/web"
        assert await served.ask(path) == (401, "who are you\n")
        rights = "get pods in namespace shop and list nodes"
        assert served.gate.asked == [("", None, rights)]
        assert await served.good(path) == (200, '{"pod": "shop/web"}')
        assert await served.good("/explain?podgroup=shop/none") == (
            404,
            "there is no podgroup shop/none\n",
        )
        assert await served.good("/explain?pod=shop/none") == (404, "there is no pod shop/none\n")
        for wrong in ("", "?pod=web", "?pod=/web", "?pod=shop/"):
            assert (await served.good(f"/explain{wrong}"))[0] == 400

    run(scenario, loop)


@both_loops
def test_the_page_is_for_those_who_may_see_all_pods(loop: str) -> None:
    """But for one pod's, which tells of this and of all nodes."""

    async def scenario(served: Serving) -> None:
        for path, shown, where in (
            ("/ui", "", ""),
            ("/ui/", "", ""),
            ("/ui/nodes?by=cpu", "nodes", ""),
            ("/ui/events", "events", ""),
            ("/ui/api/pod?name=shop/web", "api/podshop/web", " in namespace shop"),
        ):
            served.gate.asked.clear()
            assert await served.ask(path) == (401, "who are you\n")
            assert served.gate.asked == [("", None, f"get pods{where} and list nodes")]
            assert await served.good(path) == (200, f"page {shown}\n")
        assert (await served.good("/ui/api/pod?name=web"))[0] == 400
        assert (await served.good("/uix"))[0] == 404

    run(scenario, loop)


@pytest.mark.parametrize(
    ("document", "kinds"),
    [
        ("status", ("schedulerprofiles",)),
        ("trial", ("schedulerprofiles",)),
        ("history", ("schedulerprofiles", "pluginconfigs")),
        ("diff", ("schedulerprofiles", "pluginconfigs")),
        ("pod?name=shop/web&profile=batch", ("schedulerprofiles",)),
        ("queue", ()),
    ],
)
def test_what_tells_of_profiles_is_for_those_who_may_see_them(
    document: str, kinds: tuple[str, ...]
) -> None:
    """Beside pods and nodes."""

    async def scenario(served: Serving) -> None:
        assert (await served.good(f"/ui/api/{document}"))[0] == 200
        more = [f"list {kind}.moorage.dev" for kind in kinds]
        pods = "get pods in namespace shop" if document.startswith("pod") else "get pods"
        want = " and ".join([pods, "list nodes", *more])
        assert [rights for _, _, rights in served.gate.asked] == [want]

    run(scenario)


@pytest.mark.parametrize("path", ["/explain?pod=", "/ui/api/pod?name="])
@pytest.mark.parametrize(
    "again",
    ["{0}=kube-system/dns", "{0}=shop%2Fweb", "%{1:02x}{2}=kube-system%2Fdns", "{0}=", "{0}"],
)
def test_a_parameter_that_is_repeated(path: str, again: str) -> None:
    """It is refused before anybody is asked: one might be judged, and the other answered."""
    name = path.partition("?")[2][:-1]
    more = again.format(name, ord(name[0]), name[1:])

    async def scenario(served: Serving) -> None:
        for query in (f"{path}shop/web&{more}", f"{path.partition('?')[0]}?{more}&{name}=shop/web"):
            status, text = await served.good(query)
            assert (query, status) == (query, 400)
            assert "shop" not in text
        assert served.gate.asked == []

    run(scenario)


def test_what_there_is_not() -> None:
    """404 and 405, without anybody being asked."""

    async def scenario(served: Serving) -> None:
        for path in (
            "/",
            "/debug",
            "/debug/",
            "/metrics/",
            "/metrics/x",
            "//metrics",
            "/%2e%2e/metrics",
        ):
            assert (await served.good(path))[0] == 404, path
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            assert (await served.ask("/metrics", "Authorization: Bearer good", method=method))[
                0
            ] == 405
            assert (await served.ask("/livez", method=method))[0] == 405
        assert served.gate.asked == []

    run(scenario)


def test_what_fails_inside(caplog: pytest.LogCaptureFixture) -> None:
    """Known trouble is told to the caller; a bug is logged with its place, as one cause; a part is
    never taken for the whole.
    """

    async def scenario(served: Serving) -> None:
        assert await served.good("/debug/down") == (503, "nobody answers\n")
        assert caplog.records == []
        found = await served.raw(
            b"GET /debug/breaks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n"
        )
        assert b" 200 " in found
        assert not found.endswith(b"0\r\n\r\n")
        served.gate.broken = ZeroDivisionError("bug")
        assert await served.good("/metrics") == (500, "Internal Server Error\n")
        assert await served.good("/metrics") == (500, "Internal Server Error\n")

    run(scenario)
    assert len({record.cause for record in caplog.records}) == 2  # type: ignore[attr-defined]


def test_a_taken_port_is_an_error() -> None:
    """The caller is told; stopping what never started is fine."""

    async def scenario(served: Serving) -> None:
        other = HttpsServer(
            served.answering(answering.HttpEndpoints({}, {}, {}, bytes, dict)),
            ListenAddress("127.0.0.1", served.port),
            _trust(served),
            SystemClock(),
            print,
        )
        with pytest.raises(OSError, match="in use"):
            await other.start()
        await other.stop()

    run(scenario)


def test_all_addresses_of_a_name() -> None:
    """And both families where that is asked for."""

    async def scenario(served: Serving) -> None:
        for address in ("localhost", "::", "0.0.0.0"):
            server = HttpsServer(
                served.answering(answering.HttpEndpoints({}, {}, {}, bytes, dict)),
                ListenAddress(address, 0),
                _trust(served),
                SystemClock(),
                print,
            )
            served.port = await server.start()
            assert (await served.ask("/livez"))[0] == 200, address
            await server.stop()

    run(scenario)


def _trust(served: Serving) -> ServerTrust:
    return ServerTrust(served.certificates, served.gate.client_authorities)


# ---- what anybody may send -----------------------------------------------------------------------

MALFORMED = (
    b"GET /\x00\x1b[31m\r\n" + bytes(range(256)) + b" HTTP/1.1\r\n\r\n",
    b"\r\n\r\n\x00",
    b"nonsense\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /livez HTTP/1.1\r\n\r\n",  # without a Host
    b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /livez HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)


@pytest.mark.parametrize("request_bytes", MALFORMED)
@both_loops
def test_what_is_no_http(request_bytes: bytes, loop: str, caplog: pytest.LogCaptureFixture) -> None:
    """400, counted, one cause in the log with nothing of what was sent; never a traceback."""

    async def scenario(served: Serving) -> None:
        for _ in range(3):
            assert b" 400 Bad Request" in await served.raw(request_bytes)
        assert served.refused == {"malformed": 3}
        assert await served.ask("/livez") == (200, "ok")

    run(scenario, loop)
    assert {(record.cause, record.getMessage(), record.exc_info) for record in caplog.records} == {  # type: ignore[attr-defined]
        ("connection malformed", "a connection was ended: what it sent is no HTTP", None)
    }


@pytest.mark.parametrize(
    "host", [b"a b[[[:99999999", b"\xff\xfe", b"[", b"", b"x" * 8000], ids=repr
)
@pytest.mark.parametrize("path", [b"/metrics", b"/debug/some", b"/livez", b"/none"])
def test_the_host_does_not_matter(host: bytes, path: bytes) -> None:
    """It is not looked at."""

    async def scenario(served: Serving) -> None:
        request = b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        status = int((await served.raw(request)).split()[1])
        assert status in ({b"/livez": 200, b"/none": 404}.get(path, 401), 400)

    run(scenario)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [*MALFORMED, b"GET ", b"/livez", b" HTTP/1.1\r\n", b"Host: x\r\n", b"\r\n"]
            ),
        )
    )
)
def test_nothing_that_is_sent_is_our_fault(pieces: list[bytes]) -> None:
    """Whatever the bytes are: no 5xx, and the next one is served."""

    async def scenario(served: Serving) -> None:
        reader, writer = await served.connect()
        writer.writelines([*pieces, b"\r\n\r\n"])
        writer.write_eof() if writer.can_write_eof() else writer.transport.close()
        with contextlib.suppress(ConnectionError):
            assert b"HTTP/1.1 5" not in await asyncio.wait_for(reader.read(), 5)
        assert await served.ask("/livez") == (200, "ok")

    run(scenario)


def test_plain_http_is_told_so() -> None:
    """As a Go server tells it."""

    async def scenario(served: Serving) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.read()).endswith(b"Client sent an HTTP request to an HTTPS server.\n")
        writer.close()
        assert served.refused == {"plain": 1}

    run(scenario)


@both_loops
def test_old_tls_is_refused(loop: str) -> None:
    """1.1 by nobody; 1.2 is spoken."""

    async def scenario(served: Serving) -> None:
        client = stranger()
        client.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client.minimum_version = client.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await served.connect(client)
        assert served.refused == {"handshake": 1}
        client.maximum_version = client.minimum_version = ssl.TLSVersion.TLSv1_2
        assert await served.ask("/livez", client=client) == (200, "ok")

    run(scenario, loop)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"x" * 40_000,
        b"GET /livez HTTP/1.1\r\nA: " + b"x" * 40_000,
        b"GET /livez HTTP/1.1\r\n" + b"".join(b"A%d: x\r\n" % i for i in range(4000)),
        b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 70_000,
        b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 3000,
    ],
    ids=["path", "header", "headers", "body", "pipeline"],
)
@both_loops
def test_requests_are_bounded(request_bytes: bytes, loop: str) -> None:
    """Of what is longer nothing is kept."""

    async def scenario(served: Serving) -> None:
        await served.raw(request_bytes)
        assert served.refused["long"] + served.refused["malformed"] == 1
        assert await served.ask("/livez") == (200, "ok")
        assert len(served.server._connections) <= 1

    run(scenario, loop)


# ---- how many, how long --------------------------------------------------------------------------


def _files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _opened(port: int, sent: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    made.sendall(sent)
    return made


@pytest.mark.parametrize(
    "sent",
    [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"],
    ids=["nothing", "a byte", "half a hello"],
)
@both_loops
def test_half_open_connections_give_way(
    sent: bytes, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any number of them: health is answered at once, and those that are held are bounded; in time
    all of them are gone.
    """
    monkeypatch.setattr(https_server, "MAX_CONNECTIONS", 20)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)

    async def scenario(served: Serving) -> None:
        files = _files()
        sockets = [await asyncio.to_thread(_opened, served.port, sent) for _ in range(100)]
        assert await served.ask("/livez") == (200, "ok")
        assert len(served.server._connections) <= 20
        assert served.refused["crowded"] >= 80
        await asyncio.sleep(0.7)
        assert not served.server._connections
        assert sum(served.refused.values()) == 100
        for each in sockets:
            each.close()
        await asyncio.sleep(0.1)
        assert _files() <= files + 5  # uvloop opens some of its own

    run(scenario, loop)


@both_loops
def test_half_requests_end_in_time(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that go on, a byte at a time; a connection that rests between requests ends
    later.
    """
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)
    monkeypatch.setattr(connections, "IDLE_SECONDS", 1.0)

    async def scenario(served: Serving) -> None:
        reader, writer = await served.connect()
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\nok")
        dribbling_reader, dribbling = await served.connect()
        dribbling.write(b"GET /livez HTTP/1.1\r\nA: ")
        began = time.monotonic()
        ended = asyncio.create_task(dribbling_reader.read())
        while not ended.done():
            dribbling.write(b"x")
            await asyncio.wait({ended}, timeout=0.05)
        with contextlib.suppress(ConnectionError):
            assert await ended == b""
        assert 0.3 < time.monotonic() - began < 0.9
        assert served.refused == {"late": 1}
        assert not reader.at_eof()
        assert await asyncio.wait_for(reader.read(), 2) == b""
        assert served.refused == {"late": 1}
        writer.close()
        dribbling.close()

    run(scenario, loop)


@both_loops
def test_slow_readers_cost_nobody_anything(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is made than fits a bounded buffer; others are answered meanwhile; when the time is
    up it is over.
    """
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)

    async def scenario(served: Serving) -> None:
        _, writer = await served.connect()
        Serving.reads(writer, False)
        writer.write(
            b"GET /debug/endless HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n"
        )
        await asyncio.sleep(0.5)
        pulled = served.pulled
        assert pulled < 10_000  # 20 MB: kernels keep some
        assert await served.good("/metrics") == (200, "metric 1\n")
        await asyncio.sleep(0.2)
        assert served.pulled == pulled
        await asyncio.sleep(0.5)
        assert served.refused == {"late": 1}
        assert not served.server._answering.admitted
        writer.close()

    run(scenario, loop)


def test_health_that_is_not_read_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that asks on and on without reading is one of no use."""
    monkeypatch.setattr(https_server, "MAX_CONNECTIONS", 10)

    async def scenario(served: Serving) -> None:
        writers = []
        for _ in range(30):
            _, writer = await served.connect()
            Serving.reads(writer, False)
            for _ in range(20):
                writer.write(b"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
                await asyncio.sleep(0)
            writers.append(writer)
        assert await served.ask("/livez") == (200, "ok")
        assert len(served.server._connections) <= 10
        for writer in writers:
            writer.transport.abort()

    run(scenario)


def test_who_was_admitted_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of connections does not end a scrape; too many requests at a time are told to come
    again.
    """
    monkeypatch.setattr(https_server, "MAX_CONNECTIONS", 12)
    monkeypatch.setattr(answering, "MAX_ADMITTED", 4)

    async def scenario(served: Serving) -> None:
        scrapes = []
        for _ in range(4):
            reader, writer = await served.connect()
            Serving.reads(writer, False)
            writer.write(
                b"GET /debug/endless HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n"
            )
            scrapes.append((reader, writer))
        await asyncio.sleep(0.3)
        assert (await served.good("/metrics"))[0] == 429
        flood = [await asyncio.to_thread(_opened, served.port, b"") for _ in range(60)]
        assert await served.ask("/livez") == (200, "ok")
        assert len(served.server._answering.admitted) == 4
        for reader, writer in scrapes:
            Serving.reads(writer, True)
            assert b" 200 " in await reader.readline()
            writer.transport.abort()
        for each in flood:
            each.close()

    run(scenario)


def test_who_waits_for_the_gatekeeper_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers with tokens cannot take up the places while the API server is slow."""
    monkeypatch.setattr(https_server, "MAX_CONNECTIONS", 10)

    async def scenario(served: Serving) -> None:
        served.gate.held.clear()
        asking = [asyncio.create_task(served.good("/metrics")) for _ in range(40)]
        await asyncio.sleep(0.5)
        assert await served.ask("/livez") == (200, "ok")
        served.gate.held.set()
        statuses = await asyncio.gather(*asking)
        assert {status for status, _ in statuses} == {0, 200}

    run(scenario)


@pytest.mark.parametrize(
    ("idle", "spared", "want"),
    [
        ((), (), None),
        ((False, False), (), 0),
        ((False, True, True), (), 1),
        ((True, False), (0,), 1),
        ((False, False), (0, 1), None),
    ],
)
def test_who_gives_way(idle: Sequence[bool], spared: Sequence[int], want: int | None) -> None:
    """One that waits for its next request comes before one that has done nothing for longer."""

    async def scenario(_: Serving) -> None:
        async def answer(request: web.BaseRequest) -> web.StreamResponse:
            raise AssertionError(request)

        made = []
        for one in idle:
            made.append(ServerConnection(web.Server(answer), None, print, lambda _: None))
            made[-1].idle = one
        found = gives_way(made, [made[i] for i in spared])
        assert found is (None if want is None else made[want])
        for each in made:
            each.end()

    run(scenario)


def test_its_end_leaves_nothing() -> None:
    """No task, no file; requests under way have a moment."""

    async def scenario(served: Serving) -> None:
        files, tasks = _files(), asyncio.all_tasks()
        other = Serving()
        other.port = await other.server.start()
        running = asyncio.create_task(other.server.run())
        idle = await asyncio.to_thread(_opened, other.port, b"")
        other.gate.held.clear()
        asking = asyncio.create_task(other.good("/metrics"))
        await asyncio.sleep(0.2)
        stopping = asyncio.create_task(other.server.stop())
        await asyncio.sleep(0.1)
        other.gate.held.set()
        assert await asking == (200, "metric 1\n")
        await stopping
        running.cancel()
        idle.close()
        await asyncio.sleep(0.1)
        assert asyncio.all_tasks() == tasks
        assert _files() == files

    run(scenario)


# ---- certificates of clients ---------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom the cluster believes."""
    return Authority(tmp_path)


async def refreshed(served: Serving, authorities: str = "") -> None:
    """Let the server learn of other authorities and certificates, as it does by itself."""
    served.gate.authorities = authorities
    running = asyncio.create_task(served.server.run())
    await asyncio.sleep(0.05)
    running.cancel()


@both_loops
def test_a_client_certificate_says_who_asks(loop: str, authority: Authority) -> None:
    """The common name is the user, organisations are groups; tokens go on to count."""
    admin = stranger(*authority.client("admin", ["system:masters", "b"]))
    nobody = stranger(*authority.client("nobody"))

    async def scenario(served: Serving) -> None:
        assert (await served.ask("/metrics", client=admin))[0] == 401  # nobody is believed yet
        await refreshed(served, authority.file.read_text())
        assert (await served.ask("/metrics", client=admin))[0] == 200
        assert served.gate.asked[-1] == (
            "",
            Caller("admin", ("system:masters", "b", "system:authenticated")),
            "get /metrics",
        )
        assert (await served.ask("/metrics", client=nobody))[0] == 403
        assert (await served.good("/metrics"))[0] == 200

    run(scenario, loop)


@both_loops
def test_certificates_that_do_not_count(loop: str, authority: Authority, tmp_path: Path) -> None:
    """Another authority's, an expired one, a server's: TLS is not agreed on, and that is
    counted.
    """
    (tmp_path / "other").mkdir()
    wrong = (
        Authority(tmp_path / "other").client("admin", ["system:masters"]),
        authority.client("late", ["system:masters"], timedelta(minutes=-5)),
        authority.server("server"),
    )

    async def scenario(served: Serving) -> None:
        await refreshed(served, authority.file.read_text())
        for certificate in wrong:
            with contextlib.suppress(OSError):
                assert (await served.ask("/metrics", client=stranger(*certificate)))[0] == 0
        assert served.gate.asked == []
        assert served.refused == {"handshake": 3}
        assert await served.ask("/livez") == (200, "ok")

    run(scenario, loop)


def test_a_certificate_that_expires_on_a_connection(authority: Authority) -> None:
    """Each request is judged by its own time."""
    # whole seconds count: it may be good for 2
    short = stranger(*authority.client("short", [], timedelta(seconds=3)))

    async def scenario(served: Serving) -> None:
        await refreshed(served, authority.file.read_text())
        reader, writer = await served.connect(short)
        statuses = []
        for seconds in (0, 3.1):
            await asyncio.sleep(seconds)
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readline()
            statuses.append(int(head.split()[1]))
        assert statuses == [200, 401]
        writer.close()

    run(scenario)


@both_loops
def test_authorities_that_change(loop: str, authority: Authority, tmp_path: Path) -> None:
    """A rotation: first both count, then the new one alone; connections that rest are ended, so
    that none lives on with the old one.
    """
    (tmp_path / "new").mkdir()
    successor = Authority(tmp_path / "new")
    old, new = stranger(*authority.client("old")), stranger(*successor.client("new"))
    first, second = authority.file.read_text(), successor.file.read_text()

    async def scenario(served: Serving) -> None:
        await refreshed(served, first)
        assert (await served.ask("/metrics", client=old))[0] == 200
        await refreshed(served, first + second)
        for client in (old, new):
            assert (await served.ask("/metrics", client=client))[0] == 200
        reader, writer = await served.connect(old)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"metric 1\n")
        await refreshed(served, second)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        assert (await served.ask("/metrics", client=new))[0] == 200
        with contextlib.suppress(OSError):
            assert (await served.ask("/metrics", client=old))[0] == 0
        served.gate.broken = Retryable("down")
        await refreshed(served, "")
        served.gate.broken = None
        assert (await served.ask("/metrics", client=new))[0] == 200  # an outage changes nothing

    run(scenario, loop)


@pytest.mark.parametrize("agreed", [False, True], ids=["tcp", "tls"])
@both_loops
def test_a_first_request_outlives_a_change(loop: str, agreed: bool, authority: Authority) -> None:
    """However far its connection was when the first authorities came, it is answered, and ends."""

    async def scenario(served: Serving) -> None:
        tls = stranger()
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=tls if agreed else None
        )
        await asyncio.sleep(0.1)
        await refreshed(served, authority.file.read_text())
        if not agreed:
            await writer.start_tls(tls)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        found = await asyncio.wait_for(reader.read(), 2)
        assert found.startswith(b"HTTP/1.1 200 ")
        assert served.refused == {}
        writer.close()

    run(scenario, loop)


@both_loops
def test_a_resting_connection_outlives_a_renewed_certificate(loop: str) -> None:
    """It ends with its next answer, so that no request is lost that was on its way."""

    async def scenario(served: Serving) -> None:
        reader, writer = await served.connect()
        for ends in (False, True):
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\nok")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert (b"connection: close" in head.lower()) is ends
            before = served.certificates.context
            served.shown.renew()
            await refreshed(served)
            assert served.certificates.context is not before
        assert await asyncio.wait_for(reader.read(), 2) == b""
        writer.close()

    run(scenario, loop)


def test_a_request_under_way_outlives_a_change(authority: Authority) -> None:
    """And its connection ends after it."""

    async def scenario(served: Serving) -> None:
        served.gate.held.clear()
        reader, writer = await served.connect()
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n")
        await asyncio.sleep(0.1)
        await refreshed(served, authority.file.read_text())
        served.gate.held.set()
        found = await asyncio.wait_for(reader.read(), 2)
        assert found.endswith(b"metric 1\n")
        writer.close()

    run(scenario)


def test_a_server_that_stopped_by_a_fault_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """``run`` ends, and with it the process; what may happen to one connection is none."""

    async def scenario(served: Serving) -> None:
        (task,) = served.server._listening.values()
        task.cancel()
        await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await served.server.run()

    with caplog.at_level(logging.WARNING):
        run(scenario)


def test_metrics_are_one_page() -> None:
    """Large ones too."""

    async def scenario(served: Serving) -> None:
        served.metrics = b"x" * 2_000_000
        assert (await served.good("/metrics"))[1] == "x" * 2_000_000
        assert json.loads((await served.good("/configz"))[1])["componentconfig"]

    run(scenario)
