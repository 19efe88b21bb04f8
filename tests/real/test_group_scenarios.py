"""Groups of pods as clusters have them: on a real API server with kube-controller-manager, Jobs
that are gangs, and what the audit log says of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.real.test_gangs import World
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import apply, create
from tests.rig.operators import Operator, install, until
from tests.rig.pod_groups import (
    API,
    NAME,
    check_bindings,
    gang_of,
    job,
    member,
    node_of,
    pod,
    pod_group,
    pod_spec,
    received,
    removals,
)

pytestmark = pytest.mark.real_only
RACK = "example.com/rack"


class Gangs(World):
    """A namespace with nodes of its own, and what becomes of the gang in it."""

    rig: Rig

    def node(self, *names: str, **labels: str) -> None:
        """Nodes with room for one member each; applied, so that the audit log has their names."""
        apply(self.rig, *(node_of(self.place, f"{self.place}-{name}", **labels) for name in names))

    def groups(self) -> list[dict[str, Any]]:
        """The PodGroups."""
        found: list[dict[str, Any]] = self.client.get(
            f"/apis/{API}/namespaces/{self.place}/podgroups"
        )["items"]
        return found

    def initially(self, status: str, text: str = "") -> bool:
        """Whether PodGroupInitiallyScheduled of the one PodGroup is this, with that text."""
        return any(
            (one["type"], one["status"]) == ("PodGroupInitiallyScheduled", status)
            and text in one["message"]
            for group in self.groups()
            for one in group.get("status", {}).get("conditions", ())
        )

    def uids(self) -> set[str]:
        """UIDs of the members."""
        return {
            one["metadata"]["uid"]
            for one in self.pods().values()
            if "schedulingGroup" in one["spec"]
        }

    def on(self) -> list[str]:
        """The nodes of the members, without the namespace's name."""
        return sorted(
            one["spec"]["nodeName"].removeprefix(f"{self.place}-")
            for one in self.pods().values()
            if "schedulingGroup" in one["spec"] and "nodeName" in one["spec"]
        )

    def waits(self, text: str) -> None:
        """The gang was tried in vain, which its PodGroup says, and no member is bound."""
        until(
            lambda: self.initially("False", text), f"a PodGroup of {self.place} that says {text!r}"
        )
        assert self.on() == []

    def whole(self, least: int, *nodes: str) -> None:
        """At least so many are bound, to these nodes, and were when all of them fitted."""
        until(lambda: self.on() == sorted(nodes), f"{self.place} on {nodes}", 15)
        check_bindings(self.rig, self.place, self.uids(), least)
        until(lambda: self.initially("True"), f"a PodGroup of {self.place} that is scheduled", 5)


@pytest.fixture(scope="module")
def cluster(group_rig: Rig) -> Iterator[tuple[Rig, Client]]:
    """An operator leads."""
    operator = Operator(group_rig, install(group_rig), "moorage-groups")
    with contextlib.closing(Client(group_rig)) as client, operator:
        operator.wait_logged("leading")
        yield group_rig, client


@pytest.fixture
def place(cluster: tuple[Rig, Client]) -> Callable[[str], Gangs]:
    """Makes a namespace."""

    def made(name: str) -> Gangs:
        create(cluster[0], {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return Gangs(*cluster, name)

    return made


def test_a_job_says_that_it_is_a_gang(place: Callable[[str], Gangs]) -> None:
    """Its controller makes the PodGroup; with one node too few none of its pods is bound."""
    gang = place("one-job")
    gang.node("0", "1")
    create(gang.rig, job(gang.place, "trainer", 3, pod_spec(gang.place), scheduling=gang_of(3)))
    gang.waits("minCount (3)")
    gang.node("2")
    gang.whole(3, "0", "1", "2")


def test_three_jobs_are_one_gang(place: Callable[[str], Gangs]) -> None:
    """As a JobSet makes them: until the third is there the others wait."""
    gang = place("three-jobs")
    gang.node(*"01234")
    template = pod_spec(gang.place, schedulingGroup={"podGroupName": NAME})
    create(gang.rig, pod_group(gang.place, 5))
    create(
        gang.rig, *(job(gang.place, name, pods, template) for name, pods in (("a", 1), ("b", 2)))
    )
    until(
        lambda: sum("3 of 5 members are here" in gang.why(name) for name in gang.pods()) == 3,
        "three members that wait",
    )
    assert gang.on() == []
    create(gang.rig, job(gang.place, "c", 2, template))
    gang.whole(5, *"01234")


def test_a_gang_has_room_made(place: Callable[[str], Gangs]) -> None:
    """No more pods are preempted than it needs, and no member is bound before the last has gone."""
    gang = place("room-made")
    gang.node(*"012")
    create(gang.rig, *(pod(gang.place, f"low-{i}") for i in range(3)))
    until(lambda: len(gang.bound()) == 3, "three pods of low priority")
    create(gang.rig, pod_group(gang.place, 2, priorityClassName="high"))
    create(gang.rig, *(member(gang.place, name, priorityClassName="high") for name in "ab"))
    until(lambda: len(gang.on()) == 2, "the gang", 15)
    gang.whole(2, *gang.on())
    assert len(removals(gang.rig, gang.place)) == 2
    assert len(gang.bound()) == 3


def test_a_lower_minimum_lets_it_go(place: Callable[[str], Gangs]) -> None:
    """The Job of four asks for three only: then three are bound, and not before."""
    gang = place("lower-minimum")
    gang.node(*"012")
    trainer = job(gang.place, "trainer", 4, pod_spec(gang.place), scheduling=gang_of(4))
    create(gang.rig, trainer)
    gang.waits("minCount (4)")
    path = f"/apis/batch/v1/namespaces/{gang.place}/jobs/trainer"
    gang.client.merge(path, {"spec": {"scheduling": gang_of(3)}})
    gang.whole(3, *"012")
    lowered = received(
        gang.rig,
        lambda event: (
            event.object_ref is not None
            and (event.object_ref.resource, event.object_ref.subresource) == ("podgroups", "")
            and event.object_ref.namespace == gang.place
            and event.verb in ("patch", "update")
        ),
    )
    first = check_bindings(gang.rig, gang.place, gang.uids(), 3)[0]
    assert lowered[0].request_received_timestamp < first.received


def test_a_gang_stays_in_one_rack(place: Callable[[str], Gangs]) -> None:
    """Four nodes are free, but two in each rack: it waits for one that has three."""
    gang = place("one-rack")
    gang.node("0", "1", **{RACK: "a"})
    gang.node("2", "3", **{RACK: "b"})
    scheduling = gang_of(3) | {"schedulingConstraints": {"topology": [{"key": RACK}]}}
    create(gang.rig, job(gang.place, "trainer", 3, pod_spec(gang.place), scheduling=scheduling))
    gang.waits("")
    gang.node("4", **{RACK: "b"})
    gang.whole(3, "2", "3", "4")


def test_a_gang_shares_a_claim(place: Callable[[str], Gangs]) -> None:
    """The claim is made once of a template, reserved for the PodGroup, and all go to its device."""
    gang = place("one-claim")
    gang.node(*"01")
    device = {"exactly": {"deviceClassName": "gpu"}, "name": "gpu"}
    expression = 'device.driver == "gpu.example.com"'
    resource = {"apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}}
    claim = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
    create(
        gang.rig,
        {
            **resource,
            "kind": "DeviceClass",
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        },
        {
            **resource,
            "kind": "ResourceSlice",
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": f"{gang.place}-1",
                "pool": {"name": "one", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0"}],
            },
        },
        {
            **resource,
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "gpu", "namespace": gang.place},
            "spec": {"spec": {"devices": {"requests": [device]}}},
        },
        pod_group(gang.place, 3, resourceClaims=[claim]),
        *(member(gang.place, name, cpu="1", resourceClaims=[claim]) for name in "abc"),
    )
    gang.whole(3, "1", "1", "1")
    (made,) = gang.client.get(f"/apis/resource.k8s.io/v1/namespaces/{gang.place}/resourceclaims")[
        "items"
    ]
    assert [(one["resource"], one["name"]) for one in made["status"]["reservedFor"]] == [
        ("podgroups", NAME)
    ]
