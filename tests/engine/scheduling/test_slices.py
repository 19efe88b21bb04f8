"""Attempts in slices: they come to the same, others have their turn in between, and nothing that
happens meanwhile is overlooked.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import Affinity, Pod, PodAnnotations
from moorage.core.queue.queued_pod import QueueState
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS, OutOfTime, TimeBudget
from moorage.engine.slices import (
    MAX_DECISION_SECONDS,
    TOO_LONG_MESSAGE,
    DecisionTimeout,
    SliceRunner,
)
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, versioned
from tests.fakes.clocks import ManualClock


@dataclasses.dataclass
class Ticking:
    """A clock that goes on whenever it is looked at, so that each slice has room for so many
    looks.
    """

    looks: float
    time: float = 0.0

    def __call__(self) -> float:
        """Look at it."""
        self.time += ATTEMPT_SLICE_SECONDS / self.looks
        return self.time


class PassingClock(ManualClock):
    """A clock that a test moves."""

    def pass_on(self, seconds: float) -> None:
        """It is so much later."""
        self._boottime += seconds


def a_bench(
    looks: float, nodes: int = 3, cpu: str = "4", clock: ManualClock | None = None
) -> Bench:
    """Nodes n0, n1, ...; attempts that are set down after so many looks at the clock."""
    bench = Bench(clock=clock or ManualClock())
    for i in range(nodes):
        bench.nodes.put(versioned(make_node(f"n{i}", cpu=cpu)))
    bench.nodes.list_ended()
    bench.pods.list_ended()
    bench.queue.groups.all_listed()
    bench.context.budget._now = Ticking(looks)
    bench.live.deciding = True
    return bench


def member(i: int, of: int, cpu: str = "1", group: str = "g") -> Pod:
    """Member i of a gang; each has a template of its own."""
    pod: Pod = versioned(
        make_pod(f"g{i}", cpu=cpu, priority=i),
        labels={COSCHEDULING_LABEL: group},
        annotations=PodAnnotations(str(of)),
    )
    return pod


def placed(bench: Bench) -> dict[str, str]:
    """The pods that are being bound, and where."""
    return {
        placement.pod.metadata.name: placement.node
        for _, placement in bench.binder.under_way.values()
    }


def run(bench: Bench, turns: int = 2000, until: Callable[[], bool] = lambda: False) -> None:
    """Let the loop run for so many turns, or until this holds."""

    async def scenario() -> None:
        task = asyncio.create_task(bench.loop.run())
        for _ in range(turns):
            await asyncio.sleep(0)
            if until():
                break
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())


def begun(bench: Bench, members: int) -> None:
    """Let the loop run until so many members of a gang are placed, but not all."""
    run(bench, until=lambda: bench.cache.assumed >= members)
    assert not placed(bench)


@pytest.mark.parametrize("looks", [1.5, 3, 7])
def test_slices_come_to_the_same(looks: float) -> None:
    """However short they are."""
    one, other = a_bench(looks), a_bench(1e9)
    for bench in (one, other):
        for i in range(4):
            bench.pods.put(versioned(make_pod(f"p{i}", cpu="1500m")))
            run(bench, 200)
    assert placed(one) == placed(other)
    assert len(placed(one)) == 4


def test_others_have_their_turn() -> None:
    """The first pod needs many slices; the next ones, of a template that is known by then, do not
    wait for it.
    """
    bench = a_bench(40)
    bench.pods.put(versioned(make_pod("known", cpu="1m")))
    run(bench, 10)
    bench.context.budget._now = Ticking(12)
    bench.pods.put(versioned(make_pod("new", cpu="2m", priority=9)))
    bench.pods.put(versioned(make_pod("next", cpu="1m")))
    run(bench, 200)
    assert list(placed(bench)) == ["known", "next", "new"]


def test_the_first_slice_counts_as_well() -> None:
    """An attempt that was set down at once goes on when others have had as long a turn."""
    clock, ticks = PassingClock(), Ticking(3)
    bench = a_bench(3, clock=clock)

    def now() -> float:
        clock.pass_on(ATTEMPT_SLICE_SECONDS / 3)
        return ticks()

    bench.context.budget._now = now
    bench.pods.put(versioned(make_pod("new")))
    began = clock.boottime()
    bench.attempt()
    (spent,) = (attempt.spent for attempt in bench.loop.paused)
    assert spent == pytest.approx(clock.boottime() - began)
    assert bench.loop.next_turn == pytest.approx(clock.boottime() + spent)


def test_a_pod_that_takes_too_long_is_refused() -> None:
    """With what is wrong, and after that it waits for its backoff."""
    clock, ticks = PassingClock(), Ticking(1.5)
    bench = a_bench(1.5, clock=clock)

    def now() -> float:
        clock.pass_on(MAX_DECISION_SECONDS / 3)
        return ticks()

    bench.context.budget._now = now
    bench.pods.put(versioned(make_pod("p")))
    run(bench, 50)
    entry = bench.queue.get("uid-p")
    assert entry is not None and entry.state is QueueState.BACKOFF
    assert "deciding took longer than 10 s" in bench.events.events[0].note


@pytest.mark.parametrize("looks", [1.5, 30])
def test_a_gang_is_placed_in_slices(looks: float) -> None:
    """All of it, and nobody is bound before the last one has its node."""
    bench = a_bench(looks)
    for i in range(6):
        bench.pods.put(member(i, 6))
    begun(bench, 3)
    run(bench)
    assert len(placed(bench)) == 6


def test_a_gang_that_does_not_fit_is_taken_back() -> None:
    """Whom it kept out meanwhile is tried again, although nothing has happened."""
    clock = PassingClock()
    bench = a_bench(8, nodes=2, cpu="2", clock=clock)
    for i in range(5):
        bench.pods.put(member(i, 5))
    begun(bench, 3)
    bench.pods.put(versioned(make_pod("other", cpu="2")))
    run(bench, until=lambda: bench.queue.counts("test").unschedulable == 1)
    assert not placed(bench) and bench.cache.assumed == 4
    run(bench)
    clock.pass_on(1)
    run(bench)
    assert list(placed(bench)) == ["other"]
    assert bench.cache.assumed == 1


def delete_node(bench: Bench) -> None:
    """The node of most members goes, and another one comes."""
    bench.nodes.delete(bench.nodes.objects["n0"])
    bench.nodes.put(versioned(make_node("m")))


def fill_node(bench: Bench) -> None:
    """Somebody else binds a pod to a node that has no more room than the members need."""
    bench.pods.put(versioned(make_pod("stranger", cpu="4", node="n0")))
    bench.nodes.put(versioned(make_node("m")))


def delete_member(bench: Bench) -> None:
    """A member goes, and another one comes."""
    bench.pods.delete(bench.pods.objects["uid-g0"])
    bench.pods.put(member(9, 4))


@pytest.mark.parametrize("happens", [delete_node, fill_node, delete_member])
def test_what_happens_to_a_gang_that_is_half_placed(happens: Callable[[Bench], None]) -> None:
    """It is placed anew, where there is room, with the members that are there."""
    clock = PassingClock()
    bench = a_bench(8, nodes=1, clock=clock)
    for i in range(4):
        bench.pods.put(member(i, 4))

    begun(bench, 2)
    happens(bench)
    for _ in range(3):
        run(bench)
        clock.pass_on(20)
        bench.queue.flush(bench.clock.boottime())
    assert len(placed(bench)) == 4
    assert "n0" not in placed(bench).values() or happens is delete_member
    assert bench.cache.assumed == 4


@pytest.mark.parametrize("of", [1, 4])
def test_what_was_set_down_is_not_bound_by_a_suspended_profile(of: int) -> None:
    """A pod, or a gang that is half placed, was begun before the profile was suspended."""
    bench = a_bench(1.5, nodes=1)
    name = next(iter(bench.live))
    for i in range(of):
        bench.pods.put(member(i, of))
    run(bench, until=lambda: bool(bench.loop.paused))
    assert bench.loop.paused
    bench.queue.set_profile(name, None, bench.clock.boottime())
    run(bench)
    assert not placed(bench)
    assert bench.cache.assumed == 0


def test_one_gang_of_a_profile_at_a_time() -> None:
    """Two that cannot both fit, of which the second comes when the first is half placed: one does,
    whole.
    """
    bench = a_bench(8, nodes=2, cpu="2")
    for i in range(3):
        bench.pods.put(member(i, 3))
    begun(bench, 1)
    for i in range(3):
        bench.pods.put(member(10 + i, 3, group="h"))
    together = 0

    def look() -> bool:
        nonlocal together
        members = Counter(
            record.pod.metadata.labels[COSCHEDULING_LABEL]
            for record in bench.cache.pod_infos()
            if record.pod.metadata.labels
        )
        together = max(together, sum(count < 3 for count in members.values()))
        return False

    run(bench, until=look)
    assert together == 1
    assert len(placed(bench)) == 3
    assert bench.cache.assumed == 3


def test_a_replica_that_stops_takes_back_what_is_half_placed() -> None:
    """Nobody will go on with it."""
    bench = a_bench(8)
    for i in range(4):
        bench.pods.put(member(i, 4))
    begun(bench, 2)
    asyncio.run(bench.loop.settle(0.0))
    assert not bench.cache.assumed


@pytest.mark.parametrize(("slices", "spent"), [(3, "done"), (1000, TOO_LONG_MESSAGE)])
def test_work_beside_the_loop_is_cut_too(slices: int, spent: str) -> None:
    """It is begun again until it is through within a slice, or took too long in all."""
    clock, ticks, left = PassingClock(), Ticking(2), [slices]
    budget = TimeBudget(ticks)

    def step() -> str:
        left[0] -= 1
        if left[0]:
            clock.pass_on(1)
            ticks(), ticks(), ticks()
        budget.check()
        return "done"

    async def scenario() -> str:
        try:
            return await SliceRunner(budget, clock.boottime).run(step)
        except DecisionTimeout as error:
            return str(error)

    assert asyncio.run(scenario()) == spent


@pytest.mark.parametrize("cut", [True, False])
def test_however_many_want_slices_everybody_else_has_turns_in_between(cut: bool) -> None:
    """After each one, whether it came to its end or not."""
    clock = PassingClock()
    slices, longest, done = SliceRunner(TimeBudget(clock.boottime), clock.boottime), 0.0, 0

    async def work() -> None:
        nonlocal done
        left = 3

        def step() -> None:
            nonlocal left
            left -= cut
            clock.pass_on(ATTEMPT_SLICE_SECONDS)
            if cut and left:
                raise OutOfTime

        await slices.run(step)
        done += 1

    async def scenario() -> None:
        nonlocal longest
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(work())
            while done < 50:
                before = clock.boottime()
                await asyncio.sleep(0)
                longest = max(longest, clock.boottime() - before)

    asyncio.run(scenario())
    assert longest <= ATTEMPT_SLICE_SECONDS * 1.01


def test_terms_are_counted_one_by_one() -> None:
    """A pod whose terms each take a look at all pods is set down between two of them."""
    bench = a_bench(1e9)
    for i in range(3):
        bench.pods.put(
            versioned(make_pod(f"there{i}", cpu="1m", node="n0"), labels={"app": str(i)})
        )
    terms = [
        {"labelSelector": {"matchLabels": {"app": str(i)}}, "topologyKey": "kubernetes.io/hostname"}
        for i in range(20)
    ]
    affinity = msgspec.convert(
        {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}, Affinity
    )
    bench.context.budget._now = Ticking(3)
    bench.pods.put(versioned(make_pod("p", affinity=affinity)))
    counted: list[int] = []

    def look() -> bool:
        counted.append(len(bench.cache.pod_counters._matching))
        return bool(placed(bench))

    run(bench, until=look)
    assert list(placed(bench)) == ["p"]
    assert max(after - before for before, after in itertools.pairwise(counted)) < 10
