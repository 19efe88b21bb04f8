"""The embedded cluster over TLS on loopback: who may ask, how much is read, and that nothing that
comes breaks it.
"""

import asyncio
import base64
import http.client
import json
import logging
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from towtank import node_shapes
from towtank.cluster import Cluster, ClusterSettings
from towtank.serving.frontend import MAX_BODY_BYTES
from towtank_tests.test_robustness import ACCEPTS, METHODS, NASTY, PATHS, TYPES

NODES = "/api/v1/nodes"


class Running:
    """A cluster on an event loop of its own thread."""

    def __init__(self, folder: Path) -> None:
        self._ready = threading.Event()
        self._folder = folder
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with Cluster(ClusterSettings(nodes=node_shapes.like_nodes(3, 1))) as cluster:
            self.port = int(cluster.server.rpartition(":")[2])
            self.mode = (
                cluster.kubeconfig.stat().st_mode & 0o777,
                cluster.kubeconfig.parent.stat().st_mode & 0o777,
            )
            self._write(yaml.safe_load(cluster.kubeconfig.read_text()))
            self._ready.set()
            await self._stop.wait()

    def _write(self, config: dict[str, Any]) -> None:
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        for name, text in {
            "ca": cluster["certificate-authority-data"],
            "client": user["client-certificate-data"],
            "key": user["client-key-data"],
        }.items():
            (self._folder / name).write_bytes(base64.b64decode(text))

    def start(self) -> None:
        """Until it listens."""
        self._thread.start()
        assert self._ready.wait(20)

    def stop(self) -> None:
        """Until it is gone."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def connect(self, *, certificate: bool = True) -> http.client.HTTPSConnection:
        """As the administrator, or as nobody."""
        context = ssl.create_default_context(cafile=str(self._folder / "ca"))
        if certificate:
            context.load_cert_chain(self._folder / "client", self._folder / "key")
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all tests here."""
    running = Running(tmp_path_factory.mktemp("web"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def admin(running: Running) -> Iterator[http.client.HTTPSConnection]:
    """A connection of the administrator's."""
    connection = running.connect()
    yield connection
    connection.close()


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Code and decoded body."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {
        "Content-Type": "application/json",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    connection.request(method, path, data, named)
    response = connection.getresponse()
    text = response.read()
    if "json" not in response.getheader("Content-Type", ""):
        return response.status, text
    return response.status, json.loads(text)


def test_the_kubeconfig_is_its_owners_alone(running: Running) -> None:
    """The file, and the folder that it is in."""
    assert running.mode == (0o600, 0o700)


def test_nobody_is_asked_to_say_who_they_are(running: Running) -> None:
    """401, but for what everybody may know."""
    with closing(running.connect(certificate=False)) as connection:
        code, status = ask(connection, "GET", NODES)
        assert (code, status["reason"]) == (401, "Unauthorized")
        assert ask(connection, "GET", "/readyz") == (200, b"ok")
        assert ask(connection, "GET", NODES, Authorization="Bearer nonsense")[0] == 401


def test_a_token_that_was_given_out_is_known(
    running: Running, admin: http.client.HTTPSConnection
) -> None:
    """It is its service account's."""
    base = "/api/v1/namespaces/default/serviceaccounts"
    assert ask(admin, "POST", base, {"metadata": {"name": "robot"}})[0] == 201
    code, request = ask(admin, "POST", f"{base}/robot/token", {"spec": {}})
    assert code == 201
    connection = running.connect(certificate=False)
    token = f"Bearer {request['status']['token']}"
    assert ask(connection, "GET", NODES, Authorization=token)[0] == 200
    _, review = ask(
        connection,
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {},
        Authorization=token,
    )
    assert review["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    connection.close()


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("excess", "code", "reason"), [(0, 422, "Invalid"), (1, 413, "RequestEntityTooLarge")]
)
def test_a_body_is_read_up_to_the_limit(
    running: Running, excess: int, code: int, reason: str, chunked: bool
) -> None:
    """413 as a Status, whether the length is said or not."""
    body = b" " * (MAX_BODY_BYTES - 2 + excess) + b"{}"
    how = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(len(body))}
    headers = {"Content-Type": "application/json", **how}
    with closing(running.connect()) as connection:
        connection.request("POST", NODES, iter([body]), headers, encode_chunked=chunked)
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["reason"]) == (code, reason)


def test_a_body_that_will_be_too_long_is_not_waited_for(running: Running) -> None:
    """It is enough to say so; the connection ends, for the body may come yet."""
    with closing(running.connect()) as connection:
        connection.putrequest("POST", NODES)
        connection.putheader("Content-Length", str(MAX_BODY_BYTES + 1))
        connection.endheaders()
        response = connection.getresponse()
        assert (response.status, response.getheader("Connection")) == (413, "close")


def test_unknown_fields_are_warned_of_in_headers(admin: http.client.HTTPSConnection) -> None:
    """As clients print them."""
    admin.request(
        "POST",
        f"{NODES}?dryRun=All",
        json.dumps({"metadata": {"name": "w"}, "fóo": 1}),
        {"Content-Type": "application/json"},
    )
    response = admin.getresponse()
    assert response.status == 201
    assert response.getheader("Warning") == '299 - "unknown field \\"f?o\\""'
    response.read()


def test_a_watch_is_streamed(admin: http.client.HTTPSConnection, running: Running) -> None:
    """In chunks, while others write; and it ends at its time."""
    admin.request(
        "GET", "/api/v1/namespaces?watch=1&timeoutSeconds=2&fieldSelector=metadata.name=watched"
    )
    response = admin.getresponse()
    assert response.getheader("Transfer-Encoding") == "chunked"
    other = running.connect()
    assert ask(other, "POST", "/api/v1/namespaces", {"metadata": {"name": "watched"}})[0] == 201
    assert json.loads(response.readline())["type"] == "ADDED"
    other.close()
    assert all(json.loads(line) for line in response.read().splitlines())


def test_a_watch_of_an_early_http_lasts_as_long_as_its_connection(running: Running) -> None:
    """It knows no chunks."""
    connection = running.connect()
    connection.connect()
    connection.sock.sendall(f"GET {NODES}?watch=true&timeoutSeconds=1 HTTP/1.0\r\n\r\n".encode())
    answer = b"".join(iter(lambda: connection.sock.recv(65536), b""))
    connection.close()
    head, _, lines = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 ") and b"chunked" not in head
    assert [json.loads(line)["type"] for line in lines.splitlines()] == ["ADDED"] * 3


def test_long_lines_are_read(admin: http.client.HTTPSConnection) -> None:
    """Selectors of many names are."""
    names = ",".join(f"name-{number}" for number in range(10_000))
    code, listed = ask(admin, "GET", f"{NODES}?labelSelector=app%20in%20({names})", X="x" * 100_000)
    assert (code, listed["items"]) == (200, [])


def test_what_is_no_http_is_refused(running: Running) -> None:
    """And the next one is served."""
    connection = running.connect()
    connection.connect()
    assert connection.sock
    connection.sock.sendall(b"NONSENSE\r\n\r\n")
    assert b"400" in connection.sock.recv(4096)
    connection.close()
    again = running.connect()
    assert ask(again, "GET", f"{NODES}/node-a1")[0] == 200
    again.close()


SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "namespaces",
        "pods",
        "status",
        "apps",
        "%00",
        "%ff",
        "%2f",
        "..",
        "",
        "é",
    ]
)
WHERE = st.lists(SEGMENTS, max_size=6).map(lambda parts: "/" + "/".join(parts)) | st.sampled_from(
    PATHS
)
QUERIES = st.sampled_from(
    [
        "",
        "watch=1&timeoutSeconds=1&resourceVersion=x",
        "fieldManager=%ff",
        "limit=%00",
        "&&=&",
        "dryRun=All",
        "labelSelector=%ff",
    ]
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from([*METHODS[:-1], "PROPFIND"]),
    st.builds(lambda path, query: f"{path}?{query}", WHERE, QUERIES),
    st.binary(max_size=60) | st.sampled_from(NASTY),
    st.sampled_from(TYPES),
    st.fixed_dictionaries(
        {},
        optional={
            "Accept": st.sampled_from(ACCEPTS),
            "User-Agent": st.sampled_from(["\xff\xfe/1", "kubectl/v1", "\xe9", ""]),
        },
    ),
)
def test_whatever_comes_is_answered(
    running: Running,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    body: bytes,
    content_type: str,
    headers: dict[str, str],
) -> None:
    """Never a fault of ours, and never silence."""
    connection = running.connect()
    caplog.clear()
    with caplog.at_level(logging.ERROR, "towtank"):
        connection.putrequest(method, quote(path, safe="/%?&=.", encoding="utf-8"))
        for name, value in {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            connection.putheader(name, value.encode("latin-1"))
        connection.endheaders(body)
        response = connection.getresponse()
        response.read()
    connection.close()
    assert not caplog.records
