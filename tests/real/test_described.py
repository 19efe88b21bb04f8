"""What `kubectl describe pod` says of pods that are held: why, by one event, whoever leads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.objects import apply, create
from tests.rig.operators import Operator, install, until

ELECTION = {
    "leaderElection": {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
}
GATES = {"schedulingGates": [{"name": "example.com/quota"}]}
HELD: dict[str, tuple[str, dict[str, Any], str]] = {
    "suspended": (
        "resting",
        {},
        "SchedulerProfile 'resting' is suspended: its pods wait until spec.suspend is false",
    ),
    "paused": (
        "paused",
        {},
        (
            "SchedulerProfile 'paused' is paused and no revision has decided before: its pods "
            "wait until spec.paused is false"
        ),
    ),
    "gated": ("plain", GATES, "waiting for scheduling gates: [example.com/quota]"),
    "member": ("plain", {}, 'waiting for pod group "default/crew": 1 of 3 members are here'),
    "misspelt": (
        "restng",
        {},
        "no SchedulerProfile has the schedulerName 'restng'; did you mean 'resting'?",
    ),
}
"""By pod: its schedulerName, what else its spec has, and the text of its event."""
GANG = {
    "labels": {"scheduling.x-k8s.io/pod-group": "crew"},
    "annotations": {"moorage.dev/min-member": "3"},
}


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile."""
    kind = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def pod(name: str, scheduler: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A pod that waits."""
    container = {"name": "main", "image": "registry.example/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **(GANG if name == "member" else {})},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


@pytest.fixture(scope="module")
def described(new_rig: Callable[[], ControlPlane]) -> Iterator[ControlPlane]:
    """A control plane on which one replica told the pods, died, and another one took over."""
    with new_rig() as rig, contextlib.ExitStack() as stack:
        kubeconfig = install(rig)
        profiles = profile("resting", suspend=True), profile("paused", paused=True)
        apply(rig, *profiles, profile("plain"))
        first = stack.enter_context(Operator(rig, kubeconfig, "first", ELECTION))
        first.wait_logged("leading")
        create(rig, *(pod(name, who, spec) for name, (who, spec, _) in HELD.items()))
        with contextlib.closing(Client(rig)) as client:
            until(lambda: len(events(client)) >= len(HELD), "an event for each pod", 15)
            first.kill()
            second = stack.enter_context(Operator(rig, kubeconfig, "second", ELECTION))
            second.wait_logged("leading")
            create(rig, pod("late", "restng", {}))  # what is told last
            until(lambda: len(events(client)) > len(HELD), "an event by the new leader", 20)
        yield rig


def events(client: Client) -> list[dict[str, Any]]:
    """All events on pods."""
    items = client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return [item for item in items if item["regarding"]["kind"] == "Pod"]


@pytest.mark.parametrize("name", HELD)
def test_it_says_why_once(described: ControlPlane, name: str) -> None:
    """Though a second leader has found it waiting, too."""
    shown = described.kubectl("describe", "pod", name)
    _, _, table = shown.partition("Events:")
    (line,) = (line for line in table.splitlines()[3:] if line.strip())
    assert " ".join(HELD[name][2].split()) in " ".join(line.split())
    kind, reason = line.split()[:2]
    assert (kind, reason) == (
        ("Warning", "UnknownScheduler") if name == "misspelt" else ("Normal", "Waiting")
    )
