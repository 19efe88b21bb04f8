"""A world of odd objects: the bench with an informer for each kind, and the same cluster told to
another cache from the beginning.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.adapters.reflector import ListWatch, Reflector
from moorage.core.columns.cache import Cache, PodState
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.devices.extended_resources import TO_BE_CREATED
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.framework.status import error_status
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod, on_node
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimReservation
from moorage.core.plugins.intree import INDEXES
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.plugins.volume_binding.plugin import PodVolumes
from moorage.core.pods.requests import pod_requests
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.queued_pod import QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.binding.outcome import BOUND, GONE, BindingOutcome
from moorage.engine.intake.node_sink import NodeSink
from moorage.engine.intake.pod_sink import PodSink
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.engine.scheduling.reactions import NodeReactions, PodReactions
from moorage.ports.stored_kinds import POD_GROUPS
from moorage.ports.stored_kinds import STORED_KINDS as KINDS
from tests.engine.worlds import Bench
from tests.fakes.clocks import ManualClock
from tests.fakes.listeners import Unheard
from tests.fuzz.describing import Description, differences
from tests.vectors.scheduling import STORED

LISTS = {**STORED, **{kind.name: kind.struct for kind in POD_GROUPS}}
NAMES = {struct: name for name, struct in LISTS.items()}


class Nobody:
    """A session that is never asked."""


class World:
    """The bench and another cache, told the same. ``bound``: placements that were bound, which the
    watch may not show yet.
    """

    def __init__(self, chance: random.Random) -> None:
        self.bench = bench = Bench()
        self.chance = chance
        self.number = 0
        self.bindings = 0
        self.bound: dict[str, ScheduleResult] = {}
        self._lives: dict[str, int] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._kept_name: dict[str, Any] = {}
        session: Any = Nobody()
        nominations = bench.loop.attempts.outcomes.nomination_controller
        bench.pods = PodSink(
            bench.latest_pods,
            bench.targets,
            bench.admission,
            PodReactions(bench.under_way, nominations),
        )
        bench.nodes = NodeSink(bench.targets, NodeReactions(bench.binder, nominations))
        clock = ManualClock()
        self.others = {
            NAMES[kind.struct]: StoredObjectSink(kind, bench.targets, Unheard())
            for kind in KINDS
            if kind.struct in NAMES
        }
        self.sinks: dict[str, Any] = {"nodes": bench.nodes, "pods": bench.pods, **self.others}
        structs: dict[str, Any] = {"nodes": Node, "pods": Pod, **LISTS}
        self.feeds = {
            name: Reflector(session, clock, ListWatch(name, f"/{name}", structs[name]), sink)
            for name, sink in self.sinks.items()
        }
        bench.queue.groups.all_listed()

    # ---- what comes ------------------------------------------------------------------------------

    def deliver(self, name: str, kind: str, body: dict[str, Any]) -> None:
        """A line of the watch, of a newer version than all before. A pod that is going does not
        come back.
        """
        self.number += 1
        meta = body["metadata"]
        if isinstance(meta, dict):
            meta["resourceVersion"] = str(self.number)
            meta["name"] = meta.get("name") or "nameless"
            meta.setdefault("uid", f"uid-{meta.get('namespace', '')}-{meta.get('name', '')}")
            if name == "pods" and isinstance(meta["uid"], str):
                self._keep(meta, body, gone=kind == "DELETED")
        self.feeds[name]._line(json.dumps({"type": kind, "object": body}).encode())
        self._end_attempts()

    def _keep(self, meta: dict[str, Any], body: dict[str, Any], *, gone: bool) -> None:
        """What an API server lets nobody change; a pod that comes again is another one."""
        root = meta["uid"].partition(" ")[0]
        uid = meta["uid"] = f"{root} {self._lives.get(root, 0)}"
        self._lives[root] = self._lives.get(root, 0) + gone
        spec = body["spec"] = body.get("spec") or {}
        kept = self._kept.setdefault(
            uid, {name: meta.get(name, "") for name in ("namespace", "name")}
        )
        meta.update(kept)
        if isinstance(spec, dict):
            spec["schedulerName"] = self._kept_name.setdefault(uid, spec.get("schedulerName"))
        known = self.bench.pods.objects.get(uid)
        if known is not None and known.metadata.deletion_timestamp is not None:
            meta["deletionTimestamp"] = known.metadata.deletion_timestamp
        record = self.bench.cache.pod_info(uid)
        if record is not None and record.state is PodState.OBSERVED and isinstance(spec, dict):
            spec["nodeName"] = record.node

    def show(self, name: str, obj: Any) -> None:
        """The watch shows what was written."""
        self.deliver(name, "MODIFIED", msgspec.to_builtins(obj))

    def list_anew(self, name: str) -> None:
        """A list that lacks some objects, and has one twice."""
        sink = self.sinks[name]
        there = list(sink.objects.values())
        sink.list_started()
        for obj in [*self.chance.sample(there, len(there) * 3 // 4), *there[:1]]:
            sink.put(obj)
        while sink.list_ended():
            pass
        self._end_attempts()

    # ---- what is done ----------------------------------------------------------------------------

    def attempts(self, most: int) -> None:
        """Decide about those whose turn it is."""
        loop = self.bench.loop
        for _ in range(most):
            if not self.bench.attempt():
                break
            while loop.attempts.group_attempts.decided or loop.paused:
                loop.go_on()
            self._end_attempts()

    def land(self) -> None:
        """One binding ends, one eviction and one post-filter action."""
        binder, held = self.bench.binder, self.bench.preemptor.held
        if binder.under_way:
            uid = self.chance.choice(list(binder.under_way))
            bound = self.chance.random() < 0.5 and self._write(binder.under_way[uid][1])
            if bound and uid in binder.under_way:
                self.bound[uid] = binder.under_way[uid][1]
                self.bindings += 1
            if uid in binder.under_way:
                binder.end(uid, BOUND if bound else BindingOutcome(False, error_status("no")))
        if held:
            eviction, evicted = held.pop(self.chance.randrange(len(held)))
            evicted(eviction, None)
        if self.bench.actions.held:
            action, done = self.bench.actions.held.pop()
            done(action, self.chance.choice(("", "no")))
        self._end_attempts()

    def _write(self, placement: ScheduleResult) -> bool:
        """Write claims and volumes, as the actors do before a pod is bound, and have the watch show
        them; whether all are there.
        """
        objects = [
            obj for reserved in placement.reservations.values() for obj in written(reserved.value)
        ]
        there = {
            (type(one), key(one)) for sink in self.others.values() for one in sink.objects.values()
        }
        if not all(
            (type(obj), key(obj)) in there or obj.metadata.name == TO_BE_CREATED for obj in objects
        ):
            return False
        for obj in objects:
            self.show(NAMES[type(obj)], obj)
        return True

    def show_one(self) -> None:
        """The watch shows a binding."""
        if self.bound:
            uid = self.chance.choice(list(self.bound))
            if (known := self.bench.pods.objects.get(uid)) is not None:
                self.show("pods", on_node(known, self.bound[uid].node))

    def suspend(self) -> None:
        """The profile is suspended for a moment."""
        now, config = self.bench.clock.boottime(), self.bench.queue._profiles.configs["test"]
        self.bench.queue.set_profile("test", None, now)
        self.bench.queue.set_profile("test", config, now)

    def _end_attempts(self) -> None:
        """The attempts of pods that are gone, or have a node, end; what became of bindings is
        seen.
        """
        binder, pods = self.bench.binder, self.bench.pods
        for uid in list(binder.under_way):
            entry, placement = binder.under_way[uid]
            if entry.state is not QueueState.IN_FLIGHT:
                record = self.bench.cache.pod_info(uid)
                shown = (
                    record is not None
                    and record.state is PodState.OBSERVED
                    and record.node == placement.node
                )
                binder.end(uid, BOUND if shown else GONE)
                if shown:
                    self.bound[uid] = placement
                elif uid in pods.objects:
                    self.bench.admission.admit_again(uid)
        for uid in [
            uid
            for uid in self.bound
            if (record := self.bench.cache.pod_info(uid)) is None
            or record.state is PodState.OBSERVED
        ]:
            del self.bound[uid]

    # ---- what is compared ------------------------------------------------------------------------

    def check(self, decisions: int) -> None:
        """All that is kept is what is made of the objects that there are; and it decides alike."""
        queue, now = self.bench.queue, self.bench.clock.boottime
        queue.flush(now())
        while queue.moves_pending:
            queue.flush(now())
        fresh = self.fresh()
        found = list(
            differences(
                Description(self.bench.cache).of(self.bench.cache), Description(fresh).of(fresh)
            )
        )
        assert not found, "\n".join(found[:20])
        self.check_queue()
        found = list(differences(self.described(queue), self.described(self.rebuilt())))
        assert not found, "\n".join(found[:20])
        self.check_decisions(fresh, decisions)

    def fresh(self) -> Cache:
        """Another cache, told of the same objects and of what was decided."""
        live, fresh = self.bench.cache, Cache(Store(INDEXES))
        for name, others in self.others.items():
            for obj in others.objects.values():
                fresh.store.put(obj)
            assert not any(
                aside.error.startswith("it is gone") for aside in others.aside.values()
            ), name
        for known in self.bench.nodes.objects.values():
            fresh.put_node(known)
        for pod, node, state in self.pods():
            record = live.pod_info(pod.metadata.uid)
            if state is PodState.ASSUMED:
                fresh.assume(pod, node, pod_requests(pod))
            elif isinstance(pod, Pod):
                fresh.observe(pod, pod_requests(pod))
            else:
                assert record is not None, f"{pod.metadata.uid} cannot be read, and takes nothing"
                fresh.observe_unreadable(pod, node, record.requests)
        self._promise(fresh)
        self._ask_alike(fresh)
        for record in live.pod_infos():
            uid = record.pod.metadata.uid
            if fresh.pod_info(uid) is not None and record.preempted:
                fresh.mark_preempted(uid)
            if fresh.pod_info(uid) is not None and record.stuck:
                fresh.mark_stuck(uid)
        return fresh

    def pods(self) -> Iterator[tuple[Any, str, PodState]]:
        """The pods that occupy a node, as the objects and the bindings under way have it."""
        pods = self.bench.pods
        decided = {
            **{uid: placement for uid, (_, placement) in self.bench.binder.under_way.items()},
            **self.bound,
        }
        for uid, pod in pods.objects.items():
            if pod.status.phase in ("Succeeded", "Failed"):
                continue
            if pod.spec.node_name:
                yield pod, pod.spec.node_name, PodState.OBSERVED
            elif uid in decided:
                yield (
                    on_node(decided[uid].pod, decided[uid].node),
                    decided[uid].node,
                    PodState.ASSUMED,
                )
        for uid, aside in pods.aside.items():
            if aside.node_name:
                yield aside.partial, aside.node_name, PodState.OBSERVED
            elif uid in decided:
                yield (
                    on_node(decided[uid].pod, decided[uid].node),
                    decided[uid].node,
                    PodState.ASSUMED,
                )
            elif (record := self.bench.cache.pod_info(uid)) is not None:
                # nothing says that it has left its node
                yield record.pod, record.node, PodState.OBSERVED

    def _promise(self, fresh: Cache) -> None:
        """The nominations of pods' statuses and of our decisions."""
        mine = self.bench.cache.nominations
        for uid, pod in self.bench.pods.objects.items():
            if (
                not self._waits(pod)
                or fresh.pod_info(uid) is not None
                or pod.metadata.deletion_timestamp is not None
            ):
                continue
            if uid in mine._lapsed:
                fresh.nominations.observe_status(pod, pod_requests(pod))
                fresh.nominations.lapse(uid)
            elif uid in mine._unwritten:
                held = (record := mine.get(uid)) is not None and record.held
                fresh.nominations.nominate(pod, mine._unwritten[uid], held)
            else:
                fresh.nominations.observe_status(pod, pod_requests(pod))

    def _ask_alike(self, fresh: Cache) -> None:
        """What is made when first asked for is asked for there, too; what is assumed of claims is
        what is assumed for bindings.
        """
        live = self.bench.cache
        for label in live.nodes.labels._columns:
            fresh.nodes.labels.column(label)
        for query in live.pod_counters._matching:
            fresh.pod_counters.matching(query)
        alive = [
            *(placement for _, placement in self.bench.binder.under_way.values()),
            *self.bound.values(),
        ]
        values = [
            written(reserved.value)
            for placement in alive
            for reserved in placement.reservations.values()
        ]
        names = {
            (type(obj), obj.metadata.namespace, obj.metadata.name)
            for objects in values
            for obj in objects
        }
        for make, index in live.store._indexes.items():
            other = fresh.store.index(make)
            if isinstance(index, DeviceLedger) and isinstance(other, DeviceLedger):
                for decision in index._decided.values():
                    claim = decision.claim
                    assert (type(claim), claim.metadata.namespace, claim.metadata.name) in names, (
                        f"{claim} is assumed for nobody"
                    )
                    other.assume(claim, decision.group)
            if isinstance(index, VolumeOffers) and isinstance(other, VolumeOffers):
                assumed: list[HasMetadata] = [
                    *index._assumed_volumes.values(),
                    *index._assumed_claims.values(),
                ]
                for obj in assumed:
                    assert (type(obj), obj.metadata.namespace, obj.metadata.name) in names, (
                        f"{obj} is assumed for nobody"
                    )
                other.assume(index._assumed_volumes.values(), index._assumed_claims.values())

    @staticmethod
    def _waits(pod: Pod) -> bool:
        return not pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")

    def check_queue(self) -> None:
        """Every pod that waits is in the queue, in its newest state; nobody else is."""
        bench, pods = self.bench, self.bench.pods.objects
        entries = {entry.uid: entry for entry in bench.queue.entries()}
        out = {
            *bench.binder.under_way,
            *(entry.uid for one, _ in bench.preemptor.held for entry, _ in one.waiting),
            *(one.entry.uid for one, _ in bench.actions.held),
        }
        waiting = {uid for uid, pod in pods.items() if self._waits(pod) and uid not in self.bound}
        going = {uid for uid in waiting if pods[uid].metadata.deletion_timestamp is not None}
        assert waiting - going <= entries.keys(), "pods are lost"
        assert entries.keys() <= waiting, "pods wait that are not there"
        assert all(entry.pod is pods[uid] for uid, entry in entries.items()), (
            "a pod waits in an old state"
        )
        assert {
            uid for uid, entry in entries.items() if entry.state is QueueState.IN_FLIGHT
        } == out & entries.keys()
        groups = bench.queue.groups
        assert not groups.dirty
        for group in (one for parts in groups._groups.values() for one in parts.values()):
            least = groups.min_count(group)
            assert group.complete == (least is not None and (group.met or group.present >= least))
            assert group.complete or all(
                entry.state not in (QueueState.ACTIVE, QueueState.BACKOFF)
                for entry in group.waiting.values()
            )

    def rebuilt(self) -> SchedulingQueue:
        """Another queue, where the same pods are put where they are."""
        live, store = self.bench.queue, self.bench.cache.store
        groups = PodGroupTracker(store)
        for kind in POD_GROUPS:
            store._followers[kind.struct].remove(groups._declaration_changed)
        other = SchedulingQueue(live._sort, groups, live._listener)
        other.groups.all_listed()
        other._profiles.configs.update(live._profiles.configs)
        for record in self.bench.cache.pod_infos():
            if group_of(record.pod) is not None:
                other.groups.placed(record.pod, 1)
        for entry in live.entries():
            clone = dataclasses.replace(entry)
            if entry.initial_attempt_timestamp < float("inf"):
                clone.state = QueueState.ACTIVE
                other._index.record(clone)
            clone.state = entry.state
            other._queues.place(clone)
        list(other.groups.recheck(0.0))
        return other

    def described(self, queue: SchedulingQueue) -> Any:
        """A scheduling queue as values, beside the cache's store."""
        return Description(self.bench.cache, self.bench.cache.store).of(queue)

    def check_decisions(self, fresh: Cache, number: int) -> None:
        """Some pods that wait would be placed alike by somebody who starts anew."""
        context, revision = self.bench.context, self.bench.live["test"]
        other = CycleContext(fresh, context.seed)
        waiting = sorted(
            (
                entry
                for entry in self.bench.queue.entries()
                if self.bench.cache.pod_info(entry.uid) is None
            ),
            key=lambda entry: entry.uid,
        )
        for entry in self.chance.sample(waiting, min(number, len(waiting))):
            mine, its = (said(decide(entry.pod, revision, one)) for one in (context, other))
            assert mine == its, f"{entry.pod}"


def said(outcome: ScheduleResult | Diagnosis) -> dict[str, Any]:
    """All that a decision says."""
    if isinstance(outcome, ScheduleResult):
        return {"node": outcome.node, "score": outcome.score, "feasible": outcome.feasible_nodes}
    uids = {
        "victims": [one.metadata.uid for one in outcome.victims],
        "kept by": {one.pod.metadata.uid for one in outcome.blocking_nominated_pods},
    }
    return {
        **uids,
        "message": outcome.message,
        "code": outcome.code,
        "rejectors": outcome.unschedulable_plugins,
        "node": outcome.nominated_node,
    }


@functools.singledispatch
def written(value: Any) -> list[Any]:
    """The objects that are written for a reservation, as they will be."""
    return []


@written.register
def _(value: PodVolumes) -> list[Any]:
    return list(value.writes)


@written.register
def _(value: ClaimReservation) -> list[Any]:
    claims = [one for one in value.claims if one.allocation is not None]
    return [
        msgspec.structs.replace(
            one.claim, status=msgspec.structs.replace(one.claim.status, allocation=one.allocation)
        )
        for one in claims
    ]
