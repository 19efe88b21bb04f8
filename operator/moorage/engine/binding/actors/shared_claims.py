"""Shared claims: what members of pod groups must know of each other when they write to claims that
several of them use.

They write one after another, and each begins with the newest state that is known: what one of them
has written the next need not write again. A claim is given back only when no member on a node needs
it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple
from weakref import WeakValueDictionary

from moorage.core.columns.cache import PodState
from moorage.core.devices.pod_claims import uses_claim
from moorage.core.objects.meta import key, version
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from moorage.engine.binding.actors.siblings import Siblings


class _LastWrite(NamedTuple):
    """The state that a write was made in, or (``after``) came to; that is None where it is not
    known.
    """

    before: ResourceClaim
    after: ResourceClaim | None

    def is_newer(self, seen: ResourceClaim) -> bool:
        """Whether this state of the claim is from before the write."""
        if self.after is None:
            return version(seen.metadata) <= version(self.before.metadata)
        return version(seen.metadata) < version(self.after.metadata)


class SharedClaims:
    """Whose turn it is, what was written last, and who still needs a claim."""

    def __init__(self, objects: ObjectWaiter, siblings: Siblings) -> None:
        self._objects = objects
        self._siblings = siblings
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        self._writes: dict[str, _LastWrite] = {}
        """By UID of the claim, until the watch shows what came of it."""
        self._leaving: set[str] = set()
        """UIDs of members that are on nodes, and are not to be bound."""

    def turn(self, claim: ResourceClaim, pod: Pod) -> contextlib.AbstractAsyncContextManager[None]:
        """A member's turn to write to a claim. Pods alone do not wait."""
        if group_of(pod) is None:
            return contextlib.nullcontext()
        lock = self._turns.get(claim.metadata.uid)
        if lock is None:
            lock = self._turns[claim.metadata.uid] = asyncio.Lock()
        return lock

    # ---- what was written ------------------------------------------------------------------------

    def note_written(self, claim: ResourceClaim) -> None:
        """The claim is so now."""
        self._note(_LastWrite(claim, claim))

    def note_doubt(self, claim: ResourceClaim) -> None:
        """It is about to be given back, in this state; what comes of that is not known yet."""
        self._note(_LastWrite(claim, None))

    def newest(self, claim: ResourceClaim) -> ResourceClaim | None:
        """The newest state that is known of a claim; None if it has to be read."""
        seen, last = self._seen(claim), self._writes.get(claim.metadata.uid)
        if seen is not None and version(seen.metadata) > version(claim.metadata):
            claim = seen
        return claim if last is None or not last.is_newer(claim) else last.after

    def _note(self, last: _LastWrite) -> None:
        self._writes = {uid: one for uid, one in self._writes.items() if self._is_ahead(one)}
        self._writes[last.before.metadata.uid] = last

    def _is_ahead(self, last: _LastWrite) -> bool:
        """Whether the watch is behind; nobody needs a claim that it does not have."""
        seen = self._seen(last.before)
        return seen is not None and last.is_newer(seen)

    def _seen(self, claim: ResourceClaim) -> ResourceClaim | None:
        seen = self._objects.objects(ResourceClaim).get(key(claim))
        same = seen is not None and seen.metadata.uid == claim.metadata.uid
        return seen if same else None

    # ---- who needs one ---------------------------------------------------------------------------

    def stays(self, pod: Pod) -> None:
        """The pod is to be bound."""
        self._leaving.discard(pod.metadata.uid)

    def leaves(self, pod: Pod) -> None:
        """The pod will not be bound, and needs its claims no more."""
        self._leaving = {uid for uid in self._leaving if self._siblings.is_on_node(uid)}
        self._leaving.add(pod.metadata.uid)

    def is_needed(self, claim: ResourceClaim, pod: Pod) -> bool:
        """Whether another member of the pod's group that is on a node uses the claim."""
        return any(
            isinstance(info.pod, Pod)
            and uses_claim(info.pod, claim.metadata.name)
            and (info.state is not PodState.ASSUMED or info.pod.metadata.uid not in self._leaving)
            for info in self._siblings.of(pod)
        )
