"""Turns of the event loop's other tasks while gangs are placed: however many come at once, others
(a reflector, the health port) have theirs after little work.
"""

from __future__ import annotations

import itertools

import pytest

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import PodAnnotations
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS
from moorage.engine.slices import LOOP_SLICE_SECONDS
from tests.builders import make_pod
from tests.engine.scheduling.test_gangs_side_by_side import a_slow_bench
from tests.engine.scheduling.test_slices import placed, run
from tests.engine.scheduling.test_turns import BusyClock
from tests.engine.worlds import Bench, versioned

GANGS = 5
LOOKS = 20
"""At the clock, in a slice."""
MOST_SECONDS = 2 * ATTEMPT_SLICE_SECONDS + LOOP_SLICE_SECONDS
"""A slice of what was begun, and one of a pod that is popped."""
MOST_MEMBERS = LOOKS + 2
"""That are placed, or taken back, meanwhile."""


def come(bench: Bench, profiles: int, members: int, alike: bool) -> None:
    """Gangs of so many profiles; each member has a template of its own, unless they are alike."""
    for gang, i in itertools.product(range(GANGS), range(members)):
        profile, cpu = f"p{gang % profiles}", "6m" if alike else f"{i + 1}m"
        pod = make_pod(f"g{gang}-{i}", scheduler_name=profile, cpu=cpu)
        labels, said = {COSCHEDULING_LABEL: f"g{gang}"}, PodAnnotations(str(members))
        bench.pods.put(versioned(pod, labels=labels, annotations=said))


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("profiles", [1, GANGS])
@pytest.mark.parametrize(("members", "alike"), [(12, False), (60, True)])
def test_others_have_turns_while_gangs_are_placed(
    monkeypatch: pytest.MonkeyPatch, members: int, alike: bool, profiles: int, fits: bool
) -> None:
    """And while those that do not fit are taken back."""
    monkeypatch.setattr(BusyClock, "step", ATTEMPT_SLICE_SECONDS / LOOKS)
    cpu = "4" if fits else f"{members * 5 // 2}m"
    bench = a_slow_bench(*(f"p{i}" for i in range(profiles)), nodes=2, cpu=cpu)
    come(bench, profiles, members, alike)
    turns: list[tuple[float, int]] = []

    def look() -> bool:
        turns.append((bench.clock._boottime, bench.cache.assumed))
        return len(placed(bench)) == GANGS * members

    run(bench, 600, until=look)
    steps = list(itertools.pairwise(turns))
    longest = max(after - before for (before, _), (after, _) in steps)
    most = max(abs(after - before) for (_, before), (_, after) in steps)
    assert longest <= MOST_SECONDS
    assert 0 < most <= MOST_MEMBERS
    assert bool(placed(bench)) is fits
