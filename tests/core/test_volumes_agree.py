"""What the plugins for volumes decide, catching up from event to event, is what their naive twins
decide from nothing.

The machine lets pods, nodes, claims, volumes, classes, attachments, capacities and drivers come,
change and go, and decisions be taken and given up. What is supposed (a pod more or less on a node)
is compared as well, and that nothing of it stays.
"""

from __future__ import annotations

import dataclasses
from typing import Any

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

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodBatch, PodInfo, PodState
from moorage.core.cycle.context import ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide, unreserve_and_forget
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.interfaces import FilterPlugin
from moorage.core.framework.status import Code, texts
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.plugins.volume_binding.plugin import PodVolumes
from moorage.core.pods.requests import pod_requests
from tests.core.mirrored_cluster import MirroredCluster
from tests.core.volume_strategies import (
    NAMESPACES,
    NODE_NAMES,
    POD_NAMES,
    REVISION,
    everything,
    node,
    node_bodies,
    others,
    pod,
    volume_lists,
)
from tests.oracle.cluster import Cluster
from tests.oracle.volumes import HOPEFUL, PLUGINS, SELECTED, choose, refusal, supposed, verdict

SOMEWHERE = [*NODE_NAMES, "elsewhere"]
DRIVERS = ["x", "y", "ebs.csi.aws.com", "pd.csi.storage.gke.io"]


@dataclasses.dataclass
class World(MirroredCluster):
    """``assumed``: what was decided and not written."""

    assumed: dict[tuple[type[Any], str], HasMetadata] = dataclasses.field(default_factory=dict)
    placed: list[ScheduleResult] = dataclasses.field(default_factory=list)
    attempts: int = 0

    def cluster(self, plugin: str, pods: dict[str, tuple[Pod, str]] | None = None) -> Cluster:
        """As this plugin is to see it."""
        seen = self.others | self.assumed if plugin == "VolumeBinding" else self.others
        return Cluster(
            list(self.nodes.values()),
            list((self.pods if pods is None else pods).values()),
            list(seen.values()),
        )

    def put(self, obj: HasMetadata) -> None:
        """Another object comes or changes; what was assumed of it is no more."""
        self.assumed.pop((type(obj), key(obj)), None)
        super().put(obj)

    def remove(self, kind: type[Any], name: str) -> None:
        """Another object goes."""
        del self.others[kind, name]
        self.assumed.pop((kind, name), None)
        self.cache.store.remove(kind, name)


# ---- comparing -----------------------------------------------------------------------------------


def check(wanted: Pod, world: World) -> ScheduleResult | None:
    """One decision: each plugin's answer for each node, and the outcome."""
    outcome = decide(wanted, REVISION, world.context)
    evaluation = world.context.evaluator.evaluation(wanted, REVISION)
    if not world.nodes:
        return None
    said = {plugin: verdict(plugin, wanted, world.cluster(plugin)) for plugin in PLUGINS}
    if any(said.values()):
        plugin, text = next((plugin, text) for plugin, text in said.items() if text)
        assert (evaluation.pre_filter.plugin, evaluation.pre_filter.status.reasons) == (
            plugin,
            (text,),
        )
        return None
    assert evaluation.pre_filter.status.code is Code.SUCCESS
    feasible = dict.fromkeys(world.nodes)
    for plugin in PLUGINS:
        for name, one in world.nodes.items():
            expected = refusal(plugin, wanted, one, world.cluster(plugin))
            assert answer(evaluation, plugin, world.cache.nodes.row_of[name]) == expected, (
                plugin,
                name,
            )
            if expected:
                feasible.pop(name, None)
    assert {world.cache.nodes.names[row] for row in evaluation.feasible()} == feasible.keys()
    assert isinstance(outcome, ScheduleResult) == bool(feasible)
    return outcome if isinstance(outcome, ScheduleResult) else None


def answer(evaluation: Evaluation, plugin: str, row: int) -> tuple[str, ...]:
    """What a plugin says of a row, whatever others say."""
    column = evaluation.filters[plugin]
    assert isinstance(column.plugin, FilterPlugin)
    code = int(column.values[row]) if column.applies else 0
    why = column.plugin.explain(column.prepared.state, code) if code else ()
    assert all(
        (reason.code is Code.UNSCHEDULABLE) == (text in HOPEFUL)
        for (reason, _), text in zip(why, texts(why), strict=True)
    )
    return tuple(texts(why))


def check_supposed(wanted: Pod, other: Pod, where: str, world: World) -> None:
    """A node as it would be without a pod that is there, or with one that is not."""
    snapshot, uid = world.context.snapshot, other.metadata.uid
    evaluation = world.context.evaluator.evaluation(wanted, REVISION)
    evaluation.refresh_filters(snapshot)
    record = world.cache.pod_info(uid)
    known = record is not None
    record = record or PodInfo(other, where, pod_requests(other), PodState.ASSUMED)
    if record.node not in world.nodes or evaluation.pre_filter.status.code is not Code.SUCCESS:
        return
    pods = {name: there for name, there in world.pods.items() if name != uid} | (
        {} if known else {uid: (other, where)}
    )
    row, only = world.cache.nodes.row_of[record.node], np.array([0])
    with evaluation.dry_run(snapshot) as what_if:
        batch = PodBatch([record], snapshot.nodes)
        (what_if.remove if known else what_if.add)(batch, only)
        refused = what_if.run_filters(np.array([row]))
    takes_part = [plugin for plugin in PLUGINS if evaluation.filters[plugin].applies]
    there, before = world.nodes[record.node], world.cluster(PLUGINS[0])
    found = [
        supposed(wanted, there, before, world.cluster(plugin, pods), other, -1 if known else 1)
        if plugin == "VolumeRestrictions"
        else refusal(plugin, wanted, there, world.cluster(plugin, pods))
        for plugin in takes_part
    ]
    assert next((said for said in found if said), ()) == (
        tuple(texts(refused[row].why)) if row in refused else ()
    )


def check_work(placement: ScheduleResult, world: World) -> None:
    """What is to be written is what a choice from nothing comes to; it counts from now on."""
    reserved = placement.reservations.get("VolumeBinding")
    if reserved is None or reserved.value is None:
        return
    work = reserved.value
    assert isinstance(work, PodVolumes)
    cluster = world.cluster("VolumeBinding")
    free = [
        one
        for one in cluster.of_kind(PersistentVolumeClaim)
        if key(one) in work.claims and SELECTED not in notes(one)
    ]
    free.sort(key=lambda one: work.claims.index(key(one)))
    chosen = {
        key(claim): pv.metadata.name
        for claim, pv in choose(free, world.nodes[placement.node], cluster)
        if pv is not None
    }
    took = {
        f"{pv.spec.claim_ref.namespace}/{pv.spec.claim_ref.name}": pv
        for pv in work.volumes
        if pv.spec.claim_ref is not None
    }
    assert {name: pv.metadata.name for name, pv in took.items()} == chosen
    assert {key(claim) for claim in work.provisions} == set(work.claims) - took.keys()
    assert all(notes(claim)[SELECTED] == placement.node for claim in work.provisions)
    known = [*cluster.of_kind(PersistentVolume), *cluster.of_kind(PersistentVolumeClaim)]
    assert list(work.writes) == [
        one for one in (*work.volumes, *work.provisions) if one not in known
    ]
    world.assumed |= {(type(one), key(one)): one for one in work.writes}


def notes(claim: PersistentVolumeClaim) -> dict[str, str]:
    """Its annotations."""
    return claim.metadata.annotations or {}


def check_table(world: World) -> None:
    """Spare room per driver and node, and which claims have users, are those of a table that is
    made anew.
    """
    fresh = Cache()
    for obj in world.others.values():
        fresh.store.put(obj)
    for one, where in world.pods.values():
        fresh.assume(one, where, pod_requests(one))
    for there in world.nodes.values():
        fresh.put_node(there)
    old, new = world.cache, fresh
    assert old.volumes._users.keys() == new.volumes._users.keys() == old.volumes._resolved.keys()
    assert old.volumes._resting_on.keys() == new.volumes._resting_on.keys()
    for driver in DRIVERS:
        spare, expected = old.volumes.spare(driver), new.volumes.spare(driver)
        for name in world.nodes:
            mine = int(spare[old.nodes.row_of[name]]) if spare is not None else None
            its = int(expected[new.nodes.row_of[name]]) if expected is not None else None
            assert mine == its or min(one for one in (mine, its) if one is not None) > 2**61, (
                driver,
                name,
            )


# ---- events --------------------------------------------------------------------------------------


class Events(RuleBasedStateMachine):
    """Objects that come, change and go, and decisions that are taken and given up."""

    @initialize(
        bodies=st.lists(node_bodies, min_size=2, max_size=4),
        objects=everything,
        pods=st.lists(
            st.tuples(st.sampled_from(NAMESPACES), volume_lists, st.sampled_from(SOMEWHERE)),
            max_size=6,
        ),
        asked=st.lists(volume_lists, min_size=3, max_size=3),
    )
    def begin(
        self,
        bodies: list[dict[str, Any]],
        objects: tuple[HasMetadata, ...],
        pods: list[tuple[str, list[Any], str]],
        asked: list[list[Any]],
    ) -> None:
        """A cluster with something in it, and pods that are judged again and again."""
        self.world = World()
        self.asked = [pod("new", "a", volumes) for volumes in asked]
        for i, body in enumerate(bodies):
            self.put_node(f"n{i}", body)
        for name, (namespace, volumes, where) in zip(POD_NAMES, pods, strict=False):
            self.world.observe(pod(name, namespace, volumes, where))
        for obj in objects:
            self.world.put(obj)

    @rule(name=st.sampled_from(NODE_NAMES), body=node_bodies)
    def put_node(self, name: str, body: dict[str, Any]) -> None:
        """A node comes, or its labels change."""
        self.world.put_node(node(name, body))

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """A node goes; its pods stay."""
        self.world.remove_node(name)

    @rule(obj=others)
    def put(self, obj: HasMetadata) -> None:
        """Another object comes or changes."""
        self.world.put(obj)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """Another object goes."""
        if self.world.others:
            self.world.remove(*data.draw(st.sampled_from(sorted(self.world.others, key=str))))

    @rule(
        name=st.sampled_from(POD_NAMES),
        namespace=st.sampled_from(NAMESPACES),
        volumes=volume_lists,
        where=st.sampled_from(SOMEWHERE),
    )
    def observe(self, name: str, namespace: str, volumes: list[Any], where: str) -> None:
        """A pod is seen on a node, for the first time or as another one."""
        self.world.observe(pod(name, namespace, volumes, where))

    @rule(name=st.sampled_from(POD_NAMES), namespace=st.sampled_from(NAMESPACES))
    def lose(self, name: str, namespace: str) -> None:
        """A pod is gone."""
        self.world.pods.pop(f"uid-{namespace}-{name}", None)
        self.world.cache.remove(f"uid-{namespace}-{name}")

    @invariant()
    def judged_again(self) -> None:
        """What was found out before is brought up to date."""
        for wanted in self.asked:
            check(wanted, self.world)

    @rule(namespace=st.sampled_from(NAMESPACES), volumes=volume_lists)
    def place(self, namespace: str, volumes: list[Any]) -> None:
        """A pod is judged and placed."""
        self.world.attempts += 1
        wanted = pod(f"placed-{self.world.attempts}", namespace, volumes)
        placement = check(wanted, self.world)
        if placement is not None:
            done = assume_and_reserve(placement, self.world.context)
            assert isinstance(done, ScheduleResult)
            check_work(done, self.world)
            self.world.placed.append(done)
            self.world.pods[wanted.metadata.uid] = wanted, done.node

    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        """A placement comes to nothing: what is still assumed of it is free again."""
        if not self.world.placed:
            return
        placement = self.world.placed.pop(data.draw(st.integers(0, len(self.world.placed) - 1)))
        unreserve_and_forget(placement, self.world.cache)
        del self.world.pods[placement.pod.metadata.uid]
        reserved = placement.reservations.get("VolumeBinding")
        work = reserved.value if reserved is not None else None
        given: list[PersistentVolume | PersistentVolumeClaim] = (
            [*work.writes] if work is not None else []
        )
        for obj in given:
            if self.world.assumed.get((type(obj), key(obj))) is obj:
                del self.world.assumed[type(obj), key(obj)]

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        volumes=volume_lists,
        name=st.sampled_from(POD_NAMES),
        other=volume_lists,
        where=st.sampled_from(NODE_NAMES),
    )
    def suppose(
        self, namespace: str, volumes: list[Any], name: str, other: list[Any], where: str
    ) -> None:
        """A pod is judged as if another one of its namespace were not there, or were."""
        known = self.world.pods.get(f"uid-{namespace}-{name}")
        guest = known[0] if known is not None else pod(name, namespace, other)
        check_supposed(pod("new", namespace, volumes), guest, where, self.world)
        check(pod("new", namespace, volumes), self.world)

    def teardown(self) -> None:
        """What is kept of volumes is what a table made anew keeps."""
        check_table(self.world)


def test_random_histories() -> None:
    """Columns, assumptions and dry runs agree with the naive twins after any events."""
    run_state_machine_as_test(
        Events, settings=settings(max_examples=40, stateful_step_count=15, deadline=None)
    )
