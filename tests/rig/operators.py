"""The operator on a rig: installed from the shipped manifests, run as replicas with its own
ServiceAccount's rights.
"""

import contextlib
import http.client
import json
import signal
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.rig.base import ControlPlane
from tests.rig.clients import Client
from tests.rig.doors import PlainDoor
from tests.rig.objects import apply, read
from tests.rig.processes import Child, RigError, free_ports, wait_until

ROOT: Final = Path(__file__).parents[2]
NAMESPACE: Final = "moorage-system"
SERVICE_ACCOUNT: Final = "moorage"


def install(rig: ControlPlane, variant: str = "default") -> Path:
    """Apply what `kubectl apply -k manifests/VARIANT` gives a cluster, but for the Deployment's
    configuration.

    Returns the kubeconfig of the operator's ServiceAccount.
    """
    apply(rig, *read(ROOT / "manifests" / variant))
    rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
    return rig.service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT)


class Operator:
    """One replica, logging JSON into a file; a context manager that ends it, and kills it when that
    takes long.
    """

    def __init__(
        self,
        rig: ControlPlane,
        kubeconfig: Path,
        name: str,
        config: Mapping[str, Any] | None = None,
        python: str | Path = sys.executable,
    ) -> None:
        """`config` is laid over an OperatorConfiguration that logs decisions and serves on a free
        port of loopback, `secure_port`.

        `python` is the interpreter of the environment that the operator is installed in.
        """
        self.name: Final = name
        self._rig = rig
        (self.secure_port,) = free_ports(1)
        self.log_file: Final = rig.folder / f"{name}.log"
        self._config = rig.folder / f"{name}.yaml"
        document = {
            "apiVersion": "config.moorage.dev/v1alpha1",
            "kind": "OperatorConfiguration",
            "logging": {"format": "json", "verbosity": 2},
            **(config or {}),
            "serving": {
                "bindAddress": "127.0.0.1",
                "securePort": self.secure_port,
                **(config or {}).get("serving", {}),
            },
        }
        self._config.write_text(json.dumps(document))
        self._command = [
            str(python),
            "-I",
            "-m",
            "moorage",
            "run",
            f"--kubeconfig={kubeconfig}",
            f"--config={self._config}",
        ]
        self._child: Child | None = None
        self._door: PlainDoor | None = None

    def start(self) -> Self:
        """Start the process; does not wait."""
        environment = {**self._rig.environment, "HOSTNAME": self.name}
        self._child = Child(self._command, self.log_file, environment)
        return self

    def wait_logged(self, message: str, seconds: float = 60) -> dict[str, Any]:
        """Wait for a log line with this message; returns it."""
        wait_until(
            lambda: any(line["msg"] == message for line in self.log()),
            [self.child],
            f"{self.name}: {message!r}",
            seconds,
        )
        return next(line for line in self.log() if line["msg"] == message)

    @property
    def port(self) -> int:
        """Where it can be asked in plain HTTP: a door to `secure_port`, for what speaks no TLS."""
        if self._door is None:
            self._door = PlainDoor(self.secure_port)
        return self._door.port

    def ask(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        certified: bool = True,
        credentials: tuple[Path, Path | None] | None = None,
    ) -> tuple[int, str]:
        """GET from its own server, with the administrator's certificate or a given one; returns
        status and text.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # it signs its certificate itself
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certified:
            context.load_cert_chain(*(credentials or self._rig.credentials))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.secure_port, timeout=30, context=context
        )
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def fetched(self, path: str) -> str:
        """What it serves to the administrator, as soon as it has read whose certificates count."""

        def served() -> str:
            status, text = self.ask(path)
            if status not in (http.client.OK, http.client.UNAUTHORIZED):
                raise RigError(f"{self.name} answers {path} with {status}: {text}")
            return text if status == http.client.OK else ""

        return str(until(served, f"{path} of {self.name}", 10))

    @property
    def child(self) -> Child:
        """The running process."""
        assert self._child is not None
        return self._child

    @property
    def alive(self) -> bool:
        """Whether it is still running."""
        try:
            self.child.require_alive()
        except RigError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._close_door()
        self.child.stop(0)

    def terminate(self, seconds: float = 20) -> int:
        """SIGTERM; returns the exit code."""
        self._close_door()
        return self.child.stop(seconds)

    def _close_door(self) -> None:
        if self._door is not None:
            self._door.close()
        self._door = None

    def signal(self, number: signal.Signals) -> None:
        """Send any signal."""
        self.child.send(number)

    def log(self) -> Iterator[dict[str, Any]]:
        """The lines logged so far; a line still being written is left out."""
        with self.log_file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.endswith("\n") and line.startswith("{"):
                    yield json.loads(line)

    def rss(self) -> int:
        """Resident memory in bytes."""
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        return next(
            int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS")
        )

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it by SIGTERM: then a leader gives its lease back, and the next test need not wait
        for that to run out.
        """
        self.terminate(5)


def wait_for(rig: ControlPlane, condition: str, what: str, seconds: float = 30) -> None:
    """Wait for a condition of an object, such as Ready of `sprof/binpack`; pods are those of
    namespace default.
    """
    kind, _, name = what.partition("/")
    path = {
        "sprof": "/apis/moorage.dev/v1alpha1/schedulerprofiles",
        "pod": "/api/v1/namespaces/default/pods",
    }[kind]
    with contextlib.closing(Client(rig)) as client:

        def met() -> bool:
            conditions = client.get(f"{path}/{name}").get("status", {}).get("conditions", ())
            return any((one["type"], one["status"]) == (condition, "True") for one in conditions)

        until(met, f"{condition} of {what}", seconds)


def until(check: Any, what: str, seconds: float = 30) -> Any:
    """Call `check` until it gives something true, and return that. Fails with `what` when time is
    up.
    """
    deadline = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} took more than {seconds:.0f} s")
        time.sleep(0.05)
    return found
