"""Changes of the state, made again by the methods that made them."""

from __future__ import annotations

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import CycleContext
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.pods.requests import pod_requests


def apply_change(change: Entry, context: CycleContext) -> None:
    """Have it so. Raises TypeError for what is no change."""
    cache, store = context.cache, context.cache.store
    match change:
        case changes.NodePut():
            cache.put_node(change.node)
        case changes.NodeRemoved():
            cache.remove_node(change.name)
        case changes.NodesOrdered():
            cache.keep_node_order(change.names)
        case changes.ObjectPut():
            store.put(change.object)
        case changes.ObjectRemoved():
            store.remove(change.kind, change.name)
        case changes.Nomination():
            cache.nominations.restore(change)
        case _:
            _apply_to_pod(change, context)


def _apply_to_pod(change: Entry, context: CycleContext) -> None:
    cache = context.cache
    match change:
        case changes.PodWaiting():
            cache.observe_waiting(change.pod, pod_requests(change.pod))
        case changes.PodObserved():
            cache.observe(change.pod, pod_requests(change.pod))
        case changes.PodUnreadable():
            cache.observe_unreadable(change.pod, change.node, change.requests)
        case changes.PodRemoved():
            cache.remove(change.uid)
        case changes.PodStuck():
            cache.mark_stuck(change.uid)
        case changes.PodPreempted():
            cache.mark_preempted(change.uid)
        case changes.PodAssumed():
            cache.assume(change.pod, change.node, pod_requests(change.pod))
        case changes.PodForgotten():
            cache.forget(change.uid)
        case _:
            _apply_assumption(change, context)


def _apply_assumption(change: Entry, context: CycleContext) -> None:
    """What was decided of claims and volumes."""
    store = context.cache.store
    ledger, offers = store.index(DeviceLedger), store.index(VolumeOffers)
    match change:
        case changes.ClaimAssumed():
            ledger.assume(change.claim, change.group)
        case changes.ClaimConfirmed():
            ledger.confirm(change.claim)
        case changes.ClaimReleased():
            ledger.release(ledger.assumed(change.claim) or change.claim)
        case changes.DeviceSearchGivenUp():
            ledger.searches.give_up(change)
        case changes.VolumesAssumed():
            offers.assume(change.volumes, change.claims)
        case changes.VolumesReleased():
            offers.release(*offers.assumed(change.volumes, change.claims))
        case _:
            raise TypeError(f"{type(change).__name__} is no change that can be applied")
