"""The simulator: what waits is placed until nothing moves, and all of it can be undone."""

from __future__ import annotations

import msgspec
from hypothesis import given

from moorage.core.cycle.context import CycleContext
from moorage.core.objects.pod_groups import COSCHEDULING_LABEL
from moorage.core.objects.pods import Pod, PodAnnotations, PodSpec
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.core.simulation.simulator import Simulator
from tests.builders import make_node
from tests.core.simulation.clusters import REVISIONS, a_context, a_pod, contexts
from tests.twins import differing, opened


def simulated(context: CycleContext) -> Simulator:
    """What waits in this context, placed as far as possible."""
    simulator = Simulator(context, REVISIONS)
    for pod in list(context.cache.waiting.values()):
        simulator.arrive(pod)
    simulator.run()
    return simulator


def test_all_that_fit_are_placed_and_the_others_say_why() -> None:
    context = a_context([make_node("n", cpu="2")], [a_pod(f"p{i}", cpu="1") for i in range(3)])
    simulator = simulated(context)
    assert [placed.node for placed in simulator.placed.values()] == ["n", "n"]
    assert [(pod.metadata.name, why) for pod, why in simulator.waiting()] == [
        ("p2", "Insufficient cpu")
    ]


def test_priority_goes_first() -> None:
    pods = [a_pod("low", cpu="2"), a_pod("high", cpu="2", priority=10)]
    assert list(simulated(a_context([make_node("n", cpu="2")], pods)).placed) == ["uid-high"]


def test_victims_go_and_look_for_another_place() -> None:
    """The pod that they went for has their room."""
    nodes = [
        make_node("big", cpu="4", labels={"size": "big"}),
        make_node("small", cpu="2"),
    ]
    victim = a_pod("victim", "big", cpu="2")
    pods = [victim, a_pod("high", cpu="4", priority=10, node_selector={"size": "big"})]
    simulator = simulated(a_context(nodes, pods))
    assert {uid: one.node for uid, one in simulator.placed.items()} == {
        "uid-high": "big",
        "uid-victim": "small",
    }
    assert list(simulator.preempted) == ["uid-victim"] and not simulator.waiting()


def test_a_place_that_comes_free_is_taken_at_that_time() -> None:
    """Time passes only as long as something is to come."""
    context = a_context([make_node("n", cpu="2")], [a_pod("first", "n", cpu="2")])
    times: list[tuple[str, float]] = []
    simulator = Simulator(
        context,
        REVISIONS,
        on_placed=lambda placed: times.append((placed.pod.metadata.name, simulator.now)),
    )
    simulator.at(5.0, lambda: simulator.arrive(a_pod("second", cpu="1")))
    simulator.at(40.0, lambda: simulator.leave("uid-first"))
    simulator.at(60.0, lambda: simulator.arrive(a_pod("third", cpu="1")))
    simulator.run()
    assert times == [("second", 40.0), ("third", 60.0)]
    assert simulator.now == 60.0


def test_a_run_ends_where_it_is_told_to() -> None:
    simulator = Simulator(a_context([make_node("n")]), REVISIONS)
    simulator.at(5.0, lambda: simulator.arrive(a_pod("p")))
    simulator.run(4.0)
    assert (simulator.now, len(simulator.placed)) == (4.0, 0)
    simulator.run(6.0)
    assert (simulator.now, len(simulator.placed)) == (6.0, 1)


def test_a_node_that_comes_wakes_who_waits() -> None:
    context = a_context([make_node("n", cpu="1")], [a_pod("p", cpu="2")])
    simulator = simulated(context)
    assert not simulator.placed
    simulator.put_node(make_node("m", cpu="4"))
    simulator.run()
    assert [placed.node for placed in simulator.placed.values()] == ["m"]


def of_group(name: str, minimum: str) -> Pod:
    """A member of a group that says itself how many it needs."""
    pod = a_pod(name, labels={COSCHEDULING_LABEL: "gang"}, cpu="1")
    meta = type(pod.metadata)(
        name=name,
        namespace="default",
        uid=pod.metadata.uid,
        labels=pod.metadata.labels,
        annotations=PodAnnotations(minimum),
    )
    return type(pod)(meta, pod.spec, pod.status)


def test_a_group_is_placed_whole_or_not_at_all() -> None:
    nodes = [make_node("n", cpu="2")]
    fits = simulated(a_context(nodes, [of_group(f"p{i}", "2") for i in range(2)]))
    assert len(fits.placed) == 2
    short = simulated(a_context(nodes, [of_group(f"p{i}", "3") for i in range(3)]))
    assert not short.placed and len(short.waiting()) == 3
    gated = simulated(a_context(nodes, [of_group("p", "2")]))
    assert [why for _, why in gated.waiting()] == ["gated by PodGroup"]


def test_pods_of_a_profile_that_is_not_there_wait_for_it() -> None:
    context = a_context([make_node("n")], [a_pod("p", scheduler_name="other")])
    assert [why for _, why in simulated(context).waiting()] == ["no profile other"]


@given(contexts())
def test_nothing_takes_more_than_there_is(context: CycleContext) -> None:
    """On nodes that pods were placed on; every pod is either placed or waits."""
    waited = set(context.cache.waiting)
    simulator = simulated(context)
    for placed in simulator.placed.values():
        amounts = context.cache.nodes.amounts_on(context.cache.nodes.row_of[placed.node])
        assert all(has >= taken for has, taken in amounts.values())
    assert {pod.metadata.uid for pod, _ in simulator.waiting()} | set(simulator.placed) == (
        waited | set(simulator.preempted)
    )


@given(contexts())
def test_what_is_undone_was_never_there(context: CycleContext) -> None:
    """Nothing is known otherwise than before, and the same is decided once more."""
    before = opened(context)
    simulator = simulated(context)
    first = {uid: one.node for uid, one in simulator.placed.items()}
    simulator.undo()
    assert not differing(before, context)
    assert {uid: one.node for uid, one in simulated(context).placed.items()} == first


def test_devices_of_a_pod_that_goes_are_free() -> None:
    """Of a claim that is this pod's alone; one that others use too stays allocated."""
    claims = [
        msgspec.convert(
            {
                "metadata": {"name": name, "namespace": "default", "uid": name},
                "status": {
                    "allocation": {"devices": {}},
                    "reservedFor": [{"resource": "pods", "uid": uid} for uid in users],
                },
            },
            ResourceClaim,
        )
        for name, users in (("own", ["uid-p"]), ("shared", ["uid-p", "uid-q"]))
    ]
    uses = [{"name": name, "resourceClaimName": name} for name in ("own", "shared")]
    spec = msgspec.convert({"resourceClaims": uses}, PodSpec)
    pod = a_pod("p", "n", resource_claims=spec.resource_claims)
    context = a_context([make_node("n")], [pod], claims)
    before, simulator = opened(context), Simulator(context, REVISIONS)
    record = context.cache.pod_info("uid-p")
    assert record is not None
    simulator.evict(record)
    left = context.cache.store.objects(ResourceClaim)
    assert {name: claim.status.allocation is None for name, claim in left.items()} == {
        "default/own": True,
        "default/shared": False,
    }
    simulator.undo()
    assert not differing(before, context)
