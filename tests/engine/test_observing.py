"""An observer: it knows what a decider knows, and decides nothing."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.ports.kube import HOME_LABEL, pod_ref
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body

KUBE_SCHEDULER, THEIRS = "kube-system/kube-scheduler", "elsewhere/moorage"
OURS = "moorage-system/moorage"
OF_ITS_OWN = {"profile_status", "delete_replica"}
"""What an observer writes beside its Leases."""


def running(mode: Literal["decider", "observer"] = "observer") -> Running:
    """An engine with this mode."""
    return Running(config=OperatorConfiguration(mode=mode))


def conditions(world: Running, profile: str) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    found = world.kube.statuses["SchedulerProfile", profile]["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


async def lived(world: Running) -> None:
    """All that moves a decider to write: pods that fit, that don't, whose profile is bad, gone or
    nearly named; an edit, a trial, a dead replica.
    """
    bad = a_body("bad", preset="Nothing")
    canary = a_body("seen", generation=2, preset="BinPack", rollout={"strategy": "Canary"})
    world.kube.dead = ["gone"]
    async with world.leading(a_body("seen"), bad, a_body("going")):
        for name, scheduler, cpu in (
            ("fits", "seen", "1"),
            ("large", "seen", "1000"),
            ("of-bad", "bad", "1"),
            ("of-going", "going", "1"),
            ("near", "seeen", "1"),
        ):
            world.kube.put(make_pod(name, scheduler_name=scheduler, cpu=cpu))
        await world.clock.advance(5)
        world.engine.profile_changed("seen", canary)
        world.engine.profile_changed("going", None)
        for _ in range(20):
            await world.clock.advance(5)


@pytest.mark.parametrize("mode", ["decider", "observer"])
def test_nothing_is_written_but_what_became_of_profiles(
    mode: Literal["decider", "observer"],
) -> None:
    """Whatever happens; what happens moves a decider to much else."""
    world = running(mode)
    asyncio.run(lived(world))
    written = {one.method for one in world.kube.written}
    told = {event.reason for event in world.events.events}
    if mode == "observer":
        assert written == OF_ITS_OWN
        assert not told
    else:
        assert written > OF_ITS_OWN | {"bind", "pod_condition", "create_revision"}
        assert told >= {"LeaderChanged", "Activated", "TrialStarted", "FailedScheduling"}


def test_a_profile_says_that_it_is_observed() -> None:
    """Which revision explains, and that nobody decides by it; what is wrong with a spec is said as
    ever.
    """
    world = running()

    async def scenario() -> None:
        selector: dict[str, Any] = {"namespaceSelector": {}, "podSelector": {}}
        good = a_body("good", assign=selector)
        async with world.leading(good, a_body("bad", preset="Nothing")):
            await world.clock.advance(3)

    asyncio.run(scenario())
    assert conditions(world, "good") == {
        "Accepted": ("True", "Valid"),
        "ResolvedRefs": ("True", "Resolved"),
        "Permitted": ("True", "Permitted"),
        "Active": ("False", "Observing"),
        "Ready": ("False", "Observing"),
        "Assigned": ("False", "NotActive"),
    }
    assert conditions(world, "bad")["Ready"] == ("False", "InvalidSpec")
    status = world.kube.statuses["SchedulerProfile", "good"]
    assert status["activeRevision"] == world.engine.live["good"].id
    assert ("claimedBy" in status, status["observedBy"]) == (False, "moorage-system/moorage")
    (active,) = (one for one in status["conditions"] if one["type"] == "Active")
    assert "places none" in active["message"] and status["activeRevision"] in active["message"]


def test_a_running_scheduler_is_in_nobodys_way() -> None:
    """Pods of kube-scheduler are explained by the profile that has its name, while it places
    them; one that is bound by it leaves the queue.
    """
    world = running()
    world.kube.renewed.add(KUBE_SCHEDULER)

    async def scenario() -> None:
        profile = a_body("candidate", schedulerName="default-scheduler", preset="BinPack")
        async with world.leading(profile):
            world.kube.put(make_pod("p", scheduler_name="default-scheduler"))
            await world.clock.advance(15)
            assert world.engine.live["default-scheduler"].scheduler_name == "default-scheduler"
            assert world.engine.queue.counts("default-scheduler").active == 1
            await world.kube.bind(pod_ref(world.kube.pods["uid-p"]), "n1")
            await world.clock.advance(1)
            assert world.engine.queue.counts("default-scheduler").active == 0

    asyncio.run(scenario())
    assert conditions(world, "candidate")["Active"] == ("False", "Observing")


def test_who_serves_a_profile_writes_its_status() -> None:
    """Not the observer, which goes on to explain by it; when nobody serves it any more it does."""
    world = running()
    world.kube.renewed.add(THEIRS)
    labels = {HOME_LABEL: "true"}
    world.kube.put(Namespace(metadata=ObjectMeta(name="elsewhere", labels=labels)))

    async def scenario() -> None:
        async with world.leading({**a_body("theirs"), "status": {"claimedBy": THEIRS}}):
            await world.clock.advance(3)
            assert ("SchedulerProfile", "theirs") not in world.kube.statuses
            assert "theirs" in world.engine.live
            world.kube.renewed.clear()
            for _ in range(3):
                await world.clock.advance(5)

    asyncio.run(scenario())
    assert conditions(world, "theirs")["Ready"] == ("False", "Observing")


@pytest.mark.parametrize(("claimed", "left"), [(OURS, None), (THEIRS, THEIRS), (None, None)])
def test_whose_claim_an_observer_takes_back(claimed: str | None, left: str | None) -> None:
    """Its own alone, from when it decided: a name stays with whoever is dead."""
    world = running()
    status = {"claimedBy": claimed} if claimed else {}
    world.kube.statuses["SchedulerProfile", "seen"] = status

    async def scenario() -> None:
        async with world.leading({**a_body("seen"), "status": status}):
            await world.clock.advance(3)

    asyncio.run(scenario())
    assert world.kube.statuses["SchedulerProfile", "seen"].get("claimedBy") == left
    assert conditions(world, "seen")["Ready"] == ("False", "Observing")


def test_what_others_write_into_its_statuses_is_mended() -> None:
    """But for a claim: whoever made it may be about to decide."""
    world, body = running(), a_body("seen")
    key = "SchedulerProfile", "seen"

    async def scenario() -> None:
        async with world.leading(body):
            await world.clock.advance(3)
            forged = {"activeRevision": "forged", "observedBy": "b/b", "claimedBy": THEIRS}
            world.kube.statuses[key] |= forged
            changed = {**body, "metadata": {**body["metadata"], "resourceVersion": "later"}}
            world.engine.profile_changed("seen", {**changed, "status": world.kube.statuses[key]})
            await world.clock.advance(3)

    asyncio.run(scenario())
    status = world.kube.statuses[key]
    assert status["activeRevision"] == world.engine.live["seen"].id
    assert (status["observedBy"], status["claimedBy"]) == (OURS, THEIRS)


def test_an_edit_explains_at_once() -> None:
    """A trial would wait for pods that nobody decides about."""
    world = running()

    async def scenario() -> tuple[str, str]:
        plan = {"strategy": "Canary"}
        async with world.leading(a_body("seen", rollout=plan)):
            before = world.engine.live["seen"].id
            edited = a_body("seen", generation=2, preset="BinPack", rollout=plan)
            world.engine.profile_changed("seen", edited)
            await world.clock.advance(3)
            return before, world.engine.live["seen"].id

    before, after = asyncio.run(scenario())
    assert before != after
    assert world.kube.statuses["SchedulerProfile", "seen"]["desiredRevision"] == after


def test_it_is_the_one_to_ask_and_records() -> None:
    """As a leader is; to what writes of pods it does not lead."""
    world = running()

    async def scenario() -> Any:
        async with world.leading(a_body("seen")):
            live = world.engine.live
            return live.answering, live.leading, live.deciding

    assert asyncio.run(scenario()) == (True, False, False)


def test_a_decider_observes_nothing() -> None:
    """A profile of its own is claimed, and not observed."""
    world = running("decider")

    async def scenario() -> None:
        async with world.leading(a_body("mine")):
            await world.clock.advance(3)

    asyncio.run(scenario())
    status = world.kube.statuses["SchedulerProfile", "mine"]
    assert (status["claimedBy"], status.get("observedBy")) == ("moorage-system/moorage", None)


def test_an_observed_profile_is_in_no_deciders_way() -> None:
    """Nor is a decider's in the observer's: one name has one owner among those that decide."""
    before = "2020-01-01T00:00:00Z"
    theirs = a_body("theirs", created=before, schedulerName="shared", controllerName="other")
    observed = {**theirs, "status": {"observedBy": THEIRS}}

    async def scenario(mode: Literal["decider", "observer"], other: dict[str, Any]) -> str:
        world = running(mode)
        async with world.leading(other, a_body("mine", schedulerName="shared")):
            await world.clock.advance(3)
        return conditions(world, "mine")["Accepted"][1]

    assert asyncio.run(scenario("decider", theirs)) == "NameConflict"
    assert asyncio.run(scenario("decider", observed)) == "Valid"
    assert asyncio.run(scenario("observer", theirs)) == "Valid"
