"""Odd objects through the real decoding, intake and cycle: nothing ends it, and what it keeps is
what there is.
"""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from hypothesis import settings

from moorage.core.objects.pod_groups import COSCHEDULING_LABEL, MIN_MEMBER
from tests.fuzz.mutating import bodies, mutated
from tests.fuzz.worlds import World

COUNT = 100_000
LONG = 10
"""Times as many with `--hypothesis-profile=thorough`."""
MANY = 200
BATCH = 500
PARTS = 4
DECISIONS = 5
"""Pods of each batch that are decided about twice."""


def step(
    world: World, known: dict[str, list[dict[str, Any]]], names: list[str], weights: list[int]
) -> None:
    """A line of the watch, and what may happen between two of them."""
    chance = world.chance
    name = chance.choices(names, weights)[0]
    body = mutated(chance.choice(known[name]), chance)
    if name == "pods":
        adapt(body, chance)
    if name == "nodes":
        alike(body)
    world.deliver(name, chance.choices(("ADDED", "MODIFIED", "DELETED"), (5, 3, 2))[0], body)
    what = chance.random()
    if what < 0.1:
        world.attempts(3)
    elif what < 0.15:
        world.land()
    elif what < 0.2:
        world.show_one()
    elif what < 0.22:
        world.bench.clock.jump(5)
    elif what < 0.221:
        world.list_anew(chance.choice(names))
    elif what < 0.222:
        world.suspend()


def adapt(body: dict[str, Any], chance: random.Random) -> None:
    """Most pods are for the profile that is live, many wait for a node, and some are members of a
    group.
    """
    if isinstance(body.get("spec"), dict) and chance.random() < 0.8:
        body["spec"]["schedulerName"] = "test"
        if chance.random() < 0.6:
            body["spec"].pop("nodeName", None)
    meta = body["metadata"]
    if isinstance(meta, dict) and chance.random() < 0.8:
        meta.pop("deletionTimestamp", None)
    member = isinstance(meta, dict) and str(meta.get("uid")).endswith(("1", "7"))
    if member and chance.random() < 0.7 and isinstance(meta.setdefault("labels", {}), dict):
        meta["labels"][COSCHEDULING_LABEL] = "blue" if str(meta["uid"]).endswith("1") else "green"
        meta["annotations"] = {MIN_MEMBER: chance.choice(("2", "2", "2", "3", "x"))}


def alike(node: dict[str, Any]) -> None:
    """An image has one size, whoever reports it: that of the first node that reported it would
    depend on which that was.
    """
    status = node.get("status")
    images = status.get("images") if isinstance(status, dict) else None
    for image in images if isinstance(images, list) else ():
        if isinstance(image, dict):
            image["sizeBytes"] = 500_000_000


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_is_sent_ends_it(part: int, caplog: pytest.LogCaptureFixture) -> None:
    """The cache and the queue equal fresh ones after each batch; a pod that is as it should be is
    placed still.
    """
    caplog.set_level(logging.CRITICAL + 1)
    known, world = bodies(), World(random.Random(part))
    names = [name for name in known if name in world.feeds]
    weights = [6 if name == "pods" else 3 if name == "nodes" else 1 for name in names]
    thorough = settings.default is not None and settings.default.max_examples > MANY
    for number in range(COUNT // PARTS * (LONG if thorough else 1)):
        step(world, known, names, weights)
        if number % BATCH == BATCH - 1:
            world.attempts(50)
            world.check(DECISIONS)
            world.bench.clock.jump(30)
    assert world.bench.pods.aside
    assert world.bindings > 0
