"""The embedded cluster as a control plane for tests: ``python -m towtank`` without its controllers
and kubelets.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml

from tests.rig.audits import AuditEvent
from tests.rig.base import ControlPlane
from tests.rig.processes import Child, RigError, wait_until

BARE: Final = ("--no-controllers",)
"""An API server and nothing else, as ``Rig`` is."""


class DevRig(ControlPlane):
    """The embedded cluster. Who has a certificate or a token may do everything there, and nothing
    is written down.
    """

    audited = guarded = False

    def __init__(self, kubectl: Path | None = None, options: Sequence[str] = BARE) -> None:
        """``options`` are the command's."""
        super().__init__(kubectl)
        self._options: Final = tuple(options)
        self._child: Child | None = None

    def start(self) -> Self:
        """Start the process, and read what it says when it is ready. Raises RigError with its log
        when it fails.
        """
        command = [sys.executable, "-m", "towtank", *self._options]
        try:
            self._child = Child(
                command, self.folder / "towtank.log", self.environment, ends_with_input=True
            )
            wait_until(
                lambda: self._said() is not None, [self._child], "the embedded cluster's start"
            )
            said = self._said() or {}
            self.server = said["server"]
            self._take(Path(said["kubeconfig"]))
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill the process and remove the folder."""
        if self._child:
            self._child.stop()
        self._child = None
        self._home.cleanup()

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """The administrator's: nobody has less rights."""
        return self.kubeconfig

    def audit(self) -> Iterator[AuditEvent]:
        """There is none."""
        raise RigError("the embedded cluster has no audit log")

    def pids(self) -> list[int]:
        """The one process."""
        return [self._child.pid] if self._child else []

    def _server(self) -> Child:
        if self._child is None:
            raise RigError("the embedded cluster is not running")
        return self._child

    def _said(self) -> dict[str, Any] | None:
        """The line that says that it is ready."""
        lines = (
            (self.folder / "towtank.log")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines(keepends=True)
        )
        return next(
            (json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")),
            None,
        )

    def _take(self, kubeconfig: Path) -> None:
        """Certificates to files of their own, which ``clients.Client`` and kubeconfigs of
        ServiceAccounts name.
        """
        found = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
        certificate, key = self.credentials
        for part, name, file in (
            (cluster, "certificate-authority", self.authority_file),
            (user, "client-certificate", certificate),
            (user, "client-key", key),
        ):
            file.touch(mode=0o600)
            file.write_bytes(
                base64.b64decode(part[f"{name}-data"])
                if f"{name}-data" in part
                else Path(part[name]).read_bytes()
            )
        self.kubeconfig = self._write_kubeconfig(
            "admin", {"client-certificate": str(certificate), "client-key": str(key)}
        )
