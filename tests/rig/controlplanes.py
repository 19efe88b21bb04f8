"""etcd and kube-apiserver on loopback ports, with RBAC, TLS and an audit log; all that they write is one folder."""

import contextlib
import http.client
import json
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.rig import audits
from tests.rig.certificates import Authority, write_token_key
from tests.rig.processes import Child, RigError, free_ports, wait_until

# Admission that needs what is not here: a controller that makes default ServiceAccounts, one that lifts the taint of
# new nodes, and one that removes the finalizers of volumes.
_NO_ADMISSION: Final = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"


class Rig:
    """A control plane without controllers and kubelets, as a context manager; `stop` ends it and leaves nothing.

    Its processes are killed when the thread that started them ends, so start it from a thread that stays.
    """

    def __init__(self, assets: Path, apiserver_args: Sequence[str] = ()) -> None:
        """`assets` holds etcd, kube-apiserver and kubectl; `apiserver_args` are added to kube-apiserver's flags."""
        self.assets: Final = assets
        self._extra: Final = tuple(apiserver_args)
        self._home = tempfile.TemporaryDirectory(prefix="moorage-rig-", ignore_cleanup_errors=True)
        self.folder: Final = Path(self._home.name)
        # Programs must not read or write the user's ~/.kube and ~/.kwok.
        self.environment: Final = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        self._authority: Final = Authority(self.folder)
        self._etcd_port, etcd_peer, self._port = free_ports(3)
        self._etcd_peer: Final = f"http://127.0.0.1:{etcd_peer}"
        self._etcd: Child | None = None
        self._apiserver: Child | None = None
        self.server: Final = f"https://127.0.0.1:{self._port}"
        self.audit_log: Final = self.folder / "audit.log"
        # The administrator's: group system:masters, which priority and fairness does not hold back.
        self.kubeconfig: Final = self.user_kubeconfig("admin", ["system:masters"])

    def start(self) -> Self:
        """Start both servers and wait until the API server is ready. Raises RigError with its log when it fails."""
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
        """Kill both servers and remove the folder."""
        for child in (self._apiserver, self._etcd):
            if child:
                child.stop()
        self._apiserver = self._etcd = None
        self._home.cleanup()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 (subprocess's word)
        kubeconfig: Path | None = None,
    ) -> str:
        """Run kubectl, as the administrator unless told otherwise; returns what it printed on stdout.

        Raises RigError with its stderr when it fails.
        """
        command = [str(self.assets / "kubectl"), f"--kubeconfig={kubeconfig or self.kubeconfig}", *args]
        done = subprocess.run(command, check=False, input=input, capture_output=True, text=True, env=self.environment, timeout=120)
        if done.returncode:
            raise RigError(f"kubectl {' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def establish(self, *kinds: str) -> None:
        """Wait until these CRDs are served. kubectl fails at once for one so new that it has no conditions."""

        def established() -> bool:
            try:
                self.kubectl("wait", "--for=condition=Established", *(f"crd/{kind}" for kind in kinds))
            except RigError as error:
                if "accessor error" not in str(error):
                    raise
                return False
            return True

        wait_until(established, (), f"{', '.join(kinds)} to be established", 30)

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for `user` of `groups`, with a client certificate."""
        certificate, key = self._authority.client(user, groups)
        return self._kubeconfig(user, {"client-certificate": str(certificate), "client-key": str(key)})

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig with a new token of an existing ServiceAccount, valid for a day."""
        token = self.kubectl("create", "token", name, f"--namespace={namespace}", "--duration=24h").strip()
        return self._kubeconfig(f"{namespace}:{name}", {"token": token})

    def audit(self) -> Iterator[audits.AuditEvent]:
        """What the API server has answered so far."""
        return audits.read(self.audit_log)

    def restart_apiserver(self, grace: float = 0) -> None:
        """Stop kube-apiserver and start it again at the same address with the same data.

        It is killed, unless `grace` gives it seconds to end by itself, which it uses up while clients hold watches open.
        """
        self._server().stop(grace)
        self._start_apiserver()

    def pause_apiserver(self) -> None:
        """Freeze kube-apiserver: connections stay open and nothing is answered."""
        self._server().send(signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let a frozen kube-apiserver go on."""
        self._server().send(signal.SIGCONT)

    @property
    def authority_file(self) -> Path:
        """The certificate of the authority that signs for everybody here."""
        return self._authority.file

    def pids(self) -> list[int]:
        """The process ids of etcd and kube-apiserver."""
        return [child.pid for child in (self._etcd, self._apiserver) if child]

    def _server(self) -> Child:
        if self._apiserver is None:
            raise RigError("the rig is not running")
        return self._apiserver

    def _start_apiserver(self) -> None:
        assert self._etcd is not None  # started before
        self._apiserver = Child(self._apiserver_command(), self.folder / "kube-apiserver.log", self.environment)
        wait_until(self._ready, [self._etcd, self._apiserver], "kube-apiserver's start")

    def _ready(self) -> bool:
        """Ready, and past making the namespaces that every cluster has, which it does a little later."""
        context = ssl.create_default_context(cafile=str(self._authority.file))
        context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=5, context=context)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
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
            f"--client-ca-file={self._authority.file}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={tokens}",
            f"--service-account-signing-key-file={tokens}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={_NO_ADMISSION}",
            f"--audit-policy-file={self.folder / 'audit-policy.json'}",
            f"--audit-log-path={self.audit_log}",
            # In MB: never start a second file.
            "--audit-log-maxsize=100000",
            *self._extra,
        ]

    def _kubeconfig(self, user: str, credentials: dict[str, str]) -> Path:
        """JSON is YAML. Keys are named by path: clients write embedded ones to temporary files, which may stay."""
        cluster = {"server": self.server, "certificate-authority": str(self._authority.file)}
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
