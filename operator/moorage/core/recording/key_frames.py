"""Key frames: a whole state as entries, by which a replay may begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache, PodInfo, PodState
from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.revisions import Revision
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.volume_binding.offers import VolumeOffers


def key_frame(cache: Cache, profiles: Mapping[str, Revision]) -> list[Entry]:
    """All that decisions are made from, in an order in which it can be put into an empty cache;
    ``profiles`` are the revisions that decide, by schedulerName. By reference: a few steps for each
    object.
    """
    store, nominations = cache.store, cache.nominations
    return [
        *(ProfileActivated(name, revision) for name, revision in profiles.items()),
        *map(changes.NodePut, _nodes(cache)),
        *([changes.NodesOrdered(names)] if (names := cache.nodes.order.standing) else ()),
        *(changes.ObjectPut(obj) for obj in store.all_objects()),
        *(entry for info in cache.pod_infos() for entry in _placed(info)),
        *map(changes.PodWaiting, cache.waiting.values()),
        # their statuses have nominated them again: nobody is now, and then those who were, in order
        *(
            changes.Nomination(uid)
            for uid, pod in cache.waiting.items()
            if pod.status.nominated_node_name
        ),
        *(nominations.state(uid) for uid in nominations.known()),
        *store.index(DeviceLedger).assumptions(),
        *store.index(VolumeOffers).assumptions(),
    ]


def _nodes(cache: Cache) -> Iterator[Node]:
    nodes = cache.nodes
    for name in nodes.order.arrivals():
        node = nodes.nodes[nodes.row_of[name]]
        if node is not None:
            yield node


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
