"""StatefulSets on virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.controllers.client import is_active
from towtank.model import conditions
from towtank_tests.controllers.harness import ControllerHarness, template

SETS, PODS, CLAIMS = "statefulsets.apps", "pods", "persistentvolumeclaims"


def a_set(cluster: ControllerHarness, replicas: int, **more: Any) -> None:
    """Create one."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "serviceName": "web",
        "template": template(),
    }
    cluster.create(SETS, "db", spec={**spec, **more})


def rolled_out(cluster: ControllerHarness) -> bool:
    """What `kubectl rollout status` waits for."""
    found = cluster.get(SETS, "db")
    status, wanted = found["status"], found["spec"]["replicas"]
    observed = status["observedGeneration"] >= found["metadata"]["generation"]
    return bool(
        observed
        and status.get("readyReplicas", 0) >= wanted
        and status["updateRevision"] == status["currentRevision"]
    )


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_pods_have_numbers(policy: str) -> None:
    """One is made when the one before is ready, or all at once; they go from the highest on."""
    cluster = ControllerHarness()
    a_set(cluster, 3, podManagementPolicy=policy)
    cluster.settle()
    assert len(cluster.names(PODS)) == (1 if policy == "OrderedReady" else 3)
    cluster.run(10)
    assert cluster.names(PODS) == ["db-0", "db-1", "db-2"] and rolled_out(cluster)
    pod = cluster.get(PODS, "db-1")
    assert (
        pod["spec"]["hostname"] == "db-1"
        and pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    )
    cluster.delete(PODS, "db-0")
    cluster.run(10)
    assert cluster.get(PODS, "db-0")["metadata"]["uid"] != pod["metadata"]["uid"] and rolled_out(
        cluster
    )
    cluster.change(SETS, "db", lambda body: body["spec"].update(replicas=1))
    cluster.run(10)
    assert cluster.names(PODS) == ["db-0"]
    cluster.delete(SETS, "db")
    cluster.run(10)
    assert cluster.names(PODS) == []


def test_a_new_template_comes_one_by_one_down_to_the_partition() -> None:
    """At no step more than one is missing."""
    cluster = ControllerHarness()
    a_set(cluster, 3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    cluster.run(10)
    least = []
    cluster.watchers.append(
        lambda: least.append(
            sum(
                is_active(pod) and conditions.holds(pod, "Ready")
                for pod in cluster.verbs.every(PODS)
            )
        )
    )

    def images() -> list[str]:
        return [pod["spec"]["containers"][0]["image"] for pod in cluster.verbs.every(PODS)]

    cluster.change(SETS, "db", lambda body: body["spec"].update(template=template("app:2")))
    cluster.run(20)
    assert images() == ["app:1", "app:2", "app:2"] and not rolled_out(cluster)
    cluster.change(
        SETS, "db", lambda body: body["spec"]["updateStrategy"]["rollingUpdate"].update(partition=0)
    )
    cluster.run(20)
    assert images() == ["app:2"] * 3 and rolled_out(cluster)
    assert min(least) == 2


def test_each_has_claims_of_its_own() -> None:
    """Which stay."""
    cluster = ControllerHarness()
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    a_set(cluster, 2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": spec}])
    cluster.run(10)
    assert cluster.names(CLAIMS) == ["data-db-0", "data-db-1"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}} in cluster.get(
        PODS, "db-1"
    )["spec"]["volumes"]
    cluster.change(SETS, "db", lambda body: body["spec"].update(replicas=1))
    cluster.run(10)
    assert cluster.names(CLAIMS) == ["data-db-0", "data-db-1"]
