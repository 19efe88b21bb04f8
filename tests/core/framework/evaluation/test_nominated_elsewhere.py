"""What is nominated pods' is guarded wherever it is: a pod must pass with them on their nodes, all
of them, and without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide, run_filters
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node
from tests.core.storage_builders import make_claim, make_volume

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
NODES = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
"""Nodes and their zones."""

SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "spread": {"topologySpreadConstraints": [SPREAD]},
    "hermit": {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}},
                ]
            }
        }
    },
    "friend": {
        "affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "y"}}},
                ]
            }
        }
    },
    "alone": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "one"}}]},
}


def pod(name: str, kind: str = "plain", priority: int = 0, node: str = "", app: str = "x") -> Pod:
    """A pod of this kind that asks for a quarter of a node."""
    body = {
        "metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}", "labels": {"app": app}},
        "spec": {
            "nodeName": node,
            "priority": priority,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            **KINDS[kind],
        },
    }
    return msgspec.convert(body, Pod)


def cluster(*pods: Pod, zones: Mapping[str, str] = NODES) -> Cache:
    """The nodes, a claim for one pod alone with its volume, and these pods."""
    cache = Cache()
    for name, zone in zones.items():
        cache.put_node(make_node(name, labels={"zone": zone}))
    cache.store.put(make_claim("one", "v", mode="ReadWriteOncePod"))
    cache.store.put(
        make_volume(
            "v",
            accessModes=["ReadWriteOncePod"],
            claimRef={"namespace": "a", "name": "one", "uid": "uid-one"},
        )
    )
    for one in pods:
        cache.observe(one, pod_requests(one))
    return cache


def nominate(cache: Cache, guest: Pod, node: str) -> None:
    """The pod waits, and is nominated to this node."""
    cache.nominations.add(guest, node, pod_requests(guest))


def passing(waiting: Pod, context: CycleContext) -> set[str]:
    """The nodes that would take a pod."""
    evaluation = run_filters(waiting, REVISION, context)
    assert isinstance(evaluation, Evaluation)
    names = context.snapshot.nodes.names
    return {names[row] for row in evaluation.feasible()} if evaluation.fits else set()


@pytest.mark.parametrize(
    ("guest", "waiting", "left"),
    [
        pytest.param("alone", "alone", set(), id="a claim for one pod alone"),
        pytest.param("hermit", "plain", {"n2", "n3"}, id="a zone that it wants for itself"),
        pytest.param("plain", "hermit", {"n2", "n3"}, id="a zone that it will be in"),
        pytest.param("plain", "spread", {"n2", "n3"}, id="a place in a zone"),
        pytest.param("plain", "plain", set(NODES), id="nothing but room"),
    ],
)
def test_lesser_pods_leave_what_a_nominated_pod_needs(
    guest: str, waiting: str, left: set[str]
) -> None:
    """On all nodes, not on its own alone; whoever is refused can be told for whom. More important
    ones need not, nor afterwards anybody.
    """
    cache = cluster()
    context = CycleContext(cache)
    least, vip = pod("least", waiting, 1), pod("vip", waiting, 9)
    assert passing(least, context) == set(NODES)
    nominate(cache, pod("guest", guest, 5), "n0")
    assert passing(least, context) == left
    assert passing(vip, context) == set(NODES)
    if not left:
        outcome = decide(least, REVISION, context)
        assert isinstance(outcome, Diagnosis)
        assert [record.pod.metadata.name for record in outcome.blocking_nominated_pods] == ["guest"]
    cache.nominations.remove("uid-guest")
    assert isinstance(decide(least, REVISION, context), ScheduleResult)
    assert passing(least, context) == set(NODES)


def test_pods_whose_labels_made_no_difference_are_told_apart_beside_a_nominated_pod() -> None:
    """By what it does not want near it, and only as long as it is nominated."""
    cache = cluster()
    context = CycleContext(cache)
    for guarded in (set(NODES), {"n2", "n3"}, set(NODES), {"n2", "n3"}):
        assert passing(pod("x", app="x"), context) == guarded
        assert passing(pod("z", app="z"), context) == set(NODES)
        if guarded == set(NODES):
            nominate(cache, pod("guest", "hermit", 5), "n0")
        else:
            cache.nominations.remove("uid-guest")


def crowd(node: str, priority: int = 0) -> list[Pod]:
    """Pods that fill a node."""
    return [pod(f"{node}-{i}", "plain", priority, node, "z") for i in range(4)]


def before_beside_and_after(
    cache: Cache, waiting: Pod, guest: Pod
) -> Iterator[ScheduleResult | Diagnosis]:
    """What becomes of a pod by one context: before the guest is nominated to n0, while it is, and
    when it is not any more.
    """
    context = CycleContext(cache)
    yield decide(waiting, REVISION, context)
    nominate(cache, guest, "n0")
    yield decide(waiting, REVISION, context)
    cache.nominations.remove(guest.metadata.uid)
    yield decide(waiting, REVISION, context)


def test_nodes_that_are_guarded_have_no_score() -> None:
    """Though nothing changed on them, nor on the node of the nominated pod, which takes nobody
    anyway.
    """
    cache = cluster(*crowd("n0"), *crowd("n2")[:2], *crowd("n3")[:2])
    nominate(cache, pod("nobody", priority=-1), "n3")  # so that there is a nomination all the time
    where = []
    for outcome in before_beside_and_after(cache, pod("new"), pod("guest", "hermit", 5)):
        assert isinstance(outcome, ScheduleResult)
        where.append(outcome.node)
    assert (where[0], where[2]) == ("n1", "n1")
    assert where[1] in ("n2", "n3")


def test_what_preemption_remembers_of_nodes_ends_with_a_guest_elsewhere() -> None:
    """The node where it would do least harm is in the domain that the nominated pod fills."""
    cache = cluster(*crowd("n0", 1), *crowd("n1", 0), *crowd("n2", 1), *crowd("n3", 1))
    nominate(cache, pod("nobody", priority=-1), "n3")
    where = []
    for outcome in before_beside_and_after(
        cache, pod("new", "spread", 5), pod("guest", "plain", 9)
    ):
        assert isinstance(outcome, Diagnosis)
        where.append(outcome.nominated_node)
    assert (where[0], where[2]) == ("n1", "n1")
    assert where[1] in ("n2", "n3")


pods = st.builds(
    pod,
    st.sampled_from([f"p{i}" for i in range(6)]),
    st.sampled_from([*KINDS]),
    st.integers(0, 3),
    st.sampled_from([*NODES]),
    st.sampled_from("xy"),
)
STEPS = st.one_of(
    st.tuples(st.just("pod"), pods),
    st.tuples(st.just("nominate"), pods),
    st.tuples(st.just("nominate"), pods),
    st.tuples(st.just("gone"), pods),
    st.tuples(st.just("zone"), pods),
)


@settings(max_examples=25)
@given(st.lists(STEPS, min_size=2, max_size=10))
def test_a_scheduler_that_has_seen_it_all_agrees_with_real_pods(
    steps: list[tuple[str, Pod]],
) -> None:
    """Nodes pass that would take the pod in a fresh cluster where the nominated pods are there, and
    in one without them. Pods come, are nominated and go, and nodes move to the other zone.
    """
    cache, there, guests = cluster(), dict[str, Pod](), dict[str, tuple[Pod, str]]()
    kept, zones = CycleContext(cache), dict(NODES)
    for what, one in steps:
        uid, node = one.metadata.uid, one.spec.node_name
        if what == "zone":
            zones[node] = "a" if zones[node] == "b" else "b"
            cache.put_node(make_node(node, labels={"zone": zones[node]}))
        guests.pop(uid, None)
        there.pop(uid, None)
        cache.remove(uid)
        cache.nominations.remove(uid)
        if what == "pod":
            there[uid] = one
            cache.observe(one, pod_requests(one))
        elif what == "nominate":
            waits = msgspec.structs.replace(
                one, spec=msgspec.structs.replace(one.spec, node_name="")
            )
            guests[uid] = waits, node
            nominate(cache, waits, node)
        for waiting in (pod(f"new-{kind}", kind, 2) for kind in KINDS):
            first = [
                msgspec.structs.replace(
                    guest, spec=msgspec.structs.replace(guest.spec, node_name=at)
                )
                for guest, at in guests.values()
                if (guest.spec.priority or 0) >= 2
            ]
            with_them = passing(
                waiting, CycleContext(cluster(*there.values(), *first, zones=zones))
            )
            without = passing(waiting, CycleContext(cluster(*there.values(), zones=zones)))
            assert passing(waiting, kept) == with_them & without, waiting.metadata.name
            outcomes = [decide(waiting, REVISION, each) for each in (kept, CycleContext(cache))]
            assert (
                len(
                    {
                        outcome.node if isinstance(outcome, ScheduleResult) else outcome.message
                        for outcome in outcomes
                    }
                )
                == 1
            )
