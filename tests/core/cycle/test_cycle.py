"""A decision, what it keeps from pod to pod, and that it is undone whole."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import tracemalloc
import weakref
from typing import Any, ClassVar

import pytest

from moorage.core.columns.cache import Cache, CacheError
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import NO_NODES, assume_and_reserve, decide, unreserve_and_forget
from moorage.core.cycle.sampling import feasible_nodes_to_find
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.evaluator import Evaluator
from moorage.core.framework.evaluation.row_cache import RowCaches
from moorage.core.framework.interfaces import (
    ExtensionPoint,
    PreFilterResult,
    ReserveResult,
    SkippingReservePlugin,
)
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod
from tests.core.framework.plugins import PRESETS, REGISTRY, BlockArgs, Keep


def context(*nodes: str, seed: int = 1) -> CycleContext:
    """A scheduler over these nodes."""
    cache = Cache()
    for name in nodes:
        cache.put_node(make_node(name))
    return CycleContext(cache, seed)


def revision(**changes: Any) -> Revision:
    """A revision of the test's plugins."""
    return resolve(dataclasses.replace(RequestedProfile("test"), **changes), REGISTRY, PRESETS)


def blocking(*nodes: str) -> Revision:
    """A revision that refuses these nodes."""
    return revision(args={"Block": BlockArgs(frozenset(nodes))})


def placed(outcome: ScheduleResult | Diagnosis) -> str:
    """The node of a placement."""
    assert isinstance(outcome, ScheduleResult), outcome
    return outcome.node


def test_the_best_node_wins() -> None:
    """The highest total of the nodes that pass is taken."""
    assert placed(decide(make_pod("a"), revision(), context("n1", "n3", "n2"))) == "n3"
    assert placed(decide(make_pod("a"), blocking("n3"), context("n1", "n3", "n2"))) == "n2"


def test_nobody_fits() -> None:
    """The diagnosis counts each reason, names who refused, and clears a nomination."""
    outcome = decide(make_pod("a"), blocking("n1", "n2"), context("n1", "n2"))
    assert isinstance(outcome, Diagnosis)
    assert (outcome.code, outcome.unschedulable_plugins, outcome.nominated_node) == (
        Code.UNSCHEDULABLE,
        {"Block"},
        "",
    )
    assert outcome.message == "0/2 nodes are available: 2 node(s) were blocked by 7."


def test_no_nodes() -> None:
    """Without nodes there is a text of its own."""
    outcome = decide(make_pod("a"), revision(), context())
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == NO_NODES


def test_nodes_that_come_and_go_are_seen_by_a_known_template() -> None:
    """Columns that were filled before catch up with added, removed and re-used rows."""
    them = context("n1", "n2")
    rules = revision(plugins={"score": EnabledPlugins((PluginRef("Stretch"),))})
    assert placed(decide(make_pod("a"), rules, them)) == "n2"
    them.cache.put_node(make_node("n9"))
    assert placed(decide(make_pod("b"), rules, them)) == "n9"
    them.cache.remove_node("n9")
    assert placed(decide(make_pod("c"), rules, them)) == "n2"
    them.cache.put_node(make_node("n5"))
    assert placed(decide(make_pod("d"), rules, them)) == "n5"
    for i in range(200):
        them.cache.put_node(make_node(f"m{i}0"))
    assert placed(decide(make_pod("e"), rules, them)) == "n5"


def test_a_lone_feasible_node_is_not_scored() -> None:
    """There is nothing to compare it with; of two, the score is told."""
    alone, beside = (
        decide(make_pod("a"), revision(), context("n1")),
        decide(make_pod("a"), revision(), context("n1", "n2")),
    )
    assert isinstance(alone, ScheduleResult)
    assert isinstance(beside, ScheduleResult)
    assert alone.score is None
    assert beside.score is not None


def test_a_clock_that_moved_makes_all_rows_stale() -> None:
    """A plugin whose answer depends on other rows is asked for all rows when one of them
    changes.
    """
    them = context("n0", "n1", "n2")
    rules = revision(plugins={"multiPoint": EnabledPlugins((PluginRef("Census"),), ("Rank",))})
    for cordoned in range(3):
        assert placed(decide(make_pod("a"), rules, them)) == f"n{cordoned}"
        them.cache.put_node(make_node(f"n{cordoned}", unschedulable=True))


def test_two_revisions_share_columns_and_see_every_change() -> None:
    """A plugin's result that one evaluation refreshed is not stale in another's eyes."""
    them = context("n1", "n2")
    one, two = revision(), revision(weights={"Rank": 9})
    for rules in (one, two):
        assert placed(decide(make_pod("a"), rules, them)) == "n2"
    them.cache.put_node(make_node("n7"))
    for rules in (one, two, one):
        assert placed(decide(make_pod("a"), rules, them)) == "n7"
    assert len(them.evaluator) == 1
    them.evaluator.retire(one)
    assert placed(decide(make_pod("a"), two, them)) == "n7"


def test_a_swap_keeps_the_columns_of_what_it_did_not_change() -> None:
    """The successor of a retired revision takes over equal plugins' columns; the rest of the old
    one is forgotten then.
    """
    them, pod = context("n1", "n2"), make_pod("a")
    one, two = blocking("n1"), revision(weights={"Rank": 9})
    old = them.evaluator.evaluation(pod, one)
    rank, forgotten = old.scores["Rank"].result, weakref.ref(old)
    them.evaluator.retire(one)
    new = them.evaluator.evaluation(pod, two)
    assert new.scores["Rank"].result is rank
    del old
    gc.collect()
    assert forgotten() is None


def test_the_byte_budget_holds_in_a_small_cluster() -> None:
    """Where arrays are short, what stands around them counts."""
    them = CycleContext(Cache())
    them.cache.put_node(make_node("n1"))
    them.evaluator = Evaluator(them.snapshot, budget := 2**20)
    rules, pods = revision(), [make_pod(f"p{i}", cpu=f"{i}m") for i in range(1000)]
    tracemalloc.start()
    try:
        for pod in pods:
            decide(pod, rules, them)
        assert tracemalloc.get_traced_memory()[0] < 1.5 * budget
    finally:
        tracemalloc.stop()


def test_the_byte_budget_counts_what_pods_say() -> None:
    """A template holds a pod, which may be a megabyte: few of such are kept, and always the
    newest.
    """
    them = CycleContext(Cache())
    them.cache.put_node(make_node("n1"))
    rules = revision()
    for i in range(40):
        large = {f"{i}-{'x' * 100_000}": "y"}
        decide(make_pod(f"p{i}", cpu=f"{i}m", node_selector=large), rules, them)
        assert len(them.evaluator) >= 1
    assert len(them.evaluator) < 30
    decide(make_pod("small"), rules, them)
    assert len(them.evaluator) < 30


def test_memories_do_not_keep_blueprints() -> None:
    """An evaluation holds its pod; what was found out about rows goes with it."""
    memories = RowCaches()
    evaluation = Evaluation(make_pod("a"), {}, {}, {})
    memory = memories.of(evaluation, "x")
    assert memories.of(evaluation, "x") is memory
    assert memories.of(evaluation, "y") is not memory
    gone = weakref.ref(evaluation)
    del evaluation
    gc.collect()
    assert gone() is None
    memories.of(Evaluation(make_pod("b"), {}, {}, {}), "x")
    assert len(memories._caches) == 1


def test_a_refused_reservation_leaves_nothing_behind() -> None:
    """When reserve refuses, the assumption is taken back and the diagnosis speaks of one node."""
    them = context("n1")
    rules = revision(
        plugins={"reserve": EnabledPlugins((PluginRef("Keep"),))},
        args={"Keep": BlockArgs(frozenset({"n1"}))},
    )
    decision = decide(make_pod("a"), rules, them)
    assert isinstance(decision, ScheduleResult)
    outcome = assume_and_reserve(decision, them)
    assert isinstance(outcome, Diagnosis)
    assert outcome.message == "0/1 nodes are available: 1 cannot keep."
    assert len(them.cache) == 0


class Hoarder:
    """Reserves something, and notes for whom; ``code`` is what its preFilter says."""

    name: ClassVar[str] = "Hoarder"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def __init__(self, code: Code) -> None:
        self.code = code
        self.asked: list[str] = []

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """As it was made."""
        return PreFilterResult(Status(self.code))

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """For whomever."""
        self.asked.append(pod.metadata.name)
        return ReserveResult(SUCCESS, "something")


class SkippingHoarder(Hoarder):
    """Has nothing to reserve where its preFilter says SKIP."""

    skips_reserve: ClassVar[bool] = True


_skips: type[SkippingReservePlugin] = SkippingHoarder


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize(
    ("kind", "code", "prefilters", "asked"),
    [
        (SkippingHoarder, Code.SKIP, True, False),
        (SkippingHoarder, Code.SUCCESS, True, True),
        (SkippingHoarder, Code.SKIP, False, True),
        (Hoarder, Code.SKIP, True, True),
    ],
)
def test_who_has_nothing_to_reserve_is_not_asked(
    kind: type[Hoarder], code: Code, prefilters: bool, asked: bool, nodes: int
) -> None:
    """Where it said so at preFilter, and only who lets itself be left out so."""
    plugin, plain, them = kind(code), revision(), context(*(f"n{i}" for i in range(nodes)))
    points = {**plain.points, ExtensionPoint.RESERVE: ("Hoarder",)}
    if prefilters:
        points[ExtensionPoint.PRE_FILTER] = ("Hoarder",)
    deciders = {**plain.deciders, "Hoarder": plugin}
    rules = dataclasses.replace(plain, points=points, deciders=deciders)
    for name in ("a", "b"):
        decision = decide(make_pod(name), rules, them)
        assert isinstance(decision, ScheduleResult)
        placement = assume_and_reserve(decision, them)
        assert isinstance(placement, ScheduleResult)
        assert bool(placement.reservations) is asked
    assert plugin.asked == (["a", "b"] if asked else [])


class Breaking(Hoarder):
    """Its reserve raises."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__(Code.SUCCESS)
        self.fault = fault

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """Not for anybody."""
        raise self.fault


@pytest.mark.parametrize("fault", [None, OutOfTime(), ValueError("x")])
def test_a_nomination_outlives_a_reservation_that_fails(fault: BaseException | None) -> None:
    """An attempt that is refused at reserve, or set down there, goes on to have its room kept."""
    pod, other, them = make_pod("a"), make_pod("b"), context("n1")
    plain = revision(
        plugins={"reserve": EnabledPlugins((PluginRef("Keep"),))},
        args={"Keep": BlockArgs(frozenset() if fault else frozenset({"n1"}))},
    )
    rules = dataclasses.replace(
        plain,
        points={**plain.points, ExtensionPoint.RESERVE: ("Keep", *(["Breaking"] if fault else []))},
        deciders={**plain.deciders, "Breaking": Breaking(fault or OutOfTime())},
    )
    nominations = them.cache.nominations
    for one in (pod, other):
        nominations.nominate(one, "n1")
    before = list(nominations.by_priority()), list(nominations.unwritten)
    decision = decide(pod, rules, them)
    assert isinstance(decision, ScheduleResult)
    with pytest.raises(type(fault)) if fault else contextlib.nullcontext():
        assert isinstance(assume_and_reserve(decision, them), Diagnosis)
    assert (list(nominations.by_priority()), list(nominations.unwritten)) == before
    assert (len(them.cache), Keep.held) == (0, [])


def test_a_pod_that_is_in_the_cache_is_not_reserved_for() -> None:
    """Nor is its place there taken back."""
    them = context("n1")
    rules = revision(plugins={"reserve": EnabledPlugins((PluginRef("Keep"),))})
    decision = decide(make_pod("a"), rules, them)
    assert isinstance(decision, ScheduleResult)
    them.cache.assume(decision.pod, decision.node, pod_requests(decision.pod))
    with pytest.raises(CacheError):
        assume_and_reserve(decision, them)
    assert (len(them.cache), Keep.held) == (1, [])


def test_undo_takes_back_everything_and_may_come_twice() -> None:
    """undo forgets the pod and releases reservations."""
    them = context("n1")
    rules = revision(plugins={"reserve": EnabledPlugins((PluginRef("Keep"),))})
    decision = decide(make_pod("a"), rules, them)
    assert isinstance(decision, ScheduleResult)
    placement = assume_and_reserve(decision, them)
    assert isinstance(placement, ScheduleResult)
    assert (len(them.cache), Keep.held) == (1, ["n1"])
    for _ in range(2):
        unreserve_and_forget(placement, them.cache)
        assert (len(them.cache), Keep.held) == (0, [])


def test_a_nomination_that_fits_is_kept() -> None:
    """A pod that was nominated to a feasible node goes there, though another scores higher."""
    pod = make_pod("a")
    them = context("n1", "n9")
    them.cache.nominations.nominate(pod, "n1")
    assert placed(decide(pod, revision(), them)) == "n1"
    assert placed(decide(pod, blocking("n1"), them)) == "n9"


def test_ties_depend_on_seed_and_pod_not_on_rows() -> None:
    """Equal nodes get different pods evenly; the order in which nodes came does not matter."""
    names = [f"a{i}0" for i in range(8)]
    forth, back, other = context(*names), context(*reversed(names)), context(*names, seed=2)
    rules = revision()
    picks = [placed(decide(make_pod(f"p{i}"), rules, forth)) for i in range(400)]
    assert picks == [placed(decide(make_pod(f"p{i}"), rules, back)) for i in range(400)]
    assert picks != [placed(decide(make_pod(f"p{i}"), rules, other)) for i in range(400)]
    assert all(20 <= picks.count(name) <= 90 for name in names)


@pytest.mark.parametrize(
    ("nodes", "percentage", "want"),
    [
        (99, 0, 99),
        (100, 0, 100),
        (500, 0, 230),
        (1000, 0, 420),
        (5000, 0, 500),
        (10000, 0, 500),
        (1000, 10, 100),
        (5000, 100, 5000),
        (5000, 30, 1500),
    ],
)
def test_how_many_nodes_are_enough(nodes: int, percentage: int, want: int) -> None:
    """The numbers of kube-scheduler's formula."""
    assert feasible_nodes_to_find(percentage, nodes) == want


def test_sampling_goes_round() -> None:
    """A profile that samples looks at other nodes for the next pod, and all of them get their
    turn.
    """
    them = context(*(f"n{i:04}0" for i in range(300)))
    rules = revision(percentage_of_nodes_to_score=34)
    seen = set()
    for i in range(3):
        decision = decide(make_pod(f"p{i}"), rules, them)
        assert isinstance(decision, ScheduleResult)
        assert decision.feasible_nodes == 102
        seen.add(decision.node)
    assert len(seen) == 3


def test_a_sample_is_taken_from_the_nodes_of_the_moment() -> None:
    """The visiting order is kept from pod to pod, but a node that came since is looked at too."""
    them = context(*(f"n{i}" for i in range(200)))
    rules = revision(
        percentage_of_nodes_to_score=50,
        args={"Block": BlockArgs(frozenset(f"n{i}" for i in range(199)))},
    )
    assert placed(decide(make_pod("a"), rules, them)) == "n199"
    them.cache.put_node(make_node("n200"))
    them.cache.remove_node("n199")
    assert placed(decide(make_pod("b"), rules, them)) == "n200"
