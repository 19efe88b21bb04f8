"""Disruption budgets: which pods the API server would not evict, by the rules of its
pods/eviction.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.objects.pods import Pod, PodCondition, PodStatus
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.disruption_budgets import (
    budgets,
    unevictable_pods,
    violating_pods,
)
from tests.builders import make_pod

WEB = {"matchLabels": {"app": "web"}}


def a_budget(
    name: str, allowed: int, selector: dict[str, Any] | None, *, healthy: int = 1, **more: Any
) -> PodDisruptionBudget:
    """A budget whose status is about generation 1; two should be healthy."""
    metadata = {
        "name": name,
        "namespace": more.get("namespace", "default"),
        "generation": more.get("generation", 0),
    }
    status = {
        "disruptionsAllowed": allowed,
        "observedGeneration": 1,
        "currentHealthy": healthy,
        "desiredHealthy": 2,
    }
    spec = {"selector": selector, "unhealthyPodEvictionPolicy": more.get("policy")}
    return msgspec.convert(
        {"metadata": metadata, "spec": spec, "status": status}, PodDisruptionBudget
    )


def a_pod(
    name: str,
    phase: str = "Running",
    *,
    going: bool = False,
    labels: dict[str, str] | None = None,
    ready: bool = True,
) -> Pod:
    """A pod of app web."""
    pod = make_pod(name)
    own = {"app": "web"} if labels is None else labels
    metadata = msgspec.structs.replace(
        pod.metadata, labels=own, deletion_timestamp="2026-01-01T00:00:00Z" if going else None
    )
    status = PodStatus(phase=phase, conditions=(PodCondition("Ready", str(ready)),))
    return msgspec.structs.replace(pod, status=status, metadata=metadata)


ONE, TWO, UNREADY = a_pod("one"), a_pod("two"), a_pod("unready", ready=False)


@pytest.mark.parametrize(
    ("pods", "present", "refused"),
    [
        pytest.param([ONE, TWO], [], 0, id="no budget"),
        pytest.param([ONE, TWO], [a_budget("b", 2, WEB)], 0, id="enough"),
        pytest.param([ONE, TWO], [a_budget("b", 1, WEB)], 1, id="the second one is too much"),
        pytest.param([ONE, TWO], [a_budget("b", -1, WEB)], 2, id="less than none"),
        pytest.param(
            [ONE], [a_budget("b", 0, WEB, namespace="other")], 0, id="of another namespace"
        ),
        pytest.param(
            [a_pod("one", labels={"app": "db"})], [a_budget("b", 0, WEB)], 0, id="of others"
        ),
        pytest.param(
            [a_pod("one", labels={})], [a_budget("b", 0, {})], 1, id="of all, labels or not"
        ),
        pytest.param([ONE], [a_budget("b", 0, None)], 0, id="of none"),
        pytest.param(
            [ONE],
            [a_budget("b", 0, {"matchExpressions": [{"key": "a", "operator": "Sideways"}]})],
            0,
            id="of nobody knows whom",
        ),
        pytest.param(
            [ONE],
            [a_budget("b", 9, WEB), a_budget("c", 9, WEB)],
            1,
            id="several of one pod are not supported",
        ),
        pytest.param(
            [ONE], [a_budget("b", 9, WEB, generation=2)], 1, id="its status is about an older spec"
        ),
        *(
            pytest.param([a_pod("one", phase)], [a_budget("b", 0, WEB)], refused, id=phase)
            for phase, refused in {
                "Pending": 0,
                "Running": 1,
                "Succeeded": 0,
                "Failed": 0,
                "Unknown": 1,
            }.items()
        ),
        pytest.param(
            [UNREADY], [a_budget("b", 0, WEB)], 1, id="an unready one where too few are ready"
        ),
        pytest.param(
            [UNREADY],
            [a_budget("b", 0, WEB, healthy=2)],
            0,
            id="an unready one where enough are ready",
        ),
        pytest.param(
            [UNREADY],
            [a_budget("b", 0, WEB, policy="AlwaysAllow")],
            0,
            id="an unready one that may always go",
        ),
        pytest.param(
            [ONE],
            [a_budget("b", 0, WEB, policy="AlwaysAllow", healthy=2)],
            1,
            id="a ready one may not",
        ),
        pytest.param(
            [UNREADY, TWO],
            [a_budget("b", 1, WEB, healthy=2)],
            0,
            id="an unready one costs nothing then",
        ),
        pytest.param([a_pod("one", going=True)], [a_budget("b", 0, WEB)], 0, id="it goes already"),
    ],
)
def test_who_is_not_evicted(
    pods: list[Pod], present: list[PodDisruptionBudget], refused: int
) -> None:
    """One after another, each charged to its budget."""
    store = Store()
    for budget in present:
        store.put(budget)
    assert unevictable_pods(pods, budgets(store)) == refused


def test_a_pod_is_charged_up_to_the_first_budget_with_nothing_left() -> None:
    """What stands behind that one stays for the pods that come later."""
    store = Store()
    both = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    for budget in (a_budget("a", 0, WEB), a_budget("b", 1, both)):
        store.put(budget)
    pods = [(ONE, 0), (a_pod("other", labels={"app": "db"}), 0), (ONE, 1)]
    assert violating_pods(pods, budgets(store)) == [True, False, True]
