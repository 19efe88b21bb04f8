"""What 5,000 nodes and 10,000 assigned pods take, and profiles and PluginConfigs as large as they
may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from moorage.api.bodies import MOST_BYTES
from moorage.apps.run.freed_memory import PERIOD_SECONDS
from tests.load.traffic import PODS, pod
from tests.rig import Rig
from tests.rig.clients import Client, many
from tests.rig.operators import Operator, until

NODES, ASSIGNED = 5_000, 10_000
LIMIT = 400 * 2**20
PAIRS, EDITS = 1_000, 2
MOST, REMAINS = 400 * 2**20, 100 * 2**20
"""What they may take while they are there, and once they are gone."""
API = "/apis/moorage.dev/v1alpha1"


def make_node(i: int, client: Client) -> None:
    """A node of a large cluster."""
    room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {"topology.kubernetes.io/zone": f"zone{i % 3}", "kubernetes.io/hostname": f"n{i}"}
    client.post(
        "/api/v1/nodes",
        {
            "metadata": {"name": f"n{i}", "labels": labels},
            "status": {"allocatable": room, "capacity": room},
        },
    )


def make_pod(i: int, client: Client) -> None:
    """A pod on one of them."""
    body = pod(f"p{i}", "another")
    body["spec"]["nodeName"] = f"n{i % NODES}"
    client.post(PODS, body)


def test_memory_of_a_large_cluster(
    installation: tuple[Rig, Path], figures: Callable[..., None]
) -> None:
    """Resident memory stays under 400 MiB."""
    rig, kubeconfig = installation
    many(rig, (partial(make_node, i) for i in range(NODES)))
    many(rig, (partial(make_pod, i) for i in range(ASSIGNED)))
    with Operator(rig, kubeconfig, "moorage-0") as operator:
        operator.wait_logged("leading", 60)
        rss = until(operator.rss, "memory")
    figures(nodes=NODES, assigned_pods=ASSIGNED, rss_mib=round(rss / 2**20))
    assert rss < LIMIT


def write_pair(i: int, version: int, client: Client) -> None:
    """A profile with a PluginConfig as long as it may be, made or changed."""
    ignored = [f"x.io/r{i}-{k:04}".ljust(68, "x") for k in range(MOST_BYTES // 72)]
    args = {"ignoredResources": ignored, "ignoredResourceGroups": [f"v{version}.io"]}
    config = {"plugin": "NodeResourcesFit", "args": args}
    profile = {"pluginConfig": [{"name": "NodeResourcesFit", "configRef": {"name": f"o{i}"}}]}
    for kind, plural, spec in (
        ("PluginConfig", "pluginconfigs", config),
        ("SchedulerProfile", "schedulerprofiles", profile),
    ):
        body = {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": f"o{i}"},
            "spec": spec,
        }
        if version:
            client.merge(f"{API}/{plural}/o{i}", {"spec": spec})
        else:
            client.post(f"{API}/{plural}", body)


def delete_pair(i: int, client: Client) -> None:
    """Both are gone."""
    client.delete(f"{API}/schedulerprofiles/o{i}")
    client.delete(f"{API}/pluginconfigs/o{i}")


def test_memory_of_large_profiles(
    installation: tuple[Rig, Path], figures: Callable[..., None]
) -> None:
    """A thousand pairs, all edited, take 400 MiB at most; what remains once they are gone is below
    100 MiB.
    """
    rig, kubeconfig = installation
    with Operator(rig, kubeconfig, "moorage-0") as operator:
        operator.wait_logged("leading", 60)
        before = operator.rss()
        for version in range(EDITS):
            many(rig, (partial(write_pair, i, version) for i in range(PAIRS)))
            until(partial(has_swapped, operator, PAIRS * (version + 1)), "swaps", 300)
        there = operator.rss()
        many(rig, (partial(delete_pair, i) for i in range(PAIRS)))
        time.sleep(PERIOD_SECONDS + 15)
        gone = operator.rss()
    figures(
        pairs=PAIRS,
        used_mib=round((there - before) / 2**20),
        remains_mib=round((gone - before) / 2**20),
    )
    assert there - before < MOST
    assert gone - before < REMAINS


def has_swapped(operator: Operator, times: int) -> bool:
    """Whether a revision began to decide so often."""
    return [line["msg"] for line in operator.log()].count("swapped") >= times
