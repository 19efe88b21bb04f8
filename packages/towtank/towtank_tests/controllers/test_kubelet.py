"""Nodes and pods as their stand-in reports them."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.controllers.kubelet import RUN_FOR
from towtank.controllers.manager import ControllerSettings
from towtank.model import conditions
from towtank.model.requests import DeleteOptions
from towtank_tests.controllers.harness import ControllerHarness

PODS, NODES = "pods", "nodes"


def a_pod(
    cluster: ControllerHarness,
    name: str = "p",
    *,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> None:
    """Create one."""
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}]
    cluster.create(PODS, name, metadata=metadata or {}, spec={"containers": containers, **spec})
    cluster.settle()


def test_a_node_becomes_ready_and_offers_what_it_has() -> None:
    """What it says itself stays; the taint of a new node goes."""
    cluster = ControllerHarness()
    taints = [
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
        {"key": "mine", "effect": "NoSchedule"},
    ]
    capacity = {"cpu": "8", "pods": "110"}
    cluster.create(
        NODES,
        "new",
        spec={"taints": taints},
        status={"capacity": capacity, "allocatable": {"cpu": "7"}},
    )
    cluster.create(
        NODES,
        "broken",
        status={"conditions": [{"type": "Ready", "status": "False", "reason": "Broken"}]},
    )
    cluster.settle()
    node = cluster.get(NODES, "new")
    assert conditions.holds(node, "Ready") and node["status"]["allocatable"] == {
        "cpu": "7",
        "pods": "110",
    }
    assert {each["type"] for each in node["status"]["addresses"]} == {"InternalIP", "Hostname"}
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["mine"]
    assert conditions.find(cluster.get(NODES, "broken"), "Ready")["reason"] == "Broken"
    cluster.change(
        NODES,
        "new",
        lambda body: body["status"]["capacity"].update({"example.com/gpu": "4"}),
        "status",
    )
    cluster.settle()
    assert cluster.get(NODES, "new")["status"]["allocatable"]["example.com/gpu"] == "4"


def test_a_bound_pod_runs_after_a_while() -> None:
    """And not before; the fields that kubectl and schedulers read."""
    cluster = ControllerHarness(ControllerSettings(start_after=5))
    cluster.create(NODES, "node-1")
    a_pod(
        cluster,
        initContainers=[
            {"name": "first", "image": "i"},
            {"name": "side", "image": "i", "restartPolicy": "Always"},
        ],
    )
    cluster.run(4.9)
    assert cluster.get(PODS, "p")["status"]["phase"] == "Pending"
    cluster.run(0.2)
    status = cluster.get(PODS, "p")["status"]
    assert status["phase"] == "Running"
    for type_ in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"):
        assert conditions.find({"status": status}, type_)["status"] == "True"
    (container,) = status["containerStatuses"]
    assert (
        container["ready"]
        and "running" in container["state"]
        and container["allocatedResources"] == {"cpu": "1"}
    )
    assert [next(iter(each["state"])) for each in status["initContainerStatuses"]] == [
        "terminated",
        "running",
    ]
    assert (
        status["hostIP"]
        == cluster.get(NODES, "node-1")["status"]["addresses"][0]["address"]
        != status["podIP"]
    )


def test_an_unbound_pod_waits() -> None:
    """There is nobody to run it."""
    cluster = ControllerHarness(binds=False)
    a_pod(cluster)
    cluster.run(100)
    assert cluster.get(PODS, "p")["status"] == {"phase": "Pending", "qosClass": "Burstable"}


@pytest.mark.parametrize(
    ("grace", "hook", "gone_after"),
    [(30, 0, 3), (2, 0, 2), (30, 5, 8), (6, 5, 6)],
    ids=["stop_after", "grace", "hook", "hook within grace"],
)
def test_a_deleted_pod_goes_after_a_while(grace: int, hook: int, gone_after: int) -> None:
    """At most its grace."""
    cluster = ControllerHarness(ControllerSettings(stop_after=3))
    sleep = {"lifecycle": {"preStop": {"sleep": {"seconds": hook}}}} if hook else {}
    a_pod(
        cluster,
        terminationGracePeriodSeconds=grace,
        containers=[{"name": "main", "image": "i", **sleep}],
    )
    cluster.run(2)
    cluster.delete(PODS, "p")
    cluster.run(gone_after - 0.1)
    assert cluster.names(PODS) == ["p"]
    cluster.run(0.2)
    assert cluster.names(PODS) == []


def test_a_later_pod_of_the_name_is_left_alone() -> None:
    """What was meant for one does not hit another."""
    cluster = ControllerHarness(ControllerSettings(stop_after=3, start_after=10))
    a_pod(cluster)
    cluster.delete(PODS, "p")
    cluster.run(1)
    cluster.verbs.delete(cluster.target(PODS, "p"), DeleteOptions(grace_seconds=0))
    a_pod(cluster)
    cluster.run(9.5)
    assert cluster.get(PODS, "p")["status"]["phase"] == "Pending"
    cluster.run(1)
    assert cluster.get(PODS, "p")["status"]["phase"] == "Running"


def test_a_pod_that_is_kept_has_ended_all_the_same() -> None:
    """A finalizer keeps the object, not its containers."""
    cluster = ControllerHarness()
    a_pod(cluster, metadata={"finalizers": ["example.com/kept"]})
    cluster.run(2)
    cluster.delete(PODS, "p")
    cluster.run(2)
    assert cluster.get(PODS, "p")["status"]["phase"] == "Succeeded"
    cluster.change(PODS, "p", lambda body: body["metadata"].update(finalizers=[]))
    cluster.run(1)
    assert cluster.names(PODS) == []


def test_a_pod_ends_after_the_time_that_it_says() -> None:
    """An annotation."""
    cluster = ControllerHarness()
    a_pod(cluster, metadata={"annotations": {RUN_FOR: "10s"}})
    cluster.run(10.5)
    assert cluster.get(PODS, "p")["status"]["phase"] == "Running"
    cluster.run(1)
    pod = cluster.get(PODS, "p")
    assert pod["status"]["phase"] == "Succeeded" and not conditions.holds(pod, "Ready")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_readiness_gates_are_waited_for() -> None:
    """Ready comes and goes with them."""
    cluster = ControllerHarness()
    a_pod(cluster, readinessGates=[{"conditionType": "example.com/open"}])
    cluster.run(2)
    assert conditions.find(cluster.get(PODS, "p"), "Ready")["reason"] == "ReadinessGatesNotReady"
    assert conditions.holds(cluster.get(PODS, "p"), "ContainersReady")
    for value in ("True", "False"):
        gate = {"type": "example.com/open", "status": value}

        def turn(body: dict[str, Any], gate: dict[str, str] = gate) -> None:
            others = [
                each for each in body["status"]["conditions"] if each["type"] != "example.com/open"
            ]
            body["status"]["conditions"] = [*others, gate]

        cluster.change(PODS, "p", turn, "status")
        cluster.settle()
        assert conditions.find(cluster.get(PODS, "p"), "Ready")["status"] == value


def test_pods_go_with_their_node() -> None:
    """All of them, and at once."""
    cluster = ControllerHarness()
    cluster.create(NODES, "node-1")
    for number in range(40):
        a_pod(cluster, f"p{number}")
    a_pod(cluster, "kept", metadata={"finalizers": ["example.com/kept"]})
    cluster.run(5)
    cluster.delete(NODES, "node-1")
    cluster.settle()
    assert cluster.names(PODS) == ["kept"]
