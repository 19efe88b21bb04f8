"""Pod groups: a cluster on which groups and pods arrive and are scheduled one after another, each
thing as a whole.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from moorage.core.columns.change_log import Aspect
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import (
    UNSCHEDULABLE_GROUP,
    GroupResult,
    place_member,
    schedule_group,
)
from moorage.core.cycle.group_outcome import GroupOutcome, group_outcome
from moorage.core.cycle.group_post_filter import NO_ROOM, GroupPostFilters, GroupRoom
from moorage.core.cycle.group_preemption import PREFIX
from moorage.core.cycle.group_validation import validate
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import ExtensionPoint, Scores
from moorage.core.framework.placement_contract import Placement, Proposal
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status
from moorage.core.groups.group_spec import GroupSpec, group_spec
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import API, GroupKey, PodGroup, membership_of
from moorage.core.objects.pods import Pod, priority
from moorage.core.objects.resource_claims import ResourceClaim, ResourceClaimStatus
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimReservation
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.forks import fork
from moorage.core.simulation.simulated_groups import finished
from tests.vectors.files import Case
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import cluster

WAITS = "waiting for minCount pods from a gang to appear in scheduling queue"


@dataclasses.dataclass(frozen=True)
class TieBreak:
    """The first by name: all other weights are a hundred times as large."""

    name: ClassVar[str] = "TieBreak"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.MEMBERSHIP})

    ranks: tuple[tuple[str, int], ...]

    def score(self, _state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """99 and less."""
        ranks = dict(self.ranks)
        names = np.array(snapshot.nodes.names, object)[rows]
        return np.array([99 - ranks.get(name, 99) for name in names], np.int64)

    def score_placements(
        self, _group: GroupSpec, proposals: Sequence[Proposal], _snapshot: Snapshot
    ) -> Scores:
        """As of nodes."""
        names = sorted(one.placement.name for one in proposals)
        return np.array([99 - names.index(one.placement.name) for one in proposals], np.int64)


def pod_groups(case: Case) -> dict[str, Any]:
    """What each attempt comes to, who was never tried and why, and who is where in the end."""
    return _Play(case).run()


class _Play:
    def __init__(self, case: Case) -> None:
        self.case = case
        objects = case.get("objects", {})
        self.cache = cluster(objects, None)
        self.context = CycleContext(self.cache)
        self.declared = self.cache.store.objects(PodGroup)
        self.initially = set(self.declared)
        self.waiting: dict[str, Pod] = {}
        self.attempts: dict[str, int] = {}
        self.revision = self._revision()

    def _revision(self) -> Revision:
        revision = revision_of(self.case["profile"])
        names = sorted({*self.cache.nodes.row_of})
        ranks = tuple((name, i) for i, name in enumerate(names))
        return dataclasses.replace(
            revision,
            points={
                **revision.points,
                **{
                    point: (*revision.points[point], TieBreak.name)
                    for point in (ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE)
                },
            },
            deciders={**revision.deciders, TieBreak.name: TieBreak(ranks)},
            weights=led(revision.weights),
            placement_weights=led(revision.placement_weights),
        )

    def run(self) -> dict[str, Any]:
        for arrival in self.case["arrivals"]:
            if "podGroup" in arrival:
                self.cache.store.put(msgspec.convert(arrival["podGroup"], PodGroup))
            else:
                pod = msgspec.convert(arrival["pod"], Pod)
                self.waiting[key(pod)] = pod
                self.cache.observe_waiting(pod, pod_requests(pod))
        found: dict[str, Any] = {"attempts": {}}
        for i, attempt in enumerate(self.case["attempts"]):
            kind, _, name = attempt["entity"].partition(" ")
            play = self._group if kind == "podgroup" else self._pod
            found["attempts"][f"{i} {attempt['entity']}"] = play(name)
        return found | self._end()

    # ---- one pod ---------------------------------------------------------------------------------

    def _pod(self, name: str) -> dict[str, Any]:
        pod = self.waiting[name]
        self.attempts[name] = self.attempts.get(name, 0) + 1
        decision = cycle.decide(pod, self.revision, self.context)
        found: dict[str, Any] = {}
        if isinstance(decision, ScheduleResult):
            self._bind(cycle.assume_and_reserve(decision, self.context))
            found["bound"] = {name: decision.node}
        else:
            victims, node = decision.victims, decision.nominated_node
            if victims and node:
                found["preempted"] = {
                    key(v): f"Preempted by pod {pod.metadata.uid} on node {node}" for v in victims
                }
            found["failed"] = {name: {"message": decision.message, "reason": reason_of(decision)}}
            self._nominate(pod, node)
            self._go(victims)
        return self._step([name], found)

    # ---- a group ---------------------------------------------------------------------------------

    def _group(self, name: str) -> dict[str, Any]:
        spec = self._spec_named(name)
        members = [pod for pod in self.waiting.values() if group_name(pod) == name]
        members.sort(
            key=lambda pod: (-priority(pod), -self.attempts.get(key(pod), 0), self._arrived(pod))
        )
        for pod in members:
            self.attempts[key(pod)] = self.attempts.get(key(pod), 0) + 1
        scheduled = [
            (info.pod, info.node)
            for info in self.cache.pod_infos()
            if isinstance(info.pod, Pod) and group_name(info.pod) == name
        ]
        outcome = self._outcome(spec, members, scheduled)
        order, found = [key(pod) for pod in members], dict[str, Any]()
        for pod in members:
            decision = outcome.members[pod.metadata.uid]
            if isinstance(decision, ScheduleResult):
                found.setdefault("bound", {})[key(pod)] = decision.node
                self._bind(decision)
            else:
                failed = found.setdefault("failed", {})
                failed[key(pod)] = {"message": decision.message, "reason": reason_of(decision)}
                self._nominate(pod, decision.nominated_node)
        told = name not in self.initially
        if outcome.victims:
            note = f"Preempted by podgroup {spec.uid} on node cluster"
            if told:  # the oracle sees victims by the condition's message
                found["preempted"] = {key(victim): note for victim in outcome.victims}
            self._go(outcome.victims)
        if told:
            found["condition"] = without_what_is_arbitrary(condition_of(outcome), found)
            if outcome.status.code is Code.SUCCESS:
                self.initially.add(name)
        return self._step(order, found)

    def _outcome(
        self, spec: GroupSpec, members: list[Pod], scheduled: list[tuple[Pod, str]]
    ) -> GroupOutcome:
        attempt = GroupAttempt(spec, members, scheduled)

        def place(pod: Pod, placement: Placement) -> Decision:
            return place_member(pod, self.revision, self.context, placement)

        status = validate(attempt)
        if status.code is not Code.SUCCESS:
            return group_outcome(attempt, GroupResult(status), self.revision)
        result = finished(schedule_group(attempt, place, self.context, self.revision))
        room = NO_ROOM
        if result.status.code is Code.UNSCHEDULABLE:
            plugins = GroupPostFilters(self.revision, self.context, self._fork)
            room = finished(plugins.run(attempt, result))
        if (
            self.case["featureGates"].get("TopologyAwareWorkloadScheduling")
            and not spec.topology_key
        ):
            result, room = with_one_placement(result, room)
        return group_outcome(attempt, result, self.revision, room)

    def _spec(self, pod: Pod) -> GroupSpec | None:
        name = group_name(pod)
        return self._spec_named(name) if name in self.declared else None

    def _spec_named(self, name: str) -> GroupSpec:
        key = GroupKey(API, *name.split("/"))
        spec = group_spec(key, (), self.cache.store)
        assert spec is not None
        return spec

    def _fork(self, without: Collection[str]) -> Generator[bool, bool | None, CycleContext]:
        return fork(self.context, without)

    # ---- what follows ----------------------------------------------------------------------------

    def _bind(self, decision: Decision) -> None:
        """The pod's claims are written as its reservation says, and it waits no more."""
        assert isinstance(decision, ScheduleResult)
        del self.waiting[key(decision.pod)]
        store = self.cache.store
        for reserved in decision.reservations.values():
            if not isinstance(reserved.value, ClaimReservation):
                continue
            for one in reserved.value.claims:
                claim = store.objects(ResourceClaim)[key(one.claim)]
                status, consumers = claim.status, claim.status.reserved_for or ()
                if one.consumer not in consumers:
                    consumers = (*consumers, one.consumer)
                new = ResourceClaimStatus(status.allocation or one.allocation, consumers)
                store.put(msgspec.structs.replace(claim, status=new))

    def _arrived(self, pod: Pod) -> int:
        return list(self.waiting).index(key(pod))

    def _nominate(self, pod: Pod, node: str | None) -> None:
        if node is not None:
            self.cache.nominations.nominate(pod, node)

    def _go(self, victims: tuple[Pod, ...]) -> None:
        for victim in victims:
            self.cache.remove(victim.metadata.uid)

    def _step(self, order: list[str], found: dict[str, Any]) -> dict[str, Any]:
        nominated = {
            name: node
            for name in order
            if name in self.waiting
            and (node := self.cache.nominations.nominated_node(self.waiting[name].metadata.uid))
        }
        if nominated:
            found["nominated"] = nominated
        return {"order": order, **found}

    def _end(self) -> dict[str, Any]:
        placed = {
            key(info.pod): info.node for info in self.cache.pod_infos() if isinstance(info.pod, Pod)
        }
        held = {
            name: self._held(pod) for name, pod in self.waiting.items() if name not in self.attempts
        }
        claims = {
            name: json.loads(msgspec.json.encode(claim.status))
            for name, claim in self.cache.store.objects(ResourceClaim).items()
        }
        others = {name: one for name, one in (("held", held), ("claims", claims)) if one}
        return {"placed": placed} | others

    def _members(self, group: str) -> int:
        there = [info.pod for info in self.cache.pod_infos() if isinstance(info.pod, Pod)]
        return sum(group_name(pod) == group for pod in (*there, *self.waiting.values()))

    def _held(self, pod: Pod) -> dict[str, Any]:
        group = group_name(pod)
        if group and group not in self.declared:
            return {"incomplete": True}
        for name, plugin in self.revision.at(ExtensionPoint.PRE_ENQUEUE):
            status = plugin.pre_enqueue(pod, self.cache.store)
            if status.code is not Code.SUCCESS:
                return {
                    "code": status.code.value,
                    "plugin": name,
                    "reasons": list(status.reasons),
                }
        if group and self._members(group) < self._spec_named(group).min_count:
            return {
                "code": "UnschedulableAndUnresolvable",
                "plugin": "GangScheduling",
                "reasons": [WAITS],
            }
        return {"code": "Success"}


def led(weights: Mapping[str, int]) -> dict[str, int]:
    """With the tie-break behind all of them."""
    return {**{name: weight * 100 for name, weight in weights.items()}, TieBreak.name: 1}


ONE_PLACEMENT = f"{UNSCHEDULABLE_GROUP}, 0/1 placements are available, first placement status: "


def with_one_placement(result: GroupResult, room: GroupRoom) -> tuple[GroupResult, GroupRoom]:
    """Where the gate of topology is on, kube-scheduler speaks of the one placement of groups
    without a constraint, too; we do not (docs/adr/0018).
    """
    text = result.status.message
    if not text.startswith("minCount"):
        return result, room
    status = Status(result.status.code, (ONE_PLACEMENT + text,))
    message = room.message.replace(f"{PREFIX}minCount", f"{PREFIX}{ONE_PLACEMENT}minCount")
    return dataclasses.replace(result, status=status), dataclasses.replace(room, message=message)


PLACEMENTS = re.compile(
    r"^(pod group is unschedulable, 0/(\d+) placements are available, first placement status: )"
)


def without_what_is_arbitrary(condition: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Which of several placements is quoted, and whose pods were looked at, nobody can know."""
    text = condition["message"]
    head = PLACEMENTS.match(text)
    if head is None or head[2] == "1":
        return condition
    del condition["message"]
    parts = condition["messageParts"] = [head[1]]
    _, prefix, tail = text.partition("pod group preemption: ")
    if prefix:
        before, _, _ = tail.partition("first placement status: ")
        parts.append(prefix + before)
    for failed in found.get("failed", {}).values():
        del failed["message"]
    return condition


def key_of(group: dict[str, Any]) -> str:
    """namespace/name."""
    return f"{group['metadata'].get('namespace', '')}/{group['metadata']['name']}"


def group_name(pod: Pod) -> str:
    """namespace/name of its group, "" for none."""
    member = membership_of(pod)
    return str(member.key) if member is not None else ""


def reason_of(decision: Diagnosis) -> str:
    """Of the pod's condition."""
    return "SchedulerError" if decision.code is Code.ERROR else "Unschedulable"


def condition_of(outcome: GroupOutcome) -> dict[str, Any]:
    """Of the PodGroup."""
    status = outcome.status
    reasons = {Code.SUCCESS: ("True", "Scheduled"), Code.ERROR: ("False", "SchedulerError")}
    value, reason = reasons.get(status.code, ("False", "Unschedulable"))
    return {
        "type": "PodGroupInitiallyScheduled",
        "status": value,
        "reason": reason,
        "message": status.message,
    }
