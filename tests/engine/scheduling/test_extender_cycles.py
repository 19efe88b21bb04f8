"""Asking extenders: others are decided meanwhile, whatever fails or comes in between, and every pod
is bound once in the end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.operator_options import ExtenderPolicy
from moorage.core.framework.extenders import ExtenderFilterResult, MetaVictims
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.scheduling.attempt import SchedulingAttempt
from moorage.engine.scheduling.extender_cycles import (
    MAX_CYCLES_PER_PROFILE,
    REQUEUE_INTERVAL_SECONDS,
)
from moorage.ports.errors import EdgeError, Forbidden, Retryable
from moorage.ports.leadership import Fence
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, TRIED_AGAIN, Running
from tests.engine.scheduling.test_group_scheduler import group, member
from tests.engine.worlds import a_body, unreadable
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.extenders import ExtenderCall
from tests.fakes.kube import InMemoryKube

ANYWHERE = OperatorConfiguration(extenders=ExtenderPolicy.model_validate({"allowedHosts": ["*"]}))
BROKEN = Retryable("broken", outcome_unknown=True)
DECIDES = {"filterVerb": "f", "prioritizeVerb": "p", "preemptVerb": "v", "weight": 1}


def a_profile(*extenders: dict[str, Any], name: str = "test", **spec: Any) -> dict[str, Any]:
    """A profile whose extenders have names of nodes enough, unless they say otherwise."""
    common = {"urlPrefix": "https://x", "tlsConfig": {"insecure": True}, "nodeCacheCapable": True}
    return a_body(name, extenders=[{**common, **extender} for extender in extenders], **spec)


def run(
    scenario: Callable[[Running], Awaitable[None]],
    *profiles: dict[str, Any],
    nodes: int = 2,
    world: Running | None = None,
) -> Running:
    """Run it in a leading engine."""
    running = world or Running(config=ANYWHERE)

    async def whole() -> None:
        async with running.leading(*profiles, nodes=nodes):
            await scenario(running)

    asyncio.run(whole())
    return running


def only(*nodes: str, why: str = "full") -> Callable[[ExtenderCall], ExtenderFilterResult]:
    """A filter that lets these nodes through."""

    def says(asked: ExtenderCall) -> ExtenderFilterResult:
        passed = tuple(node for node in asked.about.names if node in nodes)
        return ExtenderFilterResult(
            passed, {node: why for node in asked.about.names if node not in nodes}, {}
        )

    return says


def condition(world: Running, pod: str) -> tuple[str, str]:
    """Reason and message of the pod's condition."""
    conditions = world.kube.pods[f"uid-{pod}"].status.conditions or ()
    return next(((c.reason, c.message) for c in conditions if c.type == "PodScheduled"), ("", ""))


def deleting(pod: Pod) -> Pod:
    """The pod, going."""
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z"),
    )


def labelled(pod: Pod) -> Pod:
    """The pod, with a label."""
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels={"a": "b"})
    )


def empty(world: Running) -> None:
    """All nodes go."""
    for node in list(world.kube.nodes.values()):
        world.kube.delete(node)


def delete(world: Running) -> None:
    """The pod goes."""
    world.kube.delete(world.kube.pods["uid-a"])


# ---- what extenders decide -----------------------------------------------------------------------


def test_pods_go_where_extenders_say_and_others_are_decided_meanwhile() -> None:
    """A slow extender holds up its own pods only."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        world.extenders.answers = {
            "filter": only("n2", "n3"),
            "prioritize": lambda _: [("n3", 9), ("n2", 1)],
        }
        world.kube.put(make_pod("slow"))
        world.kube.put(make_pod("plain", scheduler_name="plain"))
        await settle()
        assert (world.node("slow"), bool(world.node("plain"))) == ("", True)
        gate.set()
        await settle()
        assert world.node("slow") == "n3"
        assert world.extenders.verbs("slow") == ["filter", "prioritize"]

    run(scenario, a_profile(DECIDES), a_body("plain"), nodes=3)


def test_pods_that_are_none_of_their_business_are_not_asked_about() -> None:
    """Nor is anything read for them."""

    async def scenario(world: Running) -> None:
        world.kube.put(make_pod("a"))
        await settle()
        assert world.node("a")
        assert not world.extenders.calls

    run(scenario, a_profile({**DECIDES, "managedResources": [{"name": "a.b/c"}]}))


class Counting(InMemoryKube):
    """Counts how often all nodes are read."""

    def __init__(self) -> None:
        super().__init__()
        self.lists = 0

    async def nodes_json(self) -> Mapping[str, bytes]:
        """Count it."""
        self.lists += 1
        return await super().nodes_json()


@pytest.mark.parametrize("capable", [True, False], ids=["names", "in full"])
def test_what_they_are_sent(capable: bool) -> None:
    """Names and UIDs, or nodes in full, which are read once for all questions about a pod, and pods
    in full.
    """
    kube = Counting()

    async def scenario(world: Running) -> None:
        for name, cpu, node, rank in (("low", "2", "n1", 0), ("other", "4", "n2", 20)):
            kube.put(make_pod(name, cpu=cpu, node=node, priority=rank))
        kube.put(make_node("n3"))
        kube.put(make_pod("small", cpu="2"))
        await settle()
        asks = list(world.extenders.calls)
        names = {asked.verb: set(asked.about.names) for asked in asks}
        assert names == {"filter": {"n1", "n3"}, "prioritize": {"n1", "n3"}}
        whole = {
            asked.verb: {
                name: json.loads(node)["metadata"]["name"]
                for name, node in asked.about.node_json.items()
            }
            for asked in asks
        }
        assert whole == dict.fromkeys(names, {} if capable else {"n1": "n1", "n3": "n3"})
        assert kube.lists == (0 if capable else 1)
        kube.put(make_pod("high", cpu="4", priority=9))
        await settle()
        victims = next(asked.about for asked in world.extenders.calls if asked.verb == "preempt")
        (pods,) = {
            tuple(proposal.pods.items()) for node, proposal in victims.items() if node == "n1"
        }
        assert pods[0][0] == "uid-low"
        assert (json.loads(pods[0][1])["metadata"]["uid"] if pods[0][1] else "") == (
            "" if capable else "uid-low"
        )

    run(
        scenario,
        a_profile({**DECIDES, "nodeCacheCapable": capable}),
        world=Running(kube=kube, config=ANYWHERE),
    )


def test_victims_are_those_that_an_extender_leaves() -> None:
    """They are told to go, and the pod is nominated there."""

    async def scenario(world: Running) -> None:
        for name, node in (("a", "n1"), ("b", "n2")):
            world.kube.put(make_pod(name, cpu="4", node=node, priority=0))
        world.extenders.answers["preempt"] = lambda asked: {"n2": MetaVictims(("uid-b",), 0)}
        world.kube.put(make_pod("high", cpu="4", priority=9))
        await settle()
        assert [
            write.arguments[0].name for write in world.kube.written if write.method == "delete_pod"
        ] == ["b"]
        assert world.kube.pods["uid-high"].status.nominated_node_name == "n2"

    run(scenario, a_profile(DECIDES))


# ---- refused -------------------------------------------------------------------------------------


def test_what_an_extender_repeats_is_told_once() -> None:
    """Thousands of pods that it refuses are asked about again and again: their events would be a
    storm.
    """

    async def scenario(world: Running) -> None:
        world.extenders.answers["filter"] = only()
        world.kube.put(make_pod("a"))
        await world.clock.advance(4 * REQUEUE_INTERVAL_SECONDS)
        assert len(world.extenders.verbs("a")) >= 4
        assert len(world.notes("FailedScheduling")) == 1
        world.kube.put(make_node("n3"))
        await world.clock.advance(REQUEUE_INTERVAL_SECONDS)
        assert [note[:3] for note in world.notes("FailedScheduling")] == ["0/2", "0/3"]
        assert (condition(world, "a")[1])[:3] == "0/3"

    run(scenario, a_profile({"filterVerb": "f"}))


def test_refused_pods_are_tried_again_at_any_event_and_without_one_after_a_while() -> None:
    """Nobody knows what an extender decides by."""

    async def scenario(world: Running) -> None:
        world.extenders.answers["filter"] = only()
        world.kube.put(make_pod("a"))
        await world.clock.advance(TRIED_AGAIN)
        reason, text = condition(world, "a")
        assert reason == "Unschedulable"
        assert text.startswith("0/2 nodes are available: 2 full. ")
        tries = len(world.extenders.verbs("a"))
        await world.clock.advance(5)
        assert len(world.extenders.verbs("a")) == tries
        world.kube.put(make_node("n1", labels={"x": "y"}))
        await world.clock.advance(11)
        assert len(world.extenders.verbs("a")) == tries + 1
        world.extenders.answers["filter"] = only("n2")
        await world.clock.advance(REQUEUE_INTERVAL_SECONDS + 11)
        assert world.node("a") == "n2"

    run(scenario, a_profile({"filterVerb": "f"}))


def test_pods_that_only_plugins_refused_are_left_alone() -> None:
    """An extender that changes its mind would not help them."""

    async def scenario(world: Running) -> None:
        world.kube.put(make_pod("a", cpu="99"))
        await world.clock.advance(2 * REQUEUE_INTERVAL_SECONDS)
        assert world.telemetry.counts["attempt", "unschedulable"] == 1

    run(scenario, a_profile({"filterVerb": "f"}))


def test_members_of_groups_that_others_declare_go_where_extenders_say() -> None:
    """Each of them is asked about."""

    async def scenario(world: Running) -> None:
        world.extenders.answers["filter"] = only("n2")
        for obj in (group(2), member("a"), member("b")):
            world.kube.put(obj)
        await world.clock.advance(TRIED_AGAIN)
        assert [world.node("a"), world.node("b")] == ["n2", "n2"]

    run(scenario, a_profile({"filterVerb": "f"}))


# ---- what fails ----------------------------------------------------------------------------------

FAILURES: dict[str, tuple[Callable[[Running], None], str]] = {
    "the pod cannot be read": (
        lambda world: world.kube.fail("pod_json", Retryable("busy")),
        "extenders could not be asked: busy",
    ),
    "the pod must not be read": (
        lambda world: world.kube.fail("pod_json", Forbidden("GET", 403)),
        "extenders could not be asked: GET: 403",
    ),
    "nodes cannot be read": (
        lambda world: world.kube.fail("nodes_json", Retryable("busy")),
        "extenders could not be asked: busy",
    ),
    "filter fails": (lambda world: world.extenders.fail("filter", BROKEN), "broken"),
    "filter fails on our side": (
        lambda world: world.extenders.fail("filter", RuntimeError("bug")),
        "scheduling failed: RuntimeError('bug')",
    ),
    "filter refuses": (lambda world: world.extenders.fail("filter", EdgeError("no")), "no"),
    "prioritize fails on our side": (
        lambda world: world.extenders.fail("prioritize", OSError("bug")),
        "scheduling failed: OSError('bug')",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_attempt_is_told_and_tried_again_with_a_backoff(failure: str) -> None:
    """Without waiting for an event; the process goes on, and nothing stays assumed."""
    fail, text = FAILURES[failure]

    async def scenario(world: Running) -> None:
        fail(world)
        world.kube.put(make_pod("a"))
        await settle(60)
        assert not world.node("a")
        assert world.assumed == 0
        reason, told = condition(world, "a")
        assert (reason, told.startswith(text)) == ("SchedulerError", True), told
        await world.clock.advance(TRIED_AGAIN)
        assert world.node("a")
        assert world.kube.bindings == {"a": world.node("a")}

    run(scenario, a_profile({**DECIDES, "nodeCacheCapable": False}))


def test_a_node_that_the_api_server_has_no_more_is_not_asked_about() -> None:
    """In full it cannot be; where the watch is late, the other nodes are."""

    async def scenario(world: Running) -> None:
        del world.kube.nodes[next(name for name in world.kube.nodes if name.endswith("n2"))]
        world.kube.put(make_pod("a"))
        await settle()
        assert world.node("a") == "n1"
        assert {tuple(asked.about.names) for asked in world.extenders.calls} == {("n1",)}

    run(scenario, a_profile({**DECIDES, "nodeCacheCapable": False}))


@pytest.mark.parametrize(
    ("verb", "extender"),
    [
        ("filter", {**DECIDES, "ignorable": True}),
        ("prioritize", DECIDES),
        ("prioritize", {**DECIDES, "ignorable": True}),
    ],
)
def test_a_failure_that_does_not_matter(verb: str, extender: dict[str, Any]) -> None:
    """The pod goes on at once."""

    async def scenario(world: Running) -> None:
        world.extenders.fail(verb, BROKEN)
        world.kube.put(make_pod("a"))
        await settle()
        assert world.node("a")

    run(scenario, a_profile(extender))


def test_a_failure_about_victims() -> None:
    """Nobody is told to go, and the pod is tried again when something happens."""

    async def scenario(world: Running) -> None:
        world.kube.put(make_pod("low", cpu="4", node="n1", priority=0))
        world.extenders.fail("preempt", BROKEN)
        world.kube.put(make_pod("high", cpu="4", priority=9))
        await settle()
        assert not [write for write in world.kube.written if write.method == "delete_pod"]
        assert condition(world, "high") == (
            "Unschedulable",
            "0/1 nodes are available: 1 Insufficient cpu. broken",
        )

    run(scenario, a_profile(DECIDES), nodes=1)


# ---- what comes in between -----------------------------------------------------------------------

Deed = Callable[[Running], object]
BETWEEN: dict[str, tuple[Deed, bool]] = {
    # what happens while the extender is asked; whether the pod is bound in the end
    "the pod is deleted": (delete, False),
    "the pod is being deleted": (
        lambda world: world.kube.put(deleting(world.kube.pods["uid-a"])),
        False,
    ),
    "the pod is gone and the watch is late": (lambda world: world.kube.pods.pop("uid-a"), False),
    "the pod cannot be read any more": (
        lambda world: world.engine.pod_sink.unreadable(
            unreadable(world.kube.pods["uid-a"]), deleted=False
        ),
        False,
    ),
    "another one binds it": (lambda world: world.kube.put(make_pod("a", node="n1")), False),
    "the pod changes": (lambda world: world.kube.put(labelled(world.kube.pods["uid-a"])), True),
    "the profile is swapped": (
        lambda world: world.engine.profile_changed(
            "test", a_profile(DECIDES, generation=2, preset="Spread")
        ),
        True,
    ),
    "all nodes go": (empty, False),
    "a node comes": (lambda world: world.kube.put(make_node("n3")), True),
}


@pytest.mark.parametrize("verb", ["pod_json", "filter", "prioritize"])
@pytest.mark.parametrize("case", BETWEEN)
def test_what_happens_while_extenders_are_asked(case: str, verb: str) -> None:
    """A pod that is gone, going or bound is let be; nothing stays assumed, and nobody is bound
    twice or to a node that is gone.
    """
    deed, bound = BETWEEN[case]

    async def scenario(world: Running) -> None:
        gate = world.kube.hold(verb) if verb == "pod_json" else world.extenders.hold(verb)
        world.kube.put(make_pod("a"))
        await settle()
        deed(world)
        await world.clock.advance(1)
        gate.set()
        await world.clock.advance(TRIED_AGAIN)
        assert bool(world.kube.bindings) is bound
        if case.startswith("the pod is ") and verb == "pod_json":
            assert not world.extenders.calls
            assert not world.telemetry.counts["attempt", "error"]
        assert world.assumed == 0

    run(scenario, a_profile(DECIDES))


def test_a_replica_that_may_not_write_any_more_binds_nothing() -> None:
    """What extenders answer then is of no use; with the right to write, it is asked for anew."""
    clock = ManualClock()
    fence = Fence(clock.boottime)
    fence.extend(1e9)

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        world.kube.put(make_pod("a"))
        await settle()
        fence.close()
        gate.set()
        await world.clock.advance(TRIED_AGAIN)
        assert not world.kube.bindings
        assert world.assumed == 0
        fence.extend(1e9)
        await world.clock.advance(TRIED_AGAIN)
        assert world.node("a")

    run(
        scenario,
        a_profile(DECIDES),
        world=Running(kube=InMemoryKube(fence), clock=clock, config=ANYWHERE),
    )


def test_a_suspended_profile_asks_nothing_more() -> None:
    """Pods that are asked about, or wait for that, are held until it goes on."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        for i in range(MAX_CYCLES_PER_PROFILE + 4):
            world.kube.put(make_pod(f"a{i}", cpu="1m"))
        await settle()
        world.engine.profile_changed("test", a_profile(DECIDES, generation=2, suspend=True))
        await world.clock.advance(TRIED_AGAIN)
        assert world.engine.queue.counts("test").unserved == MAX_CYCLES_PER_PROFILE + 4
        not_tried = [entry for entry in world.engine.queue.entries("test") if not entry.attempts]
        assert [entry.consecutive_errors_count for entry in not_tried] == [0] * 4
        gate.set()
        await world.clock.advance(TRIED_AGAIN)
        assert not world.kube.bindings
        world.engine.profile_changed("test", a_profile(DECIDES, generation=3))
        await world.clock.advance(TRIED_AGAIN)
        assert len(world.kube.bindings) == MAX_CYCLES_PER_PROFILE + 4

    run(scenario, a_profile(DECIDES))


def test_a_deleted_profile_asks_nothing_more() -> None:
    """Its pods are somebody else's from then on."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        for i in range(MAX_CYCLES_PER_PROFILE + 4):
            world.kube.put(make_pod(f"a{i}", cpu="1m"))
        await settle()
        world.engine.profile_changed("test", None)
        gate.set()
        await world.clock.advance(TRIED_AGAIN)
        assert not world.kube.bindings
        assert world.engine.queue.counts("test").in_flight == 0

    run(scenario, a_profile(DECIDES))


def test_so_many_at_a_time_in_the_order_of_the_queue() -> None:
    """Of each profile; the pod that goes first among those that wait is the next."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        for i in range(MAX_CYCLES_PER_PROFILE + 3):
            world.kube.put(make_pod(f"a{i}", cpu="1m"))
        await settle()
        world.kube.put(make_pod("urgent", cpu="1m", priority=5))
        world.kube.put(make_pod("gone", cpu="1m", priority=9))
        world.kube.put(make_pod("b", cpu="1m", scheduler_name="other"))
        await settle()
        world.kube.put(make_pod("gone", cpu="1m", priority=9, node="n1"))
        assert [asked.pod for asked in world.extenders.calls] == [
            *(f"a{i}" for i in range(MAX_CYCLES_PER_PROFILE)),
            "b",
        ]
        gate.set()
        await settle(200)
        filtered = [
            asked.pod
            for asked in world.extenders.calls
            if asked.verb == "filter" and asked.pod != "b"
        ]
        assert filtered[MAX_CYCLES_PER_PROFILE:] == [
            "urgent",
            *(f"a{i}" for i in range(MAX_CYCLES_PER_PROFILE, MAX_CYCLES_PER_PROFILE + 3)),
        ]
        assert len(world.kube.bindings) == MAX_CYCLES_PER_PROFILE + 5

    run(scenario, a_profile(DECIDES), a_profile(DECIDES, name="other"))


def test_a_pod_that_goes_makes_room_for_the_next() -> None:
    """At once, not when the extender has answered."""

    async def scenario(world: Running) -> None:
        world.extenders.hold("filter")
        for i in range(MAX_CYCLES_PER_PROFILE + 1):
            world.kube.put(make_pod(f"a{i}", cpu="1m"))
        await settle()
        world.kube.delete(world.kube.pods["uid-a0"])
        await settle()
        assert world.extenders.calls[-1].pod == f"a{MAX_CYCLES_PER_PROFILE}"

    run(scenario, a_profile(DECIDES))


def test_a_superseded_revision_counts_as_draining_while_it_is_asked_by() -> None:
    """Status says how many cycles go by it."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        world.kube.put(make_pod("a"))
        await settle()
        world.engine.profile_changed("test", a_profile(DECIDES, generation=2, preset="Spread"))
        await world.clock.advance(1)
        (record,) = world.engine.records.profiles.values()
        assert record.prune_superseded(world.engine.under_way.count) == 1
        gate.set()
        await settle()
        assert record.prune_superseded(world.engine.under_way.count) == 0

    run(scenario, a_profile(DECIDES))


def test_the_engine_does_not_wait_for_extenders_to_stop() -> None:
    """What they would say cannot be used any more."""

    async def scenario(world: Running) -> None:
        world.extenders.hold("filter")
        for i in range(MAX_CYCLES_PER_PROFILE + 2):
            world.kube.put(make_pod(f"a{i}", cpu="1m"))
        await settle()
        await asyncio.wait_for(world.engine.settle(5), 1)
        assert (world.assumed, world.kube.bindings) == (0, {})
        assert not world.notes("FailedScheduling")

    run(scenario, a_profile(DECIDES))


# ---- binding -------------------------------------------------------------------------------------

BINDER = {"bindVerb": "b"}


def binds(world: Running, node: str | None = None) -> Callable[[ExtenderCall], None]:
    """The extender does it, on this node instead of the one that it was told."""

    def says(asked: ExtenderCall) -> None:
        pod, wanted = asked.about
        stored = world.kube.pods[pod.uid]
        world.kube.put(
            msgspec.structs.replace(
                stored, spec=msgspec.structs.replace(stored.spec, node_name=node or wanted)
            )
        )

    return says


def raising(
    *deeds: Callable[[ExtenderCall], None], error: Exception
) -> Callable[[ExtenderCall], None]:
    """The extender does this, and fails all the same."""

    def says(asked: ExtenderCall) -> None:
        for deed in deeds:
            deed(asked)
        raise error

    return says


def test_an_extender_binds_instead_of_plugins() -> None:
    """The pods that are its business; for the others the plugins do it."""

    async def scenario(world: Running) -> None:
        world.extenders.answers["bind"] = binds(world)
        world.kube.put(make_pod("a"))
        await settle()
        assert world.node("a")
        assert (world.kube.bindings, world.extenders.verbs("a")) == ({}, ["bind"])
        assert world.events.reasons("a") == ["Scheduled"]
        world.kube.put(make_pod("b", scheduler_name="other"))
        await settle()
        assert (list(world.kube.bindings), world.extenders.verbs("b")) == (["b"], [])

    run(
        scenario,
        a_profile(BINDER),
        a_profile({**BINDER, "managedResources": [{"name": "a.b/c"}]}, name="other"),
    )


UNSURE: dict[str, tuple[Callable[[Running], Callable[[ExtenderCall], None]], str]] = {
    # what the extender does, and what becomes of the pod at once: bound, tried again, or out of our
    # hands
    "it fails": (lambda world: raising(error=BROKEN), "again"),
    "it is not there": (lambda world: raising(error=Retryable("refused")), "again"),
    "it fails though it did it": (lambda world: raising(binds(world), error=BROKEN), "bound"),
    "it fails and somebody else did it": (
        lambda world: raising(binds(world, "n9"), error=BROKEN),
        "gone",
    ),
    "it fails on our side": (lambda world: raising(error=RuntimeError("bug")), "again"),
    "it binds elsewhere": (lambda world: binds(world, "n9"), "gone"),
}


@pytest.mark.parametrize("case", UNSURE)
def test_an_extender_that_binds_badly(case: str, caplog: pytest.LogCaptureFixture) -> None:
    """What it did is found out by reading the pod; a bug is logged under its name."""
    does, what = UNSURE[case]

    async def scenario(world: Running) -> None:
        world.extenders.answers["bind"] = does(world)
        world.kube.put(make_pod("a"))
        await world.clock.advance(0.5)
        assert world.assumed == 0
        assert ("Scheduled" in world.events.reasons("a")) is (what == "bound")
        assert (condition(world, "a")[0] == "SchedulerError") is (what == "again")
        bugs = [text for text in caplog.messages if text.endswith("failed with a bug")]
        ours = case == "it fails on our side"
        assert bugs == (["extender https://x failed with a bug"] if ours else [])
        world.extenders.answers["bind"] = binds(world)
        await world.clock.advance(TRIED_AGAIN)
        assert world.node("a")
        assert not world.kube.bindings

    run(scenario, a_profile(BINDER))


@pytest.mark.parametrize("seconds", [0.0, 1.0, 60.0], ids=["at once", "a little later", "never"])
def test_an_extender_that_says_that_it_has_bound_a_pod(seconds: float) -> None:
    """It is believed when it is true; it may answer first and bind then."""

    async def scenario(world: Running) -> None:
        world.kube.put(make_pod("a"))
        await settle()
        assert (world.assumed, world.extenders.verbs("a")) == (1, ["bind"])
        if seconds < 30:
            await world.clock.advance(seconds)
            binds(world)(world.extenders.calls[0])
            await world.clock.advance(2)
            assert world.events.reasons("a") == ["Scheduled"]
        else:
            await world.clock.advance(8)
            text = (
                "binding rejected: extender https://x said that it has bound the pod, and it has "
                "not"
            )
            assert condition(world, "a") == ("SchedulerError", text)
            assert len(world.extenders.verbs("a")) > 1

    run(scenario, a_profile(BINDER))


@pytest.mark.parametrize("did_it", [True, False])
def test_plugins_bind_where_an_ignorable_extender_does_not(did_it: bool) -> None:
    """Unless it has done so all the same."""

    async def scenario(world: Running) -> None:
        world.extenders.answers["bind"] = raising(*([binds(world)] if did_it else []), error=BROKEN)
        world.kube.put(make_pod("a"))
        await settle()
        assert world.node("a")
        assert list(world.kube.bindings) == ([] if did_it else ["a"])

    run(scenario, a_profile({**BINDER, "ignorable": True}))


def test_a_binding_is_not_asked_for_without_the_right_to_write() -> None:
    """It goes back to the queue without a word."""
    clock = ManualClock()
    fence = Fence(clock.boottime)
    fence.extend(1e9)

    async def scenario(world: Running) -> None:
        permitted = world.steps.gates["permit"] = asyncio.Event()
        world.kube.put(make_pod("a"))
        await settle()
        assert world.assumed == 1
        fence.close()
        permitted.set()
        await settle()
        assert world.extenders.verbs("a") == ["filter"]
        assert world.assumed == 0

    run(
        scenario,
        a_profile({**BINDER, "filterVerb": "f"}, plugins=STEPS),
        world=Running(kube=InMemoryKube(fence), clock=clock, config=ANYWHERE),
    )


@pytest.mark.parametrize("cause", ["gone", "recalled"])
def test_a_cycle_that_is_broken_off_before_it_began(cause: str) -> None:
    """Its turn is given to others, and a pod that is still there is tried again."""

    async def scenario(world: Running) -> None:
        for _ in range(2 * MAX_CYCLES_PER_PROFILE):
            pod = world.kube.put(make_pod("a"))
            entry = world.engine.queue.pop(world.clock.boottime())
            assert entry is not None
            world.engine.loop.attempt(SchedulingAttempt(entry, world.clock.boottime()))
            if cause == "gone":
                world.kube.delete(pod)
            else:
                world.engine.under_way.interrupt_profile("test", "suspended")
                await settle()
                assert entry.state is not QueueState.IN_FLIGHT
                world.kube.delete(pod)
        world.kube.put(make_pod("b"))
        await world.clock.advance(TRIED_AGAIN)
        assert world.node("b")

    run(scenario, a_profile({"filterVerb": "f"}))


@pytest.mark.parametrize("gone_first", [True, False])
@pytest.mark.parametrize("how", ["the pod is deleted", "the pod is being deleted"])
def test_a_pod_that_is_gone_stays_gone(how: str, gone_first: bool) -> None:
    """Whatever else breaks its cycle off at the same moment: that is told of no pod that waits no
    more.
    """
    causes: list[Deed] = [
        BETWEEN[how][0],
        lambda world: world.engine.under_way.interrupt_profile("test", "suspended"),
    ]

    async def scenario(world: Running) -> None:
        world.extenders.hold("filter")
        world.kube.put(make_pod("a"))
        await settle()
        for cause in causes if gone_first else reversed(causes):
            cause(world)
        await settle()
        assert (world.notes("FailedScheduling"), world.engine.queue.get("uid-a")) == ([], None)
        assert not world.telemetry.counts["attempt", "error"]

    run(scenario, a_profile({"filterVerb": "f"}))


@pytest.mark.filterwarnings("error")
def test_a_pod_that_goes_before_its_priorities_are_asked_for() -> None:
    """In the turn between the question and what asks it: no request is left that nobody awaits."""

    async def scenario(world: Running) -> None:
        gate = world.extenders.hold("filter")
        world.kube.put(make_pod("a"))
        await settle()
        gate.set()
        await asyncio.sleep(0)
        delete(world)
        await settle()
        assert world.extenders.verbs("a") == ["filter"]

    run(scenario, a_profile(DECIDES))
