"""Swaps that pods can tell of: two sets of rules, and nodes on which a mix of both sets would place
pods where neither does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.load.traffic import pod
from tests.rig.clients import Client

POOL_SIZE = 4
PROFILE = "/apis/moorage.dev/v1alpha1/schedulerprofiles"

# Two rules with one weight each: which pool is preferred, and which resource should be free. A
# prefers pool a, where only ephemeral storage is free; B prefers pool b, where only cpu is. Both
# make pool c second best in both rules, so that one rule of A with one of B gives pool c 60 + 60
# points, but pools a and b 100 + 0 at most.
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
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "pool", "operator": "In", "values": [name]}]
            },
        }
        for name, weight in ((pool, 100), ("c", 60))
    ]
    return [
        {
            "name": "NodeAffinity",
            "args": {
                "addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
            },
        },
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": resource, "weight": 1}],
                }
            },
        },
    ]


def profile(rules: str) -> dict[str, Any]:
    """A profile in which only the two rules score."""
    scoring = {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": "NodeAffinity"}, {"name": "NodeResourcesFit"}],
    }
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "swapped"},
        "spec": {
            "plugins": {"score": scoring, "preScore": scoring},
            "pluginConfig": plugin_config(rules),
        },
    }


def make_pools(client: Client) -> None:
    """Three pools of nodes with what fills them."""
    for pool, filler in FILLERS.items():
        for i in range(POOL_SIZE):
            name = f"{pool}{i}"
            room = {"cpu": "100", "memory": "100Gi", "ephemeral-storage": "100Gi", "pods": "2000"}
            client.post(
                "/api/v1/nodes",
                {
                    "metadata": {"name": name, "labels": {"pool": pool}},
                    "status": {"allocatable": room, "capacity": room},
                },
            )
            body = pod(f"filler-{name}", "nobody", **filler)
            body["spec"]["nodeName"] = name
            client.post("/api/v1/namespaces/default/pods", body)


def swap_while(client: Client, running: Callable[[], bool], period: float) -> int:
    """Edit the profile every ``period`` seconds between the two rule sets; returns how often."""
    swaps = 0
    while running():
        time.sleep(period)
        swaps += 1
        client.merge(
            f"{PROFILE}/swapped", {"spec": {"pluginConfig": plugin_config("ab"[swaps % 2])}}
        )
    return swaps
