"""What an API server does not have is told, and holds up nobody else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.controlplanes import minor_version
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until, wait_for

PLACE: Final = "served"
PROFILE: Final = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": PLACE},
    "spec": {},
}
GATE: Final = "--feature-gates=GenericWorkload=true"

pytestmark = pytest.mark.real_only


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A pod."""
    container = {"name": "main", "image": "registry.example/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": PLACE, "containers": [container], **spec},
    }


@pytest.fixture(scope="module")
def cluster(assets: Path) -> Iterator[Rig]:
    """Pods may name a group, and PodGroups of v1beta1 are not served. The operator leads. An API
    server of 1.36 with this gate does not start without its own PodGroups.
    """
    has_groups = minor_version(assets) >= (1, 37)
    with Rig(assets, [GATE] if has_groups else [], groups=False) as rig:
        kubeconfig = install(rig)
        create(rig, node(f"{PLACE}-1", PLACE), PROFILE)
        with Operator(rig, kubeconfig, PLACE):
            wait_for(rig, "Ready", f"sprof/{PLACE}")
            yield rig


def test_kinds_that_are_not_there_are_named(cluster: Rig) -> None:
    """By the profile whose plugins read them, which decides all the same."""
    create(cluster, pod("plain"))
    wait_for(cluster, "PodScheduled", "pod/plain")
    message = "jsonpath={.status.conditions[?(@.type=='Active')].message}"
    said = cluster.kubectl("get", "sprof", PLACE, "-o", message)
    absent = "; the API server has no devicetaintrules of resource.k8s.io/v1"
    older = minor_version(cluster.assets) < (1, 37)
    assert said.endswith(f"decides{absent if older else ''}")


@pytest.mark.since("1.37", "spec.schedulingGroup of pods without PodGroups that are served")
def test_a_member_of_a_group_says_what_is_missing(cluster: Rig) -> None:
    """It waits; others are placed."""
    create(cluster, pod("member", schedulingGroup={"podGroupName": "group"}), pod("other"))
    wait_for(cluster, "PodScheduled", "pod/other")
    with contextlib.closing(Client(cluster)) as client:

        def said() -> str:
            found = client.get("/api/v1/namespaces/default/pods/member")["status"]
            return "".join(one.get("message", "") for one in found.get("conditions", ()))

        text = "the API server does not serve PodGroups of scheduling.k8s.io/v1beta1"
        until(lambda: text in said(), "its condition")
