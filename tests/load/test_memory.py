"""What 5,000 nodes and 10,000 assigned pods take."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.load.traffic import PODS, pod
from tests.rig import Rig
from tests.rig.clients import Client, many
from tests.rig.operators import Operator, until

NODES, ASSIGNED = 5_000, 10_000
LIMIT = 400 * 2**20


def make_node(i: int, client: Client) -> None:
    """A node of a large cluster."""
    room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {"topology.kubernetes.io/zone": f"zone{i % 3}", "kubernetes.io/hostname": f"n{i}"}
    client.post("/api/v1/nodes", {"metadata": {"name": f"n{i}", "labels": labels}, "status": {"allocatable": room, "capacity": room}})


def make_pod(i: int, client: Client) -> None:
    """A pod on one of them."""
    body = pod(f"p{i}", "another")
    body["spec"]["nodeName"] = f"n{i % NODES}"
    client.post(PODS, body)


def test_memory_of_a_large_cluster(installation: tuple[Rig, Path], figures: Callable[..., None]) -> None:
    """Resident memory stays under 400 MiB."""
    rig, kubeconfig = installation
    many(rig, (partial(make_node, i) for i in range(NODES)))
    many(rig, (partial(make_pod, i) for i in range(ASSIGNED)))
    with Operator(rig, kubeconfig, "moorage-0") as operator:
        operator.wait_logged("leading", 60)
        rss = until(operator.rss, "memory")
    figures(nodes=NODES, assigned_pods=ASSIGNED, rss_mib=round(rss / 2**20))
    assert rss < LIMIT
