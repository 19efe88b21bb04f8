"""Writing status: what matters at once, the rest at a pace, for however many profiles."""

from __future__ import annotations

import asyncio
from collections import Counter

from moorage.engine.engine import Engine
from moorage.engine.reconciling import APART, QUEUE_APART, RENEW_APART, ROUND, WRITES_PER_SECOND
from moorage.ports.kube import Leadership
from tests.builders import make_pod
from tests.engine.worlds import a_body, make_engine, versioned
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import RecordingEvents

MANY = 100


class World:
    """A leader with many profiles, all settled."""

    def __init__(self) -> None:
        self.kube, self.clock = InMemoryKube(), ManualClock()
        self.engine: Engine = make_engine(self.kube, RecordingEvents(), self.clock)
        self.engine.reconciler.situation.leadership = lambda: Leadership("me", "", 0, str(self.clock.boottime()))
        self.pods = 0
        for i in range(MANY):
            self.engine.profile_seen(f"p{i}", a_body(f"p{i}"))
        asyncio.run(self.engine.swapper.settle())

    def round(self) -> list[str]:
        """One round; names of the profiles whose status was written in it."""
        before = len(self.kube.written)
        asyncio.run(self.engine.reconciler.round())
        return [write.arguments[0] for write in self.kube.written[before:] if write.method == "profile_status"]

    def rounds(self, seconds: float) -> Counter[str]:
        """Rounds for so long; how often each profile was written."""
        written: Counter[str] = Counter()
        for _ in range(int(seconds / ROUND)):
            self.clock.jump(ROUND)
            written.update(self.round())
        return written

    def queue_pods(self) -> None:
        """One more pod waits for each profile."""
        self.pods += 1
        for i in range(MANY):
            self.engine.pods.put(versioned(make_pod(f"x{i}-{self.pods}", scheduler_name=f"p{i}")))


def test_all_that_is_new_is_told_in_one_round() -> None:
    """However many there are."""
    world = World()
    assert len(world.round()) == MANY
    assert world.round() == []


def test_counts_and_renewals_are_told_fairly_and_at_a_pace() -> None:
    """Everybody gets a turn, and all together no more than so many a second."""
    world = World()
    world.round()
    total: Counter[str] = Counter()
    for _ in range(6):
        world.queue_pods()
        total += world.rounds(QUEUE_APART)
    assert len(total) == MANY
    assert sum(total.values()) <= 6 * QUEUE_APART * WRITES_PER_SECOND


def test_a_refusal_is_told_at_once_beside_many_counts() -> None:
    """What is urgent does not queue up behind what is not."""
    world = World()
    world.round()
    world.queue_pods()
    world.rounds(QUEUE_APART)
    world.engine.profile_seen("p99", a_body("p99", generation=2, preset="Best"))
    asyncio.run(world.engine.swapper.settle())
    assert "p99" in world.round()


def test_a_profile_that_changes_without_end_is_written_once_a_moment() -> None:
    """And its last state is told."""
    world = World()
    world.round()
    times = 0
    for generation in range(2, 102):
        world.clock.jump(0.1)
        world.engine.profile_seen("p0", a_body("p0", generation=generation))
        asyncio.run(world.engine.swapper.settle())
        times += world.round().count("p0")
    assert times <= 10 / APART
    world.rounds(APART)
    assert world.kube.statuses["SchedulerProfile", "p0"]["observedGeneration"] == 101


def test_only_the_leaders_renewal_is_written_when_nothing_changes() -> None:
    """Twice a minute."""
    world = World()
    world.round()
    assert set(world.rounds(4 * RENEW_APART).values()) <= {3, 4}
