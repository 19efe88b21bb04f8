"""The cycle with extenders: decides as a naive twin does, whatever extenders answer, and never by a
state that has passed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import NO_NODES, decide
from moorage.core.cycle.extender_cycle import extender_cycle, extenders_interested
from moorage.core.framework.extenders import (
    EXTENDER,
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
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import Code
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE
from moorage.core.plugins.intree import PRESETS as INTREE_PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.core.framework.plugins import PRESETS, REGISTRY, BlockArgs

POD = make_pod("p")
F, G = "https://f", "https://g"
WEIGHT = 3
"""Of the plugin Rank, whose score is the last figure of the node's name."""


def revision(*extenders: Extender, blocked: Sequence[str] = (), **changes: Any) -> Revision:
    """A profile with these extenders, one plugin that blocks nodes and one that ranks them."""
    spec = RequestedProfile(
        "test", args={"Block": BlockArgs(frozenset(blocked))}, extenders=extenders, **changes
    )
    return resolve(spec, REGISTRY, PRESETS)


def context(*nodes: str) -> CycleContext:
    """A scheduler over these nodes."""
    them = CycleContext(Cache(), 1)
    for name in nodes:
        them.cache.put_node(make_node(name))
    return them


def run(
    pod: Pod,
    rules: Revision,
    them: CycleContext,
    answer: Callable[[ExtenderQuestion], ExtenderAnswer],
    log: list[ExtenderQuestion] | None = None,
) -> ScheduleResult | Diagnosis:
    """The outcome, with these answers."""
    steps = extender_cycle(pod, rules, them)
    try:
        question = next(steps)
        while True:
            if log is not None:
                log.append(question)
            question = steps.send(answer(question))
    except StopIteration as end:
        outcome: ScheduleResult | Diagnosis = end.value
        return outcome


def passing(
    *nodes: str, failed: Mapping[str, str] | None = None, hopeless: Mapping[str, str] | None = None
) -> Callable[[Any], Any]:
    """An extender that lets these nodes through, of those that it is asked about, and scores
    nothing.
    """

    def answer(question: ExtenderQuestion) -> ExtenderAnswer:
        if isinstance(question, AskFilter):
            return ExtenderFilterResult(
                tuple(node for node in question.nodes if node in nodes),
                failed or {},
                hopeless or {},
            )
        return ((),) * len(question.extenders) if isinstance(question, AskPriorities) else {}

    return answer


def in_turn(answers: Sequence[ExtenderAnswer]) -> Callable[[ExtenderQuestion], ExtenderAnswer]:
    """These answers, one after another."""
    left = iter(answers)
    return lambda _: next(left)


def brief(outcome: ScheduleResult | Diagnosis) -> Any:
    """The node, or code, text and rejectors."""
    if isinstance(outcome, ScheduleResult):
        return outcome.node
    return outcome.code.value, outcome.message, outcome.unschedulable_plugins


# ---- who is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extender", "want"),
    [
        (Extender(F, filter_verb="f"), True),
        (Extender(F, prioritize_verb="p"), True),
        (Extender(F, preempt_verb="v"), True),
        (Extender(F, bind_verb="b"), False),
        (Extender(F), False),
        (Extender(F, filter_verb="f", managed_resources=frozenset({"a.b/c"})), False),
        (Extender(F, filter_verb="f", managed_resources=frozenset({"a.b/c", "cpu"})), True),
    ],
)
def test_who_is_asked(extender: Extender, want: bool) -> None:
    """Those with a verb for decisions whose resources the pod wants, in any of its containers."""
    assert bool(extenders_interested(POD, revision(extender))) is want
    initial = msgspec.structs.replace(POD.spec, containers=(), init_containers=POD.spec.containers)
    assert (
        bool(extenders_interested(msgspec.structs.replace(POD, spec=initial), revision(extender)))
        is want
    )


def test_extenders_are_asked_in_order_about_what_is_left() -> None:
    """Filters one after another, those whose failure does not matter last; priorities of all of
    them at once.
    """
    extenders = (
        Extender(F, filter_verb="f", prioritize_verb="p", ignorable=True),
        Extender(G, filter_verb="f"),
        Extender("https://h", prioritize_verb="p"),
    )
    log: list[ExtenderQuestion] = []
    rules = revision(*extenders, blocked=["n1"])
    assert brief(run(POD, rules, context("n1", "n2", "n3", "n4"), passing("n2", "n3"), log)) == "n3"
    assert log == [
        AskFilter(extenders[1], ("n2", "n3", "n4")),
        AskFilter(extenders[0], ("n2", "n3")),
        AskPriorities((extenders[2], extenders[0]), ("n2", "n3")),
    ]


# ---- every way to answer -------------------------------------------------------------------------

REFUSED = "0/2 nodes are available: "
SAYS: dict[str, tuple[Any, Any, Any]] = {
    # answer of the filter, outcome with an extender that must not fail, and with an ignorable one
    "all": (ExtenderFilterResult(("n1", "n2"), {}, {}), "n2", "n2"),
    "one": (ExtenderFilterResult(("n1",), {"n2": "full"}, {}), "n1", "n1"),
    "twice": (ExtenderFilterResult(("n1", "n1"), {}, {}), "n1", "n1"),
    "none, failed": (
        ExtenderFilterResult((), {"n1": "full", "n2": "full"}, {}),
        ("Unschedulable", REFUSED + "2 full."),
        ...,
    ),
    "none, hopeless": (
        ExtenderFilterResult((), {"n1": "full"}, {"n2": "never"}),
        ("Unschedulable", REFUSED + "1 full, 1 never."),
        ...,
    ),
    "in both maps": (
        ExtenderFilterResult((), {"n1": "full", "n2": "full"}, {"n2": "never"}),
        ("Unschedulable", REFUSED + "1 full, 1 never."),
        ...,
    ),
    "without a word": (
        ExtenderFilterResult((), {}, {}),
        ("Unschedulable", f'{REFUSED}2 node(s) were left out by extender "{F}".'),
        ...,
    ),
    "strange reasons": (
        ExtenderFilterResult((), {"n1": "full", "n9": "full"}, {}),
        ("Unschedulable", f'{REFUSED}1 full, 1 node(s) were left out by extender "{F}".'),
        ...,
    ),
    "a strange node": (
        ExtenderFilterResult(("n1", "n9"), {}, {}),
        (
            "Error",
            f'extender "{F}" claims a filtered node "n9" which is not found in the input node list',
        ),
        "n2",
    ),
    "a fault": (ExtenderFailure("broken"), ("Error", "broken"), "n2"),
}


@pytest.mark.parametrize("ignorable", [False, True], ids=["must not fail", "ignorable"])
@pytest.mark.parametrize("case", SAYS)
def test_filter_answers(case: str, ignorable: bool) -> None:
    """What becomes of the pod; a refusal names the extenders, a fault nobody."""
    answer, want, forgiven = SAYS[case]
    want = forgiven if ignorable and forgiven is not ... else want
    outcome = brief(
        run(
            POD,
            revision(Extender(F, filter_verb="f", ignorable=ignorable)),
            context("n1", "n2"),
            lambda _: answer,
        )
    )
    if isinstance(want, str):
        assert outcome == want
    else:
        assert outcome == (*want, {EXTENDER} if want[0] == "Unschedulable" else frozenset())


def test_reasons_of_plugins_and_extenders_are_told_together() -> None:
    """And so are those who refused."""
    rules = revision(Extender(F, filter_verb="f"), blocked=["n1"])
    outcome = run(
        POD, rules, context("n1", "n2", "n3"), passing(failed={"n2": "full", "n3": "full"})
    )
    assert brief(outcome) == (
        "Unschedulable",
        "0/3 nodes are available: 1 node(s) were blocked by 7, 2 full.",
        {EXTENDER, "Block"},
    )


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ([("n1", 1)], "n1"),
        ([("n1", 0)], "n3"),
        ([("n9", 99), ("n2", 1)], "n2"),
        ([("n1", 1), ("n2", 1), ("n2", 1)], "n2"),
        ([("n3", -1)], "n2"),
        ([("n1", 2**70)], "n1"),
        (ExtenderFailure("broken"), "n3"),
    ],
)
def test_priorities_are_added(answer: Any, want: str) -> None:
    """Times ten and the weight, each mention of a node; a fault gives nothing, and nothing is cut
    off.
    """
    extender = Extender(F, prioritize_verb="p", weight=2)
    assert (
        brief(run(POD, revision(extender), context("n1", "n2", "n3"), lambda _: (answer,))) == want
    )


@pytest.mark.parametrize(("weight", "want"), [(1, "n3"), (2, "n1")])
def test_the_weight_counts(weight: int, want: str) -> None:
    """Against what plugins give."""
    rules = revision(Extender(F, prioritize_verb="p", weight=weight), weights={"Rank": 8})
    assert brief(run(POD, rules, context("n1", "n2", "n3"), lambda _: ([("n1", 1)],))) == want


def test_a_lone_node_is_not_scored() -> None:
    """Whether plugins or extenders left no other one."""
    extender = Extender(F, filter_verb="f", prioritize_verb="p")
    for rules, through in (
        (revision(extender, blocked=["n1"]), ("n2",)),
        (revision(extender), ("n2",)),
    ):
        log: list[ExtenderQuestion] = []
        outcome = run(POD, rules, context("n1", "n2"), passing(*through), log)
        assert (brief(outcome), [type(question) for question in log]) == ("n2", [AskFilter])


def test_no_nodes_no_questions() -> None:
    """As without extenders."""
    log: list[ExtenderQuestion] = []
    assert (
        brief(run(POD, revision(Extender(F, filter_verb="f")), context(), passing(), log))[1]
        == NO_NODES
    )
    assert not log


def test_a_nominated_node_is_asked_about_first() -> None:
    """It is taken if all let it through; else all nodes are looked at, and a fault is no end
    yet.
    """
    rules = revision(Extender(F, filter_verb="f"))
    cases: list[tuple[list[ExtenderAnswer], str, list[Any]]] = [
        ([ExtenderFilterResult(("n1",), {}, {})], "n1", [("n1",)]),
        (
            [ExtenderFilterResult((), {"n1": "full"}, {}), ExtenderFilterResult(("n2",), {}, {})],
            "n2",
            [("n1",), ("n1", "n2")],
        ),
        (
            [ExtenderFailure("broken"), ExtenderFilterResult(("n1", "n2"), {}, {})],
            "n2",
            [("n1",), ("n1", "n2")],
        ),
    ]
    for answers, want, questions in cases:
        log: list[Any] = []
        them = context("n1", "n2")
        them.cache.nominations.add(POD, "n1", pod_requests(POD))
        assert brief(run(POD, rules, them, in_turn(answers), log)) == want
        assert [question.nodes for question in log] == questions


# ---- the naive twin ------------------------------------------------------------------------------

NODES = [f"n{i}" for i in range(6)]
subsets = st.lists(st.sampled_from(NODES), unique=True, max_size=6)
reasons = st.dictionaries(st.sampled_from(NODES), st.sampled_from(["full", "never"]), max_size=4)
filter_answers = st.one_of(
    st.builds(
        lambda passed, failed, hopeless: ExtenderFilterResult(tuple(passed), failed, hopeless),
        subsets,
        reasons,
        reasons,
    ),
    st.builds(lambda passed: ExtenderFilterResult(tuple(passed), {}, {}), subsets),
    st.just(ExtenderFilterResult(tuple(NODES), {}, {})),
    st.just(ExtenderFailure("broken")),
)
priorities = st.one_of(
    st.lists(st.tuples(st.sampled_from([*NODES, "n9"]), st.integers(-3, 12)), max_size=8),
    st.just(ExtenderFailure("broken")),
)


@dataclasses.dataclass(frozen=True)
class Scripted:
    """An extender and what it says of whatever nodes."""

    extender: Extender
    filters: ExtenderFilterResult | ExtenderFailure
    scores: Any

    def answer(self, question: AskFilter) -> ExtenderFilterResult | ExtenderFailure:
        """Of the nodes it was asked about; it may say something of others."""
        return self.filters if isinstance(self.filters, ExtenderFailure) else self.filters._replace(
            passed=tuple(node for node in self.filters.passed if node in question.nodes)
        )  # fmt: skip


@st.composite
def scripts(draw: st.DrawFn) -> list[Scripted]:
    """Up to three extenders."""
    return [
        Scripted(
            Extender(
                f"https://{name}",
                filter_verb=draw(st.sampled_from(["f", "f", ""])),
                prioritize_verb=draw(st.sampled_from(["p", ""])),
                weight=draw(st.integers(1, 3)),
                ignorable=draw(st.booleans()),
                managed_resources=draw(
                    st.sampled_from(
                        [frozenset(), frozenset(), frozenset({"cpu"}), frozenset({"a.b/c"})]
                    )
                ),
            ),
            draw(filter_answers),
            draw(priorities),
        )
        for name in draw(st.sampled_from(["", "a", "ab", "abc"]))
    ]


def naive(script: Sequence[Scripted], blocked: Sequence[str]) -> tuple[str, Any]:
    """What should come of it: ("placed", the best nodes), ("error", text) or ("refused", (reasons,
    rejectors)).
    """
    mine = [
        one
        for one in script
        if not one.extender.managed_resources or "cpu" in one.extender.managed_resources
    ]
    interested = [one for one in mine if not one.extender.ignorable] + [
        one for one in mine if one.extender.ignorable
    ]
    nodes = [node for node in NODES if node not in blocked]
    said = Counter({"node(s) were blocked by 7": len(set(blocked))}) if blocked else Counter()
    rejectors = {"Block"} if blocked else set()
    why: dict[str, str] = {}
    for one in interested:
        if not one.extender.filter_verb or not nodes:
            continue
        if isinstance(one.filters, ExtenderFailure):
            if one.extender.ignorable:
                continue
            return "error", "broken"
        for node in nodes:
            if node not in one.filters.passed:
                why[node] = f'node(s) were left out by extender "{one.extender.url}"'
            why[node] = one.filters.unresolvable_nodes.get(
                node, one.filters.failed_nodes.get(node, why.get(node, ""))
            )
        nodes = [node for node in nodes if node in one.filters.passed]
    if not nodes:
        if why:
            rejectors.add(EXTENDER)
        said.update(why[node] for node in NODES if node not in blocked)
        return "refused", (said, rejectors)
    scores = {
        node: int(node[-1]) * WEIGHT + sum(naive_score(one, node) for one in interested)
        for node in nodes
    }
    return "placed", [
        node for node in nodes if len(nodes) == 1 or scores[node] == max(scores.values())
    ]


def naive_score(one: Scripted, node: str) -> int:
    """What an extender adds."""
    if isinstance(one.scores, ExtenderFailure) or not one.extender.prioritize_verb:
        return 0
    return sum(value * 10 * one.extender.weight for name, value in one.scores if name == node)


def answering(
    script: Sequence[Scripted], before: Callable[[], None] = lambda: None
) -> Callable[[ExtenderQuestion], ExtenderAnswer]:
    """Answers as scripted; ``before`` is called while extenders are asked."""
    by_url = {one.extender.url: one for one in script}

    def answer(question: ExtenderQuestion) -> ExtenderAnswer:
        before()
        if isinstance(question, AskFilter):
            return by_url[question.extender.url].answer(question)
        assert isinstance(question, AskPriorities)
        return tuple(by_url[extender.url].scores for extender in question.extenders)

    return answer


@given(scripts(), subsets)
@settings(max_examples=60)
def test_the_outcome_is_that_of_a_naive_twin(script: list[Scripted], blocked: list[str]) -> None:
    """Node, fault or refusal, with its reasons and whom it names."""
    rules, them = revision(*(one.extender for one in script), blocked=blocked), context(*NODES)
    outcome = run(POD, rules, them, answering(script))
    what, want = naive(script, blocked)
    if isinstance(outcome, ScheduleResult):
        assert what == "placed"
        assert outcome.node in want
    elif outcome.code is Code.ERROR:
        assert (what, outcome.message) == ("error", want)
    else:
        counts, rejectors = want
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        assert (what, outcome.message, outcome.unschedulable_plugins) == (
            "refused",
            f"0/6 nodes are available: {listed}.",
            rejectors,
        )


@given(subsets)
@settings(max_examples=30)
def test_without_a_say_the_outcome_is_that_of_the_plain_cycle(blocked: list[str]) -> None:
    """The same node, score and count, or the same text."""
    silent = Scripted(
        Extender(F, filter_verb="f", prioritize_verb="p"),
        ExtenderFilterResult(tuple(NODES), {}, {}),
        [],
    )
    with_it = run(
        POD, revision(silent.extender, blocked=blocked), context(*NODES), answering([silent])
    )
    without = decide(POD, revision(blocked=blocked), context(*NODES))
    assert brief(with_it) == brief(without)
    if isinstance(with_it, ScheduleResult) and isinstance(without, ScheduleResult):
        assert (with_it.score, with_it.feasible_nodes) == (without.score, without.feasible_nodes)


# ---- what moves meanwhile ------------------------------------------------------------------------


@given(
    scripts(),
    subsets,
    st.lists(
        st.tuples(st.sampled_from(NODES), st.sampled_from(["gone", "back", "new"])), max_size=12
    ),
)
@settings(max_examples=60)
def test_nothing_is_decided_by_a_state_that_has_passed(
    script: list[Scripted], blocked: list[str], moves: list[tuple[str, str]]
) -> None:
    """Nodes go, come back in other rows and others come: a pod goes to a node that is there and
    that everybody lets through.
    """
    rules, them, left = (
        revision(*(one.extender for one in script), blocked=blocked),
        context(*NODES),
        list(moves),
    )

    def move() -> None:
        for node, how in (left.pop() for _ in range(min(len(left), 3))):
            if how == "gone" and node in them.snapshot.nodes.row_of:
                them.cache.remove_node(node)
            elif how != "gone":
                them.cache.put_node(make_node(node if how == "back" else f"m{node[-1]}"))

    outcome = run(POD, rules, them, answering(script, move))
    if not isinstance(outcome, ScheduleResult):
        return
    assert outcome.node in them.snapshot.nodes.row_of
    assert outcome.node not in blocked
    for one in script:
        if (
            one.extender.filter_verb
            and one.extender.is_interested(POD)
            and not isinstance(one.filters, ExtenderFailure)
        ):
            assert outcome.node in one.filters.passed


def test_the_next_best_is_taken_when_the_best_is_lost() -> None:
    """Without asking anew."""
    them, log = context("n1", "n2", "n3"), []  # type: tuple[CycleContext, list[ExtenderQuestion]]

    def answer(question: ExtenderQuestion) -> ExtenderAnswer:
        if isinstance(question, AskPriorities):
            them.cache.remove_node("n3")
        return passing("n1", "n2", "n3")(question)  # type: ignore[no-any-return]

    assert (
        brief(
            run(POD, revision(Extender(F, filter_verb="f", prioritize_verb="p")), them, answer, log)
        )
        == "n2"
    )
    assert [type(question) for question in log] == [AskFilter, AskPriorities]


def test_the_best_that_is_full_by_now_is_not_taken() -> None:
    """Another pod came while extenders were asked for priorities."""
    them, rules = CycleContext(Cache(), 1), preempting(Extender(F, prioritize_verb="p"))
    for node in ("n1", "n2"):
        them.cache.put_node(make_node(node, cpu="2"))

    def answer(_: ExtenderQuestion) -> ExtenderAnswer:
        pod = make_pod("a", cpu="2", node="n2")
        them.cache.observe(pod, pod_requests(pod))
        return ([("n2", 5)],)

    assert brief(run(NEW, rules, them, answer)) == "n1"


def test_a_nominated_node_that_is_lost_meanwhile_is_not_taken() -> None:
    """Nor is it spoken of."""
    them = context("n1", "n2")
    them.cache.nominations.add(POD, "n1", pod_requests(POD))

    def answer(question: ExtenderQuestion) -> ExtenderAnswer:
        if "n1" in them.snapshot.nodes.row_of:
            them.cache.remove_node("n1")
        return passing("n1")(question)  # type: ignore[no-any-return]

    text = f'0/1 nodes are available: 1 node(s) were left out by extender "{F}".'
    assert brief(run(POD, revision(Extender(F, filter_verb="f")), them, answer))[1] == text


def test_it_begins_anew_when_all_are_lost_and_gives_up_when_that_goes_on() -> None:
    """A node that came meanwhile is found; where nothing lasts, the pod waits for a while."""
    rules = revision(Extender(F, filter_verb="f"))
    for lasting in (True, False):
        them, log = context("n1", "n2"), []  # type: tuple[CycleContext, list[Any]]

        def answer(
            question: ExtenderQuestion,
            them: CycleContext = them,
            log: list[Any] = log,
            lasting: bool = lasting,
        ) -> ExtenderAnswer:
            assert isinstance(question, AskFilter)
            if not lasting or len(log) == 1:
                for node in question.nodes:
                    them.cache.remove_node(node)
                    them.cache.put_node(make_node(f"{node}{len(log)}"))
            return ExtenderFilterResult(question.nodes, {}, {})

        outcome = brief(run(POD, rules, them, answer, log))
        if lasting:
            assert (outcome[:2], len(log)) == ("n1", 2) or (outcome[:2], len(log)) == ("n2", 2)
        else:
            assert outcome == (
                "Error",
                "the nodes that extenders let through were taken by others while they were asked",
                frozenset(),
            )
            assert len(log) == 3


def test_a_sample_is_what_extenders_are_asked_about() -> None:
    """A profile that looks at some nodes only asks about these, and from where the last pod's
    search ended.
    """
    rules = revision(Extender(F, filter_verb="f"), percentage_of_nodes_to_score=1)
    them, log = context(*(f"n{i}" for i in range(300))), []  # type: tuple[CycleContext, list[Any]]
    for _ in range(3):
        outcome = run(
            POD,
            rules,
            them,
            passing(failed=dict.fromkeys([f"n{i}" for i in range(300)], "full")),
            log,
        )
        assert isinstance(outcome, Diagnosis)
        assert outcome.message == "0/300 nodes are available: 100 full."
    assert Counter(node for question in log for node in question.nodes) == Counter(
        f"n{i}" for i in range(300)
    )


# ---- preemption ----------------------------------------------------------------------------------

VICTIMS = EnabledPlugins(
    tuple(
        PluginRef(name)
        for name in ("PrioritySort", "NodeResourcesFit", "DefaultPreemption", "DefaultBinder")
    ),
    ("*",),
)
LOW = {"a": ("n1", 1), "b": ("n1", 3), "c": ("n2", 2), "d": ("n2", 2)}
"""Pods of one cpu each that fill the two nodes: name -> node, priority."""
NEW = make_pod("new", cpu="1", priority=9)
PROPOSED = {"n1": (("a",), 0), "n2": (("d",), 0)}


def preempting(*extenders: Extender) -> Revision:
    """A profile that preempts."""
    return resolve(
        RequestedProfile("test", plugins={"multiPoint": VICTIMS}, extenders=extenders),
        build_registry(INTREE),
        INTREE_PRESETS,
    )


def full() -> CycleContext:
    """Two full nodes."""
    them = CycleContext(Cache(), 1)
    for node in ("n1", "n2"):
        them.cache.put_node(make_node(node, cpu="2"))
    for name, (node, rank) in LOW.items():
        pod = make_pod(name, cpu="1", node=node, priority=rank)
        them.cache.observe(pod, pod_requests(pod))
    return them


def spared(**by_node: tuple[str, ...]) -> dict[str, MetaVictims]:
    """An answer about victims, by the pods' names."""
    return {
        node: MetaVictims(tuple(f"uid-{name}" for name in names), 0)
        for node, names in by_node.items()
    }


def victims_of(outcome: ScheduleResult | Diagnosis) -> Any:
    """Node and victims, or what is said of preemption."""
    assert isinstance(outcome, Diagnosis)
    if outcome.victims:
        return outcome.nominated_node, tuple(pod.metadata.name for pod in outcome.victims)
    return outcome.message.removeprefix("0/2 nodes are available: 2 Insufficient cpu. ")


def test_nobody_goes_while_members_of_a_group_may_be_taken_back() -> None:
    """Extenders are not asked about victims, and the nomination is left alone."""
    them, asked = full(), list[ExtenderQuestion]()
    them.makes_room = False
    outcome = run(NEW, preempting(Extender(F, preempt_verb="v")), them, passing(), asked)
    assert isinstance(outcome, Diagnosis)
    assert not outcome.victims and outcome.nominated_node is None
    assert outcome.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert not asked


PREEMPT: dict[str, tuple[Any, Any, Any]] = {
    # answer, outcome with an extender that must not fail, and with an ignorable one
    "as proposed": (spared(n1=("a",), n2=("d",)), ("n1", ("a",)), ...),
    "one node less": (spared(n2=("d",)), ("n2", ("d",)), ...),
    "other victims": (spared(n1=("b",), n2=("c", "d")), ("n2", ("c", "d")), ...),
    "the most important victim first": (spared(n1=("a", "b")), ("n1", ("b", "a")), ...),
    "no node": ({}, "preemption: no candidate node for preemption", ...),
    "nobody to go": (
        spared(n1=(), n2=("d",)),
        'expected at least one victim pod on node "n1"',
        ("n2", ("d",)),
    ),
    "nobody to go anywhere": (
        spared(n1=(), n2=()),
        'expected at least one victim pod on node "n1"',
        "preemption: no candidate node for preemption",
    ),
    "a strange pod": (
        spared(n1=("x",)),
        (
            f"extender: {F} claims to preempt pod (UID: uid-x) on node: n1, but the pod is not "
            f"found on that node"
        ),
        ("n1", ("a",)),
    ),
    "a pod of another node": (
        spared(n1=("c",)),
        (
            f"extender: {F} claims to preempt pod (UID: uid-c) on node: n1, but the pod is not "
            f"found on that node"
        ),
        ("n1", ("a",)),
    ),
    "a strange node": (
        spared(n9=("a",)),
        (
            f"extender: {F} claims to preempt pod (UID: uid-a) on node: n9, but the pod is not "
            f"found on that node"
        ),
        ("n1", ("a",)),
    ),
    "more violations": (
        {"n1": MetaVictims(("uid-a",), 1), "n2": MetaVictims(("uid-d",), 0)},
        ("n2", ("d",)),
        ...,
    ),
    "a fault": (ExtenderFailure("broken"), "broken", ("n1", ("a",))),
}


@pytest.mark.parametrize("ignorable", [False, True], ids=["must not fail", "ignorable"])
@pytest.mark.parametrize("case", PREEMPT)
def test_what_extenders_make_of_victims(case: str, ignorable: bool) -> None:
    """Asked about all candidates, before one of them is chosen."""
    answer, want, forgiven = PREEMPT[case]
    log: list[ExtenderQuestion] = []
    rules = preempting(Extender(F, preempt_verb="v", ignorable=ignorable))
    outcome = run(NEW, rules, full(), lambda _: answer, log)
    assert victims_of(outcome) == (forgiven if ignorable and forgiven is not ... else want)
    (question,) = log
    assert isinstance(question, AskVictims)
    found = {
        node: (tuple(pod.metadata.name for pod in pods), violations)
        for node, (pods, violations) in question.victims.items()
    }
    assert found == PROPOSED


def test_extenders_are_asked_about_victims_in_turn() -> None:
    """Each about what those before it left; when nothing is left, no one else."""
    rules = preempting(Extender(F, preempt_verb="v"), Extender(G, preempt_verb="v"))
    for first, want, count in (
        (spared(n2=("c",)), ("n2", ("c",)), 2),
        ({}, "preemption: no candidate node for preemption", 1),
    ):
        log: list[Any] = []
        answers: list[ExtenderAnswer] = [first, first]
        assert victims_of(run(NEW, rules, full(), in_turn(answers), log)) == want
        assert len(log) == count
        assert [list(question.victims) for question in log[1:]] == [["n2"]] * (count - 1)


def test_nobody_is_displaced_where_there_is_room_by_now() -> None:
    """A pod ended while extenders were asked about victims."""
    them = full()

    def answer(_: ExtenderQuestion) -> ExtenderAnswer:
        them.cache.remove("uid-c")
        return spared(n1=("a",))

    outcome = run(NEW, preempting(Extender(F, preempt_verb="v")), them, answer)
    assert (
        victims_of(outcome)
        == "a node has room now that had none when extenders were asked about victims"
    )


def test_victims_that_have_gone_meanwhile_are_no_fault() -> None:
    """They were proposed, so nobody is blamed; telling them to go does no harm."""
    them = full()

    def answer(_: ExtenderQuestion) -> ExtenderAnswer:
        them.cache.remove("uid-a")
        pod = make_pod("e", cpu="1", node="n1", priority=20)
        them.cache.observe(pod, pod_requests(pod))
        return spared(n1=("a",))

    assert victims_of(run(NEW, preempting(Extender(F, preempt_verb="v")), them, answer)) == (
        "n1",
        ("a",),
    )


def test_a_node_that_has_gone_meanwhile_is_no_candidate() -> None:
    """Whatever an extender says of it."""
    them = full()

    def answer(_: ExtenderQuestion) -> ExtenderAnswer:
        for name in ("a", "b"):
            them.cache.remove(f"uid-{name}")
        them.cache.remove_node("n1")
        return spared(n1=("a",), n2=("d",))

    assert victims_of(run(NEW, preempting(Extender(F, preempt_verb="v")), them, answer)) == (
        "n2",
        ("d",),
    )


def test_nodes_that_a_filter_refused_for_good_are_no_candidates() -> None:
    """Where plugins and an extender refuse, only plugins' nodes can be made room on: an extender's
    refusal has no victims.
    """
    them = full()
    them.cache.put_node(make_node("n3"))
    pod = make_pod("f", cpu="1", node="n3", priority=0)
    them.cache.observe(pod, pod_requests(pod))
    for answer in (
        ExtenderFilterResult((), {"n3": "full"}, {}),
        ExtenderFilterResult((), {}, {"n3": "never"}),
        ExtenderFilterResult((), {}, {}),
    ):
        log: list[Any] = []
        outcome = run(
            NEW,
            preempting(Extender(F, filter_verb="f", preempt_verb="v")),
            them,
            in_turn([answer, spared(n2=("d",))]),
            log,
        )
        assert victims_of(outcome) == ("n2", ("d",))
        assert [set(question.victims) for question in log[1:]] == [{"n1", "n2"}]
        assert isinstance(outcome, Diagnosis)
        assert outcome.unschedulable_plugins == {"NodeResourcesFit", EXTENDER}


def test_without_a_say_victims_are_those_of_the_plain_cycle() -> None:
    """The same diagnosis."""
    quiet = preempting(Extender(F, filter_verb="f"))
    with_it, without = run(NEW, quiet, full(), passing()), decide(NEW, preempting(), full())
    assert isinstance(with_it, Diagnosis)
    assert isinstance(without, Diagnosis)
    assert dataclasses.replace(with_it, revision=without.revision) == without
