"""Kopf itself, embedded, against a tiny API server."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.handlers import kopf_operator
from moorage.handlers.admission_handler import Admission
from moorage.handlers.kopf_operator import EmbeddedKopf, KopfConnection
from moorage.ports.http_calls import HttpCall
from tests.handlers.fake_api import FakeApi


class RecordingReceiver:
    """A receiver that keeps what it was told."""

    def __init__(self) -> None:
        self.profiles: dict[str, Any] = {}
        self.configs: dict[str, Any] = {}
        self.is_listed = False

    def profile_changed(self, name: str, body: Mapping[str, Any] | None) -> None:
        """A profile's state."""
        self.profiles[name] = body["spec"] if body is not None else None

    def plugin_config_changed(self, name: str, body: Mapping[str, Any] | None) -> None:
        """A config's state."""
        self.configs[name] = body["spec"] if body is not None else None

    def listed(self) -> None:
        """All has been seen."""
        self.is_listed = True


async def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what other tasks and a socket bring about."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def kopf_on(
    api: FakeApi,
    engine: RecordingReceiver,
    kubeconfig: str = "",
    admission: Admission | None = None,
) -> AsyncIterator[tuple[EmbeddedKopf, KubeSession]]:
    """Kopf at work, the comparison beside it; all ended afterwards."""
    async with api.serve() as server:
        clock = SystemClock()
        session = await KubeSession.open(KubeSource(kubeconfig, server), "test", clock)
        embedded = EmbeddedKopf(
            engine, KopfConnection(server, session.new_client_session, session, clock), admission
        )
        assert str(embedded.problem) == "profiles are not listed yet"
        await embedded.start()
        try:
            yield embedded, session
            assert (embedded.problem is None) == engine.is_listed
        finally:
            await embedded.stop()
            await session.close()


def test_events_of_both_kinds_reach_the_engine_and_nothing_is_written() -> None:
    """Listed, made, changed and deleted objects are told; Kopf sends no request but GET, and asks
    for nothing it has no right to.
    """

    async def scenario() -> None:
        api, engine = FakeApi(), RecordingReceiver()
        api.put("schedulerprofiles", "there", preset="Spread")
        async with kopf_on(api, engine):
            await eventually(lambda: engine.is_listed)
            assert engine.profiles == {"there": {"preset": "Spread"}}
            api.put("pluginconfigs", "made", plugin="NodeName")
            api.put("schedulerprofiles", "there", preset="BinPack")
            await eventually(
                lambda: (
                    engine.configs == {"made": {"plugin": "NodeName"}}
                    and engine.profiles == {"there": {"preset": "BinPack"}}
                )
            )
            api.delete("schedulerprofiles", "there")
            await eventually(lambda: engine.profiles == {"there": None})
        assert {method for method, _ in api.requests} == {"GET"}
        assert not [path for _, path in api.requests if "namespaces" in path]

    asyncio.run(scenario())


def test_it_starts_for_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an image has one: a number that no list of users knows."""

    def nobody(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    async def scenario() -> None:
        api, engine = FakeApi(), RecordingReceiver()
        async with kopf_on(api, engine):
            await eventually(lambda: engine.is_listed)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    asyncio.run(scenario())


def test_a_bind_in_flight_survives_kopfs_stop() -> None:
    """Kopf ends its own tasks only: a request of ours that was under way is answered, and new ones
    are possible.
    """

    async def scenario() -> None:
        api, engine = FakeApi(), RecordingReceiver()
        arrived, answer = asyncio.Event(), asyncio.Event()

        async def bind(_request: web.Request) -> web.Response:
            arrived.set()
            await answer.wait()
            return web.json_response({}, status=201)

        api.app.router.add_post("/api/v1/namespaces/default/pods/a/binding", bind)
        async with kopf_on(api, engine) as (embedded, session):
            await eventually(lambda: engine.is_listed)
            call = HttpCall("POST", "/api/v1/namespaces/default/pods/a/binding", b"{}")
            binding = asyncio.create_task(session.call(call))
            await arrived.wait()
            await embedded.stop()
            assert all(task.done() for task in embedded.tasks)
            assert not binding.done()
            answer.set()
            assert await binding == b"{}"
            assert await session.call(call) == b"{}"

    asyncio.run(scenario())


def test_a_replaced_token_is_used_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a 401 Kopf logs in again, at a measured pace, and goes on with the new token."""
    monkeypatch.setattr(kopf_operator, "LOGIN_INTERVAL_SECONDS", 0.3)
    token_file = tmp_path / "token"
    token_file.write_text("old")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "http://unused"}}}}]
users: [{{name: u, user: {{tokenFile: {token_file}}}}}]
"""
    )

    async def scenario() -> None:
        api, engine = FakeApi(), RecordingReceiver()
        api.refuse = {"Bearer old": 401}
        async with kopf_on(api, engine, str(kubeconfig)) as (_, session):
            await asyncio.sleep(1.0)
            assert 2 <= len(api.requests) < 60, "logins are to be paced"
            assert not engine.is_listed
            token_file.write_text("new")
            await session.call(HttpCall("GET", "/api"))
            await eventually(lambda: engine.is_listed)
            api.put("schedulerprofiles", "a")
            await eventually(lambda: "a" in engine.profiles)

    asyncio.run(scenario())


def test_an_outage_ends_no_watcher() -> None:
    """Kopf's attempts never run out: an outage may last as long as it likes."""
    waits = list(itertools.islice(iter(kopf_operator.KopfBackoffs()), 10_000))
    assert waits[:6] == [1, 1, 2, 3, 5, 8]
    assert set(waits[5:]) == {8}
    assert not hasattr(kopf_operator.KopfBackoffs(), "__len__"), "Kopf would count the attempts"


def test_settings_leave_the_process_and_the_objects_alone() -> None:
    """No SIGKILL of Kopf's, no events of Kopf's."""
    made = kopf_operator.settings()
    assert made.process.ultimate_exiting_timeout is None
    assert made.posting.enabled is False


def test_kopf_does_not_tell_of_every_event() -> None:
    """The logger of objects is quiet below warnings."""

    async def scenario() -> None:
        async with kopf_on(FakeApi(), RecordingReceiver()):
            assert logging.getLogger("kopf.objects").level == logging.WARNING

    asyncio.run(scenario())
