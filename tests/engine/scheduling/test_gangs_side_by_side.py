"""Gangs of several profiles, placed side by side: none waits for another's members, and none has
room that another one has.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import Pod, PodAnnotations
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS
from moorage.engine.scheduling.group_attempts import GroupAttempts
from moorage.ports.leadership import Fence
from tests.builders import make_node, make_pod
from tests.engine.scheduling.test_slices import placed, run
from tests.engine.scheduling.test_turns import SOON, BusyClock, a_bench, waits
from tests.engine.worlds import RESOLVER, Bench, a_body, versioned


class Bug(Exception):
    """What is raised."""


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice has room for a few looks at the clock, and a member of a template that is not known
    yet takes many.
    """
    monkeypatch.setattr(BusyClock, "step", ATTEMPT_SLICE_SECONDS / 8)


def a_slow_bench(*names: str, nodes: int = 0, cpu: str = "4") -> Bench:
    """Profiles of these names, with room for everybody, or just so many nodes."""
    bench = a_bench(*names)
    bench.context.budget._now = bench.clock.boottime
    for i in range(nodes):
        bench.nodes.put(versioned(make_node(f"n{i}", cpu=cpu)))
    if nodes:
        bench.nodes.delete(bench.nodes.objects["n"])
    return bench


def come(
    bench: Bench, name: str, members: int, least: int = 0, cpu: int = 1, alike: bool = False
) -> None:
    """A gang of the profile of this name; each member has a template of its own, unless they are
    alike.
    """
    for i in range(members):
        pod = make_pod(
            f"{name}{i}", scheduler_name=name, cpu=f"{cpu * 1000 - (0 if alike else i)}m"
        )
        bench.pods.put(
            versioned(
                pod,
                labels={COSCHEDULING_LABEL: name},
                annotations=PodAnnotations(str(least or members)),
            )
        )


def assumed(bench: Bench) -> Counter[str]:
    """How many pods of each profile are placed, for good or as members of a gang that may be taken
    back.
    """
    return Counter(
        record.pod.spec.scheduler_name
        for record in bench.cache.pod_infos()
        if isinstance(record.pod, Pod)
    )


def bound(bench: Bench) -> Counter[str]:
    """How many pods of each profile are being bound."""
    return Counter(name.rstrip("0123456789") for name in placed(bench))


def rejected(bench: Bench, name: str) -> bool:
    """Whether this gang was tried in vain."""
    first = bench.queue.get(f"uid-{name}0")
    return first is not None and first.state is QueueState.UNSCHEDULABLE


def half_placed(bench: Bench, *names: str) -> None:
    """Let the loop run until a part of each of these gangs is placed."""
    run(bench, until=lambda: all(assumed(bench)[name] > 1 for name in names))
    assert all(assumed(bench)[name] > 1 and not bound(bench)[name] for name in names)


def later(bench: Bench, rounds: int = 8) -> None:
    """What waits for a backoff has had it."""
    for _ in range(rounds):
        run(bench)
        bench.clock._boottime += 15
    run(bench)


def test_nobody_waits_for_a_gang_of_another_profile() -> None:
    """Whose members are many and slow: neither a gang nor a pod."""
    bench = a_slow_bench("a", "b", "c")
    come(bench, "a", 100)
    half_placed(bench, "a")
    come(bench, "b", 3)
    bench.pods.put(versioned(make_pod("c", scheduler_name="c", cpu="7m")))
    assert waits(bench, "c") < SOON
    assert max(waits(bench, f"b{i}") for i in range(3)) < SOON
    assert not bound(bench)["a"]
    run(bench, 10**5, until=lambda: bound(bench)["a"] == 100)
    assert bound(bench)["a"] == 100


def test_a_member_that_comes_late_waits_for_its_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was not tried, so nothing counts against it; it is asked for once a moment, not all the
    time.
    """
    put_back, turns = SchedulingQueue.put_back, list[float]()

    def counted(queue: SchedulingQueue, entry: QueuedPodInfo, now: float) -> None:
        turns.append(now)
        put_back(queue, entry, now)

    monkeypatch.setattr(SchedulingQueue, "put_back", counted)
    bench = a_slow_bench("a")
    come(bench, "a", 100)
    half_placed(bench, "a")
    late = make_pod("late", scheduler_name="a", cpu="1")
    bench.pods.put(
        versioned(late, labels={COSCHEDULING_LABEL: "a"}, annotations=PodAnnotations("100"))
    )
    entry = bench.queue.get("uid-late")
    assert entry is not None
    came = entry.timestamp
    run(bench, 10**5, until=lambda: bound(bench)["a"] == 100)
    assert turns
    assert all(after - before >= 1 for before, after in itertools.pairwise(turns))
    assert (entry.consecutive_errors_count, entry.attempts, entry.timestamp) == (0, 0, came)
    later(bench)
    assert "late" in placed(bench)


def test_gangs_of_one_profile_go_one_after_another() -> None:
    """And those that wait take no turns from the first one."""

    def seconds(others: int) -> float:
        bench = a_slow_bench("a")
        for group in ("a", *(f"b{i}" for i in range(others))):
            for i in range(40):
                pod = make_pod(
                    f"{group}-{i}",
                    scheduler_name="a",
                    cpu=f"{i + 1}m",
                    priority=9 if group == "a" else 0,
                )
                bench.pods.put(
                    versioned(
                        pod, labels={COSCHEDULING_LABEL: group}, annotations=PodAnnotations("40")
                    )
                )
        return waits(bench, "a-0", 100_000)

    assert seconds(others=10) < 2 * seconds(others=0)


def test_slow_gangs_of_two_profiles_go_on_side_by_side() -> None:
    """About as far each."""
    bench = a_slow_bench("a", "b")
    come(bench, "a", 30)
    come(bench, "b", 30)
    run(bench, 10**5, until=lambda: sum(assumed(bench).values()) > 40)
    assert not placed(bench)
    assert min(assumed(bench).values()) > 10
    run(bench, 10**5, until=lambda: len(placed(bench)) == 60)
    assert len(placed(bench)) == 60


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("cpu", [1, 2])
@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_no_room_is_given_twice(first: str, second: str, cpu: int, alike: bool) -> None:
    """Of two gangs that cannot both fit one is placed, whole, and nothing is kept for the other;
    then there is room for that one.
    """
    bench = a_slow_bench("a", "b", nodes=4)
    size = 10 // cpu
    come(bench, first, size, cpu=cpu, alike=alike)
    run(bench, 8)
    come(bench, second, size, cpu=cpu, alike=alike)

    def look() -> bool:
        used = Counter(record.node for record in bench.cache.pod_infos())
        assert max(used.values(), default=0) <= 4 // cpu
        return False

    for _ in range(8):
        run(bench, until=look)
        bench.clock._boottime += 15
    assert bound(bench) == {first: size}
    assert assumed(bench) == bound(bench)
    for i in range(4):
        bench.nodes.put(versioned(make_node(f"m{i}")))
    later(bench)
    assert bound(bench) == {first: size, second: size}


def test_who_was_begun_first_goes_first() -> None:
    """What the other one has got is taken back, and it begins anew with what is left."""
    bench = a_slow_bench("a", "b", nodes=3)
    come(bench, "a", 10)
    half_placed(bench, "a")
    come(bench, "b", 30, least=2)  # many, so that it is under way for longer
    later(bench)
    assert bound(bench) == {"a": 10, "b": 2}


def test_a_gang_that_cannot_fit_takes_back_others_once() -> None:
    """However many of its members find no room."""
    bench = a_slow_bench("a", "b", nodes=8)
    come(bench, "a", 30, cpu=5)
    come(bench, "b", 20)
    losses, before = 0, 0

    def look() -> bool:
        nonlocal losses, before
        now = assumed(bench)["b"]
        losses, before = losses + (now < before), now
        return bound(bench)["b"] == 20

    run(bench, 10**5, until=look)
    assert bound(bench) == {"b": 20}
    assert losses <= 1


def test_a_gang_that_another_one_kept_out_is_tried_again() -> None:
    """Once the other one, which fits nowhere, is taken back: that is no event."""
    bench = a_slow_bench("a", "b", nodes=4)
    come(bench, "a", 20)
    run(bench, until=lambda: assumed(bench)["a"] > 5)
    come(bench, "b", 12, alike=True)
    run(bench, until=lambda: rejected(bench, "b"))
    assert assumed(bench)["a"] > 5
    later(bench, rounds=1)
    assert bound(bench) == assumed(bench) == {"b": 12}


def test_a_gang_that_is_taken_back_takes_nothing_of_another() -> None:
    """Its last member finds no room; the other gang stays as it is, and is bound where it was
    placed.
    """
    bench = a_slow_bench("a", "b", nodes=8)
    come(bench, "b", 12)
    run(bench, 8)
    come(bench, "a", 5)
    bench.pods.put(
        versioned(
            make_pod("a9", scheduler_name="a", cpu="9"),
            labels={COSCHEDULING_LABEL: "a"},
            annotations=PodAnnotations("6"),
        )
    )
    half_placed(bench, "a", "b")
    seats: dict[str, str] = {}

    def look() -> bool:
        now = {
            record.pod.metadata.name: record.node
            for record in bench.cache.pod_infos()
            if record.pod.metadata.name.startswith("b")
        }
        assert seats.items() <= now.items()
        seats.update(now)
        return bound(bench)["b"] == 12

    run(bench, 10**4, until=look)
    assert bound(bench) == {"b": 12}
    run(bench)
    assert assumed(bench) == {"b": 12}


def delete_member(bench: Bench) -> None:
    """Another one comes instead."""
    bench.pods.delete(bench.pods.objects["uid-b0"])
    pod = make_pod("b99", scheduler_name="b", cpu="1")
    bench.pods.put(
        versioned(pod, labels={COSCHEDULING_LABEL: "b"}, annotations=PodAnnotations("12"))
    )


def swap(bench: Bench) -> None:
    """Its profile has another revision."""
    resolution = RESOLVER(a_body("b", preset="BinPack", generation=2), {})
    bench.live["b"] = resolution.revision
    bench.queue.set_profile("b", resolution.queue_config, bench.clock.boottime())


def hold(bench: Bench) -> None:
    """Its profile is suspended."""
    bench.queue.set_profile("b", None, bench.clock.boottime())


def suspend(bench: Bench) -> None:
    """Its profile is suspended for a while."""
    hold(bench)
    run(bench, 200)
    assert assumed(bench)["b"] == 0
    swap(bench)


def lose_the_lease(bench: Bench) -> None:
    """For a moment: nothing is decided meanwhile."""
    bench.kube._fence, before = Fence(bench.clock.boottime), assumed(bench)
    run(bench, 200)
    assert assumed(bench) == before
    bench.kube._fence = None


@pytest.mark.parametrize("happens", [delete_member, swap, suspend, lose_the_lease])
def test_what_happens_to_one_of_two(happens: Callable[[Bench], None]) -> None:
    """Both are placed in the end."""
    bench = a_slow_bench("a", "b")
    come(bench, "a", 12)
    come(bench, "b", 12)
    half_placed(bench, "a", "b")
    happens(bench)
    run(bench, 10**4, until=lambda: bound(bench)["a"] == 12)
    assert bound(bench)["a"] == 12
    later(bench)
    assert bound(bench) == assumed(bench) == {"a": 12, "b": 12}


@pytest.mark.parametrize("happens", [swap, hold])
def test_a_gang_that_is_handed_over_goes_whole(happens: Callable[[Bench], None]) -> None:
    """It was decided that it is bound, and some are being bound already."""
    bench = a_slow_bench("b")
    come(bench, "b", 100)
    run(bench, 10**5, until=lambda: bool(bound(bench)))
    assert 0 < bound(bench)["b"] < 100
    happens(bench)
    run(bench, 10**4)
    assert bound(bench) == assumed(bench) == {"b": 100}


def test_a_replica_that_stops_takes_back_both() -> None:
    """Nobody will go on with them."""
    bench = a_slow_bench("a", "b")
    come(bench, "a", 12)
    come(bench, "b", 12)
    half_placed(bench, "a", "b")
    asyncio.run(bench.loop.settle(0.0))
    assert not bench.cache.assumed


STEPS = [
    *(
        (GroupAttempts, name)
        for name in (
            "begin",
            "go_on",
            "_place",
            "must_wait",
            "_restart_later_groups",
            "hand_over",
            "includes",
        )
    ),
    (SchedulingQueue, "retry"),
]


@pytest.mark.parametrize(("cls", "method"), STEPS)
@pytest.mark.parametrize("call", [1, 2, 7])
def test_a_bug_in_one_step_loses_no_gang(
    cls: type[Any], method: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose ever it is: both are placed in the end, and no room is lost."""
    original, calls = getattr(cls, method), 0

    def instead(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Bug(method)
        return original(*args, **kwargs)

    monkeypatch.setattr(cls, method, instead)
    bench = a_slow_bench("a", "b", nodes=4)
    come(bench, "a", 10)
    come(bench, "b", 11, least=6)
    later(bench)
    for i in range(2):
        bench.nodes.put(versioned(make_node(f"m{i}")))
    later(bench)
    assert bound(bench) == assumed(bench) == {"a": 10, "b": 11}
    assert calls
