"""NodeResourcesFit: agrees with plain loops over fractions, and with numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.arguments import Validated, Violation
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import (
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from moorage.core.framework.status import Code
from moorage.core.framework.utilization_shape import UtilizationShapePoint, shape_table
from moorage.core.objects.meta import HasMetadata, ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Container, Pod, ResourceRequirements
from moorage.core.objects.resource_claims import DeviceClass, DeviceClassSpec
from moorage.core.plugins.node_resources.fit import (
    INSUFFICIENT,
    TOO_MANY_PODS,
    TOO_SMALL,
    NodeResourcesFit,
)
from moorage.core.plugins.node_resources.fit_arguments import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
)
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.core.resource_strategies import NAMES, Cluster, clusters, one_row
from tests.oracle import resources as naive

PLUGIN = NodeResourcesFit()
_filter: FilterPlugin = PLUGIN
_pre_filter: PreFilterPlugin = PLUGIN
_score: ScorePlugin = PLUGIN
_pre_score: PreScorePlugin = PLUGIN
_args: Validated = PLUGIN.args
_strategy: Validated = ScoringStrategy()

Points = list[tuple[int, int]]


def shape_of(*points: tuple[int, int]) -> RequestedToCapacityRatio:
    """A shape of (utilization, score) points."""
    return RequestedToCapacityRatio(tuple(UtilizationShapePoint(*point) for point in points))


def pod_asking(*, node: str = "", **requests: str) -> Pod:
    """A pod of one container."""
    return make_pod(
        "p",
        node=node,
        containers=(Container(resources=ResourceRequirements(requests=dict(requests))),),
    )


def snapshot_of(node: Node, *placed: Pod) -> Snapshot:
    """One node and the pods on it."""
    cache = Cache()
    cache.put_node(node)
    for i, pod in enumerate(placed):
        meta = msgspec.structs.replace(pod.metadata, uid=str(i))
        there = msgspec.structs.replace(
            pod, metadata=meta, spec=msgspec.structs.replace(pod.spec, node_name=node.metadata.name)
        )
        cache.observe(there, pod_requests(there))
    return Snapshot(cache)


# ---- filter --------------------------------------------------------------------------------------


@given(
    clusters(),
    st.lists(st.sampled_from(NAMES), max_size=2),
    st.lists(st.sampled_from(["example.com", "cpu"]), max_size=1),
)
@settings(deadline=None)
def test_refusals_agree_with_the_naive_ones(
    cluster: Cluster, ignored: list[str], groups: list[str]
) -> None:
    """In text, order and hopelessness, for all rows at once and for each row alone."""
    args = NodeResourcesFitArgs(tuple(ignored), tuple(groups))
    plugin, snapshot = NodeResourcesFit(args), cluster.snapshot()
    state = plugin.pre_filter(cluster.pod, snapshot).state
    codes = plugin.filter(state, snapshot, snapshot.nodes.all_rows)
    for node in cluster.nodes:
        row = snapshot.nodes.row_of[node.metadata.name]
        why = plugin.explain(state, int(codes[row]))
        texts = [
            (reason.text.format(detail), reason.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
            for reason, detail in why
        ]
        assert texts == naive.refusals(cluster.pod, node, cluster.on(node), args)
        assert plugin.filter(state, snapshot, one_row(row)).tolist() == [codes[row]]


@given(clusters(), st.lists(st.sampled_from(NAMES), max_size=2))
def test_shortfalls_are_what_is_refused_for(cluster: Cluster, ignored: list[str]) -> None:
    """Something is lacking just where a reason names it."""
    plugin, snapshot = NodeResourcesFit(NodeResourcesFitArgs(tuple(ignored))), cluster.snapshot()
    state = plugin.pre_filter(cluster.pod, snapshot).state
    rows = np.arange(snapshot.nodes.rows)
    codes = plugin.filter(state, snapshot, rows)
    lacking = plugin.shortfalls(state, snapshot, rows)
    for row in rows.tolist():
        reasons = plugin.explain(state, int(codes[row]))
        named = {detail or "pods" for _, detail in reasons}
        assert named == {name for name, one in lacking.items() if one.lacking[row] > 0}


def why(
    pod: Pod, node: Node, *placed: Pod, args: NodeResourcesFitArgs | None = None
) -> list[tuple[Any, str]]:
    """The reasons why a pod does not fit."""
    plugin, snapshot = NodeResourcesFit(args or NodeResourcesFitArgs()), snapshot_of(node, *placed)
    state = plugin.pre_filter(pod, snapshot).state
    return list(plugin.explain(state, int(plugin.filter(state, snapshot, one_row(0))[0])))


def test_lacking_now_and_lacking_for_ever() -> None:
    """A node that would do if it were empty can be helped by removing pods, a smaller one can't."""
    node = make_node("n", cpu="4", memory="4Gi")
    assert why(pod_asking(cpu="3", memory="4Gi"), node, make_pod("a", cpu="1", memory="0")) == []
    assert why(pod_asking(cpu="3"), node, make_pod("a", cpu="1001m")) == [(INSUFFICIENT, "cpu")]
    assert why(pod_asking(cpu="4001m", memory="4.1Gi"), node) == [
        (TOO_SMALL, "cpu"),
        (TOO_SMALL, "memory"),
    ]
    gpus = pod_asking(cpu="4", **{"example.com/gpu": "1"})
    assert why(gpus, node, make_pod("a")) == [(INSUFFICIENT, "cpu"), (TOO_SMALL, "example.com/gpu")]


def test_too_many_pods() -> None:
    """Comes first, and removing pods helps, even where no pod may run."""
    full = make_node("n", cpu="1", pods="1")
    assert why(pod_asking(cpu="2"), full, make_pod("a")) == [
        (TOO_MANY_PODS, ""),
        (TOO_SMALL, "cpu"),
    ]
    assert why(pod_asking(), make_node("n", pods="0")) == [(TOO_MANY_PODS, "")]
    assert TOO_MANY_PODS.code is Code.UNSCHEDULABLE


def test_an_overcommitted_node_still_takes_pods_that_ask_for_nothing() -> None:
    """But none that asks for a little."""
    node, greedy = make_node("n", cpu="1"), make_pod("a", cpu="2")
    assert why(pod_asking(), node, greedy) == []
    assert why(pod_asking(cpu="0", memory="1"), node, greedy) == []
    assert why(pod_asking(cpu="1m"), node, greedy) == [(INSUFFICIENT, "cpu")]


def test_ignored_resources_are_extended_ones() -> None:
    """By name or by what is before the slash; what Kubernetes itself hands out is never ignored."""
    args = NodeResourcesFitArgs(("example.com/gpu", "cpu", "hugepages-2Mi"), ("vendor.io",))
    pod = pod_asking(
        **{
            "cpu": "9",
            "hugepages-2Mi": "2Mi",
            "example.com/gpu": "1",
            "example.com/nic": "1",
            "vendor.io/a": "1",
        }
    )
    assert [detail for _, detail in why(pod, make_node("n"), args=args)] == [
        "cpu",
        "example.com/nic",
        "hugepages-2Mi",
    ]


def test_a_resource_that_appears_later_is_found() -> None:
    """The state is made before any node has the resource."""
    cache = Cache()
    snapshot = Snapshot(cache)
    cache.put_node(make_node("a"))
    state = PLUGIN.pre_filter(pod_asking(**{"example.com/gpu": "1"}), snapshot).state
    assert all(PLUGIN.filter(state, snapshot, snapshot.nodes.all_rows))
    allocatable = {"pods": "1", "example.com/gpu": "1"}
    cache.put_node(
        msgspec.convert({"metadata": {"name": "b"}, "status": {"allocatable": allocatable}}, Node)
    )
    assert PLUGIN.filter(state, snapshot, snapshot.nodes.all_rows).tolist()[1] == 0


def test_very_many_resources() -> None:
    """Those that share a bit are named together; none is forgotten."""
    pod = pod_asking(**{f"example.com/r{i:02}": "1" for i in range(40)})
    reasons = why(pod, make_node("n"))
    assert [detail for _, detail in reasons] == [f"example.com/r{i:02}" for i in range(40)]
    assert {reason for reason, _ in reasons} == {TOO_SMALL}


def test_unreadable_requests_are_a_fault() -> None:
    """Of this pod's attempt, with the field named."""
    snapshot = Snapshot(Cache())
    for prepared in (
        PLUGIN.pre_filter(pod_asking(cpu="much"), snapshot),
        PLUGIN.pre_score(pod_asking(cpu="much"), snapshot),
    ):
        assert prepared.status.code is Code.ERROR
        assert "spec.containers[0].resources.requests[cpu]: 'much'" in prepared.status.message


# ---- score ---------------------------------------------------------------------------------------

shapes = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(sorted)
specs = st.builds(ResourceSpec, st.sampled_from([*NAMES]), st.integers(0, 100))
strategies = st.builds(
    lambda kind, resources, points: ScoringStrategy(
        kind, tuple(resources), shape_of(*points) if kind == "RequestedToCapacityRatio" else None
    ),
    st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
    st.lists(specs, min_size=1, max_size=4),
    shapes,
)


@given(clusters(), strategies)
@settings(deadline=None)
def test_scores_agree_with_the_naive_ones(cluster: Cluster, strategy: ScoringStrategy) -> None:
    """For all rows at once and for each row alone."""
    args = NodeResourcesFitArgs(scoring_strategy=strategy)
    plugin, snapshot = NodeResourcesFit(args), cluster.snapshot()
    state = plugin.pre_score(cluster.pod, snapshot).state
    scores = plugin.score(state, snapshot, snapshot.nodes.all_rows)
    for node in cluster.nodes:
        row = snapshot.nodes.row_of[node.metadata.name]
        assert scores[row] == naive.fit_score(cluster.pod, node, cluster.on(node), args)
        assert plugin.score(state, snapshot, one_row(row)).tolist() == [scores[row]]


LEAST, MOST = ScoringStrategy(), ScoringStrategy("MostAllocated")
RISING = ScoringStrategy(
    "RequestedToCapacityRatio", requested_to_capacity_ratio=shape_of((0, 0), (100, 10))
)
CPU_3 = (ResourceSpec("cpu", 3), ResourceSpec("memory"))
BY_HAND = {
    "least allocated": (LEAST, "3", "5Gi", 37),
    "least allocated, weighted": (ScoringStrategy(resources=CPU_3), "3", "5Gi", 31),
    "least allocated, over-requested": (LEAST, "4001m", "5Gi", 25),
    "most allocated": (MOST, "3", "5Gi", 62),
    "most allocated, over-requested": (MOST, "4001m", "5Gi", 75),
    "shape, rounded to the nearest": (RISING, "3", "5Gi", 63),
    "shape, zero scores dropped": (RISING, "0", "5Gi", 50),
    "a resource that the node lacks": (
        ScoringStrategy(resources=(ResourceSpec("cpu"), ResourceSpec("example.com/gpu"))),
        "3",
        "0",
        25,
    ),
    "no resource that the node has": (
        ScoringStrategy(resources=(ResourceSpec("example.com/gpu"),)),
        "3",
        "0",
        0,
    ),
    "names that nothing tracks": (
        ScoringStrategy(resources=(ResourceSpec("pods"), ResourceSpec("nonsense"))),
        "3",
        "0",
        0,
    ),
    "none named": (ScoringStrategy(resources=()), "3", "5Gi", 37),
    "no strategy": (None, "3", "5Gi", 37),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_scores_worked_out_by_hand(case: str) -> None:
    """Of an empty node with 4 cores and 10Gi."""
    strategy, cpu, memory, want = BY_HAND[case]
    plugin, snapshot = (
        NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy)),
        snapshot_of(make_node("n", memory="10Gi")),
    )
    state = plugin.pre_score(pod_asking(cpu=cpu, memory=memory), snapshot).state
    assert plugin.score(state, snapshot, one_row(0)).tolist() == [want]


def test_containers_that_ask_for_nothing_count_in_scores() -> None:
    """100 millicores and 200 MiB each, of the pod and of those on the node; else idle pods would
    all gather on one node.
    """
    node, silent = make_node("n", cpu="1", memory="1000Mi"), pod_asking()
    snapshot = snapshot_of(node, silent, silent)
    assert PLUGIN.score(
        PLUGIN.pre_score(silent, snapshot).state, snapshot, one_row(0)
    ).tolist() == [(70 + 40) // 2]


SHAPES: dict[str, tuple[Points, int, int]] = {
    "falling": ([(0, 10), (40, 5), (80, 0)], 50, 38),
    "beyond the last point": ([(0, 10), (40, 5), (80, 0)], 90, 0),
    "towards zero from the left": ([(0, 10), (30, 0)], 10, 67),
    "before the first point": ([(20, 3), (30, 0)], 5, 30),
    "on a point": ([(20, 3), (30, 0)], 30, 0),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_worked_out_by_hand(case: str) -> None:
    """Straight lines between points, level outside."""
    points, percent, want = SHAPES[case]
    assert shape_table(shape_of(*points).shape or ())[percent] == want


@given(shapes)
def test_shapes_agree_with_the_naive_ones(points: Points) -> None:
    """At every percent."""
    shape = shape_of(*points).shape or ()
    assert shape_table(shape).tolist() == [naive.height(shape, percent) for percent in range(101)]


def test_sums_of_the_largest_amounts_do_not_overflow() -> None:
    """A node that is full of absurd pods gets the lowest score, not a negative one."""
    greedy = pod_asking(cpu="1e30", memory="1e30")
    snapshot = snapshot_of(make_node("n", cpu="1e30", memory="1e30", pods="2000"), *[greedy] * 1000)
    state = PLUGIN.pre_score(greedy, snapshot).state
    assert PLUGIN.score(state, snapshot, one_row(0)).tolist() == [0]
    assert np.all(snapshot.nodes.requested >= 0)


# ---- what wakes ----------------------------------------------------------------------------------


def woken(
    pod: Pod,
    resource: EventResource,
    action: ActionType,
    old: HasMetadata | None,
    new: HasMetadata | None = None,
    store: Store | None = None,
) -> bool:
    """Whether the plugin's registrations let this event wake the pod."""
    event = ClusterEvent(resource, action, old, new)
    return any(
        wake.hint is None or wake.hint(pod, event, store or Store())
        for wake in PLUGIN.events_to_register
        if wake.matches(event)
    )


WAITING = pod_asking(cpu="2", memory="0")
NOMINATED = msgspec.convert({"metadata": {"name": "q"}, "status": {"nominatedNodeName": "n"}}, Pod)


@pytest.mark.parametrize(
    ("gone", "want"),
    [(make_pod("q", node="n"), True), (NOMINATED, True), (make_pod("q"), False)],
    ids=["on a node", "nominated", "nowhere"],
)
def test_a_deleted_pod_wakes(gone: Pod, want: bool) -> None:
    """If it held something."""
    assert woken(WAITING, EventResource.ASSIGNED_POD, ActionType.DELETE, gone) is want


@pytest.mark.parametrize(
    ("left", "want"),
    [
        ([], True),
        ([("a", "2", 0)], True),
        ([("a", "3", 0)], False),
        ([("a", "3", -1)], True),
        ([("a", "1", 0), ("b", "1", 0), ("c", "1", 0)], False),
    ],
    ids=["empty", "just enough", "too little", "too little, but somebody could go", "too many"],
)
def test_a_deleted_pod_wakes_if_the_node_has_enough_now(
    left: list[tuple[str, str, int]], want: bool
) -> None:
    """Pods that come and go beside it do not have a pod tried again that does not fit between
    them.
    """
    cache = Cache()
    cache.put_node(make_node("n", cpu="4", pods="3"))
    for name, cpu, level in left:
        cache.observe(pod := make_pod(name, cpu=cpu, node="n", priority=level), pod_requests(pod))
    gone = make_pod("q", cpu="100m", node="n")
    assert (
        woken(WAITING, EventResource.ASSIGNED_POD, ActionType.DELETE, gone, store=cache.store)
        is want
    )
    assert woken(
        WAITING,
        EventResource.ASSIGNED_POD,
        ActionType.DELETE,
        make_pod("q", node="elsewhere"),
        store=cache.store,
    )


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (make_pod("q", cpu="2", node="n"), make_pod("q", cpu="1", node="n"), True),
        (make_pod("q", memory="2", node="n"), make_pod("q", memory="1", node="n"), False),
        (make_pod("q", cpu="2"), make_pod("q", cpu="1"), False),
    ],
    ids=["less cpu", "less of what is not asked for", "not on a node"],
)
def test_a_pod_scaled_down_wakes(old: Pod, new: Pod, want: bool) -> None:
    """If it gives back something that the waiting pod asks for."""
    assert (
        woken(WAITING, EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN, old, new)
        is want
    )


def test_a_pod_that_asks_for_less_is_tried_again() -> None:
    """Of whatever."""
    event = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is None


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, make_node("n", cpu="2"), True),
        (None, make_node("n", cpu="1"), False),
        (None, make_node("n", pods="0"), False),
        (make_node("n", cpu="2"), make_node("n", cpu="3"), True),
        (make_node("n", pods="5"), make_node("n", pods="6"), True),
        (make_node("n", memory="1Gi"), make_node("n", memory="2Gi"), False),
        (make_node("n", cpu="3"), make_node("n", cpu="2"), False),
    ],
    ids=[
        "new",
        "new, too small",
        "new, for no pods",
        "more cpu",
        "more pods",
        "more of what is not asked for",
        "less cpu",
    ],
)
def test_a_node_wakes(old: Node | None, new: Node, want: bool) -> None:
    """If the pod would fit it when empty, and it is new or has more of something that counts."""
    action = ActionType.ADD if old is None else ActionType.UPDATE_NODE_ALLOCATABLE
    assert woken(WAITING, EventResource.NODE, action, old, new) is want


def a_class(name: str, resource: str | None = None) -> DeviceClass:
    """A class of devices, and the resource that it stands for."""
    return DeviceClass(ObjectMeta(name), DeviceClassSpec(extended_resource_name=resource))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, a_class("x", "example.com/gpu"), True),
        (None, a_class("fast"), True),
        (None, a_class("x", "example.com/other"), False),
        (a_class("x"), a_class("x", "example.com/gpu"), True),
        (a_class("x", "example.com/gpu"), a_class("x", "example.com/gpu"), False),
        (a_class("fast"), a_class("fast"), False),
    ],
    ids=[
        "new",
        "new, by its name",
        "new, for something else",
        "named now",
        "same",
        "same, by its name",
    ],
)
def test_a_class_of_devices_wakes(old: DeviceClass | None, new: DeviceClass, want: bool) -> None:
    """If it stands for something that the pod asks for, and did not before."""
    asks = ResourceRequirements(
        {"example.com/gpu": "1", "deviceclass.resource.kubernetes.io/fast": "1"}
    )
    pod = make_pod("p", containers=(Container("c", resources=asks),))
    assert (
        woken(
            pod, EventResource.DEVICE_CLASS, ActionType.UPDATE if old else ActionType.ADD, old, new
        )
        is want
    )


@pytest.mark.parametrize("resource", ["deviceclass.resource.kubernetes.io/fast", "example.com/gpu"])
@pytest.mark.parametrize("there", [True, False], ids=["class", "no class"])
def test_a_node_wakes_whatever_devices_it_lacks(resource: str, there: bool) -> None:
    """If a class of devices stands for a resource, none of the node's own is needed: not in a new
    node, nor in one that changed.
    """
    pod = make_pod(
        "p", containers=(Container("c", resources=ResourceRequirements({resource: "1"})),)
    )
    store = Store()
    if there:
        store.put(a_class("fast", "example.com/gpu"))
    assert woken(pod, EventResource.NODE, ActionType.ADD, None, make_node("n"), store) is there
    assert (
        woken(
            pod,
            EventResource.NODE,
            ActionType.UPDATE_NODE_ALLOCATABLE,
            make_node("n"),
            make_node("n", memory="1Gi"),
            store,
        )
        is there
    )


def test_a_node_wakes_without_what_is_ignored() -> None:
    """A pod that asks for a resource which the profile ignores waits for nodes that have the
    rest.
    """
    pod = make_pod(
        "p", containers=(Container("c", resources=ResourceRequirements({"example.com/foo": "1"})),)
    )
    event = ClusterEvent(EventResource.NODE, ActionType.ADD, None, make_node("n"))
    for ignored, want in ((("example.com/foo",), True), ((), False)):
        plugin = NodeResourcesFit(NodeResourcesFitArgs(ignored_resources=ignored))
        (hint,) = [wake.hint for wake in plugin.events_to_register if wake.matches(event)]
        assert hint is not None
        assert hint(pod, event, Store()) is want


# ---- arguments -----------------------------------------------------------------------------------

RATIO = "scoringStrategy.requestedToCapacityRatio"
VIOLATIONS: dict[str, tuple[NodeResourcesFitArgs, list[tuple[str, str]]]] = {
    "fine": (NodeResourcesFitArgs(("example.com/gpu", "a"), ("vendor.io",), RISING), []),
    "nothing at all": (NodeResourcesFitArgs(None, None, None), []),
    "a name": (
        NodeResourcesFitArgs(("a", "a/b/c")),
        [("ignoredResources[1]", "a valid label key must consist of alphanumeric characters")],
    ),
    "a group": (
        NodeResourcesFitArgs(None, ("example.com/x",)),
        [("ignoredResourceGroups[0]", "resource group name can't contain '/'")],
    ),
    "a shape for a type without": (
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(requested_to_capacity_ratio=shape_of((0, 0)))
        ),
        [(RATIO, "must be nil when type is not RequestedToCapacityRatio")],
    ),
    "a type without its shape": (
        NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("RequestedToCapacityRatio")),
        [(RATIO, "must be specified when type is RequestedToCapacityRatio")],
    ),
    "no points": (
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                "RequestedToCapacityRatio", None, RequestedToCapacityRatio()
            )
        ),
        [(f"{RATIO}.shape", "at least one point must be specified")],
    ),
    "weights": (
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                resources=(ResourceSpec("cpu", 101), ResourceSpec("memory", -1))
            )
        ),
        [
            (
                "scoringStrategy.resources[0].weight",
                "resource weight of cpu not in valid range (0, 100]",
            ),
            (
                "scoringStrategy.resources[1].weight",
                "resource weight of memory not in valid range (0, 100]",
            ),
        ],
    ),
    "points out of order": (
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                "RequestedToCapacityRatio", None, shape_of((0, 1), (50, 1), (50, 2))
            )
        ),
        [(f"{RATIO}.shape[2].utilization", "values must be sorted in increasing order")],
    ),
}


@pytest.mark.parametrize("case", VIOLATIONS)
def test_violations(case: str) -> None:
    """With their place and kube-scheduler's words."""
    args, want = VIOLATIONS[case]
    found = args.validate()
    assert [violation.path for violation in found] == [path for path, _ in want]
    assert all(
        violation.message.startswith(text) for violation, (_, text) in zip(found, want, strict=True)
    )


def test_a_violation_has_its_value() -> None:
    """So that the error can show it."""
    (violation,) = NodeResourcesFitArgs(None, ("example.com/x",)).validate()
    assert violation == Violation(
        "ignoredResourceGroups[0]", "example.com/x", "resource group name can't contain '/'"
    )
