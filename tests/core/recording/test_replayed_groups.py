"""Attempts of pod groups, made again from what a journal holds of them, whatever happened between
their slices.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis
from moorage.core.cycle.decisions import Decided, GroupDecided
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import place_member
from moorage.core.cycle.group_outcome import GroupOutcome
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.framework.extenders import AskVictims
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS, Code
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.forks import fork
from moorage.core.recording.replay import Difference, Replay
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_copies import BROKEN, Asked, Says, asking, naming
from tests.core.cycle.test_group_cycle import REVISION, TRIO, ZONE
from tests.twins import Twin

Meanwhile: TypeAlias = Callable[[int], str]
"""What others do after so many slices; "drop" ends the attempt."""


@dataclasses.dataclass
class Recorded:
    """A cluster whose journal is followed by a twin."""

    twin: Twin = dataclasses.field(default_factory=Twin)
    journal: list[Entry] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.context = CycleContext(Cache(Store(INDEXES, self)))

    def append(self, entry: Entry, /) -> None:
        """The journal."""
        self.journal.append(entry)
        self.twin.append(entry)

    @property
    def cache(self) -> Cache:
        return self.context.cache

    def waiting(self, names: str, cpu: str, **spec: Any) -> list[Pod]:
        """Pods that wait."""
        pods = [make_pod(name, cpu=cpu, **spec) for name in names]
        for pod in pods:
            self.cache.observe_waiting(pod, pod_requests(pod))
        return pods

    def place(self, pod: Pod, placement: Placement) -> Decision:
        """For real."""
        return place_member(pod, REVISION, self.context, placement)

    def scheduled(
        self, attempt: GroupAttempt, meanwhile: Meanwhile, revision: Revision = REVISION
    ) -> GroupOutcome | None:
        """What comes of a group, while others do something; None where that broke it off."""
        scheduling = GroupScheduling(self.context, fork)
        steps = scheduling.attempt(attempt, revision, self.place)
        try:
            for number in itertools.count():
                next(steps)
                if meanwhile(number) == "drop":
                    steps.close()
                    return None
        except StopIteration as end:
            outcome: GroupOutcome = end.value
            return outcome
        raise AssertionError

    def check(self) -> None:
        """All came out as it was, and nothing was left out."""
        assert self.twin.differences == []
        assert self.twin.replay.decisions == self.twin.decided
        assert not self.twin.replay.is_asking
        assert self.twin.strays(self.context) == {}


nodes = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), min_size=1, max_size=6)
"""Zones, and how many cores."""
lower = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2), st.integers(0, 9)), max_size=8)
"""Pods that run: on which node, with how many cores, how important."""
doings = st.dictionaries(
    st.integers(0, 30), st.sampled_from(["nodes", "pod", "label", "gone", "drop"])
)


def put(recorded: Recorded, some: Sequence[tuple[str, int]], first: int = 0) -> None:
    """These nodes come, or are in another zone from now on."""
    for i, (zone, cores) in enumerate(some, first):
        recorded.cache.put_node(make_node(f"n{i}", cpu=str(cores), labels={ZONE: zone}))


def run(recorded: Recorded, pods: Sequence[tuple[int, int, int]], head: str = "p") -> None:
    """These pods are on nodes, as far as there are such."""
    for i, (node, cores, priority) in enumerate(pods):
        name = f"n{node}"
        if name in recorded.cache.nodes.row_of:
            pod = make_pod(f"{head}{i}", cpu=str(cores), node=name, priority=priority)
            recorded.cache.observe(pod, pod_requests(pod))


@settings(max_examples=150)
@given(nodes, nodes, lower, doings, st.integers(1, 4), st.booleans())
def test_whatever_happens_between_slices(
    there: list[tuple[str, int]],
    later: list[tuple[str, int]],
    running: list[tuple[int, int, int]],
    doings: dict[int, str],
    least: int,
    has_topology: bool,
) -> None:
    """Members, placements, victims and nominations come out as they did, though nodes come and go
    to other zones, pods come, or the attempt is dropped.
    """
    recorded = Recorded()
    put(recorded, there)
    run(recorded, running)
    group = dataclasses.replace(
        TRIO, min_count=least, priority=100, topology_key=ZONE if has_topology else ""
    )
    members = recorded.waiting("wxyz", "1", priority=100)

    def meanwhile(number: int) -> str:
        match doings.get(number):
            case "nodes":
                put(recorded, later, first=number % 4)
            case "pod":
                run(recorded, [(number % 3, 1, 200)], f"late{number}-")
            case "label":
                put(recorded, later[:1], first=number % len(there))
            case "gone":
                recorded.cache.remove_node(f"n{number % len(there)}")
            case "drop":
                return "drop"
        return ""

    recorded.scheduled(GroupAttempt(group, members), meanwhile)
    recorded.check()
    assert not recorded.context.cache.nominations


def nobody(_number: int) -> str:
    """Nothing happens meanwhile."""
    return ""


def preempting(**spec: Any) -> Recorded:
    """A group for which some of those that run have to go, and others may stay."""
    recorded = Recorded()
    put(recorded, [("a", 4), ("b", 4)])
    run(recorded, [(0, 1, 1), (0, 2, 9), (1, 3, 5)])
    group = dataclasses.replace(TRIO, priority=100, **spec)
    members = recorded.waiting("xyz", "1500m", priority=100)
    outcome = recorded.scheduled(GroupAttempt(group, members), nobody)
    assert outcome is not None
    assert outcome.victims
    nominated = {
        one.nominated_node for one in outcome.members.values() if isinstance(one, Diagnosis)
    }
    assert nominated == {"n0", "n1"}
    return recorded


def test_group_preemption() -> None:
    """It is made again."""
    recorded = preempting()
    recorded.check()
    assert recorded.twin.decided == 2  # the first member, and the group


def test_several_placements() -> None:
    """Of two zones the fuller one is chosen again."""
    recorded = Recorded()
    put(recorded, [("a", 8), ("b", 4), ("b", 4)])
    run(recorded, [(1, 2, 1)])
    group = dataclasses.replace(TRIO, topology_key=ZONE)
    outcome = recorded.scheduled(GroupAttempt(group, recorded.waiting("xyz", "1")), nobody)
    assert outcome is not None
    assert outcome.status.code is Code.SUCCESS
    recorded.check()
    # three in each zone, three once more in the chosen one, and the group
    assert recorded.twin.decided == 10


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize(
    ("victims", "some_go"),
    [
        (None, True),
        (naming(n0="uid-p0 uid-p1", n1="uid-p2"), True),
        (lambda *_: BROKEN, False),
    ],
)
def test_group_preemption_with_extenders(victims: Says | None, some_go: bool, holds: bool) -> None:
    """Their answers are recorded: who goes, and where room is held if nobody may, is found again,
    whatever happens while they are asked.
    """
    recorded = Recorded()
    put(recorded, [("a", 4), ("b", 4)])
    run(recorded, [(0, 1, 1), (0, 2, 9), (1, 3, 5)])
    group = dataclasses.replace(TRIO, priority=100)
    waiting = recorded.waiting("xyz", "1500m", priority=100)
    ask = Asked(late=2, victims=victims)

    def meanwhile(number: int) -> str:
        if ask.asked:
            run(recorded, [(number % 2, 1, 0)], f"late{number}-")
        return ""

    attempt = GroupAttempt(group, waiting, around=ask, holds=holds)
    outcome = recorded.scheduled(attempt, meanwhile, asking())
    assert outcome is not None
    assert bool(outcome.victims) == some_go
    assert ask.about(AskVictims)
    recorded.check()


def told(entries: Sequence[Entry]) -> list[Difference]:
    """What a replay of these finds."""
    replay = Replay(CycleContext(Cache(Store(INDEXES))))
    return [found for entry in entries if (found := replay.apply(entry)) is not None]


@pytest.mark.parametrize("what", ["node", "victims", "message", "nothing"])
def test_what_was_said_otherwise_is_found(what: str) -> None:
    """Of the group, and of a member, by its name."""
    recorded = preempting()
    *before, decided, end = recorded.journal
    assert isinstance(decided, GroupDecided)
    first, second, third = decided.members
    assert isinstance(second, Diagnosis)
    other = dataclasses.replace(second, nominated_node="n7")
    otherwise = {
        "node": msgspec.structs.replace(decided, members=(first, other, third)),
        "victims": msgspec.structs.replace(decided, victims=decided.victims[1:]),
        "message": msgspec.structs.replace(decided, status=SUCCESS),
        "nothing": decided,
    }[what]
    found = told([*before, otherwise, end])
    names = {"node": ["y"], "nothing": []}.get(what, ["x"])
    assert [one.recorded.pod.metadata.name for one in found] == names


def test_what_others_overtook_is_not_made_again() -> None:
    """And is counted."""
    recorded = Recorded()
    put(recorded, [("a", 2)])
    group = dataclasses.replace(TRIO, min_count=2)
    attempt = GroupAttempt(group, recorded.waiting("xy", "1"))

    def intrude(number: int) -> str:
        if number == 1:
            run(recorded, [(0, 1, 1)])
        return ""

    outcome = recorded.scheduled(attempt, intrude)
    assert outcome is not None
    assert "was overtaken" in outcome.status.message
    recorded.check()
    assert recorded.twin.replay.not_made_again == 1


def test_an_attempt_that_goes_on_otherwise_now_is_one_difference() -> None:
    """A member that was decided about is not asked for any more: the moments after it are nobody's,
    and the group is found to differ.
    """
    journal = preempting().journal
    missing = [entry for entry in journal if not isinstance(entry, Decided)]
    (found,) = told(missing)
    assert found.now is not None
    assert (found.now.code, "was not decided about" in found.now.message) == ("Fault", True)
