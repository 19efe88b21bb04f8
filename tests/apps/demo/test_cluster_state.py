"""What the demo's table is made of."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

from moorage.apps.demo import cluster_state
from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, NodeUse, ProfileRow

REFUSED = 'no plugin has this name; did you mean "NodeResourcesFit"?'


def profile(status: dict[str, Any]) -> ProfileRow:
    """A profile with a status."""
    return cluster_state.profile(
        {"metadata": {"name": "binpack", "generation": 2}, "status": status}
    )


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    """A condition."""
    return {"type": kind, "status": status, "message": message}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ProfileRow("binpack", 2, "", False, "not looked at yet", 0, 0)),
        (
            {
                "activeRevision": "a1",
                "conditions": [condition("Ready", "True", "it decides")],
                "queue": {"active": 1, "backoff": 2, "inFlight": 3, "unschedulable": 4, "gated": 5},
            },
            ProfileRow("binpack", 2, "a1", True, "", 6, 4, 5),
        ),
        (
            {
                "activeRevision": "a1",
                "conditions": [
                    condition("Ready", "False", "see Accepted"),
                    condition("Accepted", "False", REFUSED),
                ],
            },
            ProfileRow("binpack", 2, "a1", False, REFUSED, 0, 0),
        ),
    ],
    ids=["new", "ready", "refused"],
)
def test_profile(status: dict[str, Any], expected: ProfileRow) -> None:
    """The condition that says why is told rather than the roll-up."""
    assert profile(status) == expected


def pod(node: str, phase: str = "Running", cpu: str = "500m") -> dict[str, Any]:
    """A pod with two containers, of which one asks for nothing."""
    containers = [{"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}, {}]
    return {
        "metadata": {"namespace": "demo", "name": "p"},
        "spec": {"nodeName": node, "schedulerName": "x", "containers": containers},
        "status": {"phase": phase},
    }


def node(name: str, **room: str) -> dict[str, Any]:
    """A node in a zone of its name's first letter."""
    return {
        "metadata": {"name": name, "labels": {cluster_state.ZONE: name[0]}},
        "status": {"allocatable": room},
    }


def test_fills() -> None:
    """Finished pods and those without a node take no room; a node that has none to give is not
    full.
    """
    pods = [pod("a1"), pod("a1", cpu="1.5"), pod("a1", "Succeeded"), pod(""), pod("gone")]
    nodes = [node("a1", cpu="4", memory="8Gi"), node("b1", memory="8Gi")]
    a1, b1 = cluster_state.node_uses(nodes, pods)
    assert a1 == NodeUse("a1", "a", 0.5, 0.25, 2, (4 * 10**9, 8 * 2**30 * 10**9))
    assert b1 == NodeUse("b1", "b", 0.0, 0.0, 0, (0, 8 * 2**30 * 10**9))


def test_decision() -> None:
    """As the operator logs it."""
    line = {
        "ts": "2026-01-02T03:04:05.678Z",
        "msg": "decided",
        "pod": "demo/p",
        "uid": "u",
        "profile": "x",
        "revision": "r",
        "node": "n",
    }
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, datetime.UTC)
    assert cluster_state.decision(line) == DecisionRow(at, "demo/p", "n", "x", "r")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({"holderIdentity": "moorage-0_ab12"}, "moorage-0"), ({"holderIdentity": ""}, ""), ({}, "")],
)
def test_leader(spec: dict[str, str], expected: str) -> None:
    """The part of the identity that people know it by."""
    assert cluster_state.leader({"spec": spec}) == expected


def test_ready() -> None:
    """When each profile is, and has decided about its pods, whatever it decided."""
    good = profile({"conditions": [condition("Ready", "True")]})
    assert not ClusterState().ready
    assert not ClusterState(profiles=(good,)).ready
    assert not ClusterState(profiles=(good,), places={"binpack": {"p": "", "q": "a1"}}).ready
    assert ClusterState(
        profiles=(good,), places={"binpack": {"p": "", "q": "a1"}}, refused={"p": "too small"}
    ).ready
    assert not ClusterState(profiles=(good, profile({})), places={"binpack": {"q": "a1"}}).ready


def test_strangers() -> None:
    """Pods of no profile that wait; those that are bound have found somebody."""
    places = {"binpack": {"a": ""}, "default-scheduler": {"b": "", "c": "a1"}, "other": {"d": ""}}
    assert ClusterState(profiles=(profile({}),), places=places).strangers == 2


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            (
                "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are "
                "available: 1 No victims."
            ),
            "1 Insufficient cpu",
        ),
        ("no nodes available to schedule pods", "no nodes available to schedule pods"),
    ],
)
def test_refused(message: str, why: str) -> None:
    """Why the nodes will not do, without what preemption adds; who is not refused has no reason."""
    said = {**condition("PodScheduled", "False", message), "reason": "Unschedulable"}
    gated = {**condition("PodScheduled", "False"), "reason": "SchedulingGated"}
    pods = [
        {"metadata": {"namespace": "x", "name": name}, "status": {"conditions": [each]}}
        for name, each in (("p", said), ("q", gated))
    ]
    assert cluster_state.refused([*pods, pod("a1")]) == {"x/p": why}
    assert cluster_state.failed(pods) == {}
    for requests, asks in (
        (({"cpu": "15500m"}, {"cpu": "4.5"}), " (asks 20 cores)"),
        (({"cpu": "1"},), " (asks 1 core)"),
        (({"memory": "1Gi"},), ""),
    ):
        containers = [{"resources": {"requests": one}} for one in requests]
        asking = {**pods[0], "spec": {"containers": containers}}
        added = asks if "cpu" in why else ""
        assert cluster_state.refused([asking]) == {"x/p": f"{why}{added}"}


def test_failed() -> None:
    """The whole text; that is no refusal by the nodes."""
    text = "spec.volumes: 1,001. more than 1,000"
    said = {**condition("PodScheduled", "False", text), "reason": "SchedulerError"}
    pods = [{"metadata": {"namespace": "x", "name": "p"}, "status": {"conditions": [said]}}]
    assert (cluster_state.failed(pods), cluster_state.refused(pods)) == ({"x/p": text}, {})


@pytest.mark.parametrize(
    ("spec", "closed"),
    [
        ({}, ""),
        ({"taints": [{"effect": "PreferNoSchedule"}]}, ""),
        ({"taints": [{"effect": "NoExecute"}]}, "tainted"),
        ({"unschedulable": True, "taints": [{"effect": "NoSchedule"}]}, "cordoned"),
    ],
)
def test_closed_nodes(spec: dict[str, Any], closed: str) -> None:
    """What keeps pods away, with the name that people know it by."""
    (fill,) = cluster_state.node_uses([{**node("a1", cpu="1"), "spec": spec}], [])
    assert fill.closed == closed


def test_gated() -> None:
    """The newest first; a pod that has a node in spite of its gates is not held."""

    def body(name: str, day: int, **spec: Any) -> dict[str, Any]:
        created = f"2026-01-{day:02}T03:04:05Z"
        metadata = {"namespace": "x", "name": name, "creationTimestamp": created}
        return {"metadata": metadata, "spec": spec}

    gates = [{"name": "example.com/quota"}, {"name": "other"}]
    pods = [
        body("old", 1, schedulingGates=gates),
        body("new", 2, schedulingGates=gates),
        body("placed", 3, schedulingGates=gates, nodeName="a1"),
        body("free", 4, schedulingGates=[]),
    ]
    found = cluster_state.gated(pods)
    assert [(one.pod, one.gate, one.at.day) for one in found] == [
        ("x/new", "example.com/quota", 2),
        ("x/old", "example.com/quota", 1),
    ]


def test_owners() -> None:
    """What controls a pod; others that refer to it do not count."""
    controlled = {"namespace": "x", "name": "p"}
    references = [{"name": "other"}, {"name": "web-5c6f", "controller": True}]
    pods = [{"metadata": {**controlled, "ownerReferences": references}}, pod("a1")]
    assert cluster_state.owners(pods) == {"x/p": "x/web-5c6f"}


def test_every_text_is_printable() -> None:
    """Whoever wrote it."""
    odd = "a\x1b[2J\n\u202e"
    said = {**condition("PodScheduled", "False", odd), "reason": "Unschedulable"}
    waits = {"metadata": {"namespace": "x", "name": odd}, "status": {"conditions": [said]}}
    line = {
        "ts": "2026-01-02T03:04:05.678Z",
        "pod": odd,
        "profile": odd,
        "revision": odd,
        "node": odd,
    }
    refused = profile({"conditions": [condition("Ready", "False", odd)]})
    shown = [
        dataclasses.astuple(refused),
        *map(dataclasses.astuple, cluster_state.node_uses([node(odd)], [])),
        dataclasses.astuple(cluster_state.decision(line)),
    ]
    texts = [
        text
        for each in (*shown, *cluster_state.refused([waits]).items())
        for text in each
        if isinstance(text, str)
    ]
    assert all(map(str.isprintable, texts))
