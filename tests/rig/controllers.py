"""kube-controller-manager against a rig: what makes ServiceAccounts, ReplicaSets' pods and
disruption budgets' status.
"""

from types import TracebackType
from typing import Final, Self

from tests.rig.controlplanes import Rig
from tests.rig.processes import Child

# Nobody renews the nodes' leases here, nothing has addresses, and no kubelet reads how long it may
# keep a Secret, which is written to each node a minute long.
_WITHOUT: Final = (
    "ttl-controller",
    "node-lifecycle-controller",
    "node-ipam-controller",
    "taint-eviction-controller",
)


class Controllers:
    """The controllers of a cluster; a context manager."""

    def __init__(self, rig: Rig) -> None:
        """`rig` must be running when this starts."""
        self._rig = rig
        self._child: Child | None = None

    def __enter__(self) -> Self:
        """Start; does not wait."""
        folder = self._rig.folder
        self._child = Child(
            [
                self._rig.assets / "kube-controller-manager",
                f"--kubeconfig={self._rig.user_kubeconfig('controllers', ['system:masters'])}",
                f"--controllers=*,{','.join(f'-{name}' for name in _WITHOUT)}",
                f"--service-account-private-key-file={folder / 'tokens.key'}",
                f"--root-ca-file={self._rig.authority_file}",
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=2000",
                "--kube-api-burst=4000",
                *self._rig.gates,
            ],
            folder / "kube-controller-manager.log",
            self._rig.environment,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill it."""
        if self._child:
            self._child.stop()
        self._child = None
