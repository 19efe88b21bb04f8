"""Changes: what becomes of the state that decisions are made from, as data, so that it can be
written down and brought back.

Whoever changes that state appends one of these to the store's journal once it is done: a watch's
word, and just as much what was decided. They say what is so from then on, so that one which is done
again changes nothing.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import msgspec

from moorage.core.objects.meta import HasMetadata, PartialObject
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ResourceClaim
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.pods.requests import Requests


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Anything that a journal holds. Tags and the order of fields are what recordings have on disk:
    neither changes, and new fields come last.
    """


class NodePut(Entry, frozen=True, tag=1):
    """A node came, or is in another state."""

    node: Node


class NodeRemoved(Entry, frozen=True, tag=2):
    """A node is gone."""

    name: str


class NodesOrdered(Entry, frozen=True, tag=19):
    """Nodes are looked at in this order until one comes or goes (``zones.NodeOrder``). Said by key
    frames alone, as it follows from what came before.
    """

    names: tuple[str, ...]


class ObjectPut(Entry, frozen=True):
    """An object that is neither pod nor node came, or is in another state."""

    object: HasMetadata


class ObjectRemoved(Entry, frozen=True):
    """Such an object is gone; ``name`` is its ``namespace/name``."""

    kind: type[HasMetadata]
    name: str


class PodWaiting(Entry, frozen=True, tag=5):
    """A pod waits for a node, for the first time or in another state."""

    pod: Pod


class PodObserved(Entry, frozen=True, tag=6):
    """The API server shows a pod on its node."""

    pod: Pod


class PodUnreadable(Entry, frozen=True, tag=7):
    """It shows one of which only the metadata can be read, on this node or ("") on none;
    ``requests`` is what we know that it takes there.
    """

    pod: PartialObject
    node: str
    requests: Requests


class PodRemoved(Entry, frozen=True, tag=8):
    """A pod is gone, has ended, or cannot be placed."""

    uid: str


class PodStuck(Entry, frozen=True, tag=9):
    """A pod was told to go and does not."""

    uid: str


class PodPreempted(Entry, frozen=True, tag=10):
    """We have had a pod told to go."""

    uid: str


class PodAssumed(Entry, frozen=True, tag=11):
    """It was decided that a pod goes to this node."""

    pod: Pod
    node: str


class PodForgotten(Entry, frozen=True, tag=12):
    """It does not go there after all."""

    uid: str


class Nomination(Entry, frozen=True, tag=13):
    """All that is known of what a waiting pod is nominated to, from now on.

    ``pod`` and ``node``: None and "" where it is nominated to none. ``unwritten`` and ``lapsed`` as
    in ``Nominator``, None where the pod is in neither.
    """

    uid: str
    pod: Pod | None = None
    node: str = ""
    held: bool = False
    unwritten: str | None = None
    lapsed: str | None = None


class ClaimAssumed(Entry, frozen=True, tag=14):
    """It was decided that a claim is allocated as its status says; ``group``: for a member of this
    one, None for a pod alone.
    """

    claim: ResourceClaim
    group: GroupKey | None = None


class ClaimConfirmed(Entry, frozen=True, tag=15):
    """That is written, as the claim is here."""

    claim: ResourceClaim


class ClaimReleased(Entry, frozen=True, tag=16):
    """It is not so after all."""

    claim: ResourceClaim


class DeviceSearchGivenUp(Entry, frozen=True, tag=33):
    """The search for devices took too long. ``what`` is sought, and ``offer`` is on offer:
    digests, hexadecimal.
    """

    what: str
    offer: str


class VolumesAssumed(Entry, frozen=True, tag=17):
    """It was decided that volumes and claims are so."""

    volumes: tuple[PersistentVolume, ...]
    claims: tuple[PersistentVolumeClaim, ...]


class VolumesReleased(Entry, frozen=True, tag=18):
    """They are not after all; volumes by name, claims by ``namespace/name``."""

    volumes: tuple[str, ...]
    claims: tuple[str, ...]


class Time(Entry, frozen=True, tag=28):
    """What follows happened so many milliseconds after the begin of the block that this stands
    in.
    """

    milliseconds: int


class Gap(Entry, frozen=True, tag=29):
    """So many entries are missing here: what is known of the state is nothing, until a key frame
    has said it anew.
    """

    entries: int


class Journal(Protocol):
    """Takes entries in the order in which they happened; a list is one."""

    def append(self, entry: Entry, /) -> None:
        """Write it down. Must be quick and must not raise."""


NO_JOURNAL: Final[Journal] = deque[Entry](maxlen=0)
"""Keeps nothing."""
