"""What a pod needs of volumes: those that its claims have, free ones that they may take, or ones to
be made for them.

Shared by all that VolumeBinding does; a value that follows from the pod and what the store has.
Source: kube-scheduler VolumeBinding and component-helpers ``storage/volume`` (v1.37); docs/adr/0007
on where we differ.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubefacts.labels import SelectorError, compile_selector
from kubefacts.quantities import QuantityError
from moorage.core.columns.change_log import Aspect
from moorage.core.columns.kept_choices import KeptChoices
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.status import SUCCESS, Code, Reason, Status, error_status, rejected
from moorage.core.objects.meta import Labels, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSIDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.core.plugins.volume_binding.offers import VolumeOffers, VolumeRequest
from moorage.core.pods.node_selection import NodeTerms
from moorage.core.volumes.claims import SELECTED_NODE, WAIT, class_of, is_bound, requested
from moorage.core.volumes.csi_migration import in_tree_plugin
from moorage.core.volumes.pod_volumes import claim_uses, not_owner
from moorage.core.volumes.reach import affinity_of, allowed_topologies, migrated_affinity_of

UNBOUND = Reason(
    "UnboundImmediateClaim",
    "pod has unbound immediate PersistentVolumeClaims",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NO_CLAIM = Reason(
    "ClaimNotFound", 'persistentvolumeclaim "{}" not found', Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
NOT_MADE = Reason(
    "EphemeralClaimNotMade",
    'waiting for ephemeral volume controller to create the persistentvolumeclaim "{}"',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NOT_OWNER = Reason(
    "ClaimNotOwned", "PVC {} (pod is not owner)", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
LOST = Reason(
    "ClaimLost",
    'persistentvolumeclaim "{}" bound to non-existent persistentvolume "{}"',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
DELETED = Reason(
    "ClaimBeingDeleted",
    'persistentvolumeclaim "{}" is being deleted',
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)

_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


class BoundClaim(NamedTuple):
    """A claim's volume, as far as nodes can reach it; ``gone``: it is not there.

    ``migrated``: where its node's drivers have taken over from this in-tree one, ``terms_there``
    count instead.
    """

    gone: bool = False
    terms: NodeTerms | None = None
    migrated: str = ""
    terms_there: NodeTerms | None = None


class ClaimToProvision(NamedTuple):
    """How a claim's volume is made: not at all (``impossible``), on which nodes, and how many bytes
    a driver must have free there.
    """

    impossible: bool
    terms: NodeTerms | None
    storage_class: str
    amount: int | None


class PodVolumeClaims(NamedTuple):
    """What ``filter`` looks at.

    ``provisioning``: claims whose volume is to be made on a node that was chosen before, ``nodes``
    the names of these. ``to_bind``: claims that take a free volume or, where none will do, get one
    made; the smallest first. ``to_provision``: how, by the claim's key. ``kept``: volumes that are
    kept for other pods. ``waits``: one of these is to have a claim bound that this pod wants too.
    """

    bound: tuple[BoundClaim, ...]
    provisioning: tuple[PersistentVolumeClaim, ...]
    nodes: frozenset[str]
    to_bind: tuple[VolumeRequest, ...]
    to_provision: dict[str, ClaimToProvision]
    kept: frozenset[str] = frozenset()
    waits: bool = False

    def without_kept(self, other: KeptVolumes) -> PodVolumeClaims:
        """The same, with this kept too."""
        waits = self.waits or any(key(want.claim) in other.claims for want in self.to_bind)
        return self._replace(kept=self.kept | other.volumes, waits=waits)


class KeptVolumes(NamedTuple):
    """What is kept for a pod: claims (keys) that are to be bound for it, and the names of free
    volumes that they will get.
    """

    claims: frozenset[str]
    volumes: frozenset[str]


def waiting_claims(pod: Pod, snapshot: Snapshot) -> tuple[Status, list[PersistentVolumeClaim]]:
    """The pod's claims, or why it can't be placed for now."""
    claims = []
    for use in dict.fromkeys(claim_uses(pod)):  # two volumes of one claim are one to bind
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
                return error_status(
                    f'VolumeBindingMode not set for StorageClass "{storage_class.metadata.name}"'
                )
            waits = storage_class is not None and storage_class.volume_binding_mode == WAIT
            unbound |= not waits or bool(claim.spec.volume_name)
    return rejected(UNBOUND) if unbound else SUCCESS


def _refused(reason: Reason, *details: str) -> Status:
    return Status(reason.code, (reason.text.format(*details),))


def volume_claims_of(
    claims: Iterable[PersistentVolumeClaim], snapshot: Snapshot
) -> PodVolumeClaims:
    """What these claims have and lack. Raises SelectorError, QuantityError."""
    bound, promised, wants, making, nodes = [], [], [], {}, set()
    for claim in claims:
        if is_bound(claim):
            bound.append(_bound(claim, snapshot))
            continue
        making[key(claim)] = _to_provision(claim, snapshot)
        node = (claim.metadata.annotations or {}).get(SELECTED_NODE)
        if node is not None:
            promised.append(claim)
            nodes.add(node)
            continue
        wants.append(_request(claim))
    wants.sort(key=lambda want: want.min_size)
    return PodVolumeClaims(tuple(bound), tuple(promised), frozenset(nodes), tuple(wants), making)


def _request(claim: PersistentVolumeClaim) -> VolumeRequest:
    selector = compile_selector(claim.spec.selector) if claim.spec.selector is not None else None
    return VolumeRequest(claim, class_of(claim), requested(claim) or 0, selector)


def _bound(claim: PersistentVolumeClaim, snapshot: Snapshot) -> BoundClaim:
    pv = snapshot.store.index(VolumeOffers).volume(claim.spec.volume_name)
    if pv is None:
        return BoundClaim(gone=True)
    plugin = in_tree_plugin(pv)
    return BoundClaim(False, affinity_of(pv), plugin, migrated_affinity_of(pv) if plugin else None)


def _to_provision(claim: PersistentVolumeClaim, snapshot: Snapshot) -> ClaimToProvision:
    name = class_of(claim)
    storage_class = snapshot.store.objects(StorageClass)[name]  # _immediate has seen it
    driver = snapshot.store.objects(CSIDriver).get(storage_class.provisioner)
    amount = requested(claim) if driver is not None and driver.spec.storage_capacity else None
    return ClaimToProvision(
        storage_class.provisioner in _NO_PROVISIONER,
        allowed_topologies(storage_class),
        name,
        amount,
    )


def choose(
    wants: Iterable[VolumeRequest], labels: Labels, snapshot: Snapshot, kept: Iterable[str] = ()
) -> list[PersistentVolume | None]:
    """The volume for each claim on a node with these labels: the one set aside for it, else the
    smallest that is left, none of ``kept``.
    """
    offers = snapshot.store.index(VolumeOffers)
    taken = dict.fromkeys(kept)
    chosen: list[PersistentVolume | None] = []
    for want in wants:
        mine = offers.set_aside(want)
        within = (pv for pv in mine if _reaches(pv, labels))
        pv = next(within, None) if mine else offers.smallest(want, labels, taken)
        if pv is not None:
            taken[pv.metadata.name] = None
        chosen.append(pv)
    return chosen


def _reaches(pv: PersistentVolume, labels: Labels) -> bool:
    terms = affinity_of(pv)
    return terms is None or any(term.matches(labels, "") for term in terms)


def labels_of(node: str, snapshot: Snapshot) -> Labels:
    """The labels of a node that is there."""
    found = snapshot.nodes.nodes[snapshot.nodes.row_of[node]]
    return (found.metadata.labels if found is not None else None) or {}


# ---- what nominated pods will get ----------------------------------------------------------------


def kept_volumes(snapshot: Snapshot) -> Mapping[str, KeptVolumes]:
    """By nominated pod (UID): what it will get on its node, as things are."""
    store = snapshot.store
    rests_on = (
        store.index(VolumeOffers).version_counter,
        store.version_counter(StorageClass),
        snapshot.nodes.logs[Aspect.LABELS],
    )
    return store.index(_kept_choices).all(
        snapshot, rests_on, functools.partial(_choose_volumes, snapshot)
    )


def _kept_choices(_store: Store) -> KeptChoices[KeptVolumes]:
    return KeptChoices()


def _choose_volumes(
    snapshot: Snapshot, pod: Pod, row: int, others: Sequence[KeptVolumes]
) -> KeptVolumes | None:
    """What a pod takes on its node beside what is kept for others; None where that fails."""
    not_mine = frozenset[str]().union(*(kept.claims for kept in others))
    status, claims = waiting_claims(pod, snapshot)
    if status.code is not Code.SUCCESS or not claims:
        return None
    mine = [claim for claim in claims if key(claim) not in not_mine]
    try:
        wants = volume_claims_of(mine, snapshot).to_bind
    except (SelectorError, QuantityError):
        return None
    taken = (name for kept in others for name in kept.volumes)
    chosen = choose(wants, labels_of(snapshot.nodes.names[row], snapshot), snapshot, taken)
    volumes = frozenset(pv.metadata.name for pv in chosen if pv is not None)
    return KeptVolumes(frozenset(key(want.claim) for want in wants), volumes) if wants else None
