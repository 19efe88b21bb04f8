"""Claims and volumes find each other."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.controllers.manager import ControllerSettings
from towtank_tests.controllers.harness import ControllerHarness

CLAIMS, VOLUMES, CLASSES = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
)
SELECTED = "volume.kubernetes.io/selected-node"


def a_class(
    cluster: ControllerHarness,
    name: str,
    mode: str = "Immediate",
    provisioner: str = "kubernetes.io/no-provisioner",
) -> None:
    """Create one."""
    cluster.create(
        CLASSES, name, provisioner=provisioner, volumeBindingMode=mode, reclaimPolicy="Delete"
    )


def a_claim(
    cluster: ControllerHarness, name: str, class_: str, size: str = "1Gi", **more: Any
) -> None:
    """Create one."""
    resources = {"requests": {"storage": size}}
    cluster.create(
        CLAIMS,
        name,
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_,
            "resources": resources,
            **more,
        },
    )


def a_volume(
    cluster: ControllerHarness, name: str, class_: str, size: str = "1Gi", **more: Any
) -> None:
    """Create one."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_,
        "capacity": {"storage": size},
        "hostPath": {"path": "/disk"},
    }
    cluster.create(VOLUMES, name, spec={**spec, "persistentVolumeReclaimPolicy": "Retain", **more})


def bound_to(cluster: ControllerHarness, claim: str) -> str:
    """The volume's name, where both say that they are each other's."""
    found = cluster.get(CLAIMS, claim)
    if found["status"].get("phase") != "Bound":
        return ""
    volume = cluster.get(VOLUMES, found["spec"]["volumeName"])
    assert (
        volume["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
        and volume["status"]["phase"] == "Bound"
    )
    assert found["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert found["status"]["capacity"] == volume["spec"]["capacity"]
    return str(volume["metadata"]["name"])


def phase(cluster: ControllerHarness, name: str) -> str:
    """Of a volume."""
    return str(cluster.get(VOLUMES, name)["status"]["phase"])


@pytest.mark.parametrize("claim_first", [True, False])
def test_the_smallest_volume_that_fits_is_taken(claim_first: bool) -> None:
    """Whoever comes first; others do not fit or are taken."""
    cluster = ControllerHarness()
    a_class(cluster, "disk")
    if claim_first:
        a_claim(cluster, "c", "disk", "2Gi")
        cluster.settle()
        assert bound_to(cluster, "c") == ""
    for name, class_, size, more in (
        ("small", "disk", "1Gi", {}),
        ("other", "tape", "2Gi", {}),
        ("modes", "disk", "2Gi", {"accessModes": ["ReadOnlyMany"]}),
        ("raw", "disk", "2Gi", {"volumeMode": "Block"}),
        ("taken", "disk", "2Gi", {"claimRef": {"namespace": "x", "name": "y", "uid": "z"}}),
        ("fits", "disk", "2048Mi", {}),
        ("large", "disk", "1Ti", {}),
    ):
        a_volume(cluster, name, class_, size, **more)
    if not claim_first:
        cluster.settle()
        a_claim(cluster, "c", "disk", "2Gi")
    cluster.settle()
    assert bound_to(cluster, "c") == "fits"
    assert phase(cluster, "large") == "Available" and phase(cluster, "taken") == "Released"


def test_what_is_set_aside_is_bound() -> None:
    """By the scheduler in the volume, by a user in the claim; a class that waits for pods does not
    find one itself.
    """
    cluster = ControllerHarness()
    a_class(cluster, "local", "WaitForFirstConsumer")
    for name in "abc":
        a_volume(cluster, name, "local")
        a_claim(cluster, name, "local", **({"volumeName": "b"} if name == "b" else {}))
    cluster.settle()
    uid = cluster.get(CLAIMS, "a")["metadata"]["uid"]
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "a",
        "uid": uid,
    }
    cluster.change(VOLUMES, "c", lambda body: body["spec"].update(claimRef=reference))
    earlier = {**reference, "name": "c", "uid": "of an earlier claim of that name"}
    cluster.change(VOLUMES, "a", lambda body: body["spec"].update(claimRef=earlier))
    cluster.settle()
    assert [bound_to(cluster, name) for name in "abc"] == ["c", "b", ""]


def test_volumes_are_made_where_the_pod_goes() -> None:
    """And go with their claim; not where somebody else makes them."""
    for make in (True, False):
        cluster = ControllerHarness(ControllerSettings(provisioning=make))
        cluster.create("nodes", "node-1", metadata={"labels": {"topology.kubernetes.io/zone": "a"}})
        a_class(cluster, "made", "WaitForFirstConsumer", "disk.example.com")
        a_class(cluster, "at-once", "Immediate", "disk.example.com")
        a_claim(cluster, "late", "made")
        a_claim(cluster, "early", "at-once")
        cluster.settle()
        assert bound_to(cluster, "late") == "" and bool(bound_to(cluster, "early")) == make
        cluster.change(
            CLAIMS,
            "late",
            lambda body: (
                body["metadata"].setdefault("annotations", {}).update({SELECTED: "node-1"})
            ),
        )
        cluster.settle()
        name = bound_to(cluster, "late")
        assert bool(name) == make
        if make:
            (term,) = cluster.get(VOLUMES, name)["spec"]["nodeAffinity"]["required"][
                "nodeSelectorTerms"
            ]
            assert term["matchExpressions"][0]["values"] == ["a"]
            cluster.delete(CLAIMS, "late")
            cluster.settle()
            assert name not in cluster.names(VOLUMES)


def test_a_kept_volume_is_released_and_a_claim_may_be_lost() -> None:
    """When the other half goes."""
    cluster = ControllerHarness()
    a_class(cluster, "disk")
    for name in "ab":
        a_volume(cluster, name, "disk")
        a_claim(cluster, name, "disk")
        cluster.settle()
    cluster.delete(CLAIMS, "a")
    cluster.delete(VOLUMES, "b")
    cluster.settle()
    assert phase(cluster, "a") == "Released"
    assert cluster.get(CLAIMS, "b")["status"]["phase"] == "Lost"
