"""Writes: what goes over the wire, and that nothing goes when the fence is closed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from moorage.adapters.kube_writes import HttpKubeWriter
from moorage.core.devices.extended_resources import claim_to_create
from moorage.core.objects.pods import ContainerExtendedResourceRequest
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Allocation,
    Consumer,
    DeviceAllocation,
    ResourceClaim,
)
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.ports.errors import Conflict, Fenced, Invalid, NotFound, Retryable
from moorage.ports.kube import PodRef, StoredRevision
from moorage.ports.leadership import Fence
from moorage.ports.texts import replica_lease, shortened
from tests.builders import make_pod
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import ScriptedHttp

FINALIZER = "resource.kubernetes.io/delete-protection"
SELECTED = "volume.kubernetes.io/selected-node"
POD = PodRef("ns", "web-1", "uid-1")
BY_POD = Consumer(resource="pods", name="web-1", uid="uid-1")
BY_GROUP = Consumer("scheduling.k8s.io", "podgroups", "web", "uid-g")
VOLUME = msgspec.convert(
    {
        "metadata": {
            "name": "v",
            "uid": "uid-v",
            "resourceVersion": "5",
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes", "a": "b"},
        },
        "spec": {
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": "ns",
                "name": "c",
                "uid": "uid-c",
            }
        },
    },
    PersistentVolume,
)
CLAIM = msgspec.convert(
    {
        "metadata": {
            "name": "c",
            "namespace": "ns",
            "uid": "uid-c",
            "resourceVersion": "6",
            "annotations": {SELECTED: "n1", "a": "b"},
        }
    },
    PersistentVolumeClaim,
)
DEVICES = msgspec.convert(
    {"metadata": {"name": "d", "namespace": "ns", "uid": "uid-d", "resourceVersion": "7"}},
    ResourceClaim,
)
ALLOCATION = Allocation(DeviceAllocation((AllocatedDevice("r", "x", "p", "gpu"),)))
SEEN = {"uid": "uid-d", "resourceVersion": "7"}
LONG = "p" * 60 + ".with.a.long.name"
DONE = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def writes() -> tuple[ScriptedHttp, Fence, HttpKubeWriter]:
    """Writes over a script; the fence is open."""
    http, fence, _, writer = throttled()
    return http, fence, writer


def throttled() -> tuple[ScriptedHttp, Fence, ManualClock, HttpKubeWriter]:
    """The same, with the clock by which what is put off is sent again."""
    clock = ManualClock()
    http, fence = ScriptedHttp(), Fence(clock.boottime)
    http.default = msgspec.json.encode(DEVICES)
    fence.extend(2000.0)
    return http, fence, clock, HttpKubeWriter(http, fence, clock, ("sys", "moorage"))


WRITES: dict[str, tuple[Callable[[HttpKubeWriter], Awaitable[object]], str, str, str, Any]] = {
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
        {
            "metadata": {"uid": "uid-1"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]},
        },
    ),
    "condition-and-node": (
        lambda w: w.pod_condition(POD, {"type": "T"}, "n2"),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {
            "metadata": {"uid": "uid-1"},
            "status": {"conditions": [{"type": "T"}], "nominatedNodeName": "n2"},
        },
    ),
    "condition-and-no-node": (
        lambda w: w.pod_condition(POD, {"type": "T"}, ""),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {
            "metadata": {"uid": "uid-1"},
            "status": {"conditions": [{"type": "T"}], "nominatedNodeName": None},
        },
    ),
    "nomination": (
        lambda w: w.pod_nomination(POD, ""),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-1"}, "status": {"nominatedNodeName": None}},
    ),
    "group condition": (
        lambda w: w.pod_group_condition(PodRef("ns", "g", "uid-g"), {"type": "T"}),
        "PATCH",
        "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/g/status",
        "application/strategic-merge-patch+json",
        {"metadata": {"uid": "uid-g"}, "status": {"conditions": [{"type": "T"}]}},
    ),
    "deletion": (
        lambda w: w.delete_pod(POD),
        "DELETE",
        "/api/v1/namespaces/ns/pods/web-1",
        "application/json",
        {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-1"}},
    ),
    "eviction": (
        lambda w: w.evict_pod(POD),
        "POST",
        "/api/v1/namespaces/ns/pods/web-1/eviction",
        "application/json",
        {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "web-1", "namespace": "ns"},
            "deleteOptions": {"preconditions": {"uid": "uid-1"}},
        },
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
        lambda w: w.create_revision(StoredRevision("r-1", LONG, 4, {"uid": "u-1"}, "me", "", "t")),
        "POST",
        "/apis/apps/v1/namespaces/sys/controllerrevisions",
        "application/json",
        {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": "r-1",
                "labels": {"moorage.dev/profile": shortened(LONG)},
                "annotations": {
                    "moorage.dev/profile": LONG,
                    "moorage.dev/changed-by": "me",
                    "moorage.dev/changed-at": "t",
                },
                "ownerReferences": [
                    {
                        "apiVersion": "moorage.dev/v1alpha1",
                        "kind": "SchedulerProfile",
                        "name": LONG,
                        "uid": "u-1",
                    }
                ],
            },
            "revision": 4,
            "data": {"uid": "u-1"},
        },
    ),
    "volume": (
        lambda w: w.bind_volume(VOLUME),
        "PATCH",
        "/api/v1/persistentvolumes/v",
        MERGE,
        {
            "metadata": {
                "uid": "uid-v",
                "resourceVersion": "5",
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            },
            "spec": {
                "claimRef": {
                    "kind": "PersistentVolumeClaim",
                    "apiVersion": "v1",
                    "namespace": "ns",
                    "name": "c",
                    "uid": "uid-c",
                }
            },
        },
    ),
    "node-of-a-claim": (
        lambda w: w.select_node(CLAIM),
        "PATCH",
        "/api/v1/namespaces/ns/persistentvolumeclaims/c",
        MERGE,
        {"metadata": {"uid": "uid-c", "resourceVersion": "6", "annotations": {SELECTED: "n1"}}},
    ),
    "protection": (
        lambda w: w.protect_claim(DEVICES),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d",
        STRATEGIC,
        {"metadata": SEEN | {"finalizers": [FINALIZER]}},
    ),
    "allocation": (
        lambda w: w.reserve_claim(DEVICES, BY_POD, ALLOCATION),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d/status",
        STRATEGIC,
        {
            "metadata": SEEN,
            "status": {
                "reservedFor": [{"resource": "pods", "name": "web-1", "uid": "uid-1"}],
                "allocation": {
                    "devices": {
                        "results": [{"request": "r", "driver": "x", "pool": "p", "device": "gpu"}]
                    }
                },
            },
        },
    ),
    "reservation": (
        lambda w: w.reserve_claim(DEVICES, BY_POD, None),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d/status",
        STRATEGIC,
        {
            "metadata": SEEN,
            "status": {"reservedFor": [{"resource": "pods", "name": "web-1", "uid": "uid-1"}]},
        },
    ),
    "reservation-of-a-group": (
        lambda w: w.reserve_claim(DEVICES, BY_GROUP, None),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d/status",
        STRATEGIC,
        {
            "metadata": SEEN,
            "status": {
                "reservedFor": [
                    {
                        "apiGroup": "scheduling.k8s.io",
                        "resource": "podgroups",
                        "name": "web",
                        "uid": "uid-g",
                    }
                ]
            },
        },
    ),
    "no-reservation": (
        lambda w: w.release_claim(DEVICES, BY_POD),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d/status",
        STRATEGIC,
        {
            "metadata": {"uid": "uid-d"},
            "status": {"reservedFor": [{"$patch": "delete", "uid": "uid-1"}]},
        },
    ),
    "no-allocation": (
        lambda w: w.deallocate_claim(DEVICES),
        "PATCH",
        "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d/status",
        STRATEGIC,
        {"metadata": SEEN, "status": {"allocation": None, "devices": None, "reservedFor": None}},
    ),
    "new-claim": (
        lambda w: w.create_claim(claim_to_create(make_pod("web")), "web-"),
        "POST",
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
        "application/json",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": "web-",
                "finalizers": ["resource.kubernetes.io/delete-protection"],
                "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": "web",
                        "uid": "uid-web",
                        "controller": True,
                    }
                ],
            },
            "spec": {"devices": {}},
        },
    ),
    "claim-of-a-pod": (
        lambda w: w.pod_claim(
            POD, "web-x", (ContainerExtendedResourceRequest("app", "x.io/gpu", "r"),)
        ),
        "PATCH",
        "/api/v1/namespaces/ns/pods/web-1/status",
        STRATEGIC,
        {
            "metadata": {"uid": "uid-1"},
            "status": {
                "extendedResourceClaimStatus": {
                    "resourceClaimName": "web-x",
                    "requestMappings": [
                        {"containerName": "app", "resourceName": "x.io/gpu", "requestName": "r"}
                    ],
                }
            },
        },
    ),
    "trial": (
        lambda w: w.revision_trial("r-1", "{}"),
        "PATCH",
        "/apis/apps/v1/namespaces/sys/controllerrevisions/r-1",
        MERGE,
        {"metadata": {"annotations": {"moorage.dev/trial": "{}"}}},
    ),
    "no-revision": (
        lambda w: w.delete_revision("r-1"),
        "DELETE",
        "/apis/apps/v1/namespaces/sys/controllerrevisions/r-1",
        "",
        None,
    ),
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
    http.default = DONE if name == "bind" else http.default
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
    assert not http.calls and fence.stopped_writes == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>log in</html>",
        b"",
        b"null",
        b"{}",
        b'{"status":{}}',
        b'{"status":"Failure"}',
        b"[" * 100_000,
    ],
)
def test_a_binding_is_done_when_the_api_server_says_so(body: bytes) -> None:
    """What a proxy answers with 200 is no answer: the pod is to be read, else it would wait for
    ever for a watch to tell.
    """
    http, _, kube = writes()
    http.answers.append(body)
    with pytest.raises(Retryable) as caught:
        asyncio.run(kube.bind(POD, "n"))
    assert caught.value.outcome_unknown


def test_deleting_what_is_gone_is_fine() -> None:
    """NotFound is what was wished for."""
    http, _, kube = writes()
    http.answers.extend([NotFound("DELETE", 404), NotFound("DELETE", 404)])
    asyncio.run(kube.delete_revision("r-1"))
    asyncio.run(kube.delete_replica("host_1"))
    assert len(http.calls) == 2


def test_a_claim_loses_its_finalizer_before_it_is_deleted() -> None:
    """The one that is meant and no other; that one is gone at either step is for a read to tell, as
    is an answer that can't be read.
    """
    http, _, kube = writes()
    asyncio.run(kube.delete_claim(DEVICES))
    path = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/d"
    assert [
        (call.method, call.path, call.content_type, json.loads(call.body)) for call in http.calls
    ] == [
        (
            "PATCH",
            path,
            STRATEGIC,
            {"metadata": {"uid": "uid-d", "$deleteFromPrimitiveList/finalizers": [FINALIZER]}},
        ),
        (
            "DELETE",
            path,
            "application/json",
            {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-d"}},
        ),
    ]
    http.answers.extend([NotFound("PATCH", 404), http.default or b"", NotFound("DELETE", 404)])
    for _ in range(2):
        with pytest.raises(NotFound):
            asyncio.run(kube.delete_claim(DEVICES))
    http.answers.append(b"{}")
    with pytest.raises(Retryable, match="cannot be read"):
        asyncio.run(kube.reserve_claim(DEVICES, BY_POD, None))


def test_a_namesake_is_a_conflict() -> None:
    """The API server refuses a patch with another UID as invalid; other invalid patches stay so."""
    http, _, kube = writes()
    namesake = Invalid(
        "PATCH",
        422,
        "Invalid",
        'Pod "web-1" is invalid: metadata.uid: Invalid value: "x": field is immutable',
    )
    http.answers.extend(
        [namesake, Invalid("PATCH", 422, "Invalid", "status.conditions: Required value")]
    )
    with pytest.raises(Conflict, match="another object has this name now"):
        asyncio.run(kube.pod_condition(POD, {"type": "T"}))
    with pytest.raises(Invalid, match="Required value"):
        asyncio.run(kube.pod_condition(POD, {"type": "T"}))


def test_a_write_that_is_put_off_passes_the_fence_again() -> None:
    """The API server has too much to do: it is asked again later, unless another leads by then."""

    async def story() -> None:
        http, fence, clock, kube = throttled()
        put_off = Retryable("429", after=1.0, status=429)
        http.answers.extend([put_off, put_off, DONE])
        binding = asyncio.create_task(kube.bind(POD, "n"))
        await clock.advance(2.0)
        await binding
        assert len(http.calls) == 3
        http.answers.append(put_off)
        deleting = asyncio.create_task(kube.delete_pod(POD))
        await settle()
        fence.close()
        await clock.advance(1.0)
        with pytest.raises(Fenced, match="DELETE"):
            await deleting
        assert len(http.calls) == 4

    asyncio.run(story())


def test_a_write_that_is_put_off_keeps_no_other_from_being_sent() -> None:
    """However long the API server wants it to wait."""

    async def story() -> None:
        http, fence, clock, _ = throttled()
        kube = HttpKubeWriter(http, fence, clock, ("sys", "moorage"), concurrency=1)
        http.answers.extend([Retryable("429", after=60.0, status=429), DONE])
        waiting = asyncio.create_task(kube.bind(POD, "n"))
        await settle()
        await kube.bind(POD, "n")
        assert not waiting.done()
        http.answers.append(DONE)
        await clock.advance(60.0)
        await waiting

    asyncio.run(story())


def test_writes_are_bounded_in_total() -> None:
    """However many profiles ask, the API server is asked for so many at a time."""

    async def story() -> None:
        http, fence, clock, _ = throttled()
        bounded = HttpKubeWriter(http, fence, clock, ("sys", "moorage"), concurrency=2)
        asked, gate = 0, asyncio.Event()

        async def answer(_: object) -> bytes:
            nonlocal asked
            asked += 1
            await gate.wait()
            return DONE

        http.answers.extend([answer] * 5)
        binding = [
            asyncio.create_task(bounded.bind(PodRef("default", f"p{i}", f"u{i}"), "n"))
            for i in range(5)
        ]
        await settle()
        assert asked == 2
        gate.set()
        await asyncio.gather(*binding)
        assert asked == 5

    asyncio.run(story())
