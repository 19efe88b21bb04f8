"""When an installation works, and what is said where it does not."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from typing import Any

import pytest

from moorage.apps.install.readiness import (
    MAX_PODS,
    NotRunning,
    Sight,
    faults,
    has_ended,
    running,
    suspects,
)
from moorage.apps.reach.installations import Installation, Replica
from moorage.ports.errors import Retryable
from tests.fakes.clocks import EPOCH, EagerClock


def pod(name: str, ready: str = "True", **more: Any) -> dict[str, Any]:
    """A pod of the installation."""
    condition = {"type": "Ready", "status": ready, "reason": "NotYet", "message": "it starts"}
    status = {"conditions": [condition], "phase": "Running", **more}
    return {"metadata": {"name": name, "namespace": "ns"}, "status": status}


def deployment(**status: Any) -> dict[str, Any]:
    """Of two replicas; it is rolled out."""
    seen = {"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, **status}
    metadata = {"name": "m", "namespace": "ns", "generation": 3}
    return {"metadata": metadata, "spec": {"replicas": 2}, "status": seen}


LED = Installation("ns", "m", leader="a_1", renewed=EPOCH, seconds=15.0)
WORKS = Sight(deployment(), (pod("a"), pod("b")), LED, EPOCH)
LATER = EPOCH + datetime.timedelta(seconds=60)


@pytest.mark.parametrize(
    ("changed", "waits"),
    [
        ({}, ""),
        ({"pods": (pod("a"),)}, ""),
        (
            {"deployment": None},
            "2 of 0 pods Ready; the Deployment is being rolled out",
        ),
        (
            {"deployment": deployment(observedGeneration=2)},
            "2 of 2 pods Ready; the Deployment is being rolled out",
        ),
        (
            {"deployment": deployment(replicas=3)},
            "2 of 2 pods Ready; the Deployment is being rolled out",
        ),
        ({"pods": ()}, "0 of 2 pods Ready"),
        ({"pods": (pod("a", "False"),)}, "0 of 2 pods Ready"),
        ({"pods": (pod("b"),)}, "1 of 2 pods Ready, none of them leads"),
        ({"now": LATER}, "2 of 2 pods Ready, none of them leads"),
        (
            {"installation": Installation("ns", "m")},
            "2 of 2 pods Ready, none of them leads",
        ),
    ],
)
def test_what_it_waits_for(changed: dict[str, Any], waits: str) -> None:
    """One replica that leads and answers is enough."""
    assert dataclasses.replace(WORKS, **changed).waits_for == waits


def test_a_pod_that_goes_does_not_count() -> None:
    """It answers no more before long."""
    going = pod("a")
    going["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert dataclasses.replace(WORKS, pods=(going, pod("b"))).leader == ""


def test_the_leader_is_known_by_its_own_lease() -> None:
    """Where that says a pod."""
    led = dataclasses.replace(LED, replicas=(Replica("a_1", {}, None, None),))
    assert dataclasses.replace(WORKS, installation=led).leader == "a"


def wait(*sights: Sight | Retryable, seconds: float = 5.0) -> tuple[Sight, list[str], EagerClock]:
    """What comes of these sights, one a second; the last one stays."""
    clock, left = EagerClock(), [*sights]
    said: list[str] = []

    async def look() -> Sight:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, Retryable):
            raise found
        return found

    sight = asyncio.run(running(look, clock, seconds, said.append))
    return sight, said, clock


def test_waiting() -> None:
    """What it waits for is told each time; an API server that is away for a while is no failure."""
    starts = dataclasses.replace(WORKS, pods=(pod("a", "False"),))
    sight, said, clock = wait(starts, Retryable("no answer"), WORKS)
    assert sight is WORKS
    assert said == ["0 of 2 pods Ready", "no answer"]
    assert clock.slept == [1.0, 1.0]


def test_in_vain() -> None:
    """It ends at the deadline, with what was seen last."""
    starts = dataclasses.replace(WORKS, pods=())
    with pytest.raises(NotRunning, match="after 5 s: 0 of 2 pods Ready") as error:
        wait(starts)
    assert error.value.sight is starts
    with pytest.raises(NotRunning, match="after 5 s: no answer") as blind:
        wait(Retryable("no answer"))
    assert blind.value.sight is None


PULLING = [{"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]
CRASHED = [{"restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
ENDED = [{"restartCount": 0, "state": {"terminated": {"reason": "Error", "exitCode": 2}}}]
UNPLACED = {
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    ]
}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (pod("p", "False", containerStatuses=PULLING), "Pod p: ErrImagePull: not found"),
        (pod("p", "False", containerStatuses=CRASHED), "Pod p: CrashLoopBackOff"),
        (pod("p", "False", containerStatuses=ENDED), "Pod p: Error: exit code 2"),
        (pod("p", "False", **UNPLACED), "Pod p: Unschedulable: no room"),
        (pod("p", "False"), "Pod p: NotYet: it starts"),
        (pod("p", conditions=[]), "Pod p: Running"),
    ],
)
def test_what_is_wrong_with_a_pod(broken: dict[str, Any], said: str) -> None:
    """In the words of whoever says it, with the end of its log."""
    sight = dataclasses.replace(WORKS, pods=(broken,))
    assert [*faults(sight, {"p": "first\nlast"})] == [
        said,
        "  first",
        "  last",
        "Lease ns/m: a_1 holds it, which is none of its Ready pods; what else runs by this name?",
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"deployment": None, "installation": Installation("ns", "m")},
            "Deployment ns/m is not there; who removed it?",
        ),
        ({"installation": Installation("ns", "m")}, "Lease ns/m: nobody holds it"),
        (
            {"now": LATER},
            f"Lease ns/m: a_1 holds it, and has not renewed it since {EPOCH}",
        ),
        (
            {
                "deployment": deployment(
                    conditions=[
                        {"type": "Progressing", "status": "True", "message": "fine"},
                        {"type": "ReplicaFailure", "status": "True", "message": "forbidden"},
                    ]
                ),
                "pods": (),
            },
            "Deployment ns/m: ReplicaFailure True: forbidden",
        ),
    ],
)
def test_what_else_is_wrong(changed: dict[str, Any], said: str) -> None:
    """The Deployment's conditions, and who has the Lease."""
    lines = [*faults(dataclasses.replace(WORKS, **changed), {})]
    assert said in lines
    assert "fine" not in "".join(lines)


def test_few_pods_are_told_of() -> None:
    """The newest that are not Ready; where all are and none leads, these."""
    broken = [pod(f"p{i}", "False") for i in range(5)]
    for i, one in enumerate(broken):
        one["metadata"]["creationTimestamp"] = f"2026-01-0{i + 1}T00:00:00Z"
    sight = dataclasses.replace(WORKS, pods=(pod("a"), *broken))
    names = [one["metadata"]["name"] for one in suspects(sight)]
    assert names == ["p4", "p3", "p2"]
    assert len(names) == MAX_PODS
    assert suspects(WORKS) == []
    assert len(suspects(dataclasses.replace(WORKS, now=LATER))) == 2


def test_whose_log_is_of_interest() -> None:
    """That of the container before, where it is to start again."""
    assert has_ended(pod("p", containerStatuses=CRASHED))
    assert not has_ended(pod("p", containerStatuses=PULLING))
    assert not has_ended(pod("p"))
