"""Choices of other schedulers: what is said of them, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns import changes
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.decisions import ProfileActivated
from moorage.core.objects.pods import Pod, on_node
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.others import Choice, ChoiceVerdict, OthersChoices, Yardsticks
from moorage.core.recording.replay import Replay
from moorage.core.recording.standing import Standing, plugin_scores, standing
from tests.builders import make_node, make_pod
from tests.engine.worlds import RESOLVER, a_body

DEFAULT = RESOLVER(a_body("test"), {}).revision
BIN_PACK = RESOLVER(a_body("tight", preset="BinPack"), {}).revision
YARDSTICKS = Yardsticks(DEFAULT, {"BinPack": BIN_PACK})
NODES = [make_node("large", cpu="16"), make_node("small", cpu="4"), make_node("tiny", cpu="1")]


def a_replay() -> Replay:
    return Replay(CycleContext(Cache(Store(INDEXES))))


def judged(
    *happened: tuple[float, Entry], behind: bool = True, yardsticks: Yardsticks = YARDSTICKS
) -> list[Choice]:
    """What is said of choices among these nodes, with a window of two seconds."""
    replay = a_replay()
    others = OthersChoices(a_replay() if behind else None, yardsticks, 2.0)
    for at, entry in (*((0.0, changes.NodePut(node)) for node in NODES), *happened):
        others.look(at, entry, replay)
        replay.follow(entry)
    others.end()
    return others.choices


def bound(name: str, node: str, at: float, **wants: str) -> tuple[tuple[float, Entry], ...]:
    """A pod that came a tenth of a second before it was bound."""
    pod = make_pod(name, **wants)
    return (at - 0.1, changes.PodWaiting(pod)), (at, changes.PodObserved(on_node(pod, node)))


def test_the_best_node_is_best() -> None:
    """By the score of preset Default."""
    (choice,) = judged(*bound("a", "large", 10))
    assert (choice.verdict, choice.node, choice.at) == (ChoiceVerdict.BEST, "large", 10)


def test_a_choice_of_before_is_stale() -> None:
    """The large node was the best one until something else filled it."""
    filler = make_pod("filler", cpu="15", memory="7Gi", node="large")
    (choice,) = judged((9.0, changes.PodObserved(filler)), *bound("a", "large", 10))
    assert choice.verdict is ChoiceVerdict.STALE
    assert choice.standing.better_nodes > 0
    assert choice.seconds == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("filled", "want"), [(7.9, ChoiceVerdict.WORSE), (8.1, ChoiceVerdict.STALE)]
)
def test_what_was_long_before_explains_nothing(filled: float, want: ChoiceVerdict) -> None:
    """The window ends two seconds before."""
    filler = make_pod("filler", cpu="8", memory="4Gi", node="large")
    more = make_pod("more", cpu="100m", node="small")
    happened = ((filled, changes.PodObserved(filler)), (8.5, changes.PodObserved(more)))
    only = Yardsticks(DEFAULT)
    (choice,) = judged(*happened, *bound("a", "large", 10, cpu="200m"), yardsticks=only)
    assert choice.verdict is want


def test_choices_are_told_in_the_order_in_which_they_were_seen() -> None:
    """However long it takes to know what to say of them."""
    choices = judged(*bound("a", "tiny", 10, cpu="2"), *bound("b", "large", 10))
    assert [choice.pod for choice in choices] == ["default/a", "default/b"]
    assert [choice.number for choice in choices] == [1, 2]


def test_without_a_replay_behind_nothing_is_stale() -> None:
    """Who only counts need not pay for it."""
    filler = make_pod("filler", cpu="15", memory="7Gi", node="large")
    (choice,) = judged(
        (9.9, changes.PodObserved(filler)),
        *bound("a", "large", 10),
        behind=False,
        yardsticks=Yardsticks(DEFAULT),
    )
    assert choice.verdict is ChoiceVerdict.WORSE


def test_a_node_that_a_plugin_refuses_is_told_with_the_plugin() -> None:
    """And with what it says."""
    (choice,) = judged(*bound("a", "tiny", 10, cpu="2"))
    assert choice.verdict is ChoiceVerdict.REFUSED
    assert choice.standing.refused_by == "NodeResourcesFit"
    assert choice.standing.why == "Insufficient cpu"


def test_another_profile_is_named() -> None:
    """The smallest node that still has room is BinPack's."""
    (choice,) = judged(*bound("a", "tiny", 10, cpu="900m"))
    assert (choice.verdict, choice.profile) == (ChoiceVerdict.OTHER_PROFILE, "BinPack")


def test_what_is_our_own_is_no_choice_of_others() -> None:
    """Nor is a pod that came with its node."""
    pod = make_pod("a")
    assert not judged(
        (1, changes.PodWaiting(pod)),
        (2, changes.PodAssumed(on_node(pod, "tiny"), "tiny")),
        (3, changes.PodObserved(on_node(pod, "tiny"))),
        (4, changes.PodObserved(make_pod("static", node="tiny"))),
    )


def test_a_known_profile_judges_its_own_pods() -> None:
    """As when another replica of ours bound them."""
    tight = (9.0, ProfileActivated("test", BIN_PACK))
    (choice,) = judged(tight, *bound("a", "tiny", 10, cpu="900m"))
    assert choice.verdict is ChoiceVerdict.BEST


def test_a_promised_node_is_ours() -> None:
    """Preemption made room there, so nothing else is looked at."""
    pod = make_pod("a")
    nomination = (9.5, changes.Nomination("uid-a", pod, "tiny"))
    waits, seen = bound("a", "tiny", 10)
    (choice,) = judged((9.0, waits[1]), nomination, seen)
    assert choice.verdict is ChoiceVerdict.BEST


def test_a_sampling_scheduler_may_not_have_seen_better_ones() -> None:
    """Of 200 nodes kube-scheduler looks for 100 that fit."""
    many = [
        (0.0, changes.NodePut(make_node(f"n{i}", cpu=str(4 + i), memory=f"{8 + 2 * i}Gi")))
        for i in range(197)
    ]
    large = {"cpu": "2", "memory": "4Gi"}
    by_rank = [judged(*many, *bound("a", f"n{i}", 10, **large))[0] for i in (84, 96)]
    assert [choice.standing.better_nodes for choice in by_rank] == [101, 1]
    assert [choice.verdict for choice in by_rank] == [ChoiceVerdict.WORSE, ChoiceVerdict.SAMPLED]
    assert by_rank[1].standing.sampled_better_nodes == 99


def test_after_a_gap_nothing_is_known() -> None:
    """A pod that waited before it is not taken for one that waits."""
    waits, seen = bound("a", "large", 10)
    assert not judged(waits, (9.95, changes.Gap(3)), seen)


def test_plugins_scores_add_up() -> None:
    """To the node's total."""
    context = a_replay().context
    for node in NODES:
        context.cache.put_node(node)
    pod = make_pod("a")
    of = standing(pod, "small", DEFAULT, context)
    assert sum(plugin_scores(pod, "small", DEFAULT, context).values()) == of.score
    assert plugin_scores(make_pod("b", cpu="99"), "small", DEFAULT, context) == {}


def test_no_node_at_all() -> None:
    """Whatever the reason, there is a text."""
    context = a_replay().context
    assert standing(make_pod("a"), "n", DEFAULT, context).is_refused
    context.cache.put_node(NODES[0])
    assert standing(make_pod("a"), "n", DEFAULT, context) == Standing(why="node 'n' is not there")


@given(st.lists(st.sampled_from(["100m", "500m", "1", "3"]), max_size=12), st.integers(0, 3))
def test_a_slow_scheduler_of_ours_is_best_or_stale(sizes: list[str], late: int) -> None:
    """One that binds some decisions later than it decides, within the window."""
    live = a_replay()
    for node in NODES:
        live.context.cache.put_node(node)
    chosen: list[tuple[Pod, str]] = []
    happened: list[tuple[float, Entry]] = []
    for number, size in enumerate(sizes):
        pod = make_pod(f"p{number}", cpu=size)
        decision = cycle.decide(pod, DEFAULT, live.context)
        happened.append((number / 10, changes.PodWaiting(pod)))
        if isinstance(decision, ScheduleResult):
            chosen.append((pod, decision.node))
        if number >= late and chosen:
            happened.append((number / 10, observed(*chosen.pop(0), live)))
    while chosen:
        happened.append((len(sizes) / 10, observed(*chosen.pop(0), live)))
    verdicts = {choice.verdict for choice in judged(*happened)}
    assert verdicts <= ({ChoiceVerdict.BEST, ChoiceVerdict.STALE} if late else {ChoiceVerdict.BEST})


def observed(pod: Pod, node: str, live: Replay) -> Entry:
    """The binding, which the live side sees too."""
    seen = changes.PodObserved(on_node(pod, node))
    live.follow(seen)
    return seen
