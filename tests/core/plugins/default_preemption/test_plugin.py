"""DefaultPreemption: the victims and the node that a naive search finds, when it may preempt, and
how many nodes it tries.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import decide, run_filters
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.post_filter_contract import PostFilterPlugin
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.candidates import (
    PreemptionCandidate,
    candidate_of,
    choose,
)
from moorage.core.plugins.default_preemption.plugin import DefaultPreemption, DefaultPreemptionArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node
from tests.oracle import cluster as naive
from tests.oracle.preemption import Preemption
from tests.oracle.scheduler import Profile, schedule

PLUGIN: PostFilterPlugin = DefaultPreemption()
BY_US = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


FILTERS = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)
PLUGINS = EnabledPlugins(
    tuple(
        PluginRef(name) for name in ("PrioritySort", *FILTERS, "DefaultPreemption", "DefaultBinder")
    ),
    ("*",),
)


def revision_with(args: DefaultPreemptionArgs) -> Revision:
    """A profile with these arguments."""
    spec = RequestedProfile(
        "test", plugins={"multiPoint": PLUGINS}, args={"DefaultPreemption": args}
    )
    return resolve(spec, build_registry(INTREE), PRESETS)


REVISION = revision_with(DefaultPreemptionArgs())
PROFILE = Profile(
    REVISION.points[ExtensionPoint.FILTER],
    {},
    {name: plugin.args for name, plugin in REVISION.deciders.items() if hasattr(plugin, "args")},
)


def a_pod(
    name: str,
    cpu: str = "1",
    node: str = "",
    priority: int | None = None,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """A pod with these labels, if any, and this priority."""
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        **spec.pop("metadata", {}),
    }
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    body = {"nodeName": node, "priority": priority, "containers": containers, **spec}
    return msgspec.convert({"metadata": metadata, "spec": body, "status": status or {}}, Pod)


def a_budget(
    name: str, allowed: int, selector: dict[str, Any] | None, **more: Any
) -> PodDisruptionBudget:
    """A disruption budget."""
    metadata = {"name": name, "namespace": more.pop("namespace", "default")}
    status = {"disruptionsAllowed": allowed, **more}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"selector": selector}, "status": status},
        PodDisruptionBudget,
    )


def scheduler_of(
    nodes: Sequence[Node],
    pods: Sequence[Pod],
    budgets: Sequence[PodDisruptionBudget] = (),
    seed: int = 0,
) -> CycleContext:
    """A scheduler over these; a pod that waits for a node that it is nominated to is nominated."""
    cache = Cache()
    for node in nodes:
        cache.put_node(node)
    for pod in pods:
        if pod.spec.node_name:
            cache.observe(pod, pod_requests(pod))
        else:
            cache.nominations.add(pod, pod.status.nominated_node_name, pod_requests(pod))
    for budget in budgets:
        cache.store.put(budget)
    return CycleContext(cache, seed)


def diagnosis(pod: Pod, context: CycleContext, revision: Revision = REVISION) -> Diagnosis:
    """What is decided about a pod that fits nowhere."""
    outcome = decide(pod, revision, context)
    assert isinstance(outcome, Diagnosis)
    return outcome


def names(pods: Sequence[Pod]) -> list[str]:
    """Names of pods."""
    return [pod.metadata.name for pod in pods]


# ---- the same as a naive search ------------------------------------------------------------------

NODES = [
    make_node(f"n{i}", cpu=cpu, labels={"kubernetes.io/hostname": f"n{i}"})
    for i, cpu in enumerate(["2", "3", "3", "4"])
]
LABELS = st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}])
PRIORITIES = st.sampled_from([None, -1, 0, 5, 5, 9])
STARTS = st.sampled_from([None, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"])
PORTS = st.sampled_from([[], [], [{"hostPort": 80}]])
ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"tier": "x"}},
            }
        ]
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
]
PLACED = st.tuples(
    st.sampled_from(["n0", "n1", "n2", "n3"]),
    st.sampled_from(["500m", "1", "2"]),
    PRIORITIES,
    LABELS,
    STARTS,
    PORTS,
)
WAITING = st.tuples(
    st.sampled_from(["n0", "n1", "n3", "gone"]), st.sampled_from(["1", "2"]), PRIORITIES
)
SELECTORS = st.sampled_from(
    [
        {"matchLabels": {"app": "a"}},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {"matchLabels": {"app": "b"}},
        {},
        None,
        {"matchExpressions": [{"key": "app", "operator": "Sideways"}]},
    ]
)
BUDGETS = st.tuples(
    SELECTORS,
    st.integers(0, 2),
    st.sampled_from(["default", "default", "other"]),
    st.sampled_from([{}, {"p1": "then"}]),
)
WANTED = st.tuples(
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from([4, 9, 20]),
    LABELS,
    PORTS,
    st.sampled_from([None, None, ANTI]),
    st.sampled_from([None, None, SPREAD]),
)


def with_port(ports: list[dict[str, Any]], cpu: str) -> dict[str, Any]:
    """A pod's containers, with a host port or without."""
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}]}


@given(
    st.lists(PLACED, min_size=6, max_size=18),
    st.lists(WAITING, max_size=2),
    st.lists(BUDGETS, max_size=3),
    WANTED,
)
@settings(max_examples=120, deadline=None)
def test_victims_are_those_of_a_naive_search(
    placed: list[tuple[Any, ...]],
    waiting: list[tuple[Any, ...]],
    drawn: list[tuple[Any, ...]],
    wanted: tuple[Any, ...],
) -> None:
    """Every node's, with budgets, ports, constraints and pods that are nominated to nodes; and the
    node is one of the best.
    """
    pods = [
        a_pod(
            f"p{i}",
            node=node,
            priority=level,
            status={"startTime": start},
            metadata={"labels": labels},
            **with_port(ports, cpu),
        )
        for i, (node, cpu, level, labels, start, ports) in enumerate(placed)
    ]
    guests = [
        a_pod(f"w{i}", cpu, "", level, {"nominatedNodeName": node})
        for i, (node, cpu, level) in enumerate(waiting)
    ]
    budgets = [
        a_budget(f"b{i}", allowed, selector, namespace=namespace, disruptedPods=gone)
        for i, (selector, allowed, namespace, gone) in enumerate(drawn)
    ]
    cpu, level, labels, ports, affinity, spread = wanted
    pod = a_pod(
        "new",
        priority=level,
        affinity=affinity,
        topologySpreadConstraints=spread,
        metadata={"labels": labels},
        **with_port(ports, cpu),
    )
    readable = [budget for budget in budgets if "Sideways" not in str(budget)]
    cluster = naive.Cluster(
        NODES,
        [(one, one.spec.node_name) for one in pods],
        readable,
        [(one, one.status.nominated_node_name) for one in guests],
    )
    expected = schedule(pod, cluster, PROFILE)
    outcome = decide(pod, REVISION, scheduler_of(NODES, pods + guests, budgets))
    if expected.feasible:
        assert not isinstance(outcome, Diagnosis)
        return
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == expected.message_of(outcome.nominated_node)
    check_victims(outcome, expected.preemption or Preemption())


def check_victims(outcome: Diagnosis, expected: Preemption) -> None:
    """A best node and its victims; or none, and a former nomination is over."""
    if expected.best:
        assert outcome.nominated_node in expected.best
        assert [one.metadata.uid for one in outcome.victims] == expected.victims[
            outcome.nominated_node or ""
        ]
    else:
        assert (outcome.nominated_node, outcome.victims) == ("", ())


# ---- whether it may ------------------------------------------------------------------------------

LOW = a_pod("low", "4", "n1", 1)
HIGH = a_pod("high", "4", priority=9)
NODE = [make_node("n1")]


def going(*conditions: dict[str, str]) -> Pod:
    """A pod that is being deleted."""
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return a_pod("low", "4", "n1", 1, {"conditions": list(conditions)}, metadata=deleted)


def nominated(pod: Pod, node: str, context: CycleContext) -> CycleContext:
    """The pod is nominated to this node, if any, which its status does not say yet."""
    context.cache.nominations.nominate(pod, node)
    return context


@pytest.mark.parametrize(
    ("there", "mine", "victims"),
    [(5, 6, ["there", "low"]), (5, 5, []), (5, 4, []), (None, 0, []), (None, 1, ["there", "low"])],
)
def test_equals_are_not_displaced(there: int | None, mine: int, victims: list[str]) -> None:
    """Not beside pods of lower priority either; a pod that names none has 0."""
    pods = [a_pod("there", "2", "n1", priority=there), a_pod("low", "2", "n1", priority=-1)]
    outcome = diagnosis(a_pod("mine", "4", priority=mine), scheduler_of(NODE, pods))
    assert names(outcome.victims) == victims


def test_a_pod_that_does_not_want_to_preempts_nobody() -> None:
    """Its nomination, if any, is left alone."""
    found = diagnosis(
        a_pod("high", "4", priority=9, preemptionPolicy="Never"), scheduler_of(NODE, [LOW])
    )
    assert (found.victims, found.nominated_node) == ((), None)
    assert found.message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
        "preemptionPolicy=Never."
    )


@pytest.mark.parametrize(
    ("there", "node", "waits"),
    [
        pytest.param(going(BY_US), "n1", True, id="its victim is going"),
        pytest.param(going(BY_US), "", False, id="but it is not nominated"),
        pytest.param(going(BY_US), "gone", False, id="but to a node that is not there"),
        pytest.param(
            going({**BY_US, "reason": "EvictionByEvictionAPI"}),
            "n1",
            False,
            id="somebody else evicted it",
        ),
        pytest.param(
            going({**BY_US, "status": "False"}), "n1", False, id="it was not evicted after all"
        ),
        pytest.param(going(), "n1", False, id="it goes by itself"),
        pytest.param(
            a_pod("low", "4", "n1", 1, {"conditions": [BY_US]}),
            "n1",
            False,
            id="it was told and is not going",
        ),
    ],
)
def test_a_pod_whose_victim_is_going_waits(there: Pod, node: str, waits: bool) -> None:
    """On the node that it is nominated to; else it preempts."""
    found = diagnosis(HIGH, nominated(HIGH, node, scheduler_of(NODE, [there])))
    assert (
        "not eligible due to a terminating pod on the nominated node." in found.message
    ) is waits
    assert (names(found.victims), found.nominated_node) == (
        ([], None) if waits else (["low"], "n1")
    )


def test_it_may_preempt_where_the_nominated_node_cannot_help_any_more() -> None:
    """What is going there is of no use to it now."""
    nodes = [make_node("n1", unschedulable=True), make_node("n2")]
    found = diagnosis(
        HIGH, nominated(HIGH, "n1", scheduler_of(nodes, [going(BY_US), a_pod("other", "4", "n2")]))
    )
    assert (names(found.victims), found.nominated_node) == (["other"], "n2")


def test_nodes_that_cannot_help_are_not_tried() -> None:
    """Cordoned ones, too small ones, and those without lower pods; the text counts each."""
    nodes = [
        make_node("n1", unschedulable=True),
        make_node("n2", cpu="1"),
        make_node("n3"),
        make_node("n4"),
    ]
    pods = [
        a_pod("equal", "4", "n3", 9),
        a_pod("higher", "3", "n4", 10),
        a_pod("low", "1", "n4", 0),
    ]
    found = diagnosis(HIGH, scheduler_of(nodes, pods))
    assert found.message.partition("preemption: ")[2] == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming "
        "pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert found.nominated_node == ""


def test_what_cannot_be_read_stays() -> None:
    """A pod whose priority nobody knows is no victim."""
    context = scheduler_of(NODE, [])
    context.cache.observe_unreadable(PartialObject(LOW.metadata), "n1", pod_requests(LOW))
    assert "No preemption victims found" in diagnosis(HIGH, context).message


# ---- which node ----------------------------------------------------------------------------------


def candidate(row: int, violations: int, *victims: tuple[int, str | None]) -> PreemptionCandidate:
    """One with victims of these priorities and start times."""
    pods = tuple(
        a_pod(f"v{i}", priority=level, status={"startTime": start})
        for i, (level, start) in enumerate(victims)
    )
    return candidate_of(row, pods, violations)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(candidate(0, 0, (9, "2")), candidate(1, 1, (1, "9")), id="fewest violations"),
        pytest.param(
            candidate(0, 0, (5, "2"), (5, "2")),
            candidate(1, 0, (6, "9")),
            id="lowest of the highest priorities",
        ),
        pytest.param(
            candidate(0, 0, (5, "2"), (1, "2")),
            candidate(1, 0, (5, "9"), (2, "9")),
            id="lowest sum",
        ),
        pytest.param(
            candidate(0, 0, (5, "2")),
            candidate(1, 0, (5, "9"), (-9, "9")),
            id="a negative priority counts as one more victim",
        ),
        pytest.param(
            candidate(0, 0, (5, "2")),
            candidate(1, 0, (5, "9"), (-(2**31), "9")),
            id="fewest victims",
        ),
        pytest.param(
            candidate(0, 0, (5, "3"), (1, "1")),
            candidate(1, 0, (5, "2"), (1, "9")),
            id="the most important one is younger",
        ),
        pytest.param(
            candidate(0, 0, (5, "3"), (5, "4")),
            candidate(1, 0, (5, "2"), (5, "9")),
            id="the oldest of them counts",
        ),
        pytest.param(
            candidate(0, 0, (5, None)),
            candidate(1, 0, (5, "2026-01-01T00:00:00Z")),
            id="not started is as good as now",
        ),
    ],
)
def test_the_least_harm(better: PreemptionCandidate, worse: PreemptionCandidate) -> None:
    """Whatever their order."""
    assert choose([better, worse]) is better
    assert choose([worse, better]) is better


def test_equals_are_told_apart_by_seed_pod_and_node_alone() -> None:
    """Not by the order in which nodes and pods came; over many pods, all nodes have their turn."""
    nodes = [make_node(f"n{i}") for i in range(6)]
    pods = [a_pod(f"low{i}", "4", f"n{i}", 1) for i in range(6)]
    chosen = set()
    for i in range(30):
        pod = a_pod(f"high{i}", "4", priority=9)
        node = diagnosis(pod, scheduler_of(nodes, pods)).nominated_node
        random.Random(i).shuffle(nodes)
        random.Random(i).shuffle(pods)
        assert diagnosis(pod, scheduler_of(nodes, pods)).nominated_node == node
        chosen.add(node)
    assert len(chosen) == 6
    assert (
        len(
            {
                diagnosis(HIGH, scheduler_of(nodes, pods, seed=seed)).nominated_node
                for seed in range(30)
            }
        )
        == 6
    )


# ---- how many nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percentage", "absolute", "few"),
    [(10, 100, False), (0, 1, True), (1, 0, True), (100, 0, False), (0, 200, False)],
)
def test_enough_candidates_end_the_search(percentage: int, absolute: int, few: bool) -> None:
    """The best of all nodes is found only if all are tried, or the search comes by it."""
    nodes = [make_node(f"n{i}") for i in range(150)]
    pods = [a_pod(f"low{i}", "4", f"n{i}", 1 if i == 77 else 2) for i in range(150)]
    revision = revision_with(DefaultPreemptionArgs(percentage, absolute))
    chosen = [
        diagnosis(
            a_pod(f"high{i}", "4", priority=9), scheduler_of(nodes, pods), revision
        ).nominated_node
        for i in range(12)
    ]
    found = chosen.count("n77") / len(chosen)
    assert (found < 1) is (absolute < len(nodes) and percentage < 100)
    assert (found < 0.5) is few


def test_the_search_goes_on_until_a_node_violates_no_budget() -> None:
    """One candidate would be enough, but it would violate one."""
    nodes = [make_node(f"n{i}") for i in range(150)]
    pods = [
        a_pod(
            f"low{i}", "4", f"n{i}", 1, metadata={"labels": {"app": "free" if i == 77 else "kept"}}
        )
        for i in range(150)
    ]
    budget = a_budget("kept", 0, {"matchLabels": {"app": "kept"}})
    revision = revision_with(DefaultPreemptionArgs(0, 1))
    found = diagnosis(HIGH, scheduler_of(nodes, pods, [budget]), revision)
    assert found.nominated_node == "n77"


@pytest.mark.parametrize(("stays", "slices"), [(False, 1), (True, 2)])
def test_a_search_is_set_down_only_where_more_nodes_are_to_be_tried(
    stays: bool, slices: int
) -> None:
    """The time is over after each piece of work. With a pod that stays on each node, there is no
    candidate among the first hundred.
    """
    nodes = [make_node(f"n{i}") for i in range(150)]
    low = [a_pod(f"low{i}", "2", f"n{i}", 1) for i in range(150)]
    kept = [a_pod(f"kept{i}", "2", f"n{i}", 9 if stays else 1) for i in range(150)]
    context, time = scheduler_of(nodes, low + kept), itertools.count()
    run_filters(HIGH, REVISION, context)
    context.budget._now = lambda: float(next(time))
    for left in reversed(range(slices)):
        with pytest.raises(OutOfTime) if left else contextlib.nullcontext(), context.budget:
            assert bool(diagnosis(HIGH, context).nominated_node) is not stays


# ---- who does not go, or goes already ------------------------------------------------------------


def test_a_pod_that_was_told_to_go_counts_as_going_before_the_watch_shows_it() -> None:
    """Else the pod that it goes for would be tried again too early, and evict somebody else."""
    context = nominated(HIGH, "n1", scheduler_of(NODE, [LOW]))
    context.cache.mark_preempted("uid-low")
    found = diagnosis(HIGH, context)
    assert "not eligible due to a terminating pod on the nominated node." in found.message
    assert (found.victims, found.nominated_node) == ((), None)


def test_a_pod_that_does_not_die_is_no_victim_any_more() -> None:
    """What was found out about its node before is forgotten, and the pod that waited for it may
    preempt elsewhere.
    """
    nodes, pods = [make_node("n1"), make_node("n2")], [going(BY_US), a_pod("other", "4", "n2", 5)]
    context = scheduler_of(nodes, pods)
    assert diagnosis(HIGH, context).nominated_node == "n1"
    context = nominated(HIGH, "n1", context)
    assert not diagnosis(HIGH, context).victims
    context.cache.mark_stuck("uid-low")
    found = diagnosis(HIGH, context)
    assert (names(found.victims), found.nominated_node) == (["other"], "n2")
    context.cache.observe(
        a_pod("low", "4", "n1", 1, metadata={"labels": {"a": "b"}}), pod_requests(LOW)
    )
    assert diagnosis(HIGH, context).nominated_node == "n2"


def test_a_node_where_nobody_goes_is_no_candidate() -> None:
    """Its nomination is over."""
    context = nominated(HIGH, "n1", scheduler_of(NODE, [going(BY_US)]))
    context.cache.mark_stuck("uid-low")
    found = diagnosis(HIGH, context)
    assert (found.victims, found.nominated_node) == ((), "")


# ---- disruption budgets that are respected -------------------------------------------------------

RESPECTFUL = revision_with(DefaultPreemptionArgs(disruption_policy="RespectPDB"))
KEPT = {"labels": {"app": "kept"}}
SELECTED = {"matchLabels": {"app": "kept"}}


def test_a_pod_that_a_budget_protects_stays() -> None:
    """Its node is no candidate, and the text says how many there are; with the usual policy it goes
    all the same.
    """
    nodes, pods = (
        [make_node("n1"), make_node("n2")],
        [a_pod(f"p{i}", "4", f"n{i}", i, metadata=KEPT) for i in (1, 2)],
    )
    context = scheduler_of(nodes, pods, [a_budget("kept", 0, SELECTED)])
    found = diagnosis(HIGH, context)
    assert (names(found.victims), found.by_eviction, found.unschedulable_plugins) == (
        ["p1"],
        False,
        {"NodeResourcesFit"},
    )
    found = diagnosis(HIGH, context, RESPECTFUL)
    assert (found.victims, found.nominated_node) == ((), "")
    assert found.message.endswith(
        "preemption: 0/2 nodes are available: 2 Preemption would violate a disruption budget."
    )
    assert found.unschedulable_plugins == {"NodeResourcesFit", "DefaultPreemption"}


def test_another_one_goes_by_eviction() -> None:
    """The worse choice otherwise: it is more important."""
    pods = [a_pod("p1", "4", "n1", 1, metadata=KEPT), a_pod("p2", "4", "n2", 5)]
    context = scheduler_of(
        [make_node("n1"), make_node("n2")], pods, [a_budget("kept", 0, SELECTED)]
    )
    found = diagnosis(HIGH, context, RESPECTFUL)
    assert (names(found.victims), found.nominated_node, found.by_eviction) == (["p2"], "n2", True)
    assert found.unschedulable_plugins == {"NodeResourcesFit"}


def test_victims_are_counted_and_not_who_might_have_been() -> None:
    """One of two protected pods goes, as the budget allows. kube-scheduler would count the second
    one as a violation.
    """
    pods = [
        a_pod("small", "1", "n1", 5, metadata=KEPT),
        a_pod("large", "3", "n1", 1, metadata=KEPT),
    ]
    context = scheduler_of(NODE, pods, [a_budget("kept", 1, SELECTED)])
    want = a_pod("want", "3", priority=9)
    found = diagnosis(want, context, RESPECTFUL)
    assert (names(found.victims), found.nominated_node) == (["large"], "n1")


def budget_event(
    action: ActionType, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
) -> ClusterEvent:
    """A change of a budget."""
    return ClusterEvent(EventResource.POD_DISRUPTION_BUDGET, action, old, new)


@pytest.mark.parametrize(
    ("event", "wakes"),
    [
        pytest.param(
            budget_event(ActionType.UPDATE, a_budget("b", 0, SELECTED), a_budget("b", 1, SELECTED)),
            True,
            id="it allows more",
        ),
        pytest.param(
            budget_event(ActionType.UPDATE, a_budget("b", 1, SELECTED), a_budget("b", 0, SELECTED)),
            False,
            id="it allows less",
        ),
        pytest.param(
            budget_event(ActionType.UPDATE, a_budget("b", 0, SELECTED), a_budget("b", 0, None)),
            True,
            id="it selects others",
        ),
        pytest.param(
            budget_event(ActionType.DELETE, a_budget("b", 0, SELECTED), None), True, id="it is gone"
        ),
        pytest.param(
            budget_event(ActionType.ADD, None, a_budget("b", 9, SELECTED)), False, id="it is new"
        ),
    ],
)
def test_a_budget_that_lets_go_wakes(event: ClusterEvent, wakes: bool) -> None:
    """Only where budgets are respected."""
    respectful = DefaultPreemption(DefaultPreemptionArgs(disruption_policy="RespectPDB"))
    asked = [wake for wake in respectful.events_to_register if wake.matches(event)]
    assert any(wake.hint is None or wake.hint(HIGH, event, Store()) for wake in asked) is wakes
    assert not any(wake.matches(event) for wake in PLUGIN.events_to_register)


# ---- what is declared ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        (DefaultPreemptionArgs(0, 0), ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"]),
        (DefaultPreemptionArgs(0, 1), []),
        (DefaultPreemptionArgs(1, 0), []),
        (DefaultPreemptionArgs(), []),
    ],
)
def test_one_of_the_numbers_must_ask_for_something(
    args: DefaultPreemptionArgs, paths: list[str]
) -> None:
    """Both 0 would try nothing."""
    assert [violation.path for violation in args.validate()] == paths


def test_a_deleted_pod_alone_frees_nobody() -> None:
    """It is registered, as kube-scheduler's is, and leaves it to the plugins that refused."""
    event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=LOW)
    (wake,) = PLUGIN.events_to_register
    assert wake.matches(event)
    assert wake.hint is not None
    assert not wake.hint(HIGH, event, Store())
