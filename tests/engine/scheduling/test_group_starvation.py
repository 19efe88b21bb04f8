"""Starvation: histories of gangs of all APIs that want each other's room, under a stream of small
pods, while nodes and members go. Each gang that can fit has its turn, and no room is held for ever.
"""

from __future__ import annotations

import datetime
import random

import msgspec
import pytest

from moorage.core.objects.pods import Pod
from moorage.engine.scheduling.group_holds import MAX_HOLD_SECONDS
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_group_apis import GROUPS, member, run

STEP = 5
"""Seconds."""
BOUND = 900
"""Seconds in which a gang that can fit has its place, whatever the others do."""
SECONDS = BOUND + 100


CROWD = 12
"""Small pods that wait."""


class History:
    """One gang of each API, one of which can never fit; ``random`` says what happens. ``crowded``:
    some small pods wait at any time, so that no gang has room for which none is held.
    """

    def __init__(self, world: Running, seed: int, crowded: bool) -> None:
        self.world, self.random, self.time = world, random.Random(seed), 0
        self.crowded = crowded
        self.size = {api: self.random.choice(["2", "3", "4"]) for api in GROUPS}
        self.size[self.random.choice(list(GROUPS))] = "5"
        self.ends: dict[str, int] = {}
        """By UID, when a pod that runs ends."""
        self.waits: dict[str, int] = {}
        """By API, for how long a gang has waited, lost members and nodes left out."""
        self.held: dict[str, int] = {}

    def put(self, pod: Pod) -> None:
        """A pod is created now."""
        now = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC) + datetime.timedelta(
            seconds=self.time
        )
        meta = msgspec.structs.replace(
            pod.metadata, creation_timestamp=now.strftime("%Y-%m-%dT%H:%M:%SZ")
        )
        self.world.kube.put(msgspec.structs.replace(pod, metadata=meta))

    def come(self, api: str) -> None:
        """A gang comes, or comes again."""
        for name in "abc":
            self.put(member(f"{name}{list(GROUPS).index(api)}", api, cpu=self.size[api]))
        self.waits[api] = 0

    async def step(self) -> None:
        """Small pods come and go; a node or a member may be lost."""
        number, kube = self.random.random, self.world.kube
        if self.crowded:
            self.crowd()
        elif number() < 0.6:
            priority = self.random.choice([-1, 0])
            cpu = self.random.choice(["1", "2", "4"])
            self.put(make_pod(f"small{self.time}", cpu=cpu, priority=priority))
        if number() < 0.02:
            node = self.random.choice(["n1", "n2", "n3"])
            for pod in [one for one in kube.pods.values() if one.spec.node_name == node]:
                kube.delete(pod)
            kube.delete(make_node(node))
            await self.world.clock.advance(1)
            kube.put(make_node(node))
        await self.world.clock.advance(STEP)
        self.time += STEP
        self.end_pods()
        self.look_at_gangs()
        self.look_at_holds()

    def crowd(self) -> None:
        """Whatever room there is, a small pod wants it."""
        pods = self.world.kube.pods.values()
        small = [pod for pod in pods if pod.metadata.name.startswith("small")]
        waiting = sum(not pod.spec.node_name for pod in small)
        for i in range(CROWD - waiting):
            self.put(make_pod(f"small{self.time}-{i}", cpu=self.random.choice(["1", "2"])))

    def end_pods(self) -> None:
        """Whatever has run for long enough is over."""
        for uid, pod in list(self.world.kube.pods.items()):
            if pod.spec.node_name:
                until = self.ends.setdefault(uid, self.time + self.random.choice([20, 40, 60]))
                if self.time >= until:
                    self.world.kube.delete(pod)
                    del self.ends[uid]

    def look_at_gangs(self) -> None:
        """All of a gang that are left wait, or all have a place."""
        for i, api in enumerate(GROUPS):
            pods = [self.world.kube.pods.get(f"uid-{name}{i}") for name in "abc"]
            there = [pod for pod in pods if pod is not None]
            if any(pod.spec.node_name for pod in there):
                self.waits[api] = 0
            elif len(there) == 3:
                self.waits[api] += STEP
                if self.random.random() < 0.01:
                    self.world.kube.delete(there[1])
            elif there:
                for pod in there:
                    self.world.kube.delete(pod)
            else:
                self.come(api)
            assert self.size[api] == "5" or self.waits[api] <= BOUND, f"{api} starves"

    def look_at_holds(self) -> None:
        """No room is held for longer than may be."""
        nominations = self.world.engine.context.cache.nominations
        held = {record.pod.metadata.uid for record in nominations if record.held}
        self.held = {uid: self.held.get(uid, 0) + STEP for uid in held}
        assert all(uid in self.world.kube.pods for uid in held)
        assert max(self.held.values(), default=0) <= MAX_HOLD_SECONDS + 2 * STEP


@pytest.mark.parametrize(("seed", "crowded"), [(0, False), (1, True)])
def test_nobody_starves(seed: int, crowded: bool) -> None:
    """For a quarter of an hour and more."""

    async def scenario(world: Running) -> None:
        world.kube.put(make_node("n3"))
        for group in GROUPS.values():
            if group is not None:
                world.kube.put(group)
        history = History(world, seed, crowded)
        for api in GROUPS:
            history.come(api)
        while history.time < SECONDS:
            await history.step()
        if crowded:
            assert world.notes("GangHoldsRoom")

    run(scenario)
