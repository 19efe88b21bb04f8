"""A leader that is killed while gangs are in the middle of each step, one gang in each, and pods
alone between their claims' devices and their binding: the next leader ends what was begun.

The leader's requests go through a proxy, which holds those that would end a step.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.faults.proxies import HttpProxy
from tests.real.test_group_scenarios import Gangs
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.devices import (
    EXTENDED,
    check_given,
    claim,
    claims_path,
    device_class,
    device_of,
    given,
)
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until
from tests.rig.pod_groups import member, pod, pod_group, removals

pytestmark = pytest.mark.real_only
ELECTION: Final = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
REMOVAL: Final = r"DELETE .*/pods/[^/]+|POST .*/eviction"
BINDING: Final = "POST .*/binding"


@dataclass(frozen=True)
class Step:
    """A gang of three, or a pod alone, in a namespace of its own, and where its leader is
    stopped.
    """

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
    unless: signal.Signals | None = None
    """By what a leader comes to another end here. One that is told to end gives the devices back.
    One that was stopped may have sent what arrives when the next one leads (docs/limits.md).
    """
    ends: Callable[[Gangs], None] = lambda gang: gang.whole(3, *"012")
    """Waits for what has to become of it."""


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


# ---- devices -------------------------------------------------------------------------------------


def claims(gang: Gangs) -> list[dict[str, Any]]:
    """The claims of the namespace."""
    found: list[dict[str, Any]] = gang.client.get(claims_path(gang.place))["items"]
    return found


def allocated(gang: Gangs, count: int) -> bool:
    """Whether so many claims have a device, and nobody is bound."""
    return len(given(claims(gang))) == count and gang.bound() == []


def wanting(*names: str) -> list[dict[str, str]]:
    """What a pod says that needs these claims."""
    return [{"name": name, "resourceClaimName": name} for name in names]


def nodes_with_devices(gang: Gangs, nodes: str) -> None:
    """Nodes with one device each."""
    create(gang.rig, *(device_of(f"{gang.place}-{name}") for name in nodes))
    gang.node(*nodes)


def three_with_devices(gang: Gangs) -> None:
    """Each member has a claim of its own, and there are three devices."""
    nodes_with_devices(gang, "012")
    create(gang.rig, pod_group(gang.place, 3), *(claim(gang.place, name) for name in "abc"))
    for name in "abc":
        create(gang.rig, member(gang.place, name, resourceClaims=wanting(name)))


def three_with_one_device(gang: Gangs) -> None:
    """The PodGroup has a claim, which the members share."""
    nodes_with_devices(gang, "01")
    shared = wanting("shared")
    create(gang.rig, claim(gang.place, "shared"), pod_group(gang.place, 3, resourceClaims=shared))
    create(gang.rig, *(member(gang.place, name, cpu="1", resourceClaims=shared) for name in "abc"))


def together(gang: Gangs) -> None:
    """All members are where the one device is."""
    until(lambda: len(gang.on()) == 3, f"{gang.place} on a node", 15)
    gang.whole(3, *gang.on())


def alone(gang: Gangs) -> None:
    """A pod with a claim, and the only device."""
    nodes_with_devices(gang, "0")
    create(gang.rig, claim(gang.place, "a"), pod(gang.place, "a", resourceClaims=wanting("a")))


def another(gang: Gangs) -> None:
    """Who wants the same device, and would have room."""
    create(gang.rig, claim(gang.place, "b"))
    create(gang.rig, pod(gang.place, "b", cpu="1", resourceClaims=wanting("b")))


def one_after_the_other(gang: Gangs) -> None:
    """The first is bound with the device, the other one gets it when that goes."""
    until(lambda: gang.bound() == ["a"], f"{gang.place}: a on its node", 15)
    until(lambda: "cannot allocate all claims" in gang.why("b"), "b without a device")
    check_given(claims(gang), gang.pods().values())
    gang.client.delete(f"/api/v1/namespaces/{gang.place}/pods/a")
    gang.client.delete(f"{claims_path(gang.place)}/a")
    until(lambda: gang.bound() == ["b"], f"{gang.place}: b on the node", 15)


def extended(gang: Gangs) -> None:
    """A pod that asks for a device as an extended resource: its claim is made for it."""
    nodes_with_devices(gang, "01")
    made = pod(gang.place, "a")
    amount = {"cpu": "1", EXTENDED: "1"}
    made["spec"]["containers"][0]["resources"] = {"requests": amount, "limits": amount}
    create(gang.rig, made)


def with_one_claim(gang: Gangs) -> None:
    """It is bound, and has one claim, not two."""
    until(lambda: gang.bound() == ["a"], f"{gang.place}: a on its node", 15)
    until(lambda: len(claims(gang)) == 1, f"{gang.place}: one claim", 15)


WITH_DEVICES: Final = (
    Step("devices-given", three_with_devices, lambda gang: allocated(gang, 3), BINDING),
    Step(
        "one-device-given",
        three_with_devices,
        lambda gang: len(given(claims(gang))) == 1,
        "PATCH .*/resourceclaims/[^/]+/status",
        passing=1,
    ),
    Step(
        "one-with-device-bound",
        three_with_devices,
        lambda gang: len(given(claims(gang))) == 3 and len(gang.on()) == 1,
        BINDING,
        passing=1,
    ),
    Step(
        "device-shared",
        three_with_one_device,
        lambda gang: allocated(gang, 1),
        BINDING,
        ends=together,
    ),
    Step(
        "alone-with-device",
        alone,
        lambda gang: allocated(gang, 1),
        BINDING,
        then=another,
        unless=signal.SIGTERM,
        ends=one_after_the_other,
    ),
    Step(
        "claim-made",
        extended,
        lambda gang: allocated(gang, 1),
        BINDING,
        unless=signal.SIGSTOP,
        ends=with_one_claim,
    ),
    Step(
        "claim-not-said",
        extended,
        lambda gang: allocated(gang, 1),
        "PATCH .*/pods/a/status",
        unless=signal.SIGSTOP,
        ends=with_one_claim,
    ),
)

# ---- all of them ---------------------------------------------------------------------------------

STEPS: Final = (
    *WITH_DEVICES,
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
        held=BINDING,
    ),
    Step("one-bound", three, lambda gang: len(gang.on()) == 1, BINDING, 1),
    Step("two-bound", three, lambda gang: len(gang.on()) == 2, BINDING, 2),
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
def replicas(rig: Rig, gate: Gate) -> Iterator[tuple[Operator, Operator, HttpProxy]]:
    """The leader, whose requests the gate sees, the one that waits, and the leader's proxy."""
    kubeconfig, config = install(rig), {"leaderElection": ELECTION}
    with HttpProxy(rig) as proxy:
        proxy.hold = gate.holds
        held = through(rig, kubeconfig, proxy.url)
        with Operator(rig, held, "moorage-old", config) as old:
            old.wait_logged("leading")
            with Operator(rig, kubeconfig, "moorage-new", config) as new:
                new.wait_logged("health and metrics are served")
                yield old, new, proxy


def begin(rig: Rig, client: Client, gate: Gate, steps: Sequence[Step]) -> dict[str, Gangs]:
    """All gangs, each in the middle of its step."""
    create(rig, device_class())
    gangs = {}
    for step in steps:
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": step.name}})
        gangs[step.name] = Gangs(rig, client, step.name)
        step.begin(gangs[step.name])
    for step in steps:
        until(
            lambda step=step: (
                step.reached(gangs[step.name]) and (not step.held or step.name in gate.holding)
            ),
            f"the middle of {step.name}",
        )
    return gangs


def check(gangs: dict[str, Gangs], steps: Sequence[Step]) -> None:
    """Each gang is bound, whole, no device was given twice, none is kept for nobody, and no more
    was preempted than it needed.
    """
    for step in steps:
        step.ends(gangs[step.name])
        check_given(claims(gangs[step.name]), gangs[step.name].pods().values())
        gone = removals(gangs[step.name].rig, step.name)
        assert len(set(gone)) == step.removed, f"{step.name}: {gone}"


def play(rig: Rig, number: signal.Signals) -> None:
    """The leader gets a signal in the middle of all steps; the other one ends what was begun."""
    gate = Gate()
    steps = [step for step in STEPS if step.unless is not number]
    with contextlib.closing(Client(rig)) as client, replicas(rig, gate) as (old, new, proxy):
        gangs = begin(rig, client, gate, steps)
        old.signal(number)
        new.wait_logged("leading")
        gate.open = True
        if number is signal.SIGSTOP:
            until(lambda: not proxy.unanswered, "answers to what the stopped leader had sent")
            old.signal(signal.SIGCONT)
        for step in steps:
            step.then(gangs[step.name])
        check(gangs, steps)


def test_the_next_leader_ends_what_was_begun(group_rig: Rig) -> None:
    """No gang is left in part, and none waits for ever."""
    play(group_rig, signal.SIGKILL)
