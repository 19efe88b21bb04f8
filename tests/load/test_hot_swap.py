"""A profile is swapped every two seconds while pods come: nobody notices but the pods, which land where the new rules say."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moorage.engine.reporting import LAG_EVERY, LAG_LIMIT
from tests.load.run_queues import RunQueue
from tests.load.traffic import Traffic, accepted_binds, longest_gap, overcommitted, pod, wait_all_bound
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.operators import Operator, wait_for

RATE, SECONDS, PERIOD = 50, 60, 2.0
POOL_SIZE = 4
PROFILE = "/apis/moorage.dev/v1alpha1/schedulerprofiles"

# Two rules with one weight each: which pool is preferred, and which resource should be free. A prefers pool a, where only
# ephemeral storage is free; B prefers pool b, where only cpu is. Both make pool c second best in both rules, so that one rule of A
# with one of B gives pool c 60 + 60 points, but pools a and b 100 + 0 at most.
FILLERS = {
    "a": {"cpu": "98", "ephemeral-storage": "1Mi"},
    "b": {"cpu": "1m", "ephemeral-storage": "98Gi"},
    "c": {"cpu": "40", "ephemeral-storage": "40Gi"},
}
RULES = {"a": ("a", "ephemeral-storage"), "b": ("b", "cpu")}


def plugin_config(rules: str) -> list[dict[str, Any]]:
    """The profile's pluginConfig under rule set a or b."""
    pool, resource = RULES[rules]
    preferred = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "pool", "operator": "In", "values": [name]}]}}
        for name, weight in ((pool, 100), ("c", 60))
    ]
    return [
        {"name": "NodeAffinity", "args": {"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}},
        {
            "name": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": resource, "weight": 1}]}},
        },
    ]


def profile(rules: str) -> dict[str, Any]:
    """A profile in which only the two rules score."""
    scoring = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}, {"name": "NodeResourcesFit"}]}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "swapped"},
        "spec": {"plugins": {"score": scoring, "preScore": scoring}, "pluginConfig": plugin_config(rules)},
    }


def make_pools(client: Client) -> None:
    """Three pools of nodes with what fills them."""
    for pool, filler in FILLERS.items():
        for i in range(POOL_SIZE):
            name = f"{pool}{i}"
            room = {"cpu": "100", "memory": "100Gi", "ephemeral-storage": "100Gi", "pods": "2000"}
            client.post(
                "/api/v1/nodes", {"metadata": {"name": name, "labels": {"pool": pool}}, "status": {"allocatable": room, "capacity": room}}
            )
            body = pod(f"filler-{name}", "nobody", **filler)
            body["spec"]["nodeName"] = name
            client.post("/api/v1/namespaces/default/pods", body)


def swap_while(client: Client, running: Callable[[], bool]) -> int:
    """Edit the profile every PERIOD seconds between the two rule sets; returns how often."""
    swaps = 0
    while running():
        time.sleep(PERIOD)
        swaps += 1
        client.merge(f"{PROFILE}/swapped", {"spec": {"pluginConfig": plugin_config("ab"[swaps % 2])}})
    return swaps


def began(late: dict[str, Any]) -> float:
    """When a step that was reported late can have begun: at most one look at the clock before it was due."""
    return float(late["at"] - late["seconds"] - LAG_EVERY)


def slow_steps(log: list[dict[str, Any]], queue: RunQueue) -> list[dict[str, Any]]:
    """Steps of the event loop over 50 ms, less what the process waited for a processor meanwhile."""
    late = [line for line in log if line["logger"] == "moorage.engine.reporting"]
    return [line for line in late if line["seconds"] - queue.waited(began(line), line["at"]) > LAG_LIMIT]


def overlapping(log: list[dict[str, Any]], slow: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slow steps during which a swap ended."""
    swaps = [line["at"] for line in log if line["msg"] == "swapped"]
    return [line for line in slow if any(began(line) <= at <= line["at"] for at in swaps)]


def test_hot_swap_under_load(installation: tuple[Rig, Path], client: Client, figures: Callable[..., None]) -> None:
    """No pod lost, none by a mix of two revisions, none bound twice, no gap, no slow swap, no node over its allocatable."""
    rig, kubeconfig = installation
    make_pools(client)
    client.post(PROFILE, profile("a"))
    with Operator(rig, kubeconfig, "moorage-0") as operator, RunQueue(operator.child.pid) as queue:
        wait_for(rig, "Ready", "sprof/swapped")
        with Traffic(rig, "swapped", RATE, SECONDS) as traffic:
            swaps = swap_while(client, lambda: traffic.running)
        pods = wait_all_bound(client, set(traffic.made))
        log = list(operator.log())
    landed = Counter(p["spec"]["nodeName"][0] for p in pods if p["metadata"]["name"] in traffic.made)
    binds = accepted_binds(rig)
    slow = slow_steps(log, queue)
    swapped = [line["seconds"] for line in log if line["msg"] == "swapped"]
    figures(
        pods=len(traffic.made),
        edits=swaps,
        swaps=len(swapped),
        landed=dict(landed),
        longest_swap_ms=round(max(swapped) * 1000, 3),
        longest_gap_between_binds_s=round(longest_gap(rig), 3),
        loop_steps_over_50_ms=len(slow),
        loop_kept_waiting_over_50_ms=sum(line["logger"] == "moorage.engine.reporting" for line in log) - len(slow),
    )
    assert landed["a"] > 0.3 * traffic.count
    assert landed["b"] > 0.3 * traffic.count
    assert landed["c"] == 0
    assert sum(landed.values()) == traffic.count
    assert max(binds.values()) == 1
    assert len(binds) == traffic.count
    assert len(swapped) >= swaps - 1
    assert max(swapped) <= 0.005
    assert overlapping(log, slow) == []
    assert longest_gap(rig) <= 1.0
    assert overcommitted(client) == []
