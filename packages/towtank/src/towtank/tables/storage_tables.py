"""Volumes, claims and what describes drivers."""

from __future__ import annotations

from towtank.model.kinds import Body
from towtank.tables.ages import Age
from towtank.tables.cells import (
    NONE,
    UNSET,
    Cells,
    KindPrinter,
    access_modes,
    columns,
    created,
    deleted,
    name,
    spec,
    status,
)

_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _class(body: Body) -> str:
    """The annotation is older than the field and still goes before it."""
    annotations = body["metadata"].get("annotations") or {}
    return str(annotations.get(_CLASS, spec(body).get("storageClassName") or ""))


def _phase(body: Body) -> str:
    return "Terminating" if deleted(body) else str(status(body).get("phase", ""))


def _volume(body: Body, age: Age) -> Cells:
    of, claim = spec(body), spec(body).get("claimRef")
    return [
        name(body),
        str((of.get("capacity") or {}).get("storage", "0")),
        access_modes(of.get("accessModes")),
        of.get("persistentVolumeReclaimPolicy", ""),
        _phase(body),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(body),
        of.get("volumeAttributesClassName", UNSET),
        status(body).get("reason", ""),
        created(body, age),
        of.get("volumeMode", UNSET),
    ]


def _claim(body: Body, age: Age) -> Cells:
    of, said = spec(body), status(body)
    bound = bool(of.get("volumeName"))
    return [
        name(body),
        _phase(body),
        of.get("volumeName", ""),
        str((said.get("capacity") or {}).get("storage", "0")) if bound else "",
        access_modes(said.get("accessModes")) if bound else "",
        _class(body),
        of.get("volumeAttributesClassName", UNSET),
        created(body, age),
        of.get("volumeMode", UNSET),
    ]


def _storage_class(body: Body, age: Age) -> Cells:
    annotations = body["metadata"].get("annotations") or {}
    default = " (default)" if any(annotations.get(each) == "true" for each in _DEFAULT) else ""
    return [
        f"{name(body)}{default}",
        body.get("provisioner", ""),
        body.get("reclaimPolicy", "Delete"),
        body.get("volumeBindingMode", "Immediate"),
        body.get("allowVolumeExpansion", False),
        created(body, age),
    ]


def _attributes_class(body: Body, age: Age) -> Cells:
    return [name(body), body.get("driverName", ""), created(body, age)]


def _attachment(body: Body, age: Age) -> Cells:
    of = spec(body)
    volume = (of.get("source") or {}).get("persistentVolumeName") or ""
    return [
        name(body),
        of.get("attacher", ""),
        volume,
        of.get("nodeName", ""),
        status(body).get("attached", False),
        created(body, age),
    ]


def _csi_node(body: Body, age: Age) -> Cells:
    return [name(body), len(spec(body).get("drivers") or ()), created(body, age)]


def _csi_driver(body: Body, age: Age) -> Cells:
    of, tokens = spec(body), spec(body).get("tokenRequests")
    return [
        name(body),
        of.get("attachRequired", True),
        of.get("podInfoOnMount", False),
        of.get("storageCapacity", False),
        UNSET if tokens is None else ",".join(each.get("audience", "") for each in tokens),
        of.get("requiresRepublish", False),
        ",".join(of.get("volumeLifecycleModes") or ()) or NONE,
        created(body, age),
    ]


STORAGES = {
    "persistentvolumes": KindPrinter(
        columns(
            "Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, "
            "VolumeAttributesClass, Reason, Age, VolumeMode*"
        ),
        _volume,
    ),
    "persistentvolumeclaims": KindPrinter(
        columns(
            "Name, Status, Volume, Capacity, Access Modes, StorageClass, "
            "VolumeAttributesClass, Age, VolumeMode*"
        ),
        _claim,
    ),
    "storageclasses.storage.k8s.io": KindPrinter(
        columns("Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age"),
        _storage_class,
    ),
    "volumeattributesclasses.storage.k8s.io": KindPrinter(
        columns("Name, DriverName, Age"), _attributes_class
    ),
    "volumeattachments.storage.k8s.io": KindPrinter(
        columns("Name, Attacher:string:name, PV, Node, Attached:boolean, Age"), _attachment
    ),
    "csinodes.storage.k8s.io": KindPrinter(columns("Name, Drivers:integer, Age"), _csi_node),
    "csidrivers.storage.k8s.io": KindPrinter(
        columns(
            "Name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, "
            "TokenRequests, RequiresRepublish:boolean, "
            "Modes, Age"
        ),
        _csi_driver,
    ),
}
