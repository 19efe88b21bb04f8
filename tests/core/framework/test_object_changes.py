"""An update of a pod or a node stands for the events that kube-scheduler takes it for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.object_changes import node_changes, pod_changes
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod

Json = dict[str, Any]


def pod(spec: Json | None = None, status: Json | None = None, **metadata: Any) -> Pod:
    """A pod as the API server writes it."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    whole = {
        "metadata": {"name": "p", "uid": "u", **metadata},
        "spec": {"containers": [container], **(spec or {})},
        "status": status or {},
    }
    return msgspec.convert(whole, Pod)


def node(spec: Json | None = None, status: Json | None = None, **metadata: Any) -> Node:
    """A node as the API server writes it."""
    return msgspec.convert(
        {"metadata": {"name": "n", **metadata}, "spec": spec or {}, "status": status or {}}, Node
    )


def requests(**amounts: str) -> Json:
    """A spec with one container that asks for this."""
    return {"containers": [{"name": "c", "resources": {"requests": amounts}}]}


def actions(events: list[ClusterEvent]) -> list[ActionType]:
    """What the events say happened."""
    return [event.action for event in events]


PODS: dict[str, tuple[Pod, Pod, list[ActionType]]] = {
    "nothing": (pod(), pod(), [ActionType.UPDATE]),
    "status": (pod(), pod(status={"phase": "Running"}), [ActionType.UPDATE]),
    "label": (pod(), pod(labels={"a": "b"}), [ActionType.UPDATE_POD_LABEL]),
    "no labels, written either way": (pod(labels={}), pod(), [ActionType.UPDATE]),
    "less cpu": (
        pod(),
        pod(requests(cpu="999m", memory="1Gi")),
        [ActionType.UPDATE_POD_SCALE_DOWN],
    ),
    "more cpu": (pod(), pod(requests(cpu="2", memory="1Gi")), [ActionType.UPDATE_POD_SCALE_UP]),
    "more cpu, less memory": (
        pod(),
        pod(requests(cpu="2", memory="1Mi")),
        [ActionType.UPDATE_POD_SCALE_DOWN, ActionType.UPDATE_POD_SCALE_UP],
    ),
    "something new": (
        pod(requests(cpu="1")),
        pod(requests(cpu="1", memory="0")),
        [ActionType.UPDATE_POD_SCALE_UP],
    ),
    "the same cpu, written otherwise": (
        pod(),
        pod(requests(cpu="1000m", memory="1024Mi")),
        [ActionType.UPDATE],
    ),
    "no memory any more": (pod(), pod(requests(cpu="1")), [ActionType.UPDATE_POD_SCALE_DOWN]),
    "nothing of it any more": (
        pod(requests(cpu="1", memory="0")),
        pod(requests(cpu="1")),
        [ActionType.UPDATE_POD_SCALE_DOWN],
    ),
    "less, but not yet given back": (
        pod(),
        pod(
            requests(cpu="500m", memory="1Gi"),
            {
                "containerStatuses": [
                    {
                        "name": "c",
                        "allocatedResources": {"cpu": "1"},
                        "resources": {"requests": {"cpu": "1"}},
                    }
                ]
            },
        ),
        [ActionType.UPDATE],
    ),
    "less, and given back now": (
        pod(
            requests(cpu="500m"),
            {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        ),
        pod(
            requests(cpu="500m"),
            {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
        ),
        [ActionType.UPDATE_POD_SCALE_DOWN],
    ),
    "last gate": (
        pod({"schedulingGates": [{"name": "g"}]}),
        pod(),
        [ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED],
    ),
    "one of two gates": (
        pod({"schedulingGates": [{"name": "g"}, {"name": "h"}]}),
        pod({"schedulingGates": [{"name": "g"}]}),
        [ActionType.UPDATE],
    ),
    "toleration": (
        pod(),
        pod({"tolerations": [{"operator": "Exists"}]}),
        [ActionType.UPDATE_POD_TOLERATION],
    ),
    "another toleration": (
        pod({"tolerations": [{"key": "a"}]}),
        pod({"tolerations": [{"key": "b"}]}),
        [ActionType.UPDATE],
    ),
    "claim": (
        pod(),
        pod(status={"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "c-1"}]}),
        [ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM],
    ),
    "claim of extended resources": (
        pod(
            status={
                "extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}
            }
        ),
        pod(
            status={
                "extendedResourceClaimStatus": {"resourceClaimName": "d", "requestMappings": []}
            }
        ),
        [ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM],
    ),
    "several": (
        pod(),
        pod({**requests(cpu="1"), "tolerations": [{}]}, labels={"a": "b"}),
        [
            ActionType.UPDATE_POD_LABEL,
            ActionType.UPDATE_POD_SCALE_DOWN,
            ActionType.UPDATE_POD_TOLERATION,
        ],
    ),
}
TAINT = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
NODES: dict[str, tuple[Node, Node, list[ActionType]]] = {
    "heartbeat": (
        node(
            status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}]}
        ),
        node(
            status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2"}]},
            resourceVersion="2",
        ),
        [],
    ),
    "allocatable": (
        node(status={"allocatable": {"cpu": "1"}}),
        node(status={"allocatable": {"cpu": "2"}}),
        [ActionType.UPDATE_NODE_ALLOCATABLE],
    ),
    "the same, written otherwise": (
        node(status={"allocatable": {"cpu": "1"}}),
        node(status={"allocatable": {"cpu": "1000m"}}),
        [],
    ),
    "unreadable": (
        node(status={"allocatable": {"x": "?"}}),
        node(status={"allocatable": {"x": "!"}}),
        [ActionType.UPDATE_NODE_ALLOCATABLE],
    ),
    "unreadable as before": (
        node(status={"allocatable": {"x": "?"}}),
        node(status={"allocatable": {"x": "?"}}),
        [],
    ),
    "label": (node(labels={"a": "b"}), node(labels={"a": "c"}), [ActionType.UPDATE_NODE_LABEL]),
    "taint": (node(TAINT), node(), [ActionType.UPDATE_NODE_TAINT]),
    "cordoned": (node(), node({"unschedulable": True}), []),
    "uncordoned": (node({"unschedulable": True}), node(), [ActionType.UPDATE_NODE_TAINT]),
    "condition": (
        node(status={"conditions": [{"type": "Ready", "status": "False"}]}),
        node(status={"conditions": [{"type": "Ready", "status": "True"}]}),
        [ActionType.UPDATE_NODE_CONDITION],
    ),
    "annotation": (node(annotations={"a": "b"}), node(), [ActionType.UPDATE_NODE_ANNOTATION]),
    "feature": (
        node(),
        node(status={"declaredFeatures": ["f"]}),
        [ActionType.UPDATE_NODE_DECLARED_FEATURE],
    ),
    "images": (node(), node(status={"images": [{"names": ["i"], "sizeBytes": 1}]}), []),
    "uncordoned, and more": (
        node({**TAINT, "unschedulable": True}),
        node(status={"allocatable": {"cpu": "1"}}, labels={"a": "b"}),
        [
            ActionType.UPDATE_NODE_TAINT,
            ActionType.UPDATE_NODE_ALLOCATABLE,
            ActionType.UPDATE_NODE_LABEL,
            ActionType.UPDATE_NODE_TAINT,
        ],
    ),
}


@pytest.mark.parametrize(("old", "new", "want"), PODS.values(), ids=PODS)
def test_pods(old: Pod, new: Pod, want: list[ActionType]) -> None:
    """Each aspect is an event of its own; a change that has no name is an update as a whole."""
    assert actions(pod_changes(old, new)) == want


@pytest.mark.parametrize(("old", "new", "want"), NODES.values(), ids=NODES)
def test_nodes(old: Node, new: Node, want: list[ActionType]) -> None:
    """Each aspect is an event of its own; what wakes nobody is none."""
    assert actions(node_changes(old, new)) == want


@pytest.mark.parametrize(
    ("where", "want"),
    [("", EventResource.TARGET_POD), ("n", EventResource.ASSIGNED_POD)],
    ids=["waiting", "on a node"],
)
def test_pods_have_two_resources(where: str, want: EventResource) -> None:
    """What the new state says decides; the event carries both states."""
    old, new = pod(), pod({"nodeName": where})
    assert pod_changes(old, new) == [ClusterEvent(want, ActionType.UPDATE, old, new)]


@pytest.mark.parametrize(
    ("resource", "registered", "happened", "want"),
    [
        (EventResource.POD, ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_LABEL, True),
        (
            EventResource.POD,
            ActionType.UPDATE_POD_LABEL | ActionType.DELETE,
            ActionType.DELETE,
            True,
        ),
        (EventResource.POD, ActionType.UPDATE, ActionType.UPDATE_POD_LABEL, True),
        (EventResource.POD, ActionType.UPDATE, ActionType.UPDATE, True),
        (EventResource.ANY, ActionType.ALL, ActionType.UPDATE, True),
        (EventResource.POD, ActionType.UPDATE_POD_LABEL, ActionType.UPDATE, False),
        (EventResource.POD, ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_TOLERATION, False),
        (EventResource.NODE, ActionType.UPDATE, ActionType.UPDATE, False),
        (EventResource.UNSCHEDULED_POD, ActionType.UPDATE, ActionType.UPDATE, False),
        (EventResource.TARGET_POD, ActionType.UPDATE, ActionType.UPDATE, False),
    ],
    ids=lambda value: getattr(value, "name", None) or str(value),
)
def test_what_a_registration_matches(
    resource: EventResource, registered: ActionType, happened: ActionType, want: bool
) -> None:
    """An update without a name is for those alone who registered for every update: a pod's
    heartbeat must not ask all hints.
    """
    assert (
        ClusterEventWithHint(resource, registered).matches(
            ClusterEvent(EventResource.ASSIGNED_POD, happened)
        )
        is want
    )


@pytest.mark.parametrize("make", [pod, node], ids=["pod", "node"])
def test_events_carry_both_states(make: Callable[..., Any]) -> None:
    """Hints compare them."""
    old, new = make(), make(labels={"a": "b"})
    changes: Callable[[Any, Any], list[ClusterEvent]] = pod_changes if make is pod else node_changes
    (event,) = changes(old, new)
    assert (event.old, event.new) == (old, new)
