"""The watcher: looks at the cluster now and then."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import heapq
import http.client
import json
import time
from collections.abc import Sequence
from pathlib import Path

from moorage.apps.demo import cluster_state, samples
from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, ReplicaRow
from moorage.apps.demo.control_plane import OperatorProcess
from moorage.apps.demo.kube_client import KubeClient, KubeClientError

PERIOD_SECONDS = 0.5
SHARE = 5
"""Looking takes at most one part in so many of the time: lists of a large cluster are long."""
MAX_DECISIONS_KEPT = 30
"""Decisions."""
RATE_SECONDS = 10.0
"""Over which it is counted how many pods found a node."""
OLD_SECONDS = 5.0
"""A state of a small cluster that is so old should have been read again."""
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{samples.SYSTEM_NAMESPACE}/leases/moorage"


class ClusterWatcher:
    """Has the state, not older than it must be."""

    def __init__(self, api: KubeClient, replicas: Sequence[OperatorProcess]) -> None:
        self._api = api
        self._replicas = replicas
        self._tails = {replica.name: LogTail(replica.log) for replica in replicas}
        self._began = self._took = 0.0
        self.state = ClusterState()

    def look(self, period: float = PERIOD_SECONDS) -> ClusterState:
        """The state, read again when the last time was so long ago. Raises KubeClientError."""
        started = time.monotonic()
        if started >= self._began + max(period, SHARE * self._took):
            self._began, state = started, self._read()
            now = time.monotonic()
            self._took = now - started
            fresh = max(OLD_SECONDS, 2 * SHARE * self._took)
            self.state = dataclasses.replace(state, read_at=now, fresh_seconds=fresh)
        return self.state

    def _read(self) -> ClusterState:
        pods = self._api.items("/api/v1/pods")
        leader = self._leader()
        for tail in self._tails.values():
            tail.read()
        profiles = self._api.items(samples.path("SchedulerProfile"))
        return ClusterState(
            profiles=tuple(map(cluster_state.profile, profiles)),
            nodes=cluster_state.node_uses(self._api.items("/api/v1/nodes"), pods),
            decisions=self._decisions(),
            replicas=tuple(_row(replica, leader) for replica in self._replicas),
            swaps=dict(self._tails[leader].swaps) if leader in self._tails else {},
            places=cluster_state.places(pods),
            refused=cluster_state.refused(pods),
            failed=cluster_state.failed(pods),
            owners=cluster_state.owners(pods),
            gated=cluster_state.gated(pods),
            placed_per_second=self._placed() / RATE_SECONDS,
        )

    def _leader(self) -> str:
        """The name of the replica that holds the Lease; ""."""
        try:
            return cluster_state.leader(self._api.get(LEASE))
        except KubeClientError as error:
            if error.code != http.client.NOT_FOUND:
                raise
            return ""

    def _placed(self) -> int:
        """How many pods found a node lately."""
        since = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=RATE_SECONDS)
        return sum(tail.placed_since(since) for tail in self._tails.values())

    def _decisions(self) -> tuple[DecisionRow, ...]:
        newest = heapq.nlargest(
            MAX_DECISIONS_KEPT,
            (each for tail in self._tails.values() for each in tail.decisions),
            key=lambda each: each.at,
        )
        return tuple(newest)


def _row(replica: OperatorProcess, leader: str) -> ReplicaRow:
    leads = replica.name == leader and replica.pid is not None
    return ReplicaRow(replica.name, replica.pid, leads)


class LogTail:
    """Decisions and swaps of a log that grows."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_up_to = 0
        self.decisions: collections.deque[DecisionRow] = collections.deque(
            maxlen=MAX_DECISIONS_KEPT
        )
        self.swaps: dict[str, datetime.datetime] = {}
        self._placed: collections.deque[datetime.datetime] = collections.deque()

    def placed_since(self, moment: datetime.datetime) -> int:
        """How many pods found a node after this; what was before it is forgotten."""
        while self._placed and self._placed[0] <= moment:
            self._placed.popleft()
        return len(self._placed)

    def read(self) -> None:
        """Take in what was added; a line that is being written waits for the next time."""
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as log:
            log.seek(self._read_up_to)
            lines, _, _ = log.read().rpartition(b"\n")
            self._read_up_to += len(lines) + bool(lines)
            for line in lines.splitlines():
                if b'"decided"' in line:
                    decision = cluster_state.decision(json.loads(line))
                    self.decisions.append(decision)
                    if decision.node:
                        self._placed.append(decision.at)
                elif b'"swapped"' in line:
                    record = json.loads(line)
                    self.swaps[record["revision"]] = cluster_state.logged_at(record)
