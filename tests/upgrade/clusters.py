"""A cluster on which one release takes the place of another."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.load.test_failover import ELECTION, LEASE, PROFILES, holder
from tests.load.traffic import PODS, pod
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import apply, create, read
from tests.rig.operators import NAMESPACE, ROOT, SERVICE_ACCOUNT, Operator, until
from tests.upgrade.releases import Release

_ROOM: Final = {"cpu": "100", "memory": "100Gi", "pods": "1000"}
_DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/moorage"
_PROFILE: Final = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}


class Cluster:
    """A control plane with ten nodes, and with an older release's objects: a context manager."""

    def __init__(self, assets: Path, release: Release) -> None:
        """Starts nothing yet."""
        self.rig: Final = Rig(assets)
        self._release = release
        self._pods = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start."""
        self._stack.enter_context(self.rig)
        self.client = self._stack.enter_context(contextlib.closing(Client(self.rig)))
        self._apply(self._release.source)
        self.kubeconfig = self.rig.service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT)
        status = {"allocatable": _ROOM, "capacity": _ROOM}
        node = {"apiVersion": "v1", "kind": "Node", "status": status}
        create(self.rig, *({**node, "metadata": {"name": f"n{i}"}} for i in range(10)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all replicas, then the control plane."""
        self._stack.close()

    def upgrade(self) -> None:
        """What docs/tasks/upgrade.md has an administrator apply; replicas are the tests' to start.
        A Deployment with another selector goes before.
        """
        labels = self.client.get(_DEPLOYMENT)["spec"]["selector"]["matchLabels"]
        if "app.kubernetes.io/instance" not in labels:
            self.client.delete(_DEPLOYMENT)
        self._apply(ROOT)

    def _apply(self, source: Path) -> None:
        apply(self.rig, *read(source / "crds"), *read(source / "manifests" / "default"))
        self.rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")

    def older(self, name: str, **config: Any) -> Operator:
        """A replica of the older release, running and ready."""
        return self._start(self._release.python, name, config)

    def newer(self, name: str, **config: Any) -> Operator:
        """A replica of this release, running and ready."""
        return self._start(Path(sys.executable), name, config)

    def _start(self, python: Path, name: str, config: Mapping[str, Any]) -> Operator:
        full = {"leaderElection": ELECTION, **config}
        replica = Operator(self.rig, self.kubeconfig, name, full, python)
        self._stack.enter_context(replica)
        replica.wait_logged("health and metrics are served")
        return replica

    @property
    def leader(self) -> str:
        """The replica that holds the Lease; "" for none."""
        with contextlib.suppress(Exception):
            return holder(self.client)
        return ""

    def wait_leader(self, replica: Operator, seconds: float = 20) -> None:
        """Wait until this replica holds the Lease."""
        until(lambda: self.leader == replica.name, f"{replica.name} to lead", seconds)

    def lease(self) -> dict[str, Any]:
        """The Lease's spec."""
        found: dict[str, Any] = self.client.get(LEASE)["spec"]
        return found

    def profile(self, name: str, **spec: Any) -> None:
        """Make a profile, or make its spec so."""
        apply(self.rig, {**_PROFILE, "metadata": {"name": name}, "spec": spec})

    def status(self, name: str) -> dict[str, Any]:
        """A profile's status."""
        found: dict[str, Any] = self.client.get(f"{PROFILES}/{name}").get("status", {})
        return found

    def wait_told(self, name: str, leader: Operator, ready: str, **fields: Any) -> dict[str, Any]:
        """Wait until the leader has written of the profile's newest generation that Ready is so,
        and these fields of status. Returns the status.
        """

        def told() -> dict[str, Any] | None:
            body = self.client.get(f"{PROFILES}/{name}")
            status: dict[str, Any] = body.get("status", {})
            found = condition(status, "Ready")
            good = (
                found.get("status") == ready
                and found.get("observedGeneration") == body["metadata"]["generation"]
                and status.get("leader", {}).get("identity", "").startswith(f"{leader.name}_")
                and fields.items() <= status.items()
            )
            return status if good else None

        return dict(until(told, f"profile {name}: Ready={ready} by {leader.name}, {fields}"))

    def bind(self, profile: str) -> None:
        """A pod of this profile's gets a node."""
        self._pods += 1
        name = f"p{self._pods}"
        self.client.post(PODS, pod(name, profile))
        until(lambda: self.client.get(f"{PODS}/{name}")["spec"].get("nodeName"), f"{name} bound")

    def command(self, python: str | Path, *words: str) -> Any:
        """What a command of a release prints as JSON, asked by the administrator."""
        done = subprocess.run(
            [str(python), "-I", "-m", "moorage", *words, "--output=json"],
            env={**self.rig.environment, "KUBECONFIG": str(self.rig.kubeconfig)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def condition(status: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A condition of a status, {} where it has none of this type."""
    found = (one for one in status.get("conditions", ()) if one["type"] == kind)
    return dict(next(found, {}))
