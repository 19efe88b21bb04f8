"""The page of a running engine."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.operator_page import HAS, OperatorPage
from moorage.apps.run.side_loop import OneLoop
from moorage.apps.ui.questions import parse
from moorage.ports.requesters import Denied
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import versioned


def page_of(world: Running) -> OperatorPage:
    """Of this engine."""
    side = OneLoop()
    return OperatorPage(
        world.engine, side, LiveExplanations(world.engine, side, "moorage-1"), "moorage-1"
    )


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
