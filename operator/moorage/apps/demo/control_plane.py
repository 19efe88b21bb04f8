"""The demo's control plane, and the operator with two replicas that come back when they die, as a
Deployment's would.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from moorage.apps.demo.processes import Child, Processes, ProcessFailed, free_port

REPLICAS = 2
RESTART_SECONDS = 5.0
LEASE = {"leaseDuration": "5s", "renewDeadline": "3s", "retryPeriod": "1s"}
"""A third of what the operator takes by itself, since somebody watches."""
GRACE_SECONDS = 5.0
"""Seconds in which the control plane may end by itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What the embedded cluster is to be like."""

    nodes: int
    zones: int
    shape: Path | None = None
    port: int = 0

    def command(self) -> list[str]:
        """The command that starts it."""
        nodes = (
            [f"--nodes={self.nodes}", f"--zones={self.zones}"]
            if self.shape is None
            else [f"--shape={self.shape.absolute()}"]
        )
        port = [f"--port={self.port}"] if self.port else []
        return [sys.executable, "-I", "-m", "towtank", *nodes, *port]


class ControlPlane:
    """The API server and what belongs to it, as a process that says where it is: in one line of
    JSON, as ``python -m towtank`` does.
    """

    def __init__(self, processes: Processes, command: Sequence[str]) -> None:
        self._child = processes.start(command, "control-plane", grace=GRACE_SECONDS)
        self.kubeconfig = Path()
        self.operators_kubeconfig = Path()
        """The same, unless the line names another under "operator"."""

    def wait(self) -> None:
        """Until it serves. Raises ProcessFailed."""
        said: dict[str, Any] = json.loads(self._child.first_line())
        self.kubeconfig = Path(said["kubeconfig"])
        self.operators_kubeconfig = Path(said.get("operator", self.kubeconfig))

    def require(self) -> None:
        """Raises ProcessFailed when it has ended."""
        if self._child.ended:
            raise ProcessFailed(f"the control plane has ended: {self._child.last_words()}")


class OperatorProcess:
    """A process of the operator, logging JSON; started again some seconds after it has died.
    ``configured`` is what the user's OperatorConfiguration says.
    """

    def __init__(
        self, processes: Processes, name: str, kubeconfig: Path, configured: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.port = free_port()
        """Of /metrics and /debug."""
        self.log = processes.folder / f"{name}.log"
        self._processes = processes
        self._recordings = processes.folder / f"{name}-recordings"
        config = processes.folder / f"{name}.yaml"
        config.write_text(json.dumps({**configured, **self._own()}), encoding="utf-8")
        self._command = [
            sys.executable,
            "-I",
            "-m",
            "moorage",
            "run",
            f"--kubeconfig={kubeconfig}",
            f"--config={config}",
        ]
        self._child: Child | None = self._start()
        self._died = 0.0

    @property
    def pid(self) -> int | None:
        """Its process; None while it is dead."""
        return self._child.pid if self._child else None

    def kill(self) -> None:
        """SIGKILL, as when its node dies."""
        if self._child:
            self._bury(self._child)

    def look_after(self) -> None:
        """Notice that it has died; start it again when its time has come."""
        if self._child and self._child.ended:
            self._bury(self._child)
        elif not self._child and time.monotonic() >= self._died + RESTART_SECONDS:
            self._child = self._start()

    def _bury(self, child: Child) -> None:
        self._processes.reap(child)
        self._child, self._died = None, time.monotonic()

    def _start(self) -> Child:
        return self._processes.start(self._command, self.name, environment={"HOSTNAME": self.name})

    def _own(self) -> dict[str, Any]:
        """What the demo itself needs, whatever else is configured."""
        return {
            "apiVersion": "config.moorage.dev/v1alpha1",
            "kind": "OperatorConfiguration",
            "controllerName": "moorage",
            "leaderElection": LEASE,
            "logging": {"format": "json", "verbosity": 2},
            "recording": {"directory": str(self._recordings)},
            "serving": {"bindAddress": "127.0.0.1", "securePort": self.port},
        }


def settings_of(config: Path | None) -> Mapping[str, Any]:
    """What an OperatorConfiguration says, plugins and all of it checked. Raises WrongUse."""
    if config is None:
        return {}
    from moorage.api.operator_config import dump_config
    from moorage.apps.plugin_resolver import configuration_of, resolver_of

    resolver_of(config)
    settings: Mapping[str, Any] = yaml.safe_load(dump_config(configuration_of(config)))
    return settings
