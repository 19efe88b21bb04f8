"""Whose pods they are: one profile at a time has a schedulerName, and what is another scheduler's
is left alone.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.core.objects.pods import SchedulingGate
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.profile_records import ProfileRecords
from moorage.engine.profiles.activation import RevisionActivator, RevisionNeeds, SwapTargets
from moorage.engine.profiles.desired_status import StatusBuilder
from moorage.engine.profiles.ownership import ProfileOwnership
from moorage.engine.profiles.profile_conditions import StatusInputs
from moorage.engine.profiles.profile_status import WRITE_INTERVAL_SECONDS, ProfileStatusWriter
from moorage.engine.profiles.required_rights import MissingRights
from moorage.engine.profiles.resolving import PluginConfigResults
from moorage.engine.profiles.stored_revisions import StoredRevisions, by_profile
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.engine.profiles.trials import ProfileTrials
from moorage.ports.kube import HOME_LABEL, StoredRevision
from moorage.ports.leadership import Leadership
from moorage.ports.stored_kinds import NAMESPACES
from tests.builders import make_node, make_pod
from tests.engine.worlds import (
    RESOLVER,
    Bench,
    RecordingProfileListener,
    a_body,
    make_engine,
    versioned,
)
from tests.examples import few
from tests.fakes.election import FakeElection
from tests.fakes.held_rooms import ScriptedRooms
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

OURS, THEIRS = "moorage-system/moorage", "elsewhere/moorage"


class World(Bench):
    """A bench whose live revisions a profile swapper keeps, leading; nothing is live in the
    beginning.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.live.clear()
        self.queue.set_profile("test", None, self.clock.boottime())
        self.records, self.reports = ProfileRecords(), RecordingProfileListener()
        config_results = PluginConfigResults(RESOLVER)
        self.live.leading = True
        statuses = StatusBuilder(
            records=self.records,
            config_results=config_results,
            queue=self.queue,
            rooms=ScriptedRooms(),
            under_way=self.under_way,
            inputs=StatusInputs(),
            election=FakeElection(lambda: Leadership("me", "", 0, "")),
            own_lease=OURS,
            clock=self.clock,
        )
        self.reconciler = ProfileStatusWriter(
            self.live, self.records, statuses, self.kube, self.clock
        )
        targets = SwapTargets(self.queue, self.context.evaluator, self.under_way)
        needs = RevisionNeeds(SyncedKinds(()), MissingRights())
        trials = ProfileTrials(
            live=self.live,
            records=self.records,
            stored=StoredRevisions(self.kube, self.kube, RESOLVER),
            activator=RevisionActivator(self.live, targets, needs, self.ports),
            bound=self.context,
            status=self.reconciler,
            ports=self.ports,
        )
        self.swapper = ProfileSwapper(
            live=self.live,
            records=self.records,
            resolver=RESOLVER,
            config_results=config_results,
            stored=trials.stored,
            activator=trials.activator,
            trials=trials,
            ownership=ProfileOwnership(self.kube, OURS, {"elsewhere"}.__contains__),
            listener=self.reports,
            ports=self.ports,
        )
        self.nodes.put(versioned(make_node("n1")))

    def see(self, *bodies: dict[str, Any]) -> None:
        """Profiles are in this state; settle."""
        for body in bodies:
            self.swapper.profile_changed(body["metadata"]["name"], body)
        self.settle()

    def settle(self) -> None:
        """Settle again."""
        asyncio.run(self.swapper.reconcile())

    def write(self) -> None:
        """Write statuses, a while after the last time."""
        self.clock.jump(WRITE_INTERVAL_SECONDS)
        asyncio.run(self.reconciler.write_due())

    def gone(self, name: str) -> None:
        """A profile is deleted; settle."""
        self.swapper.profile_changed(name, None)
        self.settle()

    @property
    def deciding(self) -> dict[str, str]:
        """schedulerName -> the profile whose revision decides; the loop, the queue and the records
        have to agree.
        """
        named = {
            r.active.revision.scheduler_name: r
            for r in self.records.profiles.values()
            if r.active is not None
        }
        assert {
            name: r.active.revision for name, r in named.items() if r.active is not None
        } == self.live
        assert len(named) == sum(r.active is not None for r in self.records.profiles.values())
        return {name: record.name for name, record in named.items()}

    def placed(self, scheduler_name: str) -> bool:
        """Whether a new pod of this name is decided."""
        name = f"p{next(_NUMBERS)}"
        self.pods.put(versioned(make_pod(name, scheduler_name=scheduler_name, cpu="1m")))
        return self.attempt() == name

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Type -> (status, reason) of what is written."""
        self.write()
        written = self.kube.statuses["SchedulerProfile", name]["conditions"]
        return {
            condition["type"]: (condition["status"], condition["reason"]) for condition in written
        }


_NUMBERS = itertools.count()


def claimed(body: dict[str, Any], lease: Any) -> dict[str, Any]:
    """The profile with this in status.claimedBy."""
    return {**body, "status": {"claimedBy": lease}}


def test_an_older_profile_takes_the_name_from_a_younger_one() -> None:
    """Also when it comes later, as two of one second do; whichever of them goes, the other one's
    pods are placed.
    """
    world = World()
    world.see(a_body("zzz", schedulerName="shared"))
    world.see(a_body("aaa", schedulerName="shared"))
    assert world.deciding == {"shared": "aaa"}
    assert world.conditions("zzz") | {
        "Ready": ("False", "NameConflict"),
        "Active": ("False", "Waiting"),
    } == world.conditions("zzz")
    world.gone("zzz")
    assert world.deciding == {"shared": "aaa"}
    assert world.placed("shared")
    world.see(a_body("zzz", schedulerName="shared", created="2026-02-01T00:00:00Z"))
    world.gone("aaa")
    assert world.deciding == {"shared": "zzz"}
    assert world.placed("shared")


def test_leases_of_others_are_read_side_by_side() -> None:
    """Ten claimed profiles wait for one reading, not for ten in turn."""

    class Slow(InMemoryKube):
        reading = most = 0

        async def lease_renewed(self, namespace: str, name: str) -> bool:
            self.reading += 1
            self.most = max(self.most, self.reading)
            renewed = await super().lease_renewed(namespace, name)
            self.reading -= 1
            return renewed

    kube = Slow()
    engine = make_engine(kube, FakeEventRecorder())
    home = Namespace(ObjectMeta("elsewhere", uid="u", labels={HOME_LABEL: "true"}))
    engine.context.cache.store.put(home)
    for i in range(10):
        engine.profile_changed(f"p{i}", claimed(a_body(f"p{i}"), f"elsewhere/{i}"))
    asyncio.run(engine.swapper.reconcile())
    assert kube.most == 10


STEPS = st.tuples(
    st.sampled_from(("change", "change", "delete", "claim", "restart")),
    st.sampled_from("abc"),
    st.sampled_from(("x", "y")),
    st.booleans(),
)


@few(40)
@given(st.lists(STEPS, max_size=15))
def test_any_history_of_profiles_leaves_each_name_to_one(
    steps: list[tuple[str, str, str, bool]],
) -> None:
    """The oldest profile of a name decides, by its spec or its last good one, unless another
    installation serves it.
    """
    world = World()
    there: dict[str, dict[str, Any]] = {}
    good: set[tuple[str, str]] = set()
    for i, (step, name, scheduler_name, flag) in enumerate(steps):
        if step == "change":
            uid = there[name]["metadata"]["uid"] if name in there and flag else f"uid-{i}"
            spec = {"schedulerName": scheduler_name} | ({"preset": "Best"} if i % 3 == 2 else {})
            there[name] = a_body(
                name,
                uid=uid,
                generation=i + 1,
                created=f"2026-01-{1 + i // 4:02}T00:00:00Z",
                **spec,
            )
        elif step == "delete":
            there.pop(name, None)
        elif step == "claim" and name in there:
            there[name] = claimed(there[name], THEIRS if flag else OURS)
        elif step == "restart":
            world = World(kube=world.kube)
            world.swapper.stored.known = by_profile(list(world.kube.stored.values()))
        world.kube.renewed = {THEIRS}
        for gone in set(world.records.profiles) - set(there):
            world.swapper.profile_changed(gone, None)
        world.see(*there.values())
        want: dict[str, str] = {}
        for body in sorted(
            there.values(),
            key=lambda body: (body["metadata"]["creationTimestamp"], body["metadata"]["name"]),
        ):
            served, key = (
                body["spec"]["schedulerName"],
                (body["metadata"]["uid"], body["spec"]["schedulerName"]),
            )
            first = want.setdefault(served, body["metadata"]["name"]) == body["metadata"]["name"]
            mine = body.get("status", {}).get("claimedBy") != THEIRS
            if first and mine and "preset" not in body["spec"]:
                good.add(key)
            if first and not (mine and key in good):
                want[served] = ""
        assert world.deciding == {served: owner for served, owner in want.items() if owner}


@pytest.mark.parametrize("stored", [False, True], ids=["served before", "stored before a restart"])
@pytest.mark.parametrize(
    ("name", "lease", "reason"),
    [
        ("default-scheduler", "kube-system/kube-scheduler", "DefaultSchedulerActive"),
        ("test", THEIRS, "ClaimedByAnother"),
    ],
)
def test_what_somebody_else_serves_is_left_alone(
    name: str, lease: str, reason: str, stored: bool
) -> None:
    """As long as the other one's Lease is renewed: no pod is decided or told anything, whatever was
    served before.
    """
    world = World()
    body = a_body("mine", schedulerName=name)
    if stored:
        resolution = RESOLVER(body, {})
        data = {**resolution.document, "revision": resolution.id, "uid": "uid-mine"}
        world.kube.stored["mine-1"] = StoredRevision("mine-1", "mine", 1, data)
        world.swapper.stored.known = by_profile(list(world.kube.stored.values()))
    else:
        world.see(body)
        assert world.placed(name)
    world.kube.renewed.add(lease)
    world.see(claimed(body, THEIRS) if lease == THEIRS else body)
    assert world.deciding == {}
    assert not world.placed(name)
    assert world.conditions("mine") | {
        "Accepted": ("False", reason),
        "Active": ("False", "Waiting"),
    } == world.conditions("mine")
    assert not [write for write in world.kube.written if write.method == "pod_condition"]
    world.kube.renewed.clear()
    world.settle()
    assert world.deciding == {name: "mine"}


def test_a_claim_of_another_installation_is_not_overwritten() -> None:
    """The status of a profile that another installation serves keeps its word on who serves it."""
    world = World()
    world.kube.renewed.add(THEIRS)
    world.see(claimed(a_body("theirs"), THEIRS))
    world.write()
    assert set(world.kube.statuses["SchedulerProfile", "theirs"]) == {
        "observedGeneration",
        "conditions",
    }
    world.kube.renewed.clear()
    world.settle()
    world.write()
    assert world.kube.statuses["SchedulerProfile", "theirs"]["claimedBy"] == OURS


@pytest.mark.parametrize(
    ("body", "again"),
    [
        pytest.param(a_body("mine"), False, id="ours alone"),
        pytest.param(claimed(a_body("mine"), OURS), False, id="claimed by us"),
        pytest.param(claimed(a_body("mine"), THEIRS), True, id="claimed by others"),
        pytest.param(
            a_body("mine", schedulerName="default-scheduler"), True, id="kube-scheduler's name"
        ),
    ],
)
def test_claims_are_looked_at_again_while_they_may_change(
    body: dict[str, Any], again: bool
) -> None:
    """Somebody else's Lease that is renewed from some moment on, or no longer, is noticed without a
    change of the profile.
    """

    async def reviewed() -> bool:
        world = World()
        world.swapper.profile_changed("mine", body)
        await world.swapper.reconcile()
        world.swapper.listed()
        running = asyncio.create_task(world.swapper.run(0.2))
        await world.clock.advance(5)
        before = world.reports.reconciled
        world.swapper.recheck_ownership()
        await world.clock.advance(5)
        running.cancel()
        return world.reports.reconciled > before

    assert asyncio.run(reviewed()) is again


@pytest.mark.parametrize(
    ("lease", "labels", "serving", "believed"),
    [
        pytest.param(
            THEIRS, {HOME_LABEL: "true"}, True, True, id="an installation that says so itself"
        ),
        pytest.param(
            THEIRS,
            {HOME_LABEL: "true"},
            False,
            False,
            id="an installation that serves another profile",
        ),
        pytest.param(THEIRS, {}, True, False, id="in a tenant's namespace"),
        pytest.param("nowhere/moorage", {}, True, False, id="in a namespace that nobody has seen"),
        pytest.param("kube-system/moorage", {}, True, True, id="in kube-system"),
        pytest.param("moorage-system/other", {}, True, True, id="in our own namespace"),
    ],
)
def test_only_leases_of_installations_are_believed(
    lease: str, labels: dict[str, str], serving: bool, believed: bool
) -> None:
    """Whoever may write a status names any Lease there; a tenant's is none of an installation,
    however it is renewed.
    """

    class Named(InMemoryKube):
        async def serves(self, namespace: str, lease: str, profile: str) -> bool:
            return serving and profile == "mine"

    kube = Named()
    kube.renewed.add(lease)
    engine = make_engine(kube, FakeEventRecorder())
    engine.stored_object_sinks[NAMESPACES].put(
        Namespace(ObjectMeta("elsewhere", uid="u", resource_version="1", labels=labels))
    )
    engine.profile_changed("mine", claimed(a_body("mine"), lease))
    asyncio.run(engine.swapper.reconcile())
    assert ("mine" not in engine.live) == believed


def test_a_claim_that_comes_is_noticed_at_once() -> None:
    """Two installations that found an unclaimed profile agree as soon as the status of one of them
    is there.
    """
    world = World()
    world.see(a_body("mine"))
    world.kube.renewed.add(THEIRS)
    world.see(claimed(a_body("mine"), THEIRS))
    assert world.deciding == {}


def test_pods_of_a_deleted_profile_are_told_once() -> None:
    """Unless another profile has the name, or they never were its pods."""
    world = World()
    world.kube.renewed.add("kube-system/kube-scheduler")
    world.see(
        a_body("one"),
        a_body("two", schedulerName="one"),
        a_body("other", schedulerName="default-scheduler"),
    )
    world.gone("other")
    world.gone("one")
    assert world.reports.orphans == []
    world.gone("two")
    world.settle()
    assert world.reports.orphans == [("one", "two")]


def test_a_profile_made_anew_with_another_name_gives_the_old_one_up() -> None:
    """A deletion and a creation may arrive as one change."""
    world = World()
    world.see(a_body("mine", uid="1", schedulerName="old"))
    world.see(a_body("mine", uid="2", schedulerName="new"))
    assert world.deciding == {"new": "mine"}
    assert world.reports.orphans == [("old", "mine")]
    assert not world.placed("old")


@pytest.mark.parametrize(
    ("scheduler_name", "gates", "told"),
    [
        pytest.param("bad", (), ["has never been valid", "was deleted"], id="never good"),
        pytest.param("bad", (SchedulingGate("wait"),), [], id="gated: the API server says so"),
        pytest.param("default-scheduler", (), [], id="kube-scheduler's"),
        pytest.param("unknown", (), [], id="nobody's that we know of"),
    ],
)
def test_waiting_pods_are_told_what_is_wrong_with_their_profile(
    scheduler_name: str, gates: tuple[SchedulingGate, ...], told: list[str]
) -> None:
    """Of their own profile only, and only where that is what they lack."""
    kube, events = InMemoryKube(), FakeEventRecorder()
    kube.renewed.add("kube-system/kube-scheduler")
    engine = make_engine(kube, events)
    profiles = [
        a_body("bad", preset="Best"),
        a_body("taken", schedulerName="default-scheduler", preset="Best"),
    ]
    for body in profiles:
        engine.profile_changed(body["metadata"]["name"], body)
    asyncio.run(engine.swapper.reconcile())
    engine.pod_sink.put(
        versioned(make_pod("waiting", scheduler_name=scheduler_name, scheduling_gates=gates))
    )
    for body in profiles:
        engine.profile_changed(body["metadata"]["name"], None)
    asyncio.run(engine.swapper.reconcile())
    engine.unmatched_pods.tick()
    notes = [event.note for event in events.events if event.regarding.kind == "Pod"]
    assert len(notes) == len(told)
    assert all(text in note for text, note in zip(told, notes, strict=True))
