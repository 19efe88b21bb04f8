"""`moorage fit` of pod groups: whether they would start, how many would, and who lacks a node."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.apps.fit.workload_fits import FitOptions, run
from tests.apps.fit.test_fit import COSCHEDULING, KUBERNETES, WORLD, ZONE, pod_spec
from tests.apps.outputs.reading import read_output

POLICY: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 3}}}
GROUP = {**KUBERNETES, "spec": POLICY}
ZONED = {**GROUP, "spec": {**POLICY, "schedulingConstraints": {"topology": [{"key": ZONE}]}}}


def job(name: str, number: int, cpu: str) -> dict[str, Any]:
    """Of so many members of group g."""
    spec = {**pod_spec(cpu=cpu), "schedulingGroup": {"podGroupName": "g"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": number, "completions": number, "template": {"spec": spec}},
    }


def said(files: Any, capsys: pytest.CaptureFixture[str], *objects: Any) -> tuple[int, list[str]]:
    """Exit status and lines."""
    status = run(FitOptions(files=(files(*objects),), world=(files(*WORLD),)))
    return status, capsys.readouterr().out.splitlines()


def test_a_group_that_starts(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """One group of two workloads, and whom the next one would lack a node for."""
    status, lines = said(files, capsys, GROUP, job("driver", 1, "2"), job("worker", 2, "1"))
    assert status == 0
    assert lines[0].startswith("Pod group default/g starts: 3 of 3 members fit, on 2 nodes; there ")
    assert lines[0].endswith("is room for 3 such groups in all.")
    assert lines[1].startswith("  next    another such group lacks default/")
    assert lines[2] == "3 of 3 pods fit now."
    assert "Job default/worker: 2 of 2 fit in their group." in lines


def test_a_group_that_does_not(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The member that is the obstacle, and what would do."""
    status, lines = said(files, capsys, GROUP, job("driver", 1, "7"), job("worker", 2, "4"))
    assert status == 1
    assert lines[:3] == [
        "Pod group default/g would not start: it needs 3 together, 2 find a place.",
        "  lacks   default/worker-1: 0/2 nodes are available: 2 Insufficient cpu.",
        "  short   the group; 1 more node like n1 would do",
    ]
    assert "Job default/worker: 1 of 2 fit in their group." in lines


def test_topology(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value of the key; where the members fit if they may lie anywhere, they do not in one."""
    pods = job("driver", 1, "4"), job("worker", 2, "4")
    assert said(files, capsys, GROUP, *pods)[0] == 0
    status, lines = said(files, capsys, ZONED, *pods)
    assert status == 1
    zones = [line.strip() for line in lines if line.startswith(f"  {ZONE} ")]
    assert len(zones) == 2
    assert zones[0].startswith(f"{ZONE} a takes 2: ") or zones[1].startswith(f"{ZONE} a takes 2: ")


def test_a_group_of_which_nothing_is_known(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Room is counted as for pods alone; but nobody tries them: no, and what to create is said."""
    status, lines = said(files, capsys, job("worker", 2, "1"))
    text = 'nobody tries such pods now: waiting for pods\'s pod group "g" to appear'
    assert any(text in line for line in lines)
    assert status == 1


def test_one_group_for_programs(files: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is about the group, whoever declares it."""
    pods = job("worker", 4, "3")
    del pods["spec"]["template"]["spec"]["schedulingGroup"]
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    pods["spec"]["template"]["metadata"] = {"labels": labels}
    file = files(COSCHEDULING, pods)
    assert run(FitOptions(files=(file,), world=(files(*WORLD),), form="json")) == 1
    found = read_output(capsys.readouterr().out)
    (group,) = found["groups"]
    assert found["answer"].startswith("Pod group default/g would not start: it needs 4 together")
    assert (group["api"], group["minCount"], group["members"]) == (COSCHEDULING["apiVersion"], 4, 4)
    assert (group["starts"], group["room"], group["obstacle"]) == (False, 0, "default/worker-3")
    assert group["moreNodes"]["needed"] == 1
    assert found["shortGroups"] == [{"name": "default/g", "needed": 4, "placed": 3}]
    (worker,) = found["workloads"]
    assert (worker["fits"], worker["room"]) == (3, 0)
