"""Group preemption: whom a pod group that does not fit may displace, anywhere in the cluster.

All pods of lower priority are thought away, and the group is scheduled. If it fits then, they come
back one after another, the most important ones first, wherever all members still pass; who cannot
come back is a victim. A group with disruption mode all goes or stays as a whole.

Nobody else may see a cluster without these pods, so all of it happens on a copy of the state; what
comes of it are nominations and victims. Source: KEP-5710; kube-scheduler's pod group preemption
(v1.37).
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_copies import MembersOnCopy
from moorage.core.cycle.group_cycle import GroupResult
from moorage.core.cycle.group_steps import Steps, patiently
from moorage.core.framework.post_filter_contract import Victims
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code, Status, error_status
from moorage.core.objects.pods import Pod, on_node
from moorage.core.plugins.default_preemption.disruption_budgets import (
    budgets,
    violating_units,
)
from moorage.core.plugins.default_preemption.plugin import is_terminating_victim
from moorage.core.plugins.default_preemption.units import Unit, units_of
from moorage.core.pods.requests import pod_requests

PREFIX = "pod group preemption: "
NEVER = Status(Code.UNSCHEDULABLE, ("not eligible due to preemptionPolicy=Never.",))
NO_VICTIMS = Status(
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    ("No preemption victims found for incoming preemptor",),
)
OTHERS_NAMED = Status(
    Code.UNSCHEDULABLE, ("without the pods that extenders name the pod group would not fit",)
)
ONGOING = Status(Code.SUCCESS, ("ongoing preemption on nominated nodes",))

Fork: TypeAlias = Callable[[Collection[str]], Steps[CycleContext]]
"""A copy of the state of now without these pods (UIDs)."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPreemption:
    """SUCCESS: once the victims are gone, the members fit where they are nominated to, by UID."""

    status: Status
    nominations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    victims: tuple[Pod, ...] = ()


def make_room(
    attempt: GroupAttempt,
    revision: Revision,
    context: CycleContext,
    fork: Fork,
) -> Steps[GroupPreemption | None]:
    """Whom the group may displace so that it fits, and where its members go then; None where
    nobody may be displaced now.
    """
    if any(pod.spec.preemption_policy == "Never" for pod in attempt.members):
        return GroupPreemption(NEVER)
    if ongoing := _ongoing(attempt, context):
        return GroupPreemption(ONGOING, ongoing)
    lower = context.snapshot.priorities.below(attempt.group.priority, context.cache.nodes.rows)
    if lower.any() and not (yield from attempt.at_once(attempt.around.may_make_room)):
        return None
    # from here to the copy nobody else has a turn
    units = units_below(attempt.group.priority, context)
    if not units:
        return GroupPreemption(NO_VICTIMS)
    gone = {record.pod.metadata.uid for unit in units for record in unit.records}
    without = yield from fork(gone)
    return (yield from _displace(attempt, revision, without, units))


def _displace(
    attempt: GroupAttempt, revision: Revision, without: CycleContext, units: Sequence[Unit]
) -> Steps[GroupPreemption]:
    """The same, on a copy without all of these."""
    members = MembersOnCopy(attempt.around, revision, without)
    result = yield from members.schedule(attempt)
    if result.status.code is not Code.SUCCESS:
        return GroupPreemption(result.status)
    victims = yield from _Reprieve(result, revision, without, members).victims(units)
    if isinstance(victims, Status):
        return GroupPreemption(victims)
    pods = tuple(pod for unit in victims for pod in unit.pods)
    text = f"found a placement for podgroup, preempting {len(pods)} victims"
    nominations = {one.pod.metadata.uid: one.node for one in result.placed}
    return GroupPreemption(Status(Code.SUCCESS, (text,)), nominations, pods)


def units_below(priority: int, context: CycleContext) -> list[Unit]:
    """All that may be displaced for something of this priority, the most important unit first."""
    level_of, row_of = context.snapshot.priorities.level_of, context.cache.nodes.row_of
    lower = (
        record
        for record in context.cache.pod_infos()
        if isinstance(record.pod, Pod)
        and not record.stuck
        and record.node in row_of
        and level_of(record.pod) < priority
    )
    return units_of(lower, context.snapshot)


def _ongoing(attempt: GroupAttempt, context: CycleContext) -> dict[str, str]:
    """Where members are nominated to, if a pod goes there for their sake."""
    nominated = {
        pod.metadata.uid: node
        for pod in attempt.members
        if (node := context.cache.nominations.nominated_node(pod.metadata.uid))
    }
    going = any(
        is_terminating_victim(record)
        and isinstance(record.pod, Pod)
        and context.snapshot.priorities.level_of(record.pod) < attempt.group.priority
        for node in set(nominated.values())
        for record in context.cache.pods_on(node)
    )
    return nominated if going else {}


def _reprieve_order(units: Sequence[Unit], context: CycleContext) -> list[Unit]:
    """Those first whose going would violate a budget, the most important ones first in either."""
    by_namespace = budgets(context.cache.store)
    protected = violating_units(((unit.pods, 0) for unit in units), by_namespace)
    ranked = sorted(zip(units, protected, strict=True), key=lambda one: not one[1])
    return [unit for unit, _ in ranked]


def _by_node(units: Sequence[Unit], context: CycleContext) -> dict[str, Victims]:
    """The pods of these that are on each node."""
    pods, violations = defaultdict[str, list[Pod]](list), Counter[str]()
    protected = violating_units(((unit.pods, 0) for unit in units), budgets(context.cache.store))
    for unit, is_protected in zip(units, protected, strict=True):
        for record in unit.records:
            if isinstance(record.pod, Pod):
                pods[record.node].append(record.pod)
                violations[record.node] += is_protected
    return {node: Victims(tuple(there), violations[node]) for node, there in pods.items()}


@dataclasses.dataclass(slots=True)
class _Reprieve:
    """Puts units back where all members still pass, and has extenders asked about the others."""

    result: GroupResult
    revision: Revision
    context: CycleContext
    members: MembersOnCopy

    def victims(self, units: Sequence[Unit]) -> Steps[list[Unit] | Status]:
        """The units that cannot stay, the most important one first; or why nobody is to go."""
        found = yield from self._found(_reprieve_order(units, self.context))
        found.sort(key=lambda unit: unit.importance)
        proposed = _by_node(found, self.context)
        named = yield from self.members.agree_on_victims(self.result.placed, proposed)
        if isinstance(named, Status) or named == proposed:
            return named if isinstance(named, Status) else found
        return (yield from self._named(units, named))

    def _found(self, units: Iterable[Unit]) -> Steps[list[Unit]]:
        found = []
        for unit in units:
            self._forget_members()
            self._put_back(unit)
            if not (yield from self._all_pass()):
                self._remove(unit)
                found.append(unit)
        return found

    def _named(
        self, units: Sequence[Unit], by_node: Mapping[str, Victims]
    ) -> Steps[list[Unit] | Status]:
        """The units of which extenders name a pod, instead of those that were found: they go whole,
        and without them the members must fit.
        """
        named = {pod.metadata.uid for victims in by_node.values() for pod in victims.pods}
        strangers = named - {uid for unit in units for uid in unit.uids}
        if strangers:
            who = f"pod (UID: {min(strangers)})"
            return error_status(f"extenders claim to preempt {who}, which the pod group may not")
        self._forget_members()
        for unit in units:
            if named.isdisjoint(unit.uids) is not self._is_there(unit):
                (self._remove if self._is_there(unit) else self._put_back)(unit)
        if not (yield from self._all_pass()):
            return OTHERS_NAMED
        return [unit for unit in units if not self._is_there(unit)]

    def _is_there(self, unit: Unit) -> bool:
        return self.context.cache.pod_info(unit.records[0].pod.metadata.uid) is not None

    def _all_pass(self) -> Steps[bool]:
        """Whether the members pass where they are, each with those before it there."""
        for placement in self.result.placed:
            pod, node = placement.pod, placement.node
            passes = functools.partial(cycle.fits_on, pod, node, self.revision, self.context)
            if not (yield from patiently(passes)):
                return False
            self._assume(placement)
            yield True
        return True

    def _forget_members(self) -> None:
        for placement in reversed(self.result.placed):
            if self.context.cache.pod_info(placement.pod.metadata.uid) is not None:
                self.context.cache.forget(placement.pod.metadata.uid)

    def _put_back(self, unit: Unit) -> None:
        for record in unit.records:
            self.context.cache.put_back(record)

    def _remove(self, unit: Unit) -> None:
        for record in unit.records:
            self.context.cache.remove(record.pod.metadata.uid)

    def _assume(self, placement: ScheduleResult) -> None:
        pod, node = placement.pod, placement.node
        self.context.cache.assume(on_node(pod, node), node, pod_requests(pod))
