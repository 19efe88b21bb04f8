"""StatefulSets on virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.controllers.client import is_active, is_terminating
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


def numbered(cluster: ControllerHarness) -> dict[int, dict[str, Any]]:
    """The pods by their number."""
    return {int(pod["metadata"]["name"][3:]): pod for pod in cluster.verbs.every(PODS)}


def scale(cluster: ControllerHarness, replicas: int) -> None:
    """Ask for so many."""
    cluster.change(SETS, "db", lambda body: body["spec"].update(replicas=replicas))


def spoil(cluster: ControllerHarness, number: int) -> None:
    """Let a pod serve no longer."""
    unready = [{"type": "Ready", "status": "False", "lastTransitionTime": "2030-01-01T00:00:00Z"}]
    cluster.change(
        PODS, f"db-{number}", lambda body: body["status"].update(conditions=unready), "status"
    )


def test_one_waits_for_the_one_before() -> None:
    """On the way up all before it serve; on the way down it is the highest, and alone on its
    way.
    """
    cluster = ControllerHarness()

    def look() -> None:
        pods = numbered(cluster)
        serving = [number for number, pod in pods.items() if conditions.holds(pod, "Ready")]
        going = [number for number, pod in pods.items() if is_terminating(pod)]
        assert list(pods) == list(range(5, 5 + len(pods)))
        assert set(pods) - set(serving) <= {max(pods, default=0)}
        assert going in ([], [max(pods, default=0)])

    cluster.watchers.append(look)
    a_set(cluster, 4, ordinals={"start": 5})
    for replicas in (4, 1, 3, 0):
        scale(cluster, replicas)
        cluster.run(10)
        assert [*numbered(cluster)] == [*range(5, 5 + replicas)]


def test_in_parallel_nobody_waits() -> None:
    """They come and go together."""
    cluster = ControllerHarness()
    a_set(cluster, 4, podManagementPolicy="Parallel")
    cluster.settle()
    assert len(numbered(cluster)) == 4
    cluster.run(10)
    spoil(cluster, 0)
    spoil(cluster, 3)
    scale(cluster, 1)
    cluster.settle()
    going = {number for number, pod in numbered(cluster).items() if is_terminating(pod)}
    assert going == {1, 2, 3}


@pytest.mark.parametrize(
    ("unready", "goes"), [([], {3}), ([3], {3}), ([2], {3}), ([2, 3], set()), ([1, 3], set())]
)
def test_who_does_not_serve_holds_up_the_way_down(unready: list[int], goes: set[int]) -> None:
    """But for the first of those."""
    cluster = ControllerHarness()
    a_set(cluster, 4)
    cluster.run(10)
    for number in unready:
        spoil(cluster, number)
    scale(cluster, 1)
    cluster.settle()
    assert {number for number, pod in numbered(cluster).items() if is_terminating(pod)} == goes


def test_nobody_goes_while_one_that_stays_does_not_serve() -> None:
    """Nor comes."""
    cluster = ControllerHarness()
    a_set(cluster, 3)
    cluster.run(10)
    spoil(cluster, 0)
    for replicas in (1, 5):
        scale(cluster, replicas)
        cluster.settle()
        assert [is_terminating(pod) for pod in numbered(cluster).values()] == [False] * 3


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
