"""The leader goes while pods come: the other replica takes over, and the old one writes nothing after that."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.load.traffic import Traffic, accepted_binds, overcommitted, wait_all_bound
from tests.rig import AuditEvent, Rig
from tests.rig.clients import Client
from tests.rig.operators import Operator, until, wait_for

RATE, SECONDS = 50, 14
ELECTION = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"
LEADERS_ONLY = {("pods", "binding"), ("pods", "status"), ("schedulerprofiles", "status"), ("pluginconfigs", "status")}


def writes(rig: Rig, replica: str) -> list[AuditEvent]:
    """What a replica wrote as a leader, in the order in which the API server received it."""
    wrote = [
        event
        for event in rig.audit()
        if f" {replica}" in event.user_agent
        and event.object_ref is not None
        and (event.object_ref.resource, event.object_ref.subresource) in LEADERS_ONLY
        if event.verb in ("create", "patch", "update") and event.stage == "ResponseComplete"
    ]
    return sorted(wrote, key=lambda event: event.request_received_timestamp)


def holder(client: Client) -> str:
    """Who holds the lease."""
    return str(client.get(LEASE)["spec"].get("holderIdentity", ""))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP], ids=lambda number: number.name)
def test_failover_under_load(installation: tuple[Rig, Path], client: Client, figures: Callable[..., None], number: signal.Signals) -> None:
    """No pod lost or bound twice; no write of the old leader after the first of the new one, also when it was only stopped."""
    rig, kubeconfig = installation
    for i in range(10):
        room = {"cpu": "100", "memory": "100Gi", "pods": "1000"}
        client.post("/api/v1/nodes", {"metadata": {"name": f"n{i}"}, "status": {"allocatable": room, "capacity": room}})
    client.post(
        "/apis/moorage.dev/v1alpha1/schedulerprofiles",
        {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": "ha"}},
    )
    with contextlib.ExitStack() as stack:
        replicas = [stack.enter_context(Operator(rig, kubeconfig, f"moorage-{i}", {"leaderElection": ELECTION})) for i in range(2)]
        wait_for(rig, "condition=Ready", "sprof/ha")
        old = next(replica for replica in replicas if holder(client).startswith(replica.name))
        new = next(replica for replica in replicas if replica is not old)
        with Traffic(rig, "ha", RATE, SECONDS) as traffic:
            time.sleep(3)
            gone = time.time()
            old.signal(number)
            until(lambda: holder(client).startswith(new.name), "the takeover", 30)
            taken = time.time()
            until(lambda: writes(rig, new.name), "the new leader's first write", 30)
            if number is signal.SIGSTOP:
                old.signal(signal.SIGCONT)
        pods = wait_all_bound(client, set(traffic.made))
        time.sleep(1)
    first = writes(rig, new.name)[0].request_received_timestamp
    late = [event for event in writes(rig, old.name) if event.request_received_timestamp > first]
    binds = accepted_binds(rig)
    first_bind = min(
        e.request_received_timestamp.timestamp() for e in writes(rig, new.name) if e.object_ref and e.object_ref.subresource == "binding"
    )
    figures(
        signal=number.name,
        pods=len(traffic.made),
        lease_taken_over_after_s=round(taken - gone, 2),
        first_bind_after_s=round(first_bind - gone, 2),
    )
    assert late == []
    assert {p["metadata"]["name"] for p in pods if p["spec"].get("nodeName")} == set(traffic.made)
    assert max(binds.values()) == 1
    assert len(binds) == len(traffic.made) == traffic.count
    assert overcommitted(client) == []
