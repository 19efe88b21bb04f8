"""Units of preemption: pods that go or stay together, and how important they are.

A pod is one; or all pods of a PodGroup with disruption mode all are, on whatever nodes they are. A
unit of a PodGroup has the priority of that, whatever its pods have.
Source: kube-scheduler's preemption (v1.37), KEP-5710.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.core.columns.pod_info import PodInfo
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.pods import Pod, priority
from moorage.core.plugins.default_preemption.candidates import start_time


class Unit(NamedTuple):
    """Pods that go or stay together, and how important they are."""

    records: tuple[PodInfo, ...]
    priority: int
    grouped: bool
    """Whether they are of a PodGroup, be it one of them alone."""

    @property
    def importance(self) -> tuple[int, bool, int, str, str]:
        """Lower for the more important; the UID only fixes the order of equals."""
        pods = self.pods
        started = min(map(start_time, pods))
        uid = min(pod.metadata.uid for pod in pods)
        return -self.priority, not self.grouped, -len(pods), started, uid

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them that can be read; others are in no unit."""
        return tuple(record.pod for record in self.records if isinstance(record.pod, Pod))

    @property
    def uids(self) -> frozenset[str]:
        """Those of all of them."""
        return frozenset(record.pod.metadata.uid for record in self.records)


def units_of(records: Iterable[PodInfo], snapshot: Snapshot) -> list[Unit]:
    """The units that these pods are in, the most important one first. Pods of a unit that would not
    go, or whose node is not there, are left out of it.
    """
    units: dict[str, Unit] = {}
    seen: set[str] = set()
    for record in records:
        uid = record.pod.metadata.uid
        if uid not in seen and isinstance(record.pod, Pod):
            together = sorted(
                (one for one in snapshot.together_with(record) if not one.stuck), key=_rank
            )
            seen.update(one.pod.metadata.uid for one in together)
            level = snapshot.priorities.level_of(record.pod)
            grouped = record.pod.spec.scheduling_group is not None
            units[uid] = Unit(tuple(together), level, grouped)
    return sorted(units.values(), key=lambda unit: unit.importance)


def _rank(record: PodInfo) -> tuple[int, str, str]:
    """Where a pod stands in its unit: by what candidates are compared by."""
    pod: Pod = record.pod  # type: ignore[assignment]  # whoever names a group could be read
    return -priority(pod), start_time(pod), pod.metadata.uid
