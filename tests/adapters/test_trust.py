"""An API server whose authority is replaced, and client certificates that are."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from moorage.adapters.kube_session import CREDENTIALS_PERIOD_SECONDS, KubeSession, KubeSource
from moorage.ports.errors import Retryable
from moorage.ports.http_calls import HttpCall
from tests.fakes.clocks import ManualClock
from tests.rig.certificates import Authority

WHO = HttpCall("GET", "/who", timeout=5)


class Place:
    """A folder with the files that a kubelet or an administrator replaces, an API server, and a
    session to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.authority = self.authority_of("first")
        self.session: KubeSession
        self.port = 0

    def authority_of(self, name: str) -> Authority:
        """A new one."""
        (self.folder / name).mkdir()
        return Authority(self.folder / name)

    def believe(self, *authorities: Authority) -> None:
        """What the file says."""
        (self.folder / "ca.crt").write_bytes(
            b"".join(authority.file.read_bytes() for authority in authorities)
        )

    def be(self, user: str, authority: Authority) -> None:
        """Whose client certificate the files hold."""
        for made, file in zip(authority.client(user), ("client.crt", "client.key"), strict=True):
            (self.folder / file).write_bytes(made.read_bytes())

    @contextlib.asynccontextmanager
    async def served(
        self, authority: Authority, lifetime: timedelta = timedelta(days=1)
    ) -> AsyncIterator[None]:
        """An API server with a certificate of that authority, which says who asks; at the port that
        the first one had.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.server("apiserver", lifetime))
        context.load_verify_locations(self.authority.file)
        context.verify_mode = ssl.CERT_OPTIONAL

        async def who(request: web.BaseRequest) -> web.Response:
            await asyncio.sleep(0.3 if request.path == "/slow" else 0)
            certificate = request.get_extra_info("peercert") or {}
            return web.json_response(
                {name: value for part in certificate.get("subject", ()) for name, value in part}
            )

        runner = web.ServerRunner(web.Server(who), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=context)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield
        finally:
            await runner.cleanup()

    async def open(self) -> None:
        """The session."""
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": str(self.folder / "ca.crt"),
        }
        user = {
            "client-certificate": str(self.folder / "client.crt"),
            "client-key": str(self.folder / "client.key"),
        }
        kubeconfig = self.folder / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "x",
                    "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                    "clusters": [{"name": "x", "cluster": cluster}],
                    "users": [{"name": "x", "user": user}],
                }
            )
        )
        self.session = await KubeSession.open(KubeSource(str(kubeconfig)), "moorage/0", self.clock)

    async def who(self) -> str:
        """Who the API server says that we are, over a new connection."""
        return str(json.loads(await self.session.call(WHO)).get("commonName"))


def run(folder: Path, scenario: Callable[[Place], Awaitable[None]]) -> None:
    """With files, a session, and no server."""

    async def main() -> None:
        place = Place(folder)
        place.believe(place.authority)
        place.be("one", place.authority)
        async with place.served(place.authority):
            await place.open()
            assert await place.who() == "one"
        try:
            await scenario(place)
        finally:
            await place.session.close()

    asyncio.run(main())


def test_an_authority_that_rotates(tmp_path: Path) -> None:
    """As soon as the file has the new one it is believed: after one failure, not after a minute.
    Watches too.
    """

    async def scenario(place: Place) -> None:
        new = place.authority_of("new")
        async with place.served(new):
            with pytest.raises(Retryable, match="certificate verify failed"):
                await place.who()
            with pytest.raises(Retryable, match="certificate verify failed"):
                await anext(place.session.stream("/who"))
            place.believe(place.authority, new)
            assert await place.who() == "one"
            async with contextlib.aclosing(place.session.stream("/who")) as stream:
                assert await anext(stream) == b""
        async with place.served(place.authority):
            assert await place.who() == "one"

    run(tmp_path, scenario)


def test_an_authority_that_is_taken_away(tmp_path: Path) -> None:
    """Is not believed by any new connection, that of a watch or of a library to whom we lend a
    session either; idle ones end.
    """

    async def scenario(place: Place) -> None:
        new = place.authority_of("new")
        lent = place.session.new_client_session()
        async with place.served(place.authority):
            assert await place.who() == "one"
            assert len(place.session._connections._idle) == 1
            under_way = asyncio.create_task(place.session.call(HttpCall("GET", "/slow", timeout=5)))
            await asyncio.sleep(0)
            place.believe(new)
            place.clock.jump(CREDENTIALS_PERIOD_SECONDS)
            await place.session._refresh(5)
            assert not under_way.done()
            await under_way
            assert not place.session._connections._idle
            with pytest.raises(Retryable, match="certificate verify failed"):
                await place.who()
            with pytest.raises(Retryable, match="certificate verify failed"):
                await anext(place.session.stream("/who"))
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await lent.get(f"https://127.0.0.1:{place.port}/who")
        async with place.served(new):
            assert await place.who() == "one"
            async with lent.get(f"https://127.0.0.1:{place.port}/who") as response:
                assert (await response.json(content_type=None))["commonName"] == "one"

    run(tmp_path, scenario)


def test_a_stranger_stays_one(tmp_path: Path) -> None:
    """However often it is tried: an authority that no file names, a certificate that has
    expired.
    """

    async def scenario(place: Place) -> None:
        for authority, lifetime in (
            (place.authority_of("stranger"), timedelta(days=1)),
            (place.authority, timedelta(minutes=-1)),
        ):
            async with place.served(authority, lifetime):
                for _ in range(3):
                    with pytest.raises(Retryable, match="certificate verify failed"):
                        await place.who()
        for text in (b"", b"half a certificate"):
            (place.folder / "ca.crt").write_bytes(text)
            place.clock.jump(CREDENTIALS_PERIOD_SECONDS)
            async with place.served(place.authority):
                assert await place.who() == "one"

    run(tmp_path, scenario)


def test_a_client_certificate_that_is_replaced(tmp_path: Path) -> None:
    """Is shown within a minute; half a change waits for the other half."""

    async def scenario(place: Place) -> None:
        key = (place.folder / "client.key").read_bytes()
        place.be("two", place.authority)
        new_key = (place.folder / "client.key").read_bytes()
        (place.folder / "client.key").write_bytes(key)
        place.clock.jump(CREDENTIALS_PERIOD_SECONDS)
        async with place.served(place.authority):
            assert await place.who() == "one"
        (place.folder / "client.key").write_bytes(new_key)
        place.clock.jump(CREDENTIALS_PERIOD_SECONDS)
        async with place.served(place.authority):
            assert await place.who() == "two"

    run(tmp_path, scenario)
