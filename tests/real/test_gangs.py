"""Gangs on a real API server, with the PodGroup CRD of scheduler-plugins (the part of it that is
read).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.rig import ControlPlane, RigError
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.objects import apply, create, delete
from tests.rig.operators import Operator, install, until

GROUP = "scheduling.x-k8s.io"
VOLCANO = "scheduling.volcano.sh"
LABEL = f"{GROUP}/pod-group"
PLACE = "gangs"
NUMBER = {"type": "integer", "format": "int32"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"minMember": NUMBER, "scheduleTimeoutSeconds": NUMBER},
        }
    },
}


def crd(group: str, version: str) -> dict[str, Any]:
    """That of a PodGroup."""
    approved = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"podgroups.{group}",
            "annotations": {"api-approved.kubernetes.io": approved},
        },
        "spec": {
            "group": group,
            "names": {"kind": "PodGroup", "plural": "podgroups"},
            "scope": "Namespaced",
            "versions": [{**served, "schema": {"openAPIV3Schema": SCHEMA}}],
        },
    }


PROFILE = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": PLACE},
    "spec": {},
}


class World:
    """An operator on the shared API server, and a namespace of its own."""

    def __init__(self, rig: ControlPlane, client: Client, place: str = PLACE) -> None:
        self.rig = rig
        self.client = client
        self.place = place

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects."""
        apply(self.rig, *objects)

    def nodes(self, *names: str) -> None:
        """Nodes with room for one member each."""
        create(self.rig, *(node(name, self.place) for name in names))

    def no_nodes(self) -> None:
        """Delete those that were made."""
        for i in range(3):
            with contextlib.suppress(RigError):
                self.client.delete(f"/api/v1/nodes/{self.place}-{i}")

    def pods(self) -> dict[str, dict[str, Any]]:
        """By name."""
        return {
            item["metadata"]["name"]: item
            for item in self.client.get(f"/api/v1/namespaces/{self.place}/pods")["items"]
        }

    def bound(self) -> list[str]:
        """The pods that have a node."""
        return sorted(name for name, item in self.pods().items() if item["spec"].get("nodeName"))

    def why(self, name: str) -> str:
        """What PodScheduled says of a pod that waits."""
        conditions = self.pods()[name]["status"].get("conditions", [])
        return next(
            (
                str(c["message"])
                for c in conditions
                if c["type"] == "PodScheduled" and c["status"] == "False"
            ),
            "",
        )

    def said(self, name: str, text: str) -> str:
        """Wait until a pod's condition says this; returns the whole message."""
        return str(
            until(lambda: text in self.why(name) and self.why(name), f"{text!r} on {name}", 15)
        )


def member(name: str, *, cpu: str = "5", **annotations: str) -> dict[str, Any]:
    """A pod of the group, which fills one of our nodes unless told otherwise."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": cpu}},
    }
    selector = {"topology.kubernetes.io/zone": f"zone-{PLACE}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": PLACE,
            "labels": {LABEL: "trio"},
            "annotations": annotations,
        },
        "spec": {"schedulerName": PLACE, "nodeSelector": selector, "containers": [container]},
    }


def pod_group(least: int) -> dict[str, Any]:
    """The PodGroup."""
    meta = {"name": "trio", "namespace": PLACE}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": {"minMember": least},
    }


@pytest.fixture
def world(rig: ControlPlane) -> Iterator[World]:
    """The operator leads; the CRDs are there, of scheduler-plugins and of Volcano."""
    kubeconfig = install(rig)
    with contextlib.ExitStack() as stack:
        world = World(rig, stack.enter_context(contextlib.closing(Client(rig))))
        objects = (
            crd(GROUP, "v1alpha1"),
            crd(VOLCANO, "v1beta1"),
            PROFILE,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}},
        )
        world.apply(*objects)
        rig.establish(f"podgroups.{GROUP}", f"podgroups.{VOLCANO}")
        stack.callback(delete, rig, *objects)
        stack.callback(world.no_nodes)
        stack.enter_context(Operator(rig, kubeconfig, PLACE)).wait_logged("leading")
        yield world


def test_a_gang_is_bound_whole_or_not_at_all(world: World) -> None:
    """It says what to create, how many are here and what they lack; then there is a node more, and
    all three are bound. So is a group of Volcano's, which its pods name in an annotation.
    """
    world.nodes("gangs-0", "gangs-1")
    world.apply(member("a"), member("b"))
    assert world.said("b", f"create the PodGroup {PLACE}/trio").startswith(
        f'pod group "{PLACE}/trio": nothing says how many'
    )
    world.apply(pod_group(3), member("c"))
    why = world.said("a", "fit")
    assert "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining" in why
    assert "; 'c' does not fit: 0/" in why
    assert "Insufficient cpu" in why
    assert world.bound() == []
    world.nodes("gangs-2")
    until(lambda: world.bound() == ["a", "b", "c"], "all three", 15)
    assert {item["spec"]["nodeName"] for item in world.pods().values()} == {
        "gangs-0",
        "gangs-1",
        "gangs-2",
    }
    pair = [member(name, cpu="10m") for name in ("d", "e")]
    for one in pair:
        one["metadata"] |= {"labels": {}, "annotations": {"scheduling.k8s.io/group-name": "duo"}}
    world.apply(*pair)
    world.said("d", f"there is no PodGroup {PLACE}/duo ({VOLCANO}/v1beta1)")
    meta = {"name": "duo", "namespace": PLACE}
    group = {"apiVersion": f"{VOLCANO}/v1beta1", "kind": "PodGroup", "metadata": meta}
    world.apply({**group, "spec": {"minMember": 2}})
    until(lambda: {"d", "e"} <= set(world.bound()), "both", 15)
