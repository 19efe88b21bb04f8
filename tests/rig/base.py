"""What tests may do with a control plane, whichever it is: a real one (``Rig``), or the embedded
cluster (``DevRig``).
"""

from __future__ import annotations

import abc
import contextlib
import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.rig.audits import AuditEvent
from tests.rig.clients import Client
from tests.rig.processes import Child, NoKubectl, RigError, wait_until

_DAY: Final = 24 * 3600


class ControlPlane(abc.ABC):
    """A control plane on loopback without controllers and kubelets, as a context manager; `stop`
    ends it and leaves nothing.

    Its processes are killed when the thread that started them ends, so start it from a thread that
    stays.
    """

    server: str
    """The API server's address."""
    kubeconfig: Path
    """The administrator's."""
    audited: bool
    """Whether it writes down what it was asked."""
    guarded: bool
    """Whether it checks who may do what."""

    def __init__(self, kubectl: Path | None) -> None:
        """Makes the folder of all that it writes; ``kubectl`` is None where there is none."""
        self._kubectl = kubectl
        self._home = tempfile.TemporaryDirectory(prefix="moorage-rig-", ignore_cleanup_errors=True)
        self.folder: Final = Path(self._home.name)
        # Programs must not read or write the user's ~/.kube and ~/.kwok.
        self.environment: Final = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}

    @abc.abstractmethod
    def start(self) -> Self:
        """Start, and wait until the API server is ready. Raises RigError with its log when it
        fails.
        """

    @abc.abstractmethod
    def stop(self) -> None:
        """Kill all processes and remove the folder."""

    @abc.abstractmethod
    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for `user` of `groups`."""

    @abc.abstractmethod
    def audit(self) -> Iterator[AuditEvent]:
        """What the API server has answered so far. Raises RigError where it is not ``audited``."""

    @abc.abstractmethod
    def pids(self) -> list[int]:
        """The process ids; the API server's is the last one."""

    @abc.abstractmethod
    def _server(self) -> Child:
        """The API server's process. Raises RigError when there is none."""

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def pause_apiserver(self) -> None:
        """Freeze the API server: connections stay open and nothing is answered."""
        self._server().send(signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let a frozen API server go on."""
        self._server().send(signal.SIGCONT)

    @property
    def authority_file(self) -> Path:
        """The certificate of the authority that signs for everybody here."""
        return self.folder / "ca.crt"

    @property
    def credentials(self) -> tuple[Path, Path]:
        """The administrator's certificate and its key."""
        return self.folder / "admin.crt", self.folder / "admin.key"

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 (subprocess's word)
        kubeconfig: Path | None = None,
    ) -> str:
        """Run kubectl, as the administrator unless told otherwise; returns what it printed on
        stdout.

        Raises RigError with its stderr when it fails, and NoKubectl.
        """
        if self._kubectl is None:
            raise NoKubectl("NOT TESTED: there is no kubectl, and no Go to build it with")
        command = [str(self._kubectl), f"--kubeconfig={kubeconfig or self.kubeconfig}", *args]
        done = subprocess.run(
            command,
            check=False,
            input=input,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=120,
        )
        if done.returncode:
            raise RigError(
                f"kubectl {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def establish(self, *definitions: str) -> None:
        """Wait until these CRDs are served."""
        with contextlib.closing(Client(self)) as client:

            def established(name: str) -> bool:
                status = client.get(
                    f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
                ).get("status", {})
                return any(
                    (c["type"], c["status"]) == ("Established", "True")
                    for c in status.get("conditions") or ()
                )

            wait_until(
                lambda: all(map(established, definitions)),
                (),
                f"{', '.join(definitions)} to be established",
                30,
            )

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig with a new token of an existing ServiceAccount, valid for a day."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        with contextlib.closing(Client(self)) as client:
            asked = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": _DAY},
            }
            token = client.post(path, asked)["status"]["token"]
        return self._write_kubeconfig(f"{namespace}:{name}", {"token": token})

    def _write_kubeconfig(self, user: str, credentials: dict[str, str]) -> Path:
        """JSON is YAML. Keys are named by path: clients write embedded ones to temporary files,
        which may stay.
        """
        cluster = {"server": self.server, "certificate-authority": str(self.authority_file)}
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "rig", "cluster": cluster}],
                    "users": [{"name": user, "user": credentials}],
                    "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": user}}],
                    "current-context": "rig",
                },
                indent=2,
            )
        )
        return path
