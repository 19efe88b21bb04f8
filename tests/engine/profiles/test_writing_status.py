"""Writing status: what matters at once, the rest at a pace, for however many profiles."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from moorage.engine.engine import Engine
from moorage.engine.profiles.profile_status import (
    QUEUE_WRITE_INTERVAL_SECONDS,
    RENEW_INTERVAL_SECONDS,
    ROUND_INTERVAL_SECONDS,
    WRITE_INTERVAL_SECONDS,
    WRITES_PER_SECOND,
)
from moorage.ports.leadership import Leadership
from tests.builders import make_pod
from tests.engine.worlds import a_body, a_config, make_engine, versioned
from tests.fakes.clocks import EagerClock, ManualClock
from tests.fakes.election import FakeElection
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

MANY = 40
"""More than the pace lets be written within one interval."""


class World:
    """A leader with many profiles, all settled."""

    def __init__(self) -> None:
        self.kube, self.clock = InMemoryKube(), ManualClock()
        election = FakeElection(lambda: Leadership("me", "", 0, str(self.clock.boottime())))
        self.engine: Engine = make_engine(
            self.kube, FakeEventRecorder(), self.clock, election=election
        )
        self.pods = 0
        for i in range(MANY):
            self.engine.profile_changed(f"p{i}", a_body(f"p{i}"))
        asyncio.run(self.engine.swapper.reconcile())

    def round(self) -> list[str]:
        """One round; names of the profiles whose status was written in it."""
        before = len(self.kube.written)
        asyncio.run(self.engine.profile_status.write_due())
        return [
            write.arguments[0]
            for write in self.kube.written[before:]
            if write.method == "profile_status"
        ]

    def rounds(self, seconds: float) -> Counter[str]:
        """Rounds for so long; how often each profile was written."""
        written: Counter[str] = Counter()
        for _ in range(int(seconds / ROUND_INTERVAL_SECONDS)):
            self.clock.jump(ROUND_INTERVAL_SECONDS)
            written.update(self.round())
        return written

    def queue_pods(self) -> None:
        """One more pod waits for each profile."""
        self.pods += 1
        for i in range(MANY):
            self.engine.pod_sink.put(
                versioned(make_pod(f"x{i}-{self.pods}", scheduler_name=f"p{i}"))
            )


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
        total += world.rounds(QUEUE_WRITE_INTERVAL_SECONDS)
    assert len(total) == MANY
    assert sum(total.values()) <= 6 * QUEUE_WRITE_INTERVAL_SECONDS * WRITES_PER_SECOND


def test_a_refusal_is_told_at_once_beside_many_counts() -> None:
    """What is urgent does not queue up behind what is not."""
    world = World()
    world.round()
    world.queue_pods()
    world.rounds(QUEUE_WRITE_INTERVAL_SECONDS)
    world.engine.profile_changed("p39", a_body("p39", generation=2, preset="Best"))
    asyncio.run(world.engine.swapper.reconcile())
    assert "p39" in world.round()


def test_a_profile_that_changes_without_end_is_written_once_a_moment() -> None:
    """And its last state is told."""
    world = World()
    world.round()
    times = 0
    for generation in range(2, 102):
        world.clock.jump(0.1)
        world.engine.profile_changed(
            "p0", a_body("p0", generation=generation, podMaxBackoffSeconds=9 + generation)
        )
        asyncio.run(world.engine.swapper.reconcile())
        times += world.round().count("p0")
    assert times <= 10 / WRITE_INTERVAL_SECONDS
    world.rounds(WRITE_INTERVAL_SECONDS)
    assert world.kube.statuses["SchedulerProfile", "p0"]["observedGeneration"] == 101


def test_only_the_leaders_renewal_is_written_when_nothing_changes() -> None:
    """Twice a minute."""
    world = World()
    world.round()
    assert set(world.rounds(4 * RENEW_INTERVAL_SECONDS).values()) <= {3, 4}


# ---- what somebody else writes there -------------------------------------------------------------


class Forged:
    """A profile and a PluginConfig whose statuses are written as the API server would, and come
    back as watches bring them.
    """

    def __init__(self) -> None:
        self.kube, self.clock = InMemoryKube(), EagerClock()
        self.engine = make_engine(self.kube, FakeEventRecorder(), self.clock)
        self.version = 0
        self.forge({}, {})
        asyncio.run(self.engine.swapper.reconcile())

    def forge(self, profile: dict[str, Any], config: dict[str, Any]) -> None:
        """Somebody merges this into the statuses."""
        self.version += 1
        for kind, body, forged, seen in (
            ("SchedulerProfile", a_body("p"), profile, self.engine.profile_changed),
            ("PluginConfig", a_config("c"), config, self.engine.plugin_config_changed),
        ):
            status = self.kube.statuses.setdefault((kind, body["metadata"]["name"]), {}) | forged
            self.kube.statuses[kind, body["metadata"]["name"]] = status
            body["metadata"]["resourceVersion"] = str(self.version)
            seen(body["metadata"]["name"], {**body, "status": status})

    def echo(self) -> None:
        """The watch brings what was written."""
        self.forge({}, {})

    def rounds(self, seconds: float) -> int:
        """Rounds for so long; how many writes."""
        before = len(self.kube.written)
        for _ in range(int(seconds / ROUND_INTERVAL_SECONDS)):
            self.clock.jump(ROUND_INTERVAL_SECONDS)
            asyncio.run(self.engine.swapper.reconcile())
            asyncio.run(self.engine.profile_status.write_due())
        return len(self.kube.written) - before


FORGERIES: dict[str, Any] = {
    "activeRevision": "forged",
    "claimedBy": "default/tenant",
    "conditions": [],
    "queue": {"active": 7},
    "leader": {"identity": "tenant"},
    "effective": {"score": []},
    "observedGeneration": 99,
}


@pytest.mark.parametrize("field", FORGERIES)
def test_what_somebody_else_writes_into_a_status_is_mended(field: str) -> None:
    """At once, as a whole, and with one write; our own writes that come back are no news."""
    world = Forged()
    world.rounds(WRITE_INTERVAL_SECONDS)
    ours = (
        dict(world.kube.statuses["SchedulerProfile", "p"]),
        dict(world.kube.statuses["PluginConfig", "c"]),
    )
    world.echo()
    assert world.rounds(3 * WRITE_INTERVAL_SECONDS) == 0
    world.forge(
        {field: FORGERIES[field]}, {"conditions": [], "hash": "x"} if field == "conditions" else {}
    )
    assert world.rounds(WRITE_INTERVAL_SECONDS) == (2 if field == "conditions" else 1)
    mended = world.kube.statuses["SchedulerProfile", "p"], world.kube.statuses["PluginConfig", "c"]
    assert tuple({k: v for k, v in status.items() if v is not None} for status in mended) == tuple(
        {k: v for k, v in status.items() if v is not None} for status in ours
    )
    assert world.rounds(3 * WRITE_INTERVAL_SECONDS) == 0
    assert "p" in world.engine.live


def test_somebody_who_goes_on_is_mended_ever_more_seldom() -> None:
    """Ten minutes of a forgery each second are some thirty writes, not six hundred."""
    world = Forged()
    world.rounds(WRITE_INTERVAL_SECONDS)
    writes = 0
    for i in range(600):
        world.forge({"activeRevision": f"forged-{i}"}, {})
        writes += world.rounds(1.0)
    assert 10 <= writes <= 40


LATER: dict[str, Any] = {
    "type": "Later",
    "status": "True",
    "reason": "New",
    "message": "",
    "lastTransitionTime": "2026-05-01T12:00:00Z",
}


@pytest.mark.parametrize("before", [True, False], ids=["before-we-lead", "while-we-lead"])
def test_what_a_later_release_wrote_into_a_status_stays(before: bool) -> None:
    """Its fields and its conditions are no reason to mend anything, and outlive a mending."""
    world = Forged()
    key = "SchedulerProfile", "p"
    if before:
        world.forge({"later": {"a": 1}, "conditions": [LATER]}, {"later": 1})
        assert world.rounds(WRITE_INTERVAL_SECONDS) == 2
        world.echo()
    else:
        world.rounds(WRITE_INTERVAL_SECONDS)
        ours = world.kube.statuses[key]["conditions"]
        world.forge({"later": {"a": 1}, "conditions": [LATER, *ours]}, {"later": 1})
    assert world.rounds(3 * WRITE_INTERVAL_SECONDS) == 0
    world.forge({"activeRevision": "forged"}, {"hash": "forged"})
    assert world.rounds(WRITE_INTERVAL_SECONDS) == 2
    status = world.kube.statuses[key]
    assert (status["activeRevision"] == "forged", status["later"]) == (False, {"a": 1})
    assert [one["type"] for one in status["conditions"]][-2:] == ["Ready", "Later"]
    assert world.kube.statuses["PluginConfig", "c"]["later"] == 1
