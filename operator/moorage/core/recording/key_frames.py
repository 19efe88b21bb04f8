"""Key frames: a whole state as entries, by which a replay may begin."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache, PodInfo, PodState
from moorage.core.columns.changes import Entry
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.pods import Pod
from moorage.core.plugins.volume_binding.offers import VolumeOffers


def key_frame(cache: Cache) -> list[Entry]:
    """All that decisions are made from, in an order in which it can be put into an empty cache. By
    reference: a few steps for each object.
    """
    store, nodes, nominations = cache.store, cache.nodes, cache.nominations
    return [
        *(changes.NodePut(node) for node in nodes.nodes if node is not None),
        *(changes.ObjectPut(obj) for obj in store.all_objects()),
        *(entry for info in cache.pod_infos() for entry in _placed(info)),
        *map(changes.PodWaiting, cache.waiting.values()),
        *(nominations.state(uid) for uid in nominations.known()),
        *store.index(DeviceLedger).assumptions(),
        *store.index(VolumeOffers).assumptions(),
    ]


def _placed(info: PodInfo) -> Iterator[Entry]:
    """A pod on a node, and what we know of its end."""
    pod, uid = info.pod, info.pod.metadata.uid
    if not isinstance(pod, Pod):
        yield changes.PodUnreadable(pod, info.node, info.requests)
    elif info.state is PodState.ASSUMED:
        yield changes.PodAssumed(pod, info.node)
    else:
        yield changes.PodObserved(pod)
    if info.preempted:
        yield changes.PodPreempted(uid)
    if info.stuck:
        yield changes.PodStuck(uid)
