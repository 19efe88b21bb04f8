"""Which nodes the volumes of a pod allow, and why not the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.nodes.row_selection import rows_matching
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import Codes
from moorage.core.framework.status import Code, Reason
from moorage.core.objects.meta import key
from moorage.core.objects.storage import CSINode
from moorage.core.plugins.volume_binding.offers import StorageCapacities, VolumeOffers
from moorage.core.plugins.volume_binding.volume_needs import (
    BoundClaim,
    ClaimToProvision,
    PodVolumeClaims,
    choose,
    labels_of,
)
from moorage.core.pods.node_selection import NodeTerms
from moorage.core.volumes.csi_migration import migrated_on
from moorage.core.volumes.reach import affinity_of

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

REASON_BITS = {1: OUT_OF_REACH, 2: NOTHING_FREE, 4: NO_ROOM, 8: VOLUME_GONE}
"""Codes are sums of these; reasons come in this order."""

_OUT_OF_REACH, _NOTHING_FREE, _NO_ROOM, _VOLUME_GONE = REASON_BITS

Mask = npt.NDArray[np.bool_]


def check_bound(bound: Iterable[BoundClaim], snapshot: Snapshot, rows: Rows) -> Codes:
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
    here = rows_within(one.terms, snapshot, rows)
    if not one.migrated:
        return here
    there = np.zeros(snapshot.nodes.rows, bool)
    for name, csi_node in snapshot.store.objects(CSINode).items():
        if one.migrated in migrated_on(csi_node) and name in snapshot.nodes.row_of:
            there[snapshot.nodes.row_of[name]] = True
    return np.where(there[rows], rows_within(one.terms_there, snapshot, rows), here)


def rows_within(terms: NodeTerms | None, snapshot: Snapshot, rows: Rows) -> Mask:
    """Which rows can reach what these terms are of; None: all."""
    if terms is None:
        return np.ones(snapshot.nodes.live[rows].size, bool)
    return rows_matching(terms, snapshot.nodes, rows).astype(bool)


def check_provisioning(making: ClaimToProvision, snapshot: Snapshot, rows: Rows) -> Codes:
    """Where a claim's volume can't be made, and why."""
    if making.impossible:
        return np.full(snapshot.nodes.live[rows].size, _NOTHING_FREE)
    codes = np.where(rows_within(making.terms, snapshot, rows), 0, _NOTHING_FREE)
    if making.amount is not None:
        enough = snapshot.store.index(StorageCapacities).enough(
            making.storage_class, making.amount, snapshot.nodes, rows
        )
        codes[(codes == 0) & ~enough] = _NO_ROOM
    return codes


def find_lacking(
    needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows
) -> Iterator[tuple[str, Mask]]:
    """The claims (keys) that have no volume yet, with the rows where they find none: bool[rows]."""
    for claim in needs.provisioning:
        yield key(claim), np.ones(snapshot.nodes.live[rows].size, bool)
    for want, found in zip(needs.to_bind, _find_matches(needs, snapshot, rows), strict=True):
        yield key(want.claim), ~found


def _find_matches(needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> list[Mask]:
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
            within = [rows_within(affinity_of(pv), snapshot, rows) for pv in mine]
            found.append(np.logical_or.reduce(within))
            continue
        before = rivals.get(want.storage_class, 0)
        counts = offers.counts(want, nodes, rows, needs.kept)
        rivals[want.storage_class] = before + 1
        found.append(counts > before)
        unsure |= (counts > 0) & (counts <= before)
    numbers = np.arange(nodes.rows)[rows]
    for i in np.flatnonzero(unsure & nodes.live[rows]).tolist():
        labels = labels_of(nodes.names[numbers[i]], snapshot)
        chosen = choose(needs.to_bind, labels, snapshot, needs.kept)
        for mask, pv in zip(found, chosen, strict=True):
            mask[i] = pv is not None
    return found
