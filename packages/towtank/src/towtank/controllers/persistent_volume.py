"""Volumes: claims are bound to volumes that fit, volumes are made for claims whose class has a
provisioner, and follow their claim's end.

A stand-in for every provisioner: nothing is behind the volumes that it makes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from fractions import Fraction

from kubefacts import quantities
from towtank.controllers.client import NODES, ControllerClient, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.controllers.ownership import labels_of
from towtank.model.kinds import Body
from towtank.model.object_selectors import compiled
from towtank.model.times import timestamp
from towtank.storage.store import StoreChange

CLAIMS, VOLUMES, CLASSES = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
)
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_DONE, _CHOSEN, _MADE = (
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "pv.kubernetes.io/provisioned-by",
)
_NOBODY = "kubernetes.io/no-provisioner"
_LOOKED_AT = {CLAIMS: "claim", VOLUMES: "volume"}
_ZONE = "topology.kubernetes.io/zone"


class PersistentVolumeController(Controller):
    """Keys: ("claim", namespace, name), ("volume", "", name)."""

    def __init__(self, world: ControllerClient, *, make: bool) -> None:
        """``make``: whether volumes are made for claims, or somebody else does that."""
        super().__init__(world)
        self._make = make

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Claims and volumes, and each other; a new class may be what claims wait for."""
        specs = [body["spec"] for body in change.bodies] if resource in _LOOKED_AT else []
        if specs and change.type != "DELETED":
            yield _LOOKED_AT[resource], *change.now.key
        if resource == CLAIMS:
            for name in {spec.get("volumeName", "") for spec in specs} - {""}:
                yield "volume", "", name
        for reference in filter(None, (spec.get("claimRef") for spec in specs)):
            yield "claim", reference["namespace"], reference["name"]
        if resource == CLASSES or (resource == VOLUMES and not specs[-1].get("claimRef")):
            for claim in self.client.verbs.every(CLAIMS):
                if not claim["spec"].get("volumeName"):
                    yield "claim", claim["metadata"]["namespace"], claim["metadata"]["name"]

    def reconcile(self, key: Key, now: datetime) -> None:
        """Look at a claim or at a volume."""
        what, namespace, name = key
        found = self.client.verbs.find(CLAIMS if what == "claim" else VOLUMES, namespace, name)
        if found is None or is_terminating(found):
            return
        if what == "claim":
            self._claim(found, now)
        else:
            self._volume(found, now)

    # ---- claims ----------------------------------------------------------------------------------

    def _claim(self, claim: Body, now: datetime) -> None:
        name = claim["spec"].get("volumeName")
        volume = (
            self.client.verbs.find(VOLUMES, "", name)
            if name
            else self._reserved(claim) or self._fitting(claim)
        )
        if volume and _free_for(volume, claim):
            self._bind(claim, volume, now)
        elif claim["metadata"].get("annotations", {}).get(_DONE):
            self.client.status(CLAIMS, claim, {**claim.get("status", {}), "phase": "Lost"})
        elif not name and self._make:
            self._provision(claim)

    def _reserved(self, claim: Body) -> Body | None:
        """The volume that the scheduler, or an administrator, has set aside."""
        volumes = self.client.verbs.every(VOLUMES)
        return next(
            (
                volume
                for volume in volumes
                if volume["spec"].get("claimRef") and _free_for(volume, claim)
            ),
            None,
        )

    def _fitting(self, claim: Body) -> Body | None:
        """The smallest free volume that will do, where the claim need not wait for its pod."""
        if self._waits_for_pod(claim):
            return None
        fitting = [volume for volume in self.client.verbs.every(VOLUMES) if _fits(volume, claim)]
        return min(fitting, key=_size, default=None)

    def _class(self, claim: Body) -> Body:
        return self.client.verbs.find(CLASSES, "", claim["spec"].get("storageClassName", "")) or {}

    def _waits_for_pod(self, claim: Body) -> bool:
        return self._class(claim).get("volumeBindingMode") == "WaitForFirstConsumer"

    def _bind(self, claim: Body, volume: Body, now: datetime) -> None:
        """Write both halves; what is written already stays."""
        metadata, name = claim["metadata"], volume["metadata"]["name"]
        if volume["spec"].get("claimRef", {}).get("uid") != metadata["uid"]:
            volume = self.client.patch(VOLUMES, volume, lambda copy: _take(copy, claim))
        self._phase(volume, "Bound", now)
        told = metadata.get("annotations", {}).get(_DONE)
        if claim["spec"].get("volumeName") != name or not told:
            claim = self.client.patch(CLAIMS, claim, lambda copy: _tell(copy, name))
        spec = volume["spec"]
        said = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
        self.client.status(CLAIMS, claim, {**claim.get("status", {}), **said})

    def _provision(self, claim: Body) -> None:
        """Make a volume, in the zone of the node that was chosen for the pod; the claim is told of
        it and binds it then.
        """
        storage_class, name = self._class(claim), f"pvc-{claim['metadata']['uid']}"
        node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
        provisioner = storage_class.get("provisioner", _NOBODY)
        waits = self._waits_for_pod(claim) and not node
        if provisioner == _NOBODY or waits or self.client.verbs.find(VOLUMES, "", name):
            return
        zone = labels_of(self.client.verbs.find(NODES, "", node) or {"metadata": {}}).get(_ZONE)
        spec = _provisioned(claim, storage_class, name)
        if zone:
            term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        metadata = {"name": name, "annotations": {_MADE: provisioner}}
        self.client.create(VOLUMES, {"metadata": metadata, "spec": spec})

    # ---- volumes ---------------------------------------------------------------------------------

    def _volume(self, volume: Body, now: datetime) -> None:
        """Its phase; a volume whose claim has gone is released, or deleted when that is its
        policy.
        """
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            self._phase(volume, "Available", now)
            return
        claim = self.client.verbs.find(CLAIMS, reference["namespace"], reference["name"])
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
                self.client.delete(VOLUMES, volume)
            else:
                self._phase(volume, "Released", now)
        elif volume.get("status", {}).get("phase", "Pending") == "Pending":
            self._phase(volume, "Available", now)

    def _phase(self, volume: Body, phase: str, now: datetime) -> None:
        status = volume.get("status", {})
        if status.get("phase") != phase:
            self.client.status(
                VOLUMES,
                volume,
                {**status, "phase": phase, "lastPhaseTransitionTime": timestamp(now)},
            )


def _take(volume: Body, claim: Body) -> None:
    """Have a volume say whose it is."""
    if not volume["spec"].get("claimRef"):
        volume["metadata"].setdefault("annotations", {})[_CHOSEN] = "yes"
    volume["spec"]["claimRef"] = _reference(claim)


def _tell(claim: Body, volume: str) -> None:
    """Have a claim say which volume it has."""
    annotations = claim["metadata"].setdefault("annotations", {})
    annotations[_DONE] = "yes"
    if not claim["spec"].get("volumeName"):
        annotations[_CHOSEN] = "yes"
    claim["spec"]["volumeName"] = volume


def _provisioned(claim: Body, storage_class: Body, name: str) -> Body:
    """The spec of a volume that is made for a claim."""
    spec = claim["spec"]
    return {
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
        "accessModes": spec["accessModes"],
        "claimRef": _reference(claim),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "storageClassName": spec["storageClassName"],
        "volumeMode": spec.get("volumeMode", "Filesystem"),
        "csi": {"driver": storage_class["provisioner"], "volumeHandle": name},
    }


def _reference(claim: Body) -> Body:
    """What a volume says of its claim."""
    metadata = claim["metadata"]
    said = {name: metadata[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **said}


def _free_for(volume: Body, claim: Body) -> bool:
    """Whether nobody has it, or this very claim."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    if is_terminating(volume) or not reference:
        return not is_terminating(volume)
    same = (reference["namespace"], reference["name"]) == (metadata["namespace"], metadata["name"])
    return same and reference.get("uid", "") in ("", metadata["uid"])


def _fits(volume: Body, claim: Body) -> bool:
    """Whether a volume that nobody has will do for a claim."""
    offered, wanted = volume["spec"], claim["spec"]
    if (
        offered.get("claimRef")
        or is_terminating(volume)
        or volume.get("status", {}).get("phase") != "Available"
    ):
        return False
    return (
        offered.get("storageClassName", "") == wanted.get("storageClassName", "")
        and offered.get("volumeMode", "Filesystem") == wanted.get("volumeMode", "Filesystem")
        and set(wanted["accessModes"]) <= set(offered["accessModes"])
        and _size(volume) >= quantities.exact(wanted["resources"]["requests"]["storage"])
        and compiled(wanted.get("selector") or {}).matches(labels_of(volume))
    )


def _size(volume: Body) -> Fraction:
    return quantities.exact(volume["spec"]["capacity"]["storage"])
