"""What the reproductions share: a cluster with nodes, profiles and the operator as a process,
proxies before the API server, figures.

It stands on the project's own rig (tests.rig): when that changes, only this file has to follow.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from tests.rig import DevRig, Rig, RigError
from tests.rig.clients import Client, many
from tests.rig.environments import Environment
from tests.rig.operators import Operator, install

PODS = "/api/v1/namespaces/default/pods"
API = "/apis/moorage.dev/v1alpha1"
DRA = "/apis/resource.k8s.io/v1"
MIB = 1 << 20


def _broken(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A reproduction that fails by itself has shown nothing: exit status 2, not 1."""
    sys.__excepthook__(kind, error, trace)
    os._exit(2)


sys.excepthook = _broken


def verdict(fault: bool, figures: str) -> NoReturn:
    """One line, and the exit status: 1 when the fault is there."""
    sys.stdout.write(f"{figures}\n")
    sys.stdout.flush()
    raise SystemExit(1 if fault else 0)


def not_tried(why: str) -> NoReturn:
    """What is needed is not here."""
    sys.stdout.write(f"not tried: {why}\n")
    sys.stdout.flush()
    raise SystemExit(2)


def creation(path: str, body: dict[str, Any]) -> Callable[[Client], object]:
    """Creates this object: for ``tests.rig.clients.many``."""
    return lambda client: client.post(path, body)


def until(check: Callable[[], Any], seconds: float, pause: float = 0.1) -> Any:
    """Call it until it gives something true or time is up; returns what it gave last."""
    end = time.monotonic() + seconds
    while not (found := check()) and time.monotonic() < end:
        time.sleep(pause)
    return found


def pod_body(
    name: str,
    *,
    node: str = "",
    scheduler: str = "test",
    cpu: str = "10m",
    requests: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod of one container. Extended resources need limits equal to requests."""
    asked = requests or {}
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"cpu": cpu, **asked}, "limits": asked},
    }
    meta = {
        "name": name,
        **({"labels": labels} if labels else {}),
        **({"annotations": annotations} if annotations else {}),
    }
    body = {
        "schedulerName": scheduler,
        "containers": [container],
        "tolerations": [{"operator": "Exists"}],
        **spec,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {**body, **({"nodeName": node} if node else {})},
    }


def node_body(
    name: str, labels: dict[str, str] | None = None, **allocatable: str
) -> dict[str, Any]:
    """A node with room."""
    room = {
        "cpu": "64",
        "memory": "256Gi",
        "pods": "2000",
        "ephemeral-storage": "1Ti",
        **allocatable,
    }
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "status": {"allocatable": room, "capacity": room},
    }


class Stage:
    """A cluster (embedded; ``real``: etcd and kube-apiserver), nodes n0, n1, ..., profiles, and one
    replica that leads.
    """

    def __init__(
        self,
        nodes: int = 2,
        profiles: tuple[str, ...] = ("test",),
        config: dict[str, Any] | None = None,
        real: bool = False,
        room: dict[str, Any] | None = None,
        between: Callable[[Any], Any] | None = None,
        package: tuple[str, str] | None = None,
        start: bool = True,
    ) -> None:
        """``between`` makes a proxy for the rig; ``package`` is (name, source) of a plugin package
        to have installed.
        """
        self._nodes, self._profiles, self._config, self._real, self._start = (
            nodes,
            profiles,
            config or {},
            real,
            start,
        )
        self._room, self._between, self._package = room or {}, between, package
        self._stack = contextlib.ExitStack()
        self._count = 0
        self.proxy: Any = None

    def __enter__(self) -> Stage:
        if self._real:
            assets = Path(os.environ.get("KUBEBUILDER_ASSETS", ""))
            if not (assets / "kube-apiserver").exists():
                not_tried("there is no kube-apiserver: make assets, or set KUBEBUILDER_ASSETS")
            self.rig: Any = self._stack.enter_context(Rig(assets))
        else:
            self.rig = self._stack.enter_context(DevRig())
        self.kubeconfig = self.direct = install(self.rig)
        self.client = self._stack.enter_context(contextlib.closing(Client(self.rig)))
        many(self.rig, [functools.partial(self._node, i) for i in range(self._nodes)])
        for name in self._profiles:
            self.profile(name)
        if self._between:
            self.proxy = self._stack.enter_context(self._between(self.rig))
            document = json.loads(self.kubeconfig.read_text())
            document["clusters"][0]["cluster"].update(server=self.proxy.url)
            self.kubeconfig = self.rig.folder / "through-proxy.kubeconfig"
            self.kubeconfig.write_text(json.dumps(document))
        self.python = sys.executable
        if self._package:
            name, source = self._package
            self.environment = Environment(self.rig.folder / "environment")
            (self.site,) = (self.rig.folder / "environment" / "lib").glob("python*/site-packages")
            (self.site / f"{name}.py").write_text(source)
            self.python = str(self.environment.python)
            self._config = {"plugins": {"packages": [name]}, **self._config}
        if self._start:
            self.operator = self.new_operator()
            self.operator.wait_logged("leading", 60)
            for name in self._profiles:
                self.ready(name, 15)
        return self

    def __exit__(self, *ended: Any) -> None:
        self._stack.close()

    def _node(self, i: int, client: Client) -> None:
        body = node_body(f"n{i}", **self._room)
        made = client.post("/api/v1/nodes", body)
        if not made.get("status", {}).get("allocatable"):
            client.merge(f"/api/v1/nodes/n{i}/status", {"status": body["status"]})

    def new_operator(
        self, config: dict[str, Any] | None = None, kubeconfig: Path | None = None
    ) -> Operator:
        """Start another replica, or the same again."""
        self._count += 1
        operator = Operator(
            self.rig,
            kubeconfig or self.kubeconfig,
            f"moorage-{self._count}",
            {**self._config, **(config or {})},
            self.python,
        )
        operator.start()
        self._stack.callback(operator.kill)
        return operator

    def profile(self, name: str, **spec: Any) -> None:
        """Create a SchedulerProfile."""
        self.client.post(
            f"{API}/schedulerprofiles",
            {
                "apiVersion": "moorage.dev/v1alpha1",
                "kind": "SchedulerProfile",
                "metadata": {"name": name},
                "spec": spec,
            },
        )

    def config(self, name: str, plugin: str, args: Any) -> None:
        """Create a PluginConfig."""
        self.client.post(
            f"{API}/pluginconfigs",
            {
                "apiVersion": "moorage.dev/v1alpha1",
                "kind": "PluginConfig",
                "metadata": {"name": name},
                "spec": {"plugin": plugin, "args": args},
            },
        )

    def condition(self, profile: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a profile's condition."""
        found = (
            self.client.get(f"{API}/schedulerprofiles/{profile}")
            .get("status", {})
            .get("conditions", [])
        )
        return next(
            (
                (c["status"], c.get("reason", ""), c.get("message", ""))
                for c in found
                if c["type"] == kind
            ),
            ("", "", ""),
        )

    def ready(self, profile: str, seconds: float) -> None:
        """Wait, at most so long, until the profile is ready."""
        until(lambda: self.condition(profile, "Ready")[0] == "True", seconds)

    def pod(self, name: str, **more: Any) -> None:
        """Create a pod."""
        self.client.post(PODS, pod_body(name, **more))

    def bound(self, name: str, seconds: float = 0) -> str:
        """The pod's node, "" for none; waits for it at most so long."""
        return str(
            until(lambda: self.client.get(f"{PODS}/{name}")["spec"].get("nodeName", ""), seconds)
        )

    def why(self, name: str) -> str:
        """What the pod's condition PodScheduled says."""
        found = self.client.get(f"{PODS}/{name}").get("status", {}).get("conditions", [])
        return next(
            (
                f"{c.get('reason')}: {c.get('message', '')}"
                for c in found
                if c["type"] == "PodScheduled"
            ),
            "no condition",
        )

    def remove(self, *paths: str) -> None:
        """Delete objects at once; those that are gone are no trouble."""
        for path in paths:
            with contextlib.suppress(RigError):
                self.client.delete(path)

    def cpu(self) -> float:
        """Seconds of processor time that the operator has used."""
        fields = Path(f"/proc/{self.operator.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def mib(self) -> float:
        """Resident memory of the operator in MiB. A process that ended is a fault of another
        number: told, and the end of the program.
        """
        if not self.operator.alive:
            verdict(True, f"the process has ended: {self.last_error()[:160]}")
        return self.operator.rss() / MIB

    def last_error(self) -> str:
        """The last line of the log that is graver than a warning."""
        lines = [
            line
            for line in self.operator.log()
            if line.get("level", "").lower() in ("error", "critical")
        ]
        return lines[-1]["msg"] if lines else ""

    def connect(self, seconds: float = 10) -> ssl.SSLSocket:
        """A connection to the operator's own server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # it signs its certificate itself
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(
            socket.create_connection(("127.0.0.1", self.operator.secure_port), timeout=seconds)
        )

    def ask(self, path: str, raw: bytes | None = None, seconds: float = 10) -> bytes:
        """Ask the operator's own server; ``raw`` is sent as it is."""
        with self.connect(seconds) as s:
            s.sendall(
                raw
                if raw is not None
                else f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            )
            found = b""
            with contextlib.suppress(TimeoutError, ConnectionError):
                while part := s.recv(65536):
                    found += part
            return found

    def log_text(self) -> str:
        """All that the operator wrote."""
        return self.operator.log_file.read_text(errors="replace")


class Stream:
    """Ordinary pods, one after another, of somebody else: the longest wait of one from its creation
    to its node is what counts.
    """

    def __init__(
        self, stage: Stage, scheduler: str = "test", pause: float = 0.2, **spec: Any
    ) -> None:
        self.waits: list[float] = []
        self.server: list[float] = []
        self._stage, self._scheduler, self._pause, self._spec = stage, scheduler, pause, spec
        self._stop = threading.Event()
        self._since = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *ended: Any) -> None:
        self._stop.set()
        self._thread.join(10)

    def worst(self, skip: int = 0) -> float:
        """Seconds; of a pod that waits still, so far."""
        waiting = time.monotonic() - self._since if self._since else 0.0
        return max([*self.waits[skip:], waiting, 0.0])

    def _run(self) -> None:
        with contextlib.closing(Client(self._stage.rig)) as client:
            i = 0
            while not self._stop.is_set():
                name = f"ctl-{self._scheduler}-{i}"
                began = time.monotonic()
                try:
                    client.post(
                        PODS, pod_body(name, scheduler=self._scheduler, cpu="1m", **self._spec)
                    )
                    self.server.append(time.monotonic() - began)
                    # how long the API server took with it is its own matter
                    self._since = began = time.monotonic()
                    while (
                        not client.get(f"{PODS}/{name}")["spec"].get("nodeName")
                        and not self._stop.is_set()
                    ):
                        time.sleep(0.02)
                    self.waits.append(time.monotonic() - began)
                    self._since = 0.0
                    client.delete(f"{PODS}/{name}")
                except (OSError, RigError, ValueError):
                    time.sleep(0.2)
                i += 1
                self._stop.wait(self._pause)
