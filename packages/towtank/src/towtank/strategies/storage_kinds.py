"""Volumes, claims, and what provisions them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from towtank.model.api_errors import StatusCause
from towtank.model.kinds import META, Body, ObjectGetter, Strategy
from towtank.strategies.common import at, fill, one_of, read_quantities, unchanged
from towtank.strategies.node_affinity_rules import node_selector_causes

_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NO_SOURCE: Final = frozenset(
    {
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    }
)
_CLAIM_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_SOURCE_FIXED: Final = "spec.persistentvolumesource is immutable after creation"


class StorageClassStrategy(Strategy):
    """Who makes volumes, and when."""

    def default(self, body: Body) -> None:
        """Made at once, removed with their claims."""
        fill(body, {"provisioner": "", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Somebody has to do it."""
        causes = [] if body["provisioner"] else [StatusCause.required("provisioner")]
        for field, choices in (
            ("reclaimPolicy", ("Delete", "Retain")),
            ("volumeBindingMode", ("Immediate", "WaitForFirstConsumer")),
        ):
            causes += one_of(body[field], choices, field)
        return causes

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A class means the same as long as it is there."""
        fixed = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
        return tuple(unchanged(new, old, *fixed, shown=False))


def default_claim_spec(spec: Body) -> None:
    """Of a claim and of a template for claims."""
    fill(spec, {"volumeMode": "Filesystem", "resources": {}})
    read_quantities(
        "PersistentVolumeClaim", spec["resources"].get("requests"), spec["resources"].get("limits")
    )


class PersistentVolumeClaimStrategy(Strategy):
    def default(self, body: Body) -> None:
        """A claim is for a file system unless it says otherwise."""
        default_claim_spec(body.setdefault("spec", {}))
        read_quantities("PersistentVolumeClaim", at(body, "status.capacity"))

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """Who names no class gets the default one; of several the newest."""
        spec, annotations = body["spec"], body["metadata"].get("annotations") or {}
        if spec.get("storageClassName") is not None or _OLD_CLASS in annotations:
            return
        classes = [one["metadata"] for one in reads.every("storageclasses.storage.k8s.io")]
        defaults = [
            one for one in classes if (one.get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
        ]
        if defaults:
            defaults.sort(key=lambda one: one["name"])
            newest = max(defaults, key=lambda one: str(one["creationTimestamp"]))
            spec["storageClassName"] = newest["name"]

    def prepare_create(self, body: Body) -> None:
        """Waiting for a volume."""
        body["status"] = {"phase": "Pending"}

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """How much, and for how many."""
        spec = body["spec"]
        causes = [*_mode_causes(spec, "at least 1 access mode is required")]
        if "storage" not in (spec["resources"].get("requests") or {}):
            causes.append(StatusCause.required("spec.resources[storage]"))
        return [*causes, *one_of(spec["volumeMode"], ("Block", "Filesystem"), "spec.volumeMode")]

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A claim is bound once; a bound one may grow."""
        free = {"volumeAttributesClassName"}
        if not at(old, "spec.volumeName"):
            free.add("volumeName")
        if at(old, "status.phase") == "Bound":
            free.add("resources")
        now, before = (
            {key: value for key, value in body["spec"].items() if key not in free}
            for body in (new, old)
        )
        return () if now == before else (StatusCause.forbidden("spec", _CLAIM_FIXED),)


def _mode_causes(spec: Body, unsaid: str = "") -> Iterator[StatusCause]:
    modes = spec.get("accessModes")
    if not modes:
        yield StatusCause.required("spec.accessModes", unsaid)
    for mode in modes or ():
        yield from one_of(mode, _MODES, "spec.accessModes")


class PersistentVolumeStrategy(Strategy):
    def default(self, body: Body) -> None:
        """Kept when their claim goes."""
        spec = body.setdefault("spec", {})
        fill(spec, {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"})
        read_quantities("PersistentVolume", spec.get("capacity"))
        if spec.get("hostPath") is not None:
            fill(spec["hostPath"], {"type": ""})

    def prepare_create(self, body: Body) -> None:
        """Not yet found fit for use."""
        body["status"] = {
            "phase": "Pending",
            "lastPhaseTransitionTime": body["metadata"]["creationTimestamp"],
        }

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """One source, its size, and for how many."""
        return tuple(_volume_causes(body["spec"]))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """The volume behind it is immutable."""
        moved = _sources(new["spec"]) != _sources(old["spec"])
        causes = (
            [StatusCause.forbidden("spec.persistentvolumesource", _SOURCE_FIXED)] if moved else []
        )
        if at(old, "spec.nodeAffinity"):
            causes += unchanged(new, old, "spec.nodeAffinity")
        return [*causes, *unchanged(new, old, "spec.volumeMode")]


def _volume_causes(spec: Body) -> Iterator[StatusCause]:
    yield from _mode_causes(spec)
    if not spec.get("capacity"):
        yield StatusCause.required("spec.capacity")
        yield StatusCause.unsupported("spec.capacity", None, ("storage",))
    sources = _sources(spec)
    if not sources:
        yield StatusCause.required("spec", "must specify a volume type")
    if required := at(spec, "nodeAffinity.required"):
        yield from node_selector_causes(required, "spec.nodeAffinity.required")
    elif "local" in sources:
        yield StatusCause.required("spec.nodeAffinity", "Local volume requires node affinity")
    policy = "persistentVolumeReclaimPolicy"
    yield from one_of(spec[policy], ("Delete", "Recycle", "Retain"), f"spec.{policy}")


def _sources(spec: Body) -> Body:
    return {key: value for key, value in spec.items() if key not in _NO_SOURCE}


class CSIDriverStrategy(Strategy):
    conditional = True

    def default(self, body: Body) -> None:
        """What a driver does not say."""
        fill(
            body.setdefault("spec", {}),
            {
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "requiresRepublish": False,
                "seLinuxMount": False,
                "volumeLifecycleModes": ["Persistent"],
                "preventPodSchedulingIfMissing": False,
            },
        )


class CSINodeStrategy(Strategy):
    conditional = True

    def default(self, body: Body) -> None:
        """A node may have no drivers yet."""
        spec = body.setdefault("spec", {})
        spec["drivers"] = spec.get("drivers") or None
        for driver in spec["drivers"] or ():
            driver.setdefault("topologyKeys", None)

    def prepare_create(self, body: Body) -> None:
        """No driver has said anything yet."""
        body["status"] = {}


class CSIStorageCapacityStrategy(Strategy):
    conditional = True

    def default(self, body: Body) -> None:
        """Sizes in their usual form."""
        sizes = {
            key: body[key] for key in ("capacity", "maximumVolumeSize") if body.get(key) is not None
        }
        read_quantities("CSIStorageCapacity", sizes)
        body |= sizes

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Capacity of the same place."""
        return tuple(unchanged(new, old, "nodeTopology", "storageClassName"))


class VolumeAttachmentStrategy(Strategy):
    conditional = True
    status_leaves = META

    def prepare_create(self, body: Body) -> None:
        """A new attachment is not attached."""
        body["status"] = {"attached": False}

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """The same volume and node."""
        return tuple(unchanged(new, old, "spec"))
