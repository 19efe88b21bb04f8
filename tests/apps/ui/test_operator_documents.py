"""What status and queue say, as the page reads it."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.status.status_documents import Source, status_document
from moorage.apps.ui.operator_documents import page_status
from moorage.apps.ui.queue_pages import page_queue, queue_of
from moorage.apps.waiting.queue_documents import from_pods, queue_document
from moorage.apps.worlds.world import empty_context
from moorage.apps.worlds.world_frame import take_frame
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from tests.apps.status.test_status import a_group, conditions, profile

ABOUT = {"at": "2026-11-27T14:32:08Z", "cluster": "c", "operator": "moorage-1", "leftOut": []}


def waiting(name: str, **fields: Any) -> dict[str, Any]:
    """A pod of the queue that has a turn."""
    pod = {
        "metadata": {"namespace": "d", "name": name, "creationTimestamp": "2026-11-27T14:00:00Z"},
        "spec": {"schedulerName": "batch"},
    }
    (found,) = from_pods([pod], frozenset({"batch"}))
    return {**found, **fields}


def test_the_queue_keeps_positions_and_folds() -> None:
    """In the page's four bands; one row for the pods of one owner that wait for the same."""
    reasons = [{"nodes": 3, "reason": "Insufficient cpu"}]
    parked = {"queue": "unschedulable", "owner": "ReplicaSet/web", "reasons": reasons}
    pods = [
        waiting("flies", queue="inFlight"),
        waiting("next", queue="active", turn=[0]),
        waiting("later", queue="backoff", turn=[1], attempts=2, until="2026-11-27T14:33:00Z"),
        waiting("web-1", **parked),
        waiting("web-2", **parked),
        waiting("lost", queue="unserved"),
        waiting("gated", queue="gated", gate="a/b"),
    ]
    found = page_queue(queue_document(pods, ABOUT))
    assert found["depth"] == {"active": 2, "backoff": 1, "unschedulable": 2, "gated": 2}
    positions = {one["pod"]: one["position"] for one in found["pods"]}
    assert (positions["d/next"], positions["d/later"], positions["d/web-1"]) == (1, 2, None)
    (row,) = [one for one in found["rows"] if one["name"] == "d/web"]
    assert row["pods"] == ["d/web-1", "d/web-2"]
    assert row["why"].startswith("3 Insufficient cpu")
    reasons_of = {one["pod"]: one["reasons"] for one in found["pods"]}
    assert reasons_of["d/web-1"] == ["3 Insufficient cpu"]
    assert reasons_of["d/gated"] == ["gate a/b"]
    assert found["ordered"]


@pytest.mark.parametrize(
    ("reason", "queue"),
    [
        ("Unschedulable", "unschedulable"),
        ("SchedulerError", "unschedulable"),
        ("Suspended", "active"),
        ("", "active"),
    ],
)
def test_who_finds_no_node_is_the_same_from_pods_and_objects(reason: str, queue: str) -> None:
    """A condition that says something else than that a pod was tried is no refusal."""
    body = {
        "metadata": {"namespace": "d", "name": "p", "uid": "u"},
        "spec": {"schedulerName": "batch"},
        "status": {"conditions": [{"type": "PodScheduled", "reason": reason, "message": "so"}]},
    }
    context = empty_context()
    pod = msgspec.convert(body, Pod)
    context.cache.observe_waiting(pod, pod_requests(pod))
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    (seen,) = queue_of(take_frame(context, {}, "here", at))["pods"]
    (said,) = page_queue(queue_document(from_pods([body], {"batch"}), ABOUT))["pods"]
    assert seen == said
    assert (seen["queue"], seen["schedulerName"]) == (queue, "batch")


def shown(profile: dict[str, Any], operator: str = "moorage-1") -> dict[str, Any]:
    """Status of a cluster with one profile."""
    rates = [{"profile": "batch", "podsPerSecond": 2.5, "p99Seconds": 0.2}] if operator else []
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    source = Source(cluster="c", at=at, operator=operator)
    return page_status(status_document(Surroundings([profile], None, True), rates, source))


def test_status_joins_profiles_and_rates() -> None:
    """Rates are None where no operator was asked."""
    one = profile("batch", queue={"active": 1, "inFlight": 1})
    one["spec"]["preset"] = "BinPack"
    (line,) = shown(one)["profiles"]
    assert (line["preset"], line["queue"]["active"], line["state"]) == ("BinPack", 2, "Ready")
    assert line["rates"] == shown(one)["rates"] == {"placed": 2.5, "p99": 0.2}
    alone = shown(one, operator="")
    assert (alone["rates"], alone["profiles"][0]["rates"]) == (None, None)


def test_groups_that_wait_are_as_the_command_has_them() -> None:
    """None where no operator was asked."""
    groups = (a_group("ml/short"), a_group("ml/other"))
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    around = Surroundings([profile("gpu", queue={"groups": 2})], None, True)
    found = status_document(around, [], Source(cluster="c", at=at, operator="o", groups=groups))
    assert [one["group"] for one in found["groups"]] == ["ml/other", "ml/short"]
    assert page_status(found)["groups"] == found["groups"]
    assert shown(profile("batch"), operator="")["groups"] is None


@pytest.mark.parametrize(
    ("wrong", "severity", "state", "command"),
    [
        ({"Accepted": "UnknownPlugin"}, "bad", "Refused", "moorage diff batch --spec"),
        ({"ResolvedRefs": "PluginConfigNotFound"}, "bad", "Unresolved", "kubectl get pcfg"),
        ({"Permitted": "RBACMissing"}, "bad", "Forbidden", "kubectl describe sprof batch"),
        ({"Active": "RolledBack"}, "bad", "RolledBack", "moorage trial batch"),
        ({"Active": "Trial"}, "trial", "Trial", "moorage trial batch"),
        ({"Active": "Paused"}, "warn", "Paused", "kubectl describe sprof batch"),
        ({"Active": "Suspended"}, "warn", "Suspended", "kubectl describe sprof batch"),
        ({"Active": "Waiting"}, "bad", "Pending", "kubectl describe sprof batch"),
    ],
)
def test_a_problem_is_called_what_it_is(
    wrong: dict[str, str], severity: str, state: str, command: str
) -> None:
    """Its state and the command that shows more are those of `moorage status`."""
    ((kind, reason),) = wrong.items()
    found = {kind: ("False", reason, "so it is"), "Ready": ("Unknown", reason, "so it is")}
    status = shown(profile("batch", conditions=conditions(**found)))
    (problem,), (line,) = status["problems"], status["profiles"]
    assert (problem["severity"], line["state"], problem["next"]) == (severity, state, command)
    assert line["message"] == problem["text"]
