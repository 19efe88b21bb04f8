"""The certificate of admission: when it is made anew, who vouches for it, how replicas get it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
import logging
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from cryptography import x509

from moorage.adapters.admission_certificates import (
    AUTHORITY_LIFETIME,
    LIFETIME,
    LOOK_SECONDS,
    SPREAD,
    SecretCertificate,
    SecretStore,
    authorities,
    renewed,
    with_authority,
)
from moorage.adapters.certificate_making import Period, Subject, made
from moorage.adapters.https_server import HttpsServer, ListenAddress, ReviewHandler, ServerTrust
from moorage.adapters.serving_certificates import SelfSignedCertificate, ServingCertificates
from moorage.ports.errors import Conflict, Fenced, NotFound, Retryable
from moorage.ports.http_calls import HttpCall
from moorage.ports.leadership import Fence
from tests.fakes.clocks import ManualClock

HOSTS = ("moorage-admission.moorage-system.svc",)
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
MINUTE = datetime.timedelta(minutes=1)
PATH = "/api/v1/namespaces/moorage-system/secrets/moorage-admission-tls"

Data = Mapping[str, bytes]


def due(data: Data, now: datetime.datetime) -> dict[str, bytes]:
    """The data once more, which something was due of."""
    found = renewed(data, HOSTS, now)
    assert found is not None
    return found


def shown(data: Data) -> x509.Certificate:
    """What servers show."""
    return x509.load_pem_x509_certificate(data["tls.crt"])


# ---- when it is made anew ------------------------------------------------------------------------


def test_two_thirds_of_its_life() -> None:
    """Not a moment earlier; from the first certificate to the last that its authority signs."""
    data: Data = with_authority({}, HOSTS, NOW)
    data, signed = due(data, NOW), 1
    now = NOW
    end = NOW + AUTHORITY_LIFETIME
    while (until := shown(data).not_valid_after_utc) < end:
        life = until - shown(data).not_valid_before_utc
        at = until - life / 3
        assert renewed(data, HOSTS, at - MINUTE) is None
        assert now < at < until
        now, data, signed = at, due(data, at), signed + 1
    assert signed == pytest.approx(AUTHORITY_LIFETIME / (LIFETIME * 2 / 3), rel=0.05)
    assert shown(data).not_valid_after_utc == end
    with pytest.raises(ValueError, match="it has expired, at 2035-12-31"):
        renewed(data, HOSTS, end)


def test_the_rest_of_the_secret_stays() -> None:
    """Only what is shown changes."""
    data = {**with_authority({}, HOSTS, NOW), "note": b"mine"}
    after = due(data, NOW)
    assert after.keys() - data.keys() == {"tls.crt", "tls.key"}
    assert {key: after[key] for key in data} == data


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tls.crt": b"theirs", "tls.key": b"theirs"},
        {"tls.crt": b"theirs", "tls.key": b"theirs", "ca.crt": b"theirs"},
    ],
    ids=["shipped empty", "somebody else's", "cert-manager's"],
)
def test_without_an_authoritys_key_nobody_renews(given: Data) -> None:
    """The Secret is somebody else's to fill."""
    assert renewed(given, HOSTS, NOW) is None


@pytest.mark.parametrize("spoilt", ["tls.crt", "tls.key"])
def test_what_cannot_be_used_is_made_anew(spoilt: str) -> None:
    """Half a pair, nonsense, and a key of another certificate."""
    good = due(with_authority({}, HOSTS, NOW), NOW)
    other = due(with_authority({}, HOSTS, NOW), NOW)
    for value in (b"", b"nonsense", other[spoilt]):
        assert renewed({**good, spoilt: value}, HOSTS, NOW) is not None
    assert renewed(good, HOSTS, NOW) is None


def test_other_hosts_need_another_certificate() -> None:
    """As where the Service was given another name."""
    good = due(with_authority({}, HOSTS, NOW), NOW)
    assert renewed(good, ("other.ns.svc",), NOW) is not None


@pytest.mark.parametrize("key", ["ca.crt", "ca.key"])
def test_an_authority_that_is_none(key: str) -> None:
    """Nonsense is told; the same for a key that is another one's."""
    data = with_authority({}, HOSTS, NOW)
    another = with_authority({}, HOSTS, NOW)
    for value in (b"nonsense", another[key]):
        with pytest.raises(ValueError):  # noqa: PT011 - OpenSSL's own words
            renewed({**data, key: value}, HOSTS, NOW)


def test_a_new_authority_is_used_once_everybody_knows_it() -> None:
    """Ten minutes after it was made; until then the former one vouches, for it is believed too."""
    data: Data = due(with_authority({}, HOSTS, NOW), NOW)
    before = data["tls.crt"]
    then = NOW + 30 * DAY
    data = with_authority(data, HOSTS, then)
    assert data["tls.crt"] == before
    assert authorities(data) == data["ca.crt"] + data["previous-ca.crt"]
    assert renewed(data, HOSTS, then + SPREAD - MINUTE) is None
    after = due(data, then + SPREAD)
    shown(after).verify_directly_issued_by(x509.load_pem_x509_certificate(data["ca.crt"]))
    assert renewed(after, HOSTS, then + SPREAD) is None
    forgotten = {key: value for key, value in data.items() if key != "previous-ca.crt"}
    assert renewed(forgotten, HOSTS, then) is not None  # nobody believes what is shown


# ---- who vouches ---------------------------------------------------------------------------------


def handshake(server: Data, bundle: bytes, host: str = HOSTS[0]) -> None:
    """Agree on TLS in memory, as an API server would. Raises ssl.SSLError."""
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    theirs.load_verify_locations(cadata=bundle.decode())

    class Source:
        def read(self) -> bytes:
            return server["tls.crt"] + b"\n" + server["tls.key"]

    ours = ServingCertificates(Source(), ManualClock()).context
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = theirs.wrap_bio(a, b, server_hostname=host)
    other = ours.wrap_bio(b, a, server_side=True)
    for _ in range(4):
        for side in (client, other):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    assert client.version() == "TLSv1.3"


def test_an_api_server_believes_it() -> None:
    """By the authority; by both while one takes the other's place."""
    real = datetime.datetime.now(datetime.UTC)
    data: Data = due(with_authority({}, HOSTS, real), real)
    handshake(data, authorities(data))
    changed = with_authority(data, HOSTS, real - SPREAD)
    handshake(data, authorities(changed))
    handshake(due(changed, real), authorities(changed))
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        handshake(data, changed["ca.crt"])
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(data, authorities(data), "kubernetes.default.svc")


def test_whoever_gets_the_authoritys_key_can_stand_for_nobody_else() -> None:
    """It vouches for our own Service alone."""
    real = datetime.datetime.now(datetime.UTC)
    data = with_authority({}, HOSTS, real)
    forged = renewed(data, ("kubernetes.default.svc",), real)
    assert forged is not None
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        handshake(forged, authorities(data), "kubernetes.default.svc")


def test_an_authority_that_others_made() -> None:
    """As Helm makes one: for anything."""
    real = datetime.datetime.now(datetime.UTC)
    theirs = made(Subject("theirs", authority=True), Period(real, DAY))
    data = {"ca.crt": theirs.certificate, "ca.key": theirs.key}
    handshake(due(data, real), authorities(data))


# ---- how replicas get it -------------------------------------------------------------------------


class OneSecret:
    """An API server that has one Secret."""

    def __init__(self, data: Data) -> None:
        self.version = 1
        self.metadata: dict[str, Any] = {"name": "moorage-admission-tls", "labels": {"a": "b"}}
        self.data = dict(data)
        self.calls: list[str] = []
        self.broken: Exception | None = None
        self.said: bytes | None = None

    @property
    def body(self) -> dict[str, Any]:
        """As it is read."""
        encoded = {key: base64.b64encode(value).decode() for key, value in self.data.items()}
        metadata = {**self.metadata, "resourceVersion": str(self.version)}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}

    def put(self, data: Data) -> None:
        """Somebody changes it."""
        self.data, self.version = dict(data), self.version + 1

    async def call(self, call: HttpCall) -> bytes:
        """GET and PUT."""
        self.calls.append(call.method)
        assert call.path == PATH
        if self.broken is not None:
            raise self.broken
        if call.guard is not None:
            call.guard()
        if call.method == "PUT":
            written = json.loads(call.body or b"")
            if written["metadata"].pop("resourceVersion") != str(self.version):
                raise Conflict("PUT", 409)
            assert written["metadata"] == self.metadata
            self.put({key: base64.b64decode(value) for key, value in written["data"].items()})
        return self.said or json.dumps(self.body).encode()

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """Nobody asks for one."""
        raise AssertionError(path)


class Replica:
    """One of several that share a Secret."""

    def __init__(self, api: OneSecret, clock: ManualClock, leads: bool) -> None:
        self.fence = Fence(clock.boottime)
        if leads:
            self.fence.extend(float("inf"))
        store = SecretStore(api, "moorage-system", "moorage-admission-tls", self.fence)
        self.own = SelfSignedCertificate(HOSTS, clock)
        self.source = SecretCertificate(store, HOSTS, clock, self.own.read)

    @property
    def shows(self) -> bytes:
        """The certificate, without its key."""
        return self.source.read().partition(b"-----BEGIN PRIVATE")[0].strip()


@contextlib.asynccontextmanager
async def looking(*replicas: Replica) -> AsyncGenerator[None, None]:
    """All of them look at it."""
    tasks = [asyncio.create_task(replica.source.run()) for replica in replicas]
    await asyncio.sleep(0)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def test_the_leader_renews_and_all_replicas_show_it() -> None:
    """Whoever leads; at two thirds, by the clock."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        leader, standby = Replica(api, clock, leads=True), Replica(api, clock, leads=False)
        assert standby.source.read() == standby.own.read()
        async with looking(standby, leader):
            await clock.advance(2 * LOOK_SECONDS)
            first = api.data["tls.crt"]
            assert leader.shows == standby.shows == first.strip()
            clock.jump((LIFETIME * 2 / 3).total_seconds() - 10 * 60)
            await clock.advance(2 * LOOK_SECONDS)
            assert api.data["tls.crt"] == first
            assert api.calls.count("PUT") == 1
            clock.jump(10 * 60)
            await clock.advance(2 * LOOK_SECONDS)
            assert api.data["tls.crt"] != first
            assert leader.shows == standby.shows == api.data["tls.crt"].strip()
            leader.fence.close()
            standby.fence.extend(float("inf"))
            clock.jump((LIFETIME * 2 / 3).total_seconds())
            await clock.advance(2 * LOOK_SECONDS)
            assert api.calls.count("PUT") == 3
            assert leader.shows == standby.shows == api.data["tls.crt"].strip()

    asyncio.run(scenario())


def test_two_that_believe_to_lead_write_once() -> None:
    """The second one's is of an old version: it takes the first one's."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        one, other = Replica(api, clock, leads=True), Replica(api, clock, leads=True)
        store = SecretStore(api, "moorage-system", "moorage-admission-tls")
        read = await store.read()
        await one.source.look()
        with pytest.raises(Conflict):
            await store.replace(read.holding({}))
        await other.source.look()
        assert one.shows == other.shows == api.data["tls.crt"].strip()

    asyncio.run(scenario())


def test_nothing_is_written_by_who_leads_no_more() -> None:
    """Its lease may run out between the look and the write."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        store = SecretStore(api, "moorage-system", "moorage-admission-tls", Fence(clock.boottime))
        assert not store.open
        with pytest.raises(Fenced):
            await store.replace((await store.read()).holding({}))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "broken",
    [
        NotFound("GET", 404, "NotFound"),
        Retryable("nobody answers"),
        b'{"data": {"tls.crt": "?"}}',
        b"[]",
        b"<html>",
        b'{"data": [1]}',
    ],
    ids=["gone", "away", "no base64", "list", "proxy", "data"],
)
def test_what_cannot_be_read_changes_nothing(
    broken: Exception | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told; what was shown is shown on, and renewed when it is there again."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        replica = Replica(api, clock, leads=True)
        async with looking(replica):
            await clock.advance(LOOK_SECONDS)
            first = replica.shows
            if isinstance(broken, bytes):
                api.said = broken
            else:
                api.broken = broken
            clock.jump(LIFETIME.total_seconds())
            await clock.advance(3 * LOOK_SECONDS)
            assert replica.shows == first
            api.said, api.broken = None, None
            await clock.advance(LOOK_SECONDS)
            assert replica.shows == api.data["tls.crt"].strip() != first

    asyncio.run(scenario())
    assert "Secret moorage-system/moorage-admission-tls, with the certificate" in caplog.text


def test_without_a_secret_nobody_has_installed_admission(caplog: pytest.LogCaptureFixture) -> None:
    """That is not told; as soon as there is one, it counts."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        api.broken = NotFound("GET", 404, "NotFound")
        replica = Replica(api, clock, leads=True)
        async with looking(replica):
            await clock.advance(3 * LOOK_SECONDS)
            assert not replica.source.found.is_set()
            api.broken = None
            await clock.advance(LOOK_SECONDS)
            assert replica.source.found.is_set()
            assert replica.shows == api.data["tls.crt"].strip()

    asyncio.run(scenario())
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


def test_a_secret_that_is_emptied_is_shown_on(caplog: pytest.LogCaptureFixture) -> None:
    """As by an apply of the one that is shipped; an authority that is nonsense is told once."""

    async def scenario() -> None:
        clock = ManualClock()
        api = OneSecret(with_authority({}, HOSTS, clock.now()))
        replica = Replica(api, clock, leads=True)
        async with looking(replica):
            await clock.advance(LOOK_SECONDS)
            first, whole = replica.shows, dict(api.data)
            api.put({})
            await clock.advance(LOOK_SECONDS)
            assert replica.shows == first
            api.put({**whole, "ca.crt": b"nonsense"})
            await clock.advance(LOOK_SECONDS)
            assert replica.shows == first

    asyncio.run(scenario())
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1
    assert "its authority cannot sign" in told[0]
    assert "`moorage admission-ca`" in told[0]


def test_renewing_interrupts_nobody() -> None:
    """Requests go on, on connections that are there and on new ones; API servers that know the
    authority believe each certificate. Nothing stops listening.
    """

    async def scenario() -> None:
        real = datetime.datetime.now(datetime.UTC)
        clock = ManualClock()
        clock.jump((real - clock.now()).total_seconds())
        api = OneSecret(with_authority({}, HOSTS, real - 80 * DAY))
        api.put({**due(api.data, real - 80 * DAY)})  # good, but late
        old = api.data["tls.crt"]
        replica = Replica(api, clock, leads=False)
        await replica.source.look()
        certificates = ServingCertificates(replica.source, clock)

        async def review(body: bytes) -> bytes:
            return body

        server = HttpsServer(
            ReviewHandler({"/admission": review}),
            ListenAddress("127.0.0.1", 0),
            ServerTrust(certificates),
            clock,
            print,
        )
        port = await server.start()
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust.load_verify_locations(cadata=authorities(api.data).decode())
        seen: list[bytes] = []

        async def ask() -> None:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=trust, server_hostname=HOSTS[0]
            )
            for _ in range(3):
                writer.write(b"POST /admission HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
                head = await reader.readuntil(b"\r\n\r\n")
                assert b" 200 " in head
                assert await reader.readexactly(2) == b"hi"
                if b"Connection: close" in head:  # by a certificate that is shown no more
                    break
            seen.append(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
            writer.close()

        running = asyncio.create_task(server.run())
        async with asyncio.TaskGroup() as group:
            for number in range(60):
                if number == 30:
                    replica.fence.extend(float("inf"))
                    await replica.source.look()
                    await clock.advance(10)
                await group.create_task(ask())
        running.cancel()
        await server.stop()
        shown_pems = [ssl.DER_cert_to_PEM_cert(one).encode() for one in seen]
        assert len(shown_pems) == 60
        assert shown_pems[:30] == [old] * 30
        assert shown_pems[30:] == [api.data["tls.crt"]] * 30
        assert api.data["tls.crt"] != old

    asyncio.run(scenario())
