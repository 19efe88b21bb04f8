"""Scenarios: read from their files, played on a real API server."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.rig.clients import Client
from tests.rig.operators import Operator, until
from tests.rig.processes import RigError
from tests.scenarios.expecting import Facts, differences
from tests.scenarios.manifests import manifest, path, priority_class, running

FOLDER: Final = Path(__file__).parent

WITHIN: Final = 15.0
"""Seconds in which what is expected must come true: backoff takes a second or two, the sweep of
waiting pods minutes.
"""
STAYS: Final = 1.0
"""Seconds for which what ``stays`` says must go on being true."""
POLL: Final = 0.1
STRICTLY: Final = "?fieldValidation=Strict"
"""A misspelt field is an error, not a scenario about something else."""
SETTLE: Final = 0.1
"""Seconds for the operator to hear of what it does not show: claims, classes, budgets,
namespaces.
"""


@dataclass(frozen=True)
class Scenario:
    """A file: what it is about, where that was reported, and its steps."""

    name: str
    about: str
    steps: tuple[dict[str, Any], ...]
    source: str = ""


def load(file: Path) -> Scenario:
    """Read a scenario. Raises TypeError when it has a key that none has, or lacks one."""
    read = yaml.safe_load(file.read_text())
    return Scenario(name=file.stem, **{**read, "steps": tuple(read["steps"])})


@dataclass(frozen=True)
class Stage:
    """An API server without nodes, and an operator."""

    client: Client
    operator: Operator

    def placed(self) -> set[tuple[str, str]]:
        """(node, pod on it) as the API server has them, and (node, "") for each node."""
        nodes = {(item["metadata"]["name"], "") for item in self.client.get(path("Node"))["items"]}
        pods = [
            item
            for item in self.client.get("/api/v1/pods")["items"]
            if item["spec"].get("nodeName")
        ]
        alive = [item for item in pods if item["status"]["phase"] not in ("Succeeded", "Failed")]
        return nodes | {
            (
                item["spec"]["nodeName"],
                f"{item['metadata']['namespace']}/{item['metadata']['name']}",
            )
            for item in alive
        }

    def cached(self) -> set[tuple[str, str]]:
        """The same as the operator has them."""
        items = json.loads(self.operator.fetched("/debug/cache"))
        nodes = {(item["node"], "") for item in items if item["exists"]}
        return nodes | {(item["node"], pod["pod"]) for item in items for pod in item["pods"]}

    def catch_up(self) -> None:
        """Wait until the operator knows what is where."""
        until(lambda: self.placed() == self.cached(), "catching up with the API server")


@dataclass
class Play:
    """One scenario on the stage, in a namespace of its name. ``clean`` takes away all that it
    made.
    """

    stage: Stage
    scenario: Scenario
    pods: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # paths, in order

    @property
    def _namespace(self) -> str:
        return self.scenario.name

    def run(self) -> None:
        """All steps. Raises AssertionError with the step and what differs."""
        self._create({"Namespace": {self._namespace: {}}})
        for number, step in enumerate(self.scenario.steps, 1):
            try:
                self._take(dict(step))
            except (AssertionError, RigError, TimeoutError) as error:
                raise AssertionError(f"step {number}, {next(iter(step))}: {error}") from error

    def clean(self) -> None:
        """Delete everything; nothing in the cluster would do it for us."""
        client = self.stage.client
        for namespace in [
            one.rsplit("/", 1)[1] for one in self.made if one.startswith(path("Namespace"))
        ]:
            client.delete(path("Pod", namespace))
        for one in reversed(self.made):
            with contextlib.suppress(RigError):
                client.delete(one)
            if one.startswith(path("Namespace") + "/") and one.count("/") == 4:
                body = {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": one.rsplit("/", 1)[1]},
                    "spec": {},
                }
                client.request("PUT", f"{one}/finalize", body)
        self.stage.catch_up()

    # ---- steps -----------------------------------------------------------------------------------

    def _take(self, step: dict[str, Any]) -> None:
        refused = step.pop("refused", None)
        ((word, what),) = step.items()
        steps: Mapping[str, Callable[[Any], None]] = {
            "create": self._create,
            "patch": self._patch,
            "delete": self._delete,
            "dies": self._die,
            "runs": self._run_with,
            "provides": self._provide,
            "expect": self._expect,
            "stays": lambda expected: self._expect(expected, STAYS),
        }
        try:
            steps[word](what)
            answer = "accepted"
        except RigError as error:
            if refused is None:
                raise
            answer = str(error)
        assert refused is None or refused in answer, (
            f"expected to be refused: {refused}, but it was {answer}"
        )

    def _create(self, objects: Mapping[str, Mapping[str, Any]]) -> None:
        """Objects by kind and name, pods after the operator knows of all others."""
        if pods := objects.get("Pod"):
            self._create({kind: named for kind, named in objects.items() if kind != "Pod"})
            ranks = {said["priority"] for said in pods.values() if "priority" in said}
            self._create(
                {"PriorityClass": {priority_class(rank): {"value": rank} for rank in sorted(ranks)}}
            )
            if any(kind not in ("Pod", "Node") for kind in objects):
                time.sleep(SETTLE)
            self.stage.catch_up()
        for kind, named in objects.items() if not pods else [("Pod", pods)]:
            for name, said in _copies(named):
                self._post(kind, manifest(kind, name, said, self._namespace))

    def _post(self, kind: str, body: dict[str, Any]) -> None:
        name, namespace = body["metadata"]["name"], body["metadata"].get("namespace", "")
        where = path(f"{kind}/{name}", namespace)
        if kind == "PriorityClass" and where in self.made:
            return
        self.stage.client.post(path(kind, namespace) + STRICTLY, body)
        if kind != "Pod":
            self.made.append(where)
        elif namespace == self._namespace and name not in self.pods:
            self.pods.append(name)

    def _patch(self, bodies: Mapping[str, Any]) -> None:
        """Strategic merge patches, as kubectl's are; custom resources know merge patches only."""
        for what, body in bodies.items():
            how = (
                "merge"
                if what.startswith(("SchedulerProfile/", "PluginConfig/"))
                else "strategic-merge"
            )
            self.stage.client.request(
                "PATCH",
                path(what, self._namespace) + STRICTLY,
                body,
                f"application/{how}-patch+json",
            )

    def _delete(self, what: str) -> None:
        """With the grace that the object has: there is no kubelet, so a pod with a grace stays
        terminating.
        """
        self.stage.client.request("DELETE", path(what, self._namespace))

    def _die(self, pod: str) -> None:
        """As a kubelet reports the end of a pod that is being deleted."""
        self.stage.client.delete(path(f"Pod/{pod}", self._namespace))

    def _run_with(self, pods: Mapping[str, Mapping[str, Any]]) -> None:
        """As a kubelet reports that pods run, and with which resources."""
        self._patch({f"Pod/{name}/status": running(resources) for name, resources in pods.items()})

    def _provide(self, volumes: Mapping[str, str]) -> None:
        """As the volume controller does: claim -> a new volume of this name, bound to each
        other.
        """
        for claim, name in volumes.items():
            what = f"PersistentVolumeClaim/{claim}"
            found = self.stage.client.get(path(what, self._namespace))
            spec, size = found["spec"], found["spec"]["resources"]["requests"]
            driver = self.stage.client.get(path(f"StorageClass/{spec['storageClassName']}"))[
                "provisioner"
            ]
            volume = {
                "capacity": size,
                "accessModes": spec["accessModes"],
                "storageClassName": spec["storageClassName"],
                "csi": {"driver": driver, "volumeHandle": name},
                "claimRef": {
                    "kind": "PersistentVolumeClaim",
                    "namespace": self._namespace,
                    "name": claim,
                    "uid": found["metadata"]["uid"],
                },
            }
            self._create({"PersistentVolume": {name: {"spec": volume}}})
            done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
            bound = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": size}
            self._patch({f"PersistentVolume/{name}/status": {"status": {"phase": "Bound"}}})
            self._patch(
                {
                    what: {"metadata": done, "spec": {"volumeName": name}},
                    f"{what}/status": {"status": bound},
                }
            )

    def _expect(self, expected: Mapping[str, Any], stays: float = 0.0) -> None:
        """Look until all of it is so at once, and goes on being so."""
        end, since = time.monotonic() + WITHIN, None
        while True:
            wrong, now = (
                differences(expected, Facts(self.stage.client, self._namespace, self.pods)),
                time.monotonic(),
            )
            since = None if wrong else now if since is None else since
            if since is not None and now - since >= stays:
                return
            assert now < end or not wrong, "\n".join(wrong)
            time.sleep(POLL)


def _copies(named: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and what is said of them; with ``copies: 3`` the name stands for name-0, name-1 and
    name-2.
    """
    for name, said in named.items():
        rest = dict(said)
        copies = rest.pop("copies", None)
        for one in [name] if copies is None else [f"{name}-{i}" for i in range(copies)]:
            yield one, dict(rest)
