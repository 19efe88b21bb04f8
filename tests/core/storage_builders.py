"""Builders of storage objects, and a cluster to judge pods with volumes in: say what matters, the
rest is filled in.
"""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.framework.evaluation.rejections import rejection
from moorage.core.framework.status import Code
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node
from tests.core.volume_strategies import HOST, REVISION, pod

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def make_claim(
    name: str, volume: str = "", size: str = "1Gi", mode: str = "ReadWriteOnce", **meta: Any
) -> PersistentVolumeClaim:
    """A claim of class ``static`` in namespace ``a``, bound to ``volume`` if one is named."""
    document = {
        "metadata": {
            "name": name,
            "namespace": "a",
            "uid": f"uid-{name}",
            "annotations": BOUND if volume else {},
            **meta,
        },
        "spec": {
            "volumeName": volume,
            "storageClassName": "static",
            "accessModes": [mode],
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }
    return msgspec.convert(document, PersistentVolumeClaim)


def make_volume(
    name: str, node: str = "", size: str = "1Gi", version: str = "1", **spec: Any
) -> PersistentVolume:
    """A free volume of class ``static`` that one node alone can reach, or all of them."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}]
    document = {
        "metadata": {"name": name, "resourceVersion": version, "labels": spec.pop("labels", {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "static",
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}} if node else None,
            **spec,
        },
        "status": {"phase": "Available"},
    }
    return msgspec.convert(document, PersistentVolume)


def csi(handle: str) -> dict[str, str]:
    """A volume's source: this one of driver ``x``."""
    return {"driver": "x", "volumeHandle": handle}


def make_class(
    name: str = "static",
    provisioner: str = "kubernetes.io/no-provisioner",
    mode: str | None = "WaitForFirstConsumer",
) -> StorageClass:
    """A class whose claims wait for their pods."""
    return msgspec.convert(
        {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode},
        StorageClass,
    )


def make_csi_node(name: str, count: int | None) -> CSINode:
    """A node that can hold so many volumes of driver ``x``."""
    return msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {"drivers": [{"name": "x", "allocatable": {"count": count}}]},
        },
        CSINode,
    )


def make_attachment(name: str, node: str, volume: str) -> VolumeAttachment:
    """A volume of driver ``x`` attached to a node."""
    spec = {"attacher": "x", "nodeName": node, "source": {"persistentVolumeName": volume}}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, VolumeAttachment)


def with_claims(name: str, *claims: str, node: str = "") -> Pod:
    """A pod in namespace ``a`` that uses these claims."""
    return pod(
        name, "a", [{"persistentVolumeClaim": {"claimName": claim}} for claim in claims], node
    )


class Storage:
    """Some nodes and these objects, with a scheduler whose profile has the plugins for volumes
    alone.
    """

    def __init__(self, *objects: HasMetadata, nodes: tuple[str, ...] = ("n0", "n1")) -> None:
        self.context = CycleContext(Cache())
        for name in nodes:
            self.context.cache.put_node(make_node(name, labels={HOST: name}))
        self.put(*objects)

    def put(self, *objects: HasMetadata) -> None:
        """These are there now."""
        for obj in objects:
            if isinstance(obj, Pod):
                self.context.cache.observe(obj, pod_requests(obj))
            else:
                self.context.cache.store.put(obj)

    def refused(self, wanted: Pod) -> dict[str, tuple[str, ...]]:
        """What is said of each node that is refused; "" stands for all of them."""
        decide(wanted, REVISION, self.context)
        evaluation = self.context.evaluator.evaluation(wanted, REVISION)
        if evaluation.pre_filter.status.code is not Code.SUCCESS:
            return {"": evaluation.pre_filter.status.reasons}
        found = {
            name: rejection(evaluation, row)
            for name, row in self.context.cache.nodes.row_of.items()
        }
        return {name: refusal[1].reasons for name, refusal in found.items() if refusal is not None}

    def place(self, wanted: Pod) -> ScheduleResult:
        """Decide and commit."""
        outcome = decide(wanted, REVISION, self.context)
        assert isinstance(outcome, ScheduleResult), outcome
        done = assume_and_reserve(outcome, self.context)
        assert not isinstance(done, Diagnosis)
        return done
