"""Who may see what: what the API server is asked, how long its answers count, and that whatever
goes wrong refuses.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from moorage.adapters import authorization
from moorage.adapters.authorization import ApiReviews
from moorage.ports.errors import EdgeError, Forbidden, NotFound, Retryable
from moorage.ports.http_calls import HttpCall
from moorage.ports.requesters import Caller, CallerRight, Denied
from tests.fakes.clocks import ManualClock, settle

TOKENS, RIGHTS = (
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
)
PROMETHEUS = {
    "username": "prometheus",
    "uid": "u1",
    "groups": ["scrapers"],
    "extra": {"pod": ["p-0"]},
}


class Server:
    """An API server that knows tokens and rights; ``fails`` is what it does instead of answering,
    ``body`` what it answers instead.
    """

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.users: dict[str, Mapping[str, Any]] = {"good": PROMETHEUS}
        self.allowed = {
            ("prometheus", "get", "/metrics"),
            ("prometheus", "get", "pods"),
            ("prometheus", "list", "nodes"),
            ("prometheus", "list", "schedulerprofiles"),
        }
        self.asked: list[tuple[str, Any]] = []
        self.fails: EdgeError | None = None
        self.body: bytes | None = None
        self.held = asyncio.Event()
        self.held.set()
        self.reviews = ApiReviews(self.call, self.clock)

    async def call(self, call: HttpCall) -> bytes:
        """``ports.http_calls.HttpSession.call``."""
        spec = json.loads(call.body or b"{}").get("spec", {})
        self.asked.append((call.path, spec))
        await self.held.wait()
        if self.fails is not None:
            raise self.fails
        if self.body is not None:
            return self.body
        if call.path == TOKENS:
            user = self.users.get(spec["token"])
            return json.dumps(
                {
                    "status": {"authenticated": True, "user": user}
                    if user
                    else {"user": {}, "error": "invalid"}
                }
            ).encode()
        what = spec.get("nonResourceAttributes") or spec["resourceAttributes"]
        named = what.get("path") or what["resource"]
        return json.dumps(
            {"status": {"allowed": (spec["user"], what["verb"], named) in self.allowed}}
        ).encode()

    async def verdict(
        self,
        token: str = "good",
        certified: Caller | None = None,
        path: str = "/metrics",
        rights: Sequence[CallerRight] = (),
    ) -> int:
        """200, or the code of the refusal."""
        try:
            await self.reviews.admit(token, certified, rights or [CallerRight("get", path)])
        except Denied as denied:
            return denied.status
        return 200


def run(scenario: Callable[[Server], Awaitable[None]]) -> None:
    """Run it with a server."""

    async def main() -> None:
        await scenario(Server())

    asyncio.run(main())


def test_a_token_with_the_right() -> None:
    """Both reviews say all that is known of the user; within ten seconds nothing is asked again."""

    async def scenario(server: Server) -> None:
        assert await server.verdict() == 200
        spec = {
            "user": "prometheus",
            "uid": "u1",
            "groups": ["scrapers"],
            "extra": {"pod": ["p-0"]},
        }
        right = {**spec, "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
        assert server.asked == [(TOKENS, {"token": "good"}), (RIGHTS, right)]
        await server.clock.advance(9.9)
        assert await server.verdict() == 200
        assert len(server.asked) == 2
        await server.clock.advance(0.2)
        assert await server.verdict() == 200
        assert len(server.asked) == 4

    run(scenario)


def test_rights_to_resources() -> None:
    """All of them have to be had, and the first that is not ends it."""

    async def scenario(server: Server) -> None:
        get_pods = CallerRight("get", resource="pods", namespace="shop")
        profiles = CallerRight("list", resource="schedulerprofiles", group="moorage.dev")
        rights = (get_pods, CallerRight("list", resource="nodes"), profiles)
        assert await server.verdict(rights=rights) == 200
        asked = [spec["resourceAttributes"] for path, spec in server.asked if path == RIGHTS]
        assert asked == [
            {"verb": "get", "resource": "pods", "namespace": "shop"},
            {"verb": "list", "resource": "nodes"},
            {"verb": "list", "group": "moorage.dev", "resource": "schedulerprofiles"},
        ]
        server.allowed = set()
        await server.clock.advance(10)
        assert await server.verdict(rights=rights) == 403
        assert len([path for path, _ in server.asked if path == RIGHTS]) == 4

    run(scenario)


def test_a_token_that_expires_is_good_for_ten_seconds_at_most() -> None:
    """And a right that was taken away too, however often it is asked for meanwhile."""

    async def scenario(server: Server) -> None:
        assert await server.verdict() == 200
        server.users.clear()
        verdicts = []
        for _ in range(6):
            await server.clock.advance(2)
            verdicts.append(await server.verdict())
        assert verdicts == [200, 200, 200, 200, 401, 401]
        server.users["good"], server.allowed = PROMETHEUS, set()
        await server.clock.advance(10)
        assert await server.verdict() == 403

    run(scenario)


def test_without_credentials_nobody_is_asked() -> None:
    """There is no anonymous access."""

    async def scenario(server: Server) -> None:
        assert await server.verdict("") == 401
        assert server.asked == []
        assert await server.verdict("bad") == 401
        assert [path for path, _ in server.asked] == [TOKENS]

    run(scenario)


def test_client_certificates_come_before_tokens() -> None:
    """Their user needs the right as well, but for administrators, who have it also while nobody
    answers.
    """

    async def scenario(server: Server) -> None:
        assert await server.verdict("bad", Caller("prometheus", ("x",))) == 200
        assert await server.verdict("good", Caller("nobody")) == 403
        assert [path for path, _ in server.asked] == [RIGHTS, RIGHTS]
        server.fails = Retryable("down")
        assert (
            await server.verdict("", Caller("admin", ("system:masters", "system:authenticated")))
            == 200
        )
        assert await server.verdict("", Caller("somebody", ("system:master",))) == 503

    run(scenario)


@pytest.mark.parametrize(
    ("fails", "body"),
    [
        (Retryable("down"), None),
        (Forbidden("POST", 403, "Forbidden", "may not create tokenreviews"), None),
        (NotFound("POST", 404, "NotFound", ""), None),
        (None, b"<html>"),
        (None, b"{}"),
        (None, b'{"status": {"authenticated": "yes", "allowed": "yes"}}'),
        (None, b"\xff"),
    ],
    ids=str,
)
def test_what_cannot_be_found_out_is_refused(fails: EdgeError | None, body: bytes | None) -> None:
    """By 503; and it is asked again the next time."""

    async def scenario(server: Server) -> None:
        server.fails, server.body = fails, body
        assert await server.verdict() == 503
        assert await server.verdict("", Caller("prometheus")) == 503
        server.fails = server.body = None
        assert await server.verdict() == 200

    run(scenario)


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": False, "user": PROMETHEUS},
    ],
    ids=str,
)
def test_half_an_answer_about_a_token_is_a_no(status: dict[str, Any]) -> None:
    """Nobody without a name, nobody whom the server did not confirm."""

    async def scenario(server: Server) -> None:
        server.body = json.dumps({"status": status}).encode()
        assert await server.verdict() == 401

    run(scenario)


def test_a_denial_outweighs_a_permission() -> None:
    """As a SubjectAccessReview may say both."""

    async def scenario(server: Server) -> None:
        server.body = b'{"status": {"allowed": true, "denied": true}}'
        assert await server.verdict("", Caller("prometheus")) == 403

    run(scenario)


def test_those_who_ask_the_same_share_an_answer() -> None:
    """Also when the first of them goes away."""

    async def scenario(server: Server) -> None:
        server.held.clear()
        waiting = [asyncio.create_task(server.verdict()) for _ in range(20)]
        await settle()
        waiting[0].cancel()
        await settle()
        server.held.set()
        assert await asyncio.gather(*waiting[1:]) == [200] * 19
        assert [path for path, _ in server.asked] == [TOKENS, RIGHTS]

    run(scenario)


def test_a_flood_of_tokens_is_none_at_the_api_server() -> None:
    """So many reviews at a time, and so many answers kept."""

    async def scenario(server: Server) -> None:
        server.held.clear()
        waiting = [
            asyncio.create_task(server.verdict(f"wrong {i}"))
            for i in range(3 * authorization.MAX_CACHED_REVIEWS)
        ]
        await settle()
        assert len(server.asked) == authorization.MAX_CONCURRENT_REVIEWS
        server.held.set()
        assert set(await asyncio.gather(*waiting)) == {401}
        assert len(server.reviews._tokens._known) <= authorization.MAX_CACHED_REVIEWS
        assert await server.verdict() == 200

    run(scenario)


def test_those_who_come_and_go_leave_nothing_behind() -> None:
    """Reviews that nobody waits for any more end; who asks the same again, at whatever moment, has
    an answer.
    """

    async def scenario(server: Server) -> None:
        server.held.clear()
        before = len(asyncio.all_tasks())
        for i in range(200):
            gone = asyncio.create_task(server.verdict(f"wrong {i}"))
            await asyncio.sleep(0)
            gone.cancel()
            await settle()
        assert len(asyncio.all_tasks()) == before
        gone = asyncio.create_task(server.verdict())
        await settle()
        gone.cancel()
        await asyncio.sleep(0)
        again = asyncio.create_task(server.verdict())
        await settle()
        server.held.set()
        assert await again == 200

    run(scenario)


def test_the_authorities_of_client_certificates() -> None:
    """Those that kube-apiserver names; none where it names none or does not let us see; an outage
    is told.
    """

    async def scenario(server: Server) -> None:
        server.body = (
            b'{"data": {"client-ca-file": "PEM", "requestheader-client-ca-file": "other"}}'
        )
        assert await server.reviews.client_authorities() == "PEM"
        assert (
            server.asked[-1][0]
            == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
        )
        for body in (b'{"data": {}}', b'{"data": null}', b"{}"):
            server.body = body
            assert await server.reviews.client_authorities() == ""
        for error in (Forbidden("GET", 403), NotFound("GET", 404)):
            server.fails = error
            assert await server.reviews.client_authorities() == ""
        server.fails = Retryable("down")
        with pytest.raises(Retryable):
            await server.reviews.client_authorities()

    run(scenario)
