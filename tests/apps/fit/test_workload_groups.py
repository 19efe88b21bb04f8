"""`moorage fit` of JobSets and Workloads: the pods and groups that their controllers would make."""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec
import pytest

from moorage.apps.exit_status import WrongUse
from moorage.apps.fit.workload_fits import FitOptions, run
from moorage.apps.pod_templates import already_there, pods_of, read_workloads
from moorage.core.objects.meta import OwnerReference
from moorage.core.objects.pod_groups import API, PodGroup, pod_group_name
from tests.apps.fit.test_fit import WORLD
from tests.apps.fit.test_fitted_groups import job
from tests.builders import make_pod

ANNOTATION = "scheduling.k8s.io/group-template-name"


def replicated(name: str, replicas: int | None, number: int, cpu: str = "1") -> dict[str, Any]:
    """A replicated Job of a JobSet, whose pods name no group."""
    body = job("", number, cpu)["spec"]
    del body["template"]["spec"]["schedulingGroup"]
    template = {"spec": body}
    return {"name": name, "template": template} | (
        {} if replicas is None else {"replicas": replicas}
    )


def jobset(*jobs: dict[str, Any]) -> dict[str, Any]:
    """JobSet default/sim."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "sim"},
        "spec": {"replicatedJobs": [*jobs]},
    }


def workload(controller: str = "JobSet", **least: int) -> dict[str, Any]:
    """Workload default/sim with gangs of these names and minimums."""
    reference = {"controllerRef": {"kind": controller, "name": "sim"}} if controller else {}
    templates = [
        {"name": name, "schedulingPolicy": {"gang": {"minCount": number}}}
        for name, number in least.items()
    ]
    return {
        "apiVersion": API,
        "kind": "Workload",
        "metadata": {"name": "sim"},
        "spec": {**reference, "podGroupTemplates": templates},
    }


def groups(files: Any, *objects: dict[str, Any]) -> dict[str, str]:
    """The group of each template's pods, by its name."""
    found = read_workloads([files(*objects)], {})
    return {one.name: pod_group_name(one.pod).partition("/")[2] for one in found.templates}


SIM = jobset(replicated("driver", None, 1), replicated("workers", 2, 3))


def test_the_pods_of_a_job_set(files: Any) -> None:
    """Those of all Jobs of a replicated one are alike, and have JobSet's labels."""
    found = read_workloads([files(SIM)], {}).templates
    assert [(one.name, one.replicas) for one in found] == [
        ("JobSet default/sim driver", 1),
        ("JobSet default/sim workers", 6),
    ]
    assert found[1].pod.metadata.labels == {
        "jobset.sigs.k8s.io/jobset-name": "sim",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
    }
    names = {(pod.metadata.name, pod.metadata.uid) for pod in pods_of(found)}
    assert len(names) == 7
    assert ("sim-workers-5", "new JobSet default/sim sim-workers 1-5") in names


def test_pods_of_a_job_set_that_are_there(files: Any) -> None:
    """They would count twice."""
    found = read_workloads([files(SIM)], {}).templates
    labels = found[1].pod.metadata.labels
    owner = OwnerReference("batch/v1", "Job", "sim-workers-0", "u", controller=True)
    pod = make_pod("p")
    meta = msgspec.structs.replace(pod.metadata, labels=labels, owner_references=(owner,))
    (said,) = already_there(found, [msgspec.structs.replace(pod, metadata=meta)])
    assert said.startswith("1 pod of JobSet default/sim workers is there already")


def test_groups_of_templates(files: Any) -> None:
    """By the Job's annotation, by the replicated Job's name, or the only one."""
    assert groups(files, SIM, workload(all=7)) == {
        "JobSet default/sim driver": "sim-all",
        "JobSet default/sim workers": "sim-all",
    }
    assert groups(files, workload(driver=1, workers=6), SIM) == {
        "JobSet default/sim driver": "sim-driver",
        "JobSet default/sim workers": "sim-workers",
    }
    named = copy.deepcopy(SIM)
    annotated = {"annotations": {ANNOTATION: "workers"}}
    named["spec"]["replicatedJobs"][0]["template"]["metadata"] = annotated
    assert set(groups(files, named, workload(driver=1, workers=7)).values()) == {"sim-workers"}
    alone = {**job("sim", 3, "1"), "metadata": {"name": "sim"}}
    del alone["spec"]["template"]["spec"]["schedulingGroup"]
    assert groups(files, alone, workload("Job", all=3)) == {"Job default/sim": "sim-all"}
    assert groups(files, alone, workload("JobSet", all=3)) == {"Job default/sim": ""}


def test_pods_that_name_a_group_stay_in_it(files: Any) -> None:
    """And may name that of a template."""
    body = job("sim", 3, "1")
    assert groups(files, body, workload("Job", all=3)) == {"Job default/sim": "g"}
    body["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] = "sim-all"
    found = read_workloads([files(body, workload("", all=3))], {})
    assert (pod_group_name(found.templates[0].pod), found.warnings) == ("default/sim-all", ())


def test_a_pod_group_of_the_files_that_names_its_template(files: Any) -> None:
    """It is the one: no other is made."""
    own = {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {"name": "own"},
        "spec": {
            "workloadRef": {"workloadName": "sim", "templateName": "all"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
    }
    file = files(SIM, workload(all=7), own)
    assert [one.metadata.name for one in read_workloads([file], {}).groups] == ["own"]
    assert set(groups(files, SIM, workload(all=7), own).values()) == {"own"}


def test_what_a_template_says_goes_into_its_group(files: Any) -> None:
    """With the priority of its class."""
    body = workload(all=7)
    constraints = {"topology": [{"key": "zone"}]}
    body["spec"]["podGroupTemplates"][0] |= {
        "priorityClassName": "gold",
        "schedulingConstraints": constraints,
        "disruptionMode": {"all": {}},
    }
    (found,) = read_workloads([files(SIM, body)], {"gold": 9}).groups
    assert isinstance(found, PodGroup)
    assert (found.spec.priority, found.spec.disrupted_together) == (9, True)
    assert found.spec.scheduling_constraints is not None
    assert found.spec.scheduling_policy.gang is not None
    assert found.spec.scheduling_policy.gang.min_count == 7


def test_fitted(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The JobSet of a Workload starts as a whole, or not."""
    world = (files(*WORLD),)
    assert run(FitOptions(files=(files(SIM, workload(all=7)),), world=world)) == 0
    assert capsys.readouterr().out.startswith("Pod group default/sim-all starts: 7 of 7 members")
    big = jobset(replicated("driver", None, 1), replicated("workers", 2, 3, "4"))
    assert run(FitOptions(files=(files(big, workload(all=7)),), world=world)) == 1
    said = capsys.readouterr().out
    assert said.startswith("Pod group default/sim-all would not start: it needs 7 together, 3 find")


def test_groups_without_members(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said where their pods are looked for; of a Workload alone there is nothing to fit."""
    other = job("other", 1, "1")
    file = files(other, workload(all=7))
    run(FitOptions(files=(file,), world=(files(*WORLD),)))
    said = capsys.readouterr().err
    assert (
        "moorage: Workload default/sim: no pod of the files is in a group of template 'all': "
        "name the pods' maker in spec.controllerRef, or the group 'sim-all' in the pods' "
        "spec.schedulingGroup" in said
    )
    with pytest.raises(WrongUse, match="there is none of Pod, Deployment"):
        read_workloads([files(workload(all=7))], {})


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """With this value at a path as messages write it; None takes it away."""
    body = copy.deepcopy(body)
    *way, last = re.findall(r"\w+", path)
    inner: Any = body
    for step in way:
        inner = inner[int(step) if step.isdecimal() else step]
    if value is None:
        del inner[last]
    else:
        inner[int(last) if last.isdecimal() else last] = value
    return body


JOB = "spec.replicatedJobs[1]"
GROUP = "spec.podGroupTemplates[0]"


@pytest.mark.parametrize(
    ("body", "path", "value", "said"),
    [
        (SIM, "spec.replicatedJobs", None, "Required value"),
        (SIM, "spec.replicatedJobs[0]", 3, "must be an object"),
        (SIM, f"{JOB}.name", None, "Required value"),
        (SIM, f"{JOB}.replicas", -1, "-1: must be a whole number, 0 or more"),
        (SIM, f"{JOB}.template", None, "Required value"),
        (SIM, f"{JOB}.template.spec.parallelism", "x", "'x': must be a whole number, 0 or more"),
        (SIM, f"{JOB}.template.spec.template.spec", None, "Required value"),
        (workload(all=1), "spec.podGroupTemplates", [], "Required value"),
        (workload(all=1), f"{GROUP}.name", None, "Required value"),
        (workload(all=1), f"{GROUP}.schedulingPolicy", None, "Required value"),
        (workload(all=1), f"{GROUP}.schedulingPolicy.gang.minCount", "x", ""),
        (workload(all=1), f"{GROUP}.priorityClassName", "gold", "'gold': there is no PriorityCl"),
        (workload(all=1), "spec.controllerRef.kind", None, "Required value"),
        (workload(all=1), "spec.controllerRef", "x", "must be an object"),
        (workload(all=1), "spec.compositePodGroupTemplates", [{}], "groups of groups are not"),
    ],
)
def test_what_means_nothing(
    files: Any, body: dict[str, Any], path: str, value: Any, said: str
) -> None:
    """The object and the field's path are named."""
    file = files(job("web", 1, "1"), changed(body, path, value))
    name = f"{file}: document 2 ({body['kind']} sim): "
    with pytest.raises(WrongUse) as refused:
        read_workloads([file], {})
    text = str(refused.value)
    assert text.startswith(name), text
    assert f"{path}: {said}" in text if said else path in text


@pytest.mark.parametrize(
    ("annotation", "said"),
    [(None, "Required value"), ("drivers", "'drivers'")],
)
def test_templates_that_may_be_meant(files: Any, annotation: str | None, said: str) -> None:
    """Of several, one has to be named."""
    body = copy.deepcopy(SIM)
    if annotation:
        metadata = {"annotations": {ANNOTATION: annotation}}
        body["spec"]["replicatedJobs"][0]["template"]["metadata"] = metadata
    path = f"spec.replicatedJobs[0].template.metadata.annotations[{ANNOTATION}]"
    text = f"{path}: {said}: the Workload of JobSet default/sim has the templates a, b; name one of"
    with pytest.raises(WrongUse, match=re.escape(text)):
        read_workloads([files(body, workload(a=1, b=2))], {})


def test_others_of_these_names(files: Any) -> None:
    """Kueue's Workloads, and JobSets of versions that are not known, are passed over."""
    kueue = {**workload(all=1), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    newer = {**SIM, "apiVersion": "jobset.x-k8s.io/v9"}
    found = read_workloads([files(job("web", 1, "1"), kueue, newer)], {})
    assert [one.name for one in found.templates] == ["Job default/web"]
    assert [one.split(",")[0] for one in found.warnings] == [
        "passed over: JobSet",
        "passed over: Workload",
    ]
