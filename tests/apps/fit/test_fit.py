"""`moorage fit`, on YAML as people write it: sentences, documents and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.apps.exit_status import WrongUse
from moorage.apps.fit.workload_fits import FitOptions, run
from moorage.apps.pod_templates import read_templates
from tests.apps.test_cli import call

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
WORLD = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}},
    }
    for name, zone, cpu in (("n1", "a", "8"), ("n2", "b", "4"))
]


def pod_spec(**requests: str) -> dict[str, Any]:
    """Of one container that asks for this."""
    return {"containers": [{"name": "c", "image": "app", "resources": {"requests": requests}}]}


def workload(kind: str = "Deployment", replicas: int = 3, **spec: Any) -> dict[str, Any]:
    """A workload of pods of 3 processors each."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec(cpu="3", memory="1Gi")}
    count = {"parallelism" if kind == "Job" else "replicas": replicas}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "web"}}}
    api = "batch/v1" if kind == "Job" else "apps/v1"
    whole = {**count, **selector, "template": template, **spec}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "web"}, "spec": whole}


@pytest.fixture
def files(tmp_path: Path) -> Any:
    """Writes objects into a file, and says where."""

    def write(*bodies: dict[str, Any]) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(yaml.safe_dump_all(bodies))
        return path

    return write


def test_all_fit(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer first, then what was asked for and where it goes."""
    world = files(*WORLD)
    assert run(FitOptions(files=(files(workload()),), world=(world,))) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "3 of 3 fit; there is room for 3 in all."
    assert said[1].startswith("  asks    cpu 3, memory 1Gi each; default-scheduler ")
    assert said[2:] == ["  placed  n1, n2", f"  from    {world}"]


def test_fewer_fit(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What runs out, and how many more nodes would do."""
    options = FitOptions(files=(files(workload()),), world=(files(*WORLD),), replicas=8)
    assert run(options) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "3 of 8 fit now. What runs out first: cpu."
    assert said[3] == "  short   5 pods: Insufficient cpu; 3 more nodes like n1 would do"


def test_pods_that_wait_go_first(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    waiting = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}}
    world = files(*WORLD, {**waiting, "spec": pod_spec(cpu="4")})
    file = files(workload())
    assert run(FitOptions(files=(file,), world=(world,))) == 1
    assert run(FitOptions(files=(file,), world=(world,), empty_queue=True)) == 0


def test_documents_for_programs(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """As docs/simulate.md describes them."""
    both = files(workload("StatefulSet", 2), workload("Job", 5, completions=2))
    assert run(FitOptions(files=(both,), world=(files(*WORLD),), form="json")) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["requested"], found["fits"]) == ("Fit", 4, 3)
    first, second = found["workloads"]
    assert (first["name"], first["fits"], first["roomIsExact"]) == (
        "StatefulSet default/web",
        2,
        True,
    )
    assert (second["limitingResource"], second["moreNodes"]["needed"]) == ("cpu", 1)
    assert sum(one["pods"] for one in first["placements"]) == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(WORLD[0], "there is none of Pod, Deployment", id="no workload"),
        pytest.param(
            workload(replicas=-1), "spec.replicas: -1: must be a whole number", id="replicas"
        ),
        pytest.param({**workload(), "spec": {}}, "spec.template: Required value", id="no template"),
        pytest.param(
            workload(template={"spec": {**pod_spec(), "priorityClassName": "gold"}}),
            "'gold': there is no PriorityClass of this name: add it to the files",
            id="priority class",
        ),
        pytest.param(
            workload(template={"spec": {**pod_spec(), "schedulerName": "binpak"}}),
            "Deployment default/web: spec.schedulerName: 'binpak': no profile decides for it",
            id="scheduler",
        ),
    ],
)
def test_what_means_nothing(files: Any, body: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongUse, match=re.escape(said)):
        run(FitOptions(files=(files(body),), world=(files(*WORLD),)))


def test_pods_are_as_an_api_server_stores_them(files: Any) -> None:
    """What is limited is requested; a pod from a cluster is a new one."""
    limits = {"containers": [{"name": "c", "image": "a", "resources": {"limits": {"cpu": "2"}}}]}
    pod = {"metadata": {"name": "p", "uid": "u"}, "spec": {**limits, "nodeName": "n1"}}
    (found,) = read_templates([files({"apiVersion": "v1", "kind": "Pod", **pod})])
    (container,) = found.pod.spec.containers or ()
    assert container.resources is not None and container.resources.requests == {"cpu": "2"}
    assert (found.pod.spec.node_name, found.pod.metadata.uid) == ("", "new Pod default/p 1")
    assert found.pod.spec.scheduler_name == "default-scheduler"


def test_the_command(files: Any) -> None:
    """With a file from stdin, and without one."""
    world = files(*WORLD)
    done = call(
        "fit", "-f", "-", "--from", world, "--replicas", "9", stdin=yaml.safe_dump(workload())
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("3 of 9 fit now.")
    assert call("fit").returncode == 2
    assert call("fit", "-f", world.parent / "absent.yaml", "--from", world).returncode == 3
