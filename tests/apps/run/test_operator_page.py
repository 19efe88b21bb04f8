"""The page of a running engine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest

from moorage.apps.run import operator_page
from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.operator_page import HAS, OperatorPage
from moorage.apps.run.side_loop import OneLoop, Question
from moorage.apps.ui.questions import parse
from moorage.core.objects.meta import HasMetadata
from moorage.core.simulation.measures import ZONE
from moorage.ports.requesters import Denied
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import versioned

T = TypeVar("T")


def page_of(world: Running) -> OperatorPage:
    """Of this engine."""
    side = OneLoop()
    return OperatorPage(
        world.engine, side, LiveExplanations(world.engine, side, "moorage-1"), "moorage-1"
    )


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
    async with Running().leading() as world:
        node = versioned(make_node("zoned", labels={ZONE: "z1"}))
        pod = versioned(make_pod("web", node_selector={ZONE: "z1"}, priority=7))
        for one in (node, pod):
            world.kube.put(one)
        await world.clock.advance(2)
        side = Leaving(world, (pod, node))
        page = OperatorPage(
            world.engine, side, LiveExplanations(world.engine, side, "moorage-1"), "moorage-1"
        )
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
    async with Running().leading() as world:
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
    async with Running().leading() as world:
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
            for document, query in (
                ("pod", {"name": "default/none"}),
                ("timeline", {}),
                ("status", {"at": "2026-11-27T14:32:08Z"}),
                ("pod", {"name": "default/web", "profile": "x"}),
            ):
                with pytest.raises(Denied) as denied:
                    await ask(document, **query)
                assert denied.value.status == 404
        assert world.engine.cache.nodes.order.names == before
