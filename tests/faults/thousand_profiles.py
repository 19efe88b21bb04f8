"""1,000 profiles that share a PluginConfig, which is then edited 20 times a second: pods of another
profile wait meanwhile.
"""

import time
from typing import Any

from tests.faults.stage import API, Stage, Stream, creation, verdict
from tests.rig.clients import many

LIMIT = 1.0


def profile(i: int) -> dict[str, Any]:
    spec = {"pluginConfig": [{"name": "NodeResourcesFit", "configRef": {"name": "shared"}}]}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": f"many{i}"},
        "spec": spec,
    }


def args(weight: int) -> dict[str, Any]:
    return {
        "scoringStrategy": {
            "type": "LeastAllocated",
            "resources": [{"name": "cpu", "weight": weight}],
        }
    }


with Stage(profiles=("other",), nodes=600) as stage:
    stage.config("shared", "NodeResourcesFit", args(1))
    with Stream(stage, "other") as stream:
        time.sleep(2)
        quiet, before = stream.worst(), len(stream.waits)
        many(stage.rig, [creation(f"{API}/schedulerprofiles", profile(i)) for i in range(1000)], 4)
        time.sleep(8)
        created, then = stream.worst(before), len(stream.waits)
        for k in range(120):
            stage.client.merge(f"{API}/pluginconfigs/shared", {"spec": {"args": args(1 + k % 100)}})
            time.sleep(0.05)
        stage.pod("of-many", scheduler="many5")
        time.sleep(6)
        edited = stream.worst(then)
        worst = max(created, edited)
    verdict(
        worst > quiet + LIMIT or not stage.operator.alive,
        f"pods of another profile waited {created:.2f} s at most while profiles"
        f" came, {edited:.2f} s while the config changed ({quiet:.2f} s before)",
    )
