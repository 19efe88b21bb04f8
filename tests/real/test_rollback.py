"""History, diff and rollback as an administrator types them, on an API server with the operator."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moorage.apps.revisions.writing import FIELD_MANAGER
from tests.apps.outputs.reading import read_output
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import Operator, install, until

API = "/apis/moorage.dev/v1alpha1"
PROFILES, CONFIGS = f"{API}/schedulerprofiles", f"{API}/pluginconfigs"
APPLY = "application/apply-patch+yaml"


class Administrator:
    """Types commands, and changes objects as others do."""

    def __init__(self, rig: ControlPlane, client: Client) -> None:
        self._rig = rig
        self.client = client

    def run(self, *words: str, want: int = 0) -> str:
        """What the command prints; ``want`` is its exit status."""
        command = [sys.executable, "-I", "-m", "moorage", *words]
        command += ["--kubeconfig", str(self._rig.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == want, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if want != 2 else done.stderr

    def apply(self, manager: str, path: str, kind: str, name: str, **spec: Any) -> None:
        """Apply this much of an object, as the server does it, with force."""
        body = {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        query = f"fieldManager={manager}&force=true"
        self.client.request("PATCH", f"{path}/{name}?{query}", body, APPLY)

    def edit(self, name: str, spec: dict[str, Any]) -> None:
        """Change a profile as `kubectl edit` does."""
        self.client.merge(f"{PROFILES}/{name}?fieldManager=kubectl-edit", {"spec": spec})

    def profile(self, name: str) -> dict[str, Any]:
        """As it is."""
        found: dict[str, Any] = self.client.get(f"{PROFILES}/{name}")
        return found

    def wait_for(self, name: str, reason: str) -> None:
        """Wait for a condition with this reason."""
        until(
            lambda: any(
                condition["reason"] == reason
                for condition in self.profile(name)["status"].get("conditions", ())
            ),
            f"{reason} of {name}",
        )

    def deciding(self, name: str, since: str = "") -> str:
        """The revision that decides, once that is what the spec says."""

        def active() -> str | None:
            found = self.profile(name)
            status = found.get("status", {})
            revision = status.get("activeRevision")
            done = (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and revision == status.get("desiredRevision")
                and revision not in (None, since)
            )
            return revision if done else None

        return str(until(active, f"another revision of {name} than {since!r}"))


@pytest.fixture(scope="module")
def administrator(new_rig: Callable[[], ControlPlane]) -> Iterator[Administrator]:
    """With one replica of the operator."""
    with (
        new_rig() as rig,
        contextlib.closing(Client(rig)) as client,
        Operator(rig, install(rig), "moorage-0"),
    ):
        yield Administrator(rig, client)


def test_the_way_back_is_whole(administrator: Administrator) -> None:
    """Weights, lists and arguments that somebody else has added since are gone, which applying the
    old spec would leave; who keeps the profile from a source is named.
    """
    admin, name = administrator, "whole"
    admin.apply(
        "argocd-controller",
        CONFIGS,
        "PluginConfig",
        "mostly",
        plugin="NodeResourcesFit",
        args={"ignoredResources": ["example.com/a"]},
    )
    reference = {"name": "NodeResourcesFit", "configRef": {"name": "mostly"}}
    old = {"preset": "BinPack", "weights": {"NodeResourcesFit": 7}, "pluginConfig": [reference]}
    admin.apply("argocd-controller", PROFILES, "SchedulerProfile", name, **old)
    first = admin.deciding(name)
    admin.edit(name, {"weights": {"NodeResourcesFit": 9, "NodeAffinity": 4}})
    second = admin.deciding(name, since=first)
    args = {"ignoredResources": ["example.com/b"]}
    admin.client.merge(f"{CONFIGS}/mostly", {"spec": {"args": args}})
    third = admin.deciding(name, since=second)

    # What applying does: the weight that another one owns stays.
    admin.apply("argocd-controller", PROFILES, "SchedulerProfile", name, **old)
    fourth = admin.deciding(name, since=third)
    assert admin.profile(name)["spec"]["weights"] == {"NodeResourcesFit": 7, "NodeAffinity": 4}
    assert len({first, second, third, fourth}) == 4

    told = admin.run("rollback", name, "--to", first, "--dry-run")
    assert "nothing was written" in told.lower()
    assert admin.deciding(name) == fourth
    told = admin.run("rollback", name, "--to", first, "--yes")
    assert f"{name} goes back from {fourth} to {first}." in told
    assert "spec.weights.NodeAffinity  4 -> -" in told
    assert "PluginConfig mostly has changed since: its old arguments are written inline" in told
    assert "argocd-controller owns spec.pluginConfig" in told
    assert f"{name} decides with {first} since" in told
    found = admin.profile(name)
    assert found["status"]["activeRevision"] == first
    assert found["spec"]["weights"] == {"NodeResourcesFit": 7}
    inline = {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/a"]}}
    assert found["spec"]["pluginConfig"] == [inline]
    assert FIELD_MANAGER in {entry["manager"] for entry in found["metadata"]["managedFields"]}

    listed = read_output(admin.run("history", name, "-o", "json"))["revisions"]
    assert [one["revision"] for one in listed] == [first, fourth, third, second]
    assert listed[0]["state"] == "active"
    assert listed[0]["changedBy"] == FIELD_MANAGER
    assert listed[3]["changedBy"] == "kubectl-edit"
    assert "weight of NodeAffinity 4 -> 2" in admin.run("history", name).splitlines()[1]


def test_without_a_name_it_is_the_one_before(administrator: Administrator) -> None:
    """And from a bad spec, the one that decides; the second time there is nothing to do."""
    admin, name = administrator, "before"
    admin.apply("me", PROFILES, "SchedulerProfile", name, preset="BinPack")
    first = admin.deciding(name)
    admin.edit(name, {"preset": "Spread"})
    second = admin.deciding(name, since=first)
    assert f"goes back from {second} to {first}" in admin.run("rollback", name, "--yes")
    admin.edit(name, {"weights": {"NodeResourceFit": 3}})
    admin.wait_for(name, "UnknownPlugin")
    told = admin.run("diff", name, "--spec", want=1)
    assert 'did you mean "NodeResourcesFit"?' in told
    told = admin.run("rollback", name, "--yes")
    assert f"{name} stays with {first}; its spec, which is refused, is given up." in told
    assert "and its spec says so" in admin.run("rollback", name, "--to", first, "--yes")
    assert admin.run("diff", name, f"{name}@{second}", want=1).count("\n") > 2
    assert "No difference" in admin.run("diff", name, f"{name}@{first[:5]}")


def test_a_pause_holds_what_decides(administrator: Administrator) -> None:
    """Until somebody lifts it, or goes back."""
    admin, name = administrator, "held"
    admin.apply("me", PROFILES, "SchedulerProfile", name, preset="BinPack")
    first = admin.deciding(name)
    assert f"{name} goes on with {first}" in admin.run("rollback", name, "--pause", "--yes")
    admin.edit(name, {"preset": "Spread"})
    admin.wait_for(name, "Paused")
    found = admin.profile(name)
    assert found["status"]["activeRevision"] == first
    assert found["status"]["desiredRevision"] != first
    assert "active, paused" in admin.run("history", name)
    told = admin.run("rollback", name, "--yes")
    assert f"{name} stays with {first}" in told
    assert not admin.profile(name)["spec"]["paused"]
    assert admin.deciding(name) == first


def test_what_is_not_there(administrator: Administrator) -> None:
    """A profile, a revision: wrong use. No terminal and no --yes: nothing is written."""
    admin, name = administrator, "there"
    admin.apply("me", PROFILES, "SchedulerProfile", name, preset="BinPack")
    first = admin.deciding(name)
    assert "there is no SchedulerProfile nowhere" in admin.run("history", "nowhere", want=2)
    assert "no revision 0000" in admin.run("rollback", name, "--to", "0000", want=2)
    admin.run("rollback", name, "--yes", want=1)  # nothing was before
    admin.edit(name, {"preset": "Spread"})
    second = admin.deciding(name, since=first)
    assert "--yes goes on" in admin.run("rollback", name, want=2)
    assert admin.deciding(name) == second
