"""Reads and announcements: what they ask, and what they make of the answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from moorage.adapters.kube_reads import DEAD_SECONDS, LIVE_SECONDS, HttpKubeReader
from moorage.adapters.replica_leases import ReplicaLeases
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Conflict, EdgeError, NotFound, Retryable
from moorage.ports.kube import PodNode, PodRef, ReplicaAnnouncement, StoredRevision
from moorage.ports.serving import ServedAt
from moorage.ports.texts import replica_lease
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import ScriptedHttp

POD = PodRef("ns", "web-1", "uid-1")
GONE = NotFound("GET", 404, "NotFound", "not found")
PAGE_OF_A_PROXY = NotFound("GET", 404, "", "<html>404 page not found</html>")


def reads() -> tuple[ScriptedHttp, ManualClock, HttpKubeReader]:
    """Reads over a script."""
    http, clock = ScriptedHttp(), ManualClock()
    return http, clock, HttpKubeReader(http, clock, "sys", "moorage")


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ({"metadata": {"uid": "uid-1"}, "spec": {"nodeName": "n1"}}, "n1"),
        ({"metadata": {"uid": "uid-1"}, "spec": {"containers": "broken"}}, ""),
        ({"metadata": {"uid": "other"}, "spec": {"nodeName": "n1"}}, None),
        (None, None),
    ],
    ids=["bound", "waiting", "namesake", "gone"],
)
def test_pod_node(answer: Any, want: str | None) -> None:
    """The node of the pod with this UID; whatever else is broken in it does not matter."""
    http, _, kube = reads()
    http.answers.append(page("", *([] if answer is None else [answer])))
    assert asyncio.run(kube.pod_node(POD)) == want
    assert http.calls[0].path == "/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Dweb-1"


LISTED: dict[str, tuple[Any, ...]] = {
    "pod_node": (POD,),
    "pod_json": (POD,),
    "resource_claim": ("ns", "name"),
}
NAMED: dict[str, tuple[Any, ...]] = {
    "secret": ("s",),
    "lease_renewed": ("ns", "name"),
    "serves": ("ns", "name", "p"),
    "quarantined": (),
}
ODD = [
    (read, answer)
    for read in LISTED
    for answer in (PAGE_OF_A_PROXY, GONE, b"{}", b'{"metadata": {}, "items": []}')
]


@pytest.mark.parametrize(("read", "answer"), [*ODD, *((read, PAGE_OF_A_PROXY) for read in NAMED)])
def test_one_odd_answer_does_not_say_that_an_object_is_gone(
    read: str, answer: bytes | Exception
) -> None:
    """A proxy's 404 or emptiness is none of the API server's; where we may list, only a list says
    that something is not there.
    """
    http, _, kube = reads()
    http.answers.append(answer)
    with pytest.raises(EdgeError):
        asyncio.run(getattr(kube, read)(*(LISTED | NAMED)[read]))


def page(continues: str, *pods: dict[str, Any]) -> bytes:
    """A page of a list."""
    return json.dumps(
        {"metadata": {"resourceVersion": "7", "continue": continues}, "items": list(pods) or None}
    ).encode()


def test_where_pods_and_nodes_are() -> None:
    """All pages of one list; of pods, those that live."""
    http, _, kube = reads()
    meta = {"namespace": "ns", "name": "a", "uid": "uid-a"}
    http.answers += [
        page("more", {"metadata": meta, "spec": {"nodeName": "n1", "containers": "broken"}}),
        page(
            "",
            {
                "metadata": {
                    **meta,
                    "name": "b",
                    "uid": "uid-b",
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                }
            },
        ),
        page("", {"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}),
        page(""),
    ]
    assert asyncio.run(kube.pod_places()) == [
        PodNode("uid-a", "ns/a", "n1", terminating=False),
        PodNode("uid-b", "ns/b", "", terminating=True),
    ]
    assert asyncio.run(kube.node_names()) == ["n1", "n2"]
    assert asyncio.run(kube.node_names()) == []
    live = "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
    assert [call.path for call in http.calls[:3]] == [
        f"/api/v1/pods?fieldSelector={live}&limit=500&continue=",
        f"/api/v1/pods?fieldSelector={live}&limit=500&continue=more",
        "/api/v1/nodes?limit=500&continue=",
    ]


def test_revisions_are_sorted_and_name_their_profile_in_full() -> None:
    """By profile and number; the name of the profile is the annotation's, as the label may be
    shortened.
    """

    def stored(name: str, profile: str, number: int) -> dict[str, Any]:
        metadata = {
            "name": name,
            "labels": {"moorage.dev/profile": "cut"},
            "annotations": {
                "moorage.dev/profile": profile,
                "moorage.dev/changed-by": "me",
                "moorage.dev/changed-at": "t",
                "moorage.dev/trial": "{}",
            },
        }
        return {
            "metadata": metadata,
            "revision": number,
            "data": {"uid": f"u{number}", "profile": {}},
        }

    http, _, kube = reads()
    items = [stored("b-2", "b", 2), stored("a-9", "a", 9), stored("b-1", "b", 1)]
    http.answers.append(json.dumps({"items": items}).encode())
    assert asyncio.run(kube.revisions()) == [
        StoredRevision("a-9", "a", 9, {"uid": "u9"}, "me", "{}", "t"),
        StoredRevision("b-1", "b", 1, {"uid": "u1"}, "me", "{}", "t"),
        StoredRevision("b-2", "b", 2, {"uid": "u2"}, "me", "{}", "t"),
    ]
    assert (
        http.calls[0].path == "/apis/apps/v1/namespaces/sys/controllerrevisions"
        "?labelSelector=moorage.dev%2Fprofile&limit=10&continue="
    )


@pytest.mark.parametrize("data", [[1], "x", None], ids=["list", "text", "nothing"])
def test_a_spoilt_revision_hides_no_other(data: Any) -> None:
    """What is no object is left out."""
    http, _, kube = reads()
    items = [
        {"metadata": {"name": "a-1"}, "revision": 1, "data": data},
        {"metadata": {"name": "a-2"}, "revision": 2, "data": {"n": 2}},
    ]
    http.answers.append(json.dumps({"items": items}).encode())
    assert [revision.name for revision in asyncio.run(kube.revisions())] == ["a-2"]


def test_one_revision() -> None:
    """As it is, by a list of it alone; a spoilt one holds nothing, and None is that there is none
    of this name.
    """
    http, _, kube = reads()
    for data, held in (({"n": 1}, {"n": 1}), ([1], {})):
        items = [
            {
                "metadata": {"name": "a-1", "annotations": {"moorage.dev/profile": "a"}},
                "revision": 4,
                "data": data,
            }
        ]
        http.answers.append(
            json.dumps({"metadata": {"resourceVersion": "7"}, "items": items}).encode()
        )
        assert asyncio.run(kube.revision("a-1")) == StoredRevision("a-1", "a", 4, held)
    http.answers.append(b'{"metadata": {"resourceVersion": "7"}, "items": []}')
    assert asyncio.run(kube.revision("a-1")) is None
    assert (
        http.calls[0].path
        == "/apis/apps/v1/namespaces/sys/controllerrevisions?fieldSelector=metadata.name%3Da-1"
    )


def leases(**renewed: str) -> bytes:
    """A list of replicas' Leases: identity -> renewTime."""
    items = [
        {
            "metadata": {"name": "x", "annotations": {"moorage.dev/revisions": '{"p": "r1"}'}},
            "spec": {"holderIdentity": who, "renewTime": at},
        }
        for who, at in renewed.items()
    ]
    return json.dumps({"items": items}).encode()


def test_replicas_live_while_their_leases_change() -> None:
    """Live as long as the Lease changes by our own clock; then not shown, and after long enough
    dead; other clocks never count.
    """
    http, clock, kube = reads()

    def look(answer: bytes) -> list[str]:
        http.answers.append(answer)
        return [replica.identity for replica in asyncio.run(kube.replicas())]

    assert look(leases(b="1999", a="2050")) == ["a", "b"]
    clock.jump(LIVE_SECONDS - 1)
    assert look(leases(b="1999", a="2051")) == ["a", "b"]
    clock.jump(2)
    assert look(leases(b="1999", a="2051")) == ["a"]
    assert asyncio.run(kube.dead_replicas()) == []
    clock.jump(DEAD_SECONDS)
    assert look(leases(b="1999", a="2052")) == ["a"]
    assert asyncio.run(kube.dead_replicas()) == ["b"]
    assert look(leases(a="2053")) == ["a"]
    assert asyncio.run(kube.dead_replicas()) == []
    assert "labelSelector=moorage.dev%2Finstallation%3Dmoorage" in http.calls[0].path


def test_replicas_say_their_revisions() -> None:
    """The annotation is a map; one that is none counts as empty."""
    http, _, kube = reads()
    good = json.loads(leases(a="1"))
    bad = json.loads(leases(b="1"))
    bad["items"][0]["metadata"]["annotations"]["moorage.dev/revisions"] = "[1]"
    http.answers.append(json.dumps({"items": [*bad["items"], *good["items"]]}).encode())
    assert asyncio.run(kube.replicas()) == [
        ReplicaAnnouncement("a", {"p": "r1"}),
        ReplicaAnnouncement("b", {}),
    ]


def test_a_foreign_lease_counts_while_it_changes() -> None:
    """Held and changed within its own duration; released, absent or unchanged for longer it does
    not count.
    """
    http, clock, kube = reads()

    def look(holder: str | None, renewed: str) -> bool:
        spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
        http.answers.append(json.dumps({"metadata": {}, "spec": spec}).encode())
        return asyncio.run(kube.lease_renewed("kube-system", "kube-scheduler"))

    assert look("k", "1")
    clock.jump(14)
    assert look("k", "1")
    clock.jump(2)
    assert not look("k", "1")
    assert look("k", "2")
    assert not look("", "3")
    http.answers.append(GONE)
    assert not asyncio.run(kube.lease_renewed("kube-system", "kube-scheduler"))


@pytest.mark.parametrize(
    ("namespace", "name"),
    [("a?b", "x"), ("a", "x/../../secrets"), ("..", "x"), ("a", ".."), ("a.b", "x"), ("", "x")],
)
def test_a_lease_is_named_by_a_status_that_anyone_may_have_written(
    namespace: str, name: str
) -> None:
    """What is no name cannot lead a request elsewhere: nothing is asked."""
    http, _, kube = reads()
    assert not asyncio.run(kube.lease_renewed(namespace, name))
    assert not http.calls


@pytest.mark.parametrize("allowed", [True, False])
def test_allowed_asks_for_the_subresource(allowed: bool) -> None:
    """pods/binding is resource pods, subresource binding, everywhere and of any name."""
    http, _, kube = reads()
    http.answers.append(json.dumps({"status": {"allowed": allowed}}).encode())
    assert asyncio.run(kube.allowed(AccessRight("create", "", "pods/binding"))) is allowed
    spec = json.loads(http.calls[0].body)["spec"]
    assert spec["resourceAttributes"] == {
        "verb": "create",
        "group": "",
        "resource": "pods",
        "subresource": "binding",
        "namespace": "",
        "name": "",
    }


def test_a_right_to_one_object_is_asked_for_by_its_name() -> None:
    """A role may give it with resourceNames, and then no other question is answered with yes."""
    http, _, kube = reads()
    http.answers.append(json.dumps({"status": {"allowed": True}}).encode())
    right = AccessRight("get", "", "secrets", home=True, name="extender")
    assert asyncio.run(kube.allowed(right))
    spec = json.loads(http.calls[0].body)["spec"]
    assert spec["resourceAttributes"] == {
        "verb": "get",
        "group": "",
        "resource": "secrets",
        "subresource": "",
        "namespace": "sys",
        "name": "extender",
    }


def test_an_answer_that_cannot_be_read_is_retryable() -> None:
    """A proxy's HTML is asked for again."""
    http, _, kube = reads()
    http.answers.append(b"<html>")
    with pytest.raises(Retryable, match="cannot be read"):
        asyncio.run(kube.pod_node(POD))


def announcer() -> tuple[ScriptedHttp, ReplicaLeases]:
    """An announcer over a script."""
    http = ScriptedHttp()
    return http, ReplicaLeases(http, ManualClock(), ("sys", "moorage"))


def test_announcing_patches_or_creates() -> None:
    """The own Lease is patched, and created where there is none; it is labelled, and says the
    revisions.
    """
    http, leases_ = announcer()
    http.answers.extend([NotFound("PATCH", 404), b"{}", b"{}"])
    asyncio.run(leases_.announce("host_1", {"b": "2", "a": "1"}))
    asyncio.run(leases_.announce("host_1", {"a": "1"}))
    name = replica_lease("moorage", "host_1")
    path = "/apis/coordination.k8s.io/v1/namespaces/sys/leases"
    assert [(call.method, call.path) for call in http.calls] == [
        ("PATCH", f"{path}/{name}"),
        ("POST", path),
        ("PATCH", f"{path}/{name}"),
    ]
    body = json.loads(http.calls[1].body)
    assert body["metadata"] == {
        "name": name,
        "labels": {"moorage.dev/installation": "moorage"},
        "annotations": {
            "moorage.dev/revisions": '{"a":"1","b":"2"}',
            "moorage.dev/mode": "decider",
        },
    }
    assert body["spec"] == {
        "holderIdentity": "host_1",
        "leaseDurationSeconds": 60,
        "renewTime": "2026-01-02T03:04:05.000000Z",
    }


def test_announcing_says_where_it_answers() -> None:
    """As it is at that moment: the port is had late, and certificates are renewed."""
    http, served = ScriptedHttp(), iter([ServedAt("https://a:1", "one"), None])
    http.answers.extend([b"{}", b"{}"])
    leases_ = ReplicaLeases(http, ManualClock(), ("sys", "moorage"), lambda: next(served))
    said = []
    for _ in range(2):
        asyncio.run(leases_.announce("host_1", {}))
        said.append(json.loads(http.calls[-1].body)["metadata"]["annotations"])
    assert said == [
        {
            "moorage.dev/revisions": "{}",
            "moorage.dev/mode": "decider",
            "moorage.dev/serving": "https://a:1",
            "moorage.dev/serving-certificate": "one",
        },
        {"moorage.dev/revisions": "{}", "moorage.dev/mode": "decider"},
    ]


@pytest.mark.parametrize(
    "answer",
    [b"{}", NotFound("DELETE", 404), Conflict("DELETE", 409)],
    ids=["there", "gone", "going"],
)
def test_withdrawing_twice_is_fine(answer: bytes | Exception) -> None:
    """The own Lease goes, or is gone already."""
    http, leases_ = announcer()
    http.answers.append(answer)
    asyncio.run(leases_.withdraw("host_1"))
    assert http.calls[0].method == "DELETE"


MANAGED = {"managedFields": [{"manager": "kubectl"}], "annotations": {"managedFields": "mine"}}


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (
            {"metadata": {"uid": "uid-1", **MANAGED}, "spec": {"new": [1, {"managedFields": 2}]}},
            {"new": [1, {"managedFields": 2}]},
        ),
        ({"metadata": {"uid": "other"}}, None),
        (None, None),
    ],
    ids=["there", "namesake", "gone"],
)
def test_whole_pods(answer: Any, want: dict[str, Any] | None) -> None:
    """Every field, known to us or not, but the managed fields."""
    http, _, kube = reads()
    http.answers.append(page("", *([] if answer is None else [answer])))
    found = asyncio.run(kube.pod_json(POD))
    whole = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"uid": "uid-1", "annotations": {"managedFields": "mine"}},
        "spec": want,
    }
    assert (json.loads(found) if found is not None else None) == (want and whole)


def test_whole_nodes_come_page_by_page() -> None:
    """All of them by name, the managed fields left out."""
    http, _, kube = reads()
    for names, token in ((("a", "b"), "more"), (("c",), "")):
        items = [{"metadata": {"name": name, **MANAGED}, "status": {"x": name}} for name in names]
        http.answers.append(json.dumps({"metadata": {"continue": token}, "items": items}).encode())
    found = {name: json.loads(node) for name, node in asyncio.run(kube.nodes_json()).items()}
    assert {name: node["status"] for name, node in found.items()} == {
        name: {"x": name} for name in "abc"
    }
    assert found["a"]["metadata"] == {"name": "a", "annotations": {"managedFields": "mine"}}
    assert [call.path.rpartition("continue=")[2] for call in http.calls] == ["", "more"]


@pytest.mark.parametrize(
    ("answer", "want"),
    [({"data": {"ca.crt": "Y2E="}}, {"ca.crt": b"ca"}), ({}, {}), (GONE, None)],
    ids=["with data", "empty", "none"],
)
def test_secrets(answer: Any, want: dict[str, bytes] | None) -> None:
    """Of the operator's own namespace, decoded; a name is never part of a path."""
    http, _, kube = reads()
    http.answers.append(answer if isinstance(answer, Exception) else json.dumps(answer).encode())
    assert asyncio.run(kube.secret("a/../b")) == want
    assert http.calls[0].path == "/api/v1/namespaces/sys/secrets/a%2F..%2Fb"
