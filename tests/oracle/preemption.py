"""Preemption, naively: take all lower pods off a node, put them back unit by unit, see whether the
pod still fits. A unit is a pod, or all pods of a group that go together, on whatever nodes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from moorage.core.objects.pod_groups import AllDisruptionMode, DisruptionMode, PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import PodDisruptionBudget
from tests.oracle import selectors
from tests.oracle.cluster import Cluster

ALL = DisruptionMode(all=AllDisruptionMode())
Ask = Callable[[str, frozenset[str]], Sequence[str] | None]
"""(node, UIDs of pods that are gone) -> why the pod does not fit there, None when it does."""


@dataclasses.dataclass
class Preemption:
    """Victims (UIDs, by node) and how many of them are protected; the nodes any of which is best;
    what is said if there are none.
    """

    victims: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    violations: dict[str, int] = dataclasses.field(default_factory=dict)
    best: set[str] = dataclasses.field(default_factory=set)
    message: str = ""

    def message_of(self, node: str | None) -> str:
        """What is said when this node is taken."""
        found = "preemption: found a potential placement for pod on node"
        if node not in self.victims:
            return self.message
        return f"{found} {node}, preempting {len(self.victims[node])} victims"


def preempt(pod: Pod, cluster: Cluster, refused: dict[str, bool], ask: Ask) -> Preemption:
    """``refused``: every node, and whether removing pods may help there."""
    found, pods, budgets = Preemption(), cluster.pods, cluster.of_kind(PodDisruptionBudget)
    node = cluster.promised(pod)
    going = [
        one
        for one, where in pods
        if where == node and level(one, cluster) < priority(pod) and _preempted(one)
    ]
    if pod.spec.preemption_policy == "Never":
        found.message = "preemption: not eligible due to preemptionPolicy=Never."
    elif going and refused.get(node):
        found.message = "preemption: not eligible due to a terminating pod on the nominated node."
    if found.message:
        return found
    reasons: Counter[str] = Counter()
    started: dict[str, str] = {}
    costs: dict[str, tuple[int, ...]] = {}
    for name, helps in refused.items():
        lower = units_below(priority(pod), name, cluster)
        everyone = uids(one for unit in lower for one in unit)
        if not helps:
            reasons["Preemption is not helpful for scheduling"] += 1
        elif not lower:
            reasons["No preemption victims found for incoming pod"] += 1
        elif why := ask(name, everyone):
            reasons.update(why)
        else:
            victims, violations = _victims(
                lower,
                cluster,
                budgets,
                lambda gone, name=name: ask(name, gone) is None,  # type: ignore[misc]
            )
            if not victims:
                reasons["No preemption victims found for incoming pod"] += 1
                continue
            found.victims[name] = [one.metadata.uid for one in victims]
            found.violations[name] = violations
            levels = [priority(one) for one in victims]
            costs[name] = (
                violations,
                levels[0],
                sum(level + 2**31 for level in levels),
                len(levels),
            )
            started[name] = min(_start(one) for one in victims if priority(one) == max(levels))
    if costs:
        cheapest = {name for name, cost in costs.items() if cost == min(costs.values())}
        latest = max(started[name] for name in cheapest)
        found.best = {name for name in cheapest if started[name] == latest}
    else:
        parts = ", ".join(sorted(f"{count} {text}" for text, count in reasons.items()))
        found.message = f"preemption: 0/{len(refused)} nodes are available: {parts}."
    return found


def units_below(mine: int, node: str, cluster: Cluster) -> list[list[Pod]]:
    """What may go from a node: each pod, or all of its group."""
    known = {one.metadata.name for one in cluster.nodes}
    units: dict[str, list[Pod]] = {}
    for pod, where in cluster.pods:
        if where == node and level(pod, cluster) < mine:
            group = group_of(pod, cluster)
            together = group is not None and group.spec.disruption_mode == ALL
            siblings = [
                one
                for one, at in cluster.pods
                if together and at in known and group_of(one, cluster) is group
            ] or [pod]
            siblings.sort(key=lambda one: (-priority(one), _start(one), one.metadata.uid))
            units[min(uids(siblings))] = siblings
    return list(units.values())


def _victims(
    lower: list[list[Pod]],
    cluster: Cluster,
    budgets: Sequence[PodDisruptionBudget],
    fits: Callable[[frozenset[str]], bool],
) -> tuple[list[Pod], int]:
    """Who cannot be put back, the most important first, and how many of them are protected."""
    lower = sorted(
        lower,
        key=lambda unit: (
            -level(unit[0], cluster),
            unit[0].spec.scheduling_group is None,
            -len(unit),
            min(_start(one) for one in unit),
            min(uids(unit)),
        ),
    )
    left = {id(budget): budget.status.disruptions_allowed for budget in budgets}
    protected: set[str] = set()
    for one in (one for unit in lower for one in unit):
        for budget in budgets:
            left[id(budget)] -= _counts(budget, one)
            if _counts(budget, one) and left[id(budget)] < 0:
                protected.add(one.metadata.uid)
                break
    gone = uids(one for unit in lower for one in unit)
    for unit in sorted(lower, key=lambda unit: not protected & uids(unit)):
        if fits(gone - uids(unit)):
            gone -= uids(unit)
    victims = [one for unit in lower for one in unit if one.metadata.uid in gone]
    return victims, len(protected & gone)


def uids(pods: Iterable[Pod]) -> frozenset[str]:
    """Of pods."""
    return frozenset(one.metadata.uid for one in pods)


def group_of(pod: Pod, cluster: Cluster) -> PodGroup | None:
    """The PodGroup that a pod names, if it is there."""
    named = pod.spec.scheduling_group
    for one in cluster.of_kind(PodGroup):
        its = one.metadata
        if named and (its.namespace, its.name) == (pod.metadata.namespace, named.pod_group_name):
            return one
    return None


def level(pod: Pod, cluster: Cluster) -> int:
    """The priority that a pod is preempted with."""
    group = group_of(pod, cluster)
    return priority(pod) if group is None else group.spec.priority or 0


def _counts(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector, labels = budget.spec.selector, pod.metadata.labels
    if budget.metadata.namespace != pod.metadata.namespace or not labels or selector is None:
        return False
    if not selector.match_labels and not selector.match_expressions:
        return False
    return pod.metadata.name not in (budget.status.disrupted_pods or {}) and selectors.selects(
        selector, labels
    )


def priority(pod: Pod) -> int:
    """Unset is 0."""
    return pod.spec.priority if pod.spec.priority is not None else 0


def _start(pod: Pod) -> str:
    """A pod that has not started counts as started now."""
    return pod.status.start_time or "9999"


def _preempted(pod: Pod) -> bool:
    said = [(one.type, one.status, one.reason) for one in pod.status.conditions or ()]
    return (
        pod.metadata.deletion_timestamp is not None
        and ("DisruptionTarget", "True", "PreemptionByScheduler") in said
    )
