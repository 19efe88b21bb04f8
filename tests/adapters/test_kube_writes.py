"""Writes: what goes over the wire, and that nothing goes when the fence is closed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.adapters.kube_writes import KubeWrites
from moorage.ports.errors import Conflict, Fenced, Invalid, NotFound
from moorage.ports.fencing import Fence
from moorage.ports.kube import PodRef, Revision
from moorage.ports.names import replica_lease, shortened
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import ScriptedHttp

POD = PodRef("ns", "web-1", "uid-1")
LONG = "p" * 60 + ".with.a.long.name"
MERGE = "application/merge-patch+json"


def writes() -> tuple[ScriptedHttp, Fence, KubeWrites]:
    """Writes over a script; the fence is open."""
    http, fence = ScriptedHttp(), Fence(ManualClock().boottime)
    http.default = b"{}"
    fence.extend(2000.0)
    return http, fence, KubeWrites(http, fence, "sys", "moorage")


WRITES: dict[str, tuple[Callable[[KubeWrites], Awaitable[None]], str, str, str, Any]] = {
    "bind": (
        lambda w: w.bind(POD, "n1"),
        "POST",
        "/api/v1/namespaces/ns/pods/web-1/binding",
        "application/json",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web-1", "namespace": "ns", "uid": "uid-1"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        },
    ),
    "condition": (
        lambda w: w.pod_condition(POD, {"type": "PodScheduled", "status": "False"}),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-1"}, "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}},
    ),
    "condition-and-node": (
        lambda w: w.pod_condition(POD, {"type": "T"}, "n2"),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-1"}, "status": {"conditions": [{"type": "T"}], "nominatedNodeName": "n2"}},
    ),
    "condition-and-no-node": (
        lambda w: w.pod_condition(POD, {"type": "T"}, ""),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-1"}, "status": {"conditions": [{"type": "T"}], "nominatedNodeName": None}},
    ),
    "nomination": (
        lambda w: w.pod_nomination(POD, ""),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-1"}, "status": {"nominatedNodeName": None}},
    ),
    "eviction": (
        lambda w: w.delete_pod(POD),
        "DELETE",
        "/api/v1/namespaces/ns/pods/web-1",
        "application/json",
        {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-1"}},
    ),
    "profile": (
        lambda w: w.profile_status("binpack", {"drainingCycles": 0, "trial": None}),
        "PATCH",
        "/apis/moorage.dev/v1alpha1/schedulerprofiles/binpack/status",
        MERGE,
        {"status": {"drainingCycles": 0, "trial": None}},
    ),
    "plugin-config": (
        lambda w: w.plugin_config_status("zones", {"profileCount": 1}),
        "PATCH",
        "/apis/moorage.dev/v1alpha1/pluginconfigs/zones/status",
        MERGE,
        {"status": {"profileCount": 1}},
    ),
    "revision": (
        lambda w: w.create_revision(Revision("r-1", LONG, 4, {"uid": "u-1"})),
        "POST",
        "/apis/apps/v1/namespaces/sys/controllerrevisions",
        "application/json",
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": "r-1",
                "labels": {"moorage.dev/profile": shortened(LONG)},
                "annotations": {"moorage.dev/profile": LONG},
                "ownerReferences": [{"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile", "name": LONG, "uid": "u-1"}],
            },
            "revision": 4,
            "data": {"uid": "u-1"},
        },
    ),
    "no-revision": (lambda w: w.delete_revision("r-1"), "DELETE", "/apis/apps/v1/namespaces/sys/controllerrevisions/r-1", "", None),
    "no-replica": (
        lambda w: w.delete_replica("host_1"),
        "DELETE",
        f"/apis/coordination.k8s.io/v1/namespaces/sys/leases/{replica_lease('moorage', 'host_1')}",
        "",
        None,
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_goes_over_the_wire(name: str) -> None:
    """Method, path, content type and body of each write."""
    write, method, path, content_type, body = WRITES[name]
    http, _, kube = writes()
    asyncio.run(write(kube))  # type: ignore[arg-type]
    (call,) = http.calls
    assert (call.method, call.path) == (method, path)
    if body is None:
        assert call.body is None
    else:
        assert (call.content_type, json.loads(call.body)) == (content_type, body)


@pytest.mark.parametrize("name", WRITES)
def test_a_closed_fence_stops_every_write(name: str) -> None:
    """Nothing is sent, the error names the write, and the fence counts it."""
    write, method, path, *_ = WRITES[name]
    http, fence, kube = writes()
    before = kube.open
    fence.close()
    assert (before, kube.open) == (True, False)
    with pytest.raises(Fenced, match=f"{method} {path}"):
        asyncio.run(write(kube))  # type: ignore[arg-type]
    assert not http.calls and fence.refused == 1


def test_deleting_what_is_gone_is_fine() -> None:
    """NotFound is what was wished for."""
    http, _, kube = writes()
    http.answers.extend([NotFound("DELETE", 404), NotFound("DELETE", 404)])
    asyncio.run(kube.delete_revision("r-1"))
    asyncio.run(kube.delete_replica("host_1"))
    assert len(http.calls) == 2


def test_a_namesake_is_a_conflict() -> None:
    """The API server refuses a patch with another UID as invalid; other invalid patches stay so."""
    http, _, kube = writes()
    namesake = Invalid("PATCH", 422, "Invalid", 'Pod "web-1" is invalid: metadata.uid: Invalid value: "x": field is immutable')
    http.answers.extend([namesake, Invalid("PATCH", 422, "Invalid", "status.conditions: Required value")])
    with pytest.raises(Conflict, match="another pod has this name now"):
        asyncio.run(kube.pod_condition(POD, {"type": "T"}))
    with pytest.raises(Invalid, match="Required value"):
        asyncio.run(kube.pod_condition(POD, {"type": "T"}))
