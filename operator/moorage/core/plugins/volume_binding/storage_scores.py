"""How nodes are ranked by storage: by how much of it the pod's claims would use.

Volumes that are there count, each as a whole; where no claim finds one, the room that drivers have
for those to be made.
Source: kube-scheduler VolumeBinding (v1.37), ``scorer.go``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import MAX_NODE_SCORE, Scores
from moorage.core.objects.meta import key
from moorage.core.plugins.volume_binding.offers import (
    StorageCapacities,
    VolumeOffers,
    VolumeRequest,
    is_alike,
)
from moorage.core.plugins.volume_binding.volume_checks import rows_within
from moorage.core.plugins.volume_binding.volume_needs import PodVolumeClaims, choose, labels_of
from moorage.core.volumes.claims import size
from moorage.core.volumes.reach import affinity_of

Bytes = npt.NDArray[np.int64]
"""int64[len(rows)]; -1 for none."""


class _ClassUse:
    """Of one storage class: what is asked for and what there is, in bytes, by row."""

    def __init__(self, rows: int) -> None:
        self.asked = np.zeros(rows, np.int64)
        self.there = np.zeros(rows, np.int64)
        self.counts = np.zeros(rows, bool)
        """Where the class counts at all."""

    def scores(self, table: Scores) -> Scores:
        """By the percentage that is used; what is too small, or empty, counts as used up."""
        whole = (self.there <= 0) | (self.asked > self.there)
        percent = self.asked * MAX_NODE_SCORE // np.maximum(self.there, 1)
        score = table[np.where(whole, MAX_NODE_SCORE, np.clip(percent, 0, MAX_NODE_SCORE))]
        return np.where(self.counts, score, 0)


def storage_scores(needs: PodVolumeClaims, table: Scores, snapshot: Snapshot, rows: Rows) -> Scores:
    """The mean over the storage classes. ``table``: the score of each percentage. ->
    int64[len(rows)].
    """
    none = np.zeros(_size(snapshot, rows), np.int64)
    static, dynamic = (
        list(uses(needs, snapshot, rows).values()) for uses in (_static_uses, _dynamic_uses)
    )
    for use in dynamic:
        use.counts &= sum((one.counts for one in static), none) == 0
    number = sum((use.counts for use in static + dynamic), none)
    total = sum((use.scores(table) for use in static + dynamic), none)
    scores: Scores = (2 * total + number) // np.maximum(2 * number, 1)
    return scores


def _static_uses(needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> dict[str, _ClassUse]:
    """By class, of the volumes that claims would take."""
    uses: dict[str, _ClassUse] = {}
    for want, taken in taken_sizes(needs, snapshot, rows):
        use = uses.setdefault(want.storage_class, _ClassUse(taken.size))
        use.asked += np.where(taken >= 0, want.min_size, 0)
        use.there += np.maximum(taken, 0)
        use.counts |= taken >= 0
    return uses


def _dynamic_uses(needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows) -> dict[str, _ClassUse]:
    """By class, of the room for volumes to be made. It is one for all of a class: the last claim
    says which.
    """
    capacities, uses = snapshot.store.index(StorageCapacities), dict[str, _ClassUse]()
    for claim in itertools.chain(needs.provisioning, (want.claim for want in needs.to_bind)):
        making = needs.to_provision[key(claim)]
        if making.amount is None:
            continue
        room = capacities.room(making.storage_class, making.amount, snapshot.nodes, rows)
        use = uses.setdefault(making.storage_class, _ClassUse(room.size))
        use.asked += np.where(room >= 0, making.amount, 0)
        use.there = np.where(room >= 0, room, use.there)
        use.counts |= room >= 0
    return uses


def taken_sizes(
    needs: PodVolumeClaims, snapshot: Snapshot, rows: Rows
) -> Iterator[tuple[VolumeRequest, Bytes]]:
    """The size of the volume that each claim takes on each row, as ``choose`` does."""
    offers = snapshot.store.index(VolumeOffers)
    rivals: dict[str, list[VolumeRequest]] = {}
    for want in needs.to_bind:
        if offers.set_aside(want):
            yield want, _set_aside_size(want, snapshot, rows)
        else:
            rivals.setdefault(want.storage_class, []).append(want)
    for group in rivals.values():
        sizes = _sizes_in_turn if is_alike(group) else _sizes_row_by_row
        yield from zip(group, sizes(group, needs.kept, snapshot, rows), strict=True)


def _set_aside_size(want: VolumeRequest, snapshot: Snapshot, rows: Rows) -> Bytes:
    """Of the first within reach of those that are set aside for a claim."""
    sizes = np.full(_size(snapshot, rows), -1)
    for pv in snapshot.store.index(VolumeOffers).set_aside(want):
        within = rows_within(affinity_of(pv), snapshot, rows)
        sizes[(sizes < 0) & within] = size(pv)
    return sizes


def _sizes_in_turn(
    group: Sequence[VolumeRequest], kept: frozenset[str], snapshot: Snapshot, rows: Rows
) -> Iterator[Bytes]:
    """Where claims choose among the same volumes, the smaller one first, each takes the smallest
    that it can use behind the last that was taken.
    """
    offers, nodes = snapshot.store.index(VolumeOffers), snapshot.nodes
    every = np.arange(_size(snapshot, rows))
    last = np.full(every.size, -(2**62))
    for want in group:
        fitting = offers.counts(want, nodes, rows, kept)
        sizes = offers.smallest_sizes(want, len(group), nodes, rows, kept)
        last = np.maximum(last + 1, -fitting)  # counted from the end of all volumes, by size
        there = last < 0
        yield np.where(there, sizes[np.where(there, last + fitting, 0), every], -1)


def _sizes_row_by_row(
    group: Sequence[VolumeRequest], kept: frozenset[str], snapshot: Snapshot, rows: Rows
) -> Iterator[Bytes]:
    nodes = snapshot.nodes
    sizes = np.full((len(group), _size(snapshot, rows)), -1)
    for i, row in enumerate(np.arange(nodes.rows)[rows].tolist()):
        if nodes.live[row]:
            chosen = choose(group, labels_of(nodes.names[row], snapshot), snapshot, kept)
            sizes[:, i] = [-1 if pv is None else size(pv) for pv in chosen]
    return iter(sizes)


def _size(snapshot: Snapshot, rows: Rows) -> int:
    return int(snapshot.nodes.live[rows].size)
