"""Unmatched pods, whose profile is missing: nobody has its name, it was deleted, or it has never
been valid.
"""

from __future__ import annotations

import difflib
import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from moorage.api import bodies
from moorage.api.conditions import ConditionReason
from moorage.api.pod_reviews import DEFAULT_SCHEDULER
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.profile_records import ProfileRecord, ProfileRecords
from moorage.engine.reports.pod_conditions import (
    SCHEDULER_ERROR,
    PodConditionUpdate,
    PodConditionWriter,
    pod_object,
)
from moorage.engine.slices import LOOP_SLICE_SECONDS
from moorage.ports.bundle import Ports
from moorage.ports.event_recorder import Event

REPORT_NEAR_AFTER_SECONDS = 4.0
"""Seconds without a node after which a pod is told that its schedulerName is nearly a profile's."""
REPORT_AFTER_SECONDS = 60.0
"""The same where a profile that was deleted had it: it may come back."""
MIN_SIMILARITY = 0.8
"""How alike two names are (difflib's ratio) that are taken for one and its misspelling: schedulers'
names have endings in common.
"""
MAX_REMEMBERED = 1000
"""Names of deleted profiles, and explanations of names, that are kept."""


class DeletedProfile(NamedTuple):
    """A profile that was deleted, and when (boottime)."""

    profile: str
    at: float


class Explanation(NamedTuple):
    """What is wrong with a schedulerName, "" for nothing that we know of, and after how many
    seconds without a node a pod is told.
    """

    text: str = ""
    after: float = REPORT_AFTER_SECONDS


class UnmatchedPods:
    """Reports to pods that no profile serves them. ``report(pod, text)`` gives a pod an event and a
    condition, unless it has just these.
    """

    def __init__(
        self,
        live: LiveRevisions,
        queue: SchedulingQueue,
        ports: Ports,
        foreign: Collection[str],
        report: Callable[[Pod, str], None],
    ) -> None:
        self._live = live
        self._queue = queue
        self._clock = ports.clock
        self._events = ports.events
        # what pods have that ask for nobody in particular: they get no event
        self._foreign = {DEFAULT_SCHEDULER, *foreign}
        self._report = report
        self._names: dict[str, str] = {}
        """Profile -> schedulerName, those of other installations too."""
        self._served: frozenset[str] = frozenset()
        self._deleted: dict[str, DeletedProfile] = {}
        """By schedulerName, the latest last."""
        self._orphans: deque[str] = deque()
        """UIDs of pods that are to hear of their profile's end."""
        self._waiting: list[tuple[float, str]] = []
        """A heap: (when to check it, UID)."""
        self._explanations: dict[str, Explanation] = {}
        """By schedulerName."""

    # ---- what happens ----------------------------------------------------------------------------

    def profile_changed(self, profile: str, scheduler_name: str | None) -> None:
        """A SchedulerProfile, of whatever installation, has this schedulerName; None: it is
        gone.
        """
        before = self._names.pop(profile, None)
        if scheduler_name is not None:
            self._names[profile] = scheduler_name
            self._deleted.pop(scheduler_name, None)
        if before != scheduler_name:
            self._served = frozenset(self._names.values())
            self._explanations.clear()

    def profile_orphaned(self, scheduler_name: str, profile: str) -> None:
        """A profile of ours is gone, and no other one has its schedulerName."""
        self._deleted[scheduler_name] = DeletedProfile(profile, self._clock.boottime())
        self._explanations.clear()
        if len(self._deleted) > MAX_REMEMBERED:
            del self._deleted[next(iter(self._deleted))]
        if self._live.leading:
            self._orphans.extend(entry.uid for entry in self._queue.entries(scheduler_name))

    def pod_queued(self, pod: Pod) -> None:
        """A pod came into the queue."""
        if self._is_unmatched(pod.spec.scheduler_name):
            self._check_after(REPORT_NEAR_AFTER_SECONDS, pod.metadata.uid)

    def lead(self) -> None:
        """From now on this replica reports; the leader before it may have left some out."""
        for name in self._deleted:
            self._orphans.extend(
                entry.uid for entry in self._queue.entries(name) if self._is_orphan(entry)
            )
        self._waiting = [
            (entry.timestamp + REPORT_NEAR_AFTER_SECONDS, entry.uid)
            for entry in self._queue.entries()
            if self._is_unmatched(entry.scheduler_name) and not self._is_orphan(entry)
        ]
        heapq.heapify(self._waiting)

    def tick(self) -> None:
        """Report those whose time has come, for as long as a slice."""
        until = self._clock.boottime() + LOOP_SLICE_SECONDS
        for _ in range(len(self._orphans)):
            self._report_orphan(self._orphans.popleft())
            if self._clock.boottime() >= until:
                return
        while self._waiting and self._waiting[0][0] <= self._clock.boottime() < until:
            self._check(heapq.heappop(self._waiting)[1])

    # ---- inside ----------------------------------------------------------------------------------

    def _check_after(self, seconds: float, uid: str) -> None:
        heapq.heappush(self._waiting, (self._clock.boottime() + seconds, uid))

    def _is_unmatched(self, scheduler_name: str) -> bool:
        return scheduler_name not in self._served and scheduler_name not in self._foreign

    def _is_orphan(self, entry: QueuedPodInfo) -> bool:
        """Whether it was there when its profile went; asked before this replica has tried any
        pod.
        """
        gone = self._deleted.get(entry.scheduler_name)
        return gone is not None and entry.timestamp <= gone.at

    def _report_orphan(self, uid: str) -> None:
        entry = self._queue.get(uid)
        gone = self._deleted.get(entry.scheduler_name) if entry is not None else None
        if entry is None or gone is None:
            return
        if entry.state is QueueState.IN_FLIGHT:
            self._orphans.append(uid)  # it may yet be bound
        elif entry.state is QueueState.UNSERVED:
            alone = f"no other one has the schedulerName {entry.scheduler_name!r}"
            self._report(entry.pod, f"{_deleted_profile_text(gone.profile)}, and {alone}")

    def _check(self, uid: str) -> None:
        entry = self._queue.get(uid)
        if (
            entry is None
            or entry.state is not QueueState.UNSERVED
            or not self._live.leading
            or not self._is_unmatched(entry.scheduler_name)
        ):
            return
        if entry.pod.spec.scheduling_gates:  # it has the API server's own word on why it waits
            self._check_after(REPORT_AFTER_SECONDS, uid)
            return
        text, after = self._explanation(entry)
        left = entry.timestamp + after - self._clock.boottime()
        if left > 0:
            self._check_after(left, uid)
        elif text:
            self._events.record(_unknown_scheduler(entry.pod, text))

    def _explanation(self, entry: QueuedPodInfo) -> Explanation:
        name = entry.scheduler_name
        if name not in self._explanations:
            if len(self._explanations) >= MAX_REMEMBERED:
                self._explanations.clear()
            self._explanations[name] = self._explain(name)
        return self._explanations[name]

    def _explain(self, name: str) -> Explanation:
        nobody = f"no SchedulerProfile has the schedulerName {name!r}"
        if (gone := self._deleted.get(name)) is not None:
            return Explanation(f"{nobody}: {_deleted_profile_text(gone.profile)}")
        alike = {served.lower(): served for served in sorted(self._served)}
        close = difflib.get_close_matches(name.lower(), alike, n=1, cutoff=MIN_SIMILARITY)
        if not close:
            return Explanation()
        meant = alike[close[0]]
        return Explanation(f"{nobody}; did you mean {meant!r}?", REPORT_NEAR_AFTER_SECONDS)


def _unknown_scheduler(pod: Pod, text: str) -> Event:
    return Event(
        pod_object(pod),
        "UnknownScheduler",
        text,
        "Scheduling",
        controller="moorage",
        warning=True,
        once=True,
    )


def _deleted_profile_text(profile: str) -> str:
    return f"SchedulerProfile {profile!r} was deleted"


class PodsOfInvalidProfiles:
    """Reports to pods that wait for a profile which cannot be used what is wrong with it."""

    def __init__(
        self,
        live: LiveRevisions,
        records: ProfileRecords,
        queue: SchedulingQueue,
        pod_conditions: PodConditionWriter,
    ) -> None:
        self._live = live
        self._records = records
        self._queue = queue
        self._pod_conditions = pod_conditions

    def pod_queued(self, pod: Pod) -> None:
        """A pod came into the queue."""
        for record in self._invalid_profiles():
            if bodies.scheduler_name(record.body) == pod.spec.scheduler_name:
                self._explain(pod, record)
                return

    def profiles_reconciled(self) -> None:
        """Explain to the pods of profiles that never were valid why they wait."""
        for record in self._invalid_profiles():
            for pod in self._queue.unserved(bodies.scheduler_name(record.body)):
                self._explain(pod, record)

    def report(self, pod: Pod, text: str) -> None:
        """Say to a waiting pod that its profile is what it lacks; a gated one has the API server's
        own word on why it waits.
        """
        if not pod.spec.scheduling_gates:
            self._pod_conditions.report_if_new(PodConditionUpdate(pod, SCHEDULER_ERROR, text))

    def _invalid_profiles(self) -> Iterator[ProfileRecord]:
        """Profiles whose pods only a better spec helps; none while another replica leads."""
        if not self._live.leading:
            return
        for record in self._records.profiles.values():
            if record.active is None and record.errors and not record.conflicts:
                yield record

    def _explain(self, pod: Pod, record: ProfileRecord) -> None:
        hung = any(error.reason == ConditionReason.PLUGIN_QUARANTINED for error in record.errors)
        what = "cannot be served any more" if hung or record.lost else "has never been valid"
        self.report(
            pod, f"SchedulerProfile {record.name!r} {what}: {'; '.join(map(str, record.errors))}"
        )
