"""Replays where a recording and this process do not agree. That they do is what every test of the
engine ends with (``tests.twins``).
"""

from __future__ import annotations

import dataclasses
import gc
import weakref

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ProfileActivated,
)
from moorage.core.framework.extenders import ExtenderFailure
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.resource_claims import (
    Device,
    DeviceCapacity,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.recorded_decisions import recorded
from moorage.core.recording.replay import Replay
from moorage.core.recording.wire import EntryDecoder, EntryEncoder
from tests.builders import make_node, make_pod
from tests.engine.worlds import RESOLVER, a_body
from tests.twins import differing, opened

REVISION = RESOLVER(a_body("test"), {}).revision
POD = make_pod("p")
STATE = [changes.NodePut(make_node(name)) for name in ("n1", "n2", "n3")]


def a_replay() -> Replay:
    """Of three nodes."""
    replay = Replay(CycleContext(Cache(Store(INDEXES))))
    for entry in STATE:
        assert replay.apply(entry) is None
    return replay


def decided(by: DecidedBy = DecidedBy.CYCLE) -> Decided:
    """What these nodes lead to."""
    return Decided(cycle.decide(POD, REVISION, a_replay().context), by)


def test_the_same_is_no_difference() -> None:
    replay = a_replay()
    assert replay.apply(decided()) is None
    assert (replay.decisions, replay.not_made_again) == (1, 0)


def test_another_outcome_is_a_difference_and_what_was_decided_counts() -> None:
    """The pod is where it was placed then."""
    replay, was = a_replay(), decided()
    assert isinstance(was.outcome, ScheduleResult)
    other = next(name for name in ("n1", "n2") if name != was.outcome.node)
    difference = replay.apply(Decided(dataclasses.replace(was.outcome, node=other), was.by))
    assert difference is not None and difference.now is not None
    assert (difference.recorded.outcome.node, difference.now.node) == (other, was.outcome.node)
    replay.apply(changes.PodAssumed(POD, other))
    assert [info.pod for info in replay.context.cache.pods_on(other)] == [POD]


def test_a_plugin_that_fails_now_is_a_difference() -> None:
    """It ends nothing."""

    class Failing:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("broken here")

    deciders = {name: Failing() for name in REVISION.deciders}
    broken = dataclasses.replace(REVISION, deciders=deciders)  # type: ignore[arg-type]  # on purpose
    replay, was = a_replay(), recorded(decided())
    difference = replay.apply(
        type(was)(was.pod, broken, was.by, was.sampled_from, was.cycle, was.outcome)
    )
    assert difference is not None and difference.now is not None
    assert (difference.now.code, replay.decisions) == ("Fault", 1)
    assert replay.apply(decided()) is None


def test_what_cannot_be_made_again_is_counted() -> None:
    """What the clock ended, what this process has no revision for, and cycles with extenders that
    began before.
    """
    replay, was = a_replay(), recorded(decided())
    unknown = type(was)(was.pod, None, was.by, 0, 0, was.outcome)
    for entry in (decided(DecidedBy.NOBODY), unknown, decided(DecidedBy.EXTENDER_CYCLE)):
        assert replay.apply(entry) is None
    assert replay.apply(ExtenderAnswered(7, ExtenderFailure("late"), 0)) is None
    assert (replay.decisions, replay.not_made_again) == (0, 3)


def test_only_entries_can_be_applied() -> None:
    """A new kind of change is not forgotten here."""
    with pytest.raises(TypeError, match="Entry is no change"):
        a_replay().apply(Entry())


def test_numbers_are_as_large_as_their_authors_like() -> None:
    device = Device(name="d", capacity={"memory": DeviceCapacity(2**70)})
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool("p", 1, 1), all_nodes=True, devices=(device,)
    )
    put = changes.ObjectPut(ResourceSlice(ObjectMeta("s"), spec))
    encoded = EntryEncoder(lambda _: {}).encode([put])
    assert list(EntryDecoder([ResourceSlice], lambda _: None).decode(encoded)) == [put]


def test_an_encoder_keeps_no_revision() -> None:
    """Whoever edits a profile again and again fills nothing; numbers stay different."""
    encoder = EntryEncoder(lambda revision: {"id": revision.id})
    resolved = []
    decoder = EntryDecoder([], lambda document: resolved.append(document["id"]))
    for i in range(3):
        revision = dataclasses.replace(REVISION, id=f"r{i}")
        encoded = encoder.encode([ProfileActivated("test", revision)])
        list(decoder.decode(encoded))
        alive = weakref.ref(revision)
        del revision
        gc.collect()
        assert alive() is None
    assert resolved == ["r0", "r1", "r2"]


def test_a_nomination_is_as_it_was() -> None:
    """All that is known of it, and nobody else's."""
    replay = a_replay()
    state = changes.Nomination("uid-p", POD, "n2", held=True, unwritten="n2")
    replay.apply(changes.PodWaiting(POD))
    replay.apply(state)
    assert replay.context.cache.nominations.state("uid-p") == state


ZONE = "topology.kubernetes.io/zone"
NODE_EVENTS = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "z1", "z2", "z3", "gone"]))


def see(context: CycleContext, event: tuple[str, str]) -> None:
    """A node comes, goes, or is in this zone now."""
    name, zone = event
    if zone == "gone":
        context.cache.remove_node(name)
    else:
        context.cache.put_node(make_node(name, labels={ZONE: zone} if zone else None))


@given(st.lists(NODE_EVENTS, max_size=20), st.lists(NODE_EVENTS, max_size=10))
def test_a_key_frame_has_the_order_of_nodes(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    """Also where a zone has changed since nodes came or went, and whatever comes then."""
    live = CycleContext(Cache(Store(INDEXES)))
    for event in before:
        see(live, event)
    late = opened(opened(live))
    assert not differing(live, late)
    for event in after:
        see(live, event)
        see(late, event)
        assert not differing(live, late)


def test_an_order_of_nodes_is_read_as_it_was_written() -> None:
    ordered = changes.NodesOrdered(("b", "a"))
    encoded = EntryEncoder(lambda _: {}).encode([ordered])
    assert list(EntryDecoder([], lambda _: None).decode(encoded)) == [ordered]


def test_a_key_frame_nominates_nobody_that_is_not_nominated() -> None:
    """Whatever the status of a pod goes on to say, as after it was assumed and forgotten."""
    cache = a_replay().context.cache
    status = msgspec.structs.replace(POD.status, nominated_node_name="n1")
    named = msgspec.structs.replace(POD, status=status)
    cache.observe_waiting(named, pod_requests(named))
    assert cache.nominations.nominated_node("uid-p") == "n1"
    cache.assume(named, "n1", pod_requests(named))
    cache.forget("uid-p")
    opened = Replay(CycleContext(Cache(Store(INDEXES))))
    for entry in key_frame(cache, {}):
        opened.apply(entry)
    assert opened.context.cache.waiting == cache.waiting
    assert not opened.context.cache.nominations.nominated_node("uid-p")
