"""Offers: volumes that claims may take, and room where volumes can be made, as they are after all
that was decided.

What a decision takes counts at once: volumes and claims are *assumed* as they will be written,
until that is given up or the API server shows them changed. Each of these is one per store, made
when first asked for: ``store.index(VolumeOffers)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kubefacts.labels import Selector, SelectorError, compile_selector
from moorage.core.columns.change_log import VersionCounter
from moorage.core.columns.changes import VolumesAssumed, VolumesReleased
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.store import Store
from moorage.core.objects.meta import Labels, key
from moorage.core.objects.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from moorage.core.plugins.volume_binding.reach_index import (
    NOTHING,
    Accepts,
    Item,
    ReachIndex,
    merge_smallest,
    no_things,
)
from moorage.core.pods.node_selection import NodeTerm, NodeTerms
from moorage.core.structures.all_or_none import Step, all_or_none
from moorage.core.volumes.claims import capacity_bytes, class_of, is_for, room_bytes, size
from moorage.core.volumes.reach import affinity_of


class VolumeRequest(NamedTuple):
    """What a claim asks for: at least ``min_size`` bytes of a class, and labels of the volume
    (None: any).
    """

    claim: PersistentVolumeClaim
    storage_class: str
    min_size: int
    selector: Selector | None


class _Sort(NamedTuple):
    """What else of a volume decides who may take it."""

    mode: str
    attributes_class: str
    access_modes: tuple[str, ...]


class VolumeOffers:
    """Volumes and claims. ``version_counter`` moves when one changes, is assumed or released."""

    def __init__(self, store: Store) -> None:
        self.version_counter = VersionCounter()
        self._journal = store.journal
        self._volumes = store.objects(PersistentVolume)
        self._claims = store.objects(PersistentVolumeClaim)
        self._assumed_volumes: dict[str, PersistentVolume] = {}
        self._assumed_claims: dict[str, PersistentVolumeClaim] = {}
        self._shown: dict[str, PersistentVolume] = {}
        self._free: dict[str, dict[_Sort, ReachIndex]] = {}
        self._set_aside: dict[str, dict[str, PersistentVolume]] = {}
        store.follow(PersistentVolume, self._put_volume)
        store.follow(PersistentVolumeClaim, self._put_claim)

    # ---- reading ---------------------------------------------------------------------------------

    def claim(self, claim: str) -> PersistentVolumeClaim | None:
        """A claim by ``namespace/name``."""
        return self._assumed_claims.get(claim) or self._claims.get(claim)

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume by name."""
        return self._assumed_volumes.get(name) or self._volumes.get(name)

    def is_assumed(self, obj: PersistentVolume | PersistentVolumeClaim) -> bool:
        """Whether something was decided about this volume or claim that the API server does not
        show yet.
        """
        return (
            obj.metadata.name in self._assumed_volumes
            if isinstance(obj, PersistentVolume)
            else key(obj) in self._assumed_claims
        )

    def set_aside(self, want: VolumeRequest) -> list[PersistentVolume]:
        """The volumes that were set aside for a claim and will do, by name."""
        named = self._set_aside.get(key(want.claim), {})
        return [
            pv
            for _, pv in sorted(named.items())
            if class_of(pv) == want.storage_class and is_for(pv, want.claim) and _suits(pv, want)
        ]

    def counts(
        self,
        want: VolumeRequest,
        nodes: NodeColumns,
        rows: Rows,
        kept: frozenset[str] = frozenset(),
    ) -> npt.NDArray[np.int64]:
        """How many free volumes that will do each row can reach, none of ``kept``. ->
        int64[len(rows)].
        """
        likes = self._accepts(want, kept) if want.selector is not None or kept else None
        indexes = self._reach_indexes(want)
        return sum(
            (index.counts(want.min_size, likes, nodes, rows) for index in indexes),
            np.zeros(nodes.live[rows].size, np.int64),
        )

    def smallest(
        self, want: VolumeRequest, labels: Labels, taken: Iterable[str]
    ) -> PersistentVolume | None:
        """The smallest free volume that will do and that a node with these labels can reach, none
        of ``taken``.
        """
        likes = self._accepts(want, frozenset(taken))
        found: list[Item] = []
        for index in self._reach_indexes(want):
            found += index.within_reach(want.min_size, likes, labels)
        return self._shown[min(found)[2]] if found else None

    def smallest_sizes(
        self,
        want: VolumeRequest,
        number: int,
        nodes: NodeColumns,
        rows: Rows,
        kept: frozenset[str] = frozenset(),
    ) -> npt.NDArray[np.int64]:
        """The sizes of the smallest free volumes that will do and that each row can reach, none of
        ``kept``; any number where there are fewer. -> int64[number, len(rows)].
        """
        likes = self._accepts(want, kept) if want.selector is not None or kept else None
        best = no_things(number, nodes.live[rows].size)
        for index in self._reach_indexes(want):
            best = merge_smallest(best, index.smallest(number, want.min_size, likes, nodes, rows))
        sizes: npt.NDArray[np.int64] = best[0]
        return sizes

    def assumed(
        self, volumes: Iterable[str], claims: Iterable[str]
    ) -> tuple[list[PersistentVolume], list[PersistentVolumeClaim]]:
        """Those of these volumes (by name) and claims (by ``namespace/name``) that something was
        decided about, as it was decided.
        """
        return (
            [self._assumed_volumes[name] for name in volumes if name in self._assumed_volumes],
            [self._assumed_claims[name] for name in claims if name in self._assumed_claims],
        )

    def assumptions(self) -> Iterator[VolumesAssumed]:
        """What was decided and is not seen yet, as a change."""
        if self._assumed_volumes or self._assumed_claims:
            yield VolumesAssumed(
                tuple(self._assumed_volumes.values()), tuple(self._assumed_claims.values())
            )

    # ---- assuming --------------------------------------------------------------------------------

    def assume(
        self, volumes: Iterable[PersistentVolume], claims: Iterable[PersistentVolumeClaim]
    ) -> None:
        """Take these to be so from now on."""
        self.version_counter.increment()
        volumes_by_name = {pv.metadata.name: pv for pv in volumes}
        claims_by_key = {key(claim): claim for claim in claims}
        self._show(volumes_by_name)
        self._assumed_volumes.update(volumes_by_name)
        self._assumed_claims.update(claims_by_key)
        self._journal.append(
            VolumesAssumed(tuple(volumes_by_name.values()), tuple(claims_by_key.values()))
        )

    def release(
        self, volumes: Iterable[PersistentVolume], claims: Iterable[PersistentVolumeClaim]
    ) -> None:
        """Take that back, where it still stands."""
        self.version_counter.increment()
        names = [
            pv.metadata.name for pv in volumes if self._assumed_volumes.get(pv.metadata.name) is pv
        ]
        keys = [key(claim) for claim in claims if self._assumed_claims.get(key(claim)) is claim]
        self._show({name: self._volumes.get(name) for name in names})
        for name in names:
            del self._assumed_volumes[name]
        for one in keys:
            del self._assumed_claims[one]
        if names or keys:
            self._journal.append(VolumesReleased(tuple(names), tuple(keys)))

    # ---- inside ----------------------------------------------------------------------------------

    def _put_claim(
        self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
    ) -> None:
        self.version_counter.increment()
        for one in [key(claim) for claim in (old, new) if claim is not None]:
            self._assumed_claims.pop(one, None)

    def _put_volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        self.version_counter.increment()
        names = {pv.metadata.name: None for pv in (old, new) if pv is not None}
        self._show(dict.fromkeys(names, new))
        for name in names:
            self._assumed_volumes.pop(name, None)

    def _show(self, volumes: Mapping[str, PersistentVolume | None]) -> None:
        """Put volumes where claims look for them, and take their former states from there; None:
        there is none any more.
        """
        steps: list[Step] = []
        for name, new in volumes.items():
            old = self._shown.get(name)
            steps += [
                (self._enter, pv, come) for pv, come in ((old, -1), (new, 1)) if pv is not None
            ]
        all_or_none(1, *steps)
        for name, new in volumes.items():
            self._shown.pop(name, None)
            if new is not None:
                self._shown[name] = new

    def _enter(self, pv: PersistentVolume, come: int, sign: int) -> None:
        """A state of a volume came (``come`` 1) or went (-1)."""
        ref, name, come = pv.spec.claim_ref, pv.metadata.name, come * sign
        if ref is not None:
            claim = f"{ref.namespace}/{ref.name}"
            named = self._set_aside.setdefault(claim, {})
            named[name] = pv
            if come < 0:
                del named[name]
                if not named:
                    del self._set_aside[claim]
        elif pv.status.phase == "Available" and pv.metadata.deletion_timestamp is None:
            self._enter_free(pv, come)

    def _enter_free(self, pv: PersistentVolume, come: int) -> None:
        storage_class, sort = class_of(pv), _sort_of(pv)
        sorts = self._free.get(storage_class, {})
        index = sorts[sort] if sort in sorts else ReachIndex()
        left = index.change((size(pv), 0, pv.metadata.name), affinity_of(pv), come)
        sorts[sort] = index
        if not left:
            del sorts[sort]
        self._free[storage_class] = sorts
        if not sorts:
            del self._free[storage_class]

    def _reach_indexes(self, want: VolumeRequest) -> list[ReachIndex]:
        spec, modes = want.claim.spec, set(want.claim.spec.access_modes or ())
        return [
            index
            for sort, index in self._free.get(want.storage_class, {}).items()
            if (sort.mode, sort.attributes_class)
            == (_mode(spec.volume_mode), spec.volume_attributes_class_name or "")
            and modes.issubset(sort.access_modes)
        ]

    def _accepts(self, want: VolumeRequest, taken: frozenset[str]) -> Accepts:
        selector = want.selector
        return lambda name: (
            name not in taken
            and (selector is None or selector.matches(self._shown[name].metadata.labels))
        )


def _sort_of(pv: PersistentVolume) -> _Sort:
    spec = pv.spec
    return _Sort(
        _mode(spec.volume_mode),
        spec.volume_attributes_class_name or "",
        tuple(sorted(set(spec.access_modes or ()))),
    )


def _suits(pv: PersistentVolume, want: VolumeRequest) -> bool:
    """Whether a volume that is set aside will do: of it only this much is asked."""
    spec, wanted = pv.spec, want.claim.spec
    alike = (_mode(spec.volume_mode), spec.volume_attributes_class_name or "") == (
        _mode(wanted.volume_mode),
        wanted.volume_attributes_class_name or "",
    )
    return alike and size(pv) >= want.min_size and pv.metadata.deletion_timestamp is None


def is_alike(group: Sequence[VolumeRequest]) -> bool:
    """Whether these claims of one class choose among the same volumes, apart from their size."""
    sorts = {
        (
            _mode(want.claim.spec.volume_mode),
            want.claim.spec.volume_attributes_class_name or "",
            frozenset(want.claim.spec.access_modes or ()),
        )
        for want in group
    }
    return len(group) == 1 or (len(sorts) == 1 and all(want.selector is None for want in group))


def _mode(mode: str | None) -> str:
    return "Filesystem" if mode is None else mode


class StorageCapacities:
    """Where drivers have how much room for volumes of a class (CSIStorageCapacity)."""

    def __init__(self, store: Store) -> None:
        self._reach_indexes: dict[str, ReachIndex] = {}
        store.follow(CSIStorageCapacity, self._put)

    def enough(
        self, storage_class: str, amount: int, nodes: NodeColumns, rows: Rows
    ) -> npt.NDArray[np.bool_]:
        """Where a volume of so many bytes can be made. -> bool[len(rows)]."""
        index = self._reach_indexes.get(storage_class)
        return (
            index.counts(amount, None, nodes, rows) > 0
            if index is not None
            else np.zeros(nodes.live[rows].size, bool)
        )

    def room(
        self, storage_class: str, amount: int, nodes: NodeColumns, rows: Rows
    ) -> npt.NDArray[np.int64]:
        """How many bytes there are where a volume of so many can be made, in the smallest place of
        several; -1 where there is none, or that is not said. -> int64[len(rows)].
        """
        index = self._reach_indexes.get(storage_class)
        if index is None:
            return np.full(nodes.live[rows].size, -1)
        room = index.smallest(1, amount, None, nodes, rows)[1, 0]
        return np.where(room == NOTHING, -1, room)

    def _put(self, old: CSIStorageCapacity | None, new: CSIStorageCapacity | None) -> None:
        all_or_none(
            1,
            *(
                (self._enter, capacity, come)
                for capacity, come in ((old, -1), (new, 1))
                if capacity is not None
            ),
        )

    def _enter(self, capacity: CSIStorageCapacity, come: int, sign: int) -> None:
        terms, name = _reach(capacity), capacity.storage_class_name
        if terms is not None:
            index = self._reach_indexes[name] if name in self._reach_indexes else ReachIndex()
            item = capacity_bytes(capacity), room_bytes(capacity), key(capacity)
            left = index.change(item, terms, come * sign)
            self._reach_indexes[name] = index
            if not left:
                del self._reach_indexes[name]


def _reach(capacity: CSIStorageCapacity) -> NodeTerms | None:
    """The nodes that a capacity is for; None when it is for none, or that can't be read."""
    try:
        conditions = compile_selector(capacity.node_topology).conditions
    except SelectorError:
        return None
    return (NodeTerm(conditions),) if conditions is not None else None
