"""Disruption budgets: whom they protect, as kube-scheduler's preemption sees it and as the API
server does when asked to evict.

The two differ in details: kube-scheduler leaves out a budget that selects everything, and charges
a pod's budgets one after another, up to the first that has nothing left; the API server evicts no
pod that has several, and applies none to a pod that does not run (yet, or any more).
Source: kube-scheduler DefaultPreemption (v1.37), kube-apiserver's pods/eviction (v1.36).
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
    return [_is_protected(pod, row, by_namespace, spent) for pod, row in pods]


def violating_units(
    units: Iterable[tuple[Iterable[Pod], int]], by_namespace: BudgetsByNamespace
) -> list[int]:
    """How many pods of each of these units, each with the row that it is tried for, a budget
    protects: the pods before them have used it up.
    """
    spent: Counter[tuple[int, str]] = Counter()
    return [
        sum(_is_protected(pod, row, by_namespace, spent) for pod in pods) for pods, row in units
    ]


def _is_protected(
    pod: Pod, row: int, by_namespace: BudgetsByNamespace, spent: Counter[tuple[int, str]]
) -> bool:
    """Whether one of its budgets has nothing left on this row; none behind it is charged."""
    for budget in by_namespace.get(pod.metadata.namespace, ()) if pod.metadata.labels else ():
        if budget.selector.conditions and budget.counts(pod):
            spent[row, budget.name] += 1
            if spent[row, budget.name] > budget.allowed:
                return True
    return False


class Evictions:
    """Evictions that the API server is asked for, one after another: whom it lets go."""

    def __init__(self, by_namespace: BudgetsByNamespace) -> None:
        self._by_namespace = by_namespace
        self._spent: Counter[str] = Counter()

    def refusal(self, pod: Pod) -> str | None:
        """The budget that does not let the pod go; None: it goes, and its budgets are charged."""
        if pod.status.phase in _IDLE or pod.metadata.deletion_timestamp is not None:
            return None
        mine = self._budgets_of(pod)
        if len(mine) > 1:
            return mine[0].name
        charging = _charging(mine, pod)
        for budget in charging:
            if not budget.current or self._spent[budget.name] >= budget.allowed:
                return budget.name
        self._spent.update(budget.name for budget in charging)
        return None

    def replaced(self, pod: Pod) -> None:
        """Another pod is as ready as this one was that went: what was charged for it is not any
        more.
        """
        if pod.status.phase not in _IDLE:
            mine = self._budgets_of(pod)
            self._spent.subtract(budget.name for budget in _charging(mine, pod))

    def _budgets_of(self, pod: Pod) -> list[ReadableBudget]:
        there = self._by_namespace.get(pod.metadata.namespace, ())
        return [budget for budget in there if budget.selector.matches(pod.metadata.labels)]


def _charging(budgets: Iterable[ReadableBudget], pod: Pod) -> list[ReadableBudget]:
    """Those of a pod's budgets that its eviction is charged to."""
    return [budget for budget in budgets if is_ready(pod) or not budget.spares_unready]


def unevictable_pods(pods: Iterable[Pod], by_namespace: BudgetsByNamespace) -> int:
    """How many of these pods the API server would not evict, if it was asked for one after
    another.
    """
    evictions = Evictions(by_namespace)
    return sum(evictions.refusal(pod) is not None for pod in pods)
