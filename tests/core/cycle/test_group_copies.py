"""Members on a copy: extenders say where they may go and who may go for them, and the members fit
with what comes of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Generator, Sequence
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_preemption import GroupPreemption, make_room
from moorage.core.cycle.group_seats import seats_for
from moorage.core.cycle.group_surroundings import UNDISTURBED, GroupNews, GroupSurroundings
from moorage.core.framework.extenders import (
    AskFilter,
    AskPriorities,
    AskVictims,
    Extender,
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderFilterResult,
    ExtenderQuestion,
    MetaVictims,
)
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, Revision, resolve
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Container, Pod, ResourceRequirements
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import REVISION
from tests.core.cycle.test_group_preemption import (
    URGENT,
    Crowd,
    Impatient,
    context,
    crowds,
    victims,
)

Says: TypeAlias = Callable[[Pod, Any], Any]
URL = "https://x"
ALL = {"filter_verb": "f", "prioritize_verb": "p", "preempt_verb": "v"}
BROKEN = ExtenderFailure("broken")


def asking(**extender: Any) -> Revision:
    """A profile with one extender."""
    extenders = (Extender(URL, **(ALL | extender)),)
    return resolve(RequestedProfile("test", extenders=extenders), build_registry(INTREE), PRESETS)


@dataclasses.dataclass
class Asked:
    """Surroundings of an attempt: answers as they are scripted, else lets all through as proposed;
    each after it was asked for so many times.
    """

    filters: Says | None = None
    victims: Says | None = None
    late: int = 0
    questions: list[tuple[str, ExtenderQuestion]] = dataclasses.field(default_factory=list)
    asked: int = 0
    asks_extenders: bool = True

    def may_make_room(self) -> bool:
        """At any time."""
        return True

    def news(self) -> GroupNews:
        """None."""
        return GroupNews()

    def ask(self, pod: Pod, question: ExtenderQuestion) -> ExtenderAnswer:
        """The answer. Raises OutOfTime."""
        if self.asked < self.late:
            self.asked += 1
            raise OutOfTime
        self.asked = 0
        self.questions.append((pod.metadata.name, question))
        said: ExtenderAnswer
        match question:
            case AskFilter():
                said = (self.filters or through)(pod, question)
            case AskVictims():
                said = (self.victims or as_proposed)(pod, question)
            case AskPriorities():
                said = ((),) * len(question.extenders)
        return said

    def about(self, kind: type[ExtenderQuestion]) -> list[str]:
        """The members that such questions were about."""
        return [name for name, question in self.questions if isinstance(question, kind)]


def through(_pod: Pod, question: AskFilter) -> ExtenderAnswer:
    """All nodes."""
    return ExtenderFilterResult(question.nodes, {}, {})


def as_proposed(_pod: Pod, question: AskVictims) -> ExtenderAnswer:
    """The same victims."""
    return {
        node: MetaVictims(tuple(pod.metadata.uid for pod in there.pods), there.num_pdb_violations)
        for node, there in question.victims.items()
    }


def naming(**uids: str) -> Says:
    """On the nodes of these names these, as far as they are asked about."""
    named = {node: MetaVictims(tuple(some.split()), 0) for node, some in uids.items()}
    return lambda _pod, question: {
        node: victims for node, victims in named.items() if node in question.victims
    }


def room(
    tried: CycleContext,
    members: Sequence[Pod],
    ask: GroupSurroundings,
    revision: Revision,
    group: GroupSpec = URGENT,
) -> GroupPreemption:
    """What preemption finds."""

    def copy(without: Collection[str]) -> Generator[bool, bool | None, CycleContext]:
        return fork(tried, without)

    attempt = GroupAttempt(group, members, around=ask)
    found = finished(make_room(attempt, revision, tried, copy))
    assert found is not None
    return found


PAIR = dataclasses.replace(URGENT, min_count=2)


def members(cpu: str = "2") -> list[Pod]:
    """Two, urgent."""
    return [make_pod(name, cpu=cpu, priority=100) for name in ("g0", "g1")]


def crowded() -> CycleContext:
    """Two nodes with two pods each that a member fits in the place of, and one that is important;
    the team, which goes together, is on the first.
    """
    there = [
        make_pod("team-a", cpu="2", node="n0"),
        make_pod("team-b", cpu="2", node="n0"),
        make_pod("low", cpu="2", node="n1", priority=1),
        make_pod("mid", cpu="2", node="n1", priority=50),
        make_pod("top", cpu="1", node="n1", priority=500),
    ]
    return context([make_node("n0", cpu="4"), make_node("n1", cpu="5")], there)


def test_members_are_nominated_where_extenders_let_them_go() -> None:
    """With their victims there, and nowhere else; each is asked about with nobody in its way."""
    ask = Asked(filters=lambda _pod, _question: ExtenderFilterResult(("n1",), {"n0": "no"}, {}))
    found = room(crowded(), members(), ask, asking(), PAIR)
    assert (victims(found), set(found.nominations.values())) == ("mid low", {"n1"})
    (_, first), *_ = ask.questions
    assert isinstance(first, AskFilter)
    assert set(first.nodes) == {"n0", "n1"}
    assert ask.about(AskFilter) == ["g0", "g1"]
    assert ask.about(AskVictims) == ["g0", "g1"]


def test_nobody_goes_for_members_that_extenders_let_go_nowhere() -> None:
    """Then the group would not fit either."""
    ask = Asked(filters=lambda _pod, _question: ExtenderFilterResult((), {"n0": "no"}, {}))
    found = room(crowded(), members(), ask, asking(), PAIR)
    assert (found.status.code, found.victims, found.nominations) == (Code.UNSCHEDULABLE, (), {})
    assert "minCount (2) cannot be satisfied" in found.status.message


ON_N1 = ExtenderFilterResult(("n1",), {"n0": "no"}, {})
ELSEWHERE = {"n0": "uid-team-a", "n1": "uid-low"}
SINGLE = dataclasses.replace(URGENT, min_count=1)


@pytest.mark.parametrize(
    ("says", "want"),
    [
        pytest.param(as_proposed, "low", id="as proposed"),
        pytest.param(naming(n1="uid-mid"), "mid", id="another one, who suffices"),
        pytest.param(naming(n1="uid-low uid-mid"), "mid low", id="more than are needed"),
        pytest.param(
            lambda *_: {node: MetaVictims((uid,), 0) for node, uid in ELSEWHERE.items()},
            "low",
            id="nodes of no interest",
        ),
        pytest.param(
            naming(n1="uid-top"),
            "error: extenders claim to preempt pod (UID: uid-top), which the pod group may not",
            id="one who is more important",
        ),
        pytest.param(
            naming(n1="uid-team-a"),
            f"error: extender: {URL} claims to preempt pod (UID: uid-team-a) on node: n1, but the "
            "pod is not found on that node",
            id="one who is elsewhere",
        ),
        pytest.param(naming(), 'extenders let nobody go from node "n1" for pod "g0"', id="nobody"),
        pytest.param(
            naming(n1=""), 'error: expected at least one victim pod on node "n1"', id="no victim"
        ),
        pytest.param(lambda _pod, _question: BROKEN, "error: broken", id="it fails"),
    ],
)
@pytest.mark.parametrize("ignorable", [False, True])
def test_what_extenders_say_of_victims(says: Says, want: str, ignorable: bool) -> None:
    """It counts as far as the members fit then; a failure of one that may be ignored does not."""
    ask = Asked(filters=lambda _pod, _question: ON_N1, victims=says)
    found = room(crowded(), members()[:1], ask, asking(ignorable=ignorable), SINGLE)
    if ignorable and ("claims" in want or want == "error: broken"):
        want = "low"
    if ignorable and "at least one" in want:
        want = 'extenders let nobody go from node "n1" for pod "g0"'
    said = {Code.SUCCESS: victims(found), Code.ERROR: f"error: {found.status.message}"}
    assert said.get(found.status.code, found.status.message) == want


def test_victims_without_whom_the_members_would_not_fit_are_not_spared() -> None:
    """Nobody goes in vain."""
    ask = Asked(
        filters=lambda _pod, _question: ON_N1,
        victims=naming(n1="uid-low"),
    )
    found = room(crowded(), members("4")[:1], ask, asking(), SINGLE)
    assert (found.status.code, found.victims) == (Code.UNSCHEDULABLE, ())
    assert found.status.message.startswith("without the pods that extenders name")


def test_a_group_that_is_disrupted_together_goes_whole() -> None:
    """Where one of it is named."""
    tried = context(
        [make_node("n0", cpu="4"), make_node("far", cpu="2")],
        [
            make_pod("team-a", cpu="2", node="n0"),
            make_pod("team-b", cpu="2", node="far"),
            make_pod("low", cpu="2", node="n0", priority=1),
        ],
    )
    ask = Asked(
        filters=lambda _pod, _question: ExtenderFilterResult(("n0",), {}, {}),
        victims=naming(n0="uid-team-a"),
    )
    assert victims(room(tried, members()[:1], ask, asking(), SINGLE)) == "team-a team-b"


def test_only_members_that_are_its_business_are_asked_about() -> None:
    """The others go as without it."""
    mine, other = members()
    resources = ResourceRequirements(requests={"cpu": "2"})
    spec = msgspec.structs.replace(other.spec, containers=(Container("c", resources=resources),))
    ask = Asked(filters=lambda _pod, _question: ON_N1)
    revision = asking(managed_resources=frozenset({"memory"}))
    pair = [mine, msgspec.structs.replace(other, spec=spec)]
    found = room(crowded(), pair, ask, revision, PAIR)
    assert found.nominations["uid-g0"] == "n1"
    assert {name for name, _ in ask.questions} == {"g0"}


def test_room_is_held_where_extenders_let_members_go() -> None:
    """By the same rule."""
    tried = crowded()
    ask = Asked(filters=lambda _pod, _question: ON_N1)
    attempt = GroupAttempt(PAIR, members(), around=ask)
    seats = finished(seats_for(attempt, asking(), tried, lambda gone: fork(tried, gone)))
    assert seats == {"uid-g0": "n1", "uid-g1": "n1"}


@settings(max_examples=40)
@given(crowds(), st.integers(0, 2), st.booleans())
def test_an_extender_that_agrees_changes_nothing(crowd: Crowd, late: int, slow: bool) -> None:
    """However late it answers, and wherever time runs out."""
    cluster, pods, some = crowd
    group = dataclasses.replace(URGENT, min_count=len(some))
    alone = room(context(cluster, pods), some, UNDISTURBED, REVISION, group)
    tried = context(cluster, pods)
    if slow:
        tried = CycleContext(tried.cache, tried.seed, budget=Impatient())
    ask = Asked(late=late)
    assert room(tried, some, ask, asking(), group) == alone
    assert len(tried.cache) == len(pods)
    if alone.status.code is Code.SUCCESS:
        assert ask.about(AskFilter) == [pod.metadata.name for pod in some]
