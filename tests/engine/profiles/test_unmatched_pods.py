"""Unmatched pods: pods whose profile is gone, or whose schedulerName nobody here has, are told so;
other schedulers' are left alone.
"""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from moorage.api.operator_config import load_config
from moorage.core.columns.store import Store
from moorage.core.objects.pods import Pod, SchedulingGate
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profiles.unmatched_pods import (
    MAX_REMEMBERED,
    REPORT_AFTER_SECONDS,
    REPORT_NEAR_AFTER_SECONDS,
    UnmatchedPods,
)
from moorage.engine.slices import LOOP_SLICE_SECONDS
from moorage.ports.kube import pod_ref
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body, make_ports, versioned
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.listeners import FakeQueueListener
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

LOST = "SchedulerProfile 'gone' was deleted, and no other one has the schedulerName 'gone'"
MISSPELT = "no SchedulerProfile has the schedulerName 'Bin-Packk'; did you mean 'bin-pack'?"
FORMER = "no SchedulerProfile has the schedulerName 'gone': SchedulerProfile 'gone' was deleted"


def told(world: Running, name: str = "") -> list[str]:
    """What pods were told about their schedulerName."""
    return world.notes("UnknownScheduler", name)


def condition(world: Running, pod: str) -> tuple[str, str]:
    """Reason and message of the pod's PodScheduled condition, as the API server has it."""
    found = world.kube.pods[f"uid-{pod}"].status.conditions or ()
    return next(((c.reason, c.message) for c in found if c.type == "PodScheduled"), ("", ""))


async def later(world: Running, seconds: float = 0.0) -> None:
    """Let so much time pass at once, and then a moment for what is due."""
    world.clock.jump(seconds)
    await world.clock.advance(0.3)


# ---- names that nobody has -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduler_name", "notes"),
    [
        pytest.param("Bin-Packk", [MISSPELT], id="misspelt"),
        pytest.param("gone", [FORMER], id="was a profile's"),
        pytest.param("volcano", [], id="nothing like it"),
        pytest.param(
            "default-scheduler", [], id="kube-scheduler's, though a profile has a name like it"
        ),
        pytest.param("bin-pack2", [], id="configured as somebody else's"),
        pytest.param("theirs", [], id="another installation's"),
        pytest.param("bad", [], id="a profile's that was never good"),
    ],
)
def test_unknown_schedulers(scheduler_name: str, notes: list[str]) -> None:
    """Within seconds where it is nearly a profile's, else after a minute without a node; by one
    event and no condition: another scheduler may write that.
    """

    async def story() -> None:
        world = Running(config=load_config(None, {}, {"foreignSchedulers": "bin-pack2"}))
        profiles = (
            a_body("p", schedulerName="bin-pack"),
            a_body("d", schedulerName="default-schedule"),
            a_body("gone"),
            a_body("their", schedulerName="theirs", controllerName="others"),
            a_body("their2", schedulerName="theirs2"),
            a_body("bad", preset="Best"),
        )
        async with world.leading(*profiles) as world:
            world.engine.profile_changed("gone", None)
            await later(world)
            world.kube.put(make_pod("a", scheduler_name=scheduler_name))
            await later(world, REPORT_NEAR_AFTER_SECONDS - 1)
            assert told(world) == []
            await later(world, 1)
            assert told(world, "a") == (notes if notes == [MISSPELT] else [])
            await later(world, REPORT_AFTER_SECONDS - REPORT_NEAR_AFTER_SECONDS - 2)
            assert told(world, "a") == (notes if notes == [MISSPELT] else [])
            await later(world, 2)
            assert told(world, "a") == notes
            await later(world, 10 * REPORT_AFTER_SECONDS)
            assert told(world) == notes
            assert (condition(world, "a") == ("", "")) is (scheduler_name != "bad")
            assert all(
                event.controller == "moorage"
                for event in world.events.events
                if event.reason == "UnknownScheduler"
            )

    asyncio.run(story())


def test_a_name_that_somebody_has_by_then() -> None:
    """The profile came within the minute: there is nothing to tell, and the pod has its node."""

    async def story() -> None:
        async with Running().leading(a_body("testing")) as world:
            world.kube.put(make_pod("a", scheduler_name="testin"))
            world.engine.profile_changed("p", a_body("p", schedulerName="testin"))
            await later(world, 2 * REPORT_AFTER_SECONDS)
            assert world.node("a")
            assert told(world) == []

    asyncio.run(story())


def test_gated_and_gone_pods_are_not_told() -> None:
    """A gated one is, a minute after its gates are lifted at most."""

    async def story() -> None:
        async with Running().leading(a_body("testing")) as world:
            gated = world.kube.put(
                make_pod("gated", scheduler_name="testin", scheduling_gates=(SchedulingGate("g"),))
            )
            world.kube.put(make_pod("gone", scheduler_name="testin"))
            await later(world)
            world.kube.delete(world.kube.pods["uid-gone"])
            await later(world, 2 * REPORT_AFTER_SECONDS)
            assert told(world) == []
            world.kube.put(make_pod("gated", scheduler_name="testin"))
            await later(world, REPORT_AFTER_SECONDS)
            assert len(told(world, "gated")) == len(told(world)) == 1
            assert gated.spec.scheduling_gates

    asyncio.run(story())


def test_a_standby_tells_nobody_until_it_leads() -> None:
    """Then it tells those that have waited for long enough, and the others when they have."""

    async def story() -> None:
        async with Running().leading(a_body("testing"), lead=False) as world:
            world.kube.put(make_pod("early", scheduler_name="testin"))
            await later(world, REPORT_NEAR_AFTER_SECONDS / 2)
            world.kube.put(make_pod("late", scheduler_name="testin"))
            await later(world, REPORT_NEAR_AFTER_SECONDS / 2)
            assert told(world) == []
            world.engine.lead()
            await later(world)
            assert (len(told(world, "early")), len(told(world, "late"))) == (1, 0)
            await later(world, REPORT_NEAR_AFTER_SECONDS / 2)
            assert (len(told(world, "early")), len(told(world, "late"))) == (1, 1)

    asyncio.run(story())


# ---- deletion ------------------------------------------------------------------------------------


def test_pods_of_a_deleted_profile() -> None:
    """One event and one condition for each of those that wait; recreated, they go on; those that
    come meanwhile are not touched.
    """

    async def story() -> None:
        async with Running().leading(a_body("gone"), nodes=0) as world:
            for i in range(3):
                world.kube.put(make_pod(f"p{i}", scheduler_name="gone"))
            await later(world)
            world.events.events.clear()
            world.engine.profile_changed("gone", None)
            await later(world)
            world.kube.put(make_pod("later", scheduler_name="gone"))
            await later(world, 10 * REPORT_AFTER_SECONDS)
            for i in range(3):
                assert world.notes("FailedScheduling", f"p{i}") == [LOST]
                assert condition(world, f"p{i}") == ("SchedulerError", LOST)
            assert told(world) == [FORMER]
            assert condition(world, "later") == ("", "")
            world.kube.put(make_node("n1"))
            world.engine.profile_changed("gone", a_body("gone", uid="another"))
            await later(world)
            assert {world.node(name) for name in ("p0", "p1", "p2", "later")} == {"n1"}

    asyncio.run(story())


def test_a_pod_whose_binding_fails_after_its_profile_is_gone() -> None:
    """It is told when it is back in the queue; a pod that is bound is not."""

    async def story() -> None:
        async with Running().leading(a_body("gone")) as world:
            gate = world.kube.hold("bind")
            for name in ("fails", "lands"):
                world.kube.put(make_pod(name, scheduler_name="gone"))
            await settle()
            world.engine.profile_changed("gone", None)
            await world.clock.advance(1)
            assert world.notes("FailedScheduling") == []
            world.kube.fail("bind", RuntimeError("no"))
            gate.set()
            await later(world)
            waiting = next(name for name in ("fails", "lands") if not world.node(name))
            assert [
                event.regarding.name for event in world.events.events if event.note == LOST
            ] == [waiting]

    asyncio.run(story())


@pytest.mark.parametrize("told_before", [0, 2], ids=["nobody was told", "some were"])
def test_a_leader_that_dies_while_it_tells(told_before: int) -> None:
    """The next one tells those that were not, and no pod that came after the deletion."""

    async def story() -> None:
        async with Running().leading(a_body("gone"), nodes=0, lead=False) as world:
            for i in range(4):
                world.kube.put(make_pod(f"p{i}", scheduler_name="gone"))
            await later(world)
            world.engine.profile_changed("gone", None)
            await later(world)
            for i in range(told_before):  # by the other leader
                pod = world.kube.pods[f"uid-p{i}"]
                await world.kube.pod_condition(
                    pod_ref(pod),
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "SchedulerError",
                        "message": LOST,
                    },
                )
            world.kube.put(make_pod("later", scheduler_name="gone"))
            await later(world)
            assert world.notes("FailedScheduling") == []
            world.engine.lead()
            await later(world, 2 * REPORT_AFTER_SECONDS)
            assert [e.regarding.name for e in world.events.events if e.note == LOST] == [
                f"p{i}" for i in range(told_before, 4)
            ]
            assert {condition(world, f"p{i}")[1] for i in range(4)} == {LOST}
            assert [
                e.regarding.name for e in world.events.events if e.reason == "UnknownScheduler"
            ] == ["later"]

    asyncio.run(story())


# ---- many of them --------------------------------------------------------------------------------


@dataclasses.dataclass
class Crowd:
    """Thousands of pods of one profile, where telling one takes a millisecond."""

    clock: ManualClock = dataclasses.field(default_factory=ManualClock)
    told: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            PodGroupTracker(Store()),
            FakeQueueListener(),
        )
        self.live = LiveRevisions()
        self.live.lead()
        self.strangers = UnmatchedPods(
            self.live,
            self.queue,
            make_ports(InMemoryKube(), self.clock, FakeEventRecorder(), CountingTelemetry()),
            (),
            self.tell,
        )

    def tell(self, pod: Pod, text: str) -> None:
        """Slowly."""
        self.told.append(pod.metadata.name)
        self.clock.jump(0.001)

    def add(self, count: int) -> None:
        """So many more pods."""
        for i in range(len(self.told), len(self.told) + count):
            self.queue.add(
                versioned(make_pod(f"p{i}", scheduler_name="gone")), self.clock.boottime()
            )


def test_thousands_are_told_in_slices() -> None:
    """A tick takes no longer than a slice and the one pod that it ends with; each is told once, in
    the order in which they came.
    """
    crowd = Crowd()
    crowd.add(3000)
    crowd.strangers.profile_orphaned("gone", "gone")
    ticks = 0
    while len(crowd.told) < 3000:
        before = crowd.clock.boottime()
        crowd.strangers.tick()
        assert crowd.clock.boottime() - before <= LOOP_SLICE_SECONDS + 0.001
        ticks += 1
    crowd.strangers.tick()
    assert crowd.told == [f"p{i}" for i in range(3000)]
    assert ticks >= 600


def test_those_not_yet_told_are_spared_when_the_profile_is_back() -> None:
    """They wait for it to decide, not for it to be there."""
    crowd = Crowd()
    crowd.add(100)
    crowd.strangers.profile_orphaned("gone", "gone")
    crowd.strangers.tick()
    some = len(crowd.told)
    crowd.strangers.profile_changed("gone", "gone")
    crowd.strangers.tick()
    assert 0 < some == len(crowd.told) < 10


def test_what_is_kept_is_bounded() -> None:
    """However many profiles come and go, and whatever names pods have."""
    crowd = Crowd()
    for i in range(2 * MAX_REMEMBERED):
        crowd.queue.add(
            versioned(make_pod(f"p{i}", scheduler_name=f"name{i}")), crowd.clock.boottime()
        )
        crowd.strangers.pod_queued(make_pod(f"p{i}", scheduler_name=f"name{i}"))
        crowd.strangers.profile_orphaned(f"gone{i}", "p")
    crowd.clock.jump(REPORT_AFTER_SECONDS)
    crowd.strangers.tick()
    assert len(crowd.strangers._deleted) == MAX_REMEMBERED
    assert 0 < len(crowd.strangers._explanations) <= MAX_REMEMBERED
    assert len(crowd.strangers._waiting) == 0
