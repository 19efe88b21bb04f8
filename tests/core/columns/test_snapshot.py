"""Trials: what is tried on rows is seen there, by nobody else, and leaves no trace."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache, PodInfo, PodState
from moorage.core.columns.pod_info import PodBatch
from moorage.core.columns.snapshot import Snapshot
from moorage.core.objects.pods import Pod
from moorage.core.pods.host_ports import HostPort
from moorage.core.pods.requests import CPU, PODS, pod_requests
from tests.builders import make_node

GPU = "example.com/gpu"


def asking(name: str, node: str = "", port: int = 0, gpus: str = "0", **requests: str) -> Pod:
    """A pod."""
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {**requests, GPU: gpus}}}
    if port:
        container["ports"] = [{"hostPort": port}]
    return msgspec.convert(
        {
            "metadata": {"name": name, "uid": name},
            "spec": {"nodeName": node, "containers": [container]},
        },
        Pod,
    )


PODS_THERE = (
    asking("a", "n1", cpu="1"),
    asking("b", "n1", 80, cpu="2"),
    asking("c", "n2", cpu="4", gpus="1"),
)


@pytest.fixture
def cache() -> Cache:
    """Two nodes with three pods."""
    cache = Cache()
    for name in ("n1", "n2"):
        cache.put_node(make_node(name))
    for pod in PODS_THERE:
        cache.observe(pod, pod_requests(pod))
    return cache


def state_of(cache: Cache) -> object:
    """All that a trial could change."""
    nodes = cache.nodes
    pods = {
        node: [record.pod.metadata.name for record in Snapshot(cache).pods_on(node)]
        for node in ("n1", "n2")
    }
    logs = [log.version for log in nodes.logs]
    amounts = [nodes.amounts_on(row) for row in range(nodes.rows)]
    return (
        amounts,
        nodes.non_zero_requested.tolist(),
        nodes.ports.conflicts(HostPort("TCP", 80, "0.0.0.0")),
        pods,
        logs,
    )


def herd_of(cache: Cache, *names: str) -> PodBatch:
    """These pods of the cache."""
    return PodBatch([record for name in names if (record := cache.pod_info(name))], cache.nodes)


ALL = np.arange(3)


def test_pods_are_gone_from_their_rows(cache: Cache) -> None:
    """What they asked for, their ports and they themselves."""
    snapshot = Snapshot(cache)
    with snapshot.trial() as trial:
        trial.remove(herd_of(cache, "a", "b", "c"), ALL)
        assert not cache.nodes.requested.any()
        assert GPU not in cache.nodes.resources
        assert not cache.nodes.non_zero_requested.any()
        assert cache.nodes.ports.conflicts(HostPort("TCP", 80, "")) == []
        assert list(snapshot.pods_on("n1")) == []


def test_some_are_put_back(cache: Cache) -> None:
    """Those that are named, by their places."""
    snapshot = Snapshot(cache)
    batch = herd_of(cache, "a", "b", "c")
    with snapshot.trial() as trial:
        trial.remove(batch, ALL)
        trial.add_back(batch, np.array([1]))
        row = cache.nodes.row_of["n1"]
        assert (cache.nodes.requested[CPU, row], cache.nodes.requested[PODS, row]) == (2000, 1)
        assert cache.nodes.ports.conflicts(HostPort("TCP", 80, "")) == [row]
        assert [record.pod.metadata.name for record in snapshot.pods_on("n1")] == ["b"]


def test_a_new_pod_comes_and_goes(cache: Cache) -> None:
    """One that was not there is seen there, until it is taken off again."""
    snapshot = Snapshot(cache)
    pod = asking("new", cpu="3", gpus="3")
    batch = PodBatch([PodInfo(pod, "n2", pod_requests(pod), PodState.ASSUMED)], cache.nodes)
    with snapshot.trial() as trial:
        trial.add_back(batch, np.array([0]))
        row = cache.nodes.row_of["n2"]
        assert (cache.nodes.requested[CPU, row], cache.nodes.amounts_at(GPU, row)) == (7000, (0, 4))
        assert [record.pod.metadata.name for record in snapshot.pods_on("n2")] == ["c", "new"]
        trial.remove(batch, np.array([0]))
        assert [record.pod.metadata.name for record in snapshot.pods_on("n2")] == ["c"]


@pytest.mark.parametrize("fails", [False, True], ids=["ends well", "fails"])
def test_a_trial_leaves_no_trace(cache: Cache, fails: bool) -> None:
    """Sums, ports, pods in their order and logs are as before."""
    before = state_of(cache)
    batch = herd_of(cache, "a", "b", "c")
    with contextlib.suppress(RuntimeError), Snapshot(cache).trial() as trial:
        trial.remove(batch, ALL)
        trial.add_back(batch, np.array([1, 0]))
        if fails:
            raise RuntimeError
    assert state_of(cache) == before


def test_one_trial_at_a_time(cache: Cache) -> None:
    """A second one would take back the first one's changes."""
    snapshot = Snapshot(cache)
    with (
        snapshot.trial(),
        pytest.raises(RuntimeError, match="a trial is going on"),
        snapshot.trial(),
    ):
        pass
    with snapshot.trial():
        pass
