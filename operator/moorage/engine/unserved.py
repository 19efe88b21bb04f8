"""Unserved pods: those that wait for a profile which is there and cannot serve them; they are told so, by the leader."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api import bodies
from moorage.api.conditions import Reason
from moorage.core.objects.pods import Pod
from moorage.core.queue.scheduling_queue import Backlog
from moorage.engine.failures import SCHEDULER_ERROR, Failures, Verdict
from moorage.engine.profiles import ProfileRecord
from moorage.engine.swapping import Swapper


class Unserved:
    """See the module's docstring."""

    def __init__(self, swapper: Swapper, backlog: Backlog, failures: Failures) -> None:
        self._swapper = swapper
        self._backlog = backlog
        self._failures = failures

    def came(self, pod: Pod) -> None:
        """A pod came into the backlog."""
        for record in self._never_good():
            if bodies.scheduler_name(record.body) == pod.spec.scheduler_name:
                self._explain(pod, record)
                return

    def settled(self) -> None:
        """Profiles were settled."""
        for record in self._never_good():
            for pod in self._backlog.held(bodies.scheduler_name(record.body)):
                self._explain(pod, record)

    def tell(self, pod: Pod, text: str) -> None:
        """Say to a waiting pod that its profile is what it lacks; a gated one has the API server's own word on why it waits."""
        if not pod.spec.scheduling_gates:
            self._failures.report_once(Verdict(pod, SCHEDULER_ERROR, text))

    def _never_good(self) -> Iterator[ProfileRecord]:
        """Profiles whose pods only a better spec helps; none while another replica leads."""
        for record in self._swapper.records.values() if self._swapper.leading else ():
            if record.active is None and record.errors and not record.conflicts:
                yield record

    def _explain(self, pod: Pod, record: ProfileRecord) -> None:
        hung = any(error.reason == Reason.PLUGIN_QUARANTINED for error in record.errors)
        what = "cannot be served any more" if hung or record.lost else "has never been valid"
        self.tell(pod, f"SchedulerProfile {record.name!r} {what}: {'; '.join(map(str, record.errors))}")
