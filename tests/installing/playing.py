"""Somebody who plays the kubelets of a cluster: pods of an installation become Ready, and in one of
each the operator really runs, by the rights of the pod's account and with its configuration.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import yaml

from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import Operator
from tests.rig.processes import RigError, free_ports

INSTANCE: Final = "app.kubernetes.io/instance"
NAMESPACE: Final = "moorage-system"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_READY: Final = {"type": "Ready", "status": "True"}


class Done(NamedTuple):
    """How a command ended."""

    status: int
    lines: list[str]
    errors: str


class Played:
    """The cluster; a context manager. ``admission_port`` is where the operator is asked about
    objects, any free one if it is 0.
    """

    def __init__(self, rig: ControlPlane) -> None:
        self.rig: Final = rig
        self.admission_port = 0
        self._operators: dict[str, Operator] = {}
        self._ended: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._play, daemon=True)

    def __enter__(self) -> Self:
        """Begin to play."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, operators included."""
        self._ended.set()
        self._thread.join(60)
        for operator in self._operators.values():
            operator.kill()

    def moorage(self, *words: str, fails: bool = False) -> Done:
        """A command of ours, as the administrator."""
        done = subprocess.run(
            [sys.executable, "-I", "-m", "moorage", *words, "--kubeconfig", self.rig.kubeconfig],
            env=self.rig.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert fails or done.returncode == 0, f"{done.stdout}{done.stderr}"
        return Done(done.returncode, done.stdout.splitlines(), done.stderr)

    def _play(self) -> None:
        with contextlib.closing(Client(self.rig)) as client:
            while not self._ended.wait(0.1):
                with contextlib.suppress(RigError):  # nothing is there yet, or no more
                    self._step(client)

    def _step(self, client: Client) -> None:
        pods: dict[str, list[str]] = {}
        for pod in client.get(PODS)["items"]:
            if "deletionTimestamp" not in pod["metadata"]:
                instance, name = pod["metadata"]["labels"][INSTANCE], pod["metadata"]["name"]
                pods.setdefault(instance, []).append(name)
        for instance, names in pods.items():
            there = self._operators.get(instance)
            if there is None or there.name not in names:
                if there is not None:
                    there.terminate()
                    there.__exit__(None, None, None)
                self._operators[instance] = self._started(client, instance, names[0])
            for name in names:
                status = {"status": {"phase": "Running", "conditions": [_READY]}}
                client.merge(f"{PODS}/{name}/status", status)

    def _started(self, client: Client, instance: str, pod: str) -> Operator:
        """In this pod, as its Deployment says: but for ports, which others have here."""
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{instance}-config"
        config = yaml.safe_load(client.get(path)["data"]["config.yaml"])
        config.pop("serving", None)
        if config.get("admission"):
            config["admission"]["port"] = self.admission_port or free_ports(1)[0]
        deployment = client.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{instance}")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        named = {one["name"]: one.get("value") for one in container["env"]}
        if controller := named.get("MOORAGE_CFG_CONTROLLER_NAME"):
            config["controllerName"] = controller
        config["leaderElection"] = {"resourceName": instance}
        account = self.rig.service_account_kubeconfig(NAMESPACE, instance)
        return Operator(self.rig, account, pod, config).start()


def objects(played: Played, *documents: dict[str, Any]) -> list[Any]:
    """These as they are in the cluster, without what controllers write."""
    text = "\n---\n".join(map(json.dumps, documents))
    found = json.loads(played.rig.kubectl("get", "-f", "-", "-o", "json", input=text))
    bodies = found["items"] if found["kind"] == "List" else [found]
    for body in bodies:
        body.pop("status", None)
        mine = body["metadata"]
        fields = mine.get("managedFields", [])
        mine["managedFields"] = [one for one in fields if one["manager"] == "moorage-install"]
        del mine["resourceVersion"]
        if body["kind"] == "Deployment":
            mine.get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
    return bodies
