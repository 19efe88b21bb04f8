"""The observer on a real API server: with rights to get, list and watch alone, beside any
scheduler, in a cluster that knows nothing of Moorage.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apps.outputs.reading import read_output
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client
from tests.rig.controlplanes import minor_version
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.objects import create
from tests.rig.operators import ROOT, until

MOORAGE = (sys.executable, "-m", "moorage")
PODS = "/api/v1/namespaces/watched/pods"
USER = "observer"


def observer_role() -> dict[str, Any]:
    """The ClusterRole that docs/recording.md tells people to make."""
    _, _, rest = (ROOT / "docs" / "recording.md").read_text(encoding="utf-8").partition("```yaml\n")
    role: dict[str, Any] = yaml.safe_load(rest.partition("```")[0])
    return role


@pytest.fixture(scope="module")
def plain(new_rig: Callable[[], ControlPlane]) -> Iterator[ControlPlane]:
    """A control plane without our CRDs, with four nodes and an observer."""
    role = observer_role()
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role["metadata"]["name"],
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    nodes = [node(f"watched-{i}", 8 + 4 * i) for i in range(4)]
    with new_rig() as rig:
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "watched"}})
        create(rig, role, binding, *nodes)
        yield rig


@pytest.fixture
def place(plain: ControlPlane) -> Iterator[Client]:
    """The administrator, and no pods."""
    with contextlib.closing(Client(plain)) as client:
        yield client
        for item in client.get(PODS)["items"]:
            client.delete(f"{PODS}/{item['metadata']['name']}")


def node(name: str, cpu: int) -> dict[str, Any]:
    """A node, ready for pods."""
    room = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    status = {"allocatable": room, "capacity": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, scheduler: str = "nobody") -> dict[str, Any]:
    """A pod of one container with a secret in its environment."""
    container = {
        "name": "c",
        "image": "i",
        "env": [{"name": "PASSWORD", "value": "hunter2"}],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
    }
    spec = {"schedulerName": scheduler, "containers": [container]}
    annotations = {"example.com/note": "hunter2"}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


def bind(place: Client, name: str, to: str) -> None:
    """As a scheduler does."""
    place.post(
        f"{PODS}/{name}/binding",
        {"metadata": {"name": name}, "target": {"kind": "Node", "name": to}},
    )


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    command = [*MOORAGE, *map(str, words)]
    return subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60
    )


@contextlib.contextmanager
def recording(rig: ControlPlane, file: Path) -> Iterator[list[str]]:
    """`moorage record` as long as this is open; then what it printed, and it ended well."""
    access = rig.user_kubeconfig(USER)
    command = [*MOORAGE, "record", "-o", str(file), "--kubeconfig", str(access)]
    printed: list[str] = []
    both = subprocess.STDOUT
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=both, text=True
    ) as process:
        try:
            assert process.stdout is not None
            printed.append(process.stdout.readline())
            yield printed
            process.send_signal(signal.SIGTERM)
            printed += process.communicate(timeout=30)[0].splitlines()
            assert process.returncode == 0, printed
        finally:
            process.kill()


def replayed(file: Path, *options: str) -> dict[str, Any]:
    """What `moorage replay` says to programs."""
    answer = run("replay", file, *options, "-o", "json")
    assert not answer.stderr
    found: dict[str, Any] = read_output(answer.stdout)
    return found


def seen(file: Path, name: str) -> bool:
    """Whether a recording under way shows that a pod was bound."""
    return any(one["pod"] == f"watched/{name}" for one in replayed(file)["others"])


def test_bindings_of_others_are_decisions(
    plain: ControlPlane, place: Client, tmp_path: Path
) -> None:
    """A file that is whole at any time, and holds nothing of what nobody needs to know."""
    file = tmp_path / "a.rec"
    create(plain, {"apiVersion": "v1", "kind": "Pod", **in_place(pod("before"))})
    with recording(plain, file) as printed:
        for name, to in (("good", "watched-3"), ("bad", "watched-0")):
            place.post(PODS, pod(name))
            bind(place, name, to)
        bind(place, "before", "watched-2")
        until(lambda: seen(file, "before"), "what was bound is on disk")
    assert printed[0].startswith("Recording https://") and "get, list and watch only" in printed[0]
    assert "2 arrivals" in printed[-2] and "decisions of 1 scheduler" in printed[-2]
    found = replayed(file, "--others")
    assert [(one["pod"], one["node"]) for one in found["others"]] == [
        ("watched/good", "watched-3"),
        ("watched/bad", "watched-0"),
        ("watched/before", "watched-2"),
    ]
    verdicts = {one["pod"]: one["verdict"] for one in found["others"]}
    assert (verdicts["watched/good"], verdicts["watched/before"]) == ("best", "best")
    assert verdicts["watched/bad"] not in ("best", "stale")
    shown = run("replay", file, "--at", found["end"])
    assert "4 nodes, 3 pods on nodes, 0 that wait" in shown.stdout
    assert b"hunter2" not in decompressed(file)


def decompressed(file: Path) -> bytes:
    """All that a recording holds."""
    from moorage.adapters.recording.blocks import read_contents, read_heads

    with file.open("rb") as content:
        heads, torn = read_heads(content)
        assert torn is None
        return b"".join(part for _, part in read_contents(content, heads))


def in_place(body: dict[str, Any]) -> dict[str, Any]:
    """The pod in its namespace."""
    return {**body, "metadata": {**body["metadata"], "namespace": "watched"}}


def test_a_snapshot_is_one_moment(plain: ControlPlane, place: Client, tmp_path: Path) -> None:
    """And says what is not there."""
    place.post(PODS, pod("waits"))
    file = tmp_path / "now.snap"
    access = plain.user_kubeconfig(USER)
    taken = run("snapshot", "-o", file, "--kubeconfig", access)
    assert taken.stdout.startswith(f"Wrote {file}: 4 nodes, 0 pods on nodes, 1 that wait.\n")
    older = isinstance(plain, Rig) and minor_version(plain.assets) < (1, 37)
    lacking = "devicetaintrules, " if older else ""
    text = f"the API server does not have {lacking}pluginconfigs, schedulerprofiles"
    assert text in taken.stdout
    assert (file.stat().st_mode & 0o777, taken.returncode) == (0o600, 0)
    again = run("snapshot", "-o", file, "--kubeconfig", access)
    assert (again.returncode, again.stdout) == (2, "")
    assert "not written over" in again.stderr


@pytest.mark.real_only  # the embedded cluster has no rights and no audit log
def test_nothing_but_reading_is_asked_for(plain: Rig, place: Client, tmp_path: Path) -> None:
    """By the API server's own log of all that the observer did."""
    with recording(plain, tmp_path / "a.rec"):
        place.post(PODS, pod("a"))
        until(lambda: replayed(tmp_path / "a.rec")["gaps"] == [], "something is on disk")
    run("snapshot", "-o", tmp_path / "b.snap", "--kubeconfig", plain.user_kubeconfig(USER))
    asked = [event for event in plain.audit() if event.user.username == USER]
    assert {event.verb for event in asked} == {"get", "list", "watch"}
    watched = {
        event.object_ref.resource for event in asked if event.verb == "watch" and event.object_ref
    }
    assert {"nodes", "pods", "services", "resourceclaims"} <= watched


@pytest.mark.real_only  # the embedded cluster has no rights
def test_what_may_not_be_listed_is_left_out(plain: Rig, place: Client, tmp_path: Path) -> None:
    """And told, then and by the file; without pods there is nothing to look at."""
    role = observer_role()
    core, *others = role["rules"]
    less = [name for name in core["resources"] if name != "services"]
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role['metadata']['name']}"
    access = plain.user_kubeconfig(USER)

    def allow(resources: list[str]) -> None:
        place.merge(path, {"rules": [{**core, "resources": resources}, *others]})

    try:
        allow(less)
        file = tmp_path / "a.snap"
        until(lambda: "no right to list services" in snapshot_of(file, access), "rights are less")
        assert "had no right to list services" in run("replay", file, "--verify").stdout
        allow([name for name in less if name != "pods"])
        until(lambda: "pods cannot be listed" in snapshot_of(file, access), "pods are not for us")
    finally:
        allow(core["resources"])


def snapshot_of(file: Path, access: Path) -> str:
    """What is printed, one way or the other; the file is made anew."""
    file.unlink(missing_ok=True)
    answer = run("snapshot", "-o", file, "--kubeconfig", access)
    assert answer.returncode == (3 if answer.stderr else 0)
    return answer.stdout + answer.stderr


@pytest.mark.real_only  # kube-scheduler needs protobuf
def test_what_kube_scheduler_chooses_is_best_or_stale(
    plain: Rig, place: Client, tmp_path: Path
) -> None:
    """Preset Default is its default profile; it decides faster than bindings are seen. Now and then
    a binding overtakes one that was decided before: whoever looks on takes that choice for worse.
    """
    file = tmp_path / "a.rec"
    with kube_scheduler(plain), recording(plain, file):
        for i in range(40):
            place.post(PODS, pod(f"p{i:02}", "theirs"))
        until(lambda: len(replayed(file)["others"]) == 40, "all are bound")
    verdicts = [one["verdict"] for one in replayed(file, "--others")["others"]]
    assert len(verdicts) == 40
    assert set(verdicts) <= {"best", "stale", "worse"}
    assert verdicts.count("worse") <= 4


@pytest.mark.real_only  # what is in memory does not outlive its process
def test_a_restarted_api_server_is_recorded_on(plain: Rig, tmp_path: Path) -> None:
    """It has forgotten what happened before, so there is a gap, which is told; what comes then is
    seen again.
    """
    file = tmp_path / "a.rec"
    with recording(plain, file) as printed:
        with contextlib.closing(Client(plain)) as client:
            client.post(PODS, pod("early"))
            bind(client, "early", "watched-1")
        until(lambda: seen(file, "early"), "what came before is on disk")
        plain.restart_apiserver()
        with contextlib.closing(Client(plain)) as client:
            until(lambda: replayed(file)["gaps"], "the gap is on disk")
            client.post(PODS, pod("late"))
            bind(client, "late", "watched-2")
            until(lambda: seen(file, "late"), "what came after is on disk")
            for name in ("early", "late"):
                client.delete(f"{PODS}/{name}")
    assert any("which stands in the file as a gap" in text for text in printed)
    shown = run("replay", file, "--at", replayed(file)["end"])
    assert shown.stdout.startswith("At ") and " 4 nodes, " in shown.stdout
