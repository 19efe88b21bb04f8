"""The ledger of devices: who has which, and what each node can reach.

Kept up to date with slices and claims, and with the allocations that were decided but are not yet
in the claims' status: those count from ``assume`` until ``release``, or until the API server shows
the claim allocated. Members of a pod group share what was decided for one of them, and it holds
until none of them needs it. One of these per store, made when first asked for:
``store.index(DeviceLedger)``.

Nodes that offer the same, in whatever state, have the same *shape*: whether claims can be allocated
is asked once for each.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from kubefacts.cel import CELExpressionError
from moorage.core.columns.change_log import VersionCounter
from moorage.core.columns.changes import ClaimAssumed, ClaimConfirmed, ClaimReleased
from moorage.core.columns.store import Store
from moorage.core.devices.claim_decisions import ClaimDecision, identity_of
from moorage.core.devices.device_cel import DeviceFacts, holds
from moorage.core.devices.device_searches import DeviceSearches
from moorage.core.devices.device_supply import DeviceSupply, KeptDevices
from moorage.core.devices.devices_left import DevicesLeft
from moorage.core.devices.extended_resources import is_extended_claim, owner_of
from moorage.core.devices.pools import (
    AllocationError,
    DeviceId,
    Pool,
    PoolId,
    PoolState,
    check_slice,
    devices_near,
    gather_pools,
    pool_of,
)
from moorage.core.devices.shapes import shape_of
from moorage.core.devices.taint_rules import TaintedSlices
from moorage.core.devices.uses import (
    AvailableDevices,
    DevicesInUse,
    DevicesInUseWith,
    DeviceUse,
    device_uses_of,
)
from moorage.core.objects.meta import Labels, key, version
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.structures.all_or_none import all_or_none

_MAX_SPARE_SHAPES = 16
"""So many shapes that no node has now are worth no look: each allocation may make a new one."""
_MIN_DEAD_NODES = 64
"""So many nodes that are gone are worth no look."""
_MAX_DEVICES_LEFT = 16


@dataclasses.dataclass(slots=True)
class _Seen:
    """What a node was found to reach, with which labels; its shape and all devices near it are None
    until somebody asks.
    """

    labels: Labels | None
    pools: tuple[Pool, ...]
    shape: int | None = None
    near: tuple[tuple[DeviceId, DeviceFacts], ...] | None = None


class DeviceLedger:
    """Knows who has which device, and what each node can reach.

    When a device comes, goes, changes, is taken or given back, ``version_counter`` moves and the
    nodes that reach it are noted in the node table.
    """

    def __init__(self, store: Store) -> None:
        self.version_counter = VersionCounter()
        self._journal = store.journal
        self._nodes = store.room.nodes
        self._classes = store.objects(DeviceClass)
        self._uses = DevicesInUse()
        self._decided: dict[str, ClaimDecision] = {}
        self._for_pods: dict[str, dict[str, ResourceClaim]] = {}
        """The claims for extended resources of a pod, by its UID and their names."""
        self._pools: dict[PoolId, dict[str, ResourceSlice]] = {}
        self._of_node: dict[str, dict[PoolId, int]] = {}
        self._for_many: dict[PoolId, int] = {}
        self._seen: dict[str, _Seen] = {}
        self._reached_by: dict[PoolId, set[str]] = {}
        self._shapes: dict[tuple[object, ...], int] = {}
        self._next_shape = 0
        self.searches = DeviceSearches(store.journal)
        self._beside: OrderedDict[frozenset[int], DevicesLeft] = OrderedDict()
        TaintedSlices(store, self._put_slice)
        store.follow(ResourceClaim, self._put_claim)
        store.follow(DeviceClass, lambda _old, _new: self.searches.forget())

    # ---- reading ---------------------------------------------------------------------------------

    def available(self, node: Node) -> AvailableDevices:
        """What there is for a node. Raises AllocationError when a slice can't be used."""
        return AvailableDevices(self._reach_of(node).pools, self._classes, self._uses)

    def is_shape_known(self, node: Node) -> bool:
        """Whether the node's shape is known, so that it costs nothing now."""
        seen, labels = self._seen.get(node.metadata.name), node.metadata.labels
        return (
            seen is not None
            and seen.shape is not None
            and (seen.labels is labels or seen.labels == labels)
        )

    def shape(self, node: Node) -> int:
        """The same for nodes that offer the same, names aside. Raises AllocationError."""
        seen = self._reach_of(node)
        if seen.shape is None:
            seen.shape = self.number(seen.pools, self._uses)
        return seen.shape

    def number(self, pools: Iterable[Pool], uses: DevicesInUse) -> int:
        """The number of what is offered by these pools, so used."""
        shape = tuple(
            shape_of(pool, uses)
            for pool in pools
            if pool.devices or pool.state is not PoolState.USABLE
        )
        if shape not in self._shapes:
            self._forget_spare_shapes()
            self._shapes[shape] = self._next_shape
            self._next_shape += 1
        return self._shapes[shape]

    def without_kept(self, kept: Sequence[KeptDevices]) -> DeviceSupply:
        """What there would be if these had their devices."""
        if not kept:
            return self
        which = frozenset(map(id, kept))
        found = self._beside.get(which)
        if found is None:
            found = self._beside[which] = DevicesLeft(
                self,
                self.number,
                uses=DevicesInUseWith(self._uses, (one for each in kept for one in each.taken)),
                kept=kept,
            )
            if len(self._beside) > _MAX_DEVICES_LEFT:
                self._beside.popitem(last=False)
        self._beside.move_to_end(which)
        return found

    def count(self, node: Node, class_: DeviceClass) -> tuple[int, int]:
        """How many devices of a class a node can reach, and how many of them are in use; none if
        that can't be told.
        """
        expressions = [
            one.cel.expression for one in class_.spec.selectors or () if one.cel is not None
        ]
        try:
            found = [
                device
                for device, facts in self._devices_near(node)
                if all(holds(expression, facts) for expression in expressions)
            ]
        except (AllocationError, CELExpressionError):
            return 0, 0
        return len(found), sum(device in self._uses for device in found)

    def _devices_near(self, node: Node) -> tuple[tuple[DeviceId, DeviceFacts], ...]:
        seen = self._reach_of(node)
        if seen.near is None:
            pools = (self._pools[pool] for pool in self._pools_near(node))
            seen.near = tuple(devices_near((one for each in pools for one in each.values()), node))
        return seen.near

    def is_assumed(self, claim: ResourceClaim) -> bool:
        """Whether an allocation of the claim is decided but not written yet."""
        return self.assumed(claim) is not None

    def assumed(self, claim: ResourceClaim) -> ResourceClaim | None:
        """The claim as it was decided and is not seen yet."""
        decision = self._decided.get(identity_of(claim))
        return None if decision is None else decision.claim

    def shared(self, claim: ResourceClaim, group: GroupKey | None) -> ResourceClaim | None:
        """The claim as it was decided for a member of this group."""
        decision = self._decided.get(identity_of(claim))
        if decision is None or group is None or decision.group != group:
            return None
        return decision.claim

    def assumptions(self) -> Iterator[ClaimAssumed | ClaimConfirmed]:
        """What was decided and is not seen yet, as changes."""
        for decision in self._decided.values():
            yield ClaimAssumed(decision.claim, decision.group)
            if decision.written is not None:
                yield ClaimConfirmed(decision.claim)

    def extended_claim(self, pod: Pod) -> ResourceClaim | None:
        """The claim that was made for the extended resources of a pod; of several the first by
        name.
        """
        claims = self._for_pods.get(pod.metadata.uid)
        return claims[min(claims)] if claims else None

    # ---- assuming --------------------------------------------------------------------------------

    def assume(self, claim: ResourceClaim, group: GroupKey | None = None, holder: str = "") -> None:
        """Take the claim to be allocated as its status says, for a pod (UID), of this group."""
        identity = identity_of(claim)
        decision = self._decided.get(identity)
        if decision is None or decision.claim is not claim:
            self._replace(identity, ClaimDecision(claim, group))
            self._journal.append(ClaimAssumed(claim, group))
        self._decided[identity].holders.add(holder)

    def confirm(self, claim: ResourceClaim) -> None:
        """What was assumed is written, as ``claim`` is now: it stays so until the API server shows
        this state or a newer one.

        Nothing if it has come to be seen already.
        """
        identity, written = identity_of(claim), version(claim.metadata)
        if (decision := self._decided.get(identity)) is not None:
            self._replace(identity, dataclasses.replace(decision, claim=claim, written=written))
            self._journal.append(ClaimConfirmed(claim))

    def release(self, claim: ResourceClaim, holder: str | None = None) -> None:
        """Take this very assumption back, for one pod (UID) or None for all; nothing if it has
        ended or has been confirmed.
        """
        identity = identity_of(claim)
        decision = self._decided.get(identity)
        if decision is None or decision.claim is not claim:
            return
        if holder is not None:
            decision.holders.discard(holder)
        if holder is None or not decision.holders:
            self._charge(device_uses_of(claim), -1)
            del self._decided[identity]
            self._journal.append(ClaimReleased(claim))

    # ---- claims ----------------------------------------------------------------------------------

    def _put_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        # all, or it raises
        changes = [
            (claim, sign, device_uses_of(claim))
            for claim, sign in ((old, -1), (new, 1))
            if claim is not None
        ]
        over = self._ended_by(old, new)
        owners = [
            (owner_of(claim), claim, sign) for claim, sign, _ in changes if is_extended_claim(claim)
        ]
        ended = (
            (self._charge, device_uses_of(self._decided[identity].claim), -1)
            for identity in over
            if identity in self._decided
        )
        all_or_none(1, *((self._charge, taken, sign) for _, sign, taken in changes), *ended)
        for owner, claim, sign in owners:
            claims = self._for_pods.setdefault(owner, {})
            claims[key(claim)] = claim
            if sign < 0:
                del claims[key(claim)]
                if not claims:
                    del self._for_pods[owner]
        for identity in over:
            self._decided.pop(identity, None)

    def _ended_by(self, old: ResourceClaim | None, new: ResourceClaim | None) -> list[str]:
        """Whose assumption ends by this change."""
        over = []
        if old is not None and (new is None or identity_of(new) != identity_of(old)):
            over.append(identity_of(old))
        if new is not None:
            decision = self._decided.get(identity_of(new))
            written = None if decision is None else decision.written
            if new.status.allocation is not None or (
                written is not None and version(new.metadata) >= written
            ):
                over.append(identity_of(new))
        return over

    def _replace(self, identity: str, decision: ClaimDecision) -> None:
        """The claim's devices count as was decided now, and no longer as before."""
        before = self._decided.get(identity)
        ended = ((self._charge, device_uses_of(before.claim), -1),) if before is not None else ()
        all_or_none(1, *ended, (self._charge, device_uses_of(decision.claim), 1))
        self._decided[identity] = decision

    def _charge(self, taken: Iterable[DeviceUse], number: int, sign: int = 1) -> None:
        """Count a claim's devices, or no longer."""
        self.version_counter.increment()
        all_or_none(number * sign, *((self._count, one) for one in taken))

    def _count(self, taken: DeviceUse, sign: int) -> None:
        self._forget_shapes(PoolId(taken.device.driver, taken.device.pool))
        self._uses.count(taken, sign)

    # ---- slices ----------------------------------------------------------------------------------

    def _put_slice(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if new is not None:
            check_slice(new)
        self.version_counter.increment()
        all_or_none(
            1,
            *(
                (self._enter, piece, sign)
                for piece, sign in ((old, -1), (new, 1))
                if piece is not None
            ),
        )

    def _enter(self, piece: ResourceSlice, came: int, sign: int) -> None:
        """A slice came (1) or went (-1)."""
        pool, node = pool_of(piece), piece.spec.node_name
        alone = bool(node)
        self._forget(pool, node if alone else None)
        pieces = self._pools.setdefault(pool, {})
        if came * sign > 0:
            pieces[piece.metadata.name] = piece
        else:
            del pieces[piece.metadata.name]
        if not pieces:
            del self._pools[pool]
        pools = self._of_node.setdefault(node or "", {}) if alone else self._for_many
        pools[pool] = pools.get(pool, 0) + came * sign
        if not pools[pool]:
            del pools[pool]
        if alone and not pools:
            del self._of_node[node or ""]

    def _forget(self, pool: PoolId, node: str | None) -> None:
        """What was seen of a pool is out of date, and nodes that did not see it may do now: this
        one, or (None) any.
        """
        if node is None:
            self._seen.clear()
            self._reached_by.clear()
            self._nodes.mark_devices_changed(self._nodes.row_of)
            return
        for name in {node} | self._reached_by.pop(pool, set()):
            self._seen.pop(name, None)
            self._nodes.mark_devices_changed((name,))

    def _forget_shapes(self, pool: PoolId) -> None:
        for name in self._reached_by.get(pool, ()):
            if (seen := self._seen.get(name)) is not None:
                seen.shape = None
            self._nodes.mark_devices_changed((name,))

    # ---- nodes -----------------------------------------------------------------------------------

    def _reach_of(self, node: Node) -> _Seen:
        name, labels = node.metadata.name, node.metadata.labels
        seen = self._seen.get(name)
        if seen is None or (seen.labels is not labels and seen.labels != labels):
            self._forget_dead_nodes()
            near = self._pools_near(node)
            pieces = {
                pool: [self._pools[pool][piece] for piece in sorted(self._pools[pool])]
                for pool in near
            }
            seen = self._seen[name] = _Seen(labels, gather_pools(pieces, node))
            for pool in near:
                self._reached_by.setdefault(pool, set()).add(name)
        return seen

    def _forget_spare_shapes(self) -> None:
        """A shape that comes back gets another number: it is asked about once more, that is all."""
        if len(self._shapes) > 2 * len(self._seen) + _MAX_SPARE_SHAPES:
            used = {seen.shape for seen in self._seen.values()}
            self._shapes = {
                shape: number for shape, number in self._shapes.items() if number in used
            }
            self.searches.keep_shapes(used)

    def _forget_dead_nodes(self) -> None:
        """What was seen of nodes that are gone goes, once that is about half of all."""
        there = self._nodes.row_of.keys()
        if len(self._seen) > 2 * len(there) + _MIN_DEAD_NODES:
            self._seen = {name: seen for name, seen in self._seen.items() if name in there}
            self._reached_by = {
                pool: reached & there
                for pool, reached in self._reached_by.items()
                if reached & there
            }

    def _pools_near(self, node: Node) -> list[PoolId]:
        return list(self._of_node.get(node.metadata.name, {}) | self._for_many)
