"""etcd and kube-apiserver on loopback ports, with RBAC, TLS and an audit log; all that they write
is one folder.
"""

import contextlib
import functools
import http.client
import json
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from tests.rig import audits, rights
from tests.rig.base import ControlPlane
from tests.rig.certificates import Authority, write_token_key
from tests.rig.processes import Child, RigError, free_ports, wait_until

# Admission that needs what is not here: a controller that makes default ServiceAccounts, one that
# lifts the taint of new nodes, and one that removes the finalizers of volumes.
_NO_ADMISSION: Final = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"

GROUP_GATES: Final = (
    "GenericWorkload",
    "DRAWorkloadResourceClaims",
    "TopologyAwareWorkloadScheduling",
)
"""Groups of pods, their claims and their topology: off unless a cluster's administrator says so."""
_GROUPS_SINCE: Final = (1, 37)


@functools.cache
def minor_version(assets: Path) -> tuple[int, int]:
    """The major and minor version of the folder's kube-apiserver."""
    said = subprocess.check_output([assets / "kube-apiserver", "--version"], text=True, timeout=60)
    major, minor = said.split()[1].removeprefix("v").split(".")[:2]
    return int(major), int(minor)


class Rig(ControlPlane):
    """A real control plane."""

    audited = guarded = True

    def __init__(
        self,
        assets: Path,
        apiserver_args: Sequence[str] = (),
        *,
        groups: bool = True,
        more_gates: Sequence[str] = (),
    ) -> None:
        """`assets` holds etcd, kube-apiserver and kubectl; `apiserver_args` are added to
        kube-apiserver's flags. With `groups` it serves PodGroups, where its version has them, and
        has `more_gates` on too.
        """
        super().__init__(assets / "kubectl")
        self.assets: Final = assets
        self.groups: Final = groups and minor_version(assets) >= _GROUPS_SINCE
        self._more_gates: Final = tuple(more_gates)
        self._extra: Final = tuple(apiserver_args)
        self._authority: Final = Authority(self.folder)
        self._etcd_port, etcd_peer, self._port = free_ports(3)
        self._etcd_peer: Final = f"http://127.0.0.1:{etcd_peer}"
        self._etcd: Child | None = None
        self._apiserver: Child | None = None
        self.server = f"https://127.0.0.1:{self._port}"
        self.audit_log: Final = self.folder / "audit.log"
        # Group system:masters, which priority and fairness does not hold back.
        self.kubeconfig = self.user_kubeconfig("admin", ["system:masters"])

    def start(self) -> Self:
        """Start both servers and wait until the API server is ready. Raises RigError with its log
        when it fails.
        """
        try:
            (self.folder / "audit-policy.json").write_text(json.dumps(audits.POLICY))
            write_token_key(self.folder / "tokens.key")
            self._etcd = Child(self._etcd_command(), self.folder / "etcd.log", self.environment)
            self._start_apiserver()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill both servers and remove the folder; what the operator asked for is kept."""
        for child in (self._apiserver, self._etcd):
            if child:
                child.stop()
        self._apiserver = self._etcd = None
        rights.control_plane_stopped(self.audit_log)
        self._home.cleanup()

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for `user` of `groups`, with a client certificate."""
        certificate, key = self._authority.client(user, groups)
        return self._write_kubeconfig(
            user, {"client-certificate": str(certificate), "client-key": str(key)}
        )

    def audit(self) -> Iterator[audits.AuditEvent]:
        """What the API server has answered so far."""
        return audits.read(self.audit_log)

    def restart_apiserver(self, grace: float = 0) -> None:
        """Stop kube-apiserver and start it again at the same address with the same data.

        It is killed, unless `grace` gives it seconds to end by itself, which it uses up while
        clients hold watches open.
        """
        self._server().stop(grace)
        self._start_apiserver()

    @property
    def gates(self) -> list[str]:
        """The feature gates as a flag, for every component of the cluster."""
        on = ",".join(f"{name}=true" for name in (*GROUP_GATES, *self._more_gates))
        return [f"--feature-gates={on}"] if self.groups else []

    def pids(self) -> list[int]:
        """The process ids of etcd and kube-apiserver."""
        return [child.pid for child in (self._etcd, self._apiserver) if child]

    def _server(self) -> Child:
        if self._apiserver is None:
            raise RigError("the rig is not running")
        return self._apiserver

    def _start_apiserver(self) -> None:
        assert self._etcd is not None  # started before
        self._apiserver = Child(
            self._apiserver_command(), self.folder / "kube-apiserver.log", self.environment
        )
        wait_until(self._ready, [self._etcd, self._apiserver], "kube-apiserver's start")
        rights.control_plane_started(self.audit_log)

    def _ready(self) -> bool:
        """Ready, and past making the namespaces that every cluster has, which it does a little
        later.
        """
        context = ssl.create_default_context(cafile=str(self.authority_file))
        context.load_cert_chain(*self.credentials)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=5, context=context
        )
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            for path in ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"):
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
                if response.status != http.client.OK:
                    return False
            return True
        return False

    def _etcd_command(self) -> list[str | Path]:
        client = f"http://127.0.0.1:{self._etcd_port}"
        return [
            self.assets / "etcd",
            "--name=rig",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={self._etcd_peer}",
            f"--initial-advertise-peer-urls={self._etcd_peer}",
            f"--initial-cluster=rig={self._etcd_peer}",
            "--log-level=warn",
            # The data is thrown away, and a test machine's disk is not what is measured.
            "--unsafe-no-fsync",
        ]

    def _apiserver_command(self) -> list[str | Path]:
        certificate, key = self._authority.server("kube-apiserver")
        tokens = self.folder / "tokens.key"
        return [
            self.assets / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--cert-dir={self.folder}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority_file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={tokens}",
            f"--service-account-signing-key-file={tokens}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={_NO_ADMISSION}",
            f"--audit-policy-file={self.folder / 'audit-policy.json'}",
            f"--audit-log-path={self.audit_log}",
            # In MB: never start a second file.
            "--audit-log-maxsize=100000",
            *self.gates,
            *(["--runtime-config=scheduling.k8s.io/v1beta1=true"] if self.groups else ()),
            *self._extra,
        ]
