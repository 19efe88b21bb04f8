"""What the kernel does with a request that it could not deliver when its sender ends, or the other
side is silent.

The network is cut by a socket filter that drops all that comes in, and mended by taking the filter
off: then the kernel of the sender delivers what it still has.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import select
import socket
import ssl
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from moorage.adapters.kube_session import connections
from moorage.adapters.kube_session.connections import (
    ConnectionFailed,
    ConnectionPool,
    RequestOptions,
)
from tests.adapters.late_proxy import BINDING, OK, delivered_late
from tests.rig.certificates import Authority

ATTACH, DETACH = 26, 27
RETRANSMITTED = 0.6
"""Seconds within which a kernel that has something to deliver tries again after a cut of
``CUT``.
"""
CUT = 0.3

loops = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


def cut(sock: socket.socket) -> None:
    """From now on nothing arrives."""
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    sock.setsockopt(socket.SOL_SOCKET, ATTACH, struct.pack("HL", 1, ctypes.addressof(drop_all)))


def mend(sock: socket.socket) -> None:
    """Now what is sent again arrives."""
    sock.setsockopt(socket.SOL_SOCKET, DETACH, 0)


def arrived(sock: socket.socket, seconds: float) -> bytes:
    """What arrives within that time."""
    sock.settimeout(seconds)
    try:
        return sock.recv(4096)
    except (TimeoutError, ConnectionError):
        return b""


@contextlib.contextmanager
def listener() -> Iterator[socket.socket]:
    """A server that the test plays."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        yield server


async def connected(server: socket.socket, pool: ConnectionPool) -> socket.socket:
    """One request was answered; the server's end of its connection."""
    first = asyncio.create_task(pool.request("GET", "/", None, "", RequestOptions(5)))
    sock, _ = await asyncio.to_thread(server.accept)
    await asyncio.to_thread(sock.recv, 4096)
    sock.sendall(OK)
    await first
    return sock


def opened(server: socket.socket, unacknowledged: float = 30.0) -> ConnectionPool:
    """Connections to it."""
    return ConnectionPool(f"http://127.0.0.1:{server.getsockname()[1]}", None, None, unacknowledged)


async def cut_off(
    server: socket.socket, pool: ConnectionPool, end: Callable[[], object]
) -> tuple[bytes, float]:
    """Send while the network is cut, then ``end``; gives what arrives once it is mended, and how
    long the sender waited.
    """
    with await connected(server, pool) as sock:
        cut(sock)
        began = time.monotonic()
        write = asyncio.create_task(
            pool.request("POST", "/binding", BINDING, "", RequestOptions(4))
        )
        await asyncio.sleep(CUT)
        end()
        with pytest.raises(ConnectionFailed) as failed:
            await write
        waited = time.monotonic() - began
        assert failed.value.sent
        mend(sock)
        return await asyncio.to_thread(arrived, sock, RETRANSMITTED), waited


@loops
def test_what_is_severed_never_arrives(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    """An aborted connection alone would leave its bytes to the kernel."""
    with listener() as server:

        async def scenario() -> None:
            pool = opened(server)
            late, waited = await cut_off(server, pool, pool.sever)
            assert (late, waited < 2) == (b"", True)

        run(scenario())


def _told(_: object) -> None:
    """Nothing to give back."""


@loops
def test_a_connection_that_has_just_opened_is_severed_too(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
) -> None:
    """Its first request is written before whoever opened it hears of that; and before, nothing of
    it is sent any more.
    """
    with listener() as server:

        async def scenario() -> None:
            pool, loop = opened(server), asyncio.get_running_loop()
            with pytest.raises(ConnectionFailed) as failed:
                await pool.request(
                    "POST",
                    "/binding",
                    b"",
                    "",
                    RequestOptions(2, guard=lambda: _told(loop.call_soon(pool.sever))),
                )
            assert failed.value.sent
            assert "given up" in str(failed.value)
            pool = opened(server)
            opening = asyncio.create_task(
                pool.request("POST", "/binding", b"", "", RequestOptions(2))
            )
            while not pool._all:
                await asyncio.sleep(0)
            pool.sever()
            with pytest.raises(ConnectionFailed, match="given up") as unsent:
                await opening
            assert not unsent.value.sent

        run(scenario())


@loops
def test_what_is_not_acknowledged_is_given_up(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
) -> None:
    """After the time that the next leader waits out, whatever the process does: it may be
    stopped.
    """
    with listener() as server:

        async def scenario() -> None:
            late, waited = await cut_off(server, opened(server, 1.0), lambda: None)
            assert late == b""
            assert 0.9 < waited < 2.5

        run(scenario())


def test_without_all_that_it_does_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: so the filter, and the kernel, do what these tests think."""
    monkeypatch.setattr(connections, "set_user_timeout", lambda *_: None)
    with listener() as server:

        async def scenario() -> None:
            pool = opened(server)
            late, _ = await cut_off(server, pool, pool.sever)
            assert BINDING in late

        asyncio.run(scenario())


@pytest.mark.parametrize(
    "heeds_resets", [True, False], ids=["proxy", "proxy that keeps what was reset"]
)
def test_a_proxy_that_delivers_late(heeds_resets: bool) -> None:
    """It drops what it holds when the connection was reset, as proxies do. What it keeps all the
    same arrives: docs/limits.md says so.

    tests/faults/late_bindings.py holds it back for half a minute.
    """
    assert asyncio.run(delivered_late(0.5, heeds_resets)) is not heeds_resets


PROGRAM = """
    import asyncio, os, sys
    from moorage.adapters.kube_session.connections import ConnectionPool, RequestOptions

    async def main():
        pool = ConnectionPool(sys.argv[1], None, None)
        await pool.request("GET", "/", None, "", RequestOptions(5))
        asyncio.get_running_loop().call_later(0.3, os._exit, 0)
        await pool.request("POST", "/binding", b"x" * 300, "", RequestOptions(5))

    asyncio.run(main())
"""


def test_what_a_process_had_under_way_dies_with_it() -> None:
    """Ended at once, as after a lost lease, by os._exit; SIGKILL is the same to a kernel."""
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with subprocess.Popen([sys.executable, "-c", textwrap.dedent(PROGRAM), url]) as child:
            sock, _ = server.accept()
            with sock:
                sock.recv(4096)
                cut(sock)
                sock.sendall(OK)
                assert child.wait(10) == 0
                mend(sock)
                assert BINDING not in arrived(sock, RETRANSMITTED)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, tuple[Path, Path]]:
    """A certificate authority and a server's certificate."""
    made = Authority(tmp_path_factory.mktemp("ca"))
    return made, made.server("server")


class TlsServer:
    """Takes one connection; ``pieces`` are what came in at a time on the wire."""

    def __init__(self, server: socket.socket, files: tuple[Path, Path]) -> None:
        self._server = server
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*files)
        self.pieces: list[bytes] = []
        self.sock: socket.socket | None = None

    def serve(self) -> None:
        """Shake hands, answer one request."""
        self.sock, _ = self._server.accept()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self._context.wrap_bio(incoming, outgoing, server_side=True)
        for step in (tls.do_handshake, lambda: tls.read(4096)):
            while True:
                try:
                    step()
                    break
                except ssl.SSLWantReadError:
                    self.sock.sendall(outgoing.read())
                    self.pieces.append(self.sock.recv(65536))
                    time.sleep(0.05)
                    incoming.write(self.pieces[-1])
        tls.write(OK)
        self.sock.sendall(outgoing.read())


@loops
@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "plain"])
def test_what_passed_the_fence_is_with_the_kernel(
    run: Callable[[Coroutine[Any, Any, Any]], Any],
    tls: bool,
    authority: tuple[Authority, tuple[Path, Path]],
) -> None:
    """Before anything else runs: a process that is stopped after that has nothing in its own
    buffers.
    """
    with listener() as server:

        async def scenario() -> None:
            if not tls:
                pool = opened(server)
                sock = await connected(server, pool)
            else:
                played = TlsServer(server, authority[1])
                serving = asyncio.create_task(asyncio.to_thread(played.serve))
                context = ssl.create_default_context(cafile=str(authority[0].file))
                pool = ConnectionPool(f"https://127.0.0.1:{server.getsockname()[1]}", context, None)
                await pool.request("GET", "/", None, "", RequestOptions(5))
                await serving
                assert played.sock is not None
                sock = played.sock
            connection = pool._take()
            assert connection is not None
            answer = connection.send(BINDING)
            assert select.select([sock], [], [], 0)[0]
            answer.cancel()
            connection.close()
            sock.close()

        run(scenario())


def test_a_first_request_goes_out_with_the_end_of_the_handshake(
    authority: tuple[Authority, tuple[Path, Path]],
) -> None:
    """One way less over a slow network: what leaves an API server little time between two resets is
    enough for the lease.
    """
    with listener() as server:

        async def scenario() -> None:
            played = TlsServer(server, authority[1])
            serving = asyncio.create_task(asyncio.to_thread(played.serve))
            context = ssl.create_default_context(cafile=str(authority[0].file))
            pool = ConnectionPool(f"https://127.0.0.1:{server.getsockname()[1]}", context, None)
            await pool.request("GET", "/", None, "", RequestOptions(5))
            await serving
            assert len(played.pieces) == 2
            assert played.sock is not None
            played.sock.close()
            pool.close()

        asyncio.run(scenario())
