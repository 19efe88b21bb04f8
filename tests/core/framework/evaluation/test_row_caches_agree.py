"""What preemption remembers of rows is what it would find out anew: a scheduler that has seen
everything decides as a fresh one.
"""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod, PodCondition, PodStatus
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.plugin import NAME, DefaultPreemptionArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node

REGISTRY = build_registry(INTREE)
RESPECTFUL = DefaultPreemptionArgs(disruption_policy="RespectPDB")
REVISIONS = (
    resolve(RequestedProfile("test"), REGISTRY, PRESETS),
    resolve(RequestedProfile("respectful", args={NAME: RESPECTFUL}), REGISTRY, PRESETS),
)
NODES = tuple(f"n{i}" for i in range(12))
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
}

TEAMS = ("t0", "t1")
HEALTHY = {"currentHealthy": 2, "desiredHealthy": 1}
ZONES = {name: "a" if i % 2 else "b" for i, name in enumerate(NODES)}

starts = st.tuples(
    st.just("start"),
    st.integers(0, 11),
    st.integers(0, 9),
    st.sampled_from(["Pending", "Running"]),
    st.booleans(),
)
pods = st.tuples(
    st.just("pod"),
    st.integers(0, 15),
    st.sampled_from(NODES),
    st.sampled_from("23"),
    st.integers(0, 2),
    st.sampled_from("xy"),
    st.sampled_from(["", "", *TEAMS]),
)
STEPS = st.one_of(
    starts,
    starts,
    pods,
    pods,
    st.tuples(st.just("node"), st.sampled_from(NODES), st.sampled_from("34"), st.booleans()),
    st.tuples(st.just("gone"), st.integers(0, 15)),
    st.tuples(st.just("budget"), st.integers(0, 2)),
    st.tuples(
        st.just("group"),
        st.sampled_from(TEAMS),
        st.sampled_from(["all", "all", "single", ""]),
        st.integers(0, 6),
    ),
    st.tuples(st.just("nominate"), st.sampled_from(NODES), st.integers(0, 4)),
    st.tuples(st.just("withdraw")),
)
"""Mostly changes that leave the nodes full."""


def pod(name: str, cpu: str, priority: int, node: str = "", app: str = "x", **spec: Any) -> Pod:
    """A pod of this priority."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "d", "uid": f"uid-{name}", "labels": {"app": app}}
    return msgspec.convert(
        {
            "metadata": metadata,
            "spec": {"nodeName": node, "priority": priority, "containers": containers, **spec},
        },
        Pod,
    )


WAITING = (
    pod("one", "2", 5),
    pod("eins", "2", 5),
    pod("two", "3", 1, app="y"),
    pod("three", "2", 5, topologySpreadConstraints=[SPREAD]),
)
NOMINEES = (*WAITING[:2], *(pod(f"guest{level}", "2", level) for level in (0, 5, 9)))
"""Pods that are nominated, among them two that are decided themselves."""


def step(cache: Cache, action: str, *given: Any) -> None:
    """Change the cluster."""
    match action, given:
        case "node", (name, cpu, there):
            if there:
                cache.put_node(make_node(name, cpu=cpu, labels={"zone": ZONES[name]}))
            else:
                cache.remove_node(name)
        case "pod", (number, node, cpu, priority, app, team):
            group = {"podGroupName": team} if team else None
            one = pod(f"p{number}", cpu, priority, node, app, schedulingGroup=group)
            cache.observe(one, pod_requests(one))
        case "start", (number, hour, phase, ready):
            record = cache.pod_info(f"uid-p{number}")
            if record is not None and isinstance(record.pod, Pod):
                conditions = (PodCondition("Ready", str(ready)),)
                status = PodStatus(phase, "", f"2026-01-01T0{hour}:00:00Z", conditions)
                started = msgspec.structs.replace(record.pod, status=status)
                cache.observe(started, pod_requests(started))
        case "gone", (number,):
            cache.remove(f"uid-p{number}")
        case "nominate", (node, number):
            cache.nominations.add(NOMINEES[number], node, pod_requests(NOMINEES[number]))
        case "withdraw", _:
            for one in NOMINEES:
                cache.nominations.remove(one.metadata.uid)
        case _:
            step_of_objects(cache, action, *given)


def step_of_objects(cache: Cache, action: str, *given: Any) -> None:
    """Change a budget or a PodGroup."""
    match action, given:
        case "budget", (allowed,):
            body = {
                "metadata": {"name": "b", "namespace": "d"},
                "spec": {"selector": {"matchLabels": {"app": "x"}}},
            }
            cache.store.put(
                msgspec.convert(
                    {**body, "status": {"disruptionsAllowed": allowed, **HEALTHY}},
                    PodDisruptionBudget,
                )
            )
        case "group", (name, "", _):
            cache.store.remove(PodGroup, f"d/{name}")
        case "group", (name, mode, priority):
            body = {"priority": priority, "disruptionMode": {mode: {}}}
            meta = {"name": name, "namespace": "d"}
            cache.store.put(msgspec.convert({"metadata": meta, "spec": body}, PodGroup))


def brief(outcome: ScheduleResult | Diagnosis) -> tuple[Any, ...]:
    """All that counts of an outcome."""
    if isinstance(outcome, ScheduleResult):
        return outcome.node, outcome.score
    return outcome.message, outcome.nominated_node, outcome.victims


@settings(max_examples=40)
@given(st.lists(STEPS, min_size=3, max_size=12), st.booleans())
def test_what_is_remembered_is_what_would_be_found(
    steps: list[tuple[Any, ...]], grouped: bool
) -> None:
    """After each change of nodes, pods, their groups, budgets and nominations, for pods that are
    alike and pods that are not.
    """
    cache = Cache()
    if grouped:
        step(cache, "group", "t0", "all", 1)
    for i, name in enumerate(NODES):  # full, with pods that can be told apart
        cache.put_node(make_node(name, cpu="3", labels={"zone": ZONES[name]}))
        team = ("", "", *TEAMS)[i % 4] if grouped else ""
        step(cache, "pod", i, name, "3", 0, "xy"[i % 2], team)
        step(cache, "start", i, 2, "Running", i % 3 > 0)
    kept = CycleContext(cache)
    for one in [("start", 0, 2, "Running", True), *steps]:
        step(cache, *one)
        for waiting, revision in itertools.product(WAITING, REVISIONS):
            assert brief(decide(waiting, revision, kept)) == brief(
                decide(waiting, revision, CycleContext(cache))
            )


def test_a_pod_leaves_room_for_a_sibling_that_was_decided_before_it() -> None:
    """Pods of one template share what was compiled for the first of them, but not its exception
    from its own nomination.
    """
    cache = Cache()
    cache.put_node(make_node("n1", cpu="3"))
    kept = CycleContext(cache)
    first, second, guest = *WAITING[:2], NOMINEES[2]
    cache.nominations.add(guest, "elsewhere", pod_requests(guest))
    assert isinstance(decide(first, REVISIONS[0], kept), ScheduleResult)
    cache.nominations.add(first, "n1", pod_requests(first))
    assert isinstance(decide(first, REVISIONS[0], kept), ScheduleResult)
    assert isinstance(decide(second, REVISIONS[0], kept), Diagnosis)
