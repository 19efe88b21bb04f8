"""Odd objects through the real decoding, intake and cycle: nothing ends it, and what it has added up is what it has."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import pytest
from hypothesis import settings

from moorage.adapters.kube_watch import KubeFeed, Watched
from moorage.core.columns.cache import Cache
from moorage.core.objects import Node, Pod
from moorage.core.verdicts import failed
from moorage.engine.intake import Others
from moorage.engine.sending import Outcome
from moorage.ports.kinds import STORED as KINDS
from tests.core.test_columns_agree import facts
from tests.engine.worlds import Bench
from tests.fakes.clocks import ManualClock
from tests.fuzz.mutating import bodies, mutated
from tests.vectors.scheduling import STORED

COUNT = 100_000
LONG = 10
"""Times as many with `--hypothesis-profile=thorough`."""
MANY = 200
BATCH = 500
PARTS = 4


class Nobody:
    """A session that is never asked."""


class World:
    """The bench, with a feed for each kind, as the operator has them."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.bound = 0
        session: Any = Nobody()
        bench, clock = self.bench, ManualClock()
        self.others = {kind.struct: Others(kind, bench.cache, bench.backlog, bench.clock.boottime) for kind in KINDS}
        self.feeds: dict[str, KubeFeed[Any]] = {
            "nodes": KubeFeed(session, clock, Watched("nodes", "/api/v1/nodes", Node), bench.nodes),
            "pods": KubeFeed(session, clock, Watched("pods", "/api/v1/pods", Pod), bench.pods),
            **{
                name: KubeFeed(session, clock, Watched(name, f"/{name}", struct), self.others[struct])
                for name, struct in STORED.items()
                if struct in self.others
            },
        }

    def deliver(self, name: str, kind: str, body: dict[str, Any]) -> None:
        """A line of the watch."""
        self.feeds[name]._line(json.dumps({"type": kind, "object": body}).encode())

    def attempts(self, most: int) -> None:
        """Decide about those whose turn it is, and have every binding fail."""
        for _ in range(most):
            if not self.bench.attempt():
                break
        self.bound += len(self.bench.binder.flying)
        for uid in list(self.bench.binder.flying):
            self.bench.binder.land(uid, Outcome(False, failed("no")))
        self.bench.clock.jump(30)

    def check(self) -> None:
        """The table is the sum of the records and the nodes that there are."""
        fresh, cache = Cache(), self.bench.cache
        for node in self.bench.nodes.objects.values():
            fresh.put_node(node)
        for name in {*cache.nodes.row_of, *(pod.spec.node_name for pod in self.bench.pods.objects.values())}:
            for record in cache.pods_on(name):
                if isinstance(record.pod, Pod):
                    fresh.assume(record.pod, record.node, record.requests)
                else:
                    fresh.observe_unreadable(record.pod, record.node, record.requests)
        assert facts(cache.nodes) == facts(fresh.nodes)


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_is_sent_ends_it(part: int, caplog: pytest.LogCaptureFixture) -> None:
    """The cache equals a fresh one after each batch; a pod that is as it should be is placed still."""
    caplog.set_level(logging.CRITICAL + 1)
    chance, known, world = random.Random(part), bodies(), World()
    names = [name for name in known if name in world.feeds]
    weights = [6 if name == "pods" else 3 if name == "nodes" else 1 for name in names]
    thorough = settings.default is not None and settings.default.max_examples > MANY
    for number in range(COUNT // PARTS * (LONG if thorough else 1)):
        name = chance.choices(names, weights)[0]
        body = mutated(chance.choice(known[name]), chance)
        meta = body["metadata"]
        if isinstance(meta, dict):
            meta["resourceVersion"] = str(number + 1)
            meta.setdefault("uid", f"uid-{meta.get('namespace', '')}-{meta.get('name', '')}")
        if name == "pods" and isinstance(body.get("spec"), dict):
            body["spec"].setdefault("schedulerName", "test")
        world.deliver(name, chance.choices(("ADDED", "MODIFIED", "DELETED"), (5, 3, 2))[0], body)
        if number % BATCH == BATCH - 1:
            world.attempts(50)
            world.check()
    assert world.bench.pods.aside
    assert world.bound > 0
