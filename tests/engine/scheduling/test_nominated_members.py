"""Members of a group that are nominated: their room is kept while the group itself is placed in
slices, but for members that are gone.
"""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import PodAnnotations, PodStatus
from tests.builders import make_pod
from tests.engine.scheduling.test_slices import a_bench, begun, placed, run
from tests.engine.worlds import Bench, versioned

MEMBERS = 10
EARLIER, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


def nominated_gang(bench: Bench, least: int, cpu: str = "100m", held: bool = False) -> None:
    """Each member is nominated to the first node, and has a template of its own."""
    for i in range(MEMBERS):
        pod = make_pod(f"g{i}", cpu=cpu, memory=f"{i + 1}Ki")
        pod = msgspec.structs.replace(pod, status=PodStatus(nominated_node_name="n0"))
        labels, said = {COSCHEDULING_LABEL: "g"}, PodAnnotations(str(least))
        pod = versioned(pod, labels=labels, annotations=said, creation_timestamp=EARLIER)
        bench.pods.put(pod)
        if held:
            bench.cache.nominations.nominate(pod, "n0", held=True)


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("gone", ["g0", "g5", "g9"])
def test_no_room_is_kept_for_members_that_are_gone(gone: str, fits: bool) -> None:
    """Whether their turn had come or not, and whatever becomes of the others."""
    bench = a_bench(8, nodes=3 if fits else 1)
    nominated_gang(bench, MEMBERS - 2 if fits else MEMBERS, "100m" if fits else "450m")
    nominations = bench.cache.nominations
    assert len(nominations) == MEMBERS
    begun(bench, 3)
    bench.pods.delete(bench.pods.objects[f"uid-{gone}"])
    run(bench, until=lambda: bool(placed(bench)) if fits else not bench.cache.assumed)
    run(bench)
    others = {f"uid-g{i}" for i in range(MEMBERS)} - {f"uid-{gone}"}
    assert {f"uid-{name}" for name in placed(bench)} == (others if fits else set())
    left = {record.pod.metadata.uid for record in nominations}
    assert left <= (set() if fits else others)


@pytest.mark.parametrize(
    ("held", "lesser"),
    [(False, -1), (True, -1), (True, 0)],
    ids=["lower", "lower than held", "younger than held"],
)
def test_the_room_is_kept_between_slices(held: bool, lesser: int) -> None:
    """A pod that must leave it comes between two slices, and is decided before the gang is: the
    gang, which needs all of the node, has its room none the less.
    """
    bench = a_bench(8, nodes=1)
    nominated_gang(bench, MEMBERS, "400m", held)
    begun(bench, 3)
    pod = make_pod("lesser", cpu="10m", priority=lesser)
    bench.pods.put(versioned(pod, creation_timestamp=LATER))
    run(bench, until=lambda: bench.queue.counts("test").unschedulable > 0)
    assert bench.cache.assumed < MEMBERS
    run(bench, until=lambda: bool(placed(bench)))
    run(bench)
    assert placed(bench).keys() == {f"g{i}" for i in range(MEMBERS)}
