"""`moorage status` and `moorage queue` on a cluster: what they find by themselves, of an operator
that leads and of one that is gone.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apps.outputs.reading import read_output
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until

PLACE = "asked-about"


def a_pod(name: str, cpu: str, gate: str = "") -> dict[str, Any]:
    """A pod of the profile here."""
    container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": cpu}}}
    gates = {"schedulingGates": [{"name": gate}]} if gate else {}
    where = {"kubernetes.io/hostname": "looked-at-1"}
    spec = {"schedulerName": PLACE, "containers": [container], "nodeSelector": where, **gates}
    metadata = {"name": name, "namespace": PLACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def operator(rig: ControlPlane) -> Iterator[Operator]:
    """It leads; one pod finds no node, and one is gated."""
    kubeconfig = install(rig)
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": PLACE},
        "spec": {"preset": "Default"},
    }
    pods = a_pod("large", "100"), a_pod("small", "1"), a_pod("gated", "1", "kueue.x-k8s.io/a")
    create(rig, profile, node("looked-at-1", "zone-a"), *pods)
    with Operator(rig, kubeconfig, "moorage-looking") as operator:
        operator.wait_logged("health and metrics are served")
        yield operator


def told(rig: ControlPlane, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and document."""
    command = [sys.executable, "-I", "-m", "moorage", *words, "-o", "json"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(rig.kubeconfig)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return done.returncode, read_output(done.stdout)


def mine(status: dict[str, Any]) -> dict[str, Any]:
    """The row of the profile here."""
    return next(one for one in status["profiles"] if one["name"] == PLACE)


def test_the_queue_of_the_leader(rig: ControlPlane, operator: Operator) -> None:
    """It is found by its Lease; the API server alone tells as much as it can."""

    def refused() -> dict[str, Any] | None:
        _, queue = told(rig, "queue", PLACE)
        return queue if queue["operator"] and queue["counts"]["unschedulable"] else None

    queue = until(refused, "the large pod to be refused", 60)
    large, gated = queue["pods"]
    assert (large["pod"], large["attempts"] > 0) == (f"{PLACE}/large", True)
    assert large["until"]
    assert "NodeAdd" in large["wakesOn"]
    assert (gated["pod"], gated["gate"]) == (f"{PLACE}/gated", "kueue.x-k8s.io/a")
    _, alone = told(rig, "queue", PLACE, "--server", "none")
    assert [one["pod"] for one in alone["pods"]] == [f"{PLACE}/large", f"{PLACE}/gated"]
    assert alone["pods"][0]["reasons"] == large["reasons"]
    assert alone["leftOut"]


def test_status_is_that_of_the_cluster(rig: ControlPlane, operator: Operator) -> None:
    """With the leader's rates; a bad edit is told, and its end."""

    def well() -> dict[str, Any] | None:
        _, status = told(rig, "status")
        ready = mine(status)["ready"] == "True" and status["operator"]
        return status if ready and status["replicas"] else None

    status = until(well, "a profile that is ready", 60)
    assert status["led"]
    assert mine(status)["podsPerSecond"] is not None
    assert [one["role"] for one in status["replicas"]] == ["Leader"]
    path = f"/apis/moorage.dev/v1alpha1/schedulerprofiles/{PLACE}"
    with contextlib.closing(Client(rig)) as client:
        client.merge(path, {"spec": {"weights": {"NodeResourcesFitt": 3}}})

    def refused() -> dict[str, Any] | None:
        code, found = told(rig, "status")
        return found if code == 1 and mine(found)["reason"] == "LastGood" else None

    (problem,) = (one for one in until(refused, "it", 60)["problems"] if one["profile"] == PLACE)
    assert 'did you mean "NodeResourcesFit"?' in problem["message"]
    with contextlib.closing(Client(rig)) as client:
        client.merge(path, {"spec": {"weights": {"NodeResourcesFitt": None}}})
    until(well, "the profile to be ready again", 60)
