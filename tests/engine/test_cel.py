"""Expressions in a PluginConfig: an edit decides from the next pod on, a bad one never, and a slow
one holds nobody up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from moorage.core.plugins.cel import arguments, cached_results
from moorage.core.plugins.cel.arguments import evaluated
from moorage.core.plugins.cel.program import CELProgram
from moorage.engine.slices import MAX_DECISION_SECONDS, TOO_LONG_MESSAGE
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body, a_config
from tests.fakes.kube import InMemoryKube

PROFILE = a_body(
    "test",
    plugins={"multiPoint": {"enabled": [{"name": "CEL"}]}},
    pluginConfig=[{"name": "CEL", "configRef": {"name": "rules"}}],
)


def rules(generation: int, *filters: str, scores: tuple[str, ...] = ()) -> dict[str, Any]:
    """The PluginConfig ``rules``."""
    expressions: dict[str, Any] = {
        "filters": [{"expression": text} for text in filters],
        "scores": [{"expression": text} for text in scores],
    }
    return a_config("rules", generation=generation, plugin="CEL", **expressions)


def only(node: str) -> str:
    """A filter that is true of one node."""
    return f'node.metadata.name == "{node}"'


async def told(world: Running, config: dict[str, Any]) -> None:
    """The PluginConfig is in this state, and what follows from that has been done."""
    world.engine.plugin_config_changed("rules", config)
    await world.clock.advance(1)


async def placed(world: Running, name: str) -> str:
    """Where a new pod goes, "" for nowhere."""
    world.kube.put(make_pod(name))
    await world.clock.advance(0.5)
    return world.node(name)


def test_an_edit_decides_from_the_next_pod_on() -> None:
    """Another filter, another node; a broken edit is told with its place, and the last good one
    goes on.
    """

    async def scenario() -> None:
        async with Running().leading(PROFILE, nodes=3) as world:
            await told(world, rules(1, only("n2")))
            assert await placed(world, "a") == "n2"
            before = len(world.notes("Rejected"))
            await told(world, rules(2, only("n3")))
            assert await placed(world, "b") == "n3"
            await told(world, rules(3, "true", 'node.metadata.nam == "n1"'))
            assert await placed(world, "c") == "n3"
            (note,) = world.notes("Rejected")[before:]
            assert (
                "args.filters[1].expression: 'node.metadata.nam == \"n1\"': 1:14: undeclared "
                "reference to 'node.metadata.nam'"
            ) in note
            assert 'did you mean "node.metadata.name"?' in note
            await told(world, rules(4, "true", scores=('node.metadata.name == "n1" ? 100 : 0',)))
            assert await placed(world, "d") == "n1"

    asyncio.run(scenario())


def test_a_refused_pod_is_told_why_and_waits_for_what_helps() -> None:
    """Failures are in the reasons and counted; a label that a filter reads wakes the pod, another
    one does not.
    """

    async def scenario() -> None:
        async with Running().leading(PROFILE, nodes=2) as world:
            await told(world, rules(1, 'node.metadata.labels.gpu == "a100"'))
            world.kube.put(make_node("n3", labels={"gpu": "t4"}))
            assert await placed(world, "a") == ""
            (note,) = world.notes("FailedScheduling")
            text = 'the CEL filter node.metadata.labels.gpu == "a100"'
            assert (
                f"1 node(s) didn't satisfy {text}, 2 node(s) on which {text} fails: no such "
                f"key: gpu."
            ) in note
            assert world.telemetry.counts["CEL", "filter"] == 1
            world.kube.put(make_node("n1", labels={"other": "x"}))
            await world.clock.advance(30)
            assert len(world.notes("FailedScheduling")) == 1
            world.kube.put(make_node("n1", labels={"gpu": "a100"}))
            await world.clock.advance(30)
            assert world.node("a") == "n1"

    asyncio.run(scenario())


def test_an_expression_that_does_not_end_ends_its_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """After MAX_DECISION_SECONDS; what was found by then is kept for the next one."""
    evaluations: list[str] = []
    cached_results._results_of.cache_clear()

    async def scenario() -> None:
        async with Running().leading(PROFILE, nodes=15) as world:

            def slowly(program: CELProgram, values: Mapping[str, Any]) -> Any:
                evaluations.append(values["node.metadata.name"])
                world.clock.jump(MAX_DECISION_SECONDS / 10)
                return evaluated(program, values)

            await told(world, rules(1, only("n2")))
            monkeypatch.setattr(cached_results, "evaluated", slowly)
            assert await placed(world, "a") == ""
            await world.clock.advance(30)
            (note,) = world.notes("FailedScheduling")
            assert TOO_LONG_MESSAGE in note
            assert world.node("a") == "n2"
        assert len(evaluations) == len({*evaluations}) == 15

    asyncio.run(scenario())


def test_what_was_good_is_not_measured_again_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a machine that is slower than then, a new expression is refused, and the old one decides
    on.
    """

    async def scenario() -> None:
        kube = InMemoryKube()
        async with Running(kube).leading(PROFILE, nodes=2) as world:
            await told(world, rules(1, only("n2")))
            assert await placed(world, "a") == "n2"
        kube.pod_sinks.clear()
        kube.node_sinks.clear()
        monkeypatch.setattr(arguments, "MAX_EVALUATION_SECONDS", -1.0)
        second = Running(kube)
        second.engine.plugin_config_changed("rules", rules(1, only("n2")))
        await second.engine.restore()
        async with second.leading(PROFILE, nodes=2) as world:
            assert await placed(world, "b") == "n2"
            assert "and it may take" in world.notes("Rejected")[0]

    asyncio.run(scenario())
