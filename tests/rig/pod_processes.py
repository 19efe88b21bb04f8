"""A Deployment's pods as processes: what a kubelet makes of the operator's pods, with the command,
the environment, the configuration and the ServiceAccount that their specs say.

kwok pretends that these pods run. Here they do.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.rig.base import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import until
from tests.rig.processes import Child, free_ports

_LOOK_SECONDS: Final = 0.2


class PodProcess:
    """A running pod of one container."""

    def __init__(self, rig: ControlPlane, pod: Mapping[str, Any], client: Client) -> None:
        """Starts it. Its ports are free ones, as all pods share an address here."""
        self.name: Final[str] = pod["metadata"]["name"]
        self.port, self.admission_port = free_ports(2)
        self.log_file: Final = rig.folder / f"{self.name}.log"
        spec, place = pod["spec"], pod["metadata"]["namespace"]
        (container,) = spec["containers"]
        account = rig.service_account_kubeconfig(place, spec["serviceAccountName"])
        mounted = dict(_mounted(client, rig.folder / self.name, place, spec))
        words = [*container["command"], *container.get("args", ())]
        command = [sys.executable, *(_moved(word, mounted) for word in words[1:])]
        environment = {
            **rig.environment,
            **{each["name"]: _value(each, pod) for each in container.get("env", ())},
            "HOSTNAME": self.name,
            "MOORAGE_CFG_SERVING__BIND_ADDRESS": "127.0.0.1",
            "MOORAGE_CFG_SERVING__SECURE_PORT": str(self.port),
            "MOORAGE_CFG_ADMISSION__PORT": str(self.admission_port),
        }
        self._child = Child([*command, f"--kubeconfig={account}"], self.log_file, environment)

    def kill(self) -> None:
        """SIGKILL."""
        self._child.stop()

    def end(self) -> None:
        """SIGTERM, as long as a kubelet waits."""
        self._child.stop(30)

    def require_alive(self) -> None:
        """Raise RigError with the end of its log where it has ended."""
        self._child.require_alive()

    def log(self) -> Iterator[dict[str, Any]]:
        """The lines logged so far."""
        for line in self.log_file.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)


class Kubelet:
    """Runs the pods of a namespace that have a node, and ends those that are to go; a context
    manager.
    """

    def __init__(self, rig: ControlPlane, namespace: str) -> None:
        self._rig = rig
        self._pods: Final = f"/api/v1/namespaces/{namespace}/pods"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self.running: Final[dict[str, PodProcess]] = {}
        """By the pod's UID. Processes belong to the thread that started them, so the last of them
        ends with it.
        """

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill what still runs."""
        self._ended.set()
        self._thread.join()

    def replicas(self, count: int) -> list[PodProcess]:
        """Wait until so many run."""

        def found() -> list[PodProcess]:
            there = list(self.running.values())
            return there if len(there) == count else []

        processes: list[PodProcess] = until(found, f"{count} pods of the operator", 60)
        return processes

    def _run(self) -> None:
        with contextlib.closing(Client(self._rig)) as client:
            while not self._ended.wait(_LOOK_SECONDS):
                self._look(client)
        for process in self.running.values():
            process.kill()

    def _look(self, client: Client) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in client.get(self._pods)["items"]}
        for uid, pod in pods.items():
            stays = "deletionTimestamp" not in pod["metadata"]
            if stays and pod["spec"].get("nodeName") and uid not in self.running:
                self.running[uid] = PodProcess(self._rig, pod, client)
        for uid in list(self.running):
            if uid not in pods or "deletionTimestamp" in pods[uid]["metadata"]:
                self.running.pop(uid).end()


def _mounted(
    client: Client, folder: Path, place: str, spec: Mapping[str, Any]
) -> Iterator[tuple[str, Path]]:
    """Where the container finds its ConfigMaps, and where they are here."""
    maps = {
        each["name"]: each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each
    }
    for mount in spec["containers"][0]["volumeMounts"]:
        if (name := maps.get(mount["name"])) is None:
            continue
        there = folder / name
        there.mkdir(parents=True)
        found = client.get(f"/api/v1/namespaces/{place}/configmaps/{name}")
        for file, text in found["data"].items():
            (there / file).write_text(text, encoding="utf-8")
        yield mount["mountPath"], there


def _moved(word: str, mounted: Mapping[str, Path]) -> str:
    """The word with the paths that it has here."""
    for path, there in mounted.items():
        word = word.replace(path, str(there))
    return word


def _value(variable: Mapping[str, Any], pod: Mapping[str, Any]) -> str:
    """What a variable is; what comes from a field that nobody has set is ""."""
    if "valueFrom" not in variable:
        return str(variable["value"])
    path: str = variable["valueFrom"]["fieldRef"]["fieldPath"]
    if path.startswith("metadata.labels["):
        return str(pod["metadata"]["labels"][path.split("'")[1]])
    fields: Mapping[str, Callable[[], Any]] = {
        "metadata.namespace": lambda: pod["metadata"]["namespace"],
        "status.hostIP": lambda: pod["status"].get("hostIP", ""),
    }
    return str(fields[path]())
