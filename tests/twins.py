"""A twin: a replay that follows a live context's journal entry by entry, so that at any time both
should know the same and decide the same.
"""

from __future__ import annotations

from typing import Any

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.decisions import Decided, DecidedBy, GroupDecided
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.replay import Replay
from moorage.core.recording.wire import EntryDecoder, EntryEncoder
from moorage.ports.stored_kinds import STORED_KINDS


class Twin:
    """The journal of a live context. ``differences``: decisions that came out otherwise here."""

    def __init__(self, seed: int = 0) -> None:
        self.replay = Replay(CycleContext(Cache(Store(INDEXES)), seed))
        self.differences: list[str] = []
        self.decided = 0
        """Decisions that are to be made again."""
        self._revisions: list[Revision] = []
        self._encoder = EntryEncoder(self._document)
        self._decoder = EntryDecoder(
            [kind.struct for kind in STORED_KINDS],
            lambda document: self._revisions[document["number"]],
        )

    def append(self, entry: Entry, /) -> None:
        """Follow it at once, as it is after a journey through bytes."""
        self.decided += (isinstance(entry, Decided) and entry.by is not DecidedBy.NOBODY) or (
            isinstance(entry, GroupDecided) and not entry.overtaken
        )
        try:
            for heard in self._decoder.decode(self._encoder.encode([entry])):
                difference = self.replay.apply(heard)
                if difference is not None:
                    was = difference.recorded
                    text = f"{was.pod.metadata.name}: {was.outcome}, now {difference.now}"
                    self.differences.append(text)
        except Exception as error:  # noqa: BLE001 - the engine would catch it and go on
            self.differences.append(f"{type(entry).__name__}: {error!r}")

    def _document(self, revision: Revision) -> dict[str, int]:
        self._revisions.append(revision)
        return {"number": len(self._revisions) - 1}

    def strays(self, context: CycleContext) -> dict[str, tuple[Any, Any]]:
        """What the live context knows otherwise than the twin: name -> (live, twin)."""
        return differing(context, self.replay.context)


def opened(context: CycleContext) -> CycleContext:
    """A context that knows what a key frame of this one says."""
    replay = Replay(CycleContext(Cache(Store(INDEXES)), context.seed))
    for entry in key_frame(context.cache, {}):
        replay.apply(entry)
    return replay.context


def differing(one: CycleContext, other: CycleContext) -> dict[str, tuple[Any, Any]]:
    """What two contexts know otherwise."""
    mine, its = known(one), known(other)
    return {name: (mine[name], its[name]) for name in mine if mine[name] != its[name]}


def known(context: CycleContext) -> dict[str, Any]:
    """All that decisions are made from, as plain data."""
    cache, store = context.cache, context.cache.store
    nominations, nodes = cache.nominations, cache.nodes
    ledger, offers = store.index(DeviceLedger), store.index(VolumeOffers)
    return {
        "nodes": {name: nodes.nodes[row] for name, row in nodes.row_of.items()},
        "order of nodes": nodes.order.names,
        "taken": {name: nodes.amounts_on(row) for name, row in nodes.row_of.items()},
        "pods": {
            info.pod.metadata.uid: (_counted(info), info.state, info.preempted, info.stuck)
            for info in cache.pod_infos()
        },
        "order on nodes": {
            node: [info.pod.metadata.uid for info in cache.pods_on(node)] for node in cache.occupied
        },
        "waiting": cache.waiting,
        "nominations": [nominations.state(info.pod.metadata.uid) for info in nominations],
        "unwritten": nominations._unwritten,
        "lapsed": nominations._lapsed,
        "objects": {kind.name: dict(store.objects(kind.struct)) for kind in STORED_KINDS},
        "claims assumed": ledger._decided,
        "searches given up": list(ledger.searches.given_up()),
        "volumes assumed": (offers._assumed_volumes, offers._assumed_claims),
    }


def _counted(info: PodInfo) -> tuple[Any, ...]:
    """Of a pod that could not be read, what counts of it."""
    return info.pod if isinstance(info.pod, Pod) else None, info.node, info.requests
