"""VolumeBinding: a pod's claims get volumes that its node can reach: those they have, free ones, or
ones made there.

What is decided for the chosen node is assumed at once (``reserve``) and written before the pod is
bound, by the plugin's actor.
Cost: nothing for pods without claims; else some array operations per claim over all nodes, as most
such pods have claims of their own.
Source: kube-scheduler VolumeBinding and component-helpers
``storage/volume`` (v1.37); docs/adr/0007 on where we differ.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np

from kubefacts.labels import SelectorError
from kubefacts.quantities import QuantityError
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.evaluation.far_nominations import with_nominated_pods
from moorage.core.framework.interfaces import Codes, PreFilterResult, ReserveResult, Scores
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why, error_status
from moorage.core.framework.utilization_shape import (
    UtilizationShape,
    UtilizationShapePoint,
    shape_table,
    shape_violations,
)
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.plugins.volume_binding.queueing_hints import (
    allows_more,
    asks_no_more,
    has_grown,
    is_migrated,
    is_used,
    was_to_have_volumes,
)
from moorage.core.plugins.volume_binding.storage_scores import storage_scores
from moorage.core.plugins.volume_binding.volume_checks import (
    _NOTHING_FREE,
    REASON_BITS,
    check_bound,
    check_provisioning,
    find_lacking,
)
from moorage.core.plugins.volume_binding.volume_needs import (
    DELETED,
    LOST,
    NO_CLAIM,
    NOT_MADE,
    NOT_OWNER,
    UNBOUND,
    PodVolumeClaims,
    choose,
    kept_volumes,
    labels_of,
    volume_claims_of,
    waiting_claims,
)
from moorage.core.volumes.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, is_for
from moorage.core.volumes.pod_volumes import claim_uses, identity_for_claims, seen_of_volumes

NAME = "VolumeBinding"
UNUSED_FIRST: UtilizationShape = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))

Stored = TypeVar("Stored", PersistentVolume, PersistentVolumeClaim)


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBindingArgs:
    """How long to wait for volumes to be bound, in seconds (0 is not at all), and what a use of
    storage is worth; an empty shape is the default one.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    bind_timeout_seconds: int = 600
    shape: UtilizationShape | None = UNUSED_FIRST

    def validate(self) -> list[Violation]:
        """No negative time, and points from left to right."""
        found: list[Violation] = []
        if self.bind_timeout_seconds < 0:
            text = "invalid BindTimeoutSeconds, should not be a negative value"
            found.append(Violation("bindTimeoutSeconds", self.bind_timeout_seconds, text))
        return found + shape_violations(self.shape or UNUSED_FIRST)


class PodVolumes(NamedTuple):
    """What must be so before a pod is bound: volumes are set aside for claims, other claims have
    their node, and all get bound.

    ``writes`` are those of both that are not so yet, nor being written for another pod; the others
    are waited for like these. ``claims``: all of them, by ``namespace/name``. ``timeout``: how long
    to wait, in seconds.
    """

    volumes: tuple[PersistentVolume, ...]
    provisions: tuple[PersistentVolumeClaim, ...]
    writes: tuple[PersistentVolume | PersistentVolumeClaim, ...]
    claims: tuple[str, ...]
    timeout: int


# ---- the plugin ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBinding:
    """Passes nodes where each of the pod's claims has, can take, or can be given a volume."""

    name: ClassVar[str] = NAME
    skips_reserve: ClassVar[bool] = True
    reasons: ClassVar[tuple[Reason, ...]] = (
        *REASON_BITS.values(),
        UNBOUND,
        NO_CLAIM,
        NOT_MADE,
        NOT_OWNER,
        LOST,
        DELETED,
    )
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {
            CSIDriver,
            CSINode,
            CSIStorageCapacity,
            PersistentVolume,
            PersistentVolumeClaim,
            StorageClass,
        }
    )
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        shared_hint(EventResource.STORAGE_CLASS, ActionType.ADD | ActionType.UPDATE, allows_more),
        shared_hint(
            EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE, is_used
        ),
        ClusterEventWithHint(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE),
        shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, was_to_have_volumes),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        shared_hint(EventResource.CSI_NODE, ActionType.ADD | ActionType.UPDATE, is_migrated),
        shared_hint(EventResource.CSI_DRIVER, ActionType.UPDATE | ActionType.DELETE, asks_no_more),
        shared_hint(
            EventResource.CSI_STORAGE_CAPACITY, ActionType.ADD | ActionType.UPDATE, has_grown
        ),
    )

    args: VolumeBindingArgs = VolumeBindingArgs()

    def hint_signature(self, pod: Pod) -> Hashable:
        return seen_of_volumes(pod)

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Claims of ephemeral volumes are named after their pod."""
        return identity_for_claims(pod)

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """Others have no such claims."""
        return None if identity_for_claims(pod) else ()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """What the pod's claims have and lack; a pod without claims skips this plugin."""
        if next(claim_uses(pod), None) is None:
            return PreFilterResult(SKIP)
        status, claims = waiting_claims(pod, snapshot)
        depends: tuple[Versioned, ...] = (
            snapshot.store.index(VolumeOffers).version_counter,
            snapshot.store.version_counter(StorageClass),
        )
        if status.code is not Code.SUCCESS:
            return PreFilterResult(status, depends_on=depends)
        try:
            needs = volume_claims_of(claims, snapshot)
        except (SelectorError, QuantityError) as error:
            return PreFilterResult(error_status(str(error)), depends_on=depends)
        return PreFilterResult(SUCCESS, needs, depends_on=depends + _read_for(needs, snapshot))

    def filter(self, state: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> Codes:
        """Bound claims and the others are looked at apart, and both may have a reason."""
        codes = check_bound(state.bound, snapshot, rows)
        pending = np.ones(codes.size, bool)
        for node in sorted(state.nodes):
            pending &= np.arange(snapshot.nodes.rows)[rows] == snapshot.nodes.row_of.get(node, -1)
        codes[~pending] |= _NOTHING_FREE
        for claim, lacks in find_lacking(state, snapshot, rows):
            made = check_provisioning(state.to_provision[claim], snapshot, rows)
            refused_here = pending & lacks & (made != 0)
            codes[refused_here] |= made[refused_here]
            pending &= ~refused_here
        if state.waits:
            codes |= _NOTHING_FREE
        return codes

    def explain(self, state: PodVolumeClaims, code: int) -> Why:
        """One reason, or two."""
        return tuple((reason, "") for bit, reason in REASON_BITS.items() if code & bit)

    def adjust(
        self, state: PodVolumeClaims, other: Pod, row: int, sign: int, snapshot: Snapshot
    ) -> PodVolumeClaims:
        """Beside what is kept for a nominated pod. Whoever leaves leaves its volumes to its
        claims.
        """
        if sign < 0 or not state.to_bind or next(claim_uses(other), None) is None:
            return state
        kept = kept_volumes(snapshot).get(other.metadata.uid)
        return state if kept is None else state.without_kept(kept)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The claims that have no volume yet: without any there is no state."""
        prepared = self.pre_filter(pod, snapshot)
        needs = prepared.state if prepared.status.code is Code.SUCCESS else None
        state = needs if needs is not None and needs.to_provision else None
        return PreFilterResult(SUCCESS, state, depends_on=prepared.depends_on)

    def score(self, state: PodVolumeClaims | None, snapshot: Snapshot, rows: Rows) -> Scores:
        """By how much of a node's storage the pod would use; 0 for a pod that needs none."""
        if state is None:
            return np.zeros(snapshot.nodes.live[rows].size, np.int64)
        return storage_scores(state, shape_table(self.args.shape or UNUSED_FIRST), snapshot, rows)

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """Choose volumes for good, and take them and the claims to be as they will be written."""
        prepared = self.pre_filter(pod, snapshot)
        if prepared.status.code is not Code.SUCCESS:
            return ReserveResult(SUCCESS if prepared.status.code is Code.SKIP else prepared.status)
        needs: PodVolumeClaims = with_nominated_pods(self, prepared.state, pod, snapshot)
        if not needs.to_provision:
            return ReserveResult(SUCCESS)
        volumes, provisions = _choose_volumes(needs, node, snapshot)
        offers = snapshot.store.index(VolumeOffers)
        new_volumes = [pv for pv in volumes if pv is not offers.volume(pv.metadata.name)]
        new_claims = [claim for claim in provisions if claim is not offers.claim(key(claim))]
        offers.assume(new_volumes, new_claims)
        wanted, timeout = tuple(needs.to_provision), self.args.bind_timeout_seconds
        work = PodVolumes(volumes, provisions, (*new_volumes, *new_claims), wanted, timeout)
        return ReserveResult(SUCCESS, work, lambda: offers.release(new_volumes, new_claims))


def _read_for(needs: PodVolumeClaims, snapshot: Snapshot) -> tuple[Versioned, ...]:
    """The kinds that are read only where volumes are to be made, or were made by in-tree
    plugins.
    """
    kinds: tuple[type[HasMetadata], ...] = ()
    if needs.to_provision:
        kinds += (CSIDriver, CSIStorageCapacity)
    if any(one.migrated for one in needs.bound):
        kinds += (CSINode,)
    return tuple(map(snapshot.store.version_counter, kinds))


def _choose_volumes(
    needs: PodVolumeClaims, node: str, snapshot: Snapshot
) -> tuple[tuple[PersistentVolume, ...], tuple[PersistentVolumeClaim, ...]]:
    """The volumes for claims that find one on this node, and the claims whose volumes are to be
    made there; as they will be written.
    """
    chosen = choose(needs.to_bind, labels_of(node, snapshot), snapshot, needs.kept)
    pairs = [(want.claim, pv) for want, pv in zip(needs.to_bind, chosen, strict=True)]
    volumes = tuple(_set_aside(pv, claim) for claim, pv in pairs if pv is not None)
    rest = (*needs.provisioning, *(claim for claim, pv in pairs if pv is None))
    return volumes, tuple(_annotated(claim, SELECTED_NODE, node) for claim in rest)


def _set_aside(pv: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it will be written: for this claim. One that is for it already stays as it
    is.
    """
    meta = claim.metadata
    if pv.spec.claim_ref is not None and pv.spec.claim_ref.uid == meta.uid:
        return pv
    ref = ClaimRef(
        "PersistentVolumeClaim", "v1", meta.namespace, meta.name, meta.uid, meta.resource_version
    )
    new = msgspec.structs.replace(pv, spec=msgspec.structs.replace(pv.spec, claim_ref=ref))
    return new if is_for(pv, claim) else _annotated(new, BOUND_BY_CONTROLLER, "yes")


def _annotated(obj: Stored, name: str, text: str) -> Stored:
    """With an annotation more; itself if it has that."""
    if (obj.metadata.annotations or {}).get(name) == text:
        return obj
    metadata = msgspec.structs.replace(
        obj.metadata, annotations={**(obj.metadata.annotations or {}), name: text}
    )
    return msgspec.structs.replace(obj, metadata=metadata)
