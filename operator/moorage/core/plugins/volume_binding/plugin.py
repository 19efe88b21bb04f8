"""VolumeBinding: a pod's claims get volumes that its node can reach: those they have, free ones, or
ones made there.

What is decided for the chosen node is assumed at once (``reserve``) and written before the pod is
bound, by the plugin's actor.
Cost: nothing for pods without claims; else some array operations per claim over all nodes, as most
such pods have claims of their own.
Source: kube-scheduler VolumeBinding and component-helpers
``storage/volume`` (v1.36); docs/adr/0007 on where we differ.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from kubefacts.labels import SelectorError
from kubefacts.quantities import QuantityError
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import rows_matching
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.evaluation.dry_run import with_nominated_pods
from moorage.core.framework.interfaces import Codes, PreFilterResult, ReserveResult, Scores
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why, error_status
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
from moorage.core.plugins.volume_binding.offers import StorageCapacities, VolumeOffers
from moorage.core.plugins.volume_binding.volume_needs import (
    DELETED,
    LOST,
    NO_CLAIM,
    NOT_MADE,
    NOT_OWNER,
    UNBOUND,
    BoundClaim,
    ClaimToProvision,
    PodVolumeClaims,
    choose,
    kept_volumes,
    labels_of,
    volume_claims_of,
    waiting_claims,
)
from moorage.core.pods.node_selection import NodeTerms
from moorage.core.volumes.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, capacity_bytes, is_for
from moorage.core.volumes.csi_migration import migrated_on
from moorage.core.volumes.pod_volumes import claim_uses, identity_for_claims, seen_of_volumes
from moorage.core.volumes.reach import affinity_of

NAME = "VolumeBinding"
OUT_OF_REACH = Reason(
    "VolumeNodeAffinityConflict",
    "node(s) didn't match PersistentVolume's node affinity",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NOTHING_FREE = Reason(
    "NoVolumeToBind",
    "node(s) didn't find available persistent volumes to bind",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NO_ROOM = Reason(
    "NotEnoughStorage",
    "node(s) did not have enough free storage",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
VOLUME_GONE = Reason(
    "VolumeNotFound",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
_BITS = {1: OUT_OF_REACH, 2: NOTHING_FREE, 4: NO_ROOM, 8: VOLUME_GONE}
"""Codes are sums of these; reasons come in this order."""
_OUT_OF_REACH, _NOTHING_FREE, _NO_ROOM, _VOLUME_GONE = _BITS

Stored = TypeVar("Stored", PersistentVolume, PersistentVolumeClaim)
Mask = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBindingArgs:
    """How long to wait for volumes to be bound, in seconds; 0 is not at all."""

    __pydantic_config__: ClassVar = ARGUMENTS

    bind_timeout_seconds: int = 600
    shape: tuple[dict[str, Any], ...] | None = None
    """Not allowed: it is for the feature gate StorageCapacityScoring, which is off."""

    def validate(self) -> list[Violation]:
        """No negative time, and no shape."""
        found: list[Violation] = []
        if self.bind_timeout_seconds < 0:
            text = "invalid BindTimeoutSeconds, should not be a negative value"
            found.append(Violation("bindTimeoutSeconds", self.bind_timeout_seconds, text))
        if self.shape is not None:
            text = (
                "unexpected field `shape`, remove it or turn on the feature gate "
                "StorageCapacityScoring"
            )
            found.append(Violation("shape", self.shape, text))
        return found


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


# ---- what wakes it -------------------------------------------------------------------------------


def _allows_more(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the class is new, or its topologies changed."""
    old, new = event.old, event.new
    if not isinstance(old, StorageClass) or not isinstance(new, StorageClass):
        return True
    return (old.allowed_topologies or ()) != (new.allowed_topologies or ())


def _is_used(pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether this pod uses the claim."""
    claim = event.new
    return claim is not None and any(use.key == key(claim) for use in claim_uses(pod))


def _was_to_have_volumes(_pod: Pod, event: ClusterEvent, store: Lister) -> bool:
    """Whether a pod that goes nowhere after all may have had volumes set aside, which no volume's
    change tells.
    """
    claims = store.objects(PersistentVolumeClaim)
    uses = claim_uses(event.old) if isinstance(event.old, Pod) else ()
    return any(use.key in claims and not claims[use.key].spec.volume_name for use in uses)


def _is_migrated(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the node is new, or other drivers were taken over there."""
    old, new = event.old, event.new
    return (
        not isinstance(old, CSINode)
        or not isinstance(new, CSINode)
        or migrated_on(old) != migrated_on(new)
    )


def _asks_no_more(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether the driver does not tell any more how much room it has, so that nobody looks at
    that.
    """
    old, new = event.old, event.new
    return (
        isinstance(old, CSIDriver)
        and bool(old.spec.storage_capacity)
        and not (isinstance(new, CSIDriver) and new.spec.storage_capacity)
    )


def _has_grown(_pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
    """Whether there is more room than before."""
    old, new = event.old, event.new
    return (
        not isinstance(old, CSIStorageCapacity)
        or not isinstance(new, CSIStorageCapacity)
        or capacity_bytes(new) > capacity_bytes(old)
    )


# ---- the plugin ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBinding:
    """Passes nodes where each of the pod's claims has, can take, or can be given a volume."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (
        *_BITS.values(),
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
        ClusterEventWithHint(
            EventResource.STORAGE_CLASS,
            ActionType.ADD | ActionType.UPDATE,
            _allows_more,
            shared_by_signature=True,
        ),
        ClusterEventWithHint(
            EventResource.PERSISTENT_VOLUME_CLAIM,
            ActionType.ADD | ActionType.UPDATE,
            _is_used,
            shared_by_signature=True,
        ),
        ClusterEventWithHint(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE),
        ClusterEventWithHint(
            EventResource.ASSIGNED_POD,
            ActionType.DELETE,
            _was_to_have_volumes,
            shared_by_signature=True,
        ),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        ClusterEventWithHint(
            EventResource.CSI_NODE,
            ActionType.ADD | ActionType.UPDATE,
            _is_migrated,
            shared_by_signature=True,
        ),
        ClusterEventWithHint(
            EventResource.CSI_DRIVER,
            ActionType.UPDATE | ActionType.DELETE,
            _asks_no_more,
            shared_by_signature=True,
        ),
        ClusterEventWithHint(
            EventResource.CSI_STORAGE_CAPACITY,
            ActionType.ADD | ActionType.UPDATE,
            _has_grown,
            shared_by_signature=True,
        ),
    )

    args: VolumeBindingArgs = VolumeBindingArgs()

    def hint_signature(self, pod: Pod) -> Hashable:
        return seen_of_volumes(pod)

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Claims of ephemeral volumes are named after their pod."""
        return identity_for_claims(pod)

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
        if needs.to_provision:
            depends += (
                snapshot.store.version_counter(CSIDriver),
                snapshot.store.version_counter(CSIStorageCapacity),
            )
        if any(one.migrated for one in needs.bound):
            depends += (snapshot.store.version_counter(CSINode),)
        return PreFilterResult(SUCCESS, needs, depends_on=depends)

    def filter(self, state: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> Codes:
        """Bound claims and the others are looked at apart, and both may have a reason."""
        codes = _check_bound(state.bound, snapshot, rows)
        pending = np.ones(codes.size, bool)
        for node in sorted(state.nodes):
            pending &= np.arange(snapshot.nodes.rows)[rows] == snapshot.nodes.row_of.get(node, -1)
        codes[~pending] |= _NOTHING_FREE
        lacking = [(key(claim), np.ones(codes.size, bool)) for claim in state.provisioning]
        lacking += [
            (key(want.claim), ~found)
            for want, found in zip(state.to_bind, _matches(state, snapshot, rows), strict=True)
        ]
        for claim, lacks in lacking:
            made = _check_provisioning(state.to_provision[claim], snapshot, rows)
            refused_here = pending & lacks & (made != 0)
            codes[refused_here] |= made[refused_here]
            pending &= ~refused_here
        if state.waits:
            codes |= _NOTHING_FREE
        return codes

    def explain(self, state: PodVolumeClaims, code: int) -> Why:
        """One reason, or two."""
        return tuple((reason, "") for bit, reason in _BITS.items() if code & bit)

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
        """Nothing: nodes are not ranked by their storage while the feature gate
        StorageCapacityScoring is off.
        """
        return PreFilterResult(SKIP)

    def score(self, state: None, snapshot: Snapshot, rows: Rows) -> Scores:
        """0; not asked, as ``pre_score`` skips. Profiles may name the plugin here, as
        kube-scheduler's do.
        """
        return np.zeros(snapshot.nodes.live[rows].size, np.int64)

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """Choose the volumes on this node for good, and take them and the claims to be as they will
        be written.
        """
        prepared = self.pre_filter(pod, snapshot)
        if prepared.status.code is not Code.SUCCESS:
            return ReserveResult(SUCCESS if prepared.status.code is Code.SKIP else prepared.status)
        needs: PodVolumeClaims = with_nominated_pods(self, prepared.state, pod, snapshot)
        if not needs.to_provision:
            return ReserveResult(SUCCESS)
        chosen = choose(needs.to_bind, labels_of(node, snapshot), snapshot, needs.kept)
        volumes = tuple(
            _set_aside(pv, want.claim)
            for want, pv in zip(needs.to_bind, chosen, strict=True)
            if pv is not None
        )
        rest = [
            *needs.provisioning,
            *(want.claim for want, pv in zip(needs.to_bind, chosen, strict=True) if pv is None),
        ]
        provisions = tuple(_annotated(claim, SELECTED_NODE, node) for claim in rest)
        offers = snapshot.store.index(VolumeOffers)
        new_volumes = [pv for pv in volumes if pv is not offers.volume(pv.metadata.name)]
        new_claims = [claim for claim in provisions if claim is not offers.claim(key(claim))]
        offers.assume(new_volumes, new_claims)
        work = PodVolumes(
            volumes,
            provisions,
            (*new_volumes, *new_claims),
            tuple(needs.to_provision),
            self.args.bind_timeout_seconds,
        )
        return ReserveResult(SUCCESS, work, lambda: offers.release(new_volumes, new_claims))


# ---- inside --------------------------------------------------------------------------------------


def _check_bound(bound: Iterable[BoundClaim], snapshot: Snapshot, rows: Rows) -> Codes:
    """The first claim that has no volume, or one out of the node's reach, ends it."""
    codes = np.zeros(snapshot.nodes.live[rows].size, np.int64)
    for one in bound:
        if one.gone:
            codes[codes == 0] = _VOLUME_GONE
            break
        codes[(codes == 0) & ~_within(one, snapshot, rows)] = _OUT_OF_REACH
    return codes


def _within(one: BoundClaim, snapshot: Snapshot, rows: Rows) -> Mask:
    """Which rows can reach a volume."""
    here = _matching(one.terms, snapshot, rows)
    if not one.migrated:
        return here
    there = np.zeros(snapshot.nodes.rows, bool)
    for name, csi_node in snapshot.store.objects(CSINode).items():
        if one.migrated in migrated_on(csi_node) and name in snapshot.nodes.row_of:
            there[snapshot.nodes.row_of[name]] = True
    return np.where(there[rows], _matching(one.terms_there, snapshot, rows), here)


def _matching(terms: NodeTerms | None, snapshot: Snapshot, rows: Rows) -> Mask:
    if terms is None:
        return np.ones(snapshot.nodes.live[rows].size, bool)
    return rows_matching(terms, snapshot.nodes, rows).astype(bool)


def _check_provisioning(making: ClaimToProvision, snapshot: Snapshot, rows: Rows) -> Codes:
    """Where a claim's volume can't be made, and why."""
    if making.impossible:
        return np.full(snapshot.nodes.live[rows].size, _NOTHING_FREE)
    codes = np.where(_matching(making.terms, snapshot, rows), 0, _NOTHING_FREE)
    if making.amount is not None:
        enough = snapshot.store.index(StorageCapacities).enough(
            making.storage_class, making.amount, snapshot.nodes, rows
        )
        codes[(codes == 0) & ~enough] = _NO_ROOM
    return codes


def _matches(needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> list[Mask]:
    """For each claim, where it finds a volume that those before it leave it.

    A row that has more such volumes than there are claims before it has one left. Only where it has
    fewer, but some, is the choice really made: that takes several claims of one class, and scarce
    volumes.
    """
    offers, nodes = snapshot.store.index(VolumeOffers), snapshot.nodes
    found: list[Mask] = []
    unsure = np.zeros(nodes.live[rows].size, bool)
    rivals: dict[str, int] = {}
    for want in needs.to_bind:
        mine = offers.set_aside(want)
        if mine:
            found.append(
                np.logical_or.reduce([_matching(affinity_of(pv), snapshot, rows) for pv in mine])
            )
            continue
        counts, before = (
            offers.counts(want, nodes, rows, needs.kept),
            rivals.get(want.storage_class, 0),
        )
        rivals[want.storage_class] = before + 1
        found.append(counts > before)
        unsure |= (counts > 0) & (counts <= before)
    numbers = np.arange(nodes.rows)[rows]
    for i in np.flatnonzero(unsure & nodes.live[rows]).tolist():
        chosen = choose(
            needs.to_bind, labels_of(nodes.names[numbers[i]], snapshot), snapshot, needs.kept
        )
        for mask, pv in zip(found, chosen, strict=True):
            mask[i] = pv is not None
    return found


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
