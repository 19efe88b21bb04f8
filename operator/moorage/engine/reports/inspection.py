"""Inspection: what cache and queue hold, as plain data, and where that differs from what the API
server has.

Everything is given a few items at a time, so that a large cluster holds up nobody. What is found to
differ is compared again a moment later, with a new list: what only one side had not got yet is the
same on both by then.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import math
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from typing import Any, NamedTuple, TypeVar

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo, PodState
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import GroupKey
from moorage.core.objects.pods import Pod, priority
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.core.structures.sparse import HAS, TAKEN
from moorage.engine.intake.comparison import RECHECK_DELAY_SECONDS
from moorage.engine.reports.held_rooms import RoomHolder, held_until, wall_time
from moorage.ports.bundle import Ports
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.kube import PodNode

log = logging.getLogger(__name__)
T = TypeVar("T")

ITEMS_PER_STEP = 32
"""Items between two turns of the others: nodes, with their pods."""
MEMBERS_PER_STEP = 500
"""The same for members of pod groups, of which little is asked."""
PLACES_PER_STEP = 2000
"""The same for pods that are only looked up."""
LINES, LINES_EVERY = 100, 0.05
"""So many lines of log in so many seconds: its queue is bounded."""


class CacheDifference(NamedTuple):
    """Something that we have (``ours``) otherwise than the API server (``theirs``); "" for none."""

    kind: str
    object: str
    ours: str = ""
    theirs: str = ""


_IN_LOG = {"message": "condition"}
"""What a log record has a field of its own for."""

DIFFERENCE_KINDS = ("missed node", "redundant node", "missed pod", "redundant pod", "misplaced pod")
"""Missed: the API server alone has it; redundant: we alone have it; misplaced: on another node than
we think.
"""


class CacheInspector:
    """Shows cache and queue; changes nothing. ``run`` it to have ``request`` answered in the
    log.

    What it gives has no names that a log record has already (name, message).
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        rooms: RoomHolder,
        ports: Ports,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._rooms = rooms
        self._reads = ports.reads
        self._clock = ports.clock
        self._telemetry = ports.telemetry
        self._requested = asyncio.Event()
        self._comparing = asyncio.Lock()

    # ---- plain data ------------------------------------------------------------------------------

    @property
    def pages(self) -> Mapping[str, Callable[[], AsyncGenerator[Mapping[str, Any], None]]]:
        """All that is given, by the name that it has under /debug."""
        return {
            "cache": self.nodes,
            "queue": self.pods,
            "groups": self.groups,
            "differences": self.differences,
        }

    async def nodes(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """The nodes, with what is on them and nominated to them, and at the end pods on nodes that
        are not there.
        """
        cache, table = self._cache, self._cache.nodes
        names = sorted({*table.row_of, *cache.occupied, *cache.nominations.nodes})
        async for name in _paced(names, ITEMS_PER_STEP):
            row, nominated = table.row_of.get(name), cache.nominations.nominated_pods(name)
            amounts = {} if row is None else table.amounts_on(row)
            yield {
                "node": name,
                "exists": row is not None,
                "allocatable": _quantities(amounts, HAS),
                "requested": _quantities(amounts, TAKEN),
                "pods": [_on_node(record) for record in cache.pods_on(name)],
                "nominatedPods": [_on_node(record) for record in nominated],
            }

    async def pods(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """The pods that wait, in the order in which they came."""
        async for entry in _paced(list(self._queue.entries()), ITEMS_PER_STEP):
            if entry.state is not None:
                yield self._waiting(entry, entry.state)

    async def groups(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """The pod groups of which a member waits, with all that these were told, each text once."""
        members = [
            (group, entry)
            for part in self._queue.groups.that_wait.values()
            for group in part.values()
            for entry in (*group.waiting.values(), *group.held_back.values())
        ]
        found: dict[PodGroupState, _WaitingMembers] = {}
        async for group, entry in _paced(members, MEMBERS_PER_STEP):
            found.setdefault(group, _WaitingMembers()).add(entry)
        async for group in _paced(found, ITEMS_PER_STEP):
            yield self._group(group, found[group])

    def waiting(self, uid: str) -> Mapping[str, Any] | None:
        """One of these; None where it does not wait."""
        entry = self._queue.get(uid)
        if entry is None or entry.state is None:
            return None
        return self._waiting(entry, entry.state)

    async def differences(self) -> AsyncGenerator[Mapping[str, str], None]:
        """What ``compare`` finds, one mapping a difference."""
        for difference in await self.compare():
            yield difference._asdict()

    # ---- the comparison --------------------------------------------------------------------------

    async def compare(self) -> list[CacheDifference]:
        """Where we differ from the API server, twice in a row. Raises EdgeError when it does not
        answer.
        """
        async with self._comparing:
            found = await self._compare_once()
            if found:
                await self._clock.sleep(RECHECK_DELAY_SECONDS)
                before = set(found)
                found = [
                    difference for difference in await self._compare_once() if difference in before
                ]
            counts = collections.Counter(difference.kind for difference in found)
            self._telemetry.differences({kind: counts[kind] for kind in DIFFERENCE_KINDS})
            return found

    async def _compare_once(self) -> list[CacheDifference]:
        """With a list that is as old as it took to get it."""
        names = set(await self._reads.node_names())
        ours = self._cache.nodes.row_of
        found = [CacheDifference("missed node", name) for name in sorted(names.difference(ours))]
        found += [CacheDifference("redundant node", name) for name in sorted(set(ours) - names)]
        places = {place.uid: place for place in await self._reads.pod_places()}
        async for place in _paced(list(places.values()), PLACES_PER_STEP):
            found += self._compare_pod(place)
        known: list[PodInfo | QueuedPodInfo] = [*self._cache.pod_infos(), *self._queue.entries()]
        async for one in _paced(known, PLACES_PER_STEP):
            if one.pod.metadata.uid not in places:
                node = one.node if isinstance(one, PodInfo) else ""
                found.append(CacheDifference("redundant pod", key(one.pod), ours=node))
        return found

    def _compare_pod(self, place: PodNode) -> Iterator[CacheDifference]:
        """A pod of the API server's, and ours. One that we have just assumed on a node has none
        there yet.
        """
        record = self._cache.pod_info(place.uid)
        if record is not None:
            if record.node != place.node and (place.node or record.state is PodState.OBSERVED):
                yield CacheDifference("misplaced pod", place.name, record.node, place.node)
        elif self._queue.get(place.uid) is not None:
            if place.node:
                yield CacheDifference("misplaced pod", place.name, "", place.node)
        elif place.node or not place.terminating:
            # one that is going is not placed any more, and so not queued
            yield CacheDifference("missed pod", place.name, "", place.node)

    # ---- to the log ------------------------------------------------------------------------------

    def request(self) -> None:
        """Have everything logged, soon."""
        self._requested.set()

    async def run(self) -> None:
        """Log what was requested, until cancelled."""
        while True:
            await self._requested.wait()
            self._requested.clear()
            with guard("looking inside"):
                try:
                    await self._log()
                except EdgeError as error:
                    log.error("the cache cannot be compared with the API server: %s", error)

    async def _log(self) -> None:
        await self._log_each("cached node", self.nodes())
        await self._log_each("waiting pod", self.pods())
        total = self._queue.totals()
        log.info(
            "the cache holds %d nodes and %d pods",
            len(self._cache.nodes),
            len(self._cache),
            extra=dataclasses.asdict(total),
        )
        differences = await self.compare()
        await self._log_each(
            "the cache differs from the API server",
            _each(d._asdict() for d in differences),
            logging.WARNING,
        )
        log.info("compared with the API server: %d differences", len(differences))

    async def _log_each(
        self, message: str, items: AsyncIterator[Mapping[str, Any]], level: int = logging.INFO
    ) -> None:
        count = 0
        async for item in items:
            fields = {_IN_LOG.get(name, name): value for name, value in item.items()}
            log.log(level, message, extra=fields)
            count += 1
            if count % LINES == 0:
                await self._clock.sleep(LINES_EVERY)

    # ---- inside ----------------------------------------------------------------------------------

    def _waiting(self, entry: QueuedPodInfo, place: QueueState) -> dict[str, Any]:
        pod, outlook, status = entry.pod, self._queue.outlook, entry.pod.status
        deadline, turn = outlook.deadline(entry), outlook.turn(entry)
        least, placed = outlook.group_numbers(entry)
        return {
            "pod": key(pod),
            "uid": entry.uid,
            "owner": _owner(pod),
            "state": place.value,
            "turn": None if turn is None else [float(part) for part in turn],
            "profile": entry.scheduler_name,
            "priority": priority(pod),
            "attempts": entry.attempts,
            "since": self._time(_waits_since(entry)),
            "unschedulablePlugins": sorted(entry.unschedulable_plugins),
            "gatingPlugin": entry.gate_name,
            "group": "" if entry.group is None else str(entry.group),
            "groupMessage": outlook.group_message(entry),
            "groupMinCount": least,
            "groupPlaced": placed,
            "groupRoomHeldUntil": self._held_until(entry.group, entry.scheduler_name),
            "timestamp": self._time(entry.timestamp),
            "until": "" if deadline is None else self._time(deadline),
            "wakesOn": outlook.wakes_on(entry),
            "nominatedNodeName": status.nominated_node_name,
            "message": _told(pod),
        }

    def _group(self, group: PodGroupState, waiting: _WaitingMembers) -> dict[str, Any]:
        groups = self._queue.groups
        return {
            "group": group.name,
            "api": group.key.api,
            "profile": group.scheduler_name,
            "minCount": groups.min_count(group),
            "placed": group.bound,
            "waiting": waiting.count,
            "since": self._time(waiting.since),
            "gateMessage": "" if group.complete else groups.gating_message(group),
            "messages": list(filter(None, waiting.messages)),
            "roomHeldUntil": self._held_until(group.key, group.scheduler_name),
        }

    def _held_until(self, key: GroupKey | None, scheduler_name: str) -> str:
        until = held_until(self._rooms, key, scheduler_name)
        return "" if until is None else self._time(until)

    def _time(self, boottime: float) -> str:
        return wall_time(boottime, self._clock).isoformat(timespec="milliseconds")


@dataclasses.dataclass(slots=True)
class _WaitingMembers:
    """What is told of a group's members that wait; each text once."""

    count: int = 0
    since: float = math.inf
    messages: dict[str, None] = dataclasses.field(default_factory=dict)

    def add(self, entry: QueuedPodInfo) -> None:
        """One more."""
        self.count += 1
        self.since = min(self.since, _waits_since(entry))
        self.messages[_told(entry.pod)] = None


def _waits_since(entry: QueuedPodInfo) -> float:
    return min(entry.initial_attempt_timestamp, entry.timestamp)


def _told(pod: Pod) -> str:
    """What its condition says of its last attempt, "" where it had none."""
    conditions = pod.status.conditions or ()
    return next((one.message for one in conditions if one.type == "PodScheduled"), "")


def _owner(pod: Pod) -> str:
    """Its controller, as ``Kind/name``; "" for none."""
    owners = pod.metadata.owner_references or ()
    return next((f"{one.kind}/{one.name}" for one in owners if one.controller), "")


def _quantities(amounts: Mapping[str, tuple[int, int]], which: int) -> dict[str, str]:
    """Amounts by resource, as quantities; what is 0 is left out."""
    return {
        resource: f"{pair[which]}m" if resource == "cpu" else str(pair[which])
        for resource, pair in amounts.items()
        if pair[which]
    }


def _on_node(record: PodInfo) -> dict[str, str]:
    return {"pod": key(record.pod), "uid": record.pod.metadata.uid, "state": record.state.value}


async def _paced(items: Collection[T], at_once: int) -> AsyncIterator[T]:
    """The items, with a turn for others after so many. What they were taken from may change
    meanwhile.
    """
    for i, item in enumerate(items):
        if i % at_once == at_once - 1:
            await asyncio.sleep(0)
        yield item


async def _each(items: Iterable[T]) -> AsyncIterator[T]:
    for item in items:
        yield item
