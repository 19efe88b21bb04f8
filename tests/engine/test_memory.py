"""What SchedulerProfiles and PluginConfigs take in memory: the largest ones that are allowed, and
those that are refused.

A thousand pairs may take 400 MiB while they exist and 100 MiB once they are gone, by what the
system counts (tests/load/test_memory.py). Versions that are not swapped yet, and what the allocator
keeps between objects, take more than twice what is counted here.
"""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from moorage.api.bodies import MAX_VALUES, MOST_BYTES
from moorage.handlers.deliveries import Deliveries
from tests.engine.worlds import make_engine
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

COUNT = 3
WHILE_THERE = 100 * 1024
ONCE_GONE = 50 * 1024
EDITS = 3
Args = dict[str, Any]


def longest(i: int) -> Args:
    """As many bytes as may be."""
    return {
        "ignoredResources": [f"x.io/r{i}-{k:04}".ljust(68, "x") for k in range(MOST_BYTES // 72)]
    }


def most(i: int) -> Args:
    """As many values as may be."""
    return {"ignoredResources": [f"x.io/r{i}-{k}" for k in range(MAX_VALUES - 10)]}


def objects(i: int) -> Args:
    """As many typed objects as may be."""
    return {
        "scoringStrategy": {
            "resources": [
                {"name": f"x.io/r{i}-{k}", "weight": 1 + k % 100}
                for k in range(MAX_VALUES // 3 - 5)
            ]
        }
    }


def wrong(i: int) -> Args:
    """As many and as long unknown keys as may be."""
    return {f"key-{i}-{k}".ljust(300, "x"): {} for k in range(100)}


def too_large(i: int) -> Args:
    """What the API server lets in, and nobody keeps."""
    return {"ignoredResources": [f"x.io/r{i}-{k}" for k in range(5 * MAX_VALUES)]}


def body(kind: str, i: int, version: int, spec: Args) -> Args:
    """As Kopf has it: no two of its texts are the same object."""
    metadata = {
        "name": f"o{i}",
        "uid": f"uid-{kind}-{i}",
        "generation": version,
        "resourceVersion": str(version),
    }
    metadata["annotations"] = {"a": "x" * 250_000}
    return dict(
        json.loads(
            json.dumps(
                {
                    "apiVersion": "moorage.dev/v1alpha1",
                    "kind": kind,
                    "metadata": metadata,
                    "spec": spec,
                }
            )
        )
    )


class Tenant:
    """Writes both kinds."""

    def __init__(self) -> None:
        self.kube = InMemoryKube()
        self.events = FakeEventRecorder()
        self.engine = make_engine(self.kube, self.events, has_twin=False)
        self.engine.live.leading = True
        self.configs = Deliveries("pluginconfigs", self.engine.plugin_config_changed)
        self.profiles = Deliveries("schedulerprofiles", self.engine.profile_changed)
        self.version = 0

    def write(
        self, make: Callable[[int], Args], deleted: bool = False, inline: bool = False
    ) -> None:
        """All of both kinds are made, changed or deleted; ``inline``: the arguments stand in the
        profile, too.
        """
        for i in range(COUNT):
            self.version += 1
            args = {**make(i), "ignoredResourceGroups": [f"v{self.version}"]}
            self.configs.deliver(
                body("PluginConfig", i, self.version, {"plugin": "NodeResourcesFit", "args": args}),
                deleted,
            )
            entry = {
                "name": "NodeResourcesFit",
                **({"args": args} if inline else {"configRef": {"name": f"o{i}"}}),
            }
            self.profiles.deliver(
                body("SchedulerProfile", i, self.version, {"pluginConfig": [entry]}), deleted
            )
        asyncio.run(self.engine.swapper.reconcile())
        asyncio.run(self.engine.profile_status.write_due())
        self.kube.written.clear()
        self.events.events.clear()
        self.kube.stored.clear()  # the API server's
        gc.collect()


@pytest.mark.parametrize("inline", [False, True], ids=["referred to", "inline"])
@pytest.mark.parametrize("make", [longest, most, objects, wrong, too_large])
def test_what_a_tenant_may_write(make: Callable[[int], Args], inline: bool) -> None:
    """However often both are edited; and they are gone when they are deleted."""
    warm = Tenant()  # what is made once for all is none of theirs
    warm.write(make, inline=inline)
    warm.write(make, inline=inline)
    warm.write(make, deleted=True)
    tenant = Tenant()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(EDITS):
            tenant.write(make, inline=inline)
        assert len(tenant.engine.live) == (0 if make in (wrong, too_large) else COUNT)
        there, _ = tracemalloc.get_traced_memory()
        tenant.write(make, deleted=True)
        gone, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (there - before) / COUNT < WHILE_THERE
    assert (gone - before) / COUNT < ONCE_GONE
