"""The engine as a whole: when it is ready, what ends it, what it counts, and how actors are
joined.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.engine.binding.actors.contract import ActorFactory, ActorTools
from moorage.engine.binding.actors.intree import join
from moorage.engine.reports.metrics import GAUGES_INTERVAL_SECONDS, LAG_LIMIT_SECONDS
from moorage.ports.errors import Forbidden, Retryable
from moorage.ports.kube import StoredRevision
from moorage.ports.telemetry import ProfileFigures
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, TRIED_AGAIN, Running, Steps, make_tools
from tests.engine.worlds import a_body, make_engine, versioned
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

# ---- life ----------------------------------------------------------------------------------------


def test_revisions_that_cannot_be_read_are_for_the_caller_to_try_again() -> None:
    """What is known stays."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    kube.stored["a-1"] = StoredRevision("a-1", "a", 1, {"uid": "u"})
    asyncio.run(engine.restore())
    for error in (Forbidden("GET controllerrevisions", 403), Retryable("503")):
        kube.fail("revisions", error)
        with pytest.raises(type(error)):
            asyncio.run(engine.restore())
    assert list(engine.swapper.stored.known) == ["u"]


def test_a_part_that_cannot_go_on_ends_the_engine() -> None:
    """A process without one of its parts must not look alive; one that fails now and then is begun
    anew.
    """

    async def scenario(lasts: float) -> bool:
        running = Running()

        async def dying() -> None:
            await running.clock.sleep(lasts)
            raise ZeroDivisionError("a bug")

        running.engine.metrics.watch_lag = dying  # type: ignore[method-assign]
        task = asyncio.create_task(running.engine.run())
        for _ in range(100):
            await running.clock.advance(4)
        ended = task.done()
        if ended:
            assert isinstance(task.exception(), ExceptionGroup)
        task.cancel()
        await asyncio.wait({task})
        return ended

    assert asyncio.run(scenario(0.5))
    assert not asyncio.run(scenario(2))


def test_profiles_hear_who_leads() -> None:
    """On those of this installation, once."""
    engine = make_engine(InMemoryKube(), events := FakeEventRecorder())
    for body in (a_body("mine"), a_body("theirs", controllerName="another")):
        engine.profile_changed(body["metadata"]["name"], body)
    engine.lead()
    assert [(event.reason, event.regarding.name, event.note) for event in events.events] == [
        ("LeaderChanged", "mine", "me leads")
    ]


@pytest.mark.parametrize(
    ("controller", "served"), [("moorage", True), (None, True), ("another", False), (1, False)]
)
def test_profiles_of_other_installations_are_left_alone(controller: Any, served: bool) -> None:
    """As IngressClass has it; those without the field are ours by default."""
    engine = make_engine(InMemoryKube(), FakeEventRecorder())
    engine.profile_changed(
        "p", a_body("p", **({"controllerName": controller} if controller is not None else {}))
    )
    asyncio.run(engine.swapper.reconcile())
    assert ("p" in engine.live) == served


# ---- what it counts ------------------------------------------------------------------------------


class Telling(CountingTelemetry):
    """Remembers a little more."""

    def __init__(self) -> None:
        super().__init__()
        self.bindings: list[tuple[int, float]] = []
        self.points: list[tuple[str, str, str]] = []
        self.lags: list[float] = []
        self.gauged = 0
        self.refusals: list[tuple[str, str, int]] = []
        self.figures: list[ProfileFigures] = []

    def bound(self, attempts: int, sli_seconds: float) -> None:
        """Remember."""
        self.bindings.append((attempts, sli_seconds))

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """Remember."""
        self.points.append((point, status, profile))

    def event_loop_lag(self, seconds: float) -> None:
        """Remember."""
        self.lags.append(seconds)

    def cache_sizes(self, pending: Mapping[str, int], cache: Mapping[str, int]) -> None:
        """Count."""
        super().cache_sizes(pending, cache)
        self.gauged += 1

    def unschedulable(self, counts: Iterable[tuple[str, str, int]]) -> None:
        """Remember."""
        self.refusals = list(counts)

    def profiles(self, figures: Iterable[ProfileFigures]) -> None:
        """As said last."""
        self.figures = list(figures)


def test_attempts_are_counted_with_their_results() -> None:
    """One of each kind, and how long a pod took from its coming to its binding."""

    async def scenario() -> None:
        telemetry = Telling()
        async with Running(telemetry=telemetry).leading() as world:
            world.kube.put(make_pod("good"))
            world.kube.put(make_pod("picky", node_selector={"disk": "fast"}))
            await settle()
            assert telemetry.bindings == [(1, 0.0)]
            world.kube.fail("bind", Forbidden("POST binding", 403))
            world.kube.put(make_pod("late"))
            await world.clock.advance(TRIED_AGAIN)
            (attempts, seconds) = telemetry.bindings[-1]
            assert (attempts, 1.0 <= seconds <= 2.1) == (2, True)
            counts = {
                result: telemetry.counts["attempt", result]
                for result in ("scheduled", "unschedulable", "error")
            }
            assert counts == {"scheduled": 2, "unschedulable": 1, "error": 1}
            assert ("Filter", "Success", "test") in telemetry.points

    asyncio.run(scenario())


def test_gauges_are_set_once_a_second() -> None:
    """What waits where, what the cache holds, who refuses, which revisions there are."""

    async def scenario() -> None:
        telemetry = Telling()
        async with Running(telemetry=telemetry).leading() as world:
            world.kube.put(make_pod("good"))
            world.kube.put(make_pod("picky", node_selector={"disk": "fast"}))
            before = telemetry.gauged
            await world.clock.advance(3 * GAUGES_INTERVAL_SECONDS)
            assert telemetry.gauged - before == 3
            assert telemetry.last_sizes == {
                "active": 0,
                "backoff": 0,
                "unschedulable": 1,
                "gated": 0,
                "nodes": 2,
                "pods": 1,
                "assumed_pods": 0,
            }
            assert telemetry.refusals == [("NodeAffinity", "test", 1)]
            deciding = world.engine.live["test"].id
            assert telemetry.figures == [ProfileFigures("test", deciding, 0, 0)]

    asyncio.run(scenario())


def test_a_late_event_loop_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """Measured all the time, logged when it is bad; the heartbeat goes on."""

    async def scenario() -> None:
        telemetry = Telling()
        async with Running(telemetry=telemetry).leading() as world:
            assert max(telemetry.lags) < LAG_LIMIT_SECONDS
            assert "late" not in caplog.text
            world.clock.jump(0.3)
            await world.clock.advance(0.1)
            assert max(telemetry.lags) == pytest.approx(0.3, abs=0.02)
            assert "the event loop was" in caplog.text
            assert world.clock.boottime() - world.engine.metrics.last_heartbeat < 0.05

    asyncio.run(scenario())


def test_a_plugin_that_fails_in_the_queue_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """With its name and the pod's."""

    class Broken:
        name = "Broken"
        events_to_register = ()

        def pre_enqueue(self, pod: object, _store: object) -> object:
            raise ZeroDivisionError("a bug")

    async def scenario() -> None:
        broken: Any = dataclasses.dataclass(frozen=True)(Broken)
        profile = a_body("test", plugins={"multiPoint": {"enabled": [{"name": "Broken"}]}})
        async with Running(specs=(PluginSpec("Broken", broken),)).leading(profile) as world:
            world.kube.put(make_pod("a"))
            await settle()
            assert world.engine.queue.counts("test").gated == 1
        (record,) = (
            record for record in caplog.records if "plugin Broken failed" in record.getMessage()
        )
        assert record.__dict__["pod"] == "default/a"

    asyncio.run(scenario())


# ---- actors --------------------------------------------------------------------------------------

ACTS = PluginSpec(
    "Acts", None, acts_at=frozenset({ExtensionPoint.PERMIT, ExtensionPoint.POST_BIND})
)
DECIDES = PluginSpec("Decides", None)
TOOLS = make_tools(InMemoryKube())


@pytest.mark.parametrize(
    ("factories", "text"),
    [
        pytest.param({}, "plugin 'Acts' acts at permit, postBind but has no actor", id="no actor"),
        pytest.param(
            {"Acts": lambda _: Steps(), "Act": lambda _: Steps()},
            "actors without a plugin: Act",
            id="no plugin",
        ),
        pytest.param(
            {"Acts": lambda _: object()},
            "the actor of plugin 'Acts' lacks the method for",
            id="no method",
        ),
    ],
)
def test_a_missing_half_is_an_error(factories: dict[str, ActorFactory], text: str) -> None:
    """At the start, not at the first pod."""
    with pytest.raises(ValueError, match=text):
        join(build_registry([ACTS, DECIDES]), factories, TOOLS)


def test_actors_are_made_once_with_their_tools() -> None:
    """One for each plugin that acts."""
    given: list[object] = []

    def make(tools: ActorTools) -> Steps:
        given.append(tools)
        return Steps()

    assert set(join(build_registry([ACTS, DECIDES]), {"Acts": make}, TOOLS)) == {"Acts"}
    assert given == [TOOLS]


def test_the_profile_of_these_tests_uses_every_step() -> None:
    """Or they would prove less than they say."""
    world = Running()
    world.kube.relist()
    world.engine.profile_changed("test", a_body("test", plugins=STEPS))
    asyncio.run(world.engine.swapper.reconcile())
    world.engine.node_sink.put(versioned(make_node("n1")))
    revision = world.engine.live["test"]
    assert all(
        "Steps" in revision.points[point]
        for point in (
            ExtensionPoint.PERMIT,
            ExtensionPoint.PRE_BIND,
            ExtensionPoint.BIND,
            ExtensionPoint.POST_BIND,
        )
    )
