"""The CEL plugin, which asks each distinct input once and rows again when they change, decides as
if it asked everything each time.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kubefacts.cel import CELExpressionError
from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.cel.arguments import CELArgs, CELFilter, CELScore
from moorage.core.plugins.cel.program import compile_program
from moorage.core.plugins.cel.variables import NODE, POD, VARIABLES
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests

REGISTRY = build_registry(INTREE)
NODES = ("n0", "n1", "n2", "n3", "n4")

filters = st.sampled_from(
    [
        'node.metadata.labels.gpu == "a100"',
        '!has(node.metadata.labels.gpu) || node.metadata.labels.gpu != "t4"',
        "pod.metadata.labels.team == node.metadata.labels[?'team'].orValue('red')",
        "node.metadata.labels.all(key, key != 'gpu' || node.metadata.labels[key] == 'a100')",
        'node.metadata.name != "n2"',
        "pod.metadata.name != 'p1' || node.requested.pods < 1",
        "node.requested.cpu + pod.requests.cpu <= node.allocatable.cpu / 2",
        "node.requested.pods < int(node.metadata.annotations['most'])",
        "node.spec.taints.exists(t, t.key == 'k') == pod.spec.tolerations.exists(t, t.key == 'k')",
        "!node.spec.unschedulable && node.metadata.creationTimestamp < '2026-01-03'",
        "node.status.allocatable.cpu == '4'",
        "pod.spec.priority > 3 || node.metadata.labels.size() < 2",
    ]
)
scores = st.sampled_from(
    [
        "100 - 20 * node.requested.pods",
        "int(node.metadata.annotations['most']) * 30",
        "{'a100': 80.5, 't4': 20.25}[node.metadata.labels.gpu]",
        (
            "node.metadata.creationTimestamp == '' ? 0 : "
            "int(timestamp(node.metadata.creationTimestamp))"
        ),
        "pod.metadata.labels.team == 'red' ? node.allocatable.cpu : -node.allocatable.cpu",
        "node.metadata.labels.size()",
    ]
)
arguments = st.builds(
    CELArgs,
    st.lists(st.builds(CELFilter, filters), max_size=3).map(tuple),
    st.lists(st.builds(CELScore, scores, st.integers(1, 3), st.booleans()), max_size=3).map(tuple),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "labels": st.dictionaries(
        st.sampled_from(["gpu", "team"]), st.sampled_from(["a100", "t4", "red"])
    ),
    "annotations": st.dictionaries(st.just("most"), st.sampled_from(["1", "2", "x"])),
    "creationTimestamp": st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"]),
    "taints": st.lists(
        st.sampled_from(
            [{"key": "k", "effect": "NoSchedule"}, {"key": "l", "effect": "NoSchedule"}]
        ),
        max_size=1,
    ),
    "unschedulable": st.booleans(),
    "cpu": st.sampled_from(["1", "4", "4000m"]),
}
node_bodies = st.fixed_dictionaries(FIELDS)
changes = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda field: st.tuples(st.just(field), FIELDS[field])
)
pods = st.builds(
    lambda number, team, cpu, priority, tolerates: make(
        f"p{number}", team, cpu, priority, tolerates
    ),
    st.integers(0, 3),
    st.sampled_from(["red", "blue", ""]),
    st.sampled_from(["100m", "1"]),
    st.sampled_from([0, 5]),
    st.booleans(),
)
steps = st.one_of(
    st.tuples(st.just("change"), st.sampled_from(NODES), changes),
    st.tuples(st.just("change"), st.sampled_from(NODES), changes),
    st.tuples(st.just("put"), st.sampled_from(NODES), node_bodies),
    st.tuples(st.just("remove"), st.sampled_from(NODES), st.none()),
    st.tuples(st.just("run"), st.sampled_from(NODES), st.integers(0, 5)),
    st.tuples(st.just("end"), st.none(), st.integers(0, 5)),
)


def make(name: str, team: str, cpu: str, priority: int, tolerates: bool) -> Pod:
    """A pod."""
    metadata = {
        "name": name,
        "namespace": "d",
        "uid": f"uid-{name}-{team}",
        "labels": {"team": team} if team else None,
    }
    spec = {
        "priority": priority,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        "tolerations": [{"key": "k", "operator": "Exists"}] if tolerates else None,
    }
    return msgspec.convert({"metadata": metadata, "spec": spec}, Pod)


def step(cache: Cache, action: str, name: str, given: Any) -> None:
    """Change the cluster."""
    if action == "change":
        row = cache.nodes.row_of.get(name)
        if row is not None:
            step(cache, "put", name, {**body_of(cache.nodes.nodes[row]), given[0]: given[1]})
    elif action == "put":
        metadata = {
            "name": name,
            **{key: given[key] for key in ("labels", "annotations", "creationTimestamp")},
        }
        spec = {key: given[key] for key in ("taints", "unschedulable")}
        cache.put_node(
            msgspec.convert(
                {
                    "metadata": metadata,
                    "spec": spec,
                    "status": {"allocatable": {"cpu": given["cpu"], "pods": "9"}},
                },
                Node,
            )
        )
    elif action == "remove":
        cache.remove_node(name)
    elif action == "run":
        guest = msgspec.convert(
            {"metadata": {"name": f"g{given}", "uid": f"g{given}"}, "spec": {"nodeName": name}}, Pod
        )
        cache.observe(guest, pod_requests(guest))
    else:
        cache.remove(f"g{given}")


def body_of(node: Node | None) -> dict[str, Any]:
    """What ``step`` makes such a node of."""
    found: dict[str, Any] = msgspec.to_builtins(node)
    metadata, spec = found["metadata"], found.get("spec", {})
    return {
        "labels": metadata.get("labels", {}),
        "annotations": metadata.get("annotations", {}),
        "creationTimestamp": metadata.get("creationTimestamp", ""),
        "taints": spec.get("taints", []),
        "unschedulable": spec.get("unschedulable", False),
        "cpu": found["status"]["allocatable"]["cpu"],
    }


def naive(args: CELArgs, pod: Pod, cache: Cache) -> dict[str, int]:
    """The nodes that will do, with their scores: every expression asked about every node, shown
    everything.
    """
    numbers: dict[str, list[float]] = {}
    for name, row in cache.nodes.row_of.items():
        node = cache.nodes.nodes[row]
        assert node is not None
        values = {key: variable.get(pod) for key, variable in POD.items()}
        values |= {key: other.get(node, cache.nodes, row) for key, other in NODE.items()}
        if all(ask(one.expression, values) is True for one in args.filters):
            said = [ask(one.expression, values) for one in args.scores]
            numbers[name] = [math.nan if number is None else number for number in said]
    return {name: total(args, own, list(numbers.values())) for name, own in numbers.items()}


def total(args: CELArgs, own: list[float], all_numbers: list[list[float]]) -> int:
    """A node's score, given everybody's numbers."""
    sum_of_shares = 0.0
    for i, one in enumerate(args.scores):
        number = own[i]
        known = [numbers[i] for numbers in all_numbers if not math.isnan(numbers[i])]
        if math.isnan(number):
            continue
        if one.normalize:
            low, high = min(known), max(known)
            share = (number - low) / (high - low) * 100 if high > low else 0.0
        else:
            share = max(0.0, min(100.0, number))
        sum_of_shares += share * one.weight
    return math.floor(round(sum_of_shares / (sum(one.weight for one in args.scores) or 1), 6))


def ask(text: str, values: dict[str, Any]) -> Any:
    """What the expression says, None where it fails."""
    try:
        return compile_program(text, VARIABLES).evaluate(values)
    except CELExpressionError:
        return None


def alone(args: CELArgs) -> Revision:
    """A profile in which no other plugin has a say about nodes."""
    enabled = tuple(PluginRef(name) for name in ("PrioritySort", "CEL", "DefaultBinder"))
    return resolve(
        RequestedProfile(
            "test", "Default", {"multiPoint": EnabledPlugins(enabled, ("*",))}, {}, {"CEL": args}
        ),
        REGISTRY,
        PRESETS,
    )


@settings(max_examples=40)
@given(
    arguments,
    st.lists(node_bodies, min_size=5, max_size=5),
    st.lists(st.tuples(steps, pods), min_size=1, max_size=8),
)
def test_decisions_are_as_if_everything_was_asked(
    args: CELArgs, bodies: list[Any], history: list[tuple[Any, Pod]]
) -> None:
    """After each change, for pods that are alike and pods that are not."""
    cache, revision = Cache(), alone(args)
    for name, body in zip(NODES, bodies, strict=True):
        step(cache, "put", name, body)
    context = CycleContext(cache)
    for change, pod in history:
        step(cache, *change)
        outcome = decide(pod, revision, context)
        wanted = naive(args, pod, cache)
        if isinstance(outcome, Diagnosis):
            assert wanted == {}
        else:
            assert isinstance(outcome, ScheduleResult)
            assert outcome.node in wanted
            assert outcome.feasible_nodes == len(wanted)
            if args.scores and outcome.score is not None:
                assert outcome.score == wanted[outcome.node] == max(wanted.values())
