"""Changes: what the cache is told, as data, so that it can be written down and done again.

Each change of what decisions are made from is one method of ``Cache``, and one of these, which the
method appends to the cache's journal when all of it is done. What a decision itself changes is not
among them: deciding again does it again.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, TypeAlias

import msgspec

from moorage.core.objects.meta import HasMetadata, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.core.pods.requests import Requests


class Entry(msgspec.Struct, frozen=True, gc=False):
    """Anything that a journal holds."""


class NodePut(Entry, frozen=True):
    """A node came, or is in another state."""

    node: Node


class NodeRemoved(Entry, frozen=True):
    """A node is gone."""

    name: str


class ObjectPut(Entry, frozen=True):
    """An object that is neither pod nor node came, or is in another state."""

    object: HasMetadata


class ObjectRemoved(Entry, frozen=True):
    """Such an object is gone; ``name`` is its ``namespace/name``."""

    kind: type[HasMetadata]
    name: str


class PodWaiting(Entry, frozen=True):
    """A pod waits for a node, for the first time or in another state."""

    pod: Pod


class PodObserved(Entry, frozen=True):
    """The API server shows a pod on its node."""

    pod: Pod


class PodUnreadable(Entry, frozen=True):
    """It shows one of which only the metadata can be read, on this node or ("") on none;
    ``requests`` is what we know that it takes there.
    """

    pod: PartialObject
    node: str
    requests: Requests


class PodRemoved(Entry, frozen=True):
    """A pod is gone, has ended, or cannot be placed."""

    uid: str


class PodStuck(Entry, frozen=True):
    """A pod was told to go and does not."""

    uid: str


class PodPreempted(Entry, frozen=True):
    """We have had a pod told to go."""

    uid: str


class Nominated(Entry, frozen=True):
    """A waiting pod is nominated to this node, or to none ("")."""

    pod: Pod
    node: str
    held: bool


class NominationLapsed(Entry, frozen=True):
    """Room is not kept any more for a pod, whatever its status says."""

    uid: str


class ClaimConfirmed(Entry, frozen=True):
    """What a decision gave a claim is in the API server, as the claim is here."""

    claim: ResourceClaim


class ClaimGivenBack(Entry, frozen=True):
    """It is there no more: nobody has the devices."""

    claim: ResourceClaim


Change: TypeAlias = (
    NodePut
    | NodeRemoved
    | ObjectPut
    | ObjectRemoved
    | PodWaiting
    | PodObserved
    | PodUnreadable
    | PodRemoved
    | PodStuck
    | PodPreempted
    | Nominated
    | NominationLapsed
    | ClaimConfirmed
    | ClaimGivenBack
)


class Journal(Protocol):
    """Takes entries in the order in which they happened; a list is one."""

    def append(self, entry: Entry, /) -> None:
        """Write it down. Must be quick and must not raise."""


NO_JOURNAL: Final[Journal] = deque[Entry](maxlen=0)
"""Keeps nothing."""
