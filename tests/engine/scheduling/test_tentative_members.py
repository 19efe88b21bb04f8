"""Members of a group that is being placed may be taken back: nobody makes room meanwhile, and who
needs some is tried again when the group is through.
"""

from __future__ import annotations

import pytest

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import PodAnnotations
from tests.builders import make_pod
from tests.engine.scheduling.test_gangs_side_by_side import (
    a_slow_bench,
    assumed,
    bound,
    half_placed,
)
from tests.engine.scheduling.test_slices import PassingClock, a_bench, begun, placed, run
from tests.engine.scheduling.test_turns import BusyClock
from tests.engine.worlds import Bench, versioned


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice has room for a few looks at the clock."""
    monkeypatch.setattr(BusyClock, "step", 0.001)


def come(
    bench: Bench, name: str, members: int, priority: int, profile: str = "test", cores: float = 4
) -> None:
    """A gang that so many cores are enough for; each member has a template of its own."""
    for i in range(members):
        cpu, memory = f"{int(cores * 1000) // members}m", f"{i + 1}Ki"
        pod = make_pod(
            f"{name}{i}", priority=priority, scheduler_name=profile, cpu=cpu, memory=memory
        )
        labels, least = {COSCHEDULING_LABEL: name}, PodAnnotations(str(members))
        bench.pods.put(versioned(pod, labels=labels, annotations=least))


def victims(bench: Bench) -> list[set[str]]:
    """Of each preemption that was begun, who is to go."""
    return [
        {victim.metadata.name for victim in task.diagnosis.victims}
        for task, _ in bench.preemptor.held
    ]


def test_a_pod_makes_no_room_while_a_gang_is_half_placed() -> None:
    """Neither at the members' cost nor at that of others; then it does, though nothing happened."""
    clock = PassingClock()
    bench = a_bench(8, nodes=2, clock=clock)
    bench.pods.put(versioned(make_pod("low", cpu="4", node="n0", priority=0)))
    come(bench, "g", 10, priority=5)
    begun(bench, 2)
    bench.pods.put(versioned(make_pod("high", cpu="4", priority=9)))
    run(bench, until=lambda: bench.queue.counts("test").unschedulable == 1)
    assert not placed(bench) and bench.cache.assumed >= 2
    assert not victims(bench)
    run(bench, until=lambda: bool(placed(bench) or victims(bench)))
    assert placed(bench) and not victims(bench)
    clock.pass_on(1)
    run(bench)
    assert victims(bench) == [{"low"}]


@pytest.mark.usefixtures("slow")
def test_a_gang_makes_no_room_while_one_that_goes_first_is_half_placed() -> None:
    """Its members are more important, but room is made when the other one is through."""
    bench = a_slow_bench("a", "b", nodes=2)
    bench.pods.put(versioned(make_pod("low", cpu="4", node="n0", priority=0)))
    come(bench, "a", 30, 5, "a")
    half_placed(bench, "a")
    come(bench, "b", 4, 9, "b")
    run(bench, 10**4, until=lambda: bool(bound(bench)["a"] or victims(bench)))
    assert bound(bench)["a"] and not victims(bench)
    for _ in range(4):
        run(bench, until=lambda: bool(victims(bench)))
        bench.clock._boottime += 15
    assert "low" in victims(bench)[0] and bound(bench) == {"a": 30}


@pytest.mark.usefixtures("slow")
def test_who_goes_first_displaces_no_gang_that_is_half_placed() -> None:
    """That one is taken back before room is made, and begins anew."""
    bench = a_slow_bench("a", "b", nodes=3)
    bench.pods.put(versioned(make_pod("low", cpu="3", node="n0", priority=0)))
    bench.pods.put(versioned(make_pod("there", cpu="4", node="n1", priority=99)))
    come(bench, "a", 40, 5, "a", cores=1.6)
    large = make_pod("large", priority=1, scheduler_name="a", cpu="3")
    labels, least = {COSCHEDULING_LABEL: "a"}, PodAnnotations("41")
    bench.pods.put(versioned(large, labels=labels, annotations=least))
    run(bench, 10**4, until=lambda: assumed(bench)["a"] > 1)
    come(bench, "b", 90, 0, "b", cores=1)
    half_placed(bench, "a", "b")
    run(bench, 10**4, until=lambda: bool(victims(bench)))
    assert victims(bench) == [{"low"}]
    assert not bound(bench)
    run(bench, 10**4, until=lambda: bound(bench)["b"] == 90)
    assert bound(bench) == {"b": 90}
