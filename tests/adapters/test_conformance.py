"""Adapters and fakes have exactly the methods of the ports that they stand for, with the same
parameters.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from moorage.adapters import (
    event_broadcaster,
    kube_reads,
    kube_session,
    kube_writes,
    leader_election,
    lease_store,
    prometheus,
    reflector,
    replica_leases,
    system_clock,
)
from moorage.ports import clock, event_recorder, http_calls, kube, leadership, telemetry
from tests.fakes import clocks, sinks
from tests.fakes import kube as fake_kube

PAIRS = [
    (http_calls.HttpSession, kube_session.KubeSession),
    (http_calls.HttpSession, fake_kube.ScriptedHttp),
    (kube.Informer, reflector.Reflector),
    (kube.Informer, fake_kube.ScriptedInformer),
    (kube.KubeWriter, kube_writes.HttpKubeWriter),
    (kube.KubeWriter, fake_kube.InMemoryKube),
    *(
        (part, made)
        for part in (kube.VolumeWriter, kube.ClaimWriter)
        for made in (kube_writes.HttpKubeWriter, fake_kube.InMemoryKube)
    ),
    (kube.KubeReader, kube_reads.HttpKubeReader),
    (kube.KubeReader, fake_kube.InMemoryKube),
    (kube.ReplicaAnnouncer, replica_leases.ReplicaLeases),
    (kube.ReplicaAnnouncer, fake_kube.InMemoryKube),
    (leadership.Elector, leader_election.LeaderElector),
    (leadership.Elector, leader_election.SingleReplica),
    (leadership.LeaseStore, lease_store.KubeLeaseStore),
    (clock.Clock, system_clock.SystemClock),
    (clock.Clock, clocks.ManualClock),
    (event_recorder.EventRecorder, event_broadcaster.EventBroadcaster),
    (event_recorder.EventRecorder, sinks.FakeEventRecorder),
    (telemetry.Telemetry, prometheus.PrometheusTelemetry),
    (telemetry.Telemetry, sinks.NullTelemetry),
]


@pytest.mark.parametrize(("port", "made"), PAIRS, ids=lambda cls: cls.__name__)
def test_same_methods_same_parameters(port: type[Any], made: type[Any]) -> None:
    """A method that was added to a port, or whose parameters changed, is missed here first."""
    for name, wanted in vars(port).items():
        if name.startswith("_"):
            continue
        found = getattr(made, name, None)
        if isinstance(wanted, property):
            # A fake may hold a plain attribute.
            assert isinstance(found, property) or name in inspect.getsource(made), name
            continue
        assert found is not None, f"{made.__name__} lacks {name}"
        assert list(inspect.signature(found).parameters) == list(
            inspect.signature(wanted).parameters
        ), name
        assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(wanted), name
