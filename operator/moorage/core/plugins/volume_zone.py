"""VolumeZone: a pod runs in the zone and region that its bound volumes are labelled with.

Cost: nothing for pods without claims; else a label look-up per zone or region that a volume names.
Source: kube-scheduler VolumeZone (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_columns import LabelCodes
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import judge_each
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import Codes, PreFilterResult
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why, rejected_for
from moorage.core.objects.meta import HasMetadata, Labels
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.core.volumes.claims import WAIT, class_of
from moorage.core.volumes.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE
from moorage.core.volumes.pod_volumes import seen_of_volumes

NAME = "VolumeZone"
ELSEWHERE = Reason(
    "VolumeZoneMismatch",
    "node(s) had no available volume zone",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NAMELESS = Reason(
    "ClaimWithoutName", "PersistentVolumeClaim had no name", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
NO_CLAIM = Reason(
    "ZonedClaimNotFound",
    'persistentvolumeclaim "{}" not found',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NO_VOLUME = Reason(
    "ZonedVolumeNotFound", 'persistentvolume "{}" not found', Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
NO_CLASS = Reason(
    "ZonedClassNotFound",
    'storageclass.storage.k8s.io "{}" not found',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
CLASSLESS = Reason(
    "ClaimWithoutVolumeAndClass",
    "PersistentVolumeClaim had no pv name and storageClass name",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NO_MODE = Reason(
    "BindingModeNotSet",
    'VolumeBindingMode not set for StorageClass "{}"',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
UNBOUND = Reason(
    "ClaimWithoutVolume", "PersistentVolume had no name", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)

_SUCCESSOR = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
"""Labels that bind a volume to a place, with the label that a node may have instead."""


class VolumeTopology(NamedTuple):
    """A node must have one of these values under the label."""

    key: str
    values: frozenset[str]


def _topologies(labels: Labels | None) -> tuple[VolumeTopology, ...]:
    """Where a volume with these labels is. A label with an empty part is ignored."""
    found = []
    for key in _SUCCESSOR:
        values = frozenset(part.strip() for part in (labels or {}).get(key, "").split("__"))
        if "" not in values:
            found.append(VolumeTopology(key, values))
    return tuple(found)


def _waits(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether claims of the new class wait for their pod."""
    return isinstance(event.new, StorageClass) and event.new.volume_binding_mode == WAIT


def _is_used(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether this pod uses the claim."""
    claim = event.new
    if (
        not isinstance(claim, PersistentVolumeClaim)
        or claim.metadata.namespace != pod.metadata.namespace
    ):
        return False
    used = (volume.persistent_volume_claim for volume in pod.spec.volumes or ())
    return any(one is not None and one.claim_name == claim.metadata.name for one in used)


def _is_elsewhere(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the volume is new, or labelled otherwise."""
    old, new = event.old, event.new
    return (
        not isinstance(old, PersistentVolume)
        or new is None
        or _topologies(old.metadata.labels) != _topologies(new.metadata.labels)
    )


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeZone:
    """Passes nodes in the zones and regions of the pod's volumes, and nodes without any such
    label.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (
        ELSEWHERE,
        NAMELESS,
        NO_CLAIM,
        NO_VOLUME,
        NO_CLASS,
        CLASSLESS,
        NO_MODE,
        UNBOUND,
    )
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {PersistentVolume, PersistentVolumeClaim, StorageClass}
    )
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(EventResource.STORAGE_CLASS, ActionType.ADD, _waits),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        shared_hint(
            EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, _is_used
        ),
        shared_hint(
            EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE, _is_elsewhere
        ),
    )

    def hint_signature(self, pod: Pod) -> Hashable:
        return seen_of_volumes(pod)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Where the volumes of the pod's claims are; a pod without any that is bound to a place
        skips this plugin.
        """
        claims = [one.persistent_volume_claim for one in pod.spec.volumes or ()]
        names = [claim.claim_name for claim in claims if claim is not None]
        if not names:
            return PreFilterResult(SKIP)
        kinds = (PersistentVolumeClaim, PersistentVolume, StorageClass)
        depends = tuple(snapshot.store.version_counter(kind) for kind in kinds)
        places: dict[VolumeTopology, None] = {}
        for name in names:
            found, why = _topologies_of(pod.metadata.namespace, name, snapshot.store)
            if why:
                return PreFilterResult(rejected_for(why), depends_on=depends)
            places |= dict.fromkeys(found)
        return PreFilterResult(SUCCESS if places else SKIP, tuple(places), depends_on=depends)

    def filter(self, state: tuple[VolumeTopology, ...], snapshot: Snapshot, rows: Rows) -> Codes:
        """1 in another place."""
        labels = snapshot.nodes.labels
        placed = np.zeros(snapshot.nodes.live[rows].size, bool)
        for key in _SUCCESSOR:
            placed |= labels.column(key).codes[rows] != ABSENT
        wrong = np.zeros(placed.size, bool)
        for place in state:
            mine, successor = labels.column(place.key), labels.column(_SUCCESSOR[place.key])
            absent = mine.codes[rows] == ABSENT
            wrong |= np.where(absent, ~_inside(place, successor, rows), ~_inside(place, mine, rows))
        return (placed & wrong).astype(np.int64)

    def explain(self, state: tuple[VolumeTopology, ...], code: int) -> Why:
        return ((ELSEWHERE, ""),)


def _inside(place: VolumeTopology, column: LabelCodes, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows have one of the values; bool[len(rows)]."""
    return judge_each(
        column.codes[rows], lambda code: code != ABSENT and column.values[code] in place.values
    ).astype(bool)


def _topologies_of(
    namespace: str, name: str, store: Lister
) -> tuple[tuple[VolumeTopology, ...], Why]:
    """Where the volume of a claim is, or why the pod can't be placed."""
    if not name:
        return (), ((NAMELESS, ""),)
    claim = store.objects(PersistentVolumeClaim).get(f"{namespace}/{name}")
    if claim is None:
        return (), ((NO_CLAIM, name),)
    if not claim.spec.volume_name:
        return (), _why_unbound(claim, store)
    pv = store.objects(PersistentVolume).get(claim.spec.volume_name)
    return (
        ((), ((NO_VOLUME, claim.spec.volume_name),))
        if pv is None
        else (_topologies(pv.metadata.labels), ())
    )


def _why_unbound(claim: PersistentVolumeClaim, store: Lister) -> Why:
    """Why a claim without a volume keeps its pod waiting; nothing when the claim itself waits for
    the pod.
    """
    name = class_of(claim)
    if not name:
        return ((CLASSLESS, ""),)
    storage_class = store.objects(StorageClass).get(name)
    if storage_class is None:
        return ((NO_CLASS, name),)
    if storage_class.volume_binding_mode is None:
        return ((NO_MODE, name),)
    return () if storage_class.volume_binding_mode == WAIT else ((UNBOUND, ""),)
