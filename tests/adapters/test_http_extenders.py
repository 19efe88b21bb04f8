"""Extenders over real HTTP on loopback: what they are sent, what is made of every kind of answer,
and how they are trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.adapters import http_extenders
from moorage.adapters.http_extenders import CERTIFICATES_SECONDS, HttpExtenderClient
from moorage.core.framework.extenders import Extender, ExtenderFilterResult, MetaVictims
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.extender_calls import CandidateNodes, NodeVictims
from moorage.ports.kube import PodRef
from tests.adapters.api_server import Answer, StubApiServer, answers, api_server
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.rig.certificates import Authority

POD = b'{"metadata":{"name":"p"},"spec":{"unknownToUs":1}}'
NODES = CandidateNodes(
    ("a", "b"), {"a": b'{"metadata":{"name":"a"},"x":1}', "b": b'{"metadata":{"name":"b"}}'}
)
VICTIMS = {"a": NodeVictims({"u1": b'{"metadata":{"uid":"u1"}}'}, 1)}
VERBS = {
    "filter_verb": "filter",
    "prioritize_verb": "prioritize",
    "preempt_verb": "preempt",
    "bind_verb": "bind",
}


class Secrets(InMemoryKube):
    """Remembers which Secrets were read."""

    def __init__(self) -> None:
        super().__init__()
        self.reading: list[str] = []

    async def secret(self, name: str) -> Mapping[str, bytes] | None:
        """As set by the test."""
        self.reading.append(name)
        return await super().secret(name)


@dataclasses.dataclass
class Asking:
    """The adapter, and an extender that answers from a script."""

    http: HttpExtenderClient
    server: StubApiServer
    kube: Secrets
    clock: ManualClock

    def extender(self, **changes: Any) -> Extender:
        """The extender at the server."""
        return Extender(
            **{"url": f"{self.server.url}/ext/", "node_cache_capable": True, **VERBS, **changes}
        )

    async def ask(self, verb: str, extender: Extender) -> Any:
        """Ask it something."""
        if verb == "preempt":
            return await self.http.preempt(extender, POD, VICTIMS)
        if verb == "bind":
            return await self.http.bind(extender, PodRef("ns", "p", "u"), "a")
        return await getattr(self.http, verb)(extender, POD, NODES)


@contextlib.asynccontextmanager
async def asking() -> AsyncIterator[Asking]:
    """Both, closed at the end."""
    kube, clock = Secrets(), ManualClock()
    async with api_server() as server:
        http = HttpExtenderClient(kube, clock, "moorage/test")
        try:
            yield Asking(http, server, kube, clock)
        finally:
            await http.close()


def ask(verb: str, *scripted: Answer, **changes: Any) -> tuple[Any, StubApiServer]:
    """What the adapter makes of such answers, an error being an answer too."""

    async def scenario() -> tuple[Any, StubApiServer]:
        async with asking() as them:
            them.server.then("POST", f"/ext/{verb}", *scripted)
            try:
                return await them.ask(verb, them.extender(**changes)), them.server
            except EdgeError as error:
                return error, them.server

    return asyncio.run(scenario())


# ---- what is sent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "capable", "body"),
    [
        ("filter", True, {"Nodes": None, "NodeNames": ["a", "b"]}),
        (
            "filter",
            False,
            {
                "Nodes": {
                    "metadata": {},
                    "items": [{"metadata": {"name": "a"}, "x": 1}, {"metadata": {"name": "b"}}],
                },
                "NodeNames": None,
            },
        ),
        ("prioritize", True, {"Nodes": None, "NodeNames": ["a", "b"]}),
        (
            "preempt",
            True,
            {
                "NodeNameToVictims": None,
                "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u1"}], "NumPDBViolations": 1}},
            },
        ),
        (
            "preempt",
            False,
            {
                "NodeNameToVictims": {
                    "a": {"Pods": [{"metadata": {"uid": "u1"}}], "NumPDBViolations": 1}
                },
                "NodeNameToMetaVictims": None,
            },
        ),
    ],
)
def test_questions(verb: str, capable: bool, body: dict[str, Any]) -> None:
    """Go's names, the pod and the nodes in full, names alone where they are enough."""
    _, server = ask(verb, answers([] if verb == "prioritize" else {}), node_cache_capable=capable)
    assert [json.loads(text) for text in server.bodies] == [{"Pod": json.loads(POD), **body}]
    assert server.requests[0].headers["Content-Type"] == "application/json"


def test_a_binding_is_asked_for() -> None:
    """By names and UID."""
    answer, server = ask("bind", answers({"Error": ""}))
    assert answer is None
    assert [json.loads(text) for text in server.bodies] == [
        {"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "a"}
    ]


# ---- what is made of answers ---------------------------------------------------------------------

NAMED = {
    "NodeNames": ["a"],
    "FailedNodes": {"b": "full"},
    "FailedAndUnresolvableNodes": {"a": "never", "c": "unasked"},
}
WHOLE = {"nodes": {"items": [{"metadata": {"name": "b"}}, {"Metadata": {"Name": "a"}}]}}


@pytest.mark.parametrize(
    ("answer", "capable", "want"),
    [
        pytest.param(
            NAMED, True, ExtenderFilterResult(("a",), {"b": "full"}, {"a": "never"}), id="names"
        ),
        pytest.param(
            {key.lower(): value for key, value in NAMED.items()},
            True,
            ExtenderFilterResult(("a",), {"b": "full"}, {"a": "never"}),
            id="old",
        ),
        pytest.param(WHOLE, False, ExtenderFilterResult(("b", "a"), {}, {}), id="nodes"),
        pytest.param(
            WHOLE,
            True,
            ExtenderFilterResult(("b", "a"), {}, {}),
            id="nodes though names were asked for",
        ),
        pytest.param(
            {"NodeNames": ["a"]},
            False,
            ExtenderFilterResult((), {}, {}),
            id="names though nodes were asked for",
        ),
        pytest.param({}, True, ExtenderFilterResult((), {}, {}), id="neither"),
        pytest.param(
            {"NodeNames": None, "Nodes": None, "FailedNodes": None, "Error": None},
            True,
            ExtenderFilterResult((), {}, {}),
            id="nulls",
        ),
        pytest.param(None, True, ExtenderFilterResult((), {}, {}), id="null"),
        pytest.param(
            {"Nodes": {"items": None}}, False, ExtenderFilterResult((), {}, {}), id="no items"
        ),
        pytest.param(
            {"NodeNames": [], "FailedNodes": {"a": "x" * 5000}},
            True,
            ExtenderFilterResult((), {"a": "x" * 1000}, {}),
            id="long text",
        ),
    ],
)
def test_filtered(answer: Any, capable: bool, want: ExtenderFilterResult) -> None:
    """Keys in whatever case; nothing said is nothing let through."""
    assert ask("filter", answers(answer), node_cache_capable=capable)[0] == want


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (
            [{"Host": "a", "Score": 7}, {"host": "b", "score": -1}, {"Host": "a"}],
            [("a", 7), ("b", -1), ("a", 0)],
        ),
        (None, []),
        ([], []),
        ([{"Host": "a", "Score": 2**62}], [("a", 2**62)]),
    ],
)
def test_priorities(answer: Any, want: list[tuple[str, int]]) -> None:
    """As they come: what is out of range is not put right."""
    assert ask("prioritize", answers(answer))[0] == want


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (
            {
                "NodeNameToMetaVictims": {
                    "a": {"Pods": [{"UID": "u1"}, {"uid": "u2"}], "NumPDBViolations": 2}
                }
            },
            {"a": MetaVictims(("u1", "u2"), 2)},
        ),
        (
            {"nodeNameToMetaVictims": {"a": {"pods": None}, "b": None}},
            {"a": MetaVictims((), 0), "b": MetaVictims((), 0)},
        ),
        ({"NodeNameToVictims": {"a": {"Pods": []}}}, {}),
        ({}, {}),
    ],
    ids=["victims", "nothing in them", "the wrong field", "nothing"],
)
def test_spared(answer: Any, want: dict[str, MetaVictims]) -> None:
    """UIDs by node."""
    assert ask("preempt", answers(answer))[0] == want


async def _slowly(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(5)
    return web.Response()


async def _dripping(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(100):
        await response.write(b" ")
        await asyncio.sleep(0.05)
    return response


async def _closing(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def _endlessly(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while True:
            await response.write(b" " * 2**16)
    return response


FAULTS: dict[str, tuple[Answer, str]] = {
    "error": (answers({"Error": "no"}), "no"),
    "500": (answers({}, 500), "failed VERB with extender at URL URL/ext/VERB, code 500"),
    "404": (answers({}, 404), "failed VERB with extender at URL URL/ext/VERB, code 404"),
    "201": (answers({}, 201), "failed VERB with extender at URL URL/ext/VERB, code 201"),
    "redirect": (
        answers({}, 307, {"Location": "http://169.254.169.254/"}),
        "failed VERB with extender at URL URL/ext/VERB, code 307",
    ),
    "empty": (
        answers(b""),
        (
            "the answer of VERB by extender at URL URL/ext/VERB cannot be read: Input data was "
            "truncated"
        ),
    ),
    "no JSON": (
        answers(b"<html>"),
        "the answer of VERB by extender at URL URL/ext/VERB cannot be read: JSON is malformed",
    ),
    "no UTF-8": (
        answers(b'{"Error": "\xff"}'),
        "the answer of VERB by extender at URL URL/ext/VERB cannot be read: 'utf-8' codec",
    ),
    "too deep": (
        answers(b'{"a": %s}' % (b"[" * 100_000)),
        "the answer of VERB by extender at URL URL/ext/VERB cannot be read: maximum recursion",
    ),
    "other JSON": (
        answers(b'"x"'),
        "the answer of VERB by extender at URL URL/ext/VERB cannot be read: Expected `",
    ),
    "slow": (_slowly, 'Post "URL/ext/VERB": no answer within 0.2 s'),
    "dripping": (_dripping, 'Post "URL/ext/VERB": no answer within 0.2 s'),
    "closed": (_closing, 'Post "URL/ext/VERB": '),
    "endless": (_endlessly, "the answer of VERB by extender at URL URL/ext/VERB is too long"),
}


@pytest.mark.parametrize("verb", ["filter", "bind"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(verb: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told with the URL, and none can say that a pod was not bound."""
    monkeypatch.setattr(http_extenders, "MIN_ANSWER_BYTES_ALLOWED", 2**18)
    answer, text = FAULTS[fault]
    error, server = ask(verb, answer, timeout=0.2 if text.endswith("0.2 s") else 5.0)
    assert isinstance(error, Retryable), error
    assert str(error).startswith(text.replace("VERB", verb).replace("URL/", f"{server.url}/"))
    assert error.outcome_unknown


def test_long_answers_are_read_one_at_a_time() -> None:
    """Everybody else has a turn between two of them; of what they say only what was asked is
    kept.
    """
    long = {
        "NodeNames": ["a"],
        "FailedNodes": {f"n{i:07}": "" for i in range(10_000)} | {"b": "no"},
    }

    async def scenario() -> None:
        turns, read_at = 0, list[int]()

        async def one(them: Asking) -> None:
            answer = await them.ask("filter", them.extender())
            assert answer == ExtenderFilterResult(("a",), {"b": "no"}, {})
            read_at.append(turns)

        async with asking() as them:
            them.server.then("POST", "/ext/filter", *[answers(long)] * 20)
            asked = asyncio.gather(*(one(them) for _ in range(20)))
            while not asked.done():
                await asyncio.sleep(0)
                turns += 1
            await asked
        assert len(set(read_at)) == 20

    asyncio.run(scenario())


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_a_large_pod_makes_no_room_for_a_long_answer(verb: str) -> None:
    """Its JSON is sent, and not answered."""

    async def scenario() -> None:
        async with asking() as them:
            them.server.then(
                "POST",
                f"/ext/{verb}",
                answers(
                    b'{"x":"%s"}' % (b"x" * (http_extenders.MIN_ANSWER_BYTES_ALLOWED + 10_000))
                ),
            )
            with pytest.raises(Retryable, match="too long"):
                await getattr(them.http, verb)(
                    them.extender(), b'{"x":"%s"}' % (b"x" * 700_000), NODES
                )

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("verb", "capable", "answer"),
    [
        ("prioritize", True, [{}] * 2000),
        ("filter", False, {"Nodes": {"items": [{}] * 2000}}),
        ("preempt", True, {"NodeNameToMetaVictims": {f"n{i}": {} for i in range(2000)}}),
        (
            "preempt",
            True,
            {"NodeNameToMetaVictims": {f"n{i}": {"pods": [{}] * 200} for i in range(10)}},
        ),
    ],
)
def test_entries_about_nothing_that_was_asked_are_not_read(
    verb: str, capable: bool, answer: Any
) -> None:
    """A flood of empty ones, small enough to come in, would hold the loop for seconds."""
    assert "it has 2000 entries" in str(ask(verb, answers(answer), node_cache_capable=capable)[0])


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("filter", {"NodeNames": "a"}),
        ("filter", {"FailedNodes": ["a"]}),
        ("prioritize", [{"Host": "a", "Score": 1.5}]),
        ("prioritize", {"Host": "a"}),
        ("preempt", {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 5}]}}}),
    ],
)
def test_answers_of_the_wrong_shape(verb: str, answer: Any) -> None:
    """They are faults, whatever else the answer says."""
    assert "cannot be read" in str(ask(verb, answers(answer))[0])


def test_a_question_is_put_again_where_a_kept_connection_turns_out_dead_and_a_binding_is_not() -> (
    None
):
    """A server ends a connection in the moment that it is used again; what was asked of it may have
    been done.
    """
    answer, server = ask("filter", _closing, answers({"NodeNames": ["a"]}))
    assert (answer.passed, len(server.requests)) == (("a",), 2)
    error, server = ask("bind", _closing, answers({}))
    assert isinstance(error, Retryable)
    assert (error.outcome_unknown, len(server.requests)) == (True, 1)


def test_nobody_there() -> None:
    """The one case in which it is certain that a pod was not bound."""

    async def scenario() -> None:
        async with asking() as them:
            extender = them.extender(url="http://127.0.0.1:9")
            with pytest.raises(
                Retryable, match=re.escape('Post "http://127.0.0.1:9/bind": ')
            ) as caught:
                await them.ask("bind", extender)
            assert not caught.value.outcome_unknown

    asyncio.run(scenario())


# ---- TLS -----------------------------------------------------------------------------------------


class Certified:
    """An authority, a server's certificate by it, and a client's."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        authority = Authority(folder)
        self.ca = authority.file.read_bytes()
        self.server = authority.server("extender")
        self.client = tuple(file.read_bytes() for file in authority.client("moorage"))

    @contextlib.asynccontextmanager
    async def serving(self, clients: bytes = b"") -> AsyncIterator[str]:
        """An extender behind TLS that lets node a through; ``clients``: whom client certificates
        have to be from.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self.server)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=clients.decode())
        app = web.Application()
        app.router.add_post("/filter", answers({"NodeNames": ["a"]}))
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        try:
            yield f"https://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """What the extender shows."""
    return Certified(tmp_path_factory.mktemp("tls") / "it")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """An authority that has nothing to do with it."""
    return Certified(tmp_path_factory.mktemp("tls") / "stranger")


Secret = Callable[[Certified, Certified], dict[str, bytes] | None]
TLS: dict[str, tuple[Secret, dict[str, Any], str]] = {
    "the right CA": (lambda it, other: {"ca.crt": it.ca}, {}, ""),
    "another CA": (lambda it, other: {"ca.crt": other.ca}, {}, "certificate verify failed"),
    "another name": (
        lambda it, other: {"ca.crt": it.ca},
        {"server_name": "elsewhere"},
        "certificate verify failed",
    ),
    "the other name": (lambda it, other: {"ca.crt": it.ca}, {"server_name": "localhost"}, ""),
    "nobody checks": (lambda it, other: {}, {"insecure": True, "secret": ""}, ""),
    "no Secret": (
        lambda it, other: None,
        {},
        "there is no Secret 'tls' in the operator's namespace",
    ),
    "no CA": (lambda it, other: {"tls.crt": b""}, {}, "Secret 'tls' has no ca.crt"),
    "no certificate": (lambda it, other: {"ca.crt": b"x"}, {}, "Secret 'tls' cannot be used"),
    "not even text": (lambda it, other: {"ca.crt": b"\xff"}, {}, "Secret 'tls' cannot be used"),
    "no key": (
        lambda it, other: {"ca.crt": it.ca, "tls.crt": it.client[0]},
        {},
        "Secret 'tls' cannot be used",
    ),
}


@pytest.mark.parametrize("case", TLS)
def test_trust(case: str, certified: Certified, stranger: Certified) -> None:
    """The CA and the name decide, or else insecure does."""
    secret, changes, text = TLS[case]

    async def scenario() -> None:
        async with asking() as them, certified.serving() as url:
            if (data := secret(certified, stranger)) is not None:
                them.kube.secrets["tls"] = data
            extender = them.extender(url=url, **{"secret": "tls", **changes})
            if not text:
                assert (await them.ask("filter", extender)).passed == ("a",)
                return
            with pytest.raises(Retryable, match=text) as caught:
                await them.ask("filter", extender)
            assert not caught.value.outcome_unknown

    asyncio.run(scenario())


@pytest.mark.parametrize("key", ["ca.crt", "tls.crt", "tls.key"])
@pytest.mark.parametrize("text", ["hunter2", "hunter2 \u00e9", "-----BEGIN X-----\nhunter2\n"])
def test_a_secret_that_cannot_be_used_is_not_shown(
    key: str, text: str, certified: Certified
) -> None:
    """Whoever may write a profile may name any Secret of the operator's namespace."""

    async def scenario() -> None:
        async with asking() as them, certified.serving() as url:
            good = {"ca.crt": certified.ca, "tls.crt": certified.ca, "tls.key": b""}
            them.kube.secrets["tls"] = {**good, key: text.encode()}
            with pytest.raises(Retryable, match="Secret 'tls' cannot be used") as caught:
                await them.ask("filter", them.extender(url=url, secret="tls"))
            assert "hunter2" not in str(caught.value)

    asyncio.run(scenario())


def test_client_certificates(certified: Certified, stranger: Certified) -> None:
    """Shown where the Secret has one; a server that wants another one is told by its refusal."""

    async def scenario(shown: Certified) -> ExtenderFilterResult:
        async with asking() as them, certified.serving(clients=certified.ca) as url:
            them.kube.secrets["tls"] = {
                "ca.crt": certified.ca,
                "tls.crt": shown.client[0],
                "tls.key": shown.client[1],
            }
            return await them.http.filter(them.extender(url=url, secret="tls"), POD, NODES)

    assert asyncio.run(scenario(certified)).passed == ("a",)
    with pytest.raises(Retryable):
        asyncio.run(scenario(stranger))


def test_a_secret_is_read_again_when_it_is_old_or_a_handshake_fails(
    certified: Certified, stranger: Certified
) -> None:
    """A new CA is used at once where the old one fails, a revoked one within a minute."""

    async def scenario() -> None:
        async with asking() as them, certified.serving() as url, stranger.serving() as other:
            them.kube.secrets["tls"] = {"ca.crt": certified.ca}
            for _ in range(3):
                await them.ask("filter", them.extender(url=url, secret="tls"))
            assert them.kube.reading == ["tls"]
            them.kube.secrets["tls"] = {"ca.crt": stranger.ca}
            await them.ask("filter", them.extender(url=other, secret="tls"))
            assert them.kube.reading == ["tls"] * 2
            them.kube.secrets["tls"] = {}
            await them.ask("filter", them.extender(url=other, secret="tls"))
            them.clock.jump(CERTIFICATES_SECONDS)
            with pytest.raises(Retryable, match=r"has no ca\.crt"):
                await them.ask("filter", them.extender(url=other, secret="tls"))

    asyncio.run(scenario())
