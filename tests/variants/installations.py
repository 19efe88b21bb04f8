"""A variant on a cluster, from `kubectl apply -k` to `kubectl delete -k`: its pods run as their
specs say, with their ServiceAccount's rights.
"""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import NAMESPACE, ROOT, until
from tests.rig.pod_processes import Kubelet, PodProcess

MANIFESTS: Final = ROOT / "manifests"
ACCOUNT: Final = f"system:serviceaccount:{NAMESPACE}:moorage"
_OURS: Final = "labelSelector=app.kubernetes.io/part-of%3Dmoorage"


def container() -> dict[str, Any]:
    """What the pods of all stories run."""
    asked = {"requests": {"cpu": "100m"}}
    return {"name": "main", "image": "registry.example/app:1", "resources": asked}


def pod(name: str, place: str = "default", **spec: Any) -> dict[str, Any]:
    """A pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": place},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container()], **spec},
    }


class Installation:
    """A variant that is there."""

    def __init__(self, rig: Rig, kubelet: Kubelet, client: Client) -> None:
        self.rig = rig
        self.kubelet = kubelet
        self.client = client

    def serves(self, replicas: int, lease_namespace: str = NAMESPACE) -> list[PodProcess]:
        """Wait until all its pods are there, and one of them leads."""
        processes = self.kubelet.replicas(replicas)
        self.rig.kubectl(
            "-n", NAMESPACE, "rollout", "status", "deployment/moorage", "--timeout=60s"
        )
        until(lambda: self.leader(lease_namespace), "a leader", 60)
        return processes

    def leader(self, lease_namespace: str = NAMESPACE) -> PodProcess | None:
        """The pod that has the Lease."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{lease_namespace}/leases"
        for lease in self.client.get(path)["items"]:
            if lease["metadata"]["name"] == "moorage":
                holder = lease["spec"].get("holderIdentity") or ""
                running = self.kubelet.running.values()
                return next((each for each in running if holder.startswith(each.name)), None)
        return None

    def nodes(self) -> dict[str, str]:
        """By the name of the operator's pods, their nodes."""
        pods = self.client.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}

    def ready(self, profile: str) -> None:
        """Wait until pods are scheduled as this profile says."""
        self.rig.kubectl("wait", "--for=condition=Ready", f"sprof/{profile}", "--timeout=60s")

    def places(self, body: Mapping[str, Any], by: str) -> str:
        """Create a pod, and wait for its node; ``by`` is who placed it."""
        create(self.rig, body)
        place, name = body["metadata"]["namespace"], body["metadata"]["name"]
        path = f"/api/v1/namespaces/{place}/pods/{name}"
        node = until(
            lambda: self.client.get(path)["spec"].get("nodeName"), f"a node for {name}", 40
        )
        events = f"/apis/events.k8s.io/v1/namespaces/{place}/events"

        def placed_by() -> list[str]:
            return [
                each["reportingController"]
                for each in self.client.get(events)["items"]
                if (each["reason"], each["regarding"]["name"]) == ("Scheduled", name)
            ]

        assert until(placed_by, f"the event of {name}") == [by]
        self.client.delete(path)
        return str(node)

    def refused(self) -> list[str]:
        """What its ServiceAccount asked for and had no right to."""
        return [
            f"{event.verb} {event.request_uri}"
            for event in self.rig.audit()
            if event.user.username == ACCOUNT
            and event.response_status is not None
            and event.response_status.code == http.client.FORBIDDEN
        ]


@contextlib.contextmanager
def installed(rig: Rig, *folders: Path) -> Iterator[Installation]:
    """Apply these kustomizations, and delete them at the end, the last one first: nothing of them
    is left.
    """
    with contextlib.closing(Client(rig)) as client, Kubelet(rig, NAMESPACE) as kubelet:
        there = Installation(rig, kubelet, client)
        before = len(there.refused())
        try:
            for folder in folders:
                rig.kubectl("apply", "-k", str(folder))
            yield there
            refused = there.refused()[before:]
            assert not refused, f"no right to {sorted(set(refused))}"
        finally:
            for folder in reversed(folders):
                rig.kubectl("delete", "-k", str(folder), "--timeout=60s")
        rest = left(client)
        assert not rest, f"left: {rest}"


def left(client: Client) -> list[str]:
    """The objects that say that they are the operator's, and its kinds and namespace."""
    found = [
        f"{path}/{item['metadata']['name']}"
        for path in _collections(client)
        for item in client.get(f"{path}?{_OURS}")["items"]
    ]
    kinds = client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    names = [each["metadata"]["name"] for each in kinds]
    namespaces = client.get("/api/v1/namespaces")["items"]
    return [
        *found,
        *(name for name in names if name.endswith(".moorage.dev")),
        *(each["metadata"]["name"] for each in namespaces if each["metadata"]["name"] == NAMESPACE),
    ]


def _collections(client: Client) -> Iterator[str]:
    """Where all objects are that can be deleted, whatever their kind and namespace."""
    groups = client.get("/apis")["groups"]
    roots = [f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups]
    for root in ("/api/v1", *roots):
        for resource in client.get(root)["resources"]:
            if {"list", "delete"} <= set(resource["verbs"]) and "/" not in resource["name"]:
                yield f"{root}/{resource['name']}"
