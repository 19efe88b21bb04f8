"""What status and queue say, as the page reads it."""

from __future__ import annotations

from typing import Any

from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.ui.operator_documents import page_queue, page_status
from moorage.apps.waiting.queue_documents import from_pods, queue_document

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


def test_status_joins_profiles_and_rates() -> None:
    """Rates are None where no operator was asked."""
    profile = {"metadata": {"name": "batch"}, "spec": {"preset": "BinPack"}, "status": {}}
    line = {
        "name": "batch",
        "queue": {"active": 1, "inFlight": 1},
        "activeSince": None,
        "podsPerSecond": 2.5,
        "p99Seconds": 0.2,
    }
    replica = {
        "identity": "moorage-1",
        "role": "Leader",
        "revisionsReady": 1,
        "revisions": 1,
        "since": None,
    }
    said = {
        "answer": "Profile batch needs a look.",
        "operator": "moorage-1",
        "problems": [{"profile": "batch", "message": "spec refused"}],
        "profiles": [line],
        "replicas": [replica],
    }
    found = page_status(said, Surroundings([profile], None, True))
    (shown,) = found["profiles"]
    assert (shown["preset"], shown["queue"]["active"]) == ("BinPack", 2)
    assert shown["rates"] == found["rates"] == {"placed": 2.5, "p99": 0.2}
    assert found["replicas"][0]["revisions"] == "1 of 1"
    assert found["problems"][0]["next"] == "moorage diff batch --spec"
    alone = page_status({**said, "operator": None}, Surroundings([profile], None, True))
    assert (alone["rates"], alone["profiles"][0]["rates"]) == (None, None)
