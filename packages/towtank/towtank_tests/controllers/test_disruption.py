"""PodDisruptionBudgets' status."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.model import conditions
from towtank.model.times import timestamp
from towtank_tests.controllers.harness import ControllerHarness, deployment

BUDGETS = "poddisruptionbudgets.policy"
WEB = {"matchLabels": {"app": "web"}}


def counted(cluster: ControllerHarness) -> tuple[int, ...]:
    """Expected, desired, healthy, allowed."""
    status = cluster.get(BUDGETS, "b")["status"]
    return tuple(
        status[name]
        for name in ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"selector": WEB, "minAvailable": 2}, (4, 2, 4, 2)),
        ({"selector": WEB, "minAvailable": "51%"}, (4, 3, 4, 1)),
        ({"selector": WEB, "maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"selector": WEB, "maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"selector": {}, "minAvailable": 5}, (4, 5, 4, 0)),
        ({"minAvailable": 1}, (0, 1, 0, 0)),
        (
            {
                "selector": {
                    "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]
                },
                "minAvailable": 0,
            },
            (0, 0, 0, 0),
        ),
        (
            {
                "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                "maxUnavailable": "100%",
            },
            (4, 0, 4, 4),
        ),
    ],
)
def test_numbers(spec: dict[str, Any], expected: tuple[int, ...]) -> None:
    """By number or share, of pods or of what their controllers want."""
    cluster = ControllerHarness()
    cluster.create(BUDGETS, "b", spec=spec)
    cluster.create("deployments.apps", "web", spec=deployment(4))
    cluster.run(3)
    assert counted(cluster) == expected
    reason = "SufficientPods" if expected[-1] else "InsufficientPods"
    assert conditions.find(cluster.get(BUDGETS, "b"), "DisruptionAllowed")["reason"] == reason


def test_it_follows_pods_and_scale() -> None:
    """Pods that go do not count, and what they should be does."""
    cluster = ControllerHarness()
    cluster.create(BUDGETS, "b", spec={"selector": WEB, "maxUnavailable": 1})
    cluster.create("deployments.apps", "web", spec=deployment(3))
    cluster.settle()
    cluster.run(0.1)
    assert counted(cluster) == (3, 2, 0, 0)
    cluster.run(3)
    cluster.delete("pods", cluster.names("pods")[0])
    cluster.run(0.1)
    assert counted(cluster) == (3, 2, 2, 0)
    cluster.run(3)
    assert counted(cluster) == (3, 2, 3, 1)
    cluster.change("deployments.apps", "web", lambda body: body["spec"].update(replicas=5))
    cluster.run(3)
    assert counted(cluster) == (5, 4, 5, 1)


def test_a_granted_eviction_counts_for_a_while() -> None:
    """Until the pod goes, or does not."""
    cluster = ControllerHarness()
    cluster.create(BUDGETS, "b", spec={"selector": WEB, "minAvailable": 1})
    cluster.create("deployments.apps", "web", spec=deployment(2))
    cluster.run(3)
    pod = cluster.names("pods")[0]
    cluster.change(
        BUDGETS,
        "b",
        lambda body: body["status"].update(
            disruptedPods={pod: timestamp(cluster.now), "no": "2030-01-01T00:00:00Z"}
        ),
        "status",
    )
    cluster.run(0.1)
    assert counted(cluster) == (2, 1, 1, 0)
    assert list(cluster.get(BUDGETS, "b")["status"]["disruptedPods"]) == [pod]
    cluster.run(121)
    assert counted(cluster) == (2, 1, 2, 1)
    assert "disruptedPods" not in cluster.get(BUDGETS, "b")["status"]


def test_many_pods_are_counted_together() -> None:
    """Not at each of their changes: that would cost their square."""
    cluster, counts = ControllerHarness(), list[int]()
    cluster.create(BUDGETS, "b", spec={"selector": WEB, "maxUnavailable": 1})
    cluster.store.subscribe(
        BUDGETS, lambda change: counts.append(change.now.body["status"]["currentHealthy"])
    )
    cluster.create("deployments.apps", "web", spec=deployment(200))
    cluster.run(3)
    assert counts[-1] == 200 and len(counts) < 10
