"""Plugins from packages that pip installed, in the operator as a process: the example of the
documentation, and one that hangs.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.run.watchdog import HUNG_EXIT_STATUS
from moorage.ports.quarantine_record import QUARANTINE_ANNOTATION
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.environments import Environment
from tests.rig.objects import create
from tests.rig.operators import NAMESPACE, ROOT, SERVICE_ACCOUNT, Operator, install, until

EXAMPLE = ROOT / "tests" / "example_plugin"
PACKAGES = {
    "plugins": {"packages": ["rack_plugins", "hanging_plugin"]},
    "leaderElection": {"leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "500ms"},
}
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "hanging-plugin"
version = "{version}"
[tool.hatch.build.targets.wheel]
packages = ["hanging_plugin"]
"""
# For ever, in code that never lets another thread of the process run.
HANGS = "re.match('(a+)+$', 'a' * 64 + 'b')"
PLUGIN = """
import dataclasses, re
from typing import ClassVar
from moorage.plugin_api import PluginRegistration, PluginSpec

@dataclasses.dataclass(frozen=True)
class Hanging:
    name: ClassVar[str] = "Hanging"
    events_to_register: ClassVar = ()

    def filter_node(self, pod, node):
        if (pod.metadata.labels or {{}}).get("hang"):
            {what}
        return None

def plugins():
    return [PluginRegistration(PluginSpec("Hanging", Hanging))]
"""


class World:
    """A rig with the operator's environment."""

    def __init__(self, rig: Rig, client: Client, environment: Environment, folder: Path) -> None:
        self.rig = rig
        self.client = client
        self.environment = environment
        self.kubeconfig = install(rig)
        self.first: Operator
        """The one that both tests find running."""
        self._folder = folder
        self._started = 0

    def operator(self) -> Operator:
        """Another start of the operator."""
        self._started += 1
        return Operator(
            self.rig, self.kubeconfig, f"moorage-{self._started}", PACKAGES, self.environment.python
        )

    def install_hanging(self, version: str, what: str) -> None:
        """Install this version of the package whose plugin does this for labelled pods."""
        project = self._folder / f"hanging-{version}"
        (project / "hanging_plugin").mkdir(parents=True)
        (project / "pyproject.toml").write_text(PROJECT.format(version=version))
        (project / "hanging_plugin" / "__init__.py").write_text(PLUGIN.format(what=what))
        self.environment.install(project)

    def place(self, pod: str) -> str:
        """The node of a pod, "" for none."""
        return str(
            self.client.get(f"/api/v1/namespaces/default/pods/{pod}")["spec"].get("nodeName", "")
        )

    def said(self, pod: str) -> str:
        """What the pod's condition says."""
        conditions = (
            self.client.get(f"/api/v1/namespaces/default/pods/{pod}")
            .get("status", {})
            .get("conditions", [])
        )
        return next(
            (
                str(found.get("message", ""))
                for found in conditions
                if found["type"] == "PodScheduled"
            ),
            "",
        )

    def refused(self, profile: str) -> str:
        """Make pods until one of them is told why it waits, since what refuses them may come later
        than they do; its name.
        """
        for name in (f"{profile}-{number}" for number in range(50)):
            create(self.rig, a_pod(name, profile))
            until(lambda name=name: self.place(name) or self.said(name), f"a word about {name}")
            if not self.place(name):
                return name
        raise AssertionError(f"no pod of {profile} was refused")

    def condition(self, profile: str, kind: str) -> tuple[str, str]:
        """Status and reason of a profile's condition."""
        found = (
            self.client.get(f"/apis/moorage.dev/v1alpha1/schedulerprofiles/{profile}")
            .get("status", {})
            .get("conditions", [])
        )
        return next(
            ((one["status"], one["reason"]) for one in found if one["type"] == kind), ("", "")
        )


@pytest.fixture(scope="module")
def world(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two racks with a node each, their CRD, the right to read them, and both packages
    installed.
    """
    folder = tmp_path_factory.mktemp("packages")
    environment = Environment(folder / "environment")
    environment.install(Path(shutil.copytree(EXAMPLE, folder / "example")))
    with Rig(assets) as rig, contextlib.closing(Client(rig)) as client:
        found = World(rig, client, environment, folder)
        found.install_hanging("1.0.0", HANGS)
        create(rig, crd())
        rig.establish("racks.example.com")
        rig.kubectl(
            "create",
            "clusterrole",
            "read-racks",
            "--verb=list,watch",
            "--resource=racks.example.com",
        )
        rig.kubectl(
            "create",
            "clusterrolebinding",
            "read-racks",
            "--clusterrole=read-racks",
            f"--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}",
        )
        create(
            rig,
            *(racked(f"node-{rack}", rack) for rack in ("r1", "r2")),
            *(a_rack(rack) for rack in ("r1", "r2")),
        )
        create(
            rig,
            a_profile(
                "racked",
                ["RackMaintenance", "SameRack"],
                {"name": "SameRack", "args": {"preferredRack": "r2"}},
            ),
            a_profile("plain", []),
            a_profile("hanging", ["Hanging"]),
        )
        with found.operator() as found.first:
            found.first.wait_logged("leading")
            yield found


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition of racks."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "racks", "singular": "rack", "kind": "Rack"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "racks.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]},
    }


def a_rack(name: str) -> dict[str, Any]:
    """A rack in service."""
    return {
        "apiVersion": "example.com/v1",
        "kind": "Rack",
        "metadata": {"name": name},
        "spec": {"maintenance": False},
    }


def racked(name: str, rack: str) -> dict[str, Any]:
    """A node in a rack."""
    found = node(name, "a")
    found["metadata"]["labels"]["example.com/rack"] = rack
    return found


def a_profile(name: str, plugins: list[str], *configs: dict[str, Any]) -> dict[str, Any]:
    """A profile with these plugins too."""
    enabled = {"multiPoint": {"enabled": [{"name": plugin, "weight": 100} for plugin in plugins]}}
    spec = {"plugins": enabled, "pluginConfig": list(configs)}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def a_pod(name: str, profile: str, **labels: str) -> dict[str, Any]:
    """A pod."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"schedulerName": profile, "containers": [container]},
    }


def test_the_example_of_the_documentation(world: World) -> None:
    """Its arguments decide where pods go; a change of its custom resource refuses them, and another
    one wakes who was refused.
    """
    create(world.rig, a_pod("drawn", "racked"))
    assert until(lambda: world.place("drawn"), "a pod that is drawn to a rack") == "node-r2"
    for rack in ("r1", "r2"):
        world.client.merge(f"/apis/example.com/v1/racks/{rack}", {"spec": {"maintenance": True}})
    refused = world.refused("racked")
    said = world.said(refused)
    assert said.startswith("0/2 nodes are available: 2 node(s) were in a rack under maintenance.")
    world.client.merge("/apis/example.com/v1/racks/r1", {"spec": {"maintenance": False}})
    assert until(lambda: world.place(refused), "a pod that a rack woke", 10) == "node-r1"
    assert world.condition("racked", "Ready") == ("True", "Ready")


def test_a_plugin_that_hangs(world: World) -> None:
    """It ends the process once; after that its profile is refused, all others go on, and its next
    version is welcome.
    """
    first = world.first
    create(world.rig, a_pod("good", "hanging"))
    until(lambda: world.place("good"), "a pod for which the plugin does not hang")
    create(world.rig, a_pod("bad", "hanging", hang="yes"))
    until(lambda: not first.alive, "the end of a process that hangs", 20)
    assert first.terminate() == HUNG_EXIT_STATUS
    text = first.log_file.read_text(errors="replace")
    assert "Fatal Python error: Aborted" in text
    assert "in filter_node" in text
    lease = world.client.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/moorage")
    assert json.loads(lease["metadata"]["annotations"][QUARANTINE_ANNOTATION]) == {
        "Hanging": "1.0.0"
    }
    create(world.rig, a_pod("other", "plain"))
    began = time.monotonic()
    with world.operator() as operator:
        until(lambda: world.place("other"), "another profile's pod", 30)
        assert time.monotonic() - began < 30
        until(
            lambda: world.condition("hanging", "Accepted") == ("False", "PluginQuarantined"),
            "the quarantine",
        )
        assert "1.0.0 of this plugin hung" in until(lambda: world.said("bad"), "a word to the pod")
        assert operator.alive
        assert operator.terminate() == 0
    world.install_hanging("1.0.1", "pass")
    with world.operator() as operator:
        until(lambda: world.place("bad"), "the pod, placed by the plugin's next version")
        until(
            lambda: world.condition("hanging", "Accepted") == ("True", "Valid"), "a word about it"
        )
        assert operator.terminate() == 0
