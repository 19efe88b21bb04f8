"""Volumes on nodes: which rows use which claims and disks, and how many volumes of each CSI driver
a row can still hold.

Kept up to date with pods that come and go (by the cache) and with claims, volumes, classes,
attachments and CSINodes, so that a decision about a pod with volumes looks at what those use and
not at all pods. A row whose answer may change is noted in the log of ``Aspect.VOLUMES``; for pods
that the cache charges, the cache does that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from moorage.core.columns.change_log import Aspect, VersionCounter
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.store import Lister, Store
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.structures.all_or_none import Step, all_or_none
from moorage.core.structures.sparse import HAS, TAKEN, Amounts, SparseAmounts
from moorage.core.volumes.claims import class_of
from moorage.core.volumes.csi_migration import VolumeId, volume_of, wanted_volume
from moorage.core.volumes.pod_volumes import ClaimUse, Disk, PodVolumeUse

_NO_LIMIT = 2**62
Source = tuple[type[HasMetadata], str]
"""An object by kind and name."""


class ResolvedClaim(NamedTuple):
    """A claim, the volume that it means to a CSI driver (None: it does not count), and the objects
    that this rests on.
    """

    claim: PersistentVolumeClaim | None
    volume: VolumeId | None
    sources: tuple[Source, ...] = ()


def resolve_claim(claim_key: str, store: Lister) -> ResolvedClaim:
    """Which volume a claim stands for: the one that it is bound to, or the one that is still to be
    made for it.
    """
    claim = store.objects(PersistentVolumeClaim).get(claim_key)
    if claim is None:
        return ResolvedClaim(None, None)
    name, storage_class = claim.spec.volume_name, class_of(claim)
    bound: tuple[Source, ...] = ((PersistentVolume, name),) if name else ()
    pv = store.objects(PersistentVolume).get(name)
    if pv is not None:
        return ResolvedClaim(claim, volume_of(pv), bound)
    made_by = store.objects(StorageClass).get(storage_class)
    volume = wanted_volume(made_by, claim_key) if made_by is not None else None
    return ResolvedClaim(claim, volume, (*bound, (StorageClass, storage_class)))


class VolumeTable:
    """Knows which claims and disks each row uses, and how many more volumes it can hold.

    ``uses`` moves when a pod begins or ceases to use a claim (the cache moves it).
    """

    def __init__(self, store: Store, nodes: NodeTable) -> None:
        self.uses = VersionCounter()
        self._store = store
        self._nodes = nodes
        self._users: dict[str, dict[tuple[int, ClaimUse], int]] = {}
        self._disks: dict[tuple[str, tuple[str, ...]], dict[int, dict[Disk, int]]] = {}
        self._resolved: dict[str, ResolvedClaim] = {}
        self._resting_on: dict[Source, dict[str, None]] = {}
        self._mounted: dict[VolumeId, dict[int, int]] = {}
        self._attached: dict[VolumeId, dict[int, int]] = {}
        self._attachments: dict[str, tuple[int, VolumeId]] = {}
        self._attachments_of: dict[Source, dict[str, None]] = {}
        self._installed: dict[str, dict[int, int]] = {}
        """By driver, the rows where a CSINode names it; by "", those that have a CSINode."""
        self._drivers = SparseAmounts()
        """For each row, how many volumes a CSI driver can hold there (less _NO_LIMIT, so that 0 is
        none), and how many it does.
        """
        store.follow(PersistentVolumeClaim, self._put_claim)
        for kind in (PersistentVolume, StorageClass):
            store.follow(kind, self._put_source)
        store.follow(CSINode, self._put_csi_node)
        store.follow(VolumeAttachment, self._put_attachment)

    # ---- reading ---------------------------------------------------------------------------------

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
        """How many more volumes of a driver each row can hold; None when no node has a limit for
        it. -> int64[rows].
        """
        known = self._drivers.read(driver, self._nodes.all_rows, self._nodes.rows)
        return None if known is None else known[HAS] + _NO_LIMIT - known[TAKEN]

    def installed(self, driver: str) -> Collection[int]:
        """The rows where a CSI driver is installed; of "", those that have a CSINode."""
        return self._installed.get(driver, {}).keys()

    # ---- pods (the cache) ------------------------------------------------------------------------

    def charge(self, row: int, volumes: PodVolumeUse, sign: int) -> None:
        """A pod with these came to the row (``sign`` 1) or left it (-1)."""
        all_or_none(
            sign,
            *((self._use, row, use) for use in volumes.claims),
            *((self._hold, self._mounted, volume, row, 1) for volume in volumes.inline),
            *((self._use_disk, row, disk) for disk in volumes.disks),
        )

    def charge_node(self, row: int, name: str, sign: int) -> None:
        """A node came (``sign`` 1; its pods come after it), or is about to go (-1; its pods have
        been taken off).
        """
        attachments = self._attachments_of.get((CSINode, name), ())
        attaching = (
            step
            for attachment in attachments
            for step in self._attaching(attachment, there=sign > 0)
        )
        all_or_none(1, (self._limit, row, self._store.objects(CSINode).get(name), sign), *attaching)

    def _use(self, row: int, use: ClaimUse, sign: int) -> None:
        claim, users = use.key, self._users.get(use.key, {})
        found = self._resolved[claim] if users else resolve_claim(claim, self._store)
        number = users.get((row, use), 0) + sign
        begins_or_ends = not users or (not number and len(users) == 1)
        resting: tuple[Step, ...] = ((self._rest, claim, None, found),) if begins_or_ends else ()
        all_or_none(sign, (self._mount, found, row, use, 1), *resting)
        users[row, use] = number
        if not number:
            del users[row, use]
        self._users[claim] = users
        if not users:
            del self._users[claim]

    def _use_disk(self, row: int, disk: Disk, sign: int) -> None:
        rows = self._disks.setdefault((disk.kind, disk.name), {})
        there = rows.setdefault(row, {})
        there[disk] = there.get(disk, 0) + sign
        if not there[disk]:
            del there[disk]
            if not there:
                del rows[row]
                if not rows:
                    del self._disks[disk.kind, disk.name]

    # ---- claims ----------------------------------------------------------------------------------

    def _rest(
        self, claim: str, old: ResolvedClaim | None, new: ResolvedClaim | None, sign: int
    ) -> None:
        """A claim that is in use rests on this now, and on that no longer; None: it is not in
        use.
        """
        gone, come = (old, new) if sign > 0 else (new, old)
        if gone is not None:
            del self._resolved[claim]
            for source in gone.sources:
                self._resting_on[source].pop(claim, None)
                if not self._resting_on[source]:
                    del self._resting_on[source]
        if come is not None:
            self._resolved[claim] = come
            for source in come.sources:
                self._resting_on.setdefault(source, {})[claim] = None

    def _mount(self, found: ResolvedClaim, row: int, use: ClaimUse, number: int, sign: int) -> None:
        """A claim that the pod does not own is none of its volumes, whatever its name."""
        if found.volume is not None and found.claim is not None and use.owns(found.claim):
            self._hold(self._mounted, found.volume, row, number, sign)

    def _resolve_again(self, claim: str) -> Iterator[Step]:
        """What it takes when a claim, or what it rests on, is another one now."""
        if claim not in self._users:
            return
        old, new = self._resolved[claim], resolve_claim(claim, self._store)
        yield self._rest, claim, old, new
        for (row, use), number in self._users[claim].items():
            self._nodes.logs[Aspect.VOLUMES].add(row)
            yield self._mount, old, row, use, -number
            yield self._mount, new, row, use, number

    def _put_claim(
        self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
    ) -> None:
        for claim in {key(one): None for one in (old, new) if one is not None}:
            all_or_none(1, *self._resolve_again(claim))

    def _put_source(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        obj = new or old
        if obj is not None:
            source = type(obj), obj.metadata.name
            looking = (
                step
                for claim in self._resting_on.get(source, ())
                for step in self._resolve_again(claim)
            )
            attaching = (
                step
                for name in self._attachments_of.get(source, ())
                for step in self._attaching(name, there=True)
            )
            all_or_none(1, *looking, *attaching)

    # ---- drivers ---------------------------------------------------------------------------------

    def _put_csi_node(self, old: CSINode | None, new: CSINode | None) -> None:
        there = [
            (self._nodes.row_of.get(one.metadata.name), one, sign)
            for one, sign in ((old, -1), (new, 1))
            if one is not None
        ]
        all_or_none(
            1, *((self._limit, row, one, sign) for row, one, sign in there if row is not None)
        )

    def _limit(self, row: int, csi_node: CSINode | None, there: int, sign: int) -> None:
        """Write down (``there`` 1), or wipe out (-1), which drivers a node has and what they
        say.
        """
        if csi_node is None:
            return
        drivers = csi_node.spec.drivers or ()
        counts = {
            one.name: one.allocatable.count
            for one in drivers
            if one.allocatable is not None and one.allocatable.count is not None
        }
        names = (one.name for one in drivers)
        self._nodes.logs[Aspect.VOLUMES].add(row)
        all_or_none(
            there * sign,
            *((self._install, row, name) for name in dict.fromkeys(["", *names])),
            *(
                (self._drivers.charge, row, name, HAS, count - _NO_LIMIT)
                for name, count in counts.items()
            ),
        )

    def _install(self, row: int, driver: str, sign: int) -> None:
        rows = self._installed.setdefault(driver, {})
        rows[row] = rows.get(row, 0) + sign
        if not rows[row]:
            del rows[row]
        if not rows:
            del self._installed[driver]

    def _hold(
        self,
        holders: dict[VolumeId, dict[int, int]],
        volume: VolumeId,
        row: int,
        number: int,
        sign: int,
    ) -> None:
        """A volume counts once on a row, however many pods use it there and whether it is attached
        yet or not.
        """
        there = holders.get(volume, {})
        left = there.get(row, 0) + sign * number
        others = self._attached if holders is self._mounted else self._mounted
        if (row in there) != bool(left) and row not in others.get(volume, ()):
            self._drivers.charge(row, volume.driver, TAKEN, 1, 1 if left else -1)
        there[row] = left
        if not left:
            del there[row]
        holders[volume] = there
        if not there:
            del holders[volume]

    # ---- attachments -----------------------------------------------------------------------------

    def _put_attachment(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]  # one of them is there
        gone, come = _sources(old), _sources(new)
        all_or_none(1, *self._attaching(name, there=new is not None))
        for source in gone:
            self._attachments_of[source].pop(name, None)
            if not self._attachments_of[source]:
                del self._attachments_of[source]
        for source in come:
            self._attachments_of.setdefault(source, {})[name] = None

    def _attaching(self, name: str, *, there: bool) -> Iterator[Step]:
        """What it takes to count an attachment as it is now, if its node and its volume are there;
        or (not ``there``) no longer.
        """
        before, after = self._attachments.get(name), self._attached_to(name) if there else None
        yield self._record_attachment, name, before, after
        for counted, number in ((before, -1), (after, 1)):
            if counted is not None:
                row, volume = counted
                self._nodes.logs[Aspect.VOLUMES].add(row)
                yield self._hold, self._attached, volume, row, number

    def _attached_to(self, name: str) -> tuple[int, VolumeId] | None:
        attachment = self._store.objects(VolumeAttachment)[name]
        row = self._nodes.row_of.get(attachment.spec.node_name)
        pv = self._store.objects(PersistentVolume).get(
            attachment.spec.source.persistent_volume_name or ""
        )
        if row is None or pv is None or pv.spec.csi is None or not attachment.spec.attacher:
            return None
        return row, VolumeId(attachment.spec.attacher, pv.spec.csi.volume_handle)

    def _record_attachment(
        self,
        name: str,
        before: tuple[int, VolumeId] | None,
        after: tuple[int, VolumeId] | None,
        sign: int,
    ) -> None:
        counted = after if sign > 0 else before
        if counted is not None:
            self._attachments[name] = counted
        else:
            self._attachments.pop(name, None)


def _sources(attachment: VolumeAttachment | None) -> tuple[Source, ...]:
    """What an attachment counts by: its node (which goes by its CSINode here) and its volume."""
    if attachment is None:
        return ()
    return (CSINode, attachment.spec.node_name), (
        PersistentVolume,
        attachment.spec.source.persistent_volume_name or "",
    )
