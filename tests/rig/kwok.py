"""Pretended kubelets: kwok makes pods run, finish and go on nodes that carry the annotation it is
told about.
"""

import contextlib
import http.client
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.rig.controlplanes import Rig
from tests.rig.processes import Child, free_ports, wait_until

# Nodes with this annotation are kwok's; it reports them ready.
NODE_ANNOTATION: Final = {"kwok.x-k8s.io/node": "fake"}

# A pod with this annotation succeeds after that time, written as Go does: "1.5s".
RUN_FOR_ANNOTATION: Final = "towtank/run-for"


class Kwok:
    """kwok against a rig; a context manager. A pod without RUN_FOR_ANNOTATION runs until it is
    deleted.
    """

    def __init__(self, rig: Rig) -> None:
        """`rig` must be running when this starts."""
        self._rig = rig
        self._port = free_ports(1)[0]
        self._child: Child | None = None

    def start(self) -> Self:
        """Start kwok and wait until it serves. Raises RigError with its log when it fails."""
        command: list[str | Path] = [
            self._rig.assets / "kwok",
            f"--kubeconfig={self._rig.user_kubeconfig('kwok', ['system:masters'])}",
            f"--config={Path(__file__).with_name('kwok-stages.yaml')}",
            *(
                f"--manage-nodes-with-annotation-selector={key}={value}"
                for key, value in NODE_ANNOTATION.items()
            ),
            # Nothing in the rig reads the nodes' leases.
            "--node-lease-duration-seconds=0",
            f"--server-address=127.0.0.1:{self._port}",
        ]
        self._child = Child(command, self._rig.folder / "kwok.log", self._rig.environment)
        try:
            wait_until(self._serves, [self._child], "kwok's start")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill kwok; pods and nodes stay as they are."""
        if self._child:
            self._child.stop()
        self._child = None

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

    def _serves(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.client.OK
        return False
