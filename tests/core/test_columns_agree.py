"""What columns decide, catching up from event to event, is what the naive scheduler decides from
nothing.

The machine sends random events to one cache and asks one runner for decisions in between. After
each decision every column, every reason, score and total, and the outcome are compared with
tests/oracle over the objects as they are then; at the end the node table is compared with one that
is filled anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from moorage.core.columns.cache import Cache, PodState
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.framework.evaluation.evaluation import INFEASIBLE, Evaluation
from moorage.core.framework.evaluation.rejections import rejection
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.status import Code, texts
from moorage.core.objects.nodes import ContainerImage, NodeSpec, Taint
from moorage.core.objects.pods import Pod
from moorage.core.pods.host_ports import HostPort
from moorage.core.pods.requests import pod_requests
from tests.core.mirrored_cluster import MirroredCluster
from tests.core.placement_strategies import (
    IMAGES,
    NODE_NAMES,
    REVISIONS,
    node,
    node_bodies,
    pod,
    pod_specs,
)
from tests.oracle.cluster import Cluster
from tests.oracle.scheduler import Decision, Profile, Refusal, schedule

PROFILES = {
    name: Profile(
        revision.points[ExtensionPoint.FILTER],
        revision.weights,
        {
            name: plugin.args
            for name, plugin in revision.deciders.items()
            if hasattr(plugin, "args")
        },
    )
    for name, revision in REVISIONS.items()
}
POD_NAMES = [f"p{i}" for i in range(12)]
SOMEWHERE = [*NODE_NAMES[:6], "elsewhere"]
PLAIN = {"containers": [{"name": "c"}]}
WITH_PORT = {
    "containers": [{"name": "c", "image": "registry.test:5000/ml", "ports": [{"hostPort": 80}]}]
}


@dataclasses.dataclass
class World(MirroredCluster):
    """With who is nominated where."""

    nominated: dict[str, tuple[Pod, str]] = dataclasses.field(default_factory=dict)
    decisions: int = 0

    def observe(self, new: Pod) -> None:
        """A pod is seen on its node."""
        super().observe(new)
        self.nominated.pop(new.metadata.uid, None)

    def remove(self, uid: str) -> None:
        """A pod is gone."""
        self.pods.pop(uid, None)
        self.cache.remove(uid)

    def nominate(self, waiting: Pod, where: str) -> None:
        """A pod that waits is nominated to a node, or (at "") is not any more; one that is on a
        node already is left alone.
        """
        uid = waiting.metadata.uid
        if uid not in self.pods and where:
            self.nominated[uid] = waiting, where
            self.cache.nominations.add(waiting, where, pod_requests(waiting))
        elif uid not in self.pods:
            self.nominated.pop(uid, None)
            self.cache.nominations.remove(uid)

    def decide(
        self, spec: dict[str, Any], profile: str, node_name: str = "", name: str = ""
    ) -> ScheduleResult | Diagnosis:
        """One decision, compared in every detail."""
        self.decisions += 1
        wanted, revision = pod(name or f"new-{self.decisions}", spec, node_name), REVISIONS[profile]
        outcome = decide(wanted, revision, self.context)
        if self.nodes:
            cluster = Cluster(
                list(self.nodes.values()),
                list(self.pods.values()),
                (),
                list(self.nominated.values()),
            )
            expected = schedule(wanted, cluster, PROFILES[profile])
            check(
                self.context, outcome, expected, self.context.evaluator.evaluation(wanted, revision)
            )
        return outcome


# ---- comparing -----------------------------------------------------------------------------------


def check(
    context: CycleContext,
    outcome: ScheduleResult | Diagnosis,
    expected: Decision,
    evaluation: Evaluation,
) -> None:
    """Columns, blame, candidates, scores and outcome."""
    row_of = context.cache.nodes.row_of
    if not expected.feasible:
        assert isinstance(outcome, Diagnosis)
        check_diagnosis(outcome, expected)
    if not expected.refusals:
        return
    for name, row in row_of.items():
        assert said(evaluation, row) == expected.refusals[name]
        refusal = rejection(evaluation, row)
        assert (refusal and (refusal[0], refusal[1].reasons)) == (
            expected.blame.get(name) and blame_of(expected, name)
        )
    assert {name for name in row_of if row_of[name] in evaluation.feasible()} == set(
        expected.feasible
    )
    assert evaluation.feasible_count == len(expected.feasible)
    if not expected.feasible:
        return
    if len(expected.feasible) == 1 or (expected.best and not expected.total):
        assert isinstance(outcome, ScheduleResult)
        assert outcome.node in (expected.best or expected.feasible)
    elif expected.failed:
        assert isinstance(outcome, Diagnosis)
        assert outcome.message.startswith(f'running PreScore plugin "{expected.failed}": ')
    else:
        assert isinstance(outcome, ScheduleResult)
        assert outcome.node in expected.best
        assert outcome.score == expected.total[outcome.node]
        check_scores(evaluation, row_of, expected)


def blame_of(expected: Decision, name: str) -> tuple[str, tuple[str, ...]]:
    """Who refuses a node and for what."""
    plugin, refusal = expected.blame[name]
    return plugin, refusal.reasons


def check_diagnosis(outcome: Diagnosis, expected: Decision) -> None:
    """What a pod that fits nowhere is told, and who has to go for it."""
    assert outcome.message == expected.message_of(outcome.nominated_node)
    preemption = expected.preemption
    if preemption is None or not preemption.best:
        assert not outcome.victims
        return
    assert outcome.nominated_node in preemption.best
    assert [one.metadata.uid for one in outcome.victims] == preemption.victims[
        outcome.nominated_node or ""
    ]


def said(evaluation: Evaluation, row: int) -> dict[str, Refusal]:
    """What each filter plugin's column says of a row."""
    found = {}
    for plugin, column in evaluation.filters.items():
        if column.applies and (code := int(column.values[row])):
            why = column.plugin.explain(column.prepared.state, code)  # type: ignore[attr-defined]  # a filter plugin
            found[plugin] = Refusal(
                tuple(texts(why)),
                any(reason.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for reason, _ in why),
            )
    return found


def check_scores(evaluation: Evaluation, row_of: dict[str, int], expected: Decision) -> None:
    """Raw and normalised scores and totals of all candidates."""
    assert {plugin for plugin, part in evaluation.scores.items() if part.result.applies} == set(
        expected.scores
    )
    rows = np.array([row_of[name] for name in expected.feasible], np.intp)
    for plugin, ranking in expected.scores.items():
        raw, normalized = evaluation.scores[plugin].score_feasible(rows)
        assert raw.tolist() == list(ranking.raw.values())
        assert normalized.tolist() == list(ranking.normalized.values())
    assert evaluation.totals[rows].tolist() == list(expected.total.values())
    assert np.count_nonzero(evaluation.totals != INFEASIBLE) == rows.size


def facts(table: NodeTable) -> dict[str, Any]:
    """Everything that a node table knows, by name instead of by row and index."""
    return {name: facts_of(table, row) for name, row in table.row_of.items()}


def facts_of(table: NodeTable, row: int) -> dict[str, Any]:
    """All columns of a row."""
    ports = [
        HostPort("TCP", port, ip) for port in (80, 81) for ip in ("0.0.0.0", "10.0.0.1", "10.0.0.2")
    ]
    columns = {key: table.labels.column(key) for key in ("disk", "gen")}
    return {
        "live": bool(table.live[row]),
        "allocatable": {name: has for name, (has, _) in table.amounts_on(row).items() if has},
        "requested": {name: taken for name, (_, taken) in table.amounts_on(row).items() if taken},
        "nonzero": table.non_zero_requested[:, row].tolist(),
        "unschedulable": bool(table.unschedulable[row]),
        "taints": table.taint_sets[table.taint_set[row]],
        "tie_break": int(table.tie_break[row]),
        "labels": {
            key: column.values[column.codes[row]] if column.codes[row] else None
            for key, column in columns.items()
        },
        "ports": [
            (table.ports.taken(row, port), row in table.ports.conflicts(port)) for port in ports
        ],
        "images": [name for name in IMAGES if row in table.images.holders(name)[1]],
    }


def anew(world: World) -> Cache:
    """The same cluster, told to another cache from the beginning."""
    cache = Cache()
    for known in world.nodes.values():
        cache.put_node(known)
    for one, where in world.pods.values():
        cache.assume(one, where, pod_requests(one))
    return cache


def check_table(world: World) -> None:
    """The node table as it has become is the one that is filled anew."""
    fresh = anew(world)
    assert facts(world.cache.nodes) == facts(fresh.nodes)
    assert np.count_nonzero(world.cache.nodes.live) == len(world.nodes)
    assert world.cache.nodes.order.names == fresh.nodes.order.names
    assert len(world.cache) == len(world.pods)
    for name in [*world.nodes, "elsewhere"]:
        assert {one.pod.metadata.uid for one in world.cache.pods_on(name)} == {
            one.pod.metadata.uid for one in fresh.pods_on(name)
        }


# ---- random events -------------------------------------------------------------------------------

specs = st.integers(0, 3)
"""Which of the machine's pod specs: the same ones again and again, as pods of controllers are."""
profiles = st.sampled_from([*REVISIONS])


class Events(RuleBasedStateMachine):
    """Nodes and pods come, change and go; now and then a pod is placed."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.specs: list[dict[str, Any]] = []

    @initialize(
        drawn=st.lists(pod_specs, min_size=4, max_size=4),
        bodies=st.lists(node_bodies, min_size=6, max_size=9),
    )
    def begin(self, drawn: list[dict[str, Any]], bodies: list[dict[str, Any]]) -> None:
        """Some nodes to begin with."""
        self.specs = drawn
        for name, body in zip(NODE_NAMES, bodies, strict=False):
            self.world.put_node(node(name, body))

    @rule(name=st.sampled_from(NODE_NAMES), body=node_bodies)
    def put_node(self, name: str, body: dict[str, Any]) -> None:
        """A node comes or changes."""
        self.world.put_node(node(name, body))

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """A node goes, if it is there; the next one gets its row."""
        self.world.remove_node(name)

    @rule(name=st.sampled_from(POD_NAMES), spec=specs, where=st.sampled_from(SOMEWHERE))
    def observe(self, name: str, spec: int, where: str) -> None:
        """A pod is seen on a node that may not be there (yet): new, confirmed, moved or changed."""
        self.world.observe(pod(name, self.specs[spec], where))

    @rule(name=st.sampled_from(POD_NAMES))
    def remove(self, name: str) -> None:
        """A pod is gone, if it was there."""
        self.world.remove(f"uid-{name}")

    @rule(name=st.sampled_from(POD_NAMES), spec=specs, where=st.sampled_from(SOMEWHERE))
    def assume(self, name: str, spec: int, where: str) -> None:
        """A pod is placed, if it has no place yet."""
        new = pod(name, self.specs[spec])
        if new.metadata.uid not in self.world.pods:
            self.world.nominated.pop(new.metadata.uid, None)
            self.world.pods[new.metadata.uid] = new, where
            self.world.cache.assume(new, where, pod_requests(new))

    @rule(name=st.sampled_from(POD_NAMES))
    def forget(self, name: str) -> None:
        """A placement is taken back, if it was only assumed."""
        record = self.world.cache.pod_info(f"uid-{name}")
        if record is None or record.state is PodState.ASSUMED:
            self.world.pods.pop(f"uid-{name}", None)
            assert self.world.cache.forget(f"uid-{name}") is (record is not None)

    @rule(
        spec=specs,
        profile=profiles,
        node_name=st.sampled_from(["", "", "", "n1"]),
        kept=st.booleans(),
    )
    def place(self, spec: int, profile: str, node_name: str, kept: bool) -> None:
        """A pod is placed by a profile; the placement is kept or taken back."""
        outcome = self.world.decide(self.specs[spec], profile, node_name)
        if isinstance(outcome, ScheduleResult):
            placement = assume_and_reserve(outcome, self.world.context)
            assert isinstance(placement, ScheduleResult)
            if kept:
                self.world.pods[placement.pod.metadata.uid] = placement.pod, placement.node
            else:
                unreserve_and_forget(placement, self.world.cache)

    @rule(
        name=st.sampled_from(POD_NAMES),
        spec=specs,
        where=st.sampled_from([*SOMEWHERE, ""]),
        profile=profiles,
    )
    def nominate(self, name: str, spec: int, where: str, profile: str) -> None:
        """A waiting pod is nominated to a node that may not be there, or loses it; then it is
        judged itself.
        """
        waiting = pod(name, self.specs[spec])
        self.world.nominate(waiting, where)
        if waiting.metadata.uid not in self.world.pods:
            self.world.decide(self.specs[spec], profile, name=name)

    @rule(spec=specs)
    def place_by_all(self, spec: int) -> None:
        """The same pod is judged by every profile, over the same columns."""
        for profile in REVISIONS:
            self.world.decide(self.specs[spec], profile)

    @precondition(lambda self: self.world.nodes)
    @rule(body=node_bodies)
    def change_most(self, body: dict[str, Any]) -> None:
        """More than half of the rows are dirty at once."""
        for name in [*self.world.nodes][: len(self.world.nodes) // 2 + 1]:
            self.world.put_node(node(name, body))

    def teardown(self) -> None:
        """What is left is what a fresh start would make of it."""
        check_table(self.world)


def test_columns_agree_with_the_oracle() -> None:
    """Over random events, decision by decision."""
    run_state_machine_as_test(
        Events, settings=settings(max_examples=40, stateful_step_count=30, deadline=None)
    )


# ---- rare events ---------------------------------------------------------------------------------


BARE = {"labels": {"disk": "ssd"}, "spec": {}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}}


def join(world: World) -> None:
    """One more node, which changes what images are worth on all others."""
    world.put_node(node("joining", BARE))


def grow(world: World) -> None:
    """Many more nodes than the arrays had room for."""
    for i in range(70):
        world.put_node(node(f"more-{i}", BARE))


def grow_by_one(world: World) -> None:
    """One more node than the arrays had room for."""
    for i in range(64 - len(world.nodes)):
        world.put_node(node(f"more-{i}", BARE))
    for profile in REVISIONS:
        world.decide(PLAIN, profile)
    world.put_node(node("one-too-many", BARE))


def soften(world: World) -> None:
    """Some nodes are as feasible as before and rank differently beside the others."""
    for name in [*world.nodes][:2]:
        old = world.nodes[name]
        world.put_node(
            msgspec.structs.replace(
                old,
                spec=NodeSpec(
                    taints=(*(old.spec.taints or ()), Taint("c", "", "PreferNoSchedule"))
                ),
            )
        )


def trade_rows(world: World) -> None:
    """Nodes go and others get their rows, in another order."""
    gone = [*world.nodes][1:6]
    for name in gone:
        world.observe(pod(f"on-{name}", WITH_PORT, name))
    left = {name: world.nodes[name] for name in gone}
    for name in gone:
        world.remove_node(name)
    for name, old in left.items():
        world.put_node(
            msgspec.structs.replace(
                old, metadata=msgspec.structs.replace(old.metadata, name=f"other-{name}")
            )
        )


def change_all(world: World) -> None:
    """Every row is dirty."""
    for old in world.nodes.values():
        world.put_node(
            msgspec.structs.replace(old, spec=NodeSpec(unschedulable=not old.spec.unschedulable))
        )


def cut_logs(world: World) -> None:
    """A pod comes, and then so many come and go that the logs no longer hold the first."""
    first, second, *_, last = world.nodes
    world.observe(pod("early", WITH_PORT, second))
    for i in range(4200):
        world.observe(pod("busy", PLAIN, first if i % 2 else last))
        world.remove("uid-busy")


def widen(world: World) -> None:
    """Nodes have, and pods ask for, more kinds of resources than the arrays had room for."""
    for i, name in enumerate([*world.nodes]):
        old = world.nodes[name]
        allocatable = {
            **(old.status.allocatable or {}),
            **{f"example.com/kind-{i + j}": "2" for j in range(5)},
        }
        world.put_node(
            msgspec.structs.replace(
                old, status=msgspec.structs.replace(old.status, allocatable=allocatable)
            )
        )
        container = {"name": "c", "resources": {"requests": {f"example.com/kind-{i}": "2"}}}
        world.observe(pod(f"wide-{i}", {"containers": [container]}, name))


def retag(world: World) -> None:
    """Two nodes trade images, which changes what these are worth on every node."""
    for name, images in zip(
        [*world.nodes][:2],
        ((ContainerImage(tuple(IMAGES)[2:], IMAGES["registry.test:5000/ml:latest"]),), ()),
        strict=True,
    ):
        old = world.nodes[name]
        world.put_node(
            msgspec.structs.replace(old, status=msgspec.structs.replace(old.status, images=images))
        )


def decide_around(
    disturb: Callable[[World], None], bodies: list[dict[str, Any]], specs: list[dict[str, Any]]
) -> None:
    """Decisions before and after something, and once more when little has changed since."""
    world = World()
    for name, body in zip(NODE_NAMES, bodies, strict=False):
        world.put_node(node(name, body))
    for change in (
        lambda _: None,
        disturb,
        lambda world: world.observe(pod("one", PLAIN, next(iter(world.nodes)))),
    ):
        change(world)
        for spec in specs:
            for profile in REVISIONS:
                world.decide(spec, profile)
    check_table(world)


@pytest.mark.parametrize(
    "disturb",
    [join, soften, trade_rows, change_all, cut_logs, widen, retag],
    ids=lambda disturb: disturb.__name__,
)
@given(bodies=st.lists(node_bodies, min_size=8, max_size=8), drawn=pod_specs)
@settings(max_examples=8, deadline=None)
def test_columns_agree_after(
    disturb: Callable[[World], None], bodies: list[dict[str, Any]], drawn: dict[str, Any]
) -> None:
    """What happens seldom leaves no column behind."""
    decide_around(disturb, bodies, [PLAIN, WITH_PORT, drawn])


@pytest.mark.parametrize("disturb", [grow, grow_by_one], ids=lambda disturb: disturb.__name__)
@given(bodies=st.lists(node_bodies, min_size=4, max_size=4))
@settings(max_examples=2, deadline=None)
def test_columns_agree_after_growth(
    disturb: Callable[[World], None], bodies: list[dict[str, Any]]
) -> None:
    """Arrays that had to be enlarged hold what they held, and the new rows too. Few examples: the
    oracle is slow on many nodes.
    """
    decide_around(disturb, bodies, [PLAIN, WITH_PORT])
