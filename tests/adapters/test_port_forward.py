"""Ports of pods: what is carried, whom it is believed to come from, and what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.adapters.kube_session import KubeconfigError, KubeSession
from moorage.adapters.kube_session.port_forward import PortForward, forwarded
from moorage.adapters.system_clock import SystemClock
from moorage.apps.worlds.reaching import source_of
from moorage.ports.errors import Forbidden, Retryable
from moorage.ports.http_calls import HttpCall
from tests.adapters.api_server import Answer, api_server, forwards, status
from tests.adapters.serving import Serving, run
from tests.apps.worlds.test_from_cluster import kubeconfig
from tests.rig.certificates import Authority

PATH = "/api/v1/namespaces/home/pods/moorage-0/portforward"


@contextlib.asynccontextmanager
async def opened(
    folder: Path, answer: Answer, certificate: str
) -> AsyncIterator[tuple[KubeSession, PortForward]]:
    """A session through a port of the pod; and the port."""
    async with api_server() as server:
        server.then("GET", PATH, answer)
        source = source_of(kubeconfig(folder, server.url))
        api = await KubeSession.open(source, "test", SystemClock())
        try:
            async with forwarded(api, "home", "moorage-0", 10259) as forward:
                beside = await api.beside(f"https://127.0.0.1:{forward.port}", certificate)
                try:
                    yield beside, forward
                finally:
                    await beside.close()
        finally:
            await api.close()


def test_requests_go_through(tmp_path: Path) -> None:
    """As many as one likes, of any length; the certificate need not have the address."""

    async def scenario(served: Serving) -> None:
        answer = forwards(served.port)
        async with opened(tmp_path, answer, served.certificates.certificate) as (session, _):
            health = [session.call(HttpCall("GET", "/healthz", fresh=True)) for _ in range(3)]
            assert await asyncio.gather(*health) == [b"ok"] * 3

    run(scenario)


def test_names_stay_names(tmp_path: Path) -> None:
    """Whatever is in them, they are one part of the path each."""

    async def scenario() -> None:
        async with api_server() as server:
            source = source_of(kubeconfig(tmp_path, server.url))
            api = await KubeSession.open(source, "test", SystemClock())
            async with forwarded(api, "a/b", "../c?d#e%2f", 1) as forward:
                _, writer = await asyncio.open_connection("127.0.0.1", forward.port)
                while forward.failure is None:
                    await asyncio.sleep(0.01)
                writer.close()
            await api.close()
            (request,) = server.requests
            assert request.rel_url.raw_path == (
                "/api/v1/namespaces/a%2Fb/pods/..%2Fc%3Fd%23e%252f/portforward"
            )
            assert dict(request.query) == {"ports": "1"}

    asyncio.run(scenario())


def test_only_the_certificate_is_believed(tmp_path: Path) -> None:
    """Another one ends the handshake, and nothing that proves who asks is sent."""
    (tmp_path / "other").mkdir()
    other, _ = Authority(tmp_path / "other").server("it")

    async def scenario(served: Serving) -> None:
        answer = forwards(served.port)
        async with opened(tmp_path, answer, other.read_text()) as (session, _):
            with pytest.raises(Retryable, match="certificate verify failed"):
                await session.call(HttpCall("GET", "/debug/some"))
        assert not served.gate.asked

    run(scenario)


@pytest.mark.parametrize(
    ("answer", "failure", "text"),
    [
        (status(403), Forbidden, "403"),
        (forwards(0, "connection refused"), Retryable, "connection refused"),
    ],
    ids=["forbidden", "nobody listens"],
)
def test_what_goes_wrong(
    tmp_path: Path, answer: Answer, failure: type[Exception], text: str
) -> None:
    """The connection ends; why is kept."""

    async def scenario(served: Serving) -> None:
        certificate = served.certificates.certificate
        async with opened(tmp_path, answer, certificate) as (session, forward):
            with pytest.raises(Retryable):
                await session.call(HttpCall("GET", "/healthz"))
            assert isinstance(forward.failure, failure)
            assert text in str(forward.failure)

    run(scenario)


def test_a_certificate_of_an_authority_with_other_names(tmp_path: Path) -> None:
    """It is believed by itself: who made it and for whom does not matter."""
    certificate, key = Authority(tmp_path).server("it")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    async def scenario() -> None:
        source = source_of(kubeconfig(tmp_path, "http://127.0.0.1:1"))
        api = await KubeSession.open(source, "test", SystemClock())
        async with await asyncio.start_server(answer, "127.0.0.2", 0, ssl=context) as server:
            port = server.sockets[0].getsockname()[1]
            session = await api.beside(f"https://127.0.0.2:{port}", certificate.read_text())
            assert await session.call(HttpCall("GET", "/healthz")) == b"ok"
            await session.close()
        await api.close()

    asyncio.run(scenario())


def test_a_certificate_that_is_none(tmp_path: Path) -> None:
    """Is said."""

    async def scenario(served: Serving) -> None:
        with pytest.raises(KubeconfigError, match="its certificate cannot be used"):
            async with opened(tmp_path, forwards(0), "none"):
                pass

    run(scenario)
