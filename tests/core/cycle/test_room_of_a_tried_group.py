"""Room that is kept for a pod group stays kept at each step of the group's own attempt."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import schedule_group
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.simulated_groups import finished
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION, TRIO, ZONE, context, placer, zones
from tests.core.framework.evaluation.test_held_room import fits
from tests.core.framework.evaluation.test_nominated_elsewhere import pod


def created(second: int, one: Pod) -> Pod:
    """The pod, so many seconds after the first one."""
    at = f"2026-01-01T00:00:{second:02}Z"
    return msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, creation_timestamp=at)
    )


def member(name: str, cpu: str = "1") -> Pod:
    """A pod of the group."""
    siblings = PodSchedulingGroup("g")
    return created(1, make_pod(name, cpu=cpu, priority=5, scheduling_group=siblings))


def nominate(tried: CycleContext, members: list[Pod], held: bool) -> None:
    """To the nodes of the first zone."""
    for i, one in enumerate(members):
        tried.cache.observe_waiting(one, pod_requests(one))
        tried.cache.nominations.nominate(one, f"a{i % 2}", held)


@pytest.mark.parametrize(
    ("held", "priority"), [(False, 4), (True, 4), (True, 5)], ids=["lower", "held", "younger"]
)
@pytest.mark.parametrize(
    ("count", "other", "expected"),
    [
        pytest.param(4, "", {"a"}, id="where they are nominated to"),
        pytest.param(4, "1500m", {"a"}, id="another zone is tried first"),
        pytest.param(4, "2", {"a", "b"}, id="and may be the better one"),
        pytest.param(5, "2", set(), id="nowhere"),
    ],
)
def test_no_lesser_pod_ever_fits(
    held: bool, priority: int, count: int, other: str, expected: set[str]
) -> None:
    """Whichever member is placed, elsewhere too, or is taken back: until the group has its place,
    or on if it has none.
    """
    tried = context(zones(a="2", **({"b": other} if other else {})))
    members = [member(name) for name in "vwxyz"[:count]]
    nominate(tried, members, held)
    before = list(tried.cache.nominations.states())
    lesser = created(2, make_pod("lesser", cpu="1m", priority=priority, node_selector={ZONE: "a"}))
    group = dataclasses.replace(TRIO, priority=5, min_count=count, topology_key=ZONE)
    steps = schedule_group(GroupAttempt(group, members), placer(tried), tried, REVISION)
    result = None
    while result is None:
        assert not fits(lesser, tried)
        try:
            next(steps)
        except StopIteration as end:
            result = end.value
    zones_of = {one.node[0] for one in result.placed}
    assert zones_of <= expected and bool(zones_of) is bool(expected)
    left = sorted(tried.cache.nominations.states(), key=lambda one: one.uid)
    assert left == ([] if zones_of else before)
    assert fits(lesser, tried) is (zones_of == {"b"})


def test_siblings_need_no_domain_of_each_other() -> None:
    """Each must be alone in its zone. The first one's is lost, so it goes to the other one's zone,
    if to another node.
    """
    nodes = [make_node("a0", cpu="0", labels={"zone": "a"})]
    nodes += [make_node(name, labels={"zone": "b"}) for name in ("b0", "b1")]
    tried = context(nodes)
    siblings = PodSchedulingGroup("g")
    members = [
        msgspec.structs.replace(
            one, spec=msgspec.structs.replace(one.spec, scheduling_group=siblings)
        )
        for one in (pod("v", "hermit"), pod("w", "hermit"))
    ]
    for one, node in zip(members, ("a0", "b0"), strict=True):
        tried.cache.observe_waiting(one, pod_requests(one))
        tried.cache.nominations.nominate(one, node)
    one_will_do = dataclasses.replace(TRIO, min_count=1)
    steps = schedule_group(GroupAttempt(one_will_do, members), placer(tried), tried, REVISION)
    assert [one.pod.metadata.name for one in finished(steps).placed] == ["v"]
