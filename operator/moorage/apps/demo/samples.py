"""What the demo puts on its cluster: CRDs, the profiles and pods of manifests/samples, and a
Deployment for each profile.
"""

from __future__ import annotations

import http.client
import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from moorage.apps import resources
from moorage.apps.demo.kube_client import KubeClient, KubeClientError

NAMESPACE = "demo"
SYSTEM_NAMESPACE = "moorage-system"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
PROFILES = ("binpack", "spread")
FIRST_PODS = 3
"""Of each profile."""
PODS_PER_NODE = 4
"""Of each profile, when the tide is high: together they fill half of a usual node's processors."""
MAX_PODS = 200
LOAD_STEP_SECONDS = 1.0
STEPS = 12
"""From low to high tide."""
ESTABLISH_SECONDS = 20.0

PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "SchedulerProfile": "/apis/moorage.dev/v1alpha1/schedulerprofiles",
    "PluginConfig": "/apis/moorage.dev/v1alpha1/pluginconfigs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
}


def path(kind: str, name: str = "", namespace: str = NAMESPACE) -> str:
    """The path of an object, or of all of a kind."""
    return PATHS[kind].format(namespace) + (f"/{name}" if name else "")


def put(api: KubeClient, wait: Callable[[], None]) -> None:
    """Create all; ``wait`` is called between attempts while the API server does not serve our kinds
    yet. Raises KubeClientError.
    """
    for body in yaml.load_all(resources.crds(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        api.create(path(body["kind"]), body)
    for namespace in (SYSTEM_NAMESPACE, NAMESPACE):
        api.create(
            path("Namespace"),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        )
    deadline = time.monotonic() + ESTABLISH_SECONDS
    for body in map(_applied, yaml.safe_load_all(resources.samples())):
        while not _created(api, body, time.monotonic() > deadline):
            wait()
    for profile in PROFILES:
        api.create(path("Deployment"), deployment(profile))


def _applied(body: dict[str, Any]) -> dict[str, Any]:
    """As `kubectl apply` makes it: whoever applies manifests/samples later gets no warning, and no
    change.
    """
    namespace = {"namespace": "default"} if "{}" in PATHS[body["kind"]] else {}
    metadata = {"annotations": {}, **body["metadata"], **namespace}
    applied = (
        json.dumps({**body, "metadata": metadata}, sort_keys=True, separators=(",", ":")) + "\n"
    )
    return {
        **body,
        "metadata": {**metadata, "annotations": {**metadata["annotations"], LAST_APPLIED: applied}},
    }


def _created(api: KubeClient, body: Mapping[str, Any], last: bool) -> bool:
    try:
        api.create(path(body["kind"], namespace="default"), body)
    except KubeClientError as error:
        if error.code != http.client.NOT_FOUND or last:
            raise
        return False
    return True


def deployment(profile: str) -> dict[str, Any]:
    """Pods of a profile that are alike."""
    labels = {"app": profile}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": profile, "namespace": NAMESPACE},
        "spec": {
            "replicas": FIRST_PODS,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod_spec(profile, {"cpu": "500m", "memory": "1Gi"}),
            },
        },
    }


def pod(profile: str, name: str) -> dict[str, Any]:
    """A pod of a profile that asks for nothing, so that full nodes have room for it too."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": _pod_spec(profile, {}),
    }


def _pod_spec(profile: str, requests: Mapping[str, str]) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": requests},
    }
    return {"schedulerName": profile, "terminationGracePeriodSeconds": 0, "containers": [container]}


class LoadGenerator:
    """Makes the Deployments grow and shrink in turn, so that there is something to see; but none
    that somebody else has scaled.
    """

    def __init__(self, api: KubeClient) -> None:
        self._api = api
        self._due = 0.0
        self._set = dict.fromkeys(PROFILES, FIRST_PODS)
        self._wave = itertools.cycle((*range(1, STEPS + 1), *range(STEPS - 1, -1, -1)))

    def move(self, now: float, nodes: int) -> None:
        """Go a step further when it is time; ``now`` in seconds of any clock. Raises
        KubeClientError.
        """
        if now < self._due:
            return
        self._due = now + LOAD_STEP_SECONDS
        high = min(MAX_PODS, max(2 * FIRST_PODS, nodes * PODS_PER_NODE))
        replicas = FIRST_PODS + (high - FIRST_PODS) * next(self._wave) // STEPS
        for profile in tuple(self._set):
            self._scale(profile, replicas)

    def _scale(self, profile: str, replicas: int) -> None:
        deployments = {one["metadata"]["name"]: one for one in self._api.items(path("Deployment"))}
        found = deployments.get(profile)
        if found is None or found["spec"]["replicas"] != self._set[profile]:
            del self._set[profile]  # it is somebody else's now
            return
        # A change between our reading and our writing wins: the API server then refuses ours.
        version = found["metadata"]["resourceVersion"]
        self._api.merge(
            path("Deployment", profile),
            {"metadata": {"resourceVersion": version}, "spec": {"replicas": replicas}},
        )
        self._set[profile] = replicas
