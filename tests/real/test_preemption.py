"""Preemption on a real API server: what victims and pods show, with budgets and without, and what
ends a nomination.

No kubelets and no controllers run: pods are said to be running, and budgets to allow so many
disruptions, by the tests themselves; a pod with a grace stays terminating until a test lets it die.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.adapters.system_clock import SystemClock
from moorage.ports.errors import Conflict, EvictionBlocked, NotFound
from moorage.ports.kube import PodRef
from moorage.ports.leadership import Fence
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until

PLACE = "preemption"
PODS = f"/api/v1/namespaces/{PLACE}/pods"
BUDGETS = f"/apis/policy/v1/namespaces/{PLACE}/poddisruptionbudgets"
USUAL, CAREFUL = "usual", "careful"
FINALIZER = "example.com/held"


def profile(name: str, policy: str) -> dict[str, Any]:
    """A profile with this policy."""
    spec = {"pluginConfig": [{"name": "DefaultPreemption", "args": {"disruptionPolicy": policy}}]}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def priority_class(name: str, value: int) -> dict[str, Any]:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def a_pod(
    name: str, zone: str, rank: str, scheduler: str = USUAL, grace: int = 30, **metadata: Any
) -> dict[str, Any]:
    """A pod that fills the node of this zone."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "8"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": PLACE, "labels": {"app": zone}, **metadata},
        "spec": {
            "schedulerName": scheduler,
            "priorityClassName": rank,
            "terminationGracePeriodSeconds": grace,
            "nodeSelector": {"topology.kubernetes.io/zone": f"zone-{PLACE}-{zone}"},
            "containers": [container],
        },
    }


class World:
    """An operator on the shared API server, and a namespace of its own."""

    def __init__(self, rig: ControlPlane, client: Client) -> None:
        self.rig = rig
        self.client = client

    def nodes(self, zone: str, *names: str) -> None:
        """Nodes that nobody else's pods go to."""
        create(self.rig, *(node(name, f"{PLACE}-{zone}") for name in names))

    def running(self, *bodies: dict[str, Any]) -> None:
        """These pods are bound by the operator, and run."""
        create(self.rig, *bodies)
        for body in bodies:
            name = body["metadata"]["name"]
            until(lambda name=name: self.node(name), f"a node for {name}", 15)
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            path, how = f"{PODS}/{name}/status", "application/strategic-merge-patch+json"
            self.client.request("PATCH", path, {"status": status}, how)

    def pods(self) -> dict[str, dict[str, Any]]:
        """By name."""
        return {item["metadata"]["name"]: item for item in self.client.get(PODS)["items"]}

    def node(self, name: str) -> str:
        """Where a pod is."""
        return str(self.pods()[name]["spec"].get("nodeName", ""))

    def nominated(self, name: str) -> str:
        """What a pod's status says."""
        return str(self.pods()[name]["status"].get("nominatedNodeName", ""))

    def condition(self, name: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a pod's condition."""
        for each in self.pods()[name]["status"].get("conditions", ()):
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    def going(self, name: str) -> bool:
        """Whether it is terminating."""
        return "deletionTimestamp" in self.pods()[name]["metadata"]

    def notes(self, name: str, reason: str) -> list[dict[str, Any]]:
        """Events on a pod."""
        items = self.client.get(f"/apis/events.k8s.io/v1/namespaces/{PLACE}/events")["items"]
        return [
            item for item in items if item["regarding"]["name"] == name and item["reason"] == reason
        ]

    def budget(self, zone: str, allowed: int) -> None:
        """A budget for the pods of a zone lets so many go."""
        with contextlib.suppress(Exception):
            spec = {"selector": {"matchLabels": {"app": zone}}, "minAvailable": 1}
            self.client.post(
                BUDGETS,
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": zone},
                    "spec": spec,
                },
            )
        status = {
            "disruptionsAllowed": allowed,
            "observedGeneration": 1,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        }
        self.client.merge(f"{BUDGETS}/{zone}/status", {"status": status})

    def die(self, name: str) -> None:
        """A pod that was told to go is gone."""
        self.client.delete(f"{PODS}/{name}")


@pytest.fixture(scope="module")
def kubeconfig(rig: ControlPlane) -> Path:
    """With the operator's rights."""
    return install(rig)


@pytest.fixture(scope="module")
def world(rig: ControlPlane, kubeconfig: Path) -> Iterator[World]:
    """With a profile of each policy."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(contextlib.closing(Client(rig)))
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}})
        create(rig, priority_class("low", 10), priority_class("high", 1000))
        create(rig, profile(USUAL, "BestEffort"), profile(CAREFUL, "RespectPDB"))
        operator = stack.enter_context(Operator(rig, kubeconfig, "moorage-preempting"))
        operator.wait_logged("leading")
        yield World(rig, client)
        client.delete(PODS)
        for name in (USUAL, CAREFUL):
            client.delete(f"/apis/moorage.dev/v1alpha1/schedulerprofiles/{name}")


def test_texts_and_fields_are_kube_schedulers(world: World) -> None:
    """The victim's condition and event, the pod's nomination and message, and the place in the end;
    a budget does not stop it.
    """
    world.nodes("texts", "texts-0")
    world.running(a_pod("texts-low", "texts", "low"))
    world.budget("texts", 0)
    create(world.rig, a_pod("texts-high", "texts", "high"))
    until(lambda: world.going("texts-low"), "a victim", 15)
    reason, message = (
        "PreemptionByScheduler",
        "usual: preempting to accommodate a higher priority pod",
    )
    assert world.condition("texts-low", "DisruptionTarget") == ("True", reason, message)
    until(lambda: world.nominated("texts-high") == "texts-0", "a nomination", 5)
    uid = world.pods()["texts-high"]["metadata"]["uid"]
    (event,) = until(lambda: world.notes("texts-low", "Preempted"), "an event", 10)
    assert (event["note"], event["action"], event["type"]) == (
        f"Preempted by pod {uid} on node texts-0",
        "Preempting",
        "Normal",
    )
    assert (event["related"]["name"], event["reportingController"]) == ("texts-high", USUAL)
    assert "Insufficient cpu" in world.condition("texts-high", "PodScheduled")[2]
    world.die("texts-low")
    until(lambda: world.node("texts-high") == "texts-0", "the place", 15)


def test_a_victim_without_grace_is_gone_at_once(world: World) -> None:
    """And the pod has its place."""
    world.nodes("grace", "grace-0")
    world.running(a_pod("grace-low", "grace", "low", grace=0))
    create(world.rig, a_pod("grace-high", "grace", "high"))
    until(lambda: world.node("grace-high") == "grace-0", "the place", 15)
    assert "grace-low" not in world.pods()


def test_a_budget_is_respected(world: World) -> None:
    """Nobody goes while it allows nobody; once it does the pod is evicted, and the budget
    charged.
    """
    world.nodes("kept", "kept-0")
    world.running(a_pod("kept-low", "kept", "low"))
    world.budget("kept", 0)
    create(world.rig, a_pod("kept-high", "kept", "high", CAREFUL))
    said = "1 Preemption would violate a disruption budget"
    until(lambda: said in world.condition("kept-high", "PodScheduled")[2], "a reason", 15)
    assert (world.going("kept-low"), world.nominated("kept-high")) == (False, "")
    world.budget("kept", 1)
    until(lambda: world.going("kept-low"), "a victim", 15)
    message = "careful: preempting to accommodate a higher priority pod"
    until(
        lambda: (
            world.condition("kept-low", "DisruptionTarget")
            == ("True", "PreemptionByScheduler", message)
        ),
        "for whom",
        5,
    )
    assert world.client.get(f"{BUDGETS}/kept")["status"]["disruptionsAllowed"] == 0
    assert len(until(lambda: world.notes("kept-low", "Preempted"), "an event", 10)) == 1
    world.die("kept-low")
    until(lambda: world.node("kept-high") == "kept-0", "the place", 15)


def test_the_api_server_has_the_last_word(world: World) -> None:
    """Two pods go for one budget that lets one pod go: whoever comes late is told so, and not said
    to have a place.
    """
    world.nodes("left", "left-0")
    world.nodes("right", "right-0")
    world.running(
        *(a_pod(f"{zone}-low", zone, "low", labels={"app": "both"}) for zone in ("left", "right"))
    )
    world.budget("both", 1)
    create(world.rig, *(a_pod(f"{zone}-high", zone, "high", CAREFUL) for zone in ("left", "right")))
    # nominated may be both, until then
    until(lambda: world.going("left-low") or world.going("right-low"), "a victim", 15)
    first, other = ("left", "right") if world.going("left-low") else ("right", "left")
    until(lambda: world.nominated(f"{first}-high"), "a nomination", 5)
    until(
        lambda: "disruption budget" in world.condition(f"{other}-high", "PodScheduled")[2],
        "a reason",
        15,
    )
    assert (world.going(f"{other}-low"), world.nominated(f"{other}-high")) == (False, "")
    assert world.condition(f"{other}-low", "DisruptionTarget") == ("", "", "")
    assert world.notes(f"{other}-low", "Preempted") == []


def test_what_an_eviction_is_answered(world: World, kubeconfig: Path) -> None:
    """A budget's no is told from all others; a namesake is not evicted."""
    world.nodes("asked", "asked-0")
    world.running(a_pod("asked-low", "asked", "low"))
    world.budget("asked", 0)
    pod = PodRef(PLACE, "asked-low", world.pods()["asked-low"]["metadata"]["uid"])

    async def scenario() -> None:
        clock = SystemClock()
        fence = Fence(clock.boottime)
        fence.extend(clock.boottime() + 60)
        session = await KubeSession.open(
            KubeSource(str(kubeconfig)), "moorage/test (preemption)", clock
        )
        try:
            writes = HttpKubeWriter(session, fence, clock, (PLACE, "moorage"))
            with pytest.raises(
                EvictionBlocked,
                match="The disruption budget asked needs 1 healthy pods and has 1 currently",
            ):
                await writes.evict_pod(pod)
            with pytest.raises(NotFound):
                await writes.evict_pod(dataclasses.replace(pod, name="asked-nobody"))
            world.budget("asked", 1)
            with pytest.raises(Conflict):
                await writes.evict_pod(
                    dataclasses.replace(pod, uid="00000000-0000-0000-0000-000000000000")
                )
            world.budget("asked", 1)
            await writes.evict_pod(pod)
        finally:
            await session.close()

    asyncio.run(scenario())
    assert world.going("asked-low")


def test_a_node_that_is_deleted_ends_the_promise(world: World) -> None:
    """With a victim there that is held by a finalizer."""
    world.nodes("gone", "gone-0")
    world.running(a_pod("gone-low", "gone", "low", finalizers=[FINALIZER]))
    create(world.rig, a_pod("gone-high", "gone", "high"))
    until(lambda: world.nominated("gone-high") == "gone-0", "a nomination", 15)
    until(lambda: world.going("gone-low"), "a victim", 5)
    world.client.delete("/api/v1/nodes/gone-0")
    until(lambda: not world.nominated("gone-high"), "an end of the promise", 10)
    world.client.merge(f"{PODS}/gone-low", {"metadata": {"finalizers": None}})
    world.nodes("gone", "gone-1")
    until(lambda: world.node("gone-high") == "gone-1", "a place", 15)


def test_what_others_nominate_is_kept_free(world: World) -> None:
    """A pending pod that somebody nominates to a node keeps lower pods out there; it is looked at
    again at once.
    """
    world.nodes("others", "others-0")
    world.running(a_pod("others-peer", "others", "high"))
    create(world.rig, a_pod("others-high", "others", "high"))
    until(
        lambda: "Insufficient cpu" in world.condition("others-high", "PodScheduled")[2],
        "a reason",
        15,
    )
    world.client.merge(f"{PODS}/others-high/status", {"status": {"nominatedNodeName": "others-0"}})
    until(lambda: not world.nominated("others-high"), "a look at it: nobody may go there", 15)
    world.die("others-peer")
    until(lambda: world.node("others-high") == "others-0", "the place", 15)
