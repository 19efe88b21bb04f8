"""VolumeBinding: a pod's claims get volumes that its node can reach: those they have, free ones, or ones made there.

What is decided for the chosen node is assumed at once (``reserve``) and written before the pod is bound, by the plugin's actor.
Cost: nothing for pods without claims; else some array operations per claim over all nodes, as most such pods have claims of
their own.
Source: kube-scheduler VolumeBinding and component-helpers ``storage/volume`` (v1.36); docs/adr/0007 on where we differ.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from moorage.core.cluster_events import Action, ClusterEvent, Resource, Wake
from moorage.core.columns.changes import Versioned
from moorage.core.columns.node_table import Aspect, Rows
from moorage.core.columns.selecting import rows_matching
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Objects
from moorage.core.columns.volume_offers import StorageRooms, VolumeOffers, Want
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.interfaces import Codes, Prepared, Reserved, Scores
from moorage.core.label_selectors import SelectorError, compile_selector
from moorage.core.objects import HasMetadata, Labels, Pod, key
from moorage.core.predicates import NodeTerms
from moorage.core.quantities import QuantityError
from moorage.core.storage_objects import (
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.core.verdicts import SKIP, SUCCESS, Code, Reason, Status, Why, failed, refused
from moorage.core.volumes import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT,
    ClaimUse,
    affinity_of,
    allowed_topologies,
    claim_uses,
    class_of,
    identity_for_claims,
    in_tree_plugin,
    is_bound,
    is_for,
    migrated_affinity_of,
    migrated_on,
    not_owner,
    requested,
    room,
    seen_of_volumes,
)

NAME = "VolumeBinding"
OUT_OF_REACH = Reason("VolumeNodeAffinityConflict", "node(s) didn't match PersistentVolume's node affinity", Code.UNRESOLVABLE)
NOTHING_FREE = Reason("NoVolumeToBind", "node(s) didn't find available persistent volumes to bind", Code.UNRESOLVABLE)
NO_ROOM = Reason("NotEnoughStorage", "node(s) did not have enough free storage", Code.UNRESOLVABLE)
VOLUME_GONE = Reason("VolumeNotFound", "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", Code.UNRESOLVABLE)
UNBOUND = Reason("UnboundImmediateClaim", "pod has unbound immediate PersistentVolumeClaims", Code.UNRESOLVABLE)
NO_CLAIM = Reason("ClaimNotFound", 'persistentvolumeclaim "{}" not found', Code.UNRESOLVABLE)
NOT_MADE = Reason(
    "EphemeralClaimNotMade", 'waiting for ephemeral volume controller to create the persistentvolumeclaim "{}"', Code.UNRESOLVABLE
)
NOT_OWNER = Reason("ClaimNotOwned", "PVC {} (pod is not owner)", Code.UNRESOLVABLE)
LOST = Reason("ClaimLost", 'persistentvolumeclaim "{}" bound to non-existent persistentvolume "{}"', Code.UNRESOLVABLE)
DELETED = Reason("ClaimBeingDeleted", 'persistentvolumeclaim "{}" is being deleted', Code.UNRESOLVABLE)

_BITS = {1: OUT_OF_REACH, 2: NOTHING_FREE, 4: NO_ROOM, 8: VOLUME_GONE}
"""Codes are sums of these; reasons come in this order."""
_OUT_OF_REACH, _NOTHING_FREE, _NO_ROOM, _VOLUME_GONE = _BITS
_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")

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
            text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            found.append(Violation("shape", self.shape, text))
        return found


# ---- what a pod needs ----------------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """A claim's volume, as far as nodes can reach it; ``gone``: it is not there.

    ``migrated``: where its node's drivers have taken over from this in-tree one, ``terms_there`` count instead.
    """

    gone: bool = False
    terms: NodeTerms | None = None
    migrated: str = ""
    terms_there: NodeTerms | None = None


class Making(NamedTuple):
    """How a claim's volume is made: not at all (``impossible``), on which nodes, and how many bytes a driver must have free there."""

    impossible: bool
    terms: NodeTerms | None
    storage_class: str
    amount: int | None


class Needs(NamedTuple):
    """What ``filter`` looks at.

    ``promised``: claims whose volume is to be made on a node that was chosen before, ``nodes`` the names of these. ``wants``: claims
    that take a free volume or, where none will do, get one made; the smallest first. ``making``: how, by the claim's key.
    """

    bound: tuple[Bound, ...]
    promised: tuple[PersistentVolumeClaim, ...]
    nodes: frozenset[str]
    wants: tuple[Want, ...]
    making: dict[str, Making]


class Work(NamedTuple):
    """What must be so before a pod is bound: volumes are set aside for claims, other claims have their node, and all get bound.

    ``writes`` are those of both that are not so yet, nor being written for another pod; the others are waited for like these.
    ``claims``: all of them, by ``namespace/name``. ``timeout``: how long to wait, in seconds.
    """

    volumes: tuple[PersistentVolume, ...]
    provisions: tuple[PersistentVolumeClaim, ...]
    writes: tuple[PersistentVolume | PersistentVolumeClaim, ...]
    claims: tuple[str, ...]
    timeout: int


# ---- what wakes it -------------------------------------------------------------------------------------------------------------


def _allows_more(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the class is new, or its topologies changed."""
    old, new = event.old, event.new
    if not isinstance(old, StorageClass) or not isinstance(new, StorageClass):
        return True
    return (old.allowed_topologies or ()) != (new.allowed_topologies or ())


def _is_used(pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether this pod uses the claim."""
    claim = event.new
    return claim is not None and any(use.key == key(claim) for use in claim_uses(pod))


def _was_to_have_volumes(_pod: Pod, event: ClusterEvent, store: Objects) -> bool:
    """Whether a pod that goes nowhere after all may have had volumes set aside, which no volume's change tells."""
    claims = store.objects(PersistentVolumeClaim)
    uses = claim_uses(event.old) if isinstance(event.old, Pod) else ()
    return any(use.key in claims and not claims[use.key].spec.volume_name for use in uses)


def _is_migrated(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the node is new, or other drivers were taken over there."""
    old, new = event.old, event.new
    return not isinstance(old, CSINode) or not isinstance(new, CSINode) or migrated_on(old) != migrated_on(new)


def _asks_no_more(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether the driver does not tell any more how much room it has, so that nobody looks at that."""
    old, new = event.old, event.new
    return isinstance(old, CSIDriver) and bool(old.spec.storage_capacity) and not (isinstance(new, CSIDriver) and new.spec.storage_capacity)


def _has_grown(_pod: Pod, event: ClusterEvent, _store: Objects) -> bool:
    """Whether there is more room than before."""
    old, new = event.old, event.new
    return not isinstance(old, CSIStorageCapacity) or not isinstance(new, CSIStorageCapacity) or room(new) > room(old)


# ---- the plugin ----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBinding:
    """Passes nodes where each of the pod's claims has, can take, or can be given a volume."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (*_BITS.values(), UNBOUND, NO_CLAIM, NOT_MADE, NOT_OWNER, LOST, DELETED)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})
    kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {CSIDriver, CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass}
    )
    wakes: ClassVar[tuple[Wake, ...]] = (
        Wake(Resource.STORAGE_CLASS, Action.ADD | Action.UPDATE, _allows_more, shared=True),
        Wake(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, _is_used, shared=True),
        Wake(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE),
        Wake(Resource.ASSIGNED_POD, Action.DELETE, _was_to_have_volumes, shared=True),
        Wake(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        Wake(Resource.CSI_NODE, Action.ADD | Action.UPDATE, _is_migrated, shared=True),
        Wake(Resource.CSI_DRIVER, Action.UPDATE | Action.DELETE, _asks_no_more, shared=True),
        Wake(Resource.CSI_STORAGE_CAPACITY, Action.ADD | Action.UPDATE, _has_grown, shared=True),
    )

    args: VolumeBindingArgs = VolumeBindingArgs()

    def heeds(self, pod: Pod) -> Hashable:
        """Its volumes."""
        return seen_of_volumes(pod)

    def distinguish(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Claims of ephemeral volumes are named after their pod."""
        return identity_for_claims(pod)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Prepared:
        """What the pod's claims have and lack; a pod without claims skips this plugin."""
        uses = tuple(dict.fromkeys(claim_uses(pod)))  # two volumes of one claim are one to bind
        if not uses:
            return Prepared(SKIP)
        status, claims = _claims(pod, uses, snapshot)
        depends: tuple[Versioned, ...] = (snapshot.store.index(VolumeOffers).clock, snapshot.store.clock(StorageClass))
        if status.code is not Code.SUCCESS:
            return Prepared(status, depends=depends)
        try:
            needs = _needs(claims, snapshot)
        except (SelectorError, QuantityError) as error:
            return Prepared(failed(str(error)), depends=depends)
        if needs.making:
            depends += (snapshot.store.clock(CSIDriver), snapshot.store.clock(CSIStorageCapacity))
        if any(one.migrated for one in needs.bound):
            depends += (snapshot.store.clock(CSINode),)
        return Prepared(SUCCESS, needs, depends=depends)

    def filter(self, state: Needs, snapshot: Snapshot, rows: Rows) -> Codes:
        """Bound claims and the others are looked at apart, and both may have a reason."""
        codes = _check_bound(state.bound, snapshot, rows)
        pending = np.ones(codes.size, bool)
        for node in sorted(state.nodes):
            pending &= np.arange(snapshot.nodes.rows)[rows] == snapshot.nodes.row_of.get(node, -1)
        codes[~pending] |= _NOTHING_FREE
        lacking = [(key(claim), np.ones(codes.size, bool)) for claim in state.promised]
        lacking += [(key(want.claim), ~found) for want, found in zip(state.wants, _matches(state.wants, snapshot, rows), strict=True)]
        for claim, lacks in lacking:
            made = _check_making(state.making[claim], snapshot, rows)
            refused_here = pending & lacks & (made != 0)
            codes[refused_here] |= made[refused_here]
            pending &= ~refused_here
        return codes

    def explain(self, state: Needs, code: int) -> Why:
        """One reason, or two."""
        return tuple((reason, "") for bit, reason in _BITS.items() if code & bit)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Prepared:
        """Nothing: nodes are not ranked by their storage while the feature gate StorageCapacityScoring is off."""
        return Prepared(SKIP)

    def score(self, state: None, snapshot: Snapshot, rows: Rows) -> Scores:
        """0; not asked, as ``pre_score`` skips. Profiles may name the plugin here, as kube-scheduler's do."""
        return np.zeros(snapshot.nodes.live[rows].size, np.int64)

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> Reserved:
        """Choose the volumes on this node for good, and take them and the claims to be as they will be written."""
        prepared = self.pre_filter(pod, snapshot)
        if prepared.status.code is not Code.SUCCESS:
            return Reserved(SUCCESS if prepared.status.code is Code.SKIP else prepared.status)
        needs: Needs = prepared.state
        if not needs.making:
            return Reserved(SUCCESS)
        chosen = _choose(needs.wants, _labels(node, snapshot), snapshot)
        volumes = tuple(_set_aside(pv, want.claim) for want, pv in zip(needs.wants, chosen, strict=True) if pv is not None)
        rest = [*needs.promised, *(want.claim for want, pv in zip(needs.wants, chosen, strict=True) if pv is None)]
        provisions = tuple(_annotated(claim, SELECTED_NODE, node) for claim in rest)
        offers = snapshot.store.index(VolumeOffers)
        new_volumes = [pv for pv in volumes if pv is not offers.volume(pv.metadata.name)]
        new_claims = [claim for claim in provisions if claim is not offers.claim(key(claim))]
        offers.assume(new_volumes, new_claims)
        work = Work(volumes, provisions, (*new_volumes, *new_claims), tuple(needs.making), self.args.bind_timeout_seconds)
        return Reserved(SUCCESS, work, lambda: offers.release(new_volumes, new_claims))


# ---- inside --------------------------------------------------------------------------------------------------------------------


def _claims(pod: Pod, uses: Iterable[ClaimUse], snapshot: Snapshot) -> tuple[Status, list[PersistentVolumeClaim]]:
    """The pod's claims, or why it can't be placed for now."""
    claims = []
    for use in uses:
        claim = snapshot.store.index(VolumeOffers).claim(use.key)
        if claim is None:
            return _refused(NOT_MADE if use.owner else NO_CLAIM, use.name), []
        if claim.status.phase == "Lost":
            return _refused(LOST, use.name, claim.spec.volume_name), []
        if claim.metadata.deletion_timestamp is not None:
            return _refused(DELETED, use.name), []
        if not use.owns(claim):
            return _refused(NOT_OWNER, not_owner(pod, use)), []
        claims.append(claim)
    return _immediate(claims, snapshot), claims


def _immediate(claims: Iterable[PersistentVolumeClaim], snapshot: Snapshot) -> Status:
    """A claim that has no volume yet and does not wait for the pod must get one first."""
    unbound = False
    for claim in claims:
        if not is_bound(claim):
            storage_class = snapshot.store.objects(StorageClass).get(class_of(claim))
            if storage_class is not None and storage_class.volume_binding_mode is None:
                return failed(f'VolumeBindingMode not set for StorageClass "{storage_class.metadata.name}"')
            waits = storage_class is not None and storage_class.volume_binding_mode == WAIT
            unbound |= not waits or bool(claim.spec.volume_name)
    return refused(UNBOUND) if unbound else SUCCESS


def _refused(reason: Reason, *details: str) -> Status:
    return Status(reason.code, (reason.text.format(*details),))


def _needs(claims: Iterable[PersistentVolumeClaim], snapshot: Snapshot) -> Needs:
    bound, promised, wants, making, nodes = [], [], [], {}, set()
    for claim in claims:
        if is_bound(claim):
            bound.append(_bound(claim, snapshot))
            continue
        making[key(claim)] = _making(claim, snapshot)
        node = (claim.metadata.annotations or {}).get(SELECTED_NODE)
        if node is not None:
            promised.append(claim)
            nodes.add(node)
            continue
        selector = compile_selector(claim.spec.selector) if claim.spec.selector is not None else None
        wants.append(Want(claim, class_of(claim), requested(claim) or 0, selector))
    wants.sort(key=lambda want: want.least)
    return Needs(tuple(bound), tuple(promised), frozenset(nodes), tuple(wants), making)


def _bound(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Bound:
    pv = snapshot.store.index(VolumeOffers).volume(claim.spec.volume_name)
    if pv is None:
        return Bound(gone=True)
    plugin = in_tree_plugin(pv)
    return Bound(False, affinity_of(pv), plugin, migrated_affinity_of(pv) if plugin else None)


def _making(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Making:
    name = class_of(claim)
    storage_class = snapshot.store.objects(StorageClass)[name]  # _immediate has seen it
    driver = snapshot.store.objects(CSIDriver).get(storage_class.provisioner)
    amount = requested(claim) if driver is not None and driver.spec.storage_capacity else None
    return Making(
        storage_class.provisioner in _NO_PROVISIONER,
        allowed_topologies(storage_class),
        name,
        amount,
    )


def _check_bound(bound: Iterable[Bound], snapshot: Snapshot, rows: Rows) -> Codes:
    """The first claim that has no volume, or one out of the node's reach, ends it."""
    codes = np.zeros(snapshot.nodes.live[rows].size, np.int64)
    for one in bound:
        if one.gone:
            codes[codes == 0] = _VOLUME_GONE
            break
        codes[(codes == 0) & ~_within(one, snapshot, rows)] = _OUT_OF_REACH
    return codes


def _within(one: Bound, snapshot: Snapshot, rows: Rows) -> Mask:
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


def _check_making(making: Making, snapshot: Snapshot, rows: Rows) -> Codes:
    """Where a claim's volume can't be made, and why."""
    if making.impossible:
        return np.full(snapshot.nodes.live[rows].size, _NOTHING_FREE)
    codes = np.where(_matching(making.terms, snapshot, rows), 0, _NOTHING_FREE)
    if making.amount is not None:
        enough = snapshot.store.index(StorageRooms).enough(making.storage_class, making.amount, snapshot.nodes, rows)
        codes[(codes == 0) & ~enough] = _NO_ROOM
    return codes


def _matches(wants: tuple[Want, ...], snapshot: Snapshot, rows: Rows) -> list[Mask]:
    """For each claim, where it finds a volume that those before it leave it.

    A row that has more such volumes than there are claims before it has one left. Only where it has fewer, but some, is the choice
    really made: that takes several claims of one class, and scarce volumes.
    """
    offers, nodes = snapshot.store.index(VolumeOffers), snapshot.nodes
    found: list[Mask] = []
    unsure = np.zeros(nodes.live[rows].size, bool)
    rivals: dict[str, int] = {}
    for want in wants:
        mine = offers.set_aside(want)
        if mine:
            found.append(np.logical_or.reduce([_matching(affinity_of(pv), snapshot, rows) for pv in mine]))
            continue
        counts, before = offers.counts(want, nodes, rows), rivals.get(want.storage_class, 0)
        rivals[want.storage_class] = before + 1
        found.append(counts > before)
        unsure |= (counts > 0) & (counts <= before)
    numbers = np.arange(nodes.rows)[rows]
    for i in np.flatnonzero(unsure & nodes.live[rows]).tolist():
        for mask, pv in zip(found, _choose(wants, _labels(nodes.names[numbers[i]], snapshot), snapshot), strict=True):
            mask[i] = pv is not None
    return found


def _choose(wants: Iterable[Want], labels: Labels, snapshot: Snapshot) -> list[PersistentVolume | None]:
    """The volume for each claim on a node with these labels: the one set aside for it, else the smallest that is left."""
    offers = snapshot.store.index(VolumeOffers)
    taken: dict[str, None] = {}
    chosen: list[PersistentVolume | None] = []
    for want in wants:
        mine = offers.set_aside(want)
        within = (pv for pv in mine if (terms := affinity_of(pv)) is None or any(term.matches(labels, "") for term in terms))
        pv = next(within, None) if mine else offers.smallest(want, labels, taken)
        if pv is not None:
            taken[pv.metadata.name] = None
        chosen.append(pv)
    return chosen


def _labels(node: str, snapshot: Snapshot) -> Labels:
    found = snapshot.nodes.nodes[snapshot.nodes.row_of[node]]
    return (found.metadata.labels if found is not None else None) or {}


def _set_aside(pv: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as it will be written: for this claim. One that is for it already stays as it is."""
    meta = claim.metadata
    if pv.spec.claim_ref is not None and pv.spec.claim_ref.uid == meta.uid:
        return pv
    ref = ClaimRef("PersistentVolumeClaim", "v1", meta.namespace, meta.name, meta.uid, meta.resource_version)
    new = msgspec.structs.replace(pv, spec=msgspec.structs.replace(pv.spec, claim_ref=ref))
    return new if is_for(pv, claim) else _annotated(new, BOUND_BY_CONTROLLER, "yes")


def _annotated(obj: Stored, name: str, text: str) -> Stored:
    """With an annotation more; itself if it has that."""
    if (obj.metadata.annotations or {}).get(name) == text:
        return obj
    metadata = msgspec.structs.replace(obj.metadata, annotations={**(obj.metadata.annotations or {}), name: text})
    return msgspec.structs.replace(obj, metadata=metadata)
