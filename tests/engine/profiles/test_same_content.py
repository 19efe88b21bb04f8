"""What the same content means to swapping, and what pausing does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.engine.profiles.swap import RETRY_SECONDS
from moorage.ports.errors import Retryable
from moorage.ports.kube import StoredRevision
from tests.builders import make_pod
from tests.engine.profiles.test_swap import DEBOUNCE, GPU, edited, ignoring, live, swapped, with_ref
from tests.engine.running import Running
from tests.engine.worlds import RESOLVER, a_body, make_engine
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

# ---- the same content --------------------------------------------------------------------------


def test_the_same_content_is_no_swap_however_it_is_said() -> None:
    """Nothing is told or stored; status is about the newest generations all the same."""

    async def scenario() -> None:
        inline = {"name": "NodeResourcesFit", "args": {"ignoredResources": [GPU]}}
        async with Running().leading(a_body("test", pluginConfig=[inline])) as world:
            before, count, stored = live(world), swapped(world), dict(world.kube.stored)
            world.engine.plugin_config_changed("fit", ignoring(4, GPU))
            world.engine.profile_changed("test", with_ref(generation=2))
            await world.clock.advance(1)
            assert live(world) is before
            assert (swapped(world), world.kube.stored) == (count, stored)
            record = world.engine.records.profiles["test"]
            assert record.active is not None
            assert record.active.resolution.configs == {"fit": 4}

    asyncio.run(scenario())


def test_suspending_is_no_swap_and_holds_the_pods() -> None:
    """And lifting it lets them go."""

    async def scenario() -> None:
        async with Running().leading(a_body("test")) as world:
            before = live(world)
            world.engine.profile_changed("test", a_body("test", generation=2, suspend=True))
            await world.clock.advance(1)
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert not world.node("a")
            world.engine.profile_changed("test", a_body("test", generation=3))
            await world.clock.advance(1)
            assert world.node("a")
            assert live(world) is before

    asyncio.run(scenario())


def test_mending_a_spec_to_what_decides_is_no_swap() -> None:
    """After a restart, too, where the last good revision came from the store."""

    async def scenario() -> None:
        kube = InMemoryKube()
        async with Running(kube).leading(edited(1)):
            pass
        kube.pod_sinks.clear()
        kube.node_sinks.clear()
        second = Running(kube)
        await second.engine.restore()
        async with second.leading(edited(2, weights={"NodeResourceFit": 1})) as world:
            restored, count = live(world), swapped(world)
            assert restored is not None
            record = world.engine.records.profiles["test"]
            assert record.active is not None
            assert record.active.last_good
            world.engine.profile_changed("test", edited(3, content=1))
            await world.clock.advance(1)
            assert (live(world), swapped(world)) == (restored, count)
            assert record.active is not None
            assert not record.active.last_good

    asyncio.run(scenario())


def test_going_back_is_a_swap_to_the_old_name_and_the_newest_number() -> None:
    """As kubectl numbers a rollback, so that after a restart the last good one is what decided
    last; what is stored is how it was said last, and who changed that.
    """

    async def scenario() -> None:
        kube = InMemoryKube()
        async with Running(kube).leading(edited(1)) as world:
            first = live(world)
            world.engine.profile_changed("test", edited(2))
            await world.clock.advance(1)
            back = edited(3, content=1)
            back["metadata"]["managedFields"] = [
                {"manager": "old", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}},
                {"manager": "me", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}}},
                {"manager": "moorage", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:status": 1}},
            ]
            world.engine.profile_changed("test", back)
            await world.clock.advance(1)
            again = live(world)
            assert first is not None
            assert again is not None
            assert (again.id, swapped(world)) == (first.id, 3)
        found = sorted(kube.stored.values(), key=lambda stored: stored.number)
        assert [stored.number for stored in found] == [2, 3]
        assert (found[-1].data["revision"], found[-1].changed_by) == (first.id, "me")
        assert found[-1].data["profile"]["metadata"]["generation"] == 3

    asyncio.run(scenario())


def test_nobody_is_said_to_have_removed_a_field() -> None:
    """managedFields tell of no such edit, and whoever was there before has not made it."""

    async def scenario() -> None:
        kube = InMemoryKube()
        by_me = {"manager": "me", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:spec": {}}}
        added, removed = edited(1), edited(2)
        for body in (added, removed):
            body["metadata"]["managedFields"] = [by_me]
        async with Running(kube).leading(added) as world:
            world.engine.profile_changed("test", removed)
            await world.clock.advance(1)
        found = sorted(kube.stored.values(), key=lambda stored: stored.number)
        assert [one.changed_by for one in found] == ["me", ""]
        assert {one.changed_at for one in found} == {by_me["time"]}

    asyncio.run(scenario())


def test_a_lost_answer_to_renumbering_delays_the_swap_only() -> None:
    """What was stored before is not taken for the new one until its number is the newest."""

    async def scenario() -> None:
        async with Running().leading(edited(1)) as world:
            world.engine.profile_changed("test", edited(2))
            await world.clock.advance(1)
            world.kube.fail("delete_revision", Retryable("reset", outcome_unknown=True))
            world.engine.profile_changed("test", edited(3, content=1))
            await world.clock.advance(2 * DEBOUNCE)
            assert swapped(world) == 2
            await world.clock.advance(RETRY_SECONDS + DEBOUNCE)
            assert swapped(world) == 3
            assert sorted(stored.number for stored in world.kube.stored.values()) == [2, 3]

    asyncio.run(scenario())


def with_old_names() -> InMemoryKube:
    """An API server with the five revisions of a former version, which named them otherwise."""
    kube = InMemoryKube()
    good = RESOLVER(edited(1), {})
    for number in range(1, 6):
        data = {**good.document, "revision": f"old{number}", "uid": "uid-test"}
        kube.stored[f"test-old{number}"] = StoredRevision(f"test-old{number}", "test", number, data)
    return kube


@pytest.mark.parametrize(
    "spec", [{"preset": "Best"}, {"preset": "Spread", "paused": True}], ids=["bad", "paused"]
)
def test_what_goes_on_after_an_upgrade_is_stored_by_its_new_name(spec: dict[str, Any]) -> None:
    """So that a rollback finds it; once, and by the leader alone."""
    kube = with_old_names()
    engine = make_engine(kube, FakeEventRecorder())
    engine.live.leading = False
    asyncio.run(engine.restore())
    engine.profile_changed("test", a_body("test", generation=2, **spec))
    assert asyncio.run(engine.swapper.reconcile())
    if "paused" not in spec:  # then a standby reads it only when it takes over
        assert engine.live["test"].id == RESOLVER(edited(1), {}).id
    assert len(kube.stored) == 5
    engine.lead()
    assert asyncio.run(engine.swapper.reconcile())
    newest = max(kube.stored.values(), key=lambda stored: stored.number)
    assert (newest.number, newest.data["revision"]) == (6, engine.live["test"].id)
    before = dict(kube.stored)
    assert asyncio.run(engine.swapper.reconcile())
    assert kube.stored == before


def test_revisions_with_names_of_old_are_read_and_pruned() -> None:
    """One decides again after a restart, by its new name."""
    kube, good = with_old_names(), RESOLVER(edited(1), {})
    engine = make_engine(kube, FakeEventRecorder())
    asyncio.run(engine.restore())
    engine.profile_changed("test", edited(2, preset="Best"))
    assert asyncio.run(engine.swapper.reconcile())
    assert engine.live["test"].id == good.id
    engine.profile_changed("test", edited(3))
    assert asyncio.run(engine.swapper.reconcile())
    assert sorted(stored.number for stored in kube.stored.values()) == [3, 4, 5, 6, 7]
    assert f"test-{engine.live['test'].id}" in kube.stored


# ---- pausing -----------------------------------------------------------------------------------


def test_a_paused_profile_keeps_its_revision() -> None:
    """Through edits, its PluginConfigs' too; then the newest spec decides."""

    async def scenario() -> None:
        async with Running().leading(edited(1)) as world:
            before, count = live(world), swapped(world)
            world.engine.profile_changed("test", edited(2, content=1, paused=True))
            await world.clock.advance(1)
            world.engine.profile_changed("test", edited(3, paused=True))
            await world.clock.advance(1)
            assert (live(world), swapped(world)) == (before, count)
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert world.node("a")
            assert len(world.kube.stored) == 1
            world.engine.profile_changed("test", edited(4, content=3))
            await world.clock.advance(1)
            assert live(world) is not before
            assert swapped(world) == count + 1

    asyncio.run(scenario())


def test_a_paused_profile_is_suspended_and_let_go_all_the_same() -> None:
    """Pausing is about which revision decides, suspending about whether one does."""

    async def scenario() -> None:
        async with Running().leading(edited(1)) as world:
            world.engine.profile_changed("test", edited(2, paused=True, suspend=True))
            await world.clock.advance(1)
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert not world.node("a")
            world.engine.profile_changed("test", edited(3, paused=True))
            await world.clock.advance(1)
            assert world.node("a")

    asyncio.run(scenario())


def test_a_paused_profile_survives_a_restart() -> None:
    """What decided last goes on, not what the spec says since; it is read once."""

    async def scenario() -> None:
        kube = InMemoryKube()
        async with Running(kube).leading(edited(1)) as world:
            before = live(world)
        kube.pod_sinks.clear()
        kube.node_sinks.clear()
        second = Running(kube)
        await second.engine.restore()
        async with second.leading(edited(2, paused=True)) as world:
            again = live(world)
            assert before is not None
            assert again is not None
            assert again.id == before.id
            count = swapped(world)
            await world.engine.swapper.reconcile()
            assert (live(world), swapped(world)) == (again, count)

    asyncio.run(scenario())


def test_a_profile_that_begins_paused_waits() -> None:
    """Nothing decided before, so there is nothing that may go on."""
    engine = make_engine(kube := InMemoryKube(), FakeEventRecorder())
    engine.profile_changed("test", edited(1, paused=True))
    assert asyncio.run(engine.swapper.reconcile())
    assert (dict(engine.live), kube.stored) == ({}, {})


def test_who_takes_over_keeps_what_the_leader_had() -> None:
    """A standby that saw two edits as one has another revision ready than the one that decided."""

    async def scenario() -> None:
        kube = InMemoryKube()
        standby, leader = (make_engine(kube, FakeEventRecorder()) for _ in range(2))
        standby.live.leading = False
        for engine in (leader, standby):
            engine.profile_changed("test", edited(1))
            await engine.swapper.reconcile()
        leader.profile_changed("test", edited(2))
        await leader.swapper.reconcile()
        for engine in (leader, standby):
            engine.profile_changed("test", edited(3, paused=True))
            await engine.swapper.reconcile()
        assert standby.live["test"].id != leader.live["test"].id
        await standby.restore()
        standby.lead()
        await standby.swapper.reconcile()
        assert standby.live["test"].id == leader.live["test"].id

    asyncio.run(scenario())
