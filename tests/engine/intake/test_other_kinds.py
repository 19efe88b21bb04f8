"""Objects that are neither pods nor nodes: kept for decisions, and waited for by those profiles
alone that decide by them.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import ClassVar

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import PreFilterResult
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.status import SKIP
from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject
from moorage.core.objects.pod_groups import CoschedulingPodGroup
from moorage.core.objects.pods import Affinity, Pod
from moorage.core.objects.workloads import PodDisruptionBudget, Service, ServiceSpec
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.intake.object_sink import IntakeTargets
from moorage.engine.intake.stored_object_sink import StoredObjectSink
from moorage.ports.access_rights import AccessRight
from moorage.ports.kube import UnreadableObject
from moorage.ports.stored_kinds import POD_GROUPS, STORED_KINDS, StoredKind
from tests.builders import make_node, make_pod
from tests.core.plugins.companions import HOST, namespace, near, pod, term
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.worlds import a_body, make_engine, versioned
from tests.fakes.kube import InMemoryKube
from tests.fakes.listeners import Unheard
from tests.fakes.sinks import FakeEventRecorder


class Alarm:
    """In a scheduling queue's place: keeps the events."""

    def __init__(self) -> None:
        self.rung: list[ClusterEvent] = []

    def move_on_event(self, event: ClusterEvent, now: float) -> None:
        """Kept."""
        self.rung.append(event)


def service(name: str = "web", version: int = 1, uid: str = "u1", **selector: str) -> Service:
    """A service in a state of its own."""
    return Service(
        ObjectMeta(name=name, namespace="d", uid=uid, resource_version=str(version)),
        ServiceSpec(selector=selector),
    )


def intake(event: EventResource | None = None) -> tuple[StoredObjectSink, Cache, Alarm]:
    """A sink of services and what it writes to."""
    cache, alarm = Cache(), Alarm()
    kind = StoredKind(Service, "services", "v1", event)
    targets = IntakeTargets(cache, alarm, lambda: 0.0)  # type: ignore[arg-type]
    sink = StoredObjectSink(kind, targets, Unheard())
    return sink, cache, alarm


def test_the_store_follows_the_watch() -> None:
    """Objects come, change and go; each step moves the kind's clock, and no other's."""
    sink, cache, _ = intake()
    clock, other = (
        cache.store.version_counter(Service),
        cache.store.version_counter(PodDisruptionBudget),
    )
    versions = [clock.version]
    for put in (service(app="a"), service(version=2, app="b")):
        sink.put(put)
        versions.append(clock.version)
    sink.delete(service(version=3))
    versions.append(clock.version)
    assert sorted(set(versions)) == versions
    assert (dict(cache.store.objects(Service)), other.version) == ({}, 0)
    sink.put(service(version=4, app="c"))
    assert cache.store.objects(Service)["d/web"].spec.selector == {"app": "c"}


def test_an_object_made_anew_survives_the_end_of_the_old_one() -> None:
    """A relist shows another object of the same name: what is missing from the list is the old
    one.
    """
    sink, cache, _ = intake()
    sink.put(service(app="old"))
    sink.list_started()
    sink.put(service(version=9, uid="u2", app="new"))
    sink.list_ended()
    assert cache.store.objects(Service)["d/web"].metadata.uid == "u2"
    sink.list_started()
    sink.list_ended()
    assert not cache.store.objects(Service)


def test_changes_ring_where_the_kind_has_an_event() -> None:
    """Come, changed, gone; a kind without an event wakes nobody."""
    for event in (EventResource.STORAGE_CLASS, None):
        sink, _, alarm = intake(event)
        sink.put(service())
        sink.put(service(version=2))
        sink.delete(service(version=3))
        rung = [(one.resource, one.action, one.old is None, one.new is None) for one in alarm.rung]
        assert rung == (
            [
                (event, ActionType.ADD, True, False),
                (event, ActionType.UPDATE, False, False),
                (event, ActionType.DELETE, False, True),
            ]
            if event
            else []
        )


def test_an_unreadable_object_keeps_its_last_state() -> None:
    """Until it goes."""
    sink, cache, _ = intake()
    sink.put(service(app="a"))
    broken = UnreadableObject(
        PartialObject(service(version=2).metadata), "", "spec: expected `object`"
    )
    sink.unreadable(broken, deleted=False)
    assert cache.store.objects(Service)["d/web"].spec.selector == {"app": "a"}
    sink.unreadable(broken, deleted=True)
    assert not cache.store.objects(Service)


# ---- who waits for a list ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Reader:
    """Decides by services."""

    name: ClassVar[str] = "Reader"
    events_to_register: ClassVar[tuple[()]] = ()
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({Service})

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """No say."""
        return PreFilterResult(SKIP)


SERVICES = next(kind for kind in STORED_KINDS if kind.struct is Service)


@pytest.mark.parametrize("reads", [True, False], ids=["reads them", "does not"])
def test_only_profiles_that_read_a_kind_wait_for_it(reads: bool) -> None:
    """One says which list it waits for, and goes live when that is in; another one is live at
    once.
    """
    engine = make_engine(
        InMemoryKube(),
        FakeEventRecorder(),
        None,
        PluginSpec("Reader", Reader),
        unlisted=[SERVICES],
    )
    sink = engine.stored_object_sinks[SERVICES]
    plugins = {
        "multiPoint": {
            "enabled": [{"name": "Reader"}] if reads else [],
            "disabled": [{"name": "*"}],
        }
    }
    plugins["queueSort"] = {"enabled": [{"name": "PrioritySort"}]}
    plugins["bind"] = {"enabled": [{"name": "DefaultBinder"}]}
    engine.profile_changed("p", a_body("p", plugins=plugins))
    asyncio.run(engine.swapper.reconcile())
    record = engine.records.profiles["p"]
    assert (record.active is None, record.waiting_reason) == (
        reads,
        "services are not up to date yet" if reads else "",
    )
    sink.list_started()
    sink.list_ended()
    asyncio.run(engine.swapper.reconcile())
    assert record.active is not None
    assert record.waiting_reason == ""


@dataclasses.dataclass(frozen=True)
class GroupReader(Reader):
    """Decides by pod groups, for whose list pods wait too."""

    name: ClassVar[str] = "GroupReader"
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset({CoschedulingPodGroup})


@pytest.mark.parametrize(
    ("reader", "kind"),
    [(Reader, SERVICES), (GroupReader, POD_GROUPS[1])],
    ids=["services", "pod groups"],
)
def test_a_profile_goes_live_when_the_list_is_in(reader: type[Reader], kind: StoredKind) -> None:
    """By itself."""

    async def scenario() -> None:
        running = Running(specs=(PluginSpec(reader.name, reader),))
        running.kube.other_sinks[kind.struct].clear()
        async with running.leading() as world:
            sink = world.engine.stored_object_sinks[kind]
            world.engine.profile_changed(
                "p", a_body("p", plugins={"multiPoint": {"enabled": [{"name": reader.name}]}})
            )
            await world.clock.advance(3)
            assert "p" not in world.engine.live
            sink.list_started()
            sink.list_ended()
            await world.clock.advance(3)
            assert "p" in world.engine.live

    asyncio.run(scenario())


def test_a_profile_is_suspended_although_its_new_revision_waits() -> None:
    """The old revision places no more pods from then on."""
    engine = make_engine(InMemoryKube(), FakeEventRecorder(), None, PluginSpec("Reader", Reader))
    engine.profile_changed("p", a_body("p"))
    asyncio.run(engine.swapper.reconcile())
    engine.synced.lead([SERVICES.name])
    waiting = {"multiPoint": {"enabled": [{"name": "Reader"}]}}
    engine.profile_changed("p", a_body("p", generation=2, suspend=True, plugins=waiting))
    asyncio.run(engine.swapper.reconcile())
    engine.pod_sink.put(versioned(make_pod("x", scheduler_name="p")))
    entry = engine.queue.get("uid-x")
    assert entry is not None
    assert entry.state is QueueState.UNSERVED


def test_a_right_that_only_some_profiles_need_is_missing_for_those_alone() -> None:
    """Permitted names verb and resource, on the profile that reads the kind."""
    engine = make_engine(InMemoryKube(), FakeEventRecorder(), None, PluginSpec("Reader", Reader))
    engine.profile_changed(
        "p", a_body("p", plugins={"multiPoint": {"enabled": [{"name": "Reader"}]}})
    )
    engine.profile_changed(
        "q",
        a_body(
            "q",
            preset="NoScoring",
            plugins={"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}},
        ),
    )
    asyncio.run(engine.swapper.reconcile())
    engine.status_inputs.rights.replace([AccessRight("list", "", "services")])
    asyncio.run(engine.profile_status.write_due())
    kube: InMemoryKube = engine.profile_status._writes  # type: ignore[assignment]
    said = {
        name: next(
            c
            for c in kube.statuses["SchedulerProfile", name]["conditions"]
            if c["type"] == "Permitted"
        )
        for name in ("p", "q")
    }
    assert [said[name]["message"] for name in ("p", "q")] == ["list services", ""]


# ---- whom they wake ------------------------------------------------------------------------------


def test_a_label_of_a_namespace_wakes() -> None:
    """A pod that wants to be beside pods of certain namespaces waits, until the namespace of one
    that is there gets the label.
    """

    async def scenario() -> None:
        async with Running().leading(a_body("test")) as world:
            world.kube.put(make_node("n9", labels={HOST: "n9"}))
            world.kube.put(namespace("other"))
            world.kube.put(pod("db", {"app": "db"}, "n9", "other"))
            wants = msgspec.convert(near(term(HOST, teams="a", app="db")), Affinity)
            world.kube.put(make_pod("p", affinity=wants))
            await world.clock.advance(20)
            entry = world.engine.queue.get("uid-p")
            assert entry is not None
            assert (entry.state, entry.attempts) == (QueueState.UNSCHEDULABLE, 1)
            world.kube.put(namespace("other", team="a"))
            await world.clock.advance(TRIED_AGAIN)
            assert world.node("p") == "n9"

    asyncio.run(scenario())


@pytest.mark.parametrize("when", ["for a while", "while suspended", "a bad spec"])
def test_only_profiles_that_read_a_late_kind_wait_for_it(when: str) -> None:
    """A new leader whose watch of claims lags decides nothing by them, however long that lasts, and
    says so; others go on.
    """

    async def story() -> None:
        few = {
            "queueSort": {"enabled": [{"name": "PrioritySort"}]},
            "bind": {"enabled": [{"name": "DefaultBinder"}]},
        }
        bare = a_body("bare", plugins={"multiPoint": {"disabled": [{"name": "*"}]}, **few})
        async with Running().leading(a_body("test"), bare, lead=False) as world:
            engine = world.engine
            engine.lead(["resourceclaims", "failedpods"])
            for name in ("test", "bare"):
                world.kube.put(make_pod(name, scheduler_name=name))
            await world.clock.advance(30)
            assert (world.node("test"), bool(world.node("bare"))) == ("", True)
            active = next(
                c
                for c in world.kube.statuses["SchedulerProfile", "test"]["conditions"]
                if c["type"] == "Active"
            )
            assert (active["status"], active["reason"]) == ("False", "Waiting")
            assert active["message"].endswith("waits: resourceclaims are not up to date yet")
            if when != "for a while":
                spec = (
                    {"suspend": True}
                    if when == "while suspended"
                    else {
                        "schedulerName": "test",
                        "plugins": {"score": {"enabled": [{"name": "x"}]}},
                    }
                )
                engine.profile_changed("test", a_body("test", generation=2, **spec))
                await world.clock.advance(10)
                assert world.node("test") == ""
            engine.caught_up("resourceclaims")
            await world.clock.advance(10)
            assert bool(world.node("test")) is (when != "while suspended")
            active = next(
                c
                for c in world.kube.statuses["SchedulerProfile", "test"]["conditions"]
                if c["type"] == "Active"
            )
            assert (
                active["reason"]
                == {
                    "for a while": "Deciding",
                    "while suspended": "Suspended",
                    "a bad spec": "LastGood",
                }[when]
            )

    asyncio.run(story())
