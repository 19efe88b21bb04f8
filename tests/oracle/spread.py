"""Topology spread, naively: pods are counted again for every node. What PodTopologySpread must
agree with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from moorage.core.objects.meta import Labels
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod, TopologySpreadConstraint
from moorage.core.objects.selector_terms import LabelSelector, Requirement
from moorage.core.objects.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.core.plugins.pod_topology_spread.arguments import PodTopologySpreadArgs
from tests.oracle import affinity, taints
from tests.oracle.cluster import Cluster
from tests.oracle.selectors import is_empty, selects

MISSING = "node(s) didn't match pod topology spread constraints (missing required label)"
UNEVEN = "node(s) didn't match pod topology spread constraints"
HOSTNAME = "kubernetes.io/hostname"


class Rule(NamedTuple):
    """A constraint with the selector that counts."""

    constraint: TopologySpreadConstraint
    selector: LabelSelector | None

    @property
    def key(self) -> str:
        """Its topology."""
        return self.constraint.topology_key


def _and(selector: LabelSelector | None, *more: Requirement) -> LabelSelector | None:
    if selector is None:
        return None
    return LabelSelector(selector.match_labels, (*(selector.match_expressions or ()), *more))


def default_selector(pod: Pod, cluster: Cluster) -> LabelSelector:
    """Services in front of the pod and the controller behind it."""
    labels = pod.metadata.labels or {}
    merged: Labels = {}
    for service in cluster.of_kind(Service):
        wanted = service.spec.selector
        mine = service.metadata.namespace == pod.metadata.namespace
        if (
            mine
            and wanted is not None
            and all(labels.get(key) == value for key, value in wanted.items())
        ):
            merged |= wanted
    selector = LabelSelector(merged)
    owner = next((one for one in pod.metadata.owner_references or () if one.controller), None)
    behind: tuple[tuple[type[Any], str, str], ...] = (
        (ReplicationController, "v1", "ReplicationController"),
        (ReplicaSet, "apps/v1", "ReplicaSet"),
        (StatefulSet, "apps/v1", "StatefulSet"),
    )
    for kind, version, name in behind:
        for one in cluster.of_kind(kind):
            named = owner is not None and (owner.api_version, owner.kind, owner.name) == (
                version,
                name,
                one.metadata.name,
            )
            if not named or one.metadata.namespace != pod.metadata.namespace:
                continue
            if isinstance(one, ReplicationController):
                selector = LabelSelector({**merged, **(one.spec.selector or {})})
            elif one.spec.selector is not None:
                equal = [
                    Requirement(key, "In", (value,))
                    for key, value in (one.spec.selector.match_labels or {}).items()
                ]
                selector = LabelSelector(
                    merged, (*equal, *(one.spec.selector.match_expressions or ()))
                )
    return selector


def rules(pod: Pod, when: str, cluster: Cluster, args: PodTopologySpreadArgs) -> list[Rule]:
    """What holds for the pod."""
    own = pod.spec.topology_spread_constraints
    if own:
        labels = pod.metadata.labels or {}
        return [
            Rule(
                one,
                _and(
                    one.label_selector,
                    *(
                        Requirement(k, "In", (labels[k],))
                        for k in one.match_label_keys or ()
                        if k in labels
                    ),
                ),
            )
            for one in own
            if one.when_unsatisfiable == when
        ]
    defaults = [
        TopologySpreadConstraint(
            one.max_skew,
            one.topology_key,
            one.when_unsatisfiable,
            min_domains=one.min_domains,
            node_affinity_policy=one.node_affinity_policy,
            node_taints_policy=one.node_taints_policy,
        )
        for one in args.default_constraints or ()
    ]
    if args.defaulting_type == "System":
        defaults = [
            TopologySpreadConstraint(3, HOSTNAME, "ScheduleAnyway"),
            TopologySpreadConstraint(5, "topology.kubernetes.io/zone", "ScheduleAnyway"),
        ]
    selector = default_selector(pod, cluster)
    return (
        []
        if is_empty(selector)
        else [Rule(one, selector) for one in defaults if one.when_unsatisfiable == when]
    )


def counted(rule: Rule, pod: Pod, node: Node) -> bool:
    """Whether a node counts at all."""
    if rule.constraint.node_affinity_policy != "Ignore" and not affinity.wanted(pod, node):
        return False
    return rule.constraint.node_taints_policy != "Honor" or not taints.kept_off(pod, node)


def pods_here(rule: Rule, pod: Pod, node: Node, cluster: Cluster) -> int:
    """The pods on a node that count."""
    if is_empty(rule.selector):
        return 0
    there = [one.metadata for one in cluster.pods_on(node)]
    alive = [
        one
        for one in there
        if one.namespace == pod.metadata.namespace and one.deletion_timestamp is None
    ]
    return sum(selects(rule.selector, one.labels) for one in alive)


def has_all(found: list[Rule], node: Node) -> bool:
    """Whether a node has all labels that the rules go by."""
    return all(rule.key in (node.metadata.labels or {}) for rule in found)


def refusal(pod: Pod, node: Node, cluster: Cluster, args: PodTopologySpreadArgs) -> str | None:
    """Why a node is refused."""
    found = rules(pod, "DoNotSchedule", cluster, args)
    for rule in found:
        value = (node.metadata.labels or {}).get(rule.key)
        if value is None:
            return MISSING
        domains: dict[str, int] = {}
        for one in cluster.nodes:
            if has_all(found, one) and counted(rule, pod, one):
                where = (one.metadata.labels or {})[rule.key]
                domains[where] = domains.get(where, 0) + pods_here(rule, pod, one, cluster)
        least = (
            min(domains.values())
            if domains and len(domains) >= (rule.constraint.min_domains or 1)
            else 0
        )
        own = 1 if selects(rule.selector, pod.metadata.labels) else 0
        if domains.get(value, 0) + own - least > rule.constraint.max_skew:
            return UNEVEN
    return None


def scores(
    pod: Pod, candidates: list[Node], cluster: Cluster, args: PodTopologySpreadArgs
) -> tuple[list[int], list[int]] | None:
    """Raw and normalised scores; None when nothing ranks."""
    found = rules(pod, "ScheduleAnyway", cluster, args)
    if not found:
        return None
    strict = bool(pod.spec.topology_spread_constraints) or args.defaulting_type == "List"
    ranked = [node for node in candidates if not strict or has_all(found, node)]
    sums = [0.0] * len(ranked)
    for rule in found:
        values = {(node.metadata.labels or {}).get(rule.key, "") for node in ranked}
        weight = math.log((len(ranked) if rule.key == HOSTNAME else len(values)) + 2)
        for i, node in enumerate(ranked):
            labels = node.metadata.labels or {}
            if rule.key not in labels:
                continue
            near = [
                one
                for one in cluster.nodes
                if (one.metadata.labels or {}).get(rule.key, "") == labels[rule.key]
                and counted(rule, pod, one)
                and (not strict or has_all(found, one))
            ]
            where = [node] if rule.key == HOSTNAME else near
            sums[i] += sum(pods_here(rule, pod, one, cluster) for one in where) * weight + (
                rule.constraint.max_skew - 1
            )
    rounded = {
        node.metadata.name: math.floor(total + 0.5)
        for node, total in zip(ranked, sums, strict=True)
    }
    high, low = max(rounded.values(), default=0), min(rounded.values(), default=0)
    shares = {
        name: 100 * (high + low - score) // high if high else 100 for name, score in rounded.items()
    }
    names = [node.metadata.name for node in candidates]
    return [rounded.get(name, 0) for name in names], [shares.get(name, 0) for name in names]
