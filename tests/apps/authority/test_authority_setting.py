"""Which authority a Secret gets, and who is told to believe it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.adapters.admission_certificates import AUTHORITY_LIFETIME, authorities
from moorage.apps.authority import authority_setting
from moorage.apps.authority.authority_setting import (
    MUTATING,
    RENEW_BEFORE,
    VALIDATING,
    Installed,
    Steps,
    believed,
    due,
    until,
)
from moorage.apps.exit_status import ExitStatus, NoAnswer
from moorage.apps.worlds.cluster_choice import ClusterChoice
from tests.adapters.api_server import StubApiServer, answers, api_server

PLACE = Installed("moorage-system", "moorage")
NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
SECRET = "/api/v1/namespaces/moorage-system/secrets/moorage-admission-tls"
WEBHOOK = f"{VALIDATING}/moorage"
ASSIGN = f"{MUTATING}/moorage-assign"


def test_an_authority_is_made_where_it_is_due() -> None:
    """Where there is none, before it ends, or when one is asked for."""
    made = due({}, PLACE, NOW)
    assert until(made) == NOW + AUTHORITY_LIFETIME
    late = until(made) - RENEW_BEFORE
    assert due(made, PLACE, late - DAY) == made
    for again in (due(made, PLACE, late), due(made, PLACE, NOW, renew=True)):
        assert again["ca.crt"] != made["ca.crt"]
        assert again["previous-ca.crt"] == made["ca.crt"]


def test_one_without_a_key_is_somebody_elses() -> None:
    """It is believed, and stays, whatever was asked for."""
    theirs = {"ca.crt": due({}, PLACE, NOW)["ca.crt"], "tls.crt": b"c", "tls.key": b"k"}
    assert due(theirs, PLACE, NOW, renew=True) == theirs


def test_what_is_no_certificate_is_told() -> None:
    """With what helps."""
    spoilt = {"ca.crt": b"nonsense", "ca.key": b"nonsense"}
    with pytest.raises(NoAnswer, match="--renew makes another one"):
        due(spoilt, PLACE, NOW)
    assert due(spoilt, PLACE, NOW, renew=True)["previous-ca.crt"] == b"nonsense"


def test_all_webhooks_believe_it() -> None:
    """The rest of them stays."""
    service = {"name": "moorage-admission", "port": 443}
    webhooks = {
        "metadata": {"name": "moorage"},
        "webhooks": [
            {"name": "a", "clientConfig": {"service": service}},
            {"name": "b", "clientConfig": {"service": service, "caBundle": "old"}},
        ],
    }
    client = {"service": service, "caBundle": base64.b64encode(b"PEM").decode()}
    assert believed(webhooks, b"PEM") == {
        "metadata": {"name": "moorage"},
        "webhooks": [
            {"name": "a", "clientConfig": client},
            {"name": "b", "clientConfig": client},
        ],
    }


@contextlib.asynccontextmanager
async def cluster(
    folder: Path, *, stored: bool = True
) -> AsyncIterator[tuple[StubApiServer, ClusterChoice]]:
    """An API server that has webhooks, and an empty Secret where it is ``stored``."""
    async with api_server() as server:
        config = {
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "c",
        }
        (folder / "kubeconfig").write_text(json.dumps(config))
        webhooks = {
            "metadata": {"resourceVersion": "8"},
            "webhooks": [{"name": "a", "clientConfig": {"service": {}}}],
        }
        server.then("GET", "/version", answers({"gitVersion": "v1.37.2"}))
        if stored:
            server.then("GET", SECRET, answers({"metadata": {"resourceVersion": "7"}}))
        server.then("GET", WEBHOOK, answers(webhooks))
        server.then("PUT", SECRET, answers({}))
        server.then("POST", SECRET.rpartition("/")[0], answers({}))
        server.then("PUT", WEBHOOK, answers({}))
        yield server, ClusterChoice(str(folder / "kubeconfig"))


def written(server: StubApiServer) -> list[tuple[str, Any]]:
    """What was written where."""
    sent = zip(server.requests, server.bodies, strict=True)
    return [(one.path, json.loads(body)) for one, body in sent if one.method != "GET"]


def test_api_servers_believe_it_before_it_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both are written over the versions that were read."""

    async def scenario() -> None:
        async with cluster(tmp_path) as (server, choice):
            status = await asyncio.to_thread(authority_setting.run, choice, PLACE, Steps())
            assert status is ExitStatus.YES
            (first, webhooks), (then, secret) = written(server)
            assert (first, then) == (WEBHOOK, SECRET)
            assert webhooks["metadata"]["resourceVersion"] == "8"
            assert secret["metadata"]["resourceVersion"] == "7"
            data = {key: base64.b64decode(value) for key, value in secret["data"].items()}
            bundle = webhooks["webhooks"][0]["clientConfig"]["caBundle"]
            assert base64.b64decode(bundle) == authorities(data)

    asyncio.run(scenario())
    believe, has = capsys.readouterr().out.splitlines()
    assert believe == "validatingwebhookconfigurations/moorage believes the authority"
    assert has.startswith("Secret moorage-system/moorage-admission-tls has an authority until 20")


def test_where_there_is_no_secret_one_is_made(tmp_path: Path) -> None:
    """With the labels of the installation's objects; webhooks for pods believe the authority, too,
    where there are any.
    """

    async def scenario() -> None:
        async with cluster(tmp_path, stored=False) as (server, choice):
            webhooks = {"webhooks": [{"name": "a", "clientConfig": {"service": {}}}]}
            server.then("GET", ASSIGN, answers(webhooks))
            server.then("PUT", ASSIGN, answers({}))
            await asyncio.to_thread(authority_setting.run, choice, PLACE, Steps())
            paths = [path for path, _ in written(server)]
            assert paths == [WEBHOOK, ASSIGN, SECRET.rpartition("/")[0]]
            made = written(server)[-1][1]
            assert made["metadata"]["name"] == "moorage-admission-tls"
            assert made["metadata"]["labels"]["app.kubernetes.io/instance"] == "moorage"
            assert made["data"].keys() == {"ca.crt", "ca.key"}

    asyncio.run(scenario())


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says the same."""

    async def scenario() -> None:
        async with cluster(tmp_path) as (server, choice):
            steps = Steps(dry_run=True)
            await asyncio.to_thread(authority_setting.run, choice, PLACE, steps)
            assert not written(server)

    asyncio.run(scenario())
    assert [line[:9] for line in capsys.readouterr().out.splitlines()] == ["would do:"] * 2


def test_where_the_component_is_missing(tmp_path: Path) -> None:
    """That is what is said."""

    async def missing(_: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)

    async def scenario() -> None:
        async with cluster(tmp_path) as (server, choice):
            server.then("GET", f"{VALIDATING}/other", missing)
            place = Installed("moorage-system", "other")
            with pytest.raises(NoAnswer, match="apply the component admission first"):
                await asyncio.to_thread(authority_setting.run, choice, place, Steps())

    asyncio.run(scenario())
