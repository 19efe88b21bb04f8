"""The stage: the running demo. Every wait goes through ``turn``, which looks after the replicas and
the table meanwhile.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from moorage.apps.demo import samples
from moorage.apps.demo.cluster_state import ClusterState
from moorage.apps.demo.control_plane import ControlPlane, OperatorProcess
from moorage.apps.demo.kube_client import KubeClient, KubeClientError
from moorage.apps.demo.samples import LoadGenerator
from moorage.apps.demo.screen import Screen
from moorage.apps.demo.tour import NotObserved
from moorage.apps.demo.watcher import ClusterWatcher

T = TypeVar("T")
TURN_SECONDS = 0.05
"""Seconds between two turns."""


@dataclasses.dataclass(slots=True)
class DemoSession:
    """A ``tour.TourStage`` on processes and a cluster that really run."""

    plane: ControlPlane
    replicas: Sequence[OperatorProcess]
    api: KubeClient
    watcher: ClusterWatcher
    screen: Screen
    pace: float

    def turn(self) -> None:
        """One round. Raises ProcessFailed when the control plane has ended."""
        time.sleep(TURN_SECONDS)
        self.plane.require()
        for replica in self.replicas:
            replica.look_after()
        self.screen.show(self._last())

    def run(self) -> None:
        """Make pods come and go until Ctrl-C."""
        tide = LoadGenerator(self.api)
        while True:
            self.turn()
            if self.screen.live:
                try:
                    tide.move(time.monotonic(), len(self.watcher.state.nodes))
                except KubeClientError:
                    # turn says whether the control plane has ended; else there is a next time
                    continue

    def _last(self) -> ClusterState:
        try:
            return self.watcher.look()
        except KubeClientError:  # as above
            return self.watcher.state

    # ---- for the tour ----------------------------------------------------------------------------

    def look(self) -> ClusterState:
        """The cluster, as new as can be."""
        state = self.watcher.look(period=0.0)
        self.screen.show(state)
        return state

    def until(self, check: Callable[[], T | None], what: str, seconds: float) -> T:
        """Wait until ``check`` gives something true, and return that. Raises NotObserved."""
        deadline = time.monotonic() + seconds
        while not (found := check()):
            if time.monotonic() > deadline:
                raise NotObserved(f"waited {seconds:.0f} s for {what}")
            self.turn()
        return found

    def merge(self, kind: str, name: str, patch: Mapping[str, Any]) -> None:
        self.api.merge(samples.path(kind, name), patch)

    def create(self, kind: str, body: Mapping[str, Any]) -> None:
        self.api.create(samples.path(kind), body)

    def kill(self, replica: str) -> None:
        next(each for each in self.replicas if each.name == replica).kill()

    def say(self, text: str = "", style: str | None = None) -> None:
        self.screen.say(text, style)

    def pause(self) -> None:
        """As long as the pace says, or until somebody presses Enter."""
        deadline = time.monotonic() + self.pace
        while time.monotonic() < deadline and not self.screen.key():
            self.turn()
