"""Devices on a real API server: their objects, and who was given which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

API: Final = "resource.k8s.io/v1"
DRIVER: Final = "failover.example.com"
CLASS: Final = "failover"
EXTENDED: Final = "failover.example.com/device"


def device_class() -> dict[str, Any]:
    """All devices of the driver; pods may ask for one as an extended resource."""
    expression = f'device.driver == "{DRIVER}"'
    spec = {"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": EXTENDED}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": spec}


def device_of(node: str) -> dict[str, Any]:
    """The one device of a node, in a pool of its own."""
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "0"}],
        },
    }


def claim(place: str, name: str) -> dict[str, Any]:
    """A claim for one device."""
    request = {"name": "r", "exactly": {"deviceClassName": CLASS}}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": place},
        "spec": {"devices": {"requests": [request]}},
    }


def claims_path(place: str) -> str:
    """Where a namespace's claims are."""
    return f"/apis/{API}/namespaces/{place}/resourceclaims"


def given(claims: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Claim -> the pool of its device, of those that have one."""
    return {
        one["metadata"]["name"]: result["pool"]
        for one in claims
        if "allocation" in one.get("status", {})
        for result in one["status"]["allocation"]["devices"]["results"]
    }


def check_given(claims: Sequence[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]) -> None:
    """Bound pods have the devices of their nodes, and nobody else has any.

    Asserts: no device is in two claims; each claim that a bound pod names has its device on the
    pod's node, and is reserved for it or its PodGroup and for nobody else; no other claim is
    there with a device.
    """
    bound = [pod for pod in pods if "nodeName" in pod["spec"]]
    nodes = {name: pod["spec"]["nodeName"] for pod in bound for name in _claims_of(pod)}
    pools = given(claims)
    assert len(set(pools.values())) == len(pools), f"given twice: {pools}"
    assert pools == nodes
    users = {uid for pod in bound for uid in (pod["metadata"]["uid"], _group_of(pod))}
    for one in claims:
        reserved = {
            (user["name"] if user["resource"] == "podgroups" else user["uid"])
            for user in one.get("status", {}).get("reservedFor", ())
        }
        assert reserved <= users, f"{one['metadata']['name']} is reserved for {reserved - users}"
        assert bool(reserved) is (one["metadata"]["name"] in pools)


def _claims_of(pod: Mapping[str, Any]) -> list[str]:
    named = [one["resourceClaimName"] for one in pod["spec"].get("resourceClaims", ())]
    extended = pod["status"].get("extendedResourceClaimStatus")
    return [*named, *([extended["resourceClaimName"]] if extended else ())]


def _group_of(pod: Mapping[str, Any]) -> str:
    return str(pod["spec"].get("schedulingGroup", {}).get("podGroupName", ""))
