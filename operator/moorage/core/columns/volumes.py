"""Volumes on nodes: which rows use which claims and disks, and how many volumes of each CSI driver a row can still hold.

Kept up to date with pods that come and go (by the cache) and with claims, volumes, classes, attachments and CSINodes, so that a
decision about a pod with volumes looks at what those use and not at all pods. A row whose answer may change is noted in the log of
``Aspect.VOLUMES``; for pods that the cache charges, the cache does that.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from moorage.core.columns.changes import Aspect, Clock
from moorage.core.columns.node_table import NodeTable
from moorage.core.columns.store import Objects, Store
from moorage.core.objects import HasMetadata, key
from moorage.core.storage_objects import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from moorage.core.volumes import Carried, ClaimUse, Disk, VolumeId, class_of, volume_of, wanted_volume

Key = TypeVar("Key", bound=Hashable)
Amounts = npt.NDArray[np.int64]
"""int64[rows]"""

_NO_LIMIT = 2**62
Source = tuple[type[HasMetadata], str]
"""An object by kind and name."""


class Found(NamedTuple):
    """A claim, the volume that it means to a CSI driver (None: it does not count), and the objects that this rests on."""

    claim: PersistentVolumeClaim | None
    volume: VolumeId | None
    sources: tuple[Source, ...] = ()


def find_volume(claim_key: str, store: Objects) -> Found:
    """Which volume a claim stands for: the one that it is bound to, or the one that is still to be made for it."""
    claim = store.objects(PersistentVolumeClaim).get(claim_key)
    if claim is None:
        return Found(None, None)
    name, storage_class = claim.spec.volume_name, class_of(claim)
    bound: tuple[Source, ...] = ((PersistentVolume, name),) if name else ()
    pv = store.objects(PersistentVolume).get(name)
    if pv is not None:
        return Found(claim, volume_of(pv), bound)
    made_by = store.objects(StorageClass).get(storage_class)
    volume = wanted_volume(made_by, claim_key) if made_by is not None else None
    return Found(claim, volume, (*bound, (StorageClass, storage_class)))


class _Driver:
    """A CSI driver's limit for each row, and how many volumes are there. int64[capacity] each."""

    __slots__ = ("held", "limits")

    def __init__(self) -> None:
        self.limits: Amounts = np.zeros(0, np.int64)
        self.held: Amounts = np.zeros(0, np.int64)

    def reach(self, rows: int) -> None:
        """Have room for so many rows."""
        if rows > self.limits.size:
            more = max(rows, 2 * self.limits.size, 64) - self.limits.size
            self.limits = np.concatenate([self.limits, np.full(more, _NO_LIMIT)])
            self.held = np.concatenate([self.held, np.zeros(more, np.int64)])


class VolumeTable:
    """See the module's docstring. ``uses`` moves when a pod begins or ceases to use a claim (the cache moves it)."""

    def __init__(self, store: Store, nodes: NodeTable) -> None:
        self.uses = Clock()
        self._store = store
        self._nodes = nodes
        self._users: dict[str, dict[tuple[int, ClaimUse], int]] = {}
        self._disks: dict[tuple[str, tuple[str, ...]], dict[int, dict[Disk, int]]] = {}
        self._found: dict[str, Found] = {}
        self._resting_on: dict[Source, dict[str, None]] = {}
        self._mounted: dict[VolumeId, dict[int, int]] = {}
        self._attached: dict[VolumeId, dict[int, int]] = {}
        self._attachments: dict[str, tuple[int, VolumeId]] = {}
        self._attachments_of: dict[Source, dict[str, None]] = {}
        self._drivers: dict[str, _Driver] = {}
        store.follow(PersistentVolumeClaim, lambda old, new: self._look_again(key(new or old)))  # type: ignore[arg-type]  # one of them is there
        for kind in (PersistentVolume, StorageClass):
            store.follow(kind, self._put_source)
        store.follow(CSINode, self._put_csi_node)
        store.follow(VolumeAttachment, self._put_attachment)

    # ---- reading -----------------------------------------------------------------------------------------------------------

    def in_use(self, claim: ClaimUse) -> bool:
        """Whether a pod on a node uses a claim just so."""
        return any(use == claim for _, use in self._users.get(claim.key, ()))

    def clashing(self, disk: Disk) -> list[int]:
        """The rows where a pod uses this disk in a way that does not go together."""
        rows = self._disks.get((disk.kind, disk.name), {})
        return [row for row, there in rows.items() if any(disk.clashes(other) for other in there)]

    def mounted(self, volume: VolumeId) -> Collection[int]:
        """The rows where a pod uses this volume."""
        return self._mounted.get(volume, {}).keys()

    def spare(self, driver: str) -> Amounts | None:
        """How many more volumes of a driver each row can hold; None when no node has a limit for it. -> int64[rows]."""
        known = self._drivers.get(driver)
        if known is None:
            return None
        known.reach(self._nodes.rows)
        return (known.limits - known.held)[: self._nodes.rows]

    # ---- pods (the cache) --------------------------------------------------------------------------------------------------

    def charge(self, row: int, volumes: Carried, sign: int) -> None:
        """A pod with these came to the row (``sign`` 1) or left it (-1)."""
        for use in volumes.claims:
            self._use(row, use, sign)
        for volume in volumes.inline:
            self._hold(self._mounted, volume, row, sign)
        for disk in volumes.disks:
            rows = self._disks.setdefault((disk.kind, disk.name), {})
            there = rows.setdefault(row, {})
            if not _add(there, disk, sign):
                del rows[row]
                if not rows:
                    del self._disks[disk.kind, disk.name]

    def add_node(self, row: int, name: str) -> None:
        """A node came; its pods come after it."""
        self._limit(row, self._store.objects(CSINode).get(name), there=True)
        for attachment in self._attachments_of.get((CSINode, name), ()):
            self._attach(attachment)

    def remove_node(self, row: int, name: str) -> None:
        """A node is about to go; its pods have been taken off."""
        self._limit(row, self._store.objects(CSINode).get(name), there=False)
        for attachment in self._attachments_of.get((CSINode, name), ()):
            self._detach(attachment)

    # ---- claims ------------------------------------------------------------------------------------------------------------

    def _use(self, row: int, use: ClaimUse, sign: int) -> None:
        claim = use.key
        if claim not in self._users:
            self._users[claim] = {}
            self._find(claim)
        self._mount(self._found[claim], row, use, sign)
        if not _add(self._users[claim], (row, use), sign):
            del self._users[claim]
            self._forget(claim)

    def _find(self, claim: str) -> None:
        found = self._found[claim] = find_volume(claim, self._store)
        for source in found.sources:
            self._resting_on.setdefault(source, {})[claim] = None

    def _forget(self, claim: str) -> Found:
        found = self._found.pop(claim)
        for source in found.sources:
            _take(self._resting_on, source, claim)
        return found

    def _mount(self, found: Found, row: int, use: ClaimUse, number: int) -> None:
        """A claim that the pod does not own is none of its volumes, whatever its name."""
        if found.volume is not None and found.claim is not None and use.owns(found.claim):
            self._hold(self._mounted, found.volume, row, number)

    def _look_again(self, claim: str) -> None:
        """A claim, or what it rests on, is another one now."""
        if claim not in self._users:
            return
        old = self._forget(claim)
        self._find(claim)
        new = self._found[claim]
        for (row, use), number in self._users[claim].items():
            self._mount(old, row, use, -number)
            self._mount(new, row, use, number)
            self._nodes.logs[Aspect.VOLUMES].add(row)

    def _put_source(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        obj = new or old
        if obj is not None:
            source = type(obj), obj.metadata.name
            for claim in list(self._resting_on.get(source, ())):
                self._look_again(claim)
            for attachment in self._attachments_of.get(source, ()):
                self._attach(attachment)

    # ---- drivers -----------------------------------------------------------------------------------------------------------

    def _put_csi_node(self, old: CSINode | None, new: CSINode | None) -> None:
        for state in (old, new):
            row = self._nodes.row_of.get(state.metadata.name) if state is not None else None
            if row is not None:
                self._limit(row, state, there=state is new)

    def _limit(self, row: int, csi_node: CSINode | None, there: bool) -> None:
        """Write down, or wipe out, what a node's drivers say."""
        for driver in (csi_node.spec.drivers if csi_node is not None else None) or ():
            if driver.allocatable is not None and driver.allocatable.count is not None:
                self._driver(driver.name, row).limits[row] = driver.allocatable.count if there else _NO_LIMIT
                self._nodes.logs[Aspect.VOLUMES].add(row)

    def _driver(self, name: str, row: int) -> _Driver:
        driver = self._drivers.get(name)
        if driver is None:
            driver = self._drivers[name] = _Driver()
        driver.reach(row + 1)
        return driver

    def _hold(self, holders: dict[VolumeId, dict[int, int]], volume: VolumeId, row: int, number: int) -> None:
        """A volume counts once on a row, however many pods use it there and whether it is attached yet or not."""
        before = row in self._mounted.get(volume, ()) or row in self._attached.get(volume, ())
        if not _add(holders.setdefault(volume, {}), row, number):
            del holders[volume]
        after = row in self._mounted.get(volume, ()) or row in self._attached.get(volume, ())
        self._driver(volume.driver, row).held[row] += after - before

    # ---- attachments -------------------------------------------------------------------------------------------------------

    def _put_attachment(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        if old is not None:
            self._detach(old.metadata.name)
            for source in _sources(old):
                _take(self._attachments_of, source, old.metadata.name)
        if new is not None:
            for source in _sources(new):
                self._attachments_of.setdefault(source, {})[new.metadata.name] = None
            self._attach(new.metadata.name)

    def _attach(self, name: str) -> None:
        """Count an attachment if its node and its volume are there."""
        self._detach(name)
        attachment = self._store.objects(VolumeAttachment)[name]
        row = self._nodes.row_of.get(attachment.spec.node_name)
        pv = self._store.objects(PersistentVolume).get(attachment.spec.source.persistent_volume_name or "")
        if row is not None and pv is not None and pv.spec.csi is not None and attachment.spec.attacher:
            volume = VolumeId(attachment.spec.attacher, pv.spec.csi.volume_handle)
            self._attachments[name] = row, volume
            self._hold(self._attached, volume, row, 1)
            self._nodes.logs[Aspect.VOLUMES].add(row)

    def _detach(self, name: str) -> None:
        counted = self._attachments.pop(name, None)
        if counted is not None:
            row, volume = counted
            self._hold(self._attached, volume, row, -1)
            self._nodes.logs[Aspect.VOLUMES].add(row)


def _sources(attachment: VolumeAttachment) -> tuple[Source, Source]:
    """What an attachment counts by: its node (which goes by its CSINode here) and its volume."""
    return (CSINode, attachment.spec.node_name), (PersistentVolume, attachment.spec.source.persistent_volume_name or "")


def _add(counts: dict[Key, int], item: Key, number: int) -> bool:
    """Count an item; whether any item is left."""
    counts[item] = counts.get(item, 0) + number
    if not counts[item]:
        del counts[item]
    return bool(counts)


def _take(groups: dict[Source, dict[str, None]], group: Source, item: str) -> None:
    """Take an item out of its group, and an emptied group out of the groups."""
    members = groups[group]
    members.pop(item, None)
    if not members:
        del groups[group]
