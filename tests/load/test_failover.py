"""The leader goes while pods come: the other replica takes over, and the old one writes nothing
after that.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.load.traffic import Traffic, accepted_binds, overcommitted, wait_all_bound
from tests.rig import AuditEvent, Rig
from tests.rig.clients import Client
from tests.rig.operators import Operator, until, wait_for

RATE, SECONDS = 50, 30
ELECTION = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"
LEADERS_ONLY = {
    ("pods", "binding"),
    ("pods", "status"),
    ("schedulerprofiles", "status"),
    ("pluginconfigs", "status"),
}


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
    """Name of the replica that holds the lease, "" for none."""
    return str(client.get(LEASE)["spec"].get("holderIdentity", "")).partition("_")[0]


def take_over(rig: Rig, client: Client, old: Operator, number: signal.Signals) -> dict[str, Any]:
    """Send the leader a signal, wait until another replica binds, wake a stopped one; returns who,
    and how long it took.
    """
    gone = time.time()
    old.signal(number)
    name = until(lambda: holder(client).removeprefix(old.name), f"the takeover after {number.name}")
    taken = time.time()
    bound = until(
        lambda: [
            event
            for event in writes(rig, name)
            if event.object_ref and event.object_ref.subresource == "binding"
        ],
        "a binding",
    )
    if number is signal.SIGSTOP:
        old.signal(signal.SIGCONT)
    first = bound[0].request_received_timestamp.timestamp()
    return {
        "old": old.name,
        "new": name,
        "lease_s": round(taken - gone, 2),
        "first_bind_s": round(first - gone, 2),
    }


def test_failover_under_load(
    installation: tuple[Rig, Path], client: Client, figures: Callable[..., None]
) -> None:
    """No pod lost or bound twice; no write of an old leader after the first of the new one, also
    when it was only stopped.
    """
    rig, kubeconfig = installation
    room = {"cpu": "100", "memory": "100Gi", "pods": "1000"}
    for i in range(10):
        client.post(
            "/api/v1/nodes",
            {"metadata": {"name": f"n{i}"}, "status": {"allocatable": room, "capacity": room}},
        )
    client.post(
        PROFILES,
        {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": "ha"},
            "spec": {},
        },
    )
    with contextlib.ExitStack() as stack:

        def start(i: int) -> Operator:
            return stack.enter_context(
                Operator(rig, kubeconfig, f"moorage-{i}", {"leaderElection": ELECTION})
            )

        replicas = {replica.name: replica for replica in (start(0), start(1))}
        wait_for(rig, "Ready", "sprof/ha")
        takeovers = []
        with Traffic(rig, "ha", RATE, SECONDS) as traffic:
            for i, number in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP), start=2):
                leader = replicas[holder(client)]
                takeovers.append((number.name, take_over(rig, client, leader, number)))
                replicas[f"moorage-{i}"] = start(i)
                replicas[f"moorage-{i}"].wait_logged("health and metrics are served")
            assert traffic.running, (
                "the takeovers took longer than the load lasted: they were not under load"
            )
        pods = wait_all_bound(client, set(traffic.made))
    binds = accepted_binds(rig)
    figures(pods=len(traffic.made), **dict(takeovers))
    for _, takeover in takeovers:
        first = writes(rig, takeover["new"])[0].request_received_timestamp
        late = [
            event
            for event in writes(rig, takeover["old"])
            if event.request_received_timestamp > first
        ]
        assert not late, (
            f"{takeover}: {len(late)} writes of the old leader, the first at "
            f"{late[0].request_received_timestamp}, not {first}"
        )
    assert {p["metadata"]["name"] for p in pods if p["spec"].get("nodeName")} == set(traffic.made)
    assert max(binds.values()) == 1
    assert len(binds) == len(traffic.made) == traffic.count
    assert overcommitted(client) == []
