"""Members of a group that is being placed may be taken back: nobody makes room meanwhile, and who
needs some is tried again when the group is through.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    COSCHEDULING_LABEL,
    CoschedulingPodGroup,
    CoschedulingPodGroupSpec,
)
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

META = ObjectMeta("g", "default", uid="uid-g")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice has room for a few looks at the clock."""
    monkeypatch.setattr(BusyClock, "step", 0.001)


def come(
    bench: Bench,
    name: str,
    members: int,
    priority: int,
    profile: str = "test",
    cores: float = 4,
    least: int = 0,
) -> None:
    """A gang that so many cores are enough for; each member has a template of its own."""
    for i in range(members):
        cpu, memory = f"{int(cores * 1000) // members}m", f"{i + 1}Ki"
        pod = make_pod(
            f"{name}{i}", priority=priority, scheduler_name=profile, cpu=cpu, memory=memory
        )
        labels, said = {COSCHEDULING_LABEL: name}, PodAnnotations(str(least or members))
        bench.pods.put(versioned(pod, labels=labels, annotations=said))


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


def shrink(bench: Bench, *names: str) -> None:
    """These pods are deleted."""
    for name in names:
        bench.pods.delete(bench.pods.objects[f"uid-{name}"])


def on_nodes(bench: Bench) -> set[str]:
    """The pods that have a place."""
    return {record.pod.metadata.name for record in bench.cache.pod_infos()}


@pytest.mark.parametrize("gone", [("g1",), ("g0", "g9"), ("g8", "g9")])
def test_the_others_go_on_while_they_are_enough(gone: tuple[str, ...]) -> None:
    """Members that were placed already, or whose turn had not come, are deleted."""
    bench = a_bench(8)
    come(bench, "g", 10, priority=5, least=8)
    begun(bench, 3)
    there = on_nodes(bench)
    shrink(bench, *gone)
    run(bench, until=lambda: bool(placed(bench) or on_nodes(bench) - there & set(gone)))
    assert placed(bench)
    run(bench)
    assert placed(bench).keys() == {f"g{i}" for i in range(10)} - set(gone)
    assert bench.cache.assumed == len(placed(bench))
    assert not [event for event in bench.events.events if event.reason == "FailedScheduling"]


@pytest.mark.parametrize("after", [3, 9])
def test_too_few_are_left(after: int) -> None:
    """Nothing is placed, which is no error, and nobody is displaced for them."""
    clock = PassingClock()
    bench = a_bench(8, nodes=2, clock=clock)
    bench.pods.put(versioned(make_pod("low", cpu="4", node="n0", priority=0)))
    come(bench, "g", 10, priority=5, least=9)
    begun(bench, after)
    shrink(bench, "g0", "g1")
    run(bench, until=lambda: not bench.cache.assumed)
    run(bench)
    assert not placed(bench) and not bench.cache.assumed and not victims(bench)
    notes = [event.note for event in bench.events.events if event.reason == "FailedScheduling"]
    assert notes and all("minCount (9) cannot be satisfied" in note for note in notes)
    assert not any("preemption" in note for note in notes), "no copy is made for it"


def test_room_is_made_for_those_that_are_left() -> None:
    """Members that are deleted meanwhile need none."""
    bench = a_bench(8, nodes=2)
    bench.pods.put(versioned(make_pod("low", cpu="4", node="n0", priority=0)))
    come(bench, "g", 10, priority=5, cores=8, least=8)
    begun(bench, 3)
    shrink(bench, "g0", "g9")
    run(bench, until=lambda: bool(victims(bench)))
    ((task, _),) = bench.preemptor.held
    assert victims(bench) == [{"low"}]
    there = {entry.pod.metadata.name for entry, one in task.waiting if one.nominated_node}
    assert there == {f"g{i}" for i in range(1, 9)}


def test_a_minimum_that_changes_meanwhile_counts() -> None:
    """It is read again before anything is bound."""
    bench = a_bench(8)
    pods = [make_pod(f"g{i}", cpu=f"{i + 1}m") for i in range(10)]
    bench.cache.store.put(CoschedulingPodGroup(META, CoschedulingPodGroupSpec(10)))
    for pod in pods:
        bench.pods.put(versioned(pod, labels={COSCHEDULING_LABEL: "g"}))
    begun(bench, 3)
    bench.cache.store.put(CoschedulingPodGroup(META, CoschedulingPodGroupSpec(11)))
    run(bench, until=lambda: not bench.cache.assumed)
    run(bench)
    assert not placed(bench) and not bench.cache.assumed


def longest_step_down(bench: Bench, until: Callable[[], bool]) -> int:
    """How many pods at most went from their nodes between two turns of the loop."""
    counts: list[int] = []

    def look() -> bool:
        counts.append(bench.cache.assumed)
        return until()

    run(bench, 10**5, until=look)
    return max(before - after for before, after in itertools.pairwise(counts))


def test_a_gang_that_does_not_fit_is_taken_back_in_slices() -> None:
    """Others have their turn in between."""
    bench = a_bench(3, nodes=1)
    come(bench, "g", 40, priority=5)
    large = versioned(
        make_pod("large", cpu="9"),
        labels={COSCHEDULING_LABEL: "g"},
        annotations=PodAnnotations("41"),
    )
    bench.pods.put(large)
    begun(bench, 40)
    assert longest_step_down(bench, lambda: not bench.cache.assumed) <= 3


@pytest.mark.usefixtures("slow")
def test_a_gang_that_begins_anew_is_taken_back_in_slices() -> None:
    """While the one that goes first waits; it is not overtaken meanwhile."""
    bench = a_slow_bench("a", "b", nodes=1)
    come(bench, "a", 90, 5, "a", cores=4)
    run(bench, 10**4, until=lambda: assumed(bench)["a"] > 1)
    come(bench, "b", 90, 5, "b", cores=1)
    run(bench, 10**4, until=lambda: assumed(bench)["b"] > 50)
    assert assumed(bench)["b"] > 50 and not bound(bench)
    assert longest_step_down(bench, lambda: bound(bench)["a"] > 0) <= 25
    assert bound(bench)["a"] and not bound(bench)["b"]
