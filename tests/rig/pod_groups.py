"""Groups of pods on a real API server: their objects, and what its audit log says of how they were
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from tests.rig.audits import AuditEvent, Bind, binds
from tests.rig.controlplanes import Rig
from tests.rig.demo import node
from tests.rig.operators import until

API: Final = "scheduling.k8s.io/v1beta1"
SCHEDULER: Final = "groups"
PROFILE: Final = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": SCHEDULER},
    "spec": {},
}
NAME: Final = "group"
ZONE: Final = "topology.kubernetes.io/zone"
HALF: Final = "5"
"""CPUs of which a node has room for one pod."""

_READS: Final = ("get", "list", "watch")


def pod_group(place: str, least: int, **spec: Any) -> dict[str, Any]:
    """The PodGroup of a namespace, a gang of so many."""
    return {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {"name": NAME, "namespace": place},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}, **spec},
    }


def pod_spec(place: str, *, cpu: str = HALF, **spec: Any) -> dict[str, Any]:
    """The spec of a pod that goes to the nodes of its namespace only."""
    asked = {"requests": {"cpu": cpu}}
    container = {"name": "main", "image": "registry.example/app:1", "resources": asked}
    return {
        "schedulerName": SCHEDULER,
        "nodeSelector": {ZONE: f"zone-{place}"},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **spec,
    }


def pod(place: str, name: str, **spec: Any) -> dict[str, Any]:
    """A pod; ``pod_spec`` says what may be asked for."""
    metadata = {"name": name, "namespace": place}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": pod_spec(place, **spec),
    }


def member(place: str, name: str, **spec: Any) -> dict[str, Any]:
    """A pod of the namespace's PodGroup."""
    return pod(place, name, schedulingGroup={"podGroupName": NAME}, **spec)


def job(
    place: str, name: str, pods: int, template: Mapping[str, Any], **spec: Any
) -> dict[str, Any]:
    """A Job of so many pods at once, each with the spec ``template``."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": place},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"spec": {"restartPolicy": "Never", **template}},
            **spec,
        },
    }


def node_of(place: str, name: str, **labels: str) -> dict[str, Any]:
    """A node of 8 CPUs for the pods of a namespace."""
    made = node(name, place)
    made["metadata"]["labels"].update(labels)
    return made


def gang_of(least: int) -> dict[str, Any]:
    """What a Job says in spec.scheduling to be a gang."""
    return {"schedulingPolicy": {"gang": {"minCount": least}}}


def check_bindings(rig: Rig, place: str, members: Collection[str], least: int) -> list[Bind]:
    """What ``whole_bindings`` says of the audit log, once so many Bindings are in it."""
    until(lambda: len(_accepted(rig.audit(), members)) >= least, f"{least} Bindings", 5)
    return whole_bindings(list(rig.audit()), place, members, least)


def whole_bindings(
    events: Sequence[AuditEvent], place: str, members: Collection[str], least: int
) -> list[Bind]:
    """No member of a namespace's gang was bound before the minimum fitted, and none twice. Returns
    the accepted Bindings of the ``members`` (UIDs), in the order in which they were received.

    Asserts: each member was bound at most once, and at least ``least`` of them were. Between the
    first of these Bindings and the one that completes the minimum, the API server was asked for
    nothing that gives room or adds members: no pod of the namespace created, deleted or evicted, no
    node written whose name begins with the namespace's, or is not in the log. So as many as are
    needed fitted already when the first was bound.
    """
    bound = _accepted(events, members)
    assert len(bound) >= least, f"{len(bound)} of {least} were bound"
    assert len({bind.uid for bind in bound}) == len(bound), f"bound twice: {bound}"
    first, met = bound[0].received, bound[least - 1].received
    between = [
        f"{event.verb} {event.request_uri}"
        for event in events
        if first < event.request_received_timestamp < met and _gives_room(event, place)
    ]
    assert not between, f"{bound[0].pod} was bound before {least} fitted: {between} came later"
    return bound


def received(rig: Rig, wanted: Callable[[AuditEvent], bool]) -> list[AuditEvent]:
    """The requests of this kind that were answered with success, as they were received."""
    found = [
        event
        for event in rig.audit()
        if event.response_status is not None and event.response_status.code < 300 and wanted(event)
    ]
    return sorted(found, key=lambda event: event.request_received_timestamp)


def removals(rig: Rig, place: str) -> list[str]:
    """The pods of a namespace that a replica of the operator had deleted or evicted, one name for
    each request.
    """
    return [
        event.object_ref.name
        for event in received(rig, lambda event: _removes(event, place))
        if event.object_ref is not None and event.user_agent.startswith("moorage")
    ]


def _accepted(events: Iterable[AuditEvent], members: Collection[str]) -> list[Bind]:
    found = [bind for bind in binds(events) if bind.code == 201 and bind.uid in members]
    return sorted(found, key=lambda bind: bind.received)


def _gives_room(event: AuditEvent, place: str) -> bool:
    target = event.object_ref
    if target is None or event.verb in _READS:
        return False
    comes = (target.resource, target.subresource, event.verb) == ("pods", "", "create")
    return (
        (target.resource == "nodes" and (not target.name or target.name.startswith(f"{place}-")))
        or _removes(event, place)
        or (target.namespace == place and comes)
    )


def _removes(event: AuditEvent, place: str) -> bool:
    target = event.object_ref
    return (
        target is not None
        and (target.resource, target.namespace) == ("pods", place)
        and (event.verb.startswith("delete") or target.subresource == "eviction")
    )
