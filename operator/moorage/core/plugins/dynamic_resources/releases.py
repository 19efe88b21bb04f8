"""Releases: which claims give their devices back so that a pod, or a pod group, fits.

Source: kube-scheduler DynamicResources PostFilter and PodGroupPostFilter (v1.37), texts included.
There, a group whose claims' names are not known yet ends in an error; here these are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moorage.core.devices.pod_claims import (
    can_be_deallocated,
    consumer_of_group,
    group_claims,
    is_reserved,
)
from moorage.core.framework.post_filter_contract import (
    FailedGroupAttempt,
    PodGroupPostFilterResult,
    PostFilterResult,
)
from moorage.core.framework.status import Code, Status
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimRelease

NOTHING_SAID = Status(Code.UNSCHEDULABLE)
DEALLOCATED = Status(Code.UNSCHEDULABLE, ("deallocation of PodGroup ResourceClaim completed",))
UNRESERVED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("ResourceClaim unreserved for PodGroup",))
DONE = Status(Code.UNSCHEDULABLE, ("deallocation and deletion of ResourceClaims completed",))


class LostClaims(NamedTuple):
    """What keeps a pod from nodes: claims whose devices can't be used there, and a claim for
    extended resources that an earlier attempt left behind.
    """

    unavailable: tuple[ResourceClaim, ...] = ()
    stale: ResourceClaim | None = None


def propose(release: ClaimRelease | None) -> PostFilterResult:
    """What is said of a pod alone."""
    if release is None:
        return PostFilterResult(NOTHING_SAID)
    text = f"{'deletion' if release.delete else 'deallocation'} of ResourceClaim completed"
    return PostFilterResult(Status(Code.UNSCHEDULABLE, (text,)), action=release)


def release_for_pod(pod: Pod, lost: LostClaims) -> ClaimRelease | None:
    """What to release for a pod; claims that somebody else has reserved stay as they are."""
    if lost.stale is not None:
        return ClaimRelease(lost.stale, delete=True)
    uid = pod.metadata.uid
    mine = (claim for claim in lost.unavailable if can_be_deallocated(claim, uid))
    return next((ClaimRelease(claim) for claim in mine), None)


def release_for_group(attempt: FailedGroupAttempt) -> PodGroupPostFilterResult:
    """One claim for each member; where a member has none, and none has a node, one of the
    group's.
    """
    if attempt.group.topology_key:
        return PodGroupPostFilterResult(NOTHING_SAID)
    members = [(pod, lost) for pod, lost in attempt.members if lost is not None]
    found = {pod.metadata.uid: release_for_pod(pod, lost) for pod, lost in members}
    actions = {uid: release for uid, release in found.items() if release is not None}
    idle = next((uid for uid, release in found.items() if release is None), None)
    if idle is not None and not attempt.scheduled:
        given_back = {release.claim.metadata.uid for release in actions.values()}
        for status, release in _group_releases(attempt, [lost for _, lost in members]):
            if release.claim.metadata.uid not in given_back:
                return PodGroupPostFilterResult(status, actions | {idle: release})
    return PodGroupPostFilterResult(DONE, actions)


def _group_releases(
    attempt: FailedGroupAttempt, keeping_out: Iterable[LostClaims]
) -> Iterator[tuple[Status, ClaimRelease]]:
    """What can be released for a group that nobody else has reserved, the best first: devices that
    keep members from nodes, then reservations, by which the devices may serve others.
    """
    store = attempt.snapshot.store
    group = store.objects(PodGroup).get(attempt.group.name)
    if group is None or group.metadata.uid != attempt.group.uid:
        return
    uid = group.metadata.uid
    for lost in keeping_out:
        for claim in lost.unavailable:
            if can_be_deallocated(claim, uid):
                yield DEALLOCATED, ClaimRelease(claim)
    for claim in group_claims(group, store.objects(ResourceClaim)):
        if claim.status.allocation is not None and is_reserved(claim, uid):
            yield UNRESERVED, ClaimRelease(claim, consumer=consumer_of_group(group))
