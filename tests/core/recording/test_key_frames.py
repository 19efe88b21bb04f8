"""Key frames say what was so when they were taken, whatever has happened by the time that their
entries are made.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache, PodState
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.meta import PartialObject, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import ClaimMeta, ResourceClaim, ResourceClaimSpec
from moorage.core.objects.storage import (
    AnnotatedMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
)
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.state_changes import apply_change
from tests.builders import make_node, make_pod
from tests.twins import differing, known

ZONE = "topology.kubernetes.io/zone"
NODES = ("n1", "n2", "n3")


class History:
    """A context to which anything may happen; ``journal`` has what did."""

    def __init__(self) -> None:
        self.journal: list[Entry] = []
        self.context = CycleContext(Cache(Store(INDEXES, self.journal)))
        self._cache = self.context.cache
        self._nominations = self._cache.nominations
        self._store = self._cache.store
        self._ledger, self._offers = (
            self._store.index(DeviceLedger),
            self._store.index(VolumeOffers),
        )
        self._versions = 0

    def happen(self, what: str, name: str, node: str) -> None:
        """Something of WHAT happens to an object of this name, if it may, on this node."""
        for happen in (self._to_node, self._to_pod, self._to_place, self._to_nomination):
            happen(what, name, node)
        self._to_claim(what, name)
        self._to_volume(what, name)

    def _to_node(self, what: str, zone: str, node: str) -> None:
        match what:
            case "node":
                self._cache.put_node(make_node(node, labels={ZONE: zone}))
            case "node gone":
                self._cache.remove_node(node)

    def _to_pod(self, what: str, name: str, node: str) -> None:
        pod = self._pod(name)
        match what:
            case "waits":
                self._cache.observe_waiting(pod, pod_requests(pod))
            case "nominated by its status":
                status = msgspec.structs.replace(pod.status, nominated_node_name=node)
                self._cache.observe_waiting(
                    msgspec.structs.replace(pod, status=status), pod_requests(pod)
                )
            case "seen":
                self._cache.observe(self._pod(name, node), pod_requests(pod))
            case "unreadable":
                partial = PartialObject(pod.metadata)
                self._cache.observe_unreadable(partial, node, pod_requests(pod))
            case "gone":
                self._cache.remove(pod.metadata.uid)

    def _to_place(self, what: str, name: str, node: str) -> None:
        pod, info = self._pod(name), self._cache.pod_info(f"uid-{name}")
        match what:
            case "assumed" if info is None:
                self._cache.assume(pod, node, pod_requests(pod))
            case "forgotten" if info is not None and info.state is PodState.ASSUMED:
                self._cache.forget(pod.metadata.uid)
            case "preempted":
                self._cache.mark_preempted(pod.metadata.uid)
            case "stuck" if info is not None:
                self._cache.mark_stuck(pod.metadata.uid)

    def _to_nomination(self, what: str, name: str, node: str) -> None:
        match what:
            case "nominated":
                self._nominations.nominate(self._pod(name), node, held=name == "a")
            case "nominated to none":
                self._nominations.nominate(self._pod(name), "")
            case "lapsed":
                self._nominations.lapse(f"uid-{name}")

    def _to_claim(self, what: str, name: str) -> None:
        claim = ResourceClaim(ClaimMeta(name, "default", f"uid-{name}"), ResourceClaimSpec())
        assumed = self._ledger.assumed(claim)
        match what:
            case "claim":
                self._store.put(claim)
            case "claim gone":
                self._store.remove(ResourceClaim, key(claim))
            case "claim assumed":
                self._ledger.assume(claim)
            case "claim confirmed":
                self._ledger.confirm(claim)
            case "claim released" if assumed is not None:
                self._ledger.release(assumed)

    def _to_volume(self, what: str, name: str) -> None:
        volume = PersistentVolume(AnnotatedMeta(name), PersistentVolumeSpec())
        meta = AnnotatedMeta(name, "default", f"uid-{name}")
        claim = PersistentVolumeClaim(meta, PersistentVolumeClaimSpec())
        match what:
            case "volume":
                self._store.put(volume)
            case "volume gone":
                self._store.remove(PersistentVolume, name)
            case "volume assumed":
                self._offers.assume([volume], [claim])
            case "volume released":
                self._offers.release(*self._offers.assumed((name,), (key(claim),)))

    def _pod(self, name: str, node: str = "") -> Pod:
        """In another state each time."""
        self._versions += 1
        pod = make_pod(name, node=node)
        meta = msgspec.structs.replace(pod.metadata, resource_version=str(self._versions))
        return msgspec.structs.replace(pod, metadata=meta)


WHAT = (
    *("node", "node gone", "waits", "nominated by its status", "assumed", "forgotten", "seen"),
    *("unreadable", "preempted", "stuck", "gone", "nominated", "nominated to none", "lapsed"),
    *("claim", "claim gone", "claim assumed", "claim confirmed", "claim released"),
    *("volume", "volume gone", "volume assumed", "volume released"),
)
EVENTS = st.lists(
    st.tuples(st.sampled_from(WHAT), st.sampled_from("abc"), st.sampled_from(NODES)), max_size=25
)


@given(EVENTS, EVENTS)
def test_a_state_is_that_of_the_moment_however_late_its_entries_are_made(
    before: list[tuple[str, str, str]], after: list[tuple[str, str, str]]
) -> None:
    """What follows it in the journal leads to the state after, too."""
    live = History()
    for event in before:
        live.happen(*event)
    then = {name: repr(what) for name, what in known(live.context).items()}
    frame, taken = key_frame(live.context.cache, {}), len(live.journal)
    for event in after:
        live.happen(*event)
    replayed = CycleContext(Cache(Store(INDEXES)))
    for entry in frame:
        apply_change(entry, replayed)
    assert {name: repr(what) for name, what in known(replayed).items()} == then
    for entry in live.journal[taken:]:
        apply_change(entry, replayed)
    assert not differing(live.context, replayed)


def calls(cache: Cache) -> int:
    """How many functions of core are called to take a key frame."""
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event == "call" and frame.f_globals["__name__"].startswith("moorage.")

    sys.setprofile(count)
    try:
        key_frame(cache, {})
    finally:
        sys.setprofile(None)
    return counted


def test_taking_it_makes_no_entry() -> None:
    """So it is a step of a millisecond or two: no function is called for a pod or an object."""
    few, many = History(), History()
    for history, pods in ((few, 10), (many, 1000)):
        history.happen("node", "z1", "n1")
        for i in range(pods):
            history.happen("waits", f"waiting-{i}", "")
            history.happen("seen", f"seen-{i}", "n1")
            history.happen("nominated", f"nominated-{i}", "n1")
            history.happen("volume", f"volume-{i}", "")
    assert calls(many.context.cache) == calls(few.context.cache)
