"""What is measured around a binding: how long plugins took at each point, and how long a pod was
held at permit.
"""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from moorage.core.framework.status import Code, Status
from moorage.engine.binding.actors.contract import PermitWait
from tests.builders import make_pod
from tests.engine.running import Running
from tests.fakes.clocks import settle
from tests.fakes.sinks import CountingTelemetry


@dataclasses.dataclass
class Stopwatch(CountingTelemetry):
    """Keeps durations: (point, status) -> seconds; permit's waiting under ``wait``."""

    took: dict[tuple[str, str], float] = dataclasses.field(default_factory=dict)
    kept: dict[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        CountingTelemetry.__init__(self)

    def extension_point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """Keep it."""
        assert profile == "test"
        self.took[point, status] = seconds

    def permit_wait(self, result: str, seconds: float) -> None:
        """Keep it."""
        self.took["wait", result] = seconds

    def in_flight(self, events: dict[str, int]) -> None:  # type: ignore[override]
        """Keep the newest."""
        self.kept = dict(events)


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "rejected"])
def test_a_pod_that_is_held(allowed: bool) -> None:
    """The wait is measured by itself, not as permit's plugins' own time; a pod that is rejected
    goes no further.
    """

    async def story() -> None:
        watch = Stopwatch()
        async with Running(telemetry=watch).leading() as world:
            world.steps.script["permit"].append(PermitWait(30))
            world.kube.put(make_pod("a"))
            await settle()
            await world.clock.advance(2)
            (waiting,) = world.engine.binder.waiting_pods
            if allowed:
                waiting.allow("Steps")
            else:
                waiting.reject("Steps", "no")
            await settle()
            if allowed:
                assert watch.took["wait", "Success"] == pytest.approx(2)
                assert watch.took["PreBind", "Success"] == watch.took["Bind", "Success"] == 0
            else:
                assert watch.took["wait", "Unschedulable"] == pytest.approx(2)
                assert not any(point in ("PreBind", "Bind") for point, _ in watch.took)

    asyncio.run(story())


def test_steps_that_take_time() -> None:
    """Each point's own, by what came of it; and what is kept for a pod that is on its way."""

    async def story() -> None:
        watch = Stopwatch()
        async with Running(telemetry=watch).leading() as world:
            gate = world.steps.gates["pre_bind"] = asyncio.Event()
            world.kube.put(make_pod("a"))
            await world.clock.advance(3)
            world.kube.put(make_pod("other", node="n1"))
            await world.clock.advance(1)
            assert watch.kept["PodPopped"] == 1
            assert watch.kept["AssignedPodAdd"] == 1
            world.kube.fail("bind", RuntimeError("no"))
            gate.set()
            await settle()
            assert watch.took["PreBind", "Success"] == pytest.approx(4)
            assert watch.took["Bind", Code.ERROR.value] == 0
            world.steps.script["pre_bind"].append(Status(Code.SUCCESS))
            await world.clock.advance(3)
            assert watch.kept == {"PodPopped": 0}

    asyncio.run(story())
