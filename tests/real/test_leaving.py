"""Leaving a cluster: by `moorage uninstall` and by `kubectl delete -k`, in either order, with the
operator running or gone, nothing hangs and nothing of ours is left.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.real.conftest import REAL, SERVERS
from tests.rig import ControlPlane, DevRig, Rig
from tests.rig.clients import Client
from tests.rig.controllers import Controllers
from tests.rig.objects import create
from tests.rig.operators import NAMESPACE, ROOT, SERVICE_ACCOUNT, Operator, until, wait_for
from tests.rig.processes import RigError
from tests.tools import assets as binaries

COMPONENTS: Final = ("admission", "assign")
HANGS_SECONDS: Final = 90
"""What takes so long hangs, on a busy machine too."""
Name = tuple[str, str, str]


@pytest.fixture(scope="module", params=SERVERS)
def place(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A cluster with the controllers that end namespaces and collect garbage, and kubectl."""
    with contextlib.ExitStack() as stack:
        if request.param == REAL:
            rig: ControlPlane = stack.enter_context(Rig(request.getfixturevalue("assets")))
            assert isinstance(rig, Rig)
            stack.enter_context(Controllers(rig))
        else:
            kubectl = binaries.folder() / "kubectl"
            if not kubectl.exists():
                pytest.skip("NOT TESTED: there is no kubectl, and no Go to build it with")
            rig = stack.enter_context(DevRig(kubectl, ()))
        made = "serviceaccounts", *(["configmaps"] if request.param == REAL else [])
        with contextlib.closing(Client(rig)) as client:
            for plural in made:
                until(lambda plural=plural: _in_each(client, plural), f"{plural} of namespaces")
        yield rig


def _in_each(client: Client, plural: str) -> bool:
    """Whether controllers have made one of these in every namespace, as they do."""
    spaces = {one["metadata"]["name"] for one in client.get("/api/v1/namespaces")["items"]}
    usual = ("default", "kube-root-ca.crt")
    found = [one["metadata"] for one in client.get(f"/api/v1/{plural}")["items"]]
    return spaces == {one["namespace"] for one in found if one["name"] in usual}


def everything(client: Client) -> dict[Name, dict[str, Any]]:
    """Every object of every kind that is served, but for Events, which end by themselves."""
    groups = [
        f"/apis/{version['groupVersion']}"
        for group in client.get("/apis")["groups"]
        for version in group["versions"]
    ]
    found = {}
    for root in ("/api/v1", *groups):
        for resource in client.get(root)["resources"]:
            if "list" in resource["verbs"] and resource["kind"] != "Event":
                for one in client.get(f"{root}/{resource['name']}")["items"]:
                    metadata = one["metadata"]
                    space = metadata.get("namespace", "")
                    found[resource["kind"], space, metadata["name"]] = one
    return found


class Installed:
    """All of ours is in a cluster: profiles, a PluginConfig, pods that wait, Leases, revisions, a
    Secret, webhooks and policies. The replica that runs is no pod: whoever ends pods here ends it,
    and until then it is refused what its roles gave.
    """

    def __init__(self, rig: ControlPlane) -> None:
        self.rig = rig
        self.client = Client(rig)
        self.before = everything(self.client)
        self.delete_or_apply("apply", "default")
        rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
        kubeconfig = rig.service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT)
        create(rig, _config(), _profile(), _pod())
        self.operator = Operator(rig, kubeconfig, "refused-leaving")

    def __enter__(self) -> Installed:
        """With a replica that leads, and has decided."""
        self.operator.start()
        wait_for(self.rig, "Ready", "sprof/leaving")
        for component in COMPONENTS:
            self.delete_or_apply("apply", f"components/{component}")
        self.moorage("admission-ca")
        written = ("leases", "coordination.k8s.io/v1"), ("controllerrevisions", "apps/v1")
        for plural, version in written:
            path = f"/apis/{version}/namespaces/{NAMESPACE}/{plural}"
            until(lambda path=path: self.client.get(path)["items"], plural)
        return self

    def __exit__(self, *_: object) -> None:
        """The pod is ours, not Moorage's."""
        with contextlib.suppress(RigError):
            self.client.delete("/api/v1/namespaces/default/pods/waits")
        self.operator.terminate(5)
        self.client.close()

    def delete_or_apply(self, verb: str, what: str, *options: str) -> str:
        """By kubectl, of a folder of manifests."""
        return self.rig.kubectl(verb, "-k", str(ROOT / "manifests" / what), *options)

    def moorage(self, *words: str, status: int = 0) -> str:
        """What a command prints, and that it ends with this status, and in time."""
        done = subprocess.run(
            [sys.executable, "-I", "-m", "moorage", *words, "--kubeconfig", self.rig.kubeconfig],
            env=self.rig.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_SECONDS,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def left(self) -> list[Name]:
        """What is there that was not there before, but for the pod."""
        now = everything(self.client)
        return [key for key in now if key not in self.before and key[0] != "Pod"]

    def nothing_is_left(self) -> None:
        """Nor is any of our names in what was there before; what API servers derive from CRDs goes
        a little later.
        """
        until(lambda: not self.left(), f"nothing is left, not {self.left()}")
        for key, one in everything(self.client).items():
            assert key[0] == "Pod" or "moorage" not in str(one), key


def _profile() -> dict[str, Any]:
    reference = {"name": "NodeResourcesFit", "configRef": {"name": "leaving"}}
    spec = {"pluginConfig": [reference]}
    return _of("SchedulerProfile", spec)


def _config() -> dict[str, Any]:
    return _of("PluginConfig", {"plugin": "NodeResourcesFit", "args": {}})


def _of(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "leaving"}
    return {"apiVersion": "moorage.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _pod() -> dict[str, Any]:
    metadata = {"name": "waits", "namespace": "default"}
    spec = {"schedulerName": "leaving", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_uninstall_with_the_operator_running(place: ControlPlane) -> None:
    """It is said what goes, and who waits for it; then all of it goes, and kubectl finds nothing
    more.
    """
    with Installed(place) as there:
        said = there.moorage("uninstall", "--dry-run")
        assert "1 pod waits for these, and will for ever: default/waits" in said
        assert there.left()
        assert "Nothing of it is left." in there.moorage("uninstall", "--yes", "--timeout", "60s")
        there.nothing_is_left()
        for what in ("default", *(f"components/{name}" for name in COMPONENTS)):
            there.delete_or_apply("delete", what, "--ignore-not-found", "--timeout=60s")
        there.nothing_is_left()


@pytest.mark.parametrize("place", [REAL], indirect=True)
def test_kubectl_with_the_operator_gone(place: ControlPlane) -> None:
    """Whoever forgets the components has webhooks and policies left, which `moorage uninstall`
    finds; a second time it finds nothing.
    """
    with Installed(place) as there:
        there.operator.kill()
        there.delete_or_apply("delete", "default", "--ignore-not-found", "--timeout=60s")
        said = there.moorage("uninstall", "--yes", "--timeout", "60s")
        assert "ValidatingWebhookConfiguration moorage" in said
        assert "MutatingAdmissionPolicy moorage-assign" in said
        there.nothing_is_left()
        again = there.moorage("uninstall", "--yes")
        assert again.startswith("Nothing of moorage-system/moorage at ")
