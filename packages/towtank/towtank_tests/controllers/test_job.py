"""Jobs on virtual time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from towtank.model import conditions
from towtank_tests.controllers.harness import ControllerHarness

JOBS, PODS = "jobs.batch", "pods"
INDEX = "batch.kubernetes.io/job-completion-index"


def a_job(cluster: ControllerHarness, run_for: str = "", **more: Any) -> None:
    """Create one, whose pods succeed after this time."""
    template = {
        "metadata": {"annotations": {"towtank/run-for": run_for} if run_for else {}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app:1"}]},
    }
    cluster.create(JOBS, "train", spec={"template": template, **more})


def indexes(cluster: ControllerHarness) -> list[str]:
    """Those of all pods."""
    return sorted(pod["metadata"]["labels"][INDEX] for pod in cluster.verbs.every(PODS))


def edit(cluster: ControllerHarness, **fields: Any) -> None:
    """Change the job's spec."""
    cluster.change(JOBS, "train", lambda job: job["spec"].update(fields))


def end(cluster: ControllerHarness, name: str, phase: str) -> None:
    """Let a pod end so."""
    cluster.change(PODS, name, lambda pod: pod["status"].update(phase=phase), "status")


def true_conditions(cluster: ControllerHarness) -> list[str]:
    """What holds of the job."""
    job = cluster.get(JOBS, "train")
    return [
        one["type"]
        for one in job["status"].get("conditions", ())
        if conditions.holds(job, one["type"])
    ]


def test_an_indexed_job_has_a_pod_for_each_number() -> None:
    """No more at a time than it says; the next number comes once one has succeeded."""
    cluster = ControllerHarness()
    a_job(cluster, "30s", completions=5, parallelism=3, completionMode="Indexed")
    cluster.run(10)
    assert indexes(cluster) == ["0", "1", "2"]
    pod = cluster.get(PODS, next(name for name in cluster.names(PODS) if "train-1-" in name))
    assert pod["spec"]["hostname"] == "train-1" and pod["metadata"]["annotations"][INDEX] == "1"
    assert pod["metadata"]["labels"]["job-name"] == "train"
    status = cluster.get(JOBS, "train")["status"]
    assert (status["active"], status["ready"], status.get("succeeded")) == (3, 3, None)
    cluster.run(25)
    assert indexes(cluster) == ["0", "1", "2", "3", "4"]
    assert cluster.get(JOBS, "train")["status"]["completedIndexes"] == "0-2"
    cluster.run(60)
    status = cluster.get(JOBS, "train")["status"]
    assert (status["succeeded"], status["completedIndexes"]) == (5, "0-4")
    assert true_conditions(cluster) == ["SuccessCriteriaMet", "Complete"]
    assert "active" not in status and status["completionTime"] > status["startTime"]


@pytest.mark.parametrize("number", [1, 40])
def test_a_deleted_pod_is_made_anew(number: int) -> None:
    """Of an Indexed job with the number that it had."""
    cluster = ControllerHarness()
    a_job(cluster, completions=number, parallelism=number, completionMode="Indexed")
    cluster.run(10)
    first = cluster.names(PODS)
    assert len(first) == number
    cluster.delete(PODS, first[-1])
    cluster.run(40)
    assert len(indexes(cluster)) == number == len(set(indexes(cluster)))
    assert first[-1] not in cluster.names(PODS)


def test_parallelism_follows() -> None:
    """Fewer, and more again."""
    cluster = ControllerHarness()
    a_job(cluster, completions=9, parallelism=4)
    for parallelism in (4, 1, 3, 0):
        edit(cluster, parallelism=parallelism)
        cluster.run(60)
        assert len(cluster.names(PODS)) == parallelism


def test_without_completions_one_that_succeeds_is_enough() -> None:
    """Others end by themselves, and none is made in their place."""
    cluster = ControllerHarness()
    a_job(cluster, parallelism=2)
    cluster.run(10)
    first, second = cluster.names(PODS)
    end(cluster, first, "Succeeded")
    cluster.run(10)
    assert cluster.names(PODS) == [first, second] and true_conditions(cluster) == []
    end(cluster, second, "Succeeded")
    cluster.run(10)
    assert true_conditions(cluster)[-1] == "Complete"


def test_too_many_failures_end_it() -> None:
    """Each failed pod is replaced, up to the limit; then those that run go, too."""
    cluster = ControllerHarness()
    a_job(cluster, completions=2, parallelism=2, backoffLimit=1)
    for failed in (1, 2):
        cluster.run(10)
        running = [
            pod["metadata"]["name"]
            for pod in cluster.verbs.every(PODS)
            if pod["status"]["phase"] == "Running"
        ]
        assert len(running) == 2
        end(cluster, running[0], "Failed")
        cluster.run(40)
        assert cluster.get(JOBS, "train")["status"]["failed"] == failed
    assert true_conditions(cluster) == ["FailureTarget", "Failed"]
    assert Counter(pod["status"]["phase"] for pod in cluster.verbs.every(PODS)) == {"Failed": 2}


def test_a_suspended_job_has_no_pods() -> None:
    """They go while it is suspended, and come when it is not."""
    cluster = ControllerHarness()
    a_job(cluster, completions=2, parallelism=2, suspend=True)
    for suspended in (True, False, True):
        edit(cluster, suspend=suspended)
        cluster.run(60)
        assert len(cluster.names(PODS)) == (0 if suspended else 2)
        assert ("Suspended" in true_conditions(cluster)) == suspended
        assert ("startTime" in cluster.get(JOBS, "train")["status"]) != suspended


def test_its_pods_go_with_it() -> None:
    """As kubectl deletes it."""
    cluster = ControllerHarness()
    a_job(cluster, completions=2, parallelism=2)
    cluster.run(10)
    cluster.delete(JOBS, "train")
    cluster.run(60)
    assert cluster.names(PODS) == []
