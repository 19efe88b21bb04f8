"""Recordings cut in two: what each part knows, and what it comes to when it is had again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.changes import Gap, NodeRemoved
from moorage.core.cycle.context import CycleContext
from moorage.core.recording.key_frames import key_frame
from moorage.core.simulation.measures import EMPTY_NODES
from moorage.core.simulation.recorded_parts import moved, split
from moorage.core.simulation.recorded_times import Timed
from tests.builders import make_node
from tests.core.simulation.clusters import REVISIONS, a_context, a_pod, contexts
from tests.core.simulation.recordings import Visit, recorded, visits
from tests.engine.worlds import RESOLVER, a_body

NO_SCORING = {"test": RESOLVER(a_body("test", preset="NoScoring"), {}).revision}
SHARES = st.sampled_from([0.2, 0.5, 2 / 3, 0.9])


@settings(max_examples=30)
@given(contexts(), visits(), SHARES, st.data())
def test_the_first_part_knows_nothing_of_the_rest(
    context: CycleContext, some: list[Visit], share: float, data: st.DataObject
) -> None:
    """Whatever of the rest is left out: nothing of the first part is otherwise."""
    entries = recorded(context, some, 100.0)
    cut = share * 100.0
    rest = [one for one in entries if one[0] > cut]
    kept = data.draw(st.lists(st.sampled_from(rest), unique_by=id))
    other = [one for one in entries if one[0] <= cut] + kept[:-1] + [(100.0, NodeRemoved("x"))]
    a, b = split(entries, share, 0), split(sorted(other, key=lambda one: one[0]), share, 0)
    assert (a.first.recorded, a.first.classes) == (b.first.recorded, b.first.classes)
    assert a.first.rerun({}) == b.first.rerun({})
    assert a.first.recorded.end == a.rest.recorded.begin == cut


@settings(max_examples=30)
@given(contexts(), visits(), SHARES)
def test_the_rest_begins_where_the_first_part_ends(
    context: CycleContext, some: list[Visit], share: float
) -> None:
    """Under what decided then, each pod of the rest goes where it went."""
    for uid in list(context.cache.waiting):
        context.cache.remove(uid)
    found = split(recorded(context, some, 100.0), share, 0)
    for part in found.first, found.rest:
        again = part.rerun({})
        assert moved(part.recorded.bound, again.bound).elsewhere == 0
        assert again.bound.keys() == part.recorded.bound.keys()
    assert found.profiles == found.last == REVISIONS


def test_a_pod_that_ends_in_the_rest_runs_on_in_the_first_part() -> None:
    """How long it runs nobody knows by then."""
    entries = recorded(a_context([make_node("n")]), [Visit(1.0, a_pod("a"), 60.0)], 90.0)
    found = split(entries, 0.5, 0)
    assert "uid-a" not in found.first.recorded.ended
    assert found.first.recorded.duration("uid-a") is None
    assert found.rest.recorded.ended == {"uid-a": 61.0}
    empty = found.rest.rerun({}).windows[EMPTY_NODES]
    assert (empty[0], empty[-1]) == (0.0, 1.0)


def test_reruns_are_the_same_but_for_their_replica() -> None:
    """Ties end as they did, or otherwise in each replica."""
    nodes = [make_node(f"n{i}") for i in range(8)]
    some = [Visit(1.0 + i, a_pod(f"p{i}"), 9.0) for i in range(40)]
    part = split(recorded(a_context(nodes), some, 60.0, NO_SCORING), 0.5, 7).first
    assert part.rerun({}) == part.rerun({}) == part.rerun(NO_SCORING)
    places = [tuple(part.rerun({}, i).bound.items()) for i in range(4)]
    assert len(set(places)) == 4


def test_what_cannot_be_cut() -> None:
    """A moment, nothing at all; what comes after a gap is left out."""
    moment: list[Timed] = [(5.0, one) for one in key_frame(a_context([]).cache, REVISIONS)]
    for entries in [], moment:
        with pytest.raises(ValueError, match="no more than a moment"):
            split(entries, 0.5, 0)
    entries = recorded(a_context([]), [Visit(1.0, a_pod("a"))], 9.0)
    found = split([*entries, (10.0, Gap(3)), *entries], 0.5, 0)
    assert found.cut_short and found.rest.recorded.end == 9.0
    assert not split(entries, 0.5, 0).cut_short
