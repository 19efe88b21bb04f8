"""A right that is taken away while the operator runs, and given back, by the ClusterRole that it
has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.test_operator import condition, pod, profile
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until, wait_for
from tests.rig.rights import REFUSED

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/moorage-deciding"
CLAIMS = ("patch", "persistentvolumeclaims")
BINDING = ("create", "pods/binding")
LEAN = {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}
# Less than the minute after which the rights are asked for anyway.
AT_ONCE = 20
NOTHING_MISSING = ("True", "Permitted", "")


class World:
    """The operator, profiles ``volumes`` with VolumeBinding and ``lean`` without, and its role."""

    def __init__(self, rig: Rig, client: Client) -> None:
        self.rig = rig
        self.client = client
        self.rules: list[dict[str, Any]] = client.get(ROLE)["rules"]

    def take(self, verb: str, resource: str) -> None:
        """Take this right out of the role."""
        kept = []
        for rule in self.rules:
            others = [each for each in rule["resources"] if each != resource]
            verbs = [each for each in rule["verbs"] if each != verb]
            kept += [{**rule, "resources": others}] if others else []
            if others != rule["resources"] and verbs:
                kept.append({**rule, "resources": [resource], "verbs": verbs})
        self.client.merge(ROLE, {"rules": kept})

    def give_back(self) -> None:
        """The role as it is shipped."""
        self.client.merge(ROLE, {"rules": self.rules})

    def permitted(self, name: str) -> tuple[str, str, str]:
        """Status, reason and message."""
        found = self.client.get(f"/apis/moorage.dev/v1alpha1/schedulerprofiles/{name}")
        return condition(found, "Permitted")

    def placed(self, *names: str) -> bool:
        """Whether all of these have a node."""
        items = self.client.get("/api/v1/namespaces/default/pods")["items"]
        has = {item["metadata"]["name"] for item in items if item["spec"].get("nodeName")}
        return has.issuperset(names)


@pytest.fixture(scope="module")
def world(assets: Path) -> Iterator[World]:
    """A replica leads that is to be refused something, with two nodes' room."""
    with Rig(assets, groups=False) as rig, contextlib.closing(Client(rig)) as client:
        kubeconfig = install(rig)
        create(rig, node("one", "a"), profile("volumes"), profile("lean", plugins=LEAN))
        with Operator(rig, kubeconfig, f"{REFUSED}now-and-then"):
            for name in ("volumes", "lean"):
                wait_for(rig, "Ready", f"sprof/{name}", 60)
            yield World(rig, client)


def test_only_the_profile_that_needs_it_is_held(world: World) -> None:
    """By the first request that is refused; given back, its pods go on."""
    meta = {"name": "later", "namespace": "default"}
    later = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta}
    provisioned = {"provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}
    room = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
    wants = pod("wants", "volumes", "10m")
    wants["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "later"}}]
    world.take(*CLAIMS)
    create(world.rig, {**later, "metadata": {"name": "later"}, **provisioned})
    create(world.rig, {**claim, "spec": {**room, "storageClassName": "later"}}, wants)
    missing = ("False", "RBACMissing", " ".join(CLAIMS))
    until(lambda: world.permitted("volumes") == missing, "the profile to be held", AT_ONCE)
    create(world.rig, pod("held", "volumes", "10m"), pod("free", "lean", "10m"))
    until(lambda: world.placed("free"), "the other profile's pod", AT_ONCE)
    assert world.permitted("lean") == NOTHING_MISSING
    assert not world.placed("held")
    world.give_back()
    until(lambda: world.placed("held"), "the pod that was held", AT_ONCE)
    until(lambda: world.permitted("volumes") == NOTHING_MISSING, "the word of it", AT_ONCE)


def test_without_the_right_to_bind_all_are_held(world: World) -> None:
    """The pod that was refused goes on by itself, too."""
    world.take(*BINDING)
    create(world.rig, pod("refused", "lean", "10m"))
    missing = ("False", "RBACMissing", " ".join(BINDING))
    for name in ("lean", "volumes"):
        until(lambda name=name: world.permitted(name) == missing, f"{name} to be held", AT_ONCE)
    assert not world.placed("refused")
    world.give_back()
    until(lambda: world.placed("refused"), "the pod that was refused", AT_ONCE)
