"""Timelines of recordings that grow."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.apps.recordings import timelines
from moorage.apps.recordings.timelines import RecordedTimeline, TimelineMaker
from moorage.core.columns.changes import Entry, Gap, NodePut, PodAssumed, PodWaiting
from tests.builders import make_node, make_pod

BEGIN = 1000.0
Entries = list[tuple[float, Entry]]


def entries(pods: int) -> Entries:
    """A node with four cores, and a pod of one each two seconds, placed half a second later."""
    found: Entries = [(BEGIN, NodePut(make_node("n")))]
    for i in range(pods):
        pod = make_pod(f"p{i}", cpu="1")
        came = BEGIN + 2 * i
        found += [(came, PodWaiting(pod)), (came + 0.5, PodAssumed(pod, "n"))]
    return found


def made(*parts: Entries) -> RecordedTimeline:
    """What is made of these, one after another."""
    maker = TimelineMaker(BEGIN)
    for one in parts:
        maker.go_on(one, lambda _: None)
    return maker.timeline()


@given(st.lists(st.integers(0, 40), max_size=4))
def test_in_pieces_it_is_the_same(ends: list[int]) -> None:
    """Each piece begins with a whole state that was seen before, as a recording is read."""
    whole = entries(20)
    parts = [whole[:end] for end in sorted(ends)]
    assert dataclasses.asdict(made(*parts, whole)) == dataclasses.asdict(made(whole))


def test_looking_at_it_changes_nothing() -> None:
    """The last point is shown before it is complete."""
    maker = TimelineMaker(BEGIN)
    whole = entries(3)
    maker.go_on(whole[:4], lambda _: None)
    assert maker.timeline().waiting == [0, 0, 1]
    maker.go_on(whole, lambda _: None)
    assert dataclasses.asdict(maker.timeline()) == dataclasses.asdict(made(whole))


def test_where_nothing_happens_time_goes_on() -> None:
    """As far as it is known that nothing is missing."""
    maker = TimelineMaker(BEGIN)
    maker.go_on(entries(1), lambda _: None)
    assert maker.reach(BEGIN + 3.2)
    assert maker.timeline().cpu == [0.25] * 4
    assert maker.timeline().end == BEGIN + 3.2
    assert not maker.reach(BEGIN + 3.1)


@pytest.mark.parametrize("seconds", [9.0, 10.0, 39.0, 1000.0])
def test_the_curve_stays_short(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two points become one, and as many pods were placed."""
    monkeypatch.setattr(timelines, "POINTS", 5)
    maker = TimelineMaker(BEGIN)
    maker.go_on(entries(4), lambda _: None)
    maker.reach(BEGIN + seconds)
    found = maker.timeline()
    assert len(found.placed) <= 10
    assert (len(found.placed) - 1) * found.step <= seconds < len(found.placed) * found.step
    assert sum(rate or 0.0 for rate in found.placed) * found.step == pytest.approx(4)
    assert (found.waiting[-1], found.cpu[-1]) == (0, 1.0)
    assert max(filter(None, found.p99)) == 0.5


def test_a_gap_is_in_every_curve() -> None:
    """Until the next whole state."""
    maker = TimelineMaker(BEGIN)
    maker.go_on([*entries(1), (BEGIN + 1, Gap(3))], lambda _: None)
    maker.reach(BEGIN + 2)
    found = maker.timeline()
    assert [found.placed[1], found.waiting[1], found.cpu[1], found.p99[1]] == [None] * 4
    assert [mark.what for mark in found.marks] == ["gap"]


def test_what_is_not_kept_is_forgotten() -> None:
    """The curves begin later, with all the rest as it was."""
    maker = TimelineMaker(BEGIN)
    maker.go_on([*entries(1), (BEGIN + 1, Gap(3)), *entries(5)[3:]], lambda _: None)
    before = maker.timeline()
    maker.forget(BEGIN + 3.7)
    after = maker.timeline()
    assert (after.begin, after.end) == (BEGIN + 3, before.end)
    assert after.placed == before.placed[3:]
    assert (len(before.marks), after.marks) == (1, [])


def test_only_the_last_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pods that come and go there is no end."""
    monkeypatch.setattr(timelines, "MAX_PLACES", 2)
    assert list(made(entries(4)).found_places) == ["default/p2", "default/p3"]


def test_each_scheduler_has_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as that of all, from the begin on; of a few hundred names the first alone."""
    monkeypatch.setattr(timelines, "POINTS", 4)
    monkeypatch.setattr(timelines, "MAX_SCHEDULERS", 2)
    maker, found = TimelineMaker(BEGIN), entries(1)
    for i, name in enumerate(("b", "b", "c", "d")):
        pod = make_pod(f"x{i}", scheduler_name=name)
        came = BEGIN + 3 + 0.5 * i
        found += [(came, PodWaiting(pod)), (came, PodAssumed(pod, "n"))]
    maker.go_on(found, lambda _: None)
    maker.reach(BEGIN + 9)
    shown = maker.timeline()
    assert list(shown.placed_by) == ["test", "b"]
    for name, placed in (("test", 1), ("b", 2)):
        curve = shown.placed_by[name]
        assert len(curve) == len(shown.placed)
        assert sum(rate or 0.0 for rate in curve) * shown.step == pytest.approx(placed)
    maker.forget(BEGIN + 4)
    assert len(maker.timeline().placed_by["b"]) == len(maker.timeline().placed)


def test_many_pods_at_once_are_a_burst() -> None:
    """One mark, as long as it lasts; what was there before is none, nor what always comes so."""

    def waiting(second: int, pods: int) -> Entries:
        uids = (f"w{second}-{i}" for i in range(pods))
        return [(BEGIN + second + 0.5, PodWaiting(make_pod(uid))) for uid in uids]

    state = [(BEGIN, entry) for _, entry in waiting(0, 300)]
    lasts = [*waiting(4, 120), *waiting(5, 150)]
    found = made([*state, *waiting(2, 9), *lasts, *waiting(9, 99), *waiting(11, 0)])
    assert [(mark.time, mark.what, mark.text) for mark in found.marks] == [
        (BEGIN + 4, "burst", "120 pods came within 1 s")
    ]
    steady = made([one for second in range(1, 40) for one in waiting(second, 110)])
    assert [mark.time for mark in steady.marks] == [BEGIN + 1]
