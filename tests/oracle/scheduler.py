"""The whole naive scheduler: one pod, all nodes, all pods, a profile -> what every plugin says and
where the pod may go.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from tests.oracle import affinity, features, images, interpod, ports, resources, spread, taints
from tests.oracle.cluster import Cluster
from tests.oracle.preemption import Preemption, preempt, priority


@dataclasses.dataclass(frozen=True)
class Profile:
    """Which plugins filter, in order; what the others' scores weigh; arguments by plugin."""

    filters: tuple[str, ...]
    weights: Mapping[str, int]
    args: Mapping[str, Any]


class Refusal(NamedTuple):
    """Why a node was refused, in text; ``hopeless``: removing pods would not help."""

    reasons: tuple[str, ...]
    hopeless: bool


class Ranking(NamedTuple):
    """A plugin's scores by node."""

    raw: dict[str, int]
    normalized: dict[str, int]


@dataclasses.dataclass
class Decision:
    """What the naive scheduler finds.

    ``refusals`` has, for each node, what each filter plugin says of it as it is, also those that
    are not asked any more after the first; ``blame`` the first refusing plugin of each node, with
    the pods nominated there or without, and its refusal; "" when preFilter left it out. ``failed``:
    the plugin whose preference can't be read. ``message``: what a pod that fits nowhere is told.
    """

    refusals: dict[str, dict[str, Refusal]] = dataclasses.field(default_factory=dict)
    blame: dict[str, tuple[str, Refusal]] = dataclasses.field(default_factory=dict)
    feasible: list[str] = dataclasses.field(default_factory=list)
    scores: dict[str, Ranking] = dataclasses.field(default_factory=dict)
    total: dict[str, int] = dataclasses.field(default_factory=dict)
    best: list[str] = dataclasses.field(default_factory=list)
    message: str = ""
    failed: str = ""
    preemption: Preemption | None = None

    def message_of(self, nominated_node: str | None) -> str:
        """What is said of a pod that is nominated to this node."""
        room = self.preemption.message_of(nominated_node) if self.preemption else ""
        return f"{self.message} {room}".rstrip()


def schedule(pod: Pod, cluster: Cluster, profile: Profile) -> Decision:
    """All that is decided about a pod."""
    decision = Decision()
    narrowings = _narrowings(pod, profile)
    hopeless = _pre_filter_message(narrowings)
    for node in cluster.nodes if not hopeless else ():
        name = node.metadata.name
        decision.refusals[name] = refusals_of(pod, node, cluster, profile)
        first = first_refusal(pod, node, cluster, profile)
        if any(name not in names for names in narrowings.values()):
            text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowings))}]"
            decision.blame[name] = ("", Refusal((text,), True))
        elif first is not None:
            decision.blame[name] = first
        else:
            decision.feasible.append(name)
    if (promised := cluster.promised(pod)) in decision.feasible:
        decision.best = [promised]
        return decision
    if decision.feasible:
        _rank(decision, pod, cluster, profile)
        return decision
    said = hopeless or _fit_error(decision)
    decision.message = f"0/{len(cluster.nodes)} nodes are available: {said}."
    if "DefaultPreemption" in profile.args:
        decision.preemption = _preempt(decision, pod, cluster, profile)
    return decision


def _narrowings(pod: Pod, profile: Profile) -> dict[str, set[str]]:
    """By plugin, the names of the only nodes that can fit."""
    found = {
        "NodeName": {pod.spec.node_name} if pod.spec.node_name else None,
        "NodeAffinity": affinity.named(pod),
    }
    return {
        plugin: names
        for plugin, names in found.items()
        if plugin in profile.filters and names is not None
    }


def _pre_filter_message(narrowings: dict[str, set[str]]) -> str:
    """Why no node can fit, whatever nodes there are; empty where one may."""
    if narrowings.get("NodeAffinity") == set():
        return "pod affinity terms conflict"
    if narrowings and not set.intersection(*narrowings.values()):
        return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowings))}] simultaneously"
    return ""


def _preempt(decision: Decision, pod: Pod, cluster: Cluster, profile: Profile) -> Preemption:
    def ask(name: str, gone: frozenset[str]) -> tuple[str, ...] | None:
        left = [(one, where) for one, where in cluster.pods if one.metadata.uid not in gone]
        node = next(node for node in cluster.nodes if node.metadata.name == name)
        found = first_refusal(pod, node, dataclasses.replace(cluster, pods=left), profile)
        return found[1].reasons if found is not None else None

    hopeful = {name: not refusal.hopeless for name, (_, refusal) in decision.blame.items()}
    refused = {node.metadata.name: hopeful.get(node.metadata.name, False) for node in cluster.nodes}
    return preempt(pod, cluster, refused, ask)


# ---- filter --------------------------------------------------------------------------------------


def first_refusal(
    pod: Pod, node: Node, cluster: Cluster, profile: Profile
) -> tuple[str, Refusal] | None:
    """Who refuses the node first: as it will be with the nominated pods that go first, here and
    elsewhere, and as it is.
    """
    uid, known = pod.metadata.uid, {one.metadata.name for one in cluster.nodes}
    guests = [
        (one, to)
        for one, to in cluster.nominated
        if to in known and priority(one) >= priority(pod) and one.metadata.uid != uid
    ]
    for there in ([*cluster.pods, *guests], cluster.pods) if guests else (cluster.pods,):
        said = refusals_of(pod, node, dataclasses.replace(cluster, pods=there), profile)
        if said:
            return next(iter(said.items()))
    return None


def refusals_of(pod: Pod, node: Node, cluster: Cluster, profile: Profile) -> dict[str, Refusal]:
    """What each filter plugin that refuses the node says, in the profile's order."""
    said = {
        plugin: _refusal_beyond(plugin, pod, node, cluster, profile.args)
        if plugin in _BEYOND
        else _refusal(plugin, pod, node, cluster.pods_on(node), profile.args)
        for plugin in profile.filters
        if plugin not in _ELSEWHERE
    }
    return {plugin: refusal for plugin, refusal in said.items() if refusal is not None}


_ELSEWHERE = {
    "DynamicResources",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
}
"""Plugins that have no say about pods without claims and volumes. Tests of their own have pods with
them.
"""

_BEYOND = {"InterPodAffinity", "PodTopologySpread"}
"""Plugins that look beyond the node."""


def _refusal_beyond(
    plugin: str, pod: Pod, node: Node, cluster: Cluster, args: Mapping[str, Any]
) -> Refusal | None:
    match plugin:
        case "InterPodAffinity":
            text = interpod.refusal(pod, node, cluster, args[plugin])
            return Refusal((text,), text == interpod.BESIDE) if text else None
        case "PodTopologySpread":
            text = spread.refusal(pod, node, cluster, args[plugin])
            return Refusal((text,), text == spread.MISSING) if text else None
    raise NotImplementedError(plugin)


def _refusal(
    plugin: str, pod: Pod, node: Node, there: list[Pod], args: Mapping[str, Any]
) -> Refusal | None:
    match plugin:
        case "NodeUnschedulable":
            return (
                Refusal(("node(s) were unschedulable",), True)
                if taints.cordoned(pod, node)
                else None
            )
        case "NodeName":
            wrong = pod.spec.node_name not in ("", node.metadata.name)
            return (
                Refusal(("node(s) didn't match the requested node name",), True) if wrong else None
            )
        case "TaintToleration":
            return (
                Refusal(("node(s) had untolerated taint(s)",), True)
                if taints.kept_off(pod, node)
                else None
            )
        case "NodeAffinity":
            if not affinity.allowed(args[plugin], node):
                return Refusal(("node(s) didn't match scheduler-enforced node affinity",), True)
            return (
                None
                if affinity.wanted(pod, node)
                else Refusal(("node(s) didn't match Pod's node affinity/selector",), True)
            )
        case "NodePorts":
            taken = ports.refused(pod, there)
            return (
                Refusal(("node(s) didn't have free ports for the requested pod ports",), False)
                if taken
                else None
            )
        case "NodeResourcesFit":
            lacking = resources.refusals(pod, node, there, args[plugin])
            return (
                Refusal(
                    tuple(text for text, _ in lacking), any(hopeless for _, hopeless in lacking)
                )
                if lacking
                else None
            )
        case "NodeDeclaredFeatures":
            return (
                None
                if features.declared(pod, node)
                else Refusal(("node(s) didn't match Pod's required features",), True)
            )
    raise NotImplementedError(plugin)


def _fit_error(decision: Decision) -> str:
    counts: Counter[str] = Counter()
    for _, refusal in decision.blame.values():
        counts.update(refusal.reasons)
    return ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))


# ---- score ---------------------------------------------------------------------------------------


def _rank(decision: Decision, pod: Pod, cluster: Cluster, profile: Profile) -> None:
    candidates = [node for node in cluster.nodes if node.metadata.name in decision.feasible]
    for plugin in profile.weights:
        if plugin in _BEYOND:
            together = interpod if plugin == "InterPodAffinity" else spread
            found = together.scores(pod, candidates, cluster, profile.args[plugin])
            if found is not None:
                decision.scores[plugin] = Ranking(
                    *(dict(zip(decision.feasible, scores, strict=True)) for scores in found)
                )
            continue
        try:
            raw = {
                node.metadata.name: _score(plugin, pod, node, cluster, profile)
                for node in candidates
            }
        except affinity.Unreadable:
            decision.failed = plugin
            return
        if None not in raw.values():
            decision.scores[plugin] = Ranking(raw, _normalized(plugin, raw))  # type: ignore[arg-type]  # None was ruled out
    for name in decision.feasible:
        decision.total[name] = sum(
            ranking.normalized[name] * profile.weights[plugin]
            for plugin, ranking in decision.scores.items()
        )
    top = max(decision.total.values())
    decision.best = sorted(name for name, total in decision.total.items() if total == top)


def _score(plugin: str, pod: Pod, node: Node, cluster: Cluster, profile: Profile) -> int | None:
    """None when the plugin has no say about the pod."""
    args: Any = profile.args.get(plugin)
    there = cluster.pods_on(node)
    match plugin:
        case "TaintToleration":
            return taints.unwelcome(pod, node)
        case "NodeAffinity":
            return affinity.score(pod, node, args) if affinity.prefers(pod, args) else None
        case "NodeResourcesFit":
            return resources.fit_score(pod, node, there, args)
        case "NodeResourcesBalancedAllocation":
            return resources.balanced_score(pod, node, there, [one.name for one in args.resources])
        case "ImageLocality":
            return images.score(pod, node, list(cluster.nodes))
        case "DynamicResources":
            return 0
        case "VolumeBinding" if not pod.spec.volumes:
            return 0
    raise NotImplementedError(plugin)


def _normalized(plugin: str, raw: dict[str, int]) -> dict[str, int]:
    if plugin not in ("TaintToleration", "NodeAffinity"):
        return raw
    most = max(raw.values())
    shares = {name: score * 100 // most if most else 0 for name, score in raw.items()}
    return (
        {name: 100 - share for name, share in shares.items()}
        if plugin == "TaintToleration"
        else shares
    )
