"""`moorage fit`, on YAML as people write it: sentences, documents and exit statuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from moorage.apps.exit_status import WrongUse
from moorage.apps.fit.workload_fits import FitOptions, run
from moorage.apps.pod_templates import read_workloads
from tests.apps.outputs.reading import read_output
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
    found = read_output(capsys.readouterr().out)
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
        pytest.param(WORLD[0], ", DaemonSet; there is Node", id="what there is"),
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
    (found,) = read_workloads([files({"apiVersion": "v1", "kind": "Pod", **pod})], {}).templates
    (container,) = found.pod.spec.containers or ()
    assert container.resources is not None and container.resources.requests == {"cpu": "2"}
    assert (found.pod.spec.node_name, found.pod.metadata.uid) == ("", "new Pod default/p 1")
    assert found.pod.spec.scheduler_name == "default-scheduler"


def test_more_than_any_number_of_nodes_takes(
    files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is said, and not that more nodes would be no use."""
    options = FitOptions(files=(files(workload()),), world=(files(*WORLD),), replicas=10**9)
    assert run(options) == 1
    assert "1,000 more nodes like n1 would not do" in capsys.readouterr().out


def test_suspended_profiles_are_named(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """They decide here all the same."""
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "default-scheduler"},
        "spec": {"suspend": True},
    }
    assert run(FitOptions(files=(files(workload()),), world=(files(*WORLD, profile),))) == 0
    why = "the SchedulerProfile that decides for 'default-scheduler' is suspended"
    said = capsys.readouterr()
    assert f"moorage: {why}; here it decides" in said.err
    assert f"held    nobody tries such pods now: {why}" in said.out


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "CronJob"])
def test_other_workloads(files: Any, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """A CronJob counts as one run of it."""
    body = workload("Job", 2) if kind == "CronJob" else workload(kind, 2)
    if kind == "CronJob":
        body["spec"] = {"schedule": "@daily", "jobTemplate": {"spec": body["spec"]}}
    if kind == "ReplicationController":
        body["spec"]["selector"] = {"app": "web"}
    file = files({**body, "kind": kind})
    assert run(FitOptions(files=(file,), world=(files(*WORLD),), form="json")) == 0
    (found,) = read_output(capsys.readouterr().out)["workloads"]
    assert (found["name"], found["fits"]) == (f"{kind} default/web", 2)


def test_what_is_passed_over_is_said(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    assert run(FitOptions(files=(files(service, workload()),), world=(files(*WORLD),))) == 0
    assert "passed over: Service" in capsys.readouterr().err


def test_a_daemon_set(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """One on each node that admits it: on how many of how many, and why not on others."""
    full = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "f"}, "status": RUNNING}
    full["spec"] = {**pod_spec(cpu="2"), "nodeName": "n2"}
    tainted = json.loads(json.dumps(WORLD[0]).replace("n1", "n3"))
    tainted["spec"] = {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
    world = files(*WORLD, full, tainted)
    daemons = files({**workload(), "kind": "DaemonSet"})
    assert run(FitOptions(files=(daemons,), world=(world,))) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "1 of 3 nodes get a pod; 1 node that should has no room."
    assert said[2:5] == [
        "  placed  n1",
        "  short   1 node: Insufficient cpu",
        "  aside   1 node: untolerated taint gpu=yes:NoSchedule",
    ]
    assert run(FitOptions(files=(daemons,), world=(world,), form="json")) == 1
    (found,) = read_output(capsys.readouterr().out)["workloads"]
    assert (found["requested"], found["fits"], found["moreNodes"]) == (2, 1, None)
    assert found["notAdmitted"] == [{"reason": "untolerated taint gpu=yes:NoSchedule", "nodes": 1}]


RUNNING = {"phase": "Running"}


COSCHEDULING = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "g"},
    "spec": {"minMember": 4},
}
KUBERNETES = {
    **COSCHEDULING,
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
}
VOLCANO = {**COSCHEDULING, "apiVersion": "scheduling.volcano.sh/v1beta1"}


@pytest.mark.parametrize(
    ("group", "metadata", "spec"),
    [
        (COSCHEDULING, {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, {}),
        (KUBERNETES, {}, {"schedulingGroup": {"podGroupName": "g"}}),
        (VOLCANO, {"annotations": {"scheduling.k8s.io/group-name": "g"}}, {}),
        (
            None,
            {
                "labels": {"scheduling.x-k8s.io/pod-group": "g"},
                "annotations": {"moorage.dev/min-member": "4"},
            },
            {},
        ),
    ],
    ids=["scheduling-plugins", "Kubernetes", "Volcano", "annotation"],
)
@pytest.mark.parametrize("where", ["files", "world"])
def test_a_group_that_would_not_start(
    files: Any,
    capsys: pytest.CaptureFixture[str],
    group: dict[str, Any] | None,
    metadata: dict[str, Any],
    spec: dict[str, Any],
    where: str,
) -> None:
    """Three find a place, and four are needed; two workloads may make up one group."""
    job = workload("Job", 2)
    template = job["spec"]["template"]
    template["metadata"] |= metadata
    template["spec"] |= spec
    there = [] if group is None else [group]
    file = files(job, *(there if where == "files" else []))
    world = files(*WORLD, *(there if where == "world" else []))
    assert run(FitOptions(files=(file,), world=(world,))) == 1
    text = "Pod group default/g would not start: it needs 4 together, 2 find a place."
    assert capsys.readouterr().out.startswith(text)
    big = files(
        {**WORLD[0], "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "9"}}}
    )
    world = files(*yaml.safe_load_all(big.read_text()), *(there if where == "world" else []))
    both = files(job, {**job, "metadata": {"name": "more"}}, *(there if where == "files" else []))
    assert run(FitOptions(files=(both,), world=(world,))) == 0


def test_priority_classes_of_the_cluster(files: Any) -> None:
    """They count beside those of the files."""
    gold = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "gold"},
        "value": 7,
    }
    body = workload(template={"spec": {**pod_spec(cpu="3"), "priorityClassName": "gold"}})
    assert run(FitOptions(files=(files(body),), world=(files(*WORLD, gold),))) == 0


def test_extenders_are_named(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """As nobody outside is asked about pods that are not there."""
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "asking"},
        "spec": {
            "extenders": [
                {
                    "urlPrefix": "https://e.test",
                    "filterVerb": "f",
                    "enableHTTPS": True,
                    "tlsConfig": {"insecure": True},
                }
            ]
        },
    }
    config = {
        "apiVersion": "config.moorage.dev/v1alpha1",
        "kind": "OperatorConfiguration",
        "extenders": {"allowedHosts": ["e.test"]},
    }
    body = workload(template={"spec": {**pod_spec(cpu="3"), "schedulerName": "asking"}})
    options = FitOptions(
        files=(files(body),), world=(files(*WORLD, profile),), config=files(config)
    )
    assert run(options) == 0
    assert "; not asked: https://e.test" in capsys.readouterr().out


def test_the_command(files: Any) -> None:
    """With a file from stdin, and without one."""
    world = files(*WORLD)
    done = call(
        "fit", "-f", "-", "--from", world, "--replicas", "9", stdin=yaml.safe_dump(workload())
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("3 of 9 fit now.")
    assert call("fit").returncode == 2
    empty = call("fit", "-f", "-", "--from", world)
    assert (empty.returncode, empty.stderr.strip()) == (
        3,
        "moorage: - cannot be read: stdin is empty, or was read already",
    )
    assert call("fit", "-f", world.parent / "absent.yaml", "--from", world).returncode == 3
