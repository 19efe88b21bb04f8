"""The operator with a real extender, over HTTPS with a CA from a Secret, on a real API server and
with the operator's own rights.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.rig import ControlPlane
from tests.rig.certificates import Authority
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.extenders import Extender, binding, letting
from tests.rig.objects import create, delete
from tests.rig.operators import NAMESPACE, Operator, install, until

PLACE = "extended"
PODS = f"/api/v1/namespaces/{PLACE}/pods"
NODES = ("extended-1", "extended-2", "extended-3")


class World:
    """An operator, an extender, and three nodes with a namespace of their own."""

    def __init__(
        self, rig: ControlPlane, client: Client, extender: Extender, operator: Operator
    ) -> None:
        self.rig, self.client, self.extender, self.operator = rig, client, extender, operator

    def create(self, name: str, cpu: str = "1", rank: str = "", profile: str = "asking") -> None:
        """A pod of a profile, for the nodes of this test."""
        selector = {"topology.kubernetes.io/zone": f"zone-{PLACE}"}
        container = {
            "name": "main",
            "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": cpu}},
        }
        spec = {"schedulerName": profile, "nodeSelector": selector, "containers": [container]}
        if rank:
            spec["priorityClassName"] = rank
        create(
            self.rig,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": PLACE},
                "spec": spec,
            },
        )

    def pod(self, name: str) -> dict[str, Any]:
        """As the API server has it."""
        found: dict[str, Any] = self.client.get(f"{PODS}/{name}")
        return found

    def node(self, name: str, seconds: float = 10) -> str:
        """Where a pod goes."""
        return str(
            until(lambda: self.pod(name)["spec"].get("nodeName"), f"a node for {name}", seconds)
        )

    def message(self, name: str) -> str:
        """What a pod that waits is told."""
        conditions = self.pod(name)["status"].get("conditions", ())
        return next(
            (one.get("message", "") for one in conditions if one["type"] == "PodScheduled"), ""
        )


def a_profile(name: str, url: str, **extender: Any) -> dict[str, Any]:
    """A profile that asks the extender."""
    given = {"urlPrefix": url, "tlsConfig": {"secretRef": {"name": "extender"}}, **extender}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {"extenders": [given]},
    }


@pytest.fixture(scope="module")
def world(rig: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """With the profiles asking (nodes in full), binding (by the extender) and elsewhere (at a host
    that is not allowed).
    """
    authority = Authority(tmp_path_factory.mktemp("extender"))
    kubeconfig = install(rig)
    with contextlib.ExitStack() as stack:
        extender = stack.enter_context(contextlib.closing(Extender(authority.server("extender"))))
        client = stack.enter_context(contextlib.closing(Client(rig)))
        ca = base64.b64encode(authority.file.read_bytes()).decode()
        secret = {"metadata": {"name": "extender", "namespace": NAMESPACE}, "data": {"ca.crt": ca}}
        create(
            rig,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}},
            {"apiVersion": "v1", "kind": "Secret", **secret},
        )
        for name, value in (("extended-low", 10), ("extended-high", 1000)):
            create(
                rig,
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                },
            )
        create(rig, *(node(name, PLACE) for name in NODES))
        verbs = {
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "weight": 10,
        }
        profiles = (
            a_profile("asking", extender.url, **verbs),
            a_profile(
                "binding", extender.url, bindVerb="bind", nodeCacheCapable=True, filterVerb="filter"
            ),
            a_profile("elsewhere", "https://169.254.169.254", filterVerb="filter"),
        )
        create(rig, *profiles)
        stack.callback(delete, rig, *profiles)
        config = {"extenders": {"allowedHosts": ["127.0.0.1"]}}
        operator = stack.enter_context(Operator(rig, kubeconfig, "moorage-extended", config))
        operator.wait_logged("leading")
        yield World(rig, client, extender, operator)


@pytest.fixture(autouse=True)
def kind(world: World) -> None:
    """An extender that lets everything through and prefers nothing."""
    world.extender.says = {
        "filter": letting(*NODES),
        "prioritize": lambda _: [],
        "preempt": lambda _: {"NodeNameToMetaVictims": {}},
    }


def test_a_pod_goes_where_the_extender_says(world: World) -> None:
    """It is sent the pod and the nodes in full, as the API server has them, and its scores are
    added.
    """
    world.extender.says["filter"] = letting(*NODES[:2])
    world.extender.says["prioritize"] = lambda _: [{"Host": NODES[1], "Score": 10}]
    world.create("full")
    assert world.node("full") == NODES[1]
    (question,) = world.extender.about("full", "filter")
    assert {item["metadata"]["name"] for item in question["Nodes"]["items"]} == set(NODES)
    assert all(
        item["status"]["capacity"] and item["metadata"]["creationTimestamp"]
        for item in question["Nodes"]["items"]
    )
    assert question["Pod"]["spec"]["containers"][0]["terminationMessagePath"]
    assert "managedFields" not in question["Pod"]["metadata"]
    (question,) = world.extender.about("full", "prioritize")
    assert {item["metadata"]["name"] for item in question["Nodes"]["items"]} == set(NODES[:2])


def test_a_refused_pod_is_bound_soon_after_the_extender_changes_its_mind(world: World) -> None:
    """With the next event, not after five minutes."""
    world.extender.says["filter"] = letting()
    world.create("refused")
    until(lambda: "3 not today" in world.message("refused"), "the refusal")
    world.extender.says["filter"] = letting(NODES[2])
    world.client.merge(
        f"/api/v1/nodes/{NODES[0]}", {"metadata": {"labels": {"anything": "changed"}}}
    )
    assert world.node("refused", 8) == NODES[2]


def test_an_extender_that_fails_is_told_and_asked_again(world: World) -> None:
    """After a backoff, without any event."""
    world.extender.says["filter"] = lambda _: {"Error": "out of order"}
    world.create("failed")
    until(lambda: world.message("failed") == "out of order", "the failure")
    world.extender.says["filter"] = letting(*NODES)
    assert world.node("failed", 8)


def test_the_extender_binds(world: World) -> None:
    """The operator creates no binding, and tells of it as of its own."""
    world.extender.says["bind"] = binding(world.rig)
    world.extender.says["filter"] = letting(NODES[0])
    world.create("bound", profile="binding")
    assert world.node("bound") == NODES[0]
    assert {
        name
        for question in world.extender.about("bound", "filter")
        for name in question["NodeNames"]
    } == set(NODES)
    events = f"/apis/events.k8s.io/v1/namespaces/{PLACE}/events"

    def told() -> bool:
        items = world.client.get(events)["items"]
        return any(
            item["regarding"]["name"] == "bound" and item["reason"] == "Scheduled" for item in items
        )

    until(told, "the event Scheduled")


def test_the_extender_chooses_victims(world: World) -> None:
    """Among the pods of a node, other ones than the operator would."""
    for i, name in enumerate(NODES):
        world.extender.says["filter"] = letting(name)
        for j in range(2):
            world.create(f"low-{i}-{j}", cpu="3", rank="extended-low")
            assert world.node(f"low-{i}-{j}") == name
    uid = world.pod("low-1-1")["metadata"]["uid"]
    world.extender.says["filter"] = letting(*NODES)
    world.extender.says["preempt"] = lambda _: {
        "NodeNameToMetaVictims": {NODES[1]: {"Pods": [{"UID": uid}], "NumPDBViolations": 0}}
    }
    world.create("high", cpu="4", rank="extended-high")
    until(lambda: "deletionTimestamp" in world.pod("low-1-1")["metadata"], "the victim's end", 10)
    assert (
        until(lambda: world.pod("high")["status"].get("nominatedNodeName"), "the nomination", 5)
        == NODES[1]
    )
    others = [f"low-{i}-{j}" for i in range(3) for j in range(2) if (i, j) != (1, 1)]
    assert not [name for name in others if "deletionTimestamp" in world.pod(name)["metadata"]]
    (question,) = world.extender.about("high", "preempt")[:1]
    assert set(question["NodeNameToVictims"]) == set(NODES)
    assert all(
        pod["spec"]["schedulerName"]
        for victims in question["NodeNameToVictims"].values()
        for pod in victims["Pods"]
    )


def test_a_profile_with_another_host_is_not_accepted(world: World) -> None:
    """Its status says what would have to be set, and nothing is sent there."""
    path = "/apis/moorage.dev/v1alpha1/schedulerprofiles/elsewhere"

    def accepted() -> dict[str, Any] | None:
        conditions = world.client.get(path).get("status", {}).get("conditions", ())
        return next((one for one in conditions if one["type"] == "Accepted"), None)

    found = until(accepted, "the condition")
    assert found["status"] == "False"
    assert "extenders: {allowedHosts: [169.254.169.254]}" in found["message"]


def test_the_rights_suffice(world: World) -> None:
    """The operator may read the Secret by the role that is shipped, and its profiles say so."""
    path = "/apis/moorage.dev/v1alpha1/schedulerprofiles/asking"

    def permitted() -> str | None:
        conditions = world.client.get(path).get("status", {}).get("conditions", ())
        return next((one["status"] for one in conditions if one["type"] == "Ready"), None)

    assert until(lambda: permitted() == "True", "Ready", 30)
