"""Swapping: one new live revision for what changed together, none for what is bad, and what follows
from each.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from moorage.core.framework.revisions import FieldError, Revision
from moorage.engine.profile_records import ProfileRecord
from moorage.engine.profiles.swap import RETRY_SECONDS
from moorage.ports.errors import Conflict, Fenced, Forbidden, Retryable
from moorage.ports.kube import StoredRevision
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.worlds import RecordingProfileListener, a_body, a_config, make_engine
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

DEBOUNCE = 0.2
GPU = "example.com/gpu"


def with_ref(
    name: str = "test", generation: int = 1, config: str = "fit", **spec: Any
) -> dict[str, Any]:
    """A profile that takes NodeResourcesFit's arguments from a PluginConfig."""
    reference = {"name": "NodeResourcesFit", "configRef": {"name": config}}
    return a_body(name, generation=generation, pluginConfig=[reference], **spec)


def ignoring(generation: int, *resources: str) -> dict[str, Any]:
    """The PluginConfig ``fit``: NodeResourcesFit does not look at these resources."""
    return a_config("fit", generation=generation, ignoredResources=list(resources))


def edited(generation: int, content: int = 0, **spec: Any) -> dict[str, Any]:
    """The profile ``test`` at this generation; the same ``content`` stands for the same content."""
    spec["podMaxBackoffSeconds"] = 10 + (content or generation)
    return a_body("test", generation=generation, **spec)


def live(world: Running) -> Revision | None:
    """What decides for ``test``."""
    return world.engine.live.get("test")


def see(world: Running, body: dict[str, Any]) -> None:
    """An object of either kind is in this state."""
    tell = (
        world.engine.profile_changed
        if body["kind"] == "SchedulerProfile"
        else world.engine.plugin_config_changed
    )
    tell(body["metadata"]["name"], body)


def swapped(world: Running) -> int:
    """How often something was swapped in."""
    return len(world.notes("Activated"))


# ---- what becomes a swap -------------------------------------------------------------------------


def test_objects_that_change_together_are_one_swap() -> None:
    """Nothing in between is ever live; nothing is before the debounce is over."""

    async def scenario() -> None:
        async with Running().leading() as world:
            before, count = live(world), swapped(world)
            world.engine.profile_changed("test", with_ref(generation=2))
            await world.clock.advance(DEBOUNCE / 2)
            world.engine.plugin_config_changed("fit", ignoring(1, GPU))
            world.engine.profile_changed("test", with_ref(generation=3, preset="BinPack"))
            await world.clock.advance(DEBOUNCE / 2 - 0.01)
            assert live(world) is before
            await world.clock.advance(0.02)
            assert swapped(world) == count + 1
            revision = live(world)
            assert revision is not None
            assert revision.deciders["NodeResourcesFit"].args.ignored_resources == (GPU,)  # type: ignore[attr-defined]
            assert revision.weights["NodeResourcesFit"] == 20
            assert world.notes("Rejected") == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("error", "times"),
    [(ZeroDivisionError(), 1), (ZeroDivisionError(), 99), (asyncio.CancelledError(), 1)],
)
def test_an_edit_outlives_a_bug(
    error: BaseException, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was being reconciled when something ended that is reconciled in the end; decisions go
    on meanwhile.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            conflict, failed = world.engine.swapper.ownership.conflict, list[str]()

            async def failing(record: ProfileRecord) -> FieldError | None:
                if len(failed) < times:
                    failed.append(record.name)
                    raise error
                return await conflict(record)

            monkeypatch.setattr(world.engine.swapper.ownership, "conflict", failing)
            count = swapped(world)
            world.engine.profile_changed("test", a_body("test", generation=2, preset="BinPack"))
            await world.clock.advance(0.5)
            assert (swapped(world), len(failed)) == (count, 1)
            world.kube.put(make_pod("a"))
            await world.clock.advance(5 + 1.5 * times)
            assert world.node("a")
            assert (swapped(world), len(failed)) == (count + 1, times)

    asyncio.run(scenario())


def test_profiles_wait_for_the_first_lists() -> None:
    """A PluginConfig that has not come yet is not missing."""

    async def scenario() -> None:
        world = Running()
        world.kube.relist()
        running = asyncio.create_task(world.engine.run())
        world.engine.lead()
        world.engine.profile_changed("test", with_ref())
        await world.clock.advance(5)
        world.engine.plugin_config_changed("fit", ignoring(1))
        world.engine.listed()
        await world.clock.advance(1)
        assert live(world) is not None
        assert world.notes("Rejected") == []
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(scenario())


SAME, FIT = with_ref(), ignoring(1)
NO_CHANGES: dict[str, dict[str, Any]] = {
    "our own status": {**SAME, "status": {"activeRevision": "x", "conditions": []}},
    "a label": {
        **SAME,
        "metadata": {**SAME["metadata"], "labels": {"a": "b"}, "resourceVersion": "99"},
    },
    "a label of its config": {
        **FIT,
        "metadata": {**FIT["metadata"], "labels": {"a": "b"}, "resourceVersion": "99"},
    },
    "an unused config": a_config("unused"),
}


@pytest.mark.parametrize("change", NO_CHANGES)
def test_what_changes_nothing_is_no_swap(change: str) -> None:
    """Nothing is resolved anew or told or stored; nor is it when everything is settled again."""

    async def scenario() -> None:
        world = Running()
        world.engine.plugin_config_changed("fit", FIT)
        async with world.leading(SAME) as world:
            record = world.engine.records.profiles["test"]
            before, resolution, count, stored = (
                live(world),
                record.resolution,
                len(world.events.events),
                dict(world.kube.stored),
            )
            reports = world.engine.swapper.listener = RecordingProfileListener()
            see(world, NO_CHANGES[change])
            await world.clock.advance(1)
            assert reports.reconciled == int(change == "an unused config")
            await world.engine.swapper.reconcile()
            assert record.resolution is resolution
            assert live(world) is before
            assert len(world.events.events) == count
            assert world.kube.stored == stored

    asyncio.run(scenario())


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a misspelt plugin": (
        [a_body("test", generation=9, weights={"NodeResourceFit": 1})],
        'did you mean "NodeResourcesFit"?',
    ),
    "a weight out of range": (
        [a_body("test", generation=9, weights={"NodeResourcesFit": -1})],
        "spec.weights[NodeResourcesFit]: -1",
    ),
    "a wrong type in args": (
        [
            a_body(
                "test",
                generation=9,
                pluginConfig=[{"name": "NodeResourcesFit", "args": {"ignoredResources": 1}}],
            )
        ],
        "spec.pluginConfig[0].args.ignoredResources: 1",
    ),
    "a missing config": (
        [with_ref(generation=9, config="none")],
        "there is no PluginConfig of this name",
    ),
    "a config gone bad": (
        [a_config("fit", generation=9, ignoredResource=[])],
        "this PluginConfig is not valid",
    ),
    "a config for another plugin": (
        [a_config("fit", generation=9, plugin="NodeAffinity")],
        "is for NodeAffinity",
    ),
    "an unknown field": (
        [a_body("test", generation=9, asign={"podSelector": {}})],
        "spec.asign: '{…}': unknown field",
    ),
}


@pytest.mark.parametrize("change", BAD)
def test_a_bad_change_leaves_the_live_revision(change: str) -> None:
    """The very same object goes on deciding; people are told once what is wrong and what decides;
    mending it swaps.
    """
    bodies, text = BAD[change]

    async def scenario() -> None:
        async with Running().leading() as world:
            world.engine.plugin_config_changed("fit", ignoring(1))
            world.engine.profile_changed("test", with_ref(generation=2))
            await world.clock.advance(1)
            before, count, stored = live(world), swapped(world), dict(world.kube.stored)
            for body in bodies:
                see(world, body)
            await world.clock.advance(1)
            await world.engine.swapper.reconcile()
            assert live(world) is before
            assert before is not None
            (note,) = world.notes("Rejected")
            assert text in note
            assert note.endswith(f"; revision {before.id} goes on deciding")
            assert world.kube.stored == stored
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert world.node("a")
            assert world.notes("FailedScheduling") == []
            world.engine.plugin_config_changed("fit", ignoring(10))
            world.engine.profile_changed("test", with_ref(generation=10, preset="Spread"))
            await world.clock.advance(1)
            assert live(world) is not before
            assert swapped(world) == count + 1
            assert len(world.notes("Rejected")) == 1

    asyncio.run(scenario())


def test_each_refusal_is_told_once() -> None:
    """Per generation and text: the same fault in a new generation is new, as is a new fault of the
    same one.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            told = []
            for body in (
                with_ref(generation=2),
                with_ref(generation=2),
                with_ref(generation=3),
                ignoring(1),
                with_ref(generation=4, config="none"),
                a_config("fit", generation=2, plugin="NodeAffinity"),
            ):
                see(world, body)
                await world.clock.advance(1)
                told.append(len(world.notes("Rejected")))
            assert told == [1, 1, 2, 2, 3, 3]
            for generation in (5, 6):  # good, and bad again for the same reason
                see(world, with_ref(generation=5))
                see(world, ignoring(generation))
                await world.clock.advance(1)
                world.engine.plugin_config_changed("fit", None)
                await world.clock.advance(1)
            assert len(world.notes("Rejected")) == 5
            assert world.telemetry.counts["swap", "refused"] == 5

    asyncio.run(scenario())


def test_nothing_is_left_of_a_superseded_revision() -> None:
    """Once it has no bindings in flight, and a pod like those that it decided was decided by
    another.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.put(make_pod("a"))
            await settle()
            old = live(world)
            assert old is not None
            gone = weakref.ref(old)
            del old
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(1)
            world.kube.put(make_pod("b"))
            await settle()
            world.engine.swapper.tick(world.clock.boottime())
            gc.collect()
            assert gone() is None

    asyncio.run(scenario())


# ---- stored revisions ----------------------------------------------------------------------------


def test_a_revision_is_stored_before_it_decides() -> None:
    """While that is going on, and after it failed, the old one decides; it is tried again until it
    is done.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            before = live(world)
            gate = world.kube.hold("create_revision")
            world.kube.fail("create_revision", Retryable("503", outcome_unknown=True))
            world.kube.fail("create_revision", Forbidden("POST", 403))
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(5)
            assert live(world) is before
            gate.set()
            await settle()
            assert live(world) is before
            await world.clock.advance(RETRY_SECONDS + DEBOUNCE)
            assert live(world) is before
            await world.clock.advance(RETRY_SECONDS + DEBOUNCE)
            revision = live(world)
            assert revision is not before
            assert revision is not None
            assert [stored.data["revision"] for stored in world.kube.stored.values()][
                -1
            ] == revision.id

    asyncio.run(scenario())


def test_a_lost_answer_to_storing_delays_the_swap_only() -> None:
    """It is stored already when it is tried again."""

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.fail("create_revision", Retryable("reset", outcome_unknown=True), done=True)
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(2 * DEBOUNCE)
            assert swapped(world) == 1
            await world.clock.advance(RETRY_SECONDS + DEBOUNCE)
            assert swapped(world) == 2
            assert len(world.kube.stored) == 2

    asyncio.run(scenario())


@pytest.mark.parametrize("other", ["a deleted profile's", "spoilt", "gone when it is looked at"])
def test_another_revision_of_that_name_is_not_taken_for_it(other: str) -> None:
    """It makes room for ours; the old one decides until ours is stored."""

    async def scenario() -> None:
        async with Running().leading() as world:
            kube, before = world.kube, live(world)
            (first,) = kube.stored.values()
            world.engine.profile_changed("test", a_body("test", generation=2))
            gate = kube.hold("create_revision")
            await world.clock.advance(1)
            resolution = world.engine.records.profiles["test"].resolution
            assert resolution is not None
            name = first.name.replace(first.data["revision"], resolution.id)
            data = (
                {**first.data, "uid": "old"}
                if other == "a deleted profile's"
                else {"revision": resolution.id}
            )
            kube.stored[name] = StoredRevision(name, "test", 9, data)
            if other == "gone when it is looked at":
                del kube.stored[name]
                kube.fail("create_revision", Conflict("POST", 409))
            gate.set()
            await settle()
            if other == "gone when it is looked at":
                assert live(world) is before
                await world.clock.advance(RETRY_SECONDS + DEBOUNCE)
            assert live(world) is not before
            assert kube.stored[name].data["uid"] == first.data["uid"]
            assert kube.stored[name].data["profile"]["metadata"]["generation"] == 2

    asyncio.run(scenario())


@pytest.mark.parametrize("failing", [False, True], ids=["plain", "deleting fails"])
def test_the_newest_few_are_kept(failing: bool) -> None:
    """In the order in which they decided; a deletion that fails holds up no swap and is made up
    for.
    """
    engine = make_engine(kube := InMemoryKube(), events := FakeEventRecorder())
    last = 9
    for generation in range(1, last + 1):
        if failing and generation == 7:
            kube.fail("delete_revision", Forbidden("DELETE", 403))
        engine.profile_changed("test", edited(generation))
        engine.profile_changed("other", a_body("other"))
        assert asyncio.run(engine.swapper.reconcile())
        assert engine.live["test"].id == engine.records.profiles["test"].active.resolution.id  # type: ignore[union-attr]
    mine = [stored for stored in kube.stored.values() if stored.profile == "test"]
    generations = [stored.data["profile"]["metadata"]["generation"] for stored in mine]
    assert generations == [5, 6, 7, 8, 9]
    assert [stored.number for stored in mine] == generations
    assert len(kube.stored) == 5 + 1
    assert events.reasons("test").count("Activated") == last


def test_a_standby_swaps_without_storing() -> None:
    """And without a word. When it leads it stores what decides, and is heard."""

    async def scenario() -> None:
        async with Running().leading(lead=False) as world:
            world.engine.profile_changed("test", a_body("test", generation=2))
            world.engine.profile_changed("bad", a_body("bad", preset="Best"))
            await world.clock.advance(1)
            before = live(world)
            assert before is not None
            assert world.kube.written == []
            assert world.events.events == []
            world.engine.lead()
            await world.clock.advance(1)
            assert live(world) is before
            assert [stored.data["revision"] for stored in world.kube.stored.values()] == [before.id]
            assert (len(world.notes("Rejected")), swapped(world)) == (1, 0)

    asyncio.run(scenario())


def test_the_last_good_revision_survives_a_restart() -> None:
    """Its PluginConfigs' arguments of then included; the newest good one, and only until the spec
    is good again.
    """

    async def scenario() -> None:
        kube = InMemoryKube()
        async with Running(kube).leading() as world:
            for generation in (1, 2, 3):
                world.engine.plugin_config_changed(
                    "fit", ignoring(generation, f"{GPU}{generation}")
                )
                world.engine.profile_changed("test", with_ref(generation=generation + 1))
                await world.clock.advance(1)
            before = live(world)
        kube.pod_sinks.clear()
        kube.node_sinks.clear()
        second = Running(kube)
        await second.engine.restore()
        async with second.leading(with_ref(generation=5, config="gone")) as world:
            again = live(world)
            assert before is not None
            assert again is not None
            assert again.id == before.id
            assert again.deciders == before.deciders
            assert again.deciders["NodeResourcesFit"].args.ignored_resources == (f"{GPU}3",)  # type: ignore[attr-defined]
            kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert world.node("a")
            world.engine.profile_changed("test", a_body("test", generation=6))
            await world.clock.advance(1)
            assert live(world) is not again

    asyncio.run(scenario())


def test_a_new_leader_goes_on_with_the_numbers_of_the_old_one() -> None:
    """It reads the stored revisions when it takes over, so that the newest is the newest after the
    next restart too.
    """

    async def scenario() -> None:
        kube = InMemoryKube()
        standby = make_engine(kube, FakeEventRecorder())
        standby.live.leading = False
        leader = make_engine(kube, FakeEventRecorder())
        for generation in (1, 2, 3):
            for engine in (leader, standby):
                engine.profile_changed("test", edited(generation))
                await engine.swapper.reconcile()
        await standby.restore()
        standby.lead()
        standby.profile_changed("test", edited(4))
        await standby.swapper.reconcile()
        assert [stored.number for stored in kube.stored.values()] == [1, 2, 3, 4]

    asyncio.run(scenario())


@pytest.mark.parametrize("change", ["deleted", "changed"])
def test_what_changes_while_it_is_stored(change: str) -> None:
    """A profile that is deleted meanwhile does not decide; one that changes ends at its newest
    state.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("create_revision")
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(1)
            world.engine.profile_changed(
                "test", None if change == "deleted" else a_body("test", generation=3)
            )
            gate.set()
            await world.clock.advance(1)
            if change == "deleted":
                assert world.engine.live == {}
            else:
                record = world.engine.records.profiles["test"]
                assert record.resolution is not None
                revision = live(world)
                assert revision is not None
                assert (revision.id, record.generation) == (record.resolution.id, 3)
            world.kube.put(make_pod("a"))
            await world.clock.advance(1)
            assert bool(world.node("a")) == (change == "changed")

    asyncio.run(scenario())


def test_a_swap_that_the_fence_stops_waits() -> None:
    """What may not be stored may not decide."""

    async def scenario() -> None:
        async with Running().leading() as world:
            before = live(world)
            world.kube.fail("create_revision", Fenced("no"), times=3)
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(2)
            assert live(world) is before
            await world.clock.advance(3)
            assert live(world) is not before

    asyncio.run(scenario())
