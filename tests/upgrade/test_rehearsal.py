"""The way to v1beta1, rehearsed (docs/adr/0019): a second version of the same schema beside
v1alpha1, stored in its place, and served alone in the end, while this release's operator goes on.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.load.traffic import pod
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.controllers import Controllers
from tests.rig.objects import apply, create
from tests.rig.operators import ROOT, Operator, install, until
from tests.rig.processes import RigError

OLD, NEW = "v1alpha1", "v1beta1"
KINDS: Final = {"schedulerprofiles": "SchedulerProfile", "pluginconfigs": "PluginConfig"}
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
PODS: Final = "/api/v1/namespaces/default/pods"
ROOM: Final = {"cpu": "4", "memory": "4Gi", "pods": "100"}
NODE: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n0"},
    "status": {"allocatable": ROOM, "capacity": ROOM},
}


@pytest.fixture(scope="module")
def rig(assets: Path) -> Iterator[Rig]:
    """A control plane with the controller that writes objects anew."""
    with Rig(assets) as rig, Controllers(rig):
        if not rig.groups:
            pytest.skip("Kubernetes 1.36 migrates nothing unless a gate is on")
        yield rig


class Rehearsal:
    """The definitions as they are changed step by step, and the objects seen through a version."""

    def __init__(self, rig: Rig, client: Client) -> None:
        self.rig = rig
        self.client = client
        self.made = 0

    def define(self, *, served: tuple[str, ...], stored: str) -> None:
        """Both versions, of the same schema."""
        for plural in KINDS:
            body = yaml.safe_load((ROOT / "crds" / f"{plural}.yaml").read_text(encoding="utf-8"))
            (only,) = body["spec"]["versions"]
            body["spec"]["versions"] = [
                {
                    **only,
                    "name": version,
                    "served": version in served,
                    "storage": version == stored,
                }
                for version in (OLD, NEW)
            ]
            path = f"{DEFINITIONS}/{plural}.moorage.dev"
            self.client.request(
                "PATCH",
                f"{path}?fieldManager=rehearsal&force=true",
                body,
                "application/apply-patch+yaml",
            )
        for plural in KINDS:
            for version in (OLD, NEW):
                self.wait_served(self.path(version, plural), version in served)

    def wait_served(self, path: str, wanted: bool) -> None:
        """Wait until the API server has such a resource, or has none any more."""
        until(lambda: is_served(self.client, path) == wanted, f"{path}: {wanted}")

    def path(self, version: str, plural: str = "schedulerprofiles") -> str:
        """Where objects are."""
        return f"/apis/moorage.dev/{version}/{plural}"

    def make(self, version: str, plural: str, name: str, spec: dict[str, Any]) -> None:
        """An object by a version."""
        body = {"apiVersion": f"moorage.dev/{version}", "kind": KINDS[plural]}
        self.client.post(
            self.path(version, plural), {**body, "metadata": {"name": name}, "spec": spec}
        )

    def objects(self, version: str) -> dict[tuple[str, str], Any]:
        """What of all objects must not change: by plural and name."""
        return {
            (plural, one["metadata"]["name"]): (
                one["metadata"]["uid"],
                one["metadata"]["generation"],
                one["spec"],
                [(found["type"], found["status"]) for found in one["status"]["conditions"]],
            )
            for plural in KINDS
            for one in self.client.get(self.path(version, plural))["items"]
        }

    def wait_ready(self, version: str, name: str) -> None:
        """The operator has said by its version what can be read by this one."""

        def ready() -> bool:
            status = self.client.get(f"{self.path(version)}/{name}").get("status", {})
            found = {one["type"]: one["status"] for one in status.get("conditions", ())}
            return found.get("Ready") == "True"

        until(ready, f"profile {name}")

    def bind(self, scheduler: str) -> None:
        """A pod of this scheduler's gets a node."""
        self.made += 1
        name = f"p{self.made}"
        self.client.post(PODS, pod(name, scheduler))
        until(lambda: self.client.get(f"{PODS}/{name}")["spec"].get("nodeName"), f"{name} bound")

    def stored(self) -> list[list[str]]:
        """In which versions there may be objects in the store."""
        return [
            self.client.get(f"{DEFINITIONS}/{plural}.moorage.dev")["status"]["storedVersions"]
            for plural in KINDS
        ]

    def migrate(self) -> None:
        """Have Kubernetes write all objects anew."""
        for plural in KINDS:
            body = {"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration"}
            spec = {"resource": {"group": "moorage.dev", "resource": plural}}
            self.client.post(MIGRATIONS, {**body, "metadata": {"name": plural}, "spec": spec})
        until(lambda: all(map(self.succeeded, KINDS)), "the migration", 60)

    def succeeded(self, name: str) -> bool:
        """Whether a migration has come to its end."""
        status = self.client.get(f"{MIGRATIONS}/{name}").get("status", {})
        found = {one["type"]: one["status"] for one in status.get("conditions", ())}
        assert found.get("Failed") != "True", status
        return found.get("Succeeded") == "True"


def test_the_way_to_v1beta1(rig: Rig) -> None:
    """Every object is the same at each step by each version that is served, no generation moves,
    and pods are bound all the time, in the end by what the operator has in memory.
    """
    kubeconfig = install(rig)
    create(rig, NODE)
    with contextlib.closing(Client(rig)) as client, Operator(rig, kubeconfig, "rehearsal") as one:
        play = Rehearsal(rig, client)
        one.wait_logged("leading")
        shared = {
            "plugin": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "MostAllocated"}},
        }
        play.make(OLD, "pluginconfigs", "shared", shared)
        reference = [{"name": "NodeResourcesFit", "configRef": {"name": "shared"}}]
        play.make(
            OLD,
            "schedulerprofiles",
            "a",
            {"pluginConfig": reference, "weights": {"X": 1}} | {"weights": {}},
        )
        play.wait_ready(OLD, "a")

        play.define(served=(OLD, NEW), stored=OLD)
        play.make(NEW, "schedulerprofiles", "b", {"preset": "BinPack", "podMaxBackoffSeconds": 7})
        for name in "ab":
            play.wait_ready(NEW, name)
            play.bind(name)
        assert play.objects(OLD) == play.objects(NEW)

        play.define(served=(OLD, NEW), stored=NEW)
        play.make(NEW, "schedulerprofiles", "c", {"pluginConfig": reference})
        play.make(OLD, "schedulerprofiles", "d", {"suspend": False})
        for name in "abcd":
            play.wait_ready(NEW, name)
            play.bind(name)
        before = play.objects(OLD)
        assert play.objects(NEW) == before
        assert play.stored() == [[OLD, NEW], [OLD, NEW]]

        play.migrate()
        until(lambda: play.stored() == [[NEW], [NEW]], "the list of stored versions")
        assert (play.objects(OLD), play.objects(NEW)) == (before, before)

        play.define(served=(NEW,), stored=NEW)
        assert play.objects(NEW) == before
        for name in "abcd":
            play.bind(name)
        assert one.alive


SMALL: Final = "sails.rehearsal.example.com"


def small(stored: str, **more: dict[str, Any]) -> dict[str, Any]:
    """A definition of two versions; ``more`` are fields of one of them alone."""
    common = {"size": {"type": "integer"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": SMALL},
        "spec": {
            "group": "rehearsal.example.com",
            "scope": "Cluster",
            "names": {"kind": "Sail", "plural": "sails"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == stored,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {**common, **more.get(version, {})},
                                },
                                "status": {
                                    "type": "object",
                                    "properties": {"seen": {"type": "integer"}},
                                },
                            },
                        }
                    },
                }
                for version in (OLD, NEW)
            ],
        },
    }


@pytest.mark.parametrize("both", [False, True], ids=["in-one-version", "in-both-versions"])
def test_a_field_of_one_version_alone_is_lost(rig: Rig, both: bool) -> None:
    """Strategy None renames nothing and keeps nothing: whoever writes by a version, be it only the
    status, writes what that version's schema has. So two versions have one schema.
    """
    colour = {"colour": {"type": "string"}}
    apply(rig, small(NEW, **{NEW: colour, **({OLD: colour} if both else {})}))
    rig.establish(SMALL)
    root = "/apis/rehearsal.example.com"
    body = {"kind": "Sail", "metadata": {"name": "jib"}, "spec": {"size": 3, "colour": "red"}}
    with contextlib.closing(Client(rig)) as client:
        new, old = (f"{root}/{version}/sails" for version in (NEW, OLD))
        until(lambda: is_served(client, new) and is_served(client, old), SMALL)
        client.post(new, {"apiVersion": f"rehearsal.example.com/{NEW}", **body})
        assert client.get(f"{new}/jib")["spec"] == body["spec"]
        client.merge(f"{old}/jib/status", {"status": {"seen": 1}})
        left = body["spec"] if both else {"size": 3}
        assert client.get(f"{new}/jib")["spec"] == left
        client.delete(f"{DEFINITIONS}/{SMALL}")
        until(lambda: not is_served(client, new), f"{SMALL} to go")


def is_served(client: Client, path: str) -> bool:
    """Whether there is such a resource; where a whole group is gone the answer is plain text."""
    with contextlib.suppress(RigError, json.JSONDecodeError):
        client.get(path)
        return True
    return False
