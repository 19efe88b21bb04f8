"""`moorage explain` on a cluster: from the API server alone, and from the operator with what its
queue knows; both say the same of the same pod.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apps.outputs.reading import read_output
from tests.rig import ControlPlane
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until

PLACE = "explained"
POD = f"{PLACE}/large"


def a_pod(name: str, cpu: str) -> dict[str, Any]:
    """A pod of the profile here."""
    container = {"name": "c", "image": "a", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": PLACE},
        "spec": {
            "schedulerName": PLACE,
            "containers": [container],
            "nodeSelector": {"kubernetes.io/hostname": "explained-1"},
        },
    }


@pytest.fixture(scope="module")
def operator(rig: ControlPlane) -> Iterator[Operator]:
    """It leads, and a pod is too large for the only node that it may go to."""
    kubeconfig = install(rig)
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": PLACE},
        "spec": {"preset": "Default"},
    }
    create(rig, profile, node("explained-1", "zone-a"), a_pod("large", "100"), a_pod("small", "1"))
    with Operator(rig, kubeconfig, "moorage-explaining") as operator:
        operator.wait_logged("health and metrics are served")
        yield operator


def explained(rig: ControlPlane, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and document."""
    command = [sys.executable, "-I", "-m", "moorage", "explain", "pod", *words, "-o", "json"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(rig.kubeconfig)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return done.returncode, read_output(done.stdout)


def is_bound(operator: Operator) -> bool:
    """Whether the small pod takes its room."""
    status, text = operator.ask(f"/explain?pod={PLACE}/small")
    return status == 200 and json.loads(text)["verdict"] == "Bound"


def test_both_sources_say_the_same(rig: ControlPlane, operator: Operator) -> None:
    """But for the queue, of which the API server knows nothing."""
    path = f"/explain?pod={POD}"

    def tried() -> dict[str, Any] | None:
        status, text = operator.ask(path)
        document = json.loads(text) if status == 200 else {}
        return document if (document.get("wait") or {}).get("attempts") else None

    until(lambda: is_bound(operator), "the small pod on its node", 60)
    direct = until(tried, "an attempt", 60)
    server = f"https://127.0.0.1:{operator.secure_port}"
    status, asked = explained(rig, POD, "--server", server, "--insecure-skip-tls-verify")
    assert (status, asked["verdict"]) == (1, "Pending")
    assert asked["wait"]["queue"] in ("unschedulable", "backoff")
    status, alone = explained(rig, POD, "--server", "none")
    assert (status, alone["wait"]) == (1, None)
    status, found = explained(rig, POD)
    assert (status, found["source"]) == (1, asked["source"])
    for part in ("refusals", "changes", "revision", "asks", "nodes"):
        assert direct[part] == asked[part] == alone[part], part
    change = alone["changes"][0]
    assert change["changes"][0]["kind"] == "request"
    assert change["node"] == "explained-1"


def test_a_bound_pod(rig: ControlPlane, operator: Operator) -> None:
    """It is on the only node there is for it."""
    until(lambda: is_bound(operator), "the small pod on its node", 60)
    status, document = explained(rig, f"{PLACE}/small")
    assert (status, document["best"]) == (0, ["explained-1"])


def test_the_page(operator: Operator) -> None:
    """The operator's own state as documents, for who may see all pods and nodes."""
    for path in ("/ui/", "/ui/api/overview", "/ui/api/queue", f"/ui/api/pod?name={POD}"):
        assert operator.ask(path, certified=False)[0] == 401
        assert operator.ask(path)[0] == 200
    nodes = json.loads(operator.ask("/ui/api/nodes")[1])
    assert "explained-1" in nodes["names"]
    assert nodes["source"].startswith("the operator, ")


def test_who_may_not(operator: Operator) -> None:
    """Nobody without credentials; and what is asked for has to be said."""
    assert operator.ask(f"/explain?pod={POD}", certified=False)[0] == 401
    assert operator.ask("/explain")[0] == 400
    assert operator.ask(f"/explain?pod={PLACE}/none") == (404, f"there is no pod {PLACE}/none\n")
