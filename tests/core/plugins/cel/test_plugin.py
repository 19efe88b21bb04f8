"""CEL: what expressions see, whom they refuse and prefer, what is asked again, and that nobody is
held up by them.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.cel import CELExpressionError
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.evaluation.evaluator import NullObserver
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import Code
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.cel import cached_results
from moorage.core.plugins.cel.arguments import CELArgs, CELFilter, CELScore, evaluated
from moorage.core.plugins.cel.plugin import CEL
from moorage.core.plugins.cel.program import CELProgram
from moorage.core.plugins.cel.variables import VARIABLES
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import PODS, pod_requests
from moorage.core.structures.budget import ATTEMPT_SLICE_SECONDS, OutOfTime, TimeBudget
from tests.builders import make_node, make_pod

REGISTRY = build_registry(INTREE)
GPU = 'node.metadata.labels.gpu == "a100"'


def filtering(*filters: str | CELFilter) -> CELArgs:
    """Arguments with these filters."""
    return CELArgs(tuple(CELFilter(one) if isinstance(one, str) else one for one in filters))


def scoring(*scores: str | CELScore) -> CELArgs:
    """Arguments with these scores."""
    return CELArgs(scores=tuple(CELScore(one) if isinstance(one, str) else one for one in scores))


def world(args: CELArgs, *nodes: Node, alone: bool = False) -> tuple[CycleContext, Revision]:
    """These nodes, and a profile with the plugin beside the default ones; ``alone``: no other one
    scores.
    """
    cache = Cache()
    for node in nodes:
        cache.put_node(node)
    here = EnabledPlugins((PluginRef("CEL"),))
    plugins = {
        "multiPoint": here,
        "score": EnabledPlugins(here.enabled, ("*",)) if alone else EnabledPlugins(),
    }
    return CycleContext(cache), resolve(
        RequestedProfile("test", "Default", plugins, {}, {"CEL": args}), REGISTRY, PRESETS
    )


def labelled(pod: Pod, **labels: str) -> Pod:
    """The pod with these labels."""
    relabelled: Pod = changed(pod, labels=labels)
    return relabelled


def changed(obj: Any, **metadata: Any) -> Any:
    """The object with this in its metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **metadata))


def refused(args: CELArgs, *nodes: Node, pod: Pod | None = None) -> dict[str, str]:
    """Whom the plugin refuses, and with which text."""
    context, _ = world(args, *nodes)
    return refusals(CEL(args), context, pod or make_pod("p"))


def refusals(plugin: CEL, context: CycleContext, pod: Pod) -> dict[str, str]:
    """The same of a cluster that is there."""
    state = plugin.pre_filter(pod, context.snapshot).state
    codes = plugin.filter(state, context.snapshot, context.snapshot.nodes.all_rows)
    rows = context.snapshot.nodes.row_of.items()
    found = {name: plugin.explain(state, int(codes[row]))[0] for name, row in rows if codes[row]}
    return {name: reason.text.replace("{}", detail) for name, (reason, detail) in found.items()}


def shares(args: CELArgs, *nodes: Node, pod: Pod | None = None) -> list[int]:
    """The plugin's scores of these nodes, all being feasible."""
    context, _ = world(args, *nodes)
    plugin = CEL(args)
    state = plugin.pre_score(pod or make_pod("p"), context.snapshot).state
    raw = plugin.score(state, context.snapshot, context.snapshot.nodes.all_rows)
    return plugin.normalize_score(state, raw).tolist()  # type: ignore[no-any-return]  # numpy's


# ---- what expressions see ------------------------------------------------------------------------

RICH_POD = msgspec.convert(
    {
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "u", "labels": {"team": "blue"}},
        "spec": {
            "schedulerName": "test",
            "priority": 10,
            "hostNetwork": True,
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "containers": [
                {
                    "name": "c",
                    "image": "app:1",
                    "resources": {"requests": {"cpu": "1500m", "example.com/gpu": 2}},
                }
            ],
            "initContainers": [{"name": "i", "image": "init:1"}],
        },
    },
    Pod,
)
RICH_NODE = msgspec.convert(
    {
        "metadata": {
            "name": "n1",
            "labels": {"gpu": "a100"},
            "annotations": {"rack": "r7", "long": "x" * 5000},
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "unschedulable": True,
            "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
        },
        "status": {
            "allocatable": {"cpu": "3500m", "memory": "1Gi", "pods": "110", "example.com/gpu": "4"}
        },
    },
    Node,
)
BARE_POD, BARE_NODE = (
    Pod(msgspec.convert({"name": "p"}, type(RICH_POD.metadata))),
    Node(msgspec.convert({"name": "n"}, type(RICH_NODE.metadata))),
)


@pytest.mark.parametrize(
    "text",
    [
        (
            'pod.metadata.name == "web-0" && pod.metadata.namespace == "shop" && '
            'pod.metadata.labels.team == "blue"'
        ),
        (
            'pod.spec.schedulerName == "test" && pod.spec.priority == 10 && pod.spec.hostNetwork '
            '&& pod.spec.nodeSelector.zone == "a"'
        ),
        (
            'pod.spec.tolerations == [{"key": "gpu", "operator": "Exists", "value": "", '
            '"effect": "NoSchedule"}]'
        ),
        'pod.spec.containers.all(c, c.name == "c" && c.image == "app:1")',
        'quantity(pod.spec.containers[0].resources.requests["cpu"]).isGreaterThan(quantity("1"))',
        'pod.spec.containers[0].resources.requests["example.com/gpu"] == "2"',
        (
            "pod.spec.initContainers.size() == 1 && "
            "pod.spec.initContainers[0].resources.requests.size() == 0"
        ),
        (
            'pod.requests.cpu == 1500 && pod.requests["example.com/gpu"] == 2 && !("memory" in '
            "pod.requests)"
        ),
        (
            'node.metadata.name == "n1" && node.metadata.labels.gpu == "a100" && '
            'node.metadata.annotations.rack == "r7"'
        ),
        (
            'node.metadata.annotations["long"].size() == 4096 && '
            'node.metadata.annotations.all(k, k in ["rack", "long"])'
        ),
        'timestamp(node.metadata.creationTimestamp) > timestamp("2026-01-01T00:00:00Z")',
        "int(timestamp(node.metadata.creationTimestamp)) == 1767323045",
        (
            'node.spec.unschedulable && node.spec.taints == [{"key": "gpu", "value": "yes", '
            '"effect": "NoSchedule"}]'
        ),
        (
            'node.status.allocatable["cpu"] == "3500m" && '
            'quantity(node.status.allocatable.memory) == quantity("1024Mi")'
        ),
        (
            "node.allocatable.cpu == 3500 && node.allocatable.memory == 1073741824 && "
            'node.allocatable["example.com/gpu"] == 4'
        ),
        (
            'node.requested == {"cpu": 1500, "memory": 0, "ephemeral-storage": 0, "pods": 1, '
            '"example.com/gpu": 2}'
        ),
        "pod.requests.cpu * 2 + node.requested.pods <= node.allocatable.cpu",
    ],
)
def test_what_expressions_see(text: str) -> None:
    """Each field of a pod and of a node on which one such pod is."""
    context, _ = world(filtering(text), RICH_NODE)
    context.cache.observe(
        msgspec.structs.replace(
            RICH_POD, spec=msgspec.structs.replace(RICH_POD.spec, node_name="n1")
        ),
        pod_requests(RICH_POD),
    )
    assert refusals(CEL(filtering(text)), context, RICH_POD) == {}


@pytest.mark.parametrize("text", [name for name, _ in VARIABLES])
def test_what_is_missing_is_empty(text: str) -> None:
    """No field of a bare pod or node is an error."""
    kinds = {"string": '""', "int": "0", "bool": "false", "map(string, string)": "{}"}
    kind = dict(VARIABLES)[text].value
    empty = {"pod.metadata.name": '"p"', "node.metadata.name": '"n"'}.get(text, kinds.get(kind))
    wanted = (
        f"{text} == {empty}"
        if empty is not None
        else f"{text}.size() {'> 0' if text == 'node.requested' else '== 0'}"
    )
    assert refused(filtering(wanted), BARE_NODE, pod=BARE_POD) == {}


def test_every_variable_is_in_the_page() -> None:
    """docs/cel.md has them all, with their types."""
    page = (Path(__file__).parents[4] / "docs" / "cel.md").read_text(encoding="utf-8")
    assert [name for name, kind in VARIABLES if f"| `{name}` | {kind.value} |" not in page] == []


# ---- filters -------------------------------------------------------------------------------------

NODES = (
    make_node("a", labels={"gpu": "a100"}),
    make_node("b", labels={"gpu": "t4"}),
    make_node("c"),
)


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        pytest.param([], {}, id="none"),
        pytest.param(
            [GPU],
            {
                "b": f"node(s) didn't satisfy the CEL filter {GPU}",
                "c": f"node(s) on which the CEL filter {GPU} fails: no such key: gpu",
            },
            id="false, and failed",
        ),
        pytest.param(
            [
                CELFilter('"gpu" in node.metadata.labels', "node(s) without\n a GPU"),
                CELFilter(GPU, "too old"),
            ],
            {"b": "too old", "c": "node(s) without a GPU"},
            id="messages, and the first counts",
        ),
        pytest.param(
            [
                'node.metadata.labels[?"gpu"].orValue("") != "t4"',
                CELFilter("!('x' in node.metadata.labels) && node.metadata.name != 'a'", "a"),
            ],
            {
                "a": "a",
                "b": (
                    "node(s) didn't satisfy the CEL filter "
                    'node.metadata.labels[?"gpu"].orValue("") != "t4"'
                ),
            },
            id="different labels",
        ),
        pytest.param(
            [f"node.metadata.name == 'a' ||\n  {'true && ' * 20}node.metadata.name == 'b'"],
            {
                "c": (
                    f"node(s) didn't satisfy the CEL filter node.metadata.name == 'a' || "
                    f"{'true && ' * 8}true &&…"
                )
            },
            id="long ones are cut",
        ),
        pytest.param(
            ['pod.metadata.namespace == "x"'],
            dict.fromkeys(
                "abc", 'node(s) didn\'t satisfy the CEL filter pod.metadata.namespace == "x"'
            ),
            id="no node matters",
        ),
    ],
)
def test_filters(filters: list[str | CELFilter], wanted: dict[str, str]) -> None:
    """Which nodes are refused, and how that is told."""
    args = filtering(*filters)
    if filters:
        assert refused(args, *NODES) == wanted
    context, revision = world(args, *NODES)
    outcome = cycle.decide(make_pod("p"), revision, context)
    if set(wanted) != {"a", "b", "c"}:
        assert isinstance(outcome, ScheduleResult)
        assert outcome.node not in wanted
    else:
        assert isinstance(outcome, Diagnosis)
        assert "3 node(s) didn't satisfy the CEL filter" in outcome.message
        assert outcome.unschedulable_plugins == {"CEL"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("node.requested.pods < 1", Code.UNSCHEDULABLE),
        (GPU, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ("1 / node.requested.pods > 5", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
    ],
)
def test_whether_eviction_could_help(text: str, code: Code) -> None:
    """Only where a filter that reads what is requested of the node is false."""
    args = filtering(text)
    context, _ = world(args, make_node("a"))
    if "1 /" not in text:
        context.cache.observe(make_pod("q", node="a"), pod_requests(make_pod("q")))
    plugin = CEL(args)
    state = plugin.pre_filter(make_pod("p"), context.snapshot).state
    (refusal,) = plugin.filter(state, context.snapshot, context.snapshot.nodes.all_rows).tolist()
    assert plugin.explain(state, refusal)[0][0].code is code


def test_preemption_makes_room_that_a_filter_asks_for() -> None:
    """A pod of lower priority goes, as the filter would be true without it."""
    context, revision = world(filtering("node.requested.pods < 2"), make_node("a"))
    for name, priority in (("low", 0), ("lower", -5)):
        guest = make_pod(name, node="a", priority=priority)
        context.cache.observe(guest, pod_requests(guest))
    outcome = cycle.decide(make_pod("p", priority=10), revision, context)
    assert isinstance(outcome, Diagnosis)
    assert outcome.nominated_node == "a"
    assert [victim.metadata.name for victim in outcome.victims] == ["lower"]


# ---- scores --------------------------------------------------------------------------------------

AGED = tuple(
    changed(make_node(name), creation_timestamp=f"2026-01-{day}T00:00:00Z", labels={"n": n})
    for name, day, n in (("a", "01", "-50"), ("b", "02", "50"), ("c", "05", "150"))
)
LABEL = "int(node.metadata.labels.n)"


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param([LABEL], [0, 50, 100], id="cut to 0..100"),
        pytest.param(["12.99"], [12, 12, 12], id="rounded down"),
        pytest.param(
            [CELScore("int(timestamp(node.metadata.creationTimestamp))", normalize=True)],
            [0, 25, 100],
            id="stretched",
        ),
        pytest.param([CELScore("7", normalize=True)], [0, 0, 0], id="all alike, stretched"),
        pytest.param(
            [CELScore(LABEL, weight=3), CELScore("100", weight=1)], [25, 62, 100], id="weighted"
        ),
        pytest.param(
            [CELScore(f"-{LABEL}", normalize=True), "10"], [55, 30, 5], id="each by itself"
        ),
        pytest.param(["{'a': 90}[node.metadata.name]"], [90, 0, 0], id="a failure counts as 0"),
        pytest.param(
            [CELScore("{'b': 5, 'c': 10}[node.metadata.name]", normalize=True)],
            [0, 0, 100],
            id="a failure, stretched",
        ),
        pytest.param(
            [CELScore("{'z': 5}[node.metadata.name]", normalize=True)], [0, 0, 0], id="all fail"
        ),
        pytest.param(["1.0 / 0.0", "100"], [50, 50, 50], id="no number"),
        pytest.param(["uint(20)"], [20, 20, 20], id="unsigned"),
    ],
)
def test_scores(scores: list[str | CELScore], wanted: list[int]) -> None:
    """What becomes of the expressions' numbers."""
    assert shares(scoring(*scores), *AGED) == wanted


def test_failures_are_counted() -> None:
    """Once for nodes that are alike, by extension point."""
    args = CELArgs(
        (
            CELFilter(
                'node.metadata.labels[?"x"].orValue("") == "" || node.metadata.labels.y == ""'
            ),
        ),
        (CELScore("int(node.metadata.labels.z)"),),
    )
    nodes = [
        make_node(f"n{i}", labels={"x": str(i % 2)} if i % 3 else {"z": str(i)}) for i in range(12)
    ]
    context, revision = world(args, *nodes)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()

    class Counting(NullObserver):
        def expression_failed(self, plugin: str, point: str) -> None:
            counts.update([(plugin, point)])

    context = CycleContext(context.cache, observer=Counting())
    assert isinstance(cycle.decide(make_pod("p"), revision, context), ScheduleResult)
    assert counts["CEL", "filter"] == 2
    assert counts["CEL", "score"] == 1


# ---- admission -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(
            filtering("node.metadata.lables.gpu == 'x'"),
            (
                "filters[0].expression",
                (
                    "1:21: undeclared reference to 'node.metadata.lables.gpu'; did you mean "
                    '"node.metadata.labels"?'
                ),
            ),
            id="misspelt",
        ),
        pytest.param(
            filtering("true", "1"),
            ("filters[1].expression", "1:1: must be of type bool, not int"),
            id="a number for a filter",
        ),
        pytest.param(
            filtering("pod.spec.containers[0].image"),
            ("filters[0].expression", "1:1: must be of type bool, not dyn"),
            id="anything for a filter",
        ),
        pytest.param(
            scoring("true"),
            ("scores[0].expression", "1:1: must be of type int or uint or double, not bool"),
            id="a flag for a score",
        ),
        pytest.param(scoring("1 +"), ("scores[0].expression", "1:4: Syntax error"), id="syntax"),
        pytest.param(
            filtering(*["true"] * 33), ("", "must be at most 32 expressions in all"), id="too many"
        ),
        pytest.param(
            filtering(*[f"true || {'true || ' * 500}false"] * 5),
            ("", "must be at most 8192 characters of expressions in all"),
            id="too long together",
        ),
    ],
)
def test_bad_arguments(args: CELArgs, wanted: tuple[str, str]) -> None:
    """Where, and what is wrong there."""
    (violation,) = args.validate()
    assert (violation.path, violation.message[: len(wanted[1])]) == wanted


def test_good_arguments() -> None:
    """Nothing to say of them; each is tried with few and with many values, whatever these are to
    it.
    """
    args = CELArgs(
        (CELFilter(GPU), CELFilter("pod.spec.containers.all(c, c.image != '')")),
        (CELScore("node.requested.pods"),),
    )
    assert args.validate() == []
    trials = list(args.trials())
    assert [trial.path for trial in trials] == ["filters[0].expression"] * 2 + [
        "filters[1].expression"
    ] * 2 + ["scores[0].expression"] * 2
    assert not any(isinstance(trial.run(), CELExpressionError) for trial in trials)


@pytest.mark.parametrize(
    "text",
    [
        f"size({name}) >= 0" if "map" in kind.value or "list" in kind.value else f"{name} == {name}"
        for name, kind in VARIABLES
    ],
)
def test_samples_are_of_the_right_types(text: str) -> None:
    """Each variable can be tried."""
    (small, large) = filtering(text).trials()
    assert small.run() is True
    assert large.run() is True


# ---- pods that are not the same ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "differ"),
    [
        ("true", False),
        ("pod.metadata.namespace != ''", False),
        ("pod.metadata.labels.team == 'blue'", True),
        ("'other' in pod.metadata.labels", False),
        ("pod.metadata.labels.size() > 0", True),
        ("pod.metadata.name != 'x'", True),
    ],
)
def test_pods_are_told_apart_by_what_is_read(text: str, differ: bool) -> None:
    """Labels that nobody reads make no other template."""
    plugin = CEL(filtering(text))
    context, _ = world(filtering(text))
    blue, red = labelled(make_pod("p1"), team="blue"), labelled(make_pod("p2"), team="red")
    assert (
        plugin.sign_pod(blue, context.snapshot) != plugin.sign_pod(red, context.snapshot)
    ) is differ


def test_each_team_to_its_nodes() -> None:
    """Pods of one template with other labels get other nodes."""
    args = filtering("node.metadata.labels.team == pod.metadata.labels.team")
    context, revision = world(
        args, make_node("a", labels={"team": "red"}), make_node("b", labels={"team": "blue"})
    )
    for name, team, node in (("p1", "red", "a"), ("p2", "blue", "b"), ("p3", "red", "a")):
        outcome = cycle.decide(labelled(make_pod(name), team=team), revision, context)
        assert isinstance(outcome, ScheduleResult)
        assert outcome.node == node


# ---- what is asked again -------------------------------------------------------------------------


def node_with(
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: str = "",
    cpu: str = "4",
    **spec: Any,
) -> Node:
    """A node that has these; further keywords go into its spec."""
    metadata = {
        "name": "n",
        "labels": labels,
        "annotations": annotations,
        "creationTimestamp": created,
    }
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": {"allocatable": {"cpu": cpu, "pods": "9"}}},
        Node,
    )


@pytest.mark.parametrize("scored", [False, True], ids=["filter", "score"])
@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("'x' in node.metadata.labels", node_with(labels={"x": ""})),
        ("node.metadata.labels.size() == 1", node_with(labels={"x": ""})),
        ("'x' in node.metadata.annotations", node_with(annotations={"x": ""})),
        ("node.metadata.creationTimestamp == '2026'", node_with(created="2026")),
        ("node.spec.unschedulable", node_with(unschedulable=True)),
        (
            "node.spec.taints.size() == 1",
            node_with(taints=[{"key": "k", "effect": "PreferNoSchedule"}]),
        ),
        ("node.status.allocatable.cpu == '4000m'", node_with(cpu="4000m")),
        ("node.allocatable.cpu == 3000", node_with(cpu="3")),
        ("node.requested.pods == 1", None),
    ],
)
def test_a_node_that_changed_is_asked_again(text: str, after: Node | None, scored: bool) -> None:
    """Whatever it is that alone has changed of it, and back; None: a pod came."""
    args = scoring(f"{text} ? 9 : 1") if scored else filtering(text)
    plugin, context = CEL(args), CycleContext(Cache())
    context.cache.put_node(node_with())
    guest = make_pod("guest", node="n")
    ask, prepare = (
        (plugin.score, plugin.pre_score) if scored else (plugin.filter, plugin.pre_filter)
    )
    pod = make_pod("p")
    column = PluginResult(plugin, pod, ask, prepare)

    def answer() -> float:
        column.prepare(pod, context.snapshot)
        column.refresh(context.snapshot)
        state = column.prepared.state
        return float(state.found[column.values[0]][0]) if scored else float(column.values[0] == 0)

    assert answer() == (1 if scored else 0)
    for changed_so in (True, False, True):
        if after is not None:
            context.cache.put_node(after if changed_so else node_with())
        elif changed_so:
            context.cache.observe(guest, pod_requests(guest))
        else:
            context.cache.remove(guest.metadata.uid)
        assert answer() == ((9 if changed_so else 1) if scored else changed_so)


# ---- waking --------------------------------------------------------------------------------------

A100, T4 = make_node("n", labels={"gpu": "a100"}), make_node("n", labels={"gpu": "t4"})


@pytest.mark.parametrize(
    ("text", "event", "wakes"),
    [
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.ADD, new=A100),
            True,
            id="a node that will do",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.ADD, new=T4),
            False,
            id="a node that will not",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.ADD, new=make_node("n")),
            False,
            id="a node on which it fails",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, T4, A100),
            True,
            id="a label that helps",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, A100, A100),
            False,
            id="it would have done before",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION, T4, A100),
            False,
            id="an aspect that nobody can read",
        ),
        pytest.param(
            GPU,
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, make_pod("q", node="n")),
            False,
            id="pods do not matter",
        ),
        pytest.param(
            "node.requested.pods < 2",
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, make_pod("q", node="n")),
            True,
            id="pods do matter",
        ),
        pytest.param(
            "node.requested.pods < 2",
            ClusterEvent(EventResource.NODE, ActionType.ADD, new=T4),
            True,
            id="a node where pods matter",
        ),
        pytest.param(
            "pod.spec.tolerations.size() > 0",
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_TOLERATION,
                make_pod("p"),
                msgspec.structs.replace(make_pod("p"), spec=RICH_POD.spec),
            ),
            True,
            id="the pod itself",
        ),
        pytest.param(
            "pod.metadata.labels.team == 'blue'",
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_LABEL,
                make_pod("p"),
                labelled(make_pod("p"), other="x"),
            ),
            False,
            id="nothing of it that is read",
        ),
    ],
)
def test_what_wakes_a_refused_pod(text: str, event: ClusterEvent, wakes: bool) -> None:
    """Only what makes a filter true, or may."""
    pod, store = make_pod("p"), Store()
    registered = [wake for wake in CEL(filtering(text)).events_to_register if wake.matches(event)]
    assert any(wake.hint is None or wake.hint(pod, event, store) for wake in registered) is wakes


def test_hints_heed_what_filters_read() -> None:
    """Pods that differ in nothing that is read wait alike."""
    plugin = CEL(filtering("pod.metadata.labels.team == 'blue'"))
    blue, other = (
        labelled(make_pod("a"), team="blue", other="x"),
        labelled(make_pod("b"), team="blue"),
    )
    assert (
        plugin.hint_signature(blue)
        == plugin.hint_signature(other)
        != plugin.hint_signature(labelled(make_pod("c"), team="red"))
    )
    by_name = CEL(filtering("pod.metadata.name != 'x'"))
    assert by_name.hint_signature(blue) != by_name.hint_signature(other)


# ---- nobody is held up ---------------------------------------------------------------------------


class Ticking:
    """A clock that goes on by so many seconds whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.time = 0.0

    def __call__(self) -> float:
        """Look at it."""
        self.time += self.step
        return self.time


def decided(
    pod: Pod, revision: Revision, context: CycleContext
) -> tuple[ScheduleResult | Diagnosis, int]:
    """What becomes of a pod, and in how many slices."""
    cached_results._results_of.cache_clear()
    for slices in itertools.count(1):
        with contextlib.suppress(OutOfTime), context.budget:
            return cycle.decide(pod, revision, context), slices
    raise AssertionError


@pytest.mark.parametrize("inputs", [1, 8, 1000])
@pytest.mark.parametrize("point", ["filter", "score"])
def test_what_takes_long_is_done_in_slices(
    point: str, inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is evaluated twice, however little is remembered from one decision to the next; and
    it comes to the same.
    """
    monkeypatch.setattr(cached_results, "_MAX_KEPT_RESULTS", inputs)
    evaluations = collections.Counter[str]()

    def counting(program: CELProgram, values: Mapping[str, Any]) -> Any:
        evaluations[values["node.metadata.name"]] += 1
        return evaluated(program, values)

    text = "node.metadata.name != 'n7'"
    args = filtering(text) if point == "filter" else scoring(f"{text} ? 100 : 0")
    calm, revision = world(args, *(make_node(f"n{i}") for i in range(100)), alone=True)
    hasty = CycleContext(calm.cache, budget=TimeBudget(Ticking(ATTEMPT_SLICE_SECONDS / 8)))
    with monkeypatch.context() as patch:
        patch.setattr(cached_results, "evaluated", counting)
        outcome, slices = decided(make_pod("p"), revision, hasty)
    assert slices > 5
    assert evaluations == {f"n{i}": 1 for i in range(100)}
    assert outcome == cycle.decide(make_pod("p"), revision, calm)


def test_one_input_at_least_is_evaluated() -> None:
    """However slow the machine is, each slice gets on."""
    args = filtering("node.metadata.name != ''")
    context, revision = world(args, *(make_node(f"n{i}") for i in range(50)))
    hasty = CycleContext(context.cache, budget=TimeBudget(Ticking(1000)))
    prepared_and_asked = 4 * len(revision.deciders)
    assert decided(make_pod("p"), revision, hasty)[1] <= 50 + prepared_and_asked


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=6), st.integers(1, 4))
def test_slices_choose_the_same_victims(there: list[list[int]], most: int) -> None:
    """A filter that reads what is requested is asked about nodes without their pods, too."""
    args = filtering(f"node.requested.pods < {most}")
    calm, revision = world(args, *(make_node(f"n{i}") for i in range(len(there))))
    for i, priorities in enumerate(there):
        for j, priority in enumerate(priorities):
            pod = make_pod(f"v{i}-{j}", node=f"n{i}", priority=priority)
            calm.cache.observe(pod, pod_requests(pod))
    hasty = CycleContext(calm.cache, budget=TimeBudget(Ticking(ATTEMPT_SLICE_SECONDS)))
    preemptor = make_pod("p", priority=3)
    assert decided(preemptor, revision, hasty)[0] == decided(preemptor, revision, calm)[0]


def test_too_many_answers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are never the same twice cost no memory without end, and stay right."""
    monkeypatch.setattr(cached_results, "_MAX_KEPT_RESULTS", 8)
    args = scoring("node.requested.pods")
    context, revision = world(args, make_node("a"), make_node("b"), alone=True)
    for i in range(60):
        outcome = cycle.decide(make_pod(f"p{i}", cpu="1m", memory="1Ki"), revision, context)
        assert isinstance(outcome, ScheduleResult)
        assert outcome.score == context.snapshot.nodes.requested[PODS].max()
        cycle.assume_and_reserve(outcome, context)
        answers = cached_results.cached_results(args, cached_results.CachedScores, make_pod("p"))
        assert len(answers.found) <= 11
        assert len(answers._known) <= 11
