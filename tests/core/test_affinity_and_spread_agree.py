"""What InterPodAffinity and PodTopologySpread decide, catching up from event to event, is what
their naive twins decide from nothing.

The machine lets pods come, go, change their labels, be placed, be deleted; nodes come, go and
change theirs; namespaces, Services and controllers too. Every counter is compared with a count of
the pods as they are then.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from moorage.core.columns.cache import PodState
from moorage.core.columns.pod_counters import existing_terms_of
from moorage.core.cycle.context import ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.interfaces import FilterPlugin, PreFilterExtensions
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, texts
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pods import Pod
from tests.core.companion_strategies import (
    NODE_NAMES,
    REVISIONS,
    label_maps,
    node,
    node_bodies,
    others,
    pod,
    pod_bodies,
    pod_specs,
)
from tests.core.mirrored_cluster import MirroredCluster
from tests.oracle import interpod, spread
from tests.oracle.cluster import Cluster

TWINS: dict[str, Any] = {"PodTopologySpread": spread, "InterPodAffinity": interpod}
HOPELESS = {spread.MISSING, interpod.BESIDE}
POD_NAMES = [f"p{i}" for i in range(10)]
SOMEWHERE = [*NODE_NAMES, "elsewhere"]
Crowd = list[tuple[str, int, dict[str, Any], str]]
"""(name, which spec, metadata, node) of pods."""


class World(MirroredCluster):
    """With what the naive twins see of it."""

    def cluster(self, but: str = "", also: tuple[Pod, str] | None = None) -> Cluster:
        """What there is, but for one pod, or with one more."""
        pods = [there for uid, there in self.pods.items() if uid != but]
        return Cluster(
            list(self.nodes.values()), [*pods, also] if also else pods, list(self.others.values())
        )


# ---- comparing -----------------------------------------------------------------------------------


def expected_refusals(
    pod: Pod, cluster: Cluster, revision: Revision
) -> dict[str, dict[str, str | None]]:
    """What each naive twin says of each node."""
    return {
        plugin: {
            node.metadata.name: twin.refusal(
                pod,
                node,
                cluster,
                revision.deciders[plugin].args,  # type: ignore[attr-defined]
            )
            for node in cluster.nodes
        }
        for plugin, twin in TWINS.items()
    }


def check_filters(pod: Pod, world: World, revision: Revision, evaluation: Evaluation) -> None:
    """Each plugin's answer for each node."""
    expected = expected_refusals(pod, world.cluster(), revision)
    for plugin, column in evaluation.filters.items():
        assert isinstance(column.plugin, FilterPlugin)
        for name, row in world.cache.nodes.row_of.items():
            code = int(column.values[row]) if column.applies else 0
            said = None
            if code:
                why = column.plugin.explain(column.prepared.state, code)
                (said,) = texts(why)
                assert (why[0][0].code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE) == (said in HOPELESS)
            assert said == expected[plugin][name], (plugin, name)


def check_scores(pod: Pod, world: World, revision: Revision, evaluation: Evaluation) -> None:
    """Each plugin's raw and normalised scores of the nodes that nobody refuses."""
    row_of, cluster = world.cache.nodes.row_of, world.cluster()
    feasible = [
        node for node in world.nodes.values() if row_of[node.metadata.name] in evaluation.feasible()
    ]
    if not feasible:
        return
    assert evaluation.refresh_scores(world.context.snapshot).code is Code.SUCCESS
    rows = np.array([row_of[node.metadata.name] for node in feasible], np.intp)
    total = np.zeros(rows.size, np.int64)
    for plugin, part in evaluation.scores.items():
        args = revision.deciders[plugin].args  # type: ignore[attr-defined]
        expected = TWINS[plugin].scores(pod, feasible, cluster, args)
        assert part.result.applies == (expected is not None), plugin
        if expected is not None:
            raw, normalized = part.score_feasible(rows)
            assert (raw.tolist(), normalized.tolist()) == expected, plugin
            total += normalized * part.weight
    assert evaluation.totals[rows].tolist() == total.tolist()


def check_counters(world: World) -> None:
    """Every counter that is kept says what there is."""
    matches, row_of = world.cache.pod_counters, world.cache.nodes.row_of
    there = [(one, row_of[where]) for one, where in world.pods.values() if where in row_of]
    for query, counter in list(matches._matching.items()):
        counted = Counter(row for one, row in there if query.matches(one))
        assert {
            row: n for row, n in enumerate(counter.per_row(world.cache.nodes.rows).tolist()) if n
        } == counted, query
        assert counter.total == counted.total()
    carried = Counter((term, row) for one, row in there for term in existing_terms_of(one))
    kept = {
        term: counter.per_row(world.cache.nodes.rows).tolist()
        for term, counter in matches._existing.items()
    }
    assert {
        (term, row): n for term, rows in kept.items() for row, n in enumerate(rows) if n
    } == carried
    assert all(any(rows) for rows in kept.values())


def quirky(state: Any, other: Pod) -> bool:
    """Whether kube-scheduler's adjusted counts are not those of a fresh start: see the test of
    PodTopologySpread.
    """
    return other.metadata.deletion_timestamp is not None or any(
        one.constraint.selector.conditions == () for one in state.spreads
    )


def check_adjusted(
    pod: Pod, other: Pod, where: str, world: World, revision: Revision, evaluation: Evaluation
) -> None:
    """The node's answer without a pod that is there, or with one that is not, is the naive one's;
    and taken back it is the old one.
    """
    row, snapshot = world.cache.nodes.row_of[where], world.context.snapshot
    known = other.metadata.uid in world.pods
    cluster = world.cluster(other.metadata.uid) if known else world.cluster(also=(other, where))
    for plugin, column in evaluation.filters.items():
        assert isinstance(column.plugin, PreFilterExtensions)
        assert isinstance(column.plugin, FilterPlugin)
        state = column.prepared.state
        if not column.applies or (plugin == "PodTopologySpread" and quirky(state, other)):
            continue
        tried = column.plugin.adjust(state, other, row, -1 if known else 1, snapshot)
        (code,) = column.plugin.filter(tried, snapshot, np.array([row], np.intp)).tolist()
        said = next(texts(column.plugin.explain(tried, code))) if code else None
        args = revision.deciders[plugin].args  # type: ignore[attr-defined]
        assert said == TWINS[plugin].refusal(pod, world.nodes[where], cluster, args), plugin
        back = column.plugin.adjust(tried, other, row, 1 if known else -1, snapshot)
        for one in (state, back):
            codes = column.plugin.filter(one, snapshot, snapshot.nodes.all_rows)
            assert codes.tolist() == column.values[: snapshot.nodes.rows].tolist()


# ---- random events -------------------------------------------------------------------------------

names, places, kinds = st.sampled_from(POD_NAMES), st.sampled_from(SOMEWHERE), st.integers(0, 3)
crowds = st.lists(st.tuples(names, kinds, pod_bodies, places), min_size=1, max_size=6)


class Events(RuleBasedStateMachine):
    """Nodes, pods and other objects come, change and go; between any two events, pods of a few
    kinds are judged by one profile.

    They differ in labels alone, as pods of a StatefulSet do, so that what is kept for one is there
    for the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.revision = REVISIONS["default"]
        self.waiting: list[Pod] = []
        self.specs: list[dict[str, Any]] = []
        self.judged = 0

    @initialize(
        profile=st.sampled_from([*REVISIONS]),
        drawn=pod_specs,
        body=pod_bodies,
        labels=st.lists(label_maps, min_size=3, max_size=3),
        bodies=st.lists(node_bodies, min_size=4, max_size=6),
        crowd=crowds,
        found=st.lists(others, max_size=4),
    )
    def begin(
        self,
        profile: str,
        bodies: list[dict[str, Any]],
        crowd: Crowd,
        found: list[HasMetadata],
        **given: Any,
    ) -> None:
        """Some nodes, some kinds of pods, a few of these, and what stands before and behind
        them.
        """
        self.revision, self.specs = REVISIONS[profile], given["drawn"]
        for spec in self.specs:
            for labels in given["labels"]:
                self.waiting.append(
                    pod(f"new-{len(self.waiting)}", spec, given["body"] | {"labels": labels})
                )
        for name, body in zip(NODE_NAMES, bodies, strict=False):
            self.put_node(name, body)
        self.put(found)
        self.observe(crowd)

    @invariant()
    def agree(self) -> None:
        """The next few kinds of pods that wait are judged in every detail, and every counter says
        what there is.
        """
        check_counters(self.world)
        for _ in range(5 if self.waiting and self.world.nodes else 0):
            self.judged += 1
            wanted = self.waiting[self.judged % len(self.waiting)]
            decide(wanted, self.revision, self.world.context)
            evaluation = self.world.context.evaluator.evaluation(wanted, self.revision)
            check_filters(wanted, self.world, self.revision, evaluation)
            check_scores(wanted, self.world, self.revision, evaluation)

    @rule(name=st.sampled_from(NODE_NAMES), body=node_bodies)
    def put_node(self, name: str, body: dict[str, Any]) -> None:
        """A node comes, or changes its labels or taints."""
        self.world.put_node(node(name, body))

    @rule(name=st.sampled_from(NODE_NAMES), body=node_bodies)
    def taint_node(self, name: str, body: dict[str, Any]) -> None:
        """A node's taints change, and nothing else."""
        if name in self.world.nodes:
            old = self.world.nodes[name]
            self.world.put_node(msgspec.structs.replace(old, spec=node(name, body).spec))

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """A node goes; its pods stay until they are removed, and count again when it comes back."""
        self.world.remove_node(name)

    @rule(found=st.lists(others, min_size=1, max_size=4))
    def put(self, found: list[HasMetadata]) -> None:
        """Namespaces, Services or controllers come or change."""
        for obj in found:
            self.world.put(obj)

    @rule(obj=others)
    def remove_other(self, obj: HasMetadata) -> None:
        """It goes, if it was there."""
        self.world.others.pop((type(obj), key(obj)), None)
        self.world.cache.store.remove(type(obj), key(obj))

    @rule(crowd=crowds)
    def observe(self, crowd: Crowd) -> None:
        """Pods are seen: new, confirmed, moved, with other labels, or being deleted."""
        for name, spec, body, where in crowd:
            old = self.world.pods.get(f"uid-{name}")
            same = {"namespace": old[0].metadata.namespace} if old is not None else {}
            self.world.observe(pod(name, self.specs[spec], body | same, where))

    @rule(name=names)
    def begin_deleting(self, name: str) -> None:
        """A pod is marked as being deleted."""
        if f"uid-{name}" in self.world.pods:
            old, where = self.world.pods[f"uid-{name}"]
            meta = msgspec.structs.replace(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            self.world.observe(
                msgspec.structs.replace(
                    old, metadata=meta, spec=msgspec.structs.replace(old.spec, node_name=where)
                )
            )

    @rule(name=names | st.sampled_from([f"new-{i}" for i in range(12)]))
    def remove(self, name: str) -> None:
        """A pod is gone, if it was there."""
        self.world.pods.pop(f"uid-{name}", None)
        self.world.cache.remove(f"uid-{name}")

    @rule(name=st.sampled_from([f"new-{i}" for i in range(12)]))
    def forget(self, name: str) -> None:
        """A placement is taken back, if it was only assumed."""
        record = self.world.cache.pod_info(f"uid-{name}")
        if record is not None and record.state is PodState.ASSUMED:
            self.world.pods.pop(f"uid-{name}")
            assert self.world.cache.forget(f"uid-{name}")

    @rule(which=st.integers(0, 11), kept=st.booleans())
    def place(self, which: int, kept: bool) -> None:
        """A pod is placed; the placement is kept or taken back."""
        world, wanted = self.world, self.waiting[which]
        if wanted.metadata.uid not in world.pods and world.nodes:
            outcome = decide(wanted, self.revision, world.context)
            if isinstance(outcome, ScheduleResult):
                placement = assume_and_reserve(outcome, world.context)
                assert isinstance(placement, ScheduleResult)
                if kept:
                    world.pods[wanted.metadata.uid] = wanted, placement.node
                else:
                    unreserve_and_forget(placement, world.cache)

    @rule(body=pod_bodies, where=st.sampled_from(NODE_NAMES))
    def suppose(self, body: dict[str, Any], where: str) -> None:
        """What if one pod more were on a node, or one of those there were not. Only nominated pods
        are ever added.
        """
        world = self.world
        if where not in world.nodes:
            return
        there = [one for one, node_name in world.pods.values() if node_name == where]
        guests = [pod("guest", spec, body) for spec in self.specs[::2]]
        world.cache.nominations.nominate(guests[0], where)
        for wanted in self.waiting[::2]:
            decide(wanted, self.revision, world.context)
            evaluation = world.context.evaluator.evaluation(wanted, self.revision)
            for other in (*guests, *there[:2]):
                check_adjusted(wanted, other, where, world, self.revision, evaluation)
        world.cache.nominations.remove(guests[0].metadata.uid)

    def teardown(self) -> None:
        """Nothing is kept of pods that are gone."""
        for uid in [*self.world.pods]:
            self.world.cache.remove(uid)
        self.world.pods.clear()
        check_counters(self.world)
        assert not self.world.cache.pod_counters.has_existing_terms


def test_affinity_and_spread_agree_with_their_twins() -> None:
    """Over random events, decision by decision."""
    run_state_machine_as_test(
        Events, settings=settings(max_examples=40, stateful_step_count=25, deadline=None)
    )
