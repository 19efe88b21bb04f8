"""The page of a running engine."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from moorage.adapters.kube_session import KubeSession
from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.api import bodies
from moorage.apps.run import operator_page
from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.operator_page import HAS, OperatorPage
from moorage.apps.run.operator_profiles import STANDS_BY, OperatorProfiles
from moorage.apps.run.recent_rates import RecentRates
from moorage.apps.run.side_loop import OneLoop, Question, Side
from moorage.apps.ui.questions import parse
from moorage.apps.worlds.reaching import Connection, connected
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import PodSchedulingGroup
from moorage.core.simulation.measures import ZONE
from moorage.ports.errors import Retryable
from moorage.ports.http_calls import HttpCall
from moorage.ports.kube import StoredRevision
from moorage.ports.requesters import Denied
from tests.adapters.api_server import StubApiServer, answers, api_server
from tests.apps.reach.surroundings import a_lease, a_replica, script
from tests.apps.ui.harbor import TRIAL
from tests.apps.worlds.test_from_cluster import kubeconfig
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import a_body, versioned
from tests.fakes.election import FakeElection

T = TypeVar("T")


def running() -> Running:
    """An engine that calls itself moorage-1."""
    return Running(election=FakeElection(identity="moorage-1"))


class Unreached:
    """A session with an API server that does not answer."""

    async def call(self, _: HttpCall) -> bytes:
        raise Retryable("it is away")


def page_of(
    world: Running, side: Side | None = None, connection: Connection | None = None
) -> OperatorPage:
    """Of this engine. Without a connection it cannot ask the API server for anything."""
    side = side or OneLoop()
    rates = RecentRates(PrometheusTelemetry().attempt_durations, world.clock)
    session = cast(KubeSession, connection.session if connection else Unreached())
    known = OperatorProfiles(world.engine, side, session, rates, world.resolver)
    explanations = LiveExplanations(world.engine, side, "moorage-1")
    return OperatorPage(world.engine, side, explanations, known)


class Leaving(OneLoop):
    """After each answer of the main loop all these objects are gone from it."""

    def __init__(self, world: Running, leaving: Sequence[HasMetadata]) -> None:
        self._world = world
        self._leaving = leaving

    async def ask(self, question: Question[T], seconds: float = 0.0) -> T:
        answer = await question()
        for one in self._leaving:
            self._world.kube.delete(one)
        self._leaving = ()
        await self._world.clock.advance(1)
        return answer


@in_a_loop
async def test_a_pod_is_of_one_moment() -> None:
    """It is told with all that its explanation names as it was then, though it has gone since."""
    async with running().leading() as world:
        node = versioned(make_node("zoned", labels={ZONE: "z1"}))
        pod = versioned(make_pod("web", node_selector={ZONE: "z1"}, priority=7))
        for one in (node, pod):
            world.kube.put(one)
        await world.clock.advance(2)
        side = Leaving(world, (pod, node))
        page = page_of(world, side)
        try:
            found = await page.document(parse("pod", {"name": "default/web"}))
        finally:
            await page.close()
        assert world.engine.cache.nodes.row_of.get("zoned") is None
        assert (found["verdict"], found["node"], found["priority"]) == ("Bound", "zoned", 7)
        assert found["zones"]["zoned"] == "z1"


@in_a_loop
async def test_a_pod_is_made_into_a_document_on_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lease's side loop has no time for it."""
    threads = []

    def told(*args: Any) -> Any:
        threads.append(threading.current_thread().name)
        return {}

    monkeypatch.setattr(operator_page, "for_page", told)
    async with running().leading() as world:
        world.kube.put(versioned(make_pod("web")))
        await world.clock.advance(2)
        page = page_of(world)
        try:
            await page.document(parse("pod", {"name": "default/web"}))
        finally:
            await page.close()
    assert threads == ["page_0"]


@in_a_loop
async def test_its_documents() -> None:
    """What the engine knows; its own state stays as it is."""
    async with running().leading() as world:
        for pod in (make_pod("big", cpu="9"), make_pod("web")):
            world.kube.put(versioned(pod))
        await world.clock.advance(2)
        before = world.engine.cache.nodes.order.names
        page = page_of(world)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(page.close)

            async def ask(document: str, **query: str) -> Any:
                return await page.document(parse(document, query))

            overview = await ask("overview")
            assert (overview["pods"], overview["waiting"], overview["live"]) == (1, 1, True)
            assert overview["has"] == [*HAS]
            assert overview["source"] == "the operator, moorage-1"
            nodes = await ask("nodes")
            assert sum(nodes["pods"]) == 1
            assert (await ask("queue"))["pods"][0]["pod"] == "default/big"
            pod = await ask("pod", name="default/big")
            assert (pod["verdict"], pod["wait"]["queue"]) == ("Pending", "unschedulable")
            assert pod["answer"].startswith("None of 2 nodes takes default/big")
            assert "NodeResourcesFit" in pod["plugins"]
            bound = await ask("pod", name="default/web")
            assert bound["node"] == world.node("web")
            assert set(bound["zones"]) >= {bound["node"]}
            tried = await ask("pod", name="default/web", profile="test")
            assert (tried["verdict"], tried["candidateFile"]) == ("WouldBePlaced", "test")
            assert tried["answer"].startswith("Would be placed on ")
            for document, query in (
                ("pod", {"name": "default/none"}),
                ("timeline", {}),
                ("status", {"at": "2026-11-27T14:32:08Z"}),
                ("trial", {"profile": "tests"}),
                ("pod", {"name": "default/web", "profile": "x"}),
            ):
                with pytest.raises(Denied) as denied:
                    await ask(document, **query)
                assert denied.value.status == 404
        assert world.engine.cache.nodes.order.names == before


@in_a_loop
async def test_the_groups_that_wait() -> None:
    """Those of the queue where this replica leads; a standby says nothing of any."""
    async with running().leading() as world:
        pod = make_pod("a", scheduling_group=PodSchedulingGroup("g"))
        world.kube.put(versioned(pod))
        await world.clock.advance(2)
        async with contextlib.AsyncExitStack() as stack:
            page = page_of(world)
            stack.push_async_callback(page.close)
            (group,) = (await page.document(parse("status", {})))["groups"]
    assert (group["group"], group["waiting"], group["minCount"]) == ("default/g", 1, None)
    assert "there is no PodGroup default/g" in group["why"]


# ---- profiles ------------------------------------------------------------------------------------

REVISIONS = "/apis/apps/v1/namespaces/moorage-system/controllerrevisions"


@contextlib.asynccontextmanager
async def opened(
    world: Running, folder: Path, *, leads: bool = True
) -> AsyncIterator[tuple[OperatorPage, StubApiServer]]:
    """The page of a running engine whose API server knows its Leases and its stored revisions."""
    async with (
        world.leading(a_body("batch", schedulerName="slow"), lead=leads),
        api_server() as api,
    ):
        replicas = [a_replica("moorage-1", {}), a_replica("moorage-2", {})]
        script(api, a_lease("moorage-1" if leads else "moorage-2"), replicas)
        kept = [controller_revision(one) for one in world.kube.stored.values()]
        api.then("GET", "/version", answers({"gitVersion": "v1.36.1"}))
        api.then("GET", REVISIONS, answers({"items": kept}))
        async with connected(kubeconfig(folder, api.url)) as connection:
            page = page_of(world, connection=connection)
            try:
                yield page, api
            finally:
                await page.close()


def controller_revision(stored: StoredRevision) -> dict[str, Any]:
    """As the API server has it."""
    metadata = {"name": stored.name, "creationTimestamp": "2026-11-27T14:32:08Z"}
    return {"metadata": metadata, "revision": stored.number, "data": stored.data}


def as_written(world: Running) -> None:
    """The status that the engine wrote comes back with the watch."""
    record = world.engine.records.profiles["batch"]
    status = world.kube.statuses["SchedulerProfile", "batch"]
    world.engine.profile_changed("batch", bodies.kept({**record.body, "status": status}))


@in_a_loop
async def test_the_leader_tells_of_profiles(tmp_path: Path) -> None:
    """As `moorage status`, `queue`, `history`, `trial` and `diff` do; its queue has positions."""
    world = running()
    async with opened(world, tmp_path) as (page, _):
        for pod in (
            make_pod("big", cpu="9", scheduler_name="slow"),
            make_pod("web", scheduler_name="slow"),
        ):
            world.kube.put(versioned(pod))
        await world.clock.advance(8)
        as_written(world)

        async def ask(document: str, **query: str) -> Any:
            return await page.document(parse(document, query))

        status = await ask("status")
        (line,) = status["profiles"]
        assert status["answer"].startswith("Profile batch runs what its spec says. 0.0 pods/s")
        assert (line["name"], line["schedulerName"], line["pods"]) == ("batch", "slow", 1)
        assert line["queue"]["unschedulable"] == 1
        roles = {one["name"]: one["role"] for one in status["replicas"]}
        assert roles == {"moorage-1": "Leader", "moorage-2": "Standby"}
        assert (status["kind"], status["leftOut"]) == ("Status", [])
        queue = await ask("queue")
        assert queue["ordered"]
        assert queue["pods"][0]["attempts"] >= 1
        revision = line["activeRevision"]
        history = await ask("history", profile="batch")
        assert [one["revision"] for one in history["revisions"]] == [revision]
        assert (await ask("trial", profile="batch"))["trial"] is None
        same = await ask("diff", a="batch", b=f"batch@{revision}")
        assert (same["kind"], same["differences"]) == ("Difference", [])
        assert (await ask("find", text="bat"))["profiles"] == ["batch"]
        assert (await ask("overview"))["version"] == "v1.36.1"


@in_a_loop
async def test_a_standby_says_what_only_the_leader_knows(tmp_path: Path) -> None:
    """Its profiles are as its watch shows them."""
    async with opened(running(), tmp_path, leads=False) as (page, _):
        status = await page.document(parse("status", {}))
        assert (status["rates"], status["groups"], status["leftOut"]) == (None, None, [STANDS_BY])
        queue = await page.document(parse("queue", {}))
        assert (queue["ordered"], queue["leftOut"]) == (False, [STANDS_BY])


@in_a_loop
async def test_a_profile_that_changes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To who listens: a trial's status alone changes no number."""
    monkeypatch.setattr(operator_page, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(operator_page, "RATE_LOOKS", 10**9)
    world = running()
    async with opened(world, tmp_path) as (page, _):
        await page.document(parse("trial", {"profile": "batch"}))
        async with asyncio.timeout(10):
            while page.changes.number < 3:  # opened, numbers, the profile as it is
                await page.changes.wait(page.changes.number)
        before = page.changes.number
        body = world.engine.records.profiles["batch"].body
        tried = {**body, "status": {"trial": TRIAL}}
        world.engine.profile_changed("batch", bodies.kept(tried))
        async with asyncio.timeout(10):
            await page.changes.wait(before)
        assert "trial" in page.changes.since(before)
        found = await page.document(parse("trial", {"profile": "batch"}))
        assert found["trial"]["revision"] == TRIAL["revision"]


@in_a_loop
async def test_the_api_server_is_asked_seldom(tmp_path: Path) -> None:
    """However many look at the page at once."""
    async with opened(running(), tmp_path) as (page, api):
        await asyncio.gather(*(page.document(parse("status", {})) for _ in range(9)))
        asked = [one for one in api.requests if one.path.endswith("/leases/moorage")]
        assert len(asked) == 1
