"""A leader that is killed while gangs are in the middle of each step, one gang in each: the next
leader ends what was begun.

The leader's requests go through a proxy, which holds those that would end a step.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.faults.proxies import HttpProxy
from tests.real.test_group_scenarios import Gangs
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until
from tests.rig.pod_groups import member, pod, pod_group, removals

pytestmark = pytest.mark.real_only
ELECTION: Final = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
REMOVAL: Final = r"DELETE .*/pods/[^/]+|POST .*/eviction"


@dataclass(frozen=True)
class Step:
    """A gang of three in a namespace of its own, and where its leader is stopped."""

    name: str
    begin: Callable[[Gangs], None]
    """Makes its objects."""
    reached: Callable[[Gangs], bool]
    """Whether the leader is in the middle of it."""
    held: str = ""
    """What of the leader's requests is held: METHOD PATH, as a regular expression."""
    passing: int = 0
    """How many of them are let through before."""
    then: Callable[[Gangs], None] = lambda gang: None
    """What happens in the cluster once the leader is gone."""
    removed: int = 0
    """How many pods may be preempted in all."""


def three(gang: Gangs, nodes: str = "012", members: str = "abc") -> None:
    """Nodes, and members that need one each."""
    gang.node(*nodes)
    create(gang.rig, pod_group(gang.place, 3))
    create(gang.rig, *(member(gang.place, name) for name in members))


def crowded(gang: Gangs, grace: int = 0) -> None:
    """The nodes are full of pods of lower priority."""
    gang.node(*"012")
    low = [pod(gang.place, f"low-{i}", terminationGracePeriodSeconds=grace) for i in range(3)]
    create(gang.rig, *low)
    until(lambda: len(gang.bound()) == 3, "pods of low priority")
    create(gang.rig, pod_group(gang.place, 3, priorityClassName="high"))
    create(gang.rig, *(member(gang.place, name, priorityClassName="high") for name in "abc"))


def nominated(gang: Gangs) -> int:
    """How many members have been promised a node."""
    return sum("nominatedNodeName" in one["status"] for one in gang.pods().values())


def terminating(gang: Gangs) -> list[str]:
    """The pods that are being deleted."""
    return [name for name, one in gang.pods().items() if "deletionTimestamp" in one["metadata"]]


def let_go(gang: Gangs) -> None:
    """What kubelets do with pods that are being deleted."""
    for name in terminating(gang):
        gang.client.delete(f"/api/v1/namespaces/{gang.place}/pods/{name}")


STEPS: Final = (
    Step(
        "members-come",
        lambda gang: three(gang, members="ab"),
        lambda gang: "2 of 3 members are here" in gang.why("a"),
        then=lambda gang: create(gang.rig, member(gang.place, "c")),
    ),
    Step(
        "room-lacks",
        lambda gang: three(gang, nodes="01"),
        lambda gang: "minCount (3)" in gang.why("c"),
        then=lambda gang: gang.node("2"),
    ),
    Step(
        "nothing-bound",
        three,
        lambda gang: True,
        held="POST .*/binding",
    ),
    Step("one-bound", three, lambda gang: len(gang.on()) == 1, "POST .*/binding", 1),
    Step("two-bound", three, lambda gang: len(gang.on()) == 2, "POST .*/binding", 2),
    Step("not-said", three, lambda gang: len(gang.on()) == 3, "PATCH .*/podgroups/.*"),
    Step(
        "one-promised",
        crowded,
        lambda gang: nominated(gang) == 1,
        "PATCH .*/pods/[abc]/status",
        passing=1,
        removed=3,
    ),
    Step("all-promised", crowded, lambda gang: nominated(gang) == 3, REMOVAL, removed=3),
    Step(
        "one-preempted",
        crowded,
        lambda gang: len(gang.bound()) == 2,
        REMOVAL,
        passing=1,
        removed=3,
    ),
    Step(
        "victims-leave",
        lambda gang: crowded(gang, 60),
        lambda gang: len(terminating(gang)) == 3,
        then=let_go,
        removed=3,
    ),
)


class Gate:
    """Holds the leader's requests as the steps say, until it is open."""

    def __init__(self) -> None:
        self._let: dict[str, set[str]] = {step.name: set() for step in STEPS}
        self.holding: set[str] = set()
        """The steps of which a request is being held."""
        self.open = False

    def holds(self, method: str, path: str) -> bool:
        """Whether this request has to wait."""
        request = f"{method} {path.partition('?')[0]}"
        for step in STEPS:
            ours = f"/namespaces/{step.name}/" in path
            if self.open or not ours or not re.fullmatch(step.held, request):
                continue
            let = self._let[step.name]
            if len(let) < step.passing:
                let.add(request)
            if request not in let:
                self.holding.add(step.name)
                return True
        return False


def through(rig: Rig, kubeconfig: Path, url: str) -> Path:
    """The kubeconfig, by way of a proxy."""
    document = json.loads(kubeconfig.read_text())
    document["clusters"][0]["cluster"].update(server=url)
    file = rig.folder / "through-proxy.kubeconfig"
    file.write_text(json.dumps(document))
    return file


@contextlib.contextmanager
def replicas(rig: Rig, gate: Gate) -> Iterator[tuple[Operator, Operator]]:
    """The leader, whose requests the gate sees, and the one that waits."""
    kubeconfig, config = install(rig), {"leaderElection": ELECTION}
    with HttpProxy(rig) as proxy:
        proxy.hold = gate.holds
        held = through(rig, kubeconfig, proxy.url)
        with Operator(rig, held, "moorage-old", config) as old:
            old.wait_logged("leading")
            with Operator(rig, kubeconfig, "moorage-new", config) as new:
                new.wait_logged("health and metrics are served")
                yield old, new


def begin(rig: Rig, client: Client, gate: Gate) -> dict[str, Gangs]:
    """All gangs, each in the middle of its step."""
    gangs = {}
    for step in STEPS:
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": step.name}})
        gangs[step.name] = Gangs(rig, client, step.name)
        step.begin(gangs[step.name])
    for step in STEPS:
        until(
            lambda step=step: (
                step.reached(gangs[step.name]) and (not step.held or step.name in gate.holding)
            ),
            f"the middle of {step.name}",
        )
    return gangs


def check(gangs: dict[str, Gangs]) -> None:
    """Each gang is bound, whole, and no more was preempted than it needed."""
    for step in STEPS:
        gangs[step.name].whole(3, *"012")
        gone = removals(gangs[step.name].rig, step.name)
        assert len(set(gone)) == step.removed, f"{step.name}: {gone}"


def play(rig: Rig, number: signal.Signals) -> None:
    """The leader gets a signal in the middle of all steps; the other one ends what was begun."""
    gate = Gate()
    with contextlib.closing(Client(rig)) as client, replicas(rig, gate) as (old, new):
        gangs = begin(rig, client, gate)
        old.signal(number)
        new.wait_logged("leading")
        gate.open = True
        if number is signal.SIGSTOP:
            old.signal(signal.SIGCONT)
        for step in STEPS:
            step.then(gangs[step.name])
        check(gangs)


def test_the_next_leader_ends_what_was_begun(group_rig: Rig) -> None:
    """No gang is left in part, and none waits for ever."""
    play(group_rig, signal.SIGKILL)
