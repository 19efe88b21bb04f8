"""PodGroups of Kubernetes on an API server that serves them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.conftest import needs_groups
from tests.real.test_gangs import PROFILE, World, member
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client
from tests.rig.objects import delete
from tests.rig.operators import Operator, install, until

PLACE = "pod-groups"
NAME = "quartet"


def grouped(name: str) -> dict[str, Any]:
    """A pod of the group that fills one of our nodes."""
    pod = member(name)
    del pod["metadata"]["labels"]
    pod["metadata"]["namespace"] = PLACE
    pod["spec"]["nodeSelector"] = {"topology.kubernetes.io/zone": f"zone-{PLACE}"}
    pod["spec"]["schedulingGroup"] = {"podGroupName": NAME}
    return pod


def pod_group(least: int) -> dict[str, Any]:
    """The PodGroup."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": NAME, "namespace": PLACE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
    }


@pytest.fixture
def world(rig: ControlPlane) -> Iterator[World]:
    """The operator leads."""
    if isinstance(rig, Rig):
        needs_groups(rig)
    kubeconfig = install(rig)
    with contextlib.ExitStack() as stack:
        world = World(rig, stack.enter_context(contextlib.closing(Client(rig))), PLACE)
        objects = (PROFILE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
        world.apply(*objects)
        stack.callback(delete, rig, *objects)
        stack.callback(world.no_nodes)
        stack.enter_context(Operator(rig, kubeconfig, PLACE)).wait_logged("leading")
        yield world


def test_members_wait_for_their_group_and_for_each_other(world: World) -> None:
    """First for the PodGroup, then for one more member, until minCount is lowered."""
    world.nodes(*(f"{PLACE}-{i}" for i in range(3)))
    world.apply(*map(grouped, "abc"))
    world.said("a", f'waiting for pods\'s pod group "{NAME}" to appear in scheduling queue')
    world.apply(pod_group(4))
    world.said("a", "waiting for minCount pods from a gang to appear in scheduling queue")
    assert "3 of 4 members are here" in world.why("a")
    assert world.bound() == []
    world.apply(pod_group(3))
    until(lambda: world.bound() == ["a", "b", "c"], "all three", 15)
