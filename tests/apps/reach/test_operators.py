"""Reaching the leader: the ways there, whom they believe, and what is said where there is none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.apps.exit_status import WrongUse
from moorage.apps.reach import surroundings as looking
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.reach.operators import Operator, ReachedOperator, UnreachedOperator, reached
from moorage.apps.reach.surroundings import NotInstalled, surroundings
from moorage.apps.worlds.reaching import connected
from tests.adapters.api_server import StubApiServer, answers, api_server, forwards, status
from tests.adapters.serving import Serving, run
from tests.apps.reach.surroundings import (
    LEADER,
    LEASES,
    PROFILES,
    a_lease,
    a_profile,
    a_replica,
    a_time,
    script,
    served_at,
)
from tests.apps.worlds.test_from_cluster import kubeconfig

FORWARD = "/api/v1/namespaces/moorage-system/pods/moorage-0/portforward"


@contextlib.asynccontextmanager
async def operator_of(
    folder: Path, server: StubApiServer, choice: OperatorChoice | None = None
) -> AsyncIterator[Operator]:
    """Whom this API server leads to."""
    cluster = kubeconfig(folder, server.url)
    async with connected(cluster) as connection:
        around = await surroundings(connection)
        asked = choice or OperatorChoice()
        async with reached(connection.session, cluster, asked, around.installation) as operator:
            yield operator


@pytest.mark.parametrize("host", ["127.0.0.1", "here", "moorage-0"])
def test_the_leader_is_reached(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its address where that is on this machine, else through its pod."""
    monkeypatch.setenv("HOSTNAME", "here")

    async def scenario(served: Serving) -> None:
        where = f"https://{host}:{served.port}"
        said = served_at(where, served.certificates.certificate)
        async with api_server() as server:
            script(server, a_lease(), [a_replica("other_1", {}), a_replica(LEADER, said)])
            server.then("GET", FORWARD, forwards(served.port))
            async with operator_of(tmp_path, server) as operator:
                assert isinstance(operator, ReachedOperator)
                assert operator.name == LEADER
            asked = [
                request.query["ports"] for request in server.requests if "ports" in request.query
            ]
            assert asked == ([str(served.port)] if host == "moorage-0" else [])

    run(scenario)


@pytest.mark.parametrize(
    ("holder", "said", "why"),
    [
        ("", {}, "nobody leads"),
        (LEADER, {}, f"{LEADER} does not say at which https address"),
        (
            LEADER,
            served_at("https://elsewhere:10259", "none"),
            "port 10259 of pod moorage-system/moorage-0 cannot be reached: https://127.0.0.1:",
        ),
        (
            LEADER,
            served_at("https://127.0.0.1:1", "none"),
            f"{LEADER} does not answer at https://127.0.0.1:1: https://127.0.0.1:1: its cert",
        ),
    ],
    ids=["no leader", "an older version", "no certificate", "not here either"],
)
def test_there_is_none(holder: str, said: dict[str, str], why: str, tmp_path: Path) -> None:
    """It is said why."""

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(holder), [a_replica(LEADER, said)])
            async with operator_of(tmp_path, server) as operator:
                assert isinstance(operator, UnreachedOperator)
                assert operator.why.startswith(why)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "holder",
    [
        "moorage-0/portforward?ports=1#_1",
        "../../kube-system/pods/dns_1",
        "..%2F..%2Fkube-system%2Fpods%2Fdns_1",
        ".._1",
        "Moorage-0_1",
        "_1",
        "moorage-0",
    ],
)
def test_a_holder_that_is_no_pod(holder: str, tmp_path: Path) -> None:
    """Nothing is asked by what it says: who writes Leases chooses no paths for others."""

    async def scenario() -> None:
        async with api_server() as server:
            said = served_at("https://elsewhere:1", "none")
            script(server, a_lease(holder), [a_replica(holder, said)])
            async with operator_of(tmp_path, server) as operator:
                assert operator == UnreachedOperator(
                    f"{holder} names no pod whose port could be forwarded"
                )
            assert {request.path for request in server.requests} == {
                "/version",
                PROFILES,
                LEASES,
                f"{LEASES}/moorage",
            }

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1",
        "https://[fe80]:1",
        "https://127.0.0.1:99999",
        "https://127.0.0.1:no",
        "https://127.0.0.1:0",
        "https://127.0.0.1",
        "https://:1",
        "http://127.0.0.1:1",
        "127.0.0.1:1",
        "\x00",
        "",
    ],
)
def test_an_address_that_is_none(url: str, tmp_path: Path) -> None:
    """It is as if nothing had been said."""

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(), [a_replica(LEADER, served_at(url, "none"))])
            async with operator_of(tmp_path, server) as operator:
                assert isinstance(operator, UnreachedOperator)
                assert operator.why.startswith(f"{LEADER} does not say at which https address")

    asyncio.run(scenario())


@pytest.mark.parametrize("url", ["https://a:b@127.0.0.1:{}", "https://127.0.0.1:{}/x?y#z"])
def test_only_host_and_port_of_an_address_count(url: str, tmp_path: Path) -> None:
    """Neither a user nor a path that a Lease says is shown to anybody."""

    async def scenario(served: Serving) -> None:
        said = served_at(url.format(served.port), served.certificates.certificate)
        async with api_server() as server:
            script(server, a_lease(), [a_replica(LEADER, said)])
            async with operator_of(tmp_path, server) as operator:
                assert isinstance(operator, ReachedOperator)
                assert operator.session.server == f"https://127.0.0.1:{served.port}"

    run(scenario)


@pytest.mark.parametrize("claim", ["../moorage", "moorage-system/..", "moorage-system/a/b", "A/b"])
def test_a_claim_that_names_no_lease(claim: str, tmp_path: Path) -> None:
    """The usual installation is looked at, and nothing else."""

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(), [], [a_profile("a", claim)])
            async with connected(kubeconfig(tmp_path, server.url)) as connection:
                around = await surroundings(connection)
            assert around.installation is not None
            assert around.installation.leader == LEADER
            assert {request.path for request in server.requests} == {
                "/version",
                PROFILES,
                LEASES,
                f"{LEASES}/moorage",
            }

    asyncio.run(scenario())


def test_the_right_that_is_missing(tmp_path: Path) -> None:
    """Is named."""

    async def scenario(served: Serving) -> None:
        said = served_at("https://moorage-0:1", served.certificates.certificate)
        async with api_server() as server:
            script(server, a_lease(), [a_replica(LEADER, said)])
            server.then("GET", FORWARD, status(403))
            async with operator_of(tmp_path, server) as operator:
                assert isinstance(operator, UnreachedOperator)
                assert "get and create pods/portforward in namespace moorage-system" in operator.why

    run(scenario)


@pytest.mark.parametrize(
    ("server", "why"),
    [("none", "--server none"), ("https://127.0.0.1:1", "no answer from https://127.0.0.1:1")],
)
def test_one_that_was_named(server: str, why: str, tmp_path: Path) -> None:
    """Nobody else is asked."""

    async def scenario(served: Serving) -> None:
        said = served_at(f"https://127.0.0.1:{served.port}", served.certificates.certificate)
        async with api_server() as api:
            script(api, a_lease(), [a_replica(LEADER, said)])
            async with operator_of(tmp_path, api, OperatorChoice(server)) as operator:
                assert isinstance(operator, UnreachedOperator)
                assert operator.why.startswith(why)
            with pytest.raises(WrongUse, match="must begin with https://"):
                async with operator_of(tmp_path, api, OperatorChoice("http://a")):
                    pass

    run(scenario)


@pytest.mark.parametrize(
    ("labels", "namespace"), [({"moorage.dev/home": "true"}, "theirs"), ({}, "moorage-system")]
)
def test_whose_leases_count(labels: dict[str, str], namespace: str, tmp_path: Path) -> None:
    """Those at home there, whatever a status says: tenants write Leases in their namespaces."""

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(), [], [a_profile("a", "theirs/moorage")])
            theirs = LEASES.replace("moorage-system", "theirs")
            server.then(
                "GET",
                "/api/v1/namespaces/theirs",
                answers({"metadata": {"name": "theirs", "labels": labels}}),
            )
            server.then("GET", theirs, answers({"items": []}))
            server.then("GET", f"{theirs}/moorage", answers(a_lease("evil_1")))
            async with connected(kubeconfig(tmp_path, server.url)) as connection:
                around = await surroundings(connection)
            assert around.installation is not None
            assert around.installation.namespace == namespace

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("holder", "ages", "led"),
    [
        (LEADER, [0], True),
        (LEADER, [60], False),
        (LEADER, [60, 57], True),
        ("", [0], False),
    ],
    ids=["renewed", "run out", "our clock is ahead", "given back"],
)
def test_whether_somebody_leads(
    holder: str,
    ages: list[int],
    led: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Lease that seems to have run out is looked at twice: clocks may differ."""
    monkeypatch.setattr(looking, "LEASE_AGAIN_SECONDS", 0.0)

    async def scenario() -> None:
        leases = [a_lease(holder, a_time(age)) for age in ages]
        async with api_server() as server:
            script(server, leases[0], [])
            for lease in leases[1:]:
                server.then("GET", f"{LEASES}/moorage", answers(lease))
            async with connected(kubeconfig(tmp_path, server.url)) as connection:
                assert (await surroundings(connection)).led is led

    asyncio.run(scenario())


def test_what_may_not_be_seen(tmp_path: Path) -> None:
    """Without a right to see Leases the profiles are there all the same; without our kinds nothing
    is.
    """

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            server.then(
                "GET", PROFILES, answers({"items": [a_profile("b"), a_profile("a")]}), status(404)
            )
            server.then("GET", f"{LEASES}/moorage", status(403))
            async with connected(kubeconfig(tmp_path, server.url)) as connection:
                around = await surroundings(connection)
                assert [one["metadata"]["name"] for one in around.profiles] == ["a", "b"]
                assert (around.installation, around.led) == (None, None)
                assert around.why.endswith("it takes get and list leases")
                with pytest.raises(NotInstalled, match="moorage crds"):
                    await surroundings(connection)

    asyncio.run(scenario())
