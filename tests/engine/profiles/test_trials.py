"""Trials: a revision decides only once it was compared with the one that does; whatever it does
costs the trial, and what its leader knew outlives it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.framework.guard import guarded
from moorage.core.framework.registry import PluginSpec
from moorage.core.objects.pods import Container, Pod, PodAnnotations, ResourceRequirements
from moorage.core.trials.plans import Verdict
from moorage.core.trials.shares import in_share
from moorage.core.trials.trial import ProfileTrial, read_trial, trial_document
from moorage.engine.scheduling import running_trial
from moorage.ports.errors import Retryable
from tests.builders import make_node, make_pod
from tests.engine import worlds
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.test_out_of_tree import WITH, Mood, in_a_loop, moody, zeros
from tests.engine.worlds import a_body
from tests.fakes.clocks import ManualClock
from tests.fakes.guards import RecordingGuard
from tests.fakes.kube import InMemoryKube
from tests.twins import Twin

GPU = "example.com/gpu"
FIT = "NodeResourcesFit"
BLIND: dict[str, Any] = {"pluginConfig": [{"name": FIT, "args": {"ignoredResources": [GPU]}}]}
"""Places pods that want GPUs, though no node has any."""
OTHER: dict[str, Any] = {"weights": {FIT: 3}}
"""Decides as the Default preset does, where all nodes are empty."""
SHADOW = {"strategy": "Shadow", "shadow": {"pods": 5}}
CANARY = {"strategy": "Canary", "canary": {"percent": 100, "pods": 5}}
EVERY_POD: dict[str, dict[str, Any]] = {
    "Canary": {"strategy": "Canary", "canary": {"percent": 100}},
    "Shadow": {"strategy": "Shadow"},
}


def body(generation: int, rollout: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The profile ``test``."""
    return a_body("test", generation=generation, rollout=rollout or {}, **spec)


def wanting(name: str, gpus: int = 1) -> Pod:
    """A pod that wants GPUs."""
    resources = ResourceRequirements(requests={GPU: str(gpus)})
    return make_pod(name, containers=(Container(name="c", resources=resources),))


def followed(kube: InMemoryKube | None = None, **parts: Any) -> Running:
    """A running engine with a twin, which sees what is bound and nothing else."""
    twin = Twin()
    world = Running(kube or InMemoryKube(), journal=twin, **parts)
    worlds.TWINS.append((twin, world.engine.context))
    return world


def successor(kube: InMemoryKube) -> Running:
    """Another process, after the leader's end."""
    kube.pod_sinks.clear()
    kube.node_sinks.clear()
    kube.other_sinks.clear()
    return Running(kube)


async def edit(world: Running, edited: dict[str, Any]) -> None:
    """The profile is changed, and that is reconciled."""
    world.engine.profile_changed("test", edited)
    await world.clock.advance(2)


async def create(world: Running, *pods: Pod) -> None:
    """Pods come, and are decided about."""
    for pod in pods:
        world.kube.put(pod)
    await world.clock.advance(0.5)


def trial(world: Running) -> ProfileTrial:
    """What the record says of it."""
    found = world.engine.records.profiles["test"].trial
    assert found is not None
    return found


def status(world: Running) -> dict[str, Any]:
    """As it was last written."""
    return world.kube.statuses["SchedulerProfile", "test"]


def reasons(world: Running) -> dict[str, tuple[str, str]]:
    """Status and reason by type of condition."""
    return {one["type"]: (one["status"], one["reason"]) for one in status(world)["conditions"]}


def plain(count: int, name: str = "p") -> list[Pod]:
    """Pods that fit everywhere."""
    return [make_pod(f"{name}{i}") for i in range(count)]


# ---- the two ends --------------------------------------------------------------------------------


@pytest.mark.parametrize("rollout", [CANARY, SHADOW], ids=["canary", "shadow"])
@in_a_loop
async def test_one_that_is_no_worse_takes_over(rollout: dict[str, Any]) -> None:
    """The status says so at each moment; both decide about each pod, and one of them binds it."""
    async with followed().leading(body(1)) as world:
        old = world.engine.live["test"]
        await edit(world, body(2, rollout, **OTHER))
        assert world.engine.live["test"] is old
        assert reasons(world) == {
            "Accepted": ("True", "Valid"),
            "ResolvedRefs": ("True", "Resolved"),
            "Permitted": ("True", "Permitted"),
            "Active": ("False", "Trial"),
            "Ready": ("Unknown", "Trial"),
            "Progressing": ("True", "Trial"),
        }
        assert status(world)["activeRevision"] == old.id
        assert status(world)["trial"]["revision"] == status(world)["desiredRevision"] != old.id
        await create(world, *plain(4))
        await world.clock.advance(6)
        await world.engine.profile_status.write_due()
        assert status(world)["trial"]["decided"] == status(world)["trial"]["agreed"] == 4
        assert status(world)["trial"]["verdict"] == "SoFarNoWorse"
        await create(world, make_pod("last"))
        await world.clock.advance(2)
        assert world.engine.live["test"].id == trial(world).revision
        assert reasons(world)["Progressing"] == ("False", "TrialPassed")
        assert reasons(world)["Ready"] == ("True", "Ready")
        assert status(world)["activeRevision"] == status(world)["trial"]["revision"]
        assert status(world)["trial"]["verdict"] == "Passed"
        assert len(world.kube.bindings) == 5
        assert (len(world.notes("TrialStarted")), len(world.notes("TrialPassed"))) == (1, 1)
        assert world.telemetry.counts["trial", "same"] == 5
        assert not world.engine.live.trials


@in_a_loop
async def test_pods_that_would_go_elsewhere_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last ones, with both nodes; the next leader knows of them, too."""
    monkeypatch.setattr(running_trial, "MAX_MOVED", 2)
    async with followed().leading(body(1, preset="BinPack")) as world:
        await edit(world, body(2, {**SHADOW, "shadow": {"pods": 90}}, preset="Spread"))
        for pod in plain(6):
            await create(world, pod)
        await world.clock.advance(6)
        await world.engine.profile_status.write_due()
        found = status(world)["trial"]
        other = found["decided"] - found["agreed"]
        assert other >= 3
        assert len(found["elsewhere"]) == 2
        for one in found["elsewhere"]:
            assert one["node"] == world.node(one["pod"].partition("/")[2]) != one["triedNode"]
        assert read_trial(trial_document(trial(world))) == trial(world)


@pytest.mark.parametrize("rollout", [CANARY, SHADOW], ids=["canary", "shadow"])
@in_a_loop
async def test_one_that_is_worse_is_rolled_back(rollout: dict[str, Any]) -> None:
    """At once, by more regressions than are allowed; it is not tried again before the spec
    changes, and pods that only it refused are bound.
    """
    async with followed().leading(body(1, **BLIND)) as world:
        old = world.engine.live["test"]
        await edit(world, body(2, {**rollout, "maxRegressions": 1}))
        await create(world, wanting("g1"))
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        assert bool(world.node("g1")) is (rollout is SHADOW)
        await create(world, wanting("g2"))
        assert trial(world).verdict is Verdict.REGRESSED
        await world.clock.advance(1)
        assert world.engine.live["test"] is old
        assert not world.engine.live.trials
        assert reasons(world)["Active"] == ("False", "RolledBack")
        assert reasons(world)["Ready"] == ("Unknown", "RolledBack")
        assert reasons(world)["Progressing"] == ("False", "TrialFailed")
        assert status(world)["trial"]["regressions"] == 2
        first = status(world)["trial"]["regressed"][0]
        assert (first["pod"], first["node"]) == ("default/g1", first["node"])
        assert f"Insufficient {GPU}" in first["message"]
        await world.clock.advance(3 * TRIED_AGAIN)
        assert all(world.node(name) for name in ("g1", "g2"))
        world.engine.swapper.listed()
        await create(world, *plain(9))
        assert (trial(world).counts.decided, len(world.notes("RolledBack"))) == (2, 1)
        await edit(world, body(3, {**rollout, "maxRegressions": 1}))
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        assert len(world.notes("TrialStarted")) == 2


@in_a_loop
async def test_what_is_proved_rolls_back_too() -> None:
    """Without any count: eight pods that only the former one places, and none the other way."""
    rollout = {"strategy": "Shadow", "shadow": {"pods": 400}}
    async with followed().leading(body(1, **BLIND)) as world:
        await edit(world, body(2, rollout))
        await create(world, *(wanting(f"g{i}") for i in range(7)))
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        await create(world, *(wanting(f"h{i}") for i in range(4)))
        assert trial(world).verdict is Verdict.REGRESSED
        assert trial(world).counts.regressions == 8


@in_a_loop
async def test_without_pods_it_ends() -> None:
    """Counted from the last pair; not while the profile is suspended."""
    rollout = {**CANARY, "progressDeadlineSeconds": 60}
    async with followed().leading(body(1)) as world:
        await edit(world, body(2, rollout, **OTHER))
        await world.clock.advance(50)
        await create(world, make_pod("a"))
        await world.clock.advance(50)
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        await edit(world, body(3, rollout, suspend=True, **OTHER))
        await world.clock.advance(300)
        assert reasons(world)["Active"] == ("False", "Suspended")
        await edit(world, body(4, rollout, **OTHER))
        assert trial(world).counts.decided == 1
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        await world.clock.advance(62)
        assert trial(world).verdict is Verdict.TOO_FEW_PODS
        assert reasons(world)["Active"] == ("False", "RolledBack")
        assert reasons(world)["Progressing"] == ("False", "Deadline")


# ---- what ends it from outside -------------------------------------------------------------------


@in_a_loop
async def test_an_edit_begins_another_one() -> None:
    """Of another revision, or by other rules; of a bad spec, of the former one and without a
    rollout there is none.
    """
    async with followed().leading(body(1)) as world:
        old = world.engine.live["test"]
        await edit(world, body(2, CANARY, **OTHER))
        await create(world, make_pod("a"))
        first = trial(world)
        await edit(world, body(3, CANARY, weights={FIT: 4}))
        assert (trial(world) is first, trial(world).counts.decided) == (False, 0)
        second = trial(world)
        await edit(world, body(4, SHADOW, weights={FIT: 4}))
        assert (trial(world).revision, trial(world) is second) == (second.revision, False)
        await edit(world, body(5, SHADOW, weights={"Missspelt": 4}))
        assert reasons(world)["Active"] == ("False", "LastGood")
        assert "Progressing" not in reasons(world)
        assert world.engine.live == {"test": old}
        await edit(world, body(6, SHADOW, weights={FIT: 4}))
        await edit(world, body(7, SHADOW))
        assert reasons(world)["Active"] == ("True", "Deciding")
        assert (status(world).get("trial"), world.engine.live.trials) == (None, {})
        await edit(world, body(8, SHADOW, weights={FIT: 4}))
        await edit(world, body(9, weights={FIT: 4}))
        assert world.engine.live["test"] is not old
        assert world.engine.live.trials == {}


@in_a_loop
async def test_it_can_be_stopped() -> None:
    """By its revision's name; another one's is tried."""
    async with followed().leading(body(1)) as world:
        old = world.engine.live["test"]
        await edit(world, body(2, CANARY, **OTHER))
        await create(world, make_pod("a"))
        stopped = {**CANARY, "stopped": trial(world).revision}
        await edit(world, body(3, stopped, **OTHER))
        assert trial(world).verdict is Verdict.STOPPED
        assert world.engine.live["test"] is old
        assert reasons(world)["Active"] == ("False", "RolledBack")
        await edit(world, body(4, stopped, weights={FIT: 4}))
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE


@in_a_loop
async def test_a_profile_that_goes_takes_its_trial_along() -> None:
    """Nothing is decided by it any more."""
    async with followed().leading(body(1)) as world:
        await edit(world, body(2, CANARY, **OTHER))
        world.engine.profile_changed("test", None)
        await create(world, make_pod("a"))
        await world.clock.advance(5)
        assert (world.engine.live, world.engine.live.trials) == ({}, {})
        assert not world.node("a")


@in_a_loop
async def test_the_first_revision_and_a_former_one_are_not_tried() -> None:
    """There is nothing to compare with; whoever goes back does not want to wait."""
    async with followed().leading(body(1, CANARY)) as world:
        old = world.engine.live["test"]
        await edit(world, body(2, **OTHER))
        await edit(world, body(3, CANARY))
        assert world.engine.live["test"].id == old.id
        assert world.engine.records.profiles["test"].trial is None


# ---- who is compared -----------------------------------------------------------------------------


@in_a_loop
async def test_a_canary_decides_about_its_share() -> None:
    """By hash: of the others the former revision decides alone."""
    rollout = {"strategy": "Canary", "canary": {"percent": 30, "pods": 400}}
    async with followed().leading(body(1)) as world:
        await edit(world, body(2, rollout, pluginConfig=[AFFINE]))
        name, pods = trial(world).revision, plain(60)
        await create(world, *pods)
        share = {pod.metadata.name for pod in pods if in_share(pod.metadata.uid, name, 30)}
        assert 8 < len(share) < 30
        # the new one refuses all nodes, and would be rolled back after eight
        assert trial(world).verdict is Verdict.REGRESSED
        waiting = {pod.metadata.name for pod in pods if not world.node(pod.metadata.name)}
        assert {one.pod.removeprefix("default/") for one in trial(world).regressed} <= share
        assert waiting <= share
        assert trial(world).counts.regressions == 8
        await world.clock.advance(20)
        assert len(world.kube.bindings) == 60


AFFINE = {
    "name": "NodeAffinity",
    "args": {
        "addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]
            }
        }
    },
}


def in_group(pod: Pod) -> Pod:
    """A member of a group that needs two."""
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    annotations = PodAnnotations(min_member="2")
    meta = msgspec.structs.replace(pod.metadata, labels=labels, annotations=annotations)
    return msgspec.structs.replace(pod, metadata=meta)


@pytest.mark.parametrize("rollout", EVERY_POD.values(), ids=EVERY_POD)
@in_a_loop
async def test_a_group_is_on_one_side(rollout: dict[str, Any]) -> None:
    """The live revision decides about all members, also about one that follows the others alone,
    which the tried one would place; there is no pair.
    """
    async with followed().leading(body(1)) as world:
        await edit(world, body(2, rollout, **BLIND))
        await create(world, *map(in_group, plain(2)))
        await create(world, in_group(wanting("late")))
        await world.clock.advance(2)
        assert set(world.kube.bindings) == {"p0", "p1"}
        assert trial(world).counts.decided == 0
        await create(world, wanting("alone"))
        assert trial(world).counts.decided == 1


@in_a_loop
async def test_each_pod_counts_once() -> None:
    """However often it is tried again; one that both refuse, too."""
    async with followed().leading(body(1)) as world:
        await edit(world, body(2, SHADOW, **OTHER))
        await create(world, make_pod("big", cpu="100"))
        for i in range(6):
            world.kube.put(make_node(f"m{i}"))
            await world.clock.advance(20)
        assert trial(world).counts.neither == trial(world).counts.decided == 1


@in_a_loop
async def test_a_pod_that_waits_for_the_new_one_is_woken_by_what_it_wants() -> None:
    """Of a plugin's refusal that the former revision knows nothing of."""
    off = {"plugins": {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}}
    rollout = {"strategy": "Canary", "canary": {"percent": 100, "pods": 400}}
    async with followed().leading(body(1, **off)) as world:
        await edit(world, body(2, rollout, pluginConfig=[AFFINE]))
        await create(world, make_pod("a"))
        assert not world.node("a")
        world.kube.put(make_node("new", labels={"x": ""}))
        await world.clock.advance(15)
        assert world.node("a") == "new"


@in_a_loop
async def test_the_unbound_side_evicts_nobody() -> None:
    """It says that there is no node, and that is all."""
    for strategy in ("Canary", "Shadow"):
        rollout = EVERY_POD[strategy]
        async with followed().leading(body(1), nodes=1) as world:
            await create(world, make_pod("low", cpu="3", priority=1))
            await edit(world, body(2, rollout, **OTHER))
            await create(world, make_pod("high", cpu="3", priority=9))
            await world.clock.advance(2)
            deleted = [one for one in world.kube.written if one.method == "delete_pod"]
            assert len(deleted) == 1
            assert trial(world).counts.neither == 1


@pytest.mark.parametrize("strategy", ["Canary", "Shadow"])
@in_a_loop
async def test_extenders_are_asked_once(strategy: str) -> None:
    """Pods that they have a say about are decided by the former revision alone."""
    extender = {
        "urlPrefix": "https://extender.example:443/x",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "tlsConfig": {"insecure": True},
    }
    config = OperatorConfiguration.model_validate(
        {"extenders": {"allowedHosts": ["extender.example"]}}
    )
    asks: dict[str, Any] = {"extenders": [extender]}
    for former, new in (({}, asks), (asks, {**asks, **OTHER})):
        async with followed(config=config).leading(body(1, **former)) as world:
            rollout = EVERY_POD[strategy]
            await edit(world, body(2, rollout, **new))
            assert not trial(world).final
            await create(world, make_pod("a"))
            assert len(world.extenders.calls) == len(former)
            assert trial(world).counts.decided == 0


# ---- faults and time -----------------------------------------------------------------------------


@in_a_loop
async def test_a_fault_of_the_unbound_side_costs_no_pod() -> None:
    """It is a refusal of that side's."""
    mood, guard = Mood(), RecordingGuard()
    strange = guarded(moody("filter", zeros, mood), guard)
    world = followed(specs=(PluginSpec("Strange", strange, guard=guard),))
    async with world.leading(body(1)):
        await edit(world, body(2, {**SHADOW, "maxRegressions": 0}, plugins=WITH))
        await create(world, make_pod("a"))
        assert world.node("a")
        assert trial(world).verdict is Verdict.REGRESSED
        assert "unwell" in trial(world).regressed[0].message
        await create(world, *plain(3))
        assert len(world.kube.bindings) == 4
        assert world.notes("FailedScheduling") == []


@in_a_loop
async def test_a_slow_new_revision_costs_no_pod() -> None:
    """It may take as long as the live one does, and a second; without pairs its trial ends."""
    clock, mood, guard = ManualClock(), Mood(), RecordingGuard()
    mood.bad = False

    def slow(*asked: Any) -> Any:
        clock.jump(0.3)
        return zeros(*asked)

    strange = guarded(moody("filter", slow, mood), guard)
    world = followed(specs=(PluginSpec("Strange", strange, guard=guard),), clock=clock)
    rollout = {"strategy": "Shadow", "progressDeadlineSeconds": 60}
    async with world.leading(body(1)):
        await edit(world, body(2, rollout, plugins=WITH))
        for i in range(30):
            await create(world, make_pod(f"p{i}", cpu=f"{10 + i}m"))
        assert len(world.kube.bindings) == 30
        assert trial(world).counts.decided <= 5
        assert guard.entered.count("filter") <= 5
        await world.clock.advance(70)
        assert trial(world).verdict is Verdict.TOO_FEW_PODS


# ---- leaders come and go -------------------------------------------------------------------------


@in_a_loop
async def test_it_goes_on_under_the_next_leader() -> None:
    """From the counts that were saved; regressed pods are not counted again. The former revision
    goes on deciding, in a process that has never seen it.
    """
    kube = InMemoryKube()
    edited = body(2, {**CANARY, "maxRegressions": 2}, pluginConfig=[AFFINE])
    async with followed(kube).leading(body(1)) as world:
        old = world.engine.live["test"]
        await edit(world, edited)
        await create(world, make_pod("a"))
        await world.clock.advance(6)
        began = trial(world).since
    second = successor(kube)
    await second.engine.restore()
    async with second.leading(edited) as world:
        assert world.engine.live["test"].id == old.id
        await world.clock.advance(15)
        assert (trial(world).since, trial(world).counts.regressions) == (began, 1)
        assert reasons(world)["Active"] == ("False", "Trial")
        await create(world, make_pod("b"))
        await create(world, make_pod("c"))
        assert trial(world).verdict is Verdict.REGRESSED
        await world.clock.advance(1)
    third = successor(kube)
    await third.engine.restore()
    async with third.leading(edited) as world:
        await world.clock.advance(1)
        assert world.engine.live["test"].id == old.id
        assert trial(world).verdict is Verdict.REGRESSED
        assert reasons(world)["Active"] == ("False", "RolledBack")
        assert world.engine.live.trials == {}
        assert world.notes("TrialStarted") == []


@in_a_loop
async def test_a_standby_tries_nothing_and_swaps_nothing() -> None:
    """It knows the former revision, until it leads; then what was decided counts."""
    kube = InMemoryKube()
    async with followed(kube).leading(body(1)) as leader:
        standby = Running(InMemoryKube())
        standby.kube.stored = kube.stored
        async with standby.leading(body(1), lead=False):
            old = leader.engine.live["test"]
            for world in (leader, standby):
                await edit(world, body(2, CANARY, **OTHER))
            await create(leader, *plain(5))
            await leader.clock.advance(2)
            assert leader.engine.live["test"].id != old.id
            assert standby.engine.live["test"].id == old.id
            assert standby.engine.live.trials == {}
            await standby.engine.restore()
            standby.engine.lead()
            await standby.clock.advance(1)
            assert standby.engine.live["test"].id == leader.engine.live["test"].id
            assert standby.notes("TrialStarted") == []


@pytest.mark.parametrize("told", ["while it stands by", "too late"])
@in_a_loop
async def test_a_standby_that_hears_of_the_second_spec_only(told: str) -> None:
    """It does not take that for the first one; where it has to, it goes back when it leads."""
    kube = InMemoryKube()
    edited = body(2, CANARY, **OTHER)
    async with followed(kube).leading(body(1)) as leader:
        old = leader.engine.live["test"].id
        await edit(leader, edited)
        await create(leader, make_pod("a"))
        await leader.clock.advance(6)
        standby = Running(InMemoryKube())
        if told != "too late":
            standby.kube.stored = kube.stored
        async with standby.leading(edited, lead=False):
            await standby.clock.advance(1)
            assert (standby.engine.live["test"].id == old) is (told != "too late")
            standby.kube.stored = kube.stored
            await standby.engine.restore()
            standby.engine.lead()
            await standby.clock.advance(2)
            assert standby.engine.live["test"].id == old
            assert trial(standby).counts.decided == 1
            assert reasons(standby)["Active"] == ("False", "Trial")


@in_a_loop
async def test_a_forged_status_decides_nothing() -> None:
    """What stands in status.trial is not believed by the next leader."""
    kube = InMemoryKube()
    edited = body(2, CANARY, pluginConfig=[AFFINE])
    async with followed(kube).leading(body(1)) as world:
        await edit(world, edited)
        forged = {**status(world)["trial"], "decided": 5, "agreed": 5, "verdict": "Passed"}
    second = successor(kube)
    await second.engine.restore()
    edited["status"] = {**kube.statuses["SchedulerProfile", "test"], "trial": forged}
    async with second.leading(edited) as world:
        await world.clock.advance(2)
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
        assert trial(world).counts.decided == 0
        assert status(world)["trial"]["decided"] == 0


@in_a_loop
async def test_a_verdict_that_cannot_be_saved_holds_all_the_same() -> None:
    """It is saved once that works again; what is no trial is none."""
    kube = InMemoryKube()
    edited = body(2, {**CANARY, "maxRegressions": 0}, pluginConfig=[AFFINE])
    async with followed(kube).leading(body(1)) as world:
        await edit(world, edited)
        kube.fail("revision_trial", Retryable("no answer"), times=3)
        await create(world, make_pod("a"))
        assert trial(world).verdict is Verdict.REGRESSED
        await world.clock.advance(5)
        (saved,) = (one.trial for one in kube.stored.values() if one.trial)
        assert '"Regressed"' in saved
    for name, one in list(kube.stored.items()):
        kube.stored[name] = dataclasses.replace(one, trial='{"verdict": "Passed"}')
    second = successor(kube)
    await second.engine.restore()
    async with second.leading(edited) as world:
        await world.clock.advance(1)
        assert trial(world).verdict is Verdict.SO_FAR_NO_WORSE
