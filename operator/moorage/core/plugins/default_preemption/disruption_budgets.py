"""Disruption budgets: whom they protect, as kube-scheduler's preemption sees it and as the API
server does when asked to evict.

The two differ in details: kube-scheduler leaves out a budget that selects everything, and charges
all budgets of a pod; the API server evicts no pod that has several, and applies none to a pod that
does not run (yet, or any more).
Source: kube-scheduler DefaultPreemption (v1.36), kube-apiserver's pods/eviction (v1.36).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubefacts.labels import Selector, SelectorError, compile_selector
from moorage.core.columns.store import Lister
from moorage.core.objects.pods import Pod, is_ready
from moorage.core.objects.workloads import PodDisruptionBudget

_IDLE = ("Pending", "Succeeded", "Failed")
"""Phases in which a pod may be evicted whatever its budget says."""


class ReadableBudget(NamedTuple):
    """A budget that can be read. ``allowed``: how many of its pods may go now."""

    name: str
    selector: Selector
    allowed: int
    already: Mapping[str, str]
    """Names of pods that it counts as gone."""
    current: bool
    """Whether ``allowed`` is about the budget's present spec."""
    spares_unready: bool
    """Whether pods that are not ready are none of its business."""

    def counts(self, pod: Pod) -> bool:
        """Whether kube-scheduler charges it for this pod of its namespace."""
        return pod.metadata.name not in self.already and self.selector.matches(pod.metadata.labels)


BudgetsByNamespace = Mapping[str, Sequence[ReadableBudget]]
"""By namespace."""


def budgets(store: Lister) -> BudgetsByNamespace:
    """Those that can select somebody. A wrong selector selects nobody."""
    found: defaultdict[str, list[ReadableBudget]] = defaultdict(list)
    for name, budget in store.objects(PodDisruptionBudget).items():
        try:
            selector = compile_selector(budget.spec.selector)
        except SelectorError:
            continue
        if selector.conditions is not None:
            found[budget.metadata.namespace].append(_readable(name, budget, selector))
    return found


def _readable(name: str, budget: PodDisruptionBudget, selector: Selector) -> ReadableBudget:
    status = budget.status
    return ReadableBudget(
        name,
        selector,
        status.disruptions_allowed,
        status.disrupted_pods or {},
        status.observed_generation >= (budget.metadata.generation or 0),
        budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
        or status.current_healthy >= status.desired_healthy > 0,
    )


def violating_pods(pods: Iterable[tuple[Pod, int]], by_namespace: BudgetsByNamespace) -> list[bool]:
    """Which of these pods, each with its row, a budget protects: the pods before it on its row have
    used it up.
    """
    spent: Counter[tuple[int, str]] = Counter()
    protected = []
    for pod, row in pods:
        violates = False
        for budget in by_namespace.get(pod.metadata.namespace, ()) if pod.metadata.labels else ():
            if budget.selector.conditions and budget.counts(pod):
                spent[row, budget.name] += 1
                violates |= spent[row, budget.name] > budget.allowed
        protected.append(violates)
    return protected


def unevictable_pods(pods: Iterable[Pod], by_namespace: BudgetsByNamespace) -> int:
    """How many of these pods the API server would not evict, if it was asked for one after
    another.
    """
    spent: Counter[str] = Counter()
    refused = 0
    for pod in pods:
        if pod.status.phase in _IDLE or pod.metadata.deletion_timestamp is not None:
            continue
        there = by_namespace.get(pod.metadata.namespace, ())
        mine = [one for one in there if one.selector.matches(pod.metadata.labels)]
        charging = [budget for budget in mine if is_ready(pod) or not budget.spares_unready]
        spent.update(budget.name for budget in charging)
        refused += len(mine) > 1 or any(
            not budget.current or spent[budget.name] > budget.allowed for budget in charging
        )
    return refused
