"""Turns: whose pods are many, or take long, has others wait a moment, and not for all of them."""

from __future__ import annotations

import random

import pytest

from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS
from moorage.engine.scheduling.loop import MIN_SLICE_SECONDS, ROUND_SECONDS, ProfileTurns
from tests.builders import make_node, make_pod
from tests.engine.scheduling.test_slices import placed, run
from tests.engine.worlds import RESOLVER, Bench, a_body, versioned
from tests.fakes.clocks import ManualClock

SOON = 1.0
"""Seconds that somebody may make others wait."""


class BusyClock(ManualClock):
    """A clock that goes on whenever it is looked at."""

    step = 0.001

    def boottime(self) -> float:
        """Look at it."""
        self._boottime += self.step
        return self._boottime


def a_bench(*names: str) -> Bench:
    """Profiles of these names, and room for everybody."""
    bench = Bench(clock=BusyClock())
    for name in names:
        resolution = RESOLVER(a_body(name), {})
        bench.live[name] = resolution.revision
        bench.queue.set_profile(name, resolution.queue_config, 0.0)
    bench.nodes.put(versioned(make_node("n", cpu="1000000", memory="100Ti", pods="100000")))
    bench.nodes.list_ended()
    bench.pods.list_ended()
    bench.queue.groups.all_listed()
    bench.live.deciding = True
    return bench


def waits(bench: Bench, name: str, turns: int = 3000) -> float:
    """How long the pod of this name waits."""
    began = bench.clock.boottime()
    run(bench, turns, until=lambda: name in placed(bench))
    assert name in placed(bench)
    return bench.clock.boottime() - began


def test_a_pod_does_not_wait_for_all_of_another_profile() -> None:
    """Although they came first, and are more urgent."""
    bench = a_bench("many", "few")
    for i in range(1000):
        bench.pods.put(versioned(make_pod(f"m{i}", scheduler_name="many", priority=9)))
    bench.pods.put(versioned(make_pod("f", scheduler_name="few")))
    assert waits(bench, "f") < SOON
    assert 10 < len(placed(bench)) < 900


@pytest.mark.parametrize("looks", [1.5, 4])
def test_a_pod_does_not_wait_for_slices_of_another_profile(looks: float) -> None:
    """It is set down like all those before it, and its turn comes before theirs."""
    bench = a_bench("many", "few")
    BusyClock.step, step = ATTEMPT_SLICE_SECONDS / looks / 4, BusyClock.step
    bench.context.budget._now = bench.clock.boottime
    try:
        for i in range(300):
            bench.pods.put(versioned(make_pod(f"m{i}", scheduler_name="many", cpu=f"{i + 1}m")))
        run(bench, 400)
        bench.pods.put(versioned(make_pod("f", scheduler_name="few", cpu="999m")))
        assert waits(bench, "f") < SOON
    finally:
        BusyClock.step = step


def test_slices_are_shorter_where_many_profiles_are_busy() -> None:
    """A pod of another profile waits for a round of short ones, although each of the others has
    pods that need many.
    """
    names = [f"p{i}" for i in range(100)]
    bench = a_bench(*names, "few")
    bench.pods.put(versioned(make_pod("known", scheduler_name="few", cpu="999m")))
    waits(bench, "known")

    def working() -> float:
        bench.clock._boottime += MIN_SLICE_SECONDS / 2
        return bench.clock._boottime

    bench.context.budget._now = working
    for i, name in enumerate(names):
        for j in range(8):
            bench.pods.put(
                versioned(
                    make_pod(
                        f"{name}-{j}", scheduler_name=name, cpu=f"{8 * i + j + 1}m", priority=9
                    )
                )
            )
    run(bench, 10**5, until=lambda: len(placed(bench)) > 250)
    bench.pods.put(versioned(make_pod("f", scheduler_name="few", cpu="999m")))
    assert waits(bench, "f", 10**5) < SOON


@pytest.mark.parametrize(
    ("busy", "seconds"),
    [
        (1, ATTEMPT_SLICE_SECONDS),
        (10, ATTEMPT_SLICE_SECONDS),
        (50, 0.005),
        (1000, MIN_SLICE_SECONDS),
    ],
)
def test_how_long_slices_are(busy: int, seconds: float) -> None:
    """A round of them is a quarter of a second, or a millisecond for each profile."""
    turns = ProfileTurns()
    for i in range(busy):
        turns.used(f"p{i}", 0.02)
    assert turns.slice == pytest.approx(seconds)


def test_profiles_whose_pods_are_many_take_turns() -> None:
    """About as long each."""
    bench = a_bench("a", "b", "c")
    for name in ("a", "b", "c"):
        for i in range(1000):
            bench.pods.put(versioned(make_pod(f"{name}{i}", scheduler_name=name)))
    run(bench, 10**6, until=lambda: len(placed(bench)) > 1500)
    counts = [sum(pod.startswith(name) for pod in placed(bench)) for name in ("a", "b", "c")]
    assert max(counts) - min(counts) < 200


@pytest.mark.parametrize(
    ("busy", "seconds"), [(1, 0.001), (1, 0.02), (10, 0.001), (10, 0.02), (250, 0.001)]
)
def test_however_many_profiles_are_busy(busy: int, seconds: float) -> None:
    """After a first while a round takes about as long: others wait for no more, as long as each has
    time for an attempt in it.
    """
    turns, ready, waited, longest = ProfileTurns(), [f"p{i}" for i in range(busy)], 0.0, 0.0
    for attempt in range(20_000):
        names = [name for name in ready if name not in turns.late]
        if not names and waited:
            longest, waited = max(longest, waited) if attempt > 5000 else 0.0, 0.0
        name = names[attempt % len(names)] if names else min(ready, key=turns.late.__getitem__)
        turns.begins(name)
        turns.used(name, seconds)
        waited += seconds
    assert longest <= 2 * ROUND_SECONDS + seconds


def test_what_is_remembered_of_profiles_goes() -> None:
    """As others have their turns."""
    turns, draw = ProfileTurns(), random.Random(1)
    for i in range(100_000):
        turns.begins(f"p{i}")
        turns.used(f"p{i}", draw.random() / 100)
        if turns.late:
            turns.begins(min(turns.late, key=turns.late.__getitem__))
    assert len(turns._used) < 1000


def test_a_profile_that_is_late_goes_when_nobody_else_is_ready() -> None:
    """And before anybody who is only tried early."""
    bench = a_bench("a", "b")
    pods = [make_pod(f"{name}{i}", scheduler_name=name) for i in range(2) for name in ("a", "b")]
    for pod in pods:
        bench.pods.put(versioned(pod))

    def pop(**late: float) -> str:
        entry = bench.queue.pop(1.0, late=late)
        assert isinstance(entry, QueuedPodInfo)
        return entry.pod.metadata.name

    assert [pop(a=1), pop(a=2, b=1), pop(a=1), pop(a=1)] == ["b0", "b1", "a0", "a1"]
