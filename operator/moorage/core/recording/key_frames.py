"""Key frames: a whole state as entries, by which a replay may begin."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache, PodInfo, PodState
from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import ProfileActivated, ProfileHeld
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.volume_binding.offers import VolumeOffers


def key_frame(
    cache: Cache, profiles: Mapping[str, Revision], holds: Mapping[str, Hold] = MappingProxyType({})
) -> Iterator[Entry]:
    """All that decisions are made from as it is now, in an order in which it can be put into an
    empty cache; ``profiles`` are the revisions that decide and ``holds`` say why pods are not
    tried, by schedulerName.

    Now it is only copied, by reference: some nanoseconds for each object, none of which changes.
    The entries are made when they are asked for, whatever has become of the state by then, on any
    thread.
    """
    store, nominations = cache.store, cache.nominations
    names, waiting = cache.nodes.order.standing, tuple(cache.waiting.values())
    return itertools.chain(
        [ProfileActivated(name, revision) for name, revision in profiles.items()],
        [ProfileHeld(name, hold) for name, hold in holds.items()],
        map(changes.NodePut, tuple(_nodes(cache))),
        [changes.NodesOrdered(names)] if names else [],
        map(changes.ObjectPut, tuple(store.all_objects())),
        itertools.chain.from_iterable(map(_placed, tuple(cache.pod_infos()))),
        map(changes.PodWaiting, waiting),
        # their statuses have nominated them again: nobody is now, and then those who were, in order
        (changes.Nomination(pod.metadata.uid) for pod in waiting if pod.status.nominated_node_name),
        nominations.states(),
        # what is under way, which is little
        tuple(store.index(DeviceLedger).assumptions()),
        tuple(store.index(DeviceLedger).searches.given_up()),
        tuple(store.index(VolumeOffers).assumptions()),
    )


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
