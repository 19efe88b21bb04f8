"""The device binder: has the resource claims of a pod allocated and reserved.

What was decided is written into the claims, and the pod waits until its devices say that they can
be used. Devices are each given to one claim, but nothing in the API says so beside the claims
themselves: what is written must stay known, until it is seen or taken back. So a write that was
begun is never left alone, and where an answer got lost the claim is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import functools
import logging
from typing import TypeVar

from moorage.api.conditions import timestamp
from moorage.core.devices.allocation_results import made_at
from moorage.core.devices.extended_resources import TO_BE_CREATED
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pod_claims import binding_failure, binding_pending, is_reserved
from moorage.core.objects.meta import key, version
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import Allocation, Consumer, ResourceClaim
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimRelease, ClaimReservation
from moorage.engine.background_tasks import uninterrupted
from moorage.engine.binding.actors.contract import ActorTools, UndoPreBind
from moorage.engine.binding.actors.shared_claims import SharedClaims
from moorage.ports.errors import Conflict, EdgeError, NotFound, Retryable
from moorage.ports.kube import pod_ref
from moorage.ports.retrying import delay, until_answered

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_ATTEMPTS = 5
"""How often a write is tried that others, or a busy API server, got in the way of."""


@dataclasses.dataclass(slots=True, eq=False)
class HeldClaim:
    """A claim that is held for a pod, in the newest state that is known.

    ``consumer``: the pod, or its PodGroup. ``ours``: its devices go back when the pod is not bound,
    as they were given to it for this pod or its group, or proved useless.
    """

    claim: ResourceClaim
    consumer: Consumer
    decided: Allocation | None
    """The devices that the pod was placed by."""
    ours: bool
    created: bool = False


class DeviceBinder:
    """Writes what DynamicResources reserved. Source: kube-scheduler DynamicResources (v1.37), texts
    included.

    Not kept of it: there, a claim stays allocated when the pod that it was allocated for is not
    bound, and reserved for a PodGroup when no member of that is bound.
    """

    def __init__(self, tools: ActorTools) -> None:
        self._writes = tools.writes
        self._reads = tools.reads
        self._objects = tools.objects
        self._clock = tools.clock
        self._turns = tools.turns
        self._shared = SharedClaims(tools.objects, tools.siblings)

    @property
    def _ledger(self) -> DeviceLedger:
        return self._objects.store.index(DeviceLedger)

    async def pre_bind(
        self, pod: Pod, node: str, reserved: ClaimReservation | None
    ) -> UndoPreBind | None:
        """Return when the pod has all of its claims, and their devices can be used. Raises
        EdgeError.
        """
        if reserved is None:
            return None
        self._shared.stays(pod)
        held: list[HeldClaim] = []
        turns = self._turns[pod.spec.scheduler_name]
        await turns.acquire()
        writing = asyncio.ensure_future(self._write(pod, reserved, held))
        writing.add_done_callback(lambda _: turns.release())
        try:
            await asyncio.shield(writing)
            await self._until_usable(held, reserved.timeout)
        except BaseException:
            await uninterrupted(self._undo_when_written(writing, pod, held))
            raise
        return functools.partial(self._undo, pod, held)

    async def run_action(self, pod: Pod, action: ClaimRelease) -> None:
        """Have a claim give its devices back, in the state that was decided by, or delete it, or
        take a reservation back; nothing if a member of the pod's group needs it now.
        """
        claim = action.claim
        # whether it is there the pod's next attempt sees
        with contextlib.suppress(NotFound):
            async with self._shared.turn(claim, pod):
                if self._shared.is_needed(claim, pod):
                    return
                self._shared.note_doubt(claim)
                if action.consumer is not None:
                    await self._writes.release_claim(claim, action.consumer)
                elif action.delete:
                    await self._writes.delete_claim(claim)
                else:
                    await self._writes.deallocate_claim(claim)

    # ---- writing ---------------------------------------------------------------------------------

    async def _write(self, pod: Pod, reserved: ClaimReservation, held: list[HeldClaim]) -> None:
        """Allocate and reserve the claims one after another; ``held`` has all that something may
        have been written to.
        """
        for claim, allocation, consumer in reserved.claims:
            decided = allocation or claim.status.allocation
            one = HeldClaim(claim, consumer, decided, allocation is not None)
            if claim.metadata.name == TO_BE_CREATED:
                name = f"{pod.metadata.name}-extended-resources-"
                created = await self._writes.create_claim(claim, name)
                one = dataclasses.replace(one, claim=created, ours=True, created=True)
            held.append(one)
            now = timestamp(self._clock.now())
            made = made_at(allocation, now) if allocation is not None else None
            async with self._shared.turn(claim, pod):
                await self._reserve(one, pod, made)
            if one.created:
                name = one.claim.metadata.name
                await self._writes.pod_claim(pod_ref(pod), name, reserved.mappings)

    async def _reserve(self, one: HeldClaim, pod: Pod, allocation: Allocation | None) -> None:
        """Reserve a claim, allocated if need be; again in its newest state where others changed it,
        or no answer came. What a member of its group has written a pod need not write.
        """
        grouped = group_of(pod) is not None
        known = self._shared.newest(one.claim) if grouped else one.claim
        for attempt in range(MAX_ATTEMPTS):
            one.claim = known or await self._newest(one.claim)
            known = None
            try:
                await self._reserve_as_is(one, allocation, grouped)
                break
            except (Conflict, Retryable) as error:
                if attempt == MAX_ATTEMPTS - 1:
                    raise
                await self._clock.sleep(delay(attempt + 1, error))
        if grouped:
            self._shared.note_written(one.claim)
        if allocation is not None:
            self._ledger.confirm(one.claim)

    async def _reserve_as_is(
        self, one: HeldClaim, allocation: Allocation | None, grouped: bool
    ) -> None:
        """Write what the claim lacks in the state that is known."""
        # others may have given a claim of the group its devices, or other ones
        as_decided = _has_devices(one.claim, one.decided) if grouped else None
        if is_reserved(one.claim, one.consumer.uid) and as_decided is not False:
            return
        _check(one.claim, allocation, as_decided)
        missing = None if as_decided else allocation
        if missing is not None and not one.created:  # that one was created protected
            one.claim = await self._writes.protect_claim(one.claim)
        one.claim = await self._writes.reserve_claim(one.claim, one.consumer, missing)

    async def _newest(self, claim: ResourceClaim) -> ResourceClaim:
        """The claim as it is now. Raises EdgeError when that is gone."""
        found = await self._reads.resource_claim(claim.metadata.namespace, claim.metadata.name)
        if found is None or found.metadata.uid != claim.metadata.uid:
            raise EdgeError(f"get updated claim {key(claim)} after conflict: not found")
        return found

    # ---- waiting ---------------------------------------------------------------------------------

    async def _until_usable(self, held: list[HeldClaim], seconds: float) -> None:
        """Wait for devices that have to be made usable; claims whose devices are not so in time are
        given up.
        """
        waiting = [one for one in held if binding_pending(one.claim)]
        if not waiting:
            return
        left = max(0.0, min(seconds - self._age(one.claim) for one in waiting))
        names = [(ResourceClaim, key(one.claim)) for one in waiting]

        def late() -> list[HeldClaim]:
            return [one for one in waiting if not _usable(one, self._observed(one))]

        if not await self._objects.wait_until(lambda: not late(), lambda: names, self._clock, left):
            late_ones = late()
            for one in late_ones:
                one.ours = True
            raise EdgeError(f"device binding timeout: claim={late_ones[0].claim.metadata.name}")

    def _observed(self, one: HeldClaim) -> ResourceClaim | None:
        """The claim as the watch shows it, None while that is behind what was written. Raises
        EdgeError when it is gone.
        """
        claim = self._objects.objects(ResourceClaim).get(key(one.claim))
        if claim is None or claim.metadata.uid != one.claim.metadata.uid:
            if one.created:
                return None  # it may not have come yet
            raise EdgeError(f'could not find v1.ResourceClaim "{key(one.claim)}"')
        return claim if version(claim.metadata) >= version(one.claim.metadata) else None

    def _age(self, claim: ResourceClaim) -> float:
        """Seconds since the claim got its devices."""
        allocation = claim.status.allocation
        if allocation is None or allocation.allocation_timestamp is None:
            return 0.0
        return max(
            0.0,
            (
                self._clock.now() - datetime.datetime.fromisoformat(allocation.allocation_timestamp)
            ).total_seconds(),
        )

    # ---- taking back -----------------------------------------------------------------------------

    async def _undo_when_written(
        self, writing: asyncio.Task[None], pod: Pod, held: list[HeldClaim]
    ) -> None:
        """Take back what is being written, when it is known what that is."""
        await asyncio.wait({writing})
        if not writing.cancelled():
            writing.exception()  # so that asyncio does not log it: it is raised elsewhere
        await self._undo(pod, held)

    async def _undo(self, pod: Pod, held: list[HeldClaim]) -> None:
        """Undo what was written, unless somebody else has bound the pod: then it needs its claims.
        Until a write is answered nobody knows who has the devices.
        """
        read_node = functools.partial(self._reads.pod_node, pod_ref(pod))
        for one in reversed(held):
            try:
                if not await until_answered(read_node, self._clock):
                    self._shared.leaves(pod)
                    await until_answered(functools.partial(self._release, one, pod), self._clock)
            except EdgeError as error:
                log.warning(
                    "a claim was not given back: %s",
                    error,
                    extra={"claim": key(one.claim), "pod": key(pod)},
                )

    async def _release(self, one: HeldClaim, pod: Pod) -> None:
        """Reserved for the pod no more; without devices, if nobody else uses it and they were given
        to it for this pod. What a member of its group needs stays, and stays the group's.
        """
        claim, uid = one.claim, one.consumer.uid
        async with self._shared.turn(claim, pod):
            needed = self._shared.is_needed(claim, pod)
            if needed and uid != pod.metadata.uid:
                return
            newest = await self._reads.resource_claim(claim.metadata.namespace, claim.metadata.name)
            if newest is not None and newest.metadata.uid == claim.metadata.uid:
                if one.created:
                    await self._writes.delete_claim(newest)
                elif is_reserved(newest, uid):
                    self._shared.note_doubt(newest)
                    if one.ours and not needed and len(newest.status.reserved_for or ()) == 1:
                        await self._writes.deallocate_claim(newest)
                    else:
                        await self._writes.release_claim(newest, one.consumer)
            if not needed:
                self._ledger.release(claim)


def _check(claim: ResourceClaim, allocation: Allocation | None, as_decided: bool | None) -> None:
    """Raises EdgeError when the claim is not what was decided by any more. ``as_decided``: whether
    it has the devices that were decided, None where that does not count.
    """
    happened, has = "", claim.status.allocation
    if claim.metadata.deletion_timestamp is not None:
        happened = "deleted"
    elif has is not None and (as_decided is False or (allocation is not None and not as_decided)):
        happened = "allocated elsewhere"
    elif has is None and allocation is None:
        happened = "deallocated elsewhere"
    if happened:
        raise EdgeError(f"claim {key(claim)} got {happened} in the meantime")


def _has_devices(claim: ResourceClaim, decided: Allocation | None) -> bool:
    """Whether a claim has these devices, and no others. How amounts of them are written may
    differ.
    """
    has = claim.status.allocation
    return has is not None and decided is not None and _devices(has) == _devices(decided)


def _devices(allocation: Allocation) -> set[tuple[str | None, ...]]:
    results = allocation.devices.results or ()
    return {(one.request, one.driver, one.pool, one.device, one.share_id) for one in results}


def _usable(one: HeldClaim, seen: ResourceClaim | None) -> bool:
    """Whether the devices of a claim can be used, as far as is seen. Raises EdgeError when they
    never will.
    """
    if seen is None:
        return False
    one.claim = seen
    failure = binding_failure(seen)
    if failure is not None:
        one.ours = True
        text = f'claim={seen.metadata.name}, reason={failure.reason}, message="{failure.message}"'
        raise EdgeError(f"device binding failed: {text}")
    return not binding_pending(seen)
