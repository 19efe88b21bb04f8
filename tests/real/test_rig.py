"""The rig is a real, guarded, observed control plane that leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rig import Kwok, Rig, RigError, binds
from tests.rig.kwok import NODE_ANNOTATION, RUN_FOR_ANNOTATION
from tests.rig.processes import wait_until

pytestmark = pytest.mark.real_only


def apply(rig: Rig, *objects: dict[str, Any]) -> None:
    """Create objects as the administrator."""
    manifest = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    rig.kubectl("create", "-f", "-", input=json.dumps(manifest))


def namespace(name: str) -> dict[str, Any]:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node(name: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """A Node with room for pods."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    metadata = {"name": name, "annotations": annotations or {}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"allocatable": room, "capacity": room},
    }


def pod(where: str, name: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """A Pod that waits for a scheduler."""
    metadata = {"name": name, "namespace": where, "annotations": annotations or {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "image"}]},
    }


def bind(rig: Rig, where: str, name: str, target: str) -> str:
    """Bind a pod as a scheduler does and return its UID."""
    uid = rig.kubectl("get", "pod", name, f"--namespace={where}", "-o", "jsonpath={.metadata.uid}")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": where, "uid": uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": target},
    }
    path = f"/api/v1/namespaces/{where}/pods/{name}/binding"
    rig.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(binding))
    return uid


def succeeds(rig: Rig, *args: str) -> bool:
    """Whether kubectl succeeds."""
    try:
        rig.kubectl(*args)
    except RigError:
        return False
    return True


def running(pid: int) -> bool:
    """Whether a process exists and isn't merely waiting to be collected by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


NEWEST: Final = "v1.37.2"
SERVERS: Final = {"": NEWEST, "1.36": "v1.36.1", "1.35": "v1.35.4", "1.34": "v1.34.4"}
"""By what `--kubernetes` names."""


@pytest.fixture(scope="module")
def server_version(request: pytest.FixtureRequest) -> str:
    """The version that the control plane is to have."""
    return SERVERS[request.config.getoption("--kubernetes")]


def test_versions(rig: Rig, server_version: str) -> None:
    """Client and server know their version, on which feature gates and emulation depend."""
    versions = json.loads(rig.kubectl("version", "-o", "json"))
    for side, version in (("clientVersion", NEWEST), ("serverVersion", server_version)):
        said = versions[side]
        assert said["gitVersion"] == version
        assert f"v{said['major']}.{said['minor']}." in version


@pytest.mark.parametrize(
    ("binary", "version"),
    [
        ("etcd", "etcd Version: 3.6."),
        ("kwok", "v0.8.0"),
        ("kube-scheduler", ""),
        ("kube-controller-manager", ""),
    ],
)
def test_binary_versions(assets: Path, binary: str, version: str, server_version: str) -> None:
    """Every other binary runs and says the version that is pinned."""
    version = version or f"Kubernetes {server_version}"
    assert version in subprocess.check_output([assets / binary, "--version"], text=True, timeout=30)


def test_rbac_applies_to_service_accounts(rig: Rig) -> None:
    """A ServiceAccount's token is accepted, and allows what a role grants and nothing else."""
    apply(rig, namespace("rights"))
    rig.kubectl("create", "serviceaccount", "reader", "--namespace=rights")
    rig.kubectl(
        "create", "role", "reads", "--verb=list", "--resource=configmaps", "--namespace=rights"
    )
    reader = rig.service_account_kubeconfig("rights", "reader")
    account = "system:serviceaccount:rights:reader"
    assert account in rig.kubectl("auth", "whoami", kubeconfig=reader)
    with pytest.raises(RigError, match="forbidden"):
        rig.kubectl("get", "configmaps", "--namespace=rights", kubeconfig=reader)
    rig.kubectl(
        "create",
        "rolebinding",
        "reads",
        "--role=reads",
        "--serviceaccount=rights:reader",
        "--namespace=rights",
    )
    review = ("auth", "can-i", "list", "configmaps", "--namespace=rights", f"--as={account}")
    wait_until(lambda: succeeds(rig, *review), [], "the role's effect", seconds=10)
    rig.kubectl("get", "configmaps", "--namespace=rights", kubeconfig=reader)
    with pytest.raises(RigError, match="forbidden"):
        rig.kubectl("get", "pods", "--namespace=rights", kubeconfig=reader)


def test_users_have_their_own_name_and_groups(rig: Rig) -> None:
    """A client certificate makes its holder a user of the given groups, not an administrator."""
    scheduler = rig.user_kubeconfig("system:kube-scheduler", ["a", "b"])
    identity = json.loads(rig.kubectl("auth", "whoami", "-o", "json", kubeconfig=scheduler))[
        "status"
    ]["userInfo"]
    assert identity["username"] == "system:kube-scheduler"
    assert {"a", "b"} <= set(identity["groups"])
    with pytest.raises(RigError, match="forbidden"):
        rig.kubectl("get", "secrets", kubeconfig=scheduler)


def test_audit_tells_who_bound_what_where(rig: Rig) -> None:
    """The audit log names each Binding's pod UID, node, answer and client, refused ones
    included.
    """
    apply(rig, namespace("binding"), node("binding-a"), pod("binding", "one"))
    uid = bind(rig, "binding", "one", "binding-a")
    with pytest.raises(RigError, match="already assigned"):
        bind(rig, "binding", "one", "binding-a")
    found = [event for event in binds(rig.audit()) if event.namespace == "binding"]
    assert [(event.uid, event.pod, event.node, event.code) for event in found] == [
        (uid, "one", "binding-a", 201),
        (uid, "one", "binding-a", 409),
    ]
    assert all(event.user_agent.startswith(f"kubectl/{NEWEST}") for event in found)
    assert found[0].received < found[1].received
    assert "admin" in {event.user.username for event in rig.audit()}


def test_a_frozen_api_server_answers_nothing_until_it_goes_on(rig: Rig) -> None:
    """A paused API server lets requests time out and serves them again when resumed."""
    rig.pause_apiserver()
    try:
        with pytest.raises(RigError, match=r"timeout|deadline"):
            rig.kubectl("get", "--raw", "/readyz", "--request-timeout=1s")
    finally:
        rig.resume_apiserver()
    assert rig.kubectl("get", "--raw", "/readyz", "--request-timeout=20s") == "ok"


@pytest.mark.parametrize("grace", [0, 5], ids=["killed", "terminated"])
def test_restart_keeps_data(rig: Rig, grace: float) -> None:
    """After a restart the same address serves the same objects and accepts the tokens it gave out
    before.
    """
    before = rig.pids()
    name = f"restart-{grace}"
    apply(rig, namespace(name))
    rig.kubectl("create", "serviceaccount", "old", f"--namespace={name}")
    old = rig.service_account_kubeconfig(name, "old")
    rig.restart_apiserver(grace)
    assert [new == old for new, old in zip(rig.pids(), before, strict=True)] == [True, False]
    assert rig.kubectl("get", "namespace", name, "-o", "name").strip() == f"namespace/{name}"
    assert f"system:serviceaccount:{name}:old" in rig.kubectl("auth", "whoami", kubeconfig=old)


def test_kwok_runs_finishes_and_removes_pods(rig: Rig, kwok: Kwok) -> None:
    """On kwok's nodes a bound pod runs, keeps the scheduler's condition, ends when told to, and
    goes when deleted. What the API server deletes at once kwok does not delete by its name: that
    may be a new pod's by then.
    """
    apply(rig, namespace("kwok"), node("kwok-a", NODE_ANNOTATION), node("kwok-b"))
    apply(
        rig,
        pod("kwok", "stays"),
        pod("kwok", "ends", {RUN_FOR_ANNOTATION: "100ms"}),
        pod("kwok", "elsewhere"),
        pod("kwok", "forced"),
    )
    targets = {"stays": "kwok-a", "ends": "kwok-a", "elsewhere": "kwok-b", "forced": "kwok-a"}
    for name, target in targets.items():
        bind(rig, "kwok", name, target)

    def phases() -> dict[str, str]:
        pods = json.loads(rig.kubectl("get", "pods", "--namespace=kwok", "-o", "json"))["items"]
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in pods}

    living = {"stays": "Running", "forced": "Running"}
    expected = {**living, "ends": "Succeeded", "elsewhere": "Pending"}
    wait_until(lambda: phases() == expected, [], "the pods' way", seconds=20)
    conditions = "jsonpath={.status.conditions[?(@.status=='True')].type}"
    stays = rig.kubectl("get", "pod", "stays", "--namespace=kwok", "-o", conditions).split()
    assert sorted(stays) == ["ContainersReady", "Initialized", "PodScheduled", "Ready"]
    assert rig.kubectl("get", "node", "kwok-a", "-o", conditions) == "Ready"
    assert rig.kubectl("get", "node", "kwok-a", "-o", "jsonpath={.status.allocatable.cpu}") == "4"
    assert rig.kubectl("get", "node", "kwok-b", "-o", conditions) == ""
    rig.kubectl("delete", "pod", "forced", "--namespace=kwok", "--grace-period=0", "--force")
    rig.kubectl("delete", "pod", "stays", "--namespace=kwok", "--wait=false")
    wait_until(lambda: not living.keys() & phases(), [], "the deleted pods' end", seconds=20)
    by_kwok = [one for one in rig.audit() if (one.user.username, one.verb) == ("kwok", "delete")]
    targets_of = [one.object_ref for one in by_kwok if one.object_ref is not None]
    assert [one.name for one in targets_of if one.namespace == "kwok"] == ["stays"]


def test_stop_leaves_nothing(assets: Path) -> None:
    """After `stop`, and after a start that failed, no process and no folder remain."""
    with Rig(assets) as whole:
        pids = whole.pids()
        assert all(running(pid) for pid in pids)
    assert not any(running(pid) for pid in pids)
    assert not whole.folder.exists()
    broken = Rig(assets, ["--no-such-flag"])
    with pytest.raises(RigError, match="no-such-flag"):
        broken.start()
    assert broken.pids() == []
    assert not broken.folder.exists()


def test_children_die_with_their_parent(tmp_path: Path) -> None:
    """A parent killed with SIGKILL takes its children along, even a frozen one."""
    program = (
        "import pathlib, signal, sys, time\n"
        "from tests.rig.processes import Child\n"
        "child = Child(['/bin/sleep', '600'], pathlib.Path(sys.argv[1]))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as parent:
        assert parent.stdout is not None  # because of PIPE above
        child = int(parent.stdout.readline())
        wait_until(
            lambda: Path(f"/proc/{child}/comm").read_text() == "sleep\n",
            [],
            "the child's start",
            seconds=10,
        )
        os.kill(child, signal.SIGSTOP)
        parent.kill()
    wait_until(lambda: not running(child), [], "the child's end", seconds=10)
