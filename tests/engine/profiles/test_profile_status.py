"""Reconciling: what stands in the status of a profile or PluginConfig, and when it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from moorage.api.bodies import config_hash
from moorage.core.objects.resource_claims import DeviceTaintRule
from moorage.engine.profiles.profile_status import (
    QUEUE_WRITE_INTERVAL_SECONDS,
    RENEW_INTERVAL_SECONDS,
    RETRY_INTERVAL_SECONDS,
    WRITE_INTERVAL_SECONDS,
)
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Conflict, EdgeError, Fenced, Forbidden, NotFound, Retryable
from moorage.ports.kube import ReplicaAnnouncement
from moorage.ports.leadership import Leadership
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body, a_config, make_engine, versioned
from tests.fakes.clocks import EagerClock, settle
from tests.fakes.election import FakeElection
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder


class World:
    """A leader whose rounds are made by hand."""

    def __init__(self, kube: InMemoryKube | None = None) -> None:
        self.kube, self.clock, self.events = (
            kube or InMemoryKube(),
            EagerClock(),
            FakeEventRecorder(),
        )
        self.election = FakeElection(
            lambda: Leadership("me", "2026-01-02T03:00:00Z", 3, self.renewed)
        )
        self.engine = make_engine(self.kube, self.events, self.clock, election=self.election)
        self.renewed = "2026-01-02T03:04:00Z"

    def see(self, *bodies: dict[str, Any]) -> World:
        """Objects are in this state; settle."""
        for body in bodies:
            tell = (
                self.engine.profile_changed
                if body["kind"] == "SchedulerProfile"
                else self.engine.plugin_config_changed
            )
            tell(body["metadata"]["name"], body)
        asyncio.run(self.engine.swapper.reconcile())
        return self

    def round(self, after: float = WRITE_INTERVAL_SECONDS) -> list[Mapping[str, Any]]:
        """A round so long after the last one; the statuses that were written in it."""
        self.clock.jump(after)
        before = len(self.kube.written)
        asyncio.run(self.engine.profile_status.write_due())
        return [write.arguments[1] for write in self.kube.written[before:]]

    def status(self, name: str = "p", kind: str = "SchedulerProfile") -> dict[str, Any]:
        """As the API server has it."""
        return self.kube.statuses[kind, name]

    def conditions(
        self, name: str = "p", kind: str = "SchedulerProfile"
    ) -> dict[str, dict[str, Any]]:
        """By type."""
        return {condition["type"]: condition for condition in self.status(name, kind)["conditions"]}


# ---- conditions ----------------------------------------------------------------------------------

GOOD = {
    "Accepted": ("True", "Valid"),
    "ResolvedRefs": ("True", "Resolved"),
    "Permitted": ("True", "Permitted"),
    "Active": ("True", "Deciding"),
    "Ready": ("True", "Ready"),
}


def bad(
    kind: str, reason: str, active: str = "Waiting", **others: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """All good, but one is False for this reason, with what follows; who reads Ready sees whether
    another revision decides.
    """
    ready = ("Unknown", "LastGood") if active == "LastGood" else ("False", reason)
    return {**GOOD, "Active": ("False", active), kind: ("False", reason), "Ready": ready, **others}


def referring(config: str, **spec: Any) -> dict[str, Any]:
    """A profile with a reference."""
    return a_body(
        "p", pluginConfig=[{"name": "NodeResourcesFit", "configRef": {"name": config}}], **spec
    )


INVALID = ("False", "InvalidSpec")
CONDITIONS: dict[str, tuple[list[dict[str, Any]], dict[str, tuple[str, str]], str]] = {
    "good": ([a_body("p")], GOOD, ""),
    "with a config": ([a_config("c"), referring("c")], GOOD, ""),
    "invalid": (
        [a_body("p", preset="Best")],
        bad("Accepted", "InvalidSpec"),
        "spec.preset: 'Best': supported values",
    ),
    "unknown plugin": (
        [a_body("p", weights={"X": 1})],
        bad("Accepted", "UnknownPlugin"),
        "spec.weights[X]: 'X': no plugin has this name",
    ),
    "args": (
        [a_body("p", pluginConfig=[{"name": "NodeResourcesFit", "args": {"x": 1}}])],
        bad("Accepted", "InvalidPluginArgs"),
        "spec.pluginConfig[0].args.x: 1: unknown field",
    ),
    "not yet": (
        [a_body("p", plugins={"multiPoint": {"enabled": [{"name": "DeferredPodScheduling"}]}})],
        bad("Accepted", "NotYetSupported"),
        "'DeferredPodScheduling': this plugin of kube-scheduler is not supported yet",
    ),
    "no config": (
        [referring("c")],
        bad("ResolvedRefs", "PluginConfigNotFound"),
        "'c': there is no PluginConfig of this name",
    ),
    "bad config": (
        [a_config("c", x=1), referring("c")],
        bad("ResolvedRefs", "PluginConfigInvalid"),
        "spec.args.x: 1: unknown field",
    ),
    "other config": (
        [a_config("c", plugin="NodeAffinity"), referring("c")],
        bad("ResolvedRefs", "PluginMismatch"),
        "is for NodeAffinity",
    ),
    "two faults": (
        [referring("c", weights={"X": 1})],
        bad("Accepted", "UnknownPlugin", ResolvedRefs=("False", "PluginConfigNotFound")),
        "spec.weights[X]: 'X': no plugin has this name",
    ),
    "suspended": (
        [a_body("p", suspend=True)],
        {**GOOD, "Active": ("False", "Suspended"), "Ready": ("False", "Suspended")},
        "spec.suspend",
    ),
    "paused": (
        [a_body("p"), a_body("p", generation=2, paused=True, preset="Spread")],
        {**GOOD, "Active": ("False", "Paused"), "Ready": ("Unknown", "Paused")},
        "goes on deciding; revision",
    ),
    "paused as it is": ([a_body("p"), a_body("p", generation=2, paused=True)], GOOD, ""),
    "paused from the start": (
        [a_body("p", paused=True)],
        {**GOOD, "Active": ("False", "Paused"), "Ready": ("False", "Paused")},
        "none decided before",
    ),
    "gone bad": (
        [a_body("p"), a_body("p", generation=2, preset="Best")],
        bad("Accepted", "InvalidSpec", "LastGood"),
        "spec.preset",
    ),
    "config gone bad": (
        [a_config("c"), referring("c"), a_config("c", generation=2, x=1)],
        bad("ResolvedRefs", "PluginConfigInvalid", "LastGood"),
        "spec.args.x: 1",
    ),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_conditions(case: str) -> None:
    """Each says what is, with the first reason that is not True in Ready; all are about the
    generation that was settled.
    """
    bodies, want, text = CONDITIONS[case]
    world = World()
    for body in bodies:
        world.see(body)
    world.round()
    conditions = world.conditions()
    assert list(conditions) == ["Accepted", "ResolvedRefs", "Permitted", "Active", "Ready"]
    assert {kind: (c["status"], c["reason"]) for kind, c in conditions.items()} == want
    assert text in conditions["Ready"]["message"]
    generation = max(
        body["metadata"]["generation"] for body in bodies if body["kind"] == "SchedulerProfile"
    )
    assert (
        {c["observedGeneration"] for c in conditions.values()}
        == {generation}
        == {world.status()["observedGeneration"]}
    )


def test_missing_rights_are_named() -> None:
    """Permitted has verb and resource; the profile goes on as well as it can."""
    world = World().see(a_body("p"))
    lacking = AccessRight("create", "events.k8s.io", "events"), AccessRight("list", "", "nodes")
    world.engine.status_inputs.rights.replace(lacking)
    world.round()
    permitted, ready = world.conditions()["Permitted"], world.conditions()["Ready"]
    assert (permitted["status"], permitted["reason"], permitted["message"]) == (
        "False",
        "RBACMissing",
        "list nodes; create events.events.k8s.io",
    )
    assert (ready["status"], ready["reason"]) == ("False", "RBACMissing")


def test_a_transition_time_is_kept_as_long_as_the_status_is() -> None:
    """Over changes of reason and message, and over a restart; a new status has a new time."""
    world = World().see(a_body("p"))
    world.round()
    first = {kind: c["lastTransitionTime"] for kind, c in world.conditions().items()}
    world.clock.jump(60)
    world.see(a_body("p", generation=2, preset="Best"))
    world.round()
    second = {kind: c["lastTransitionTime"] for kind, c in world.conditions().items()}
    assert {kind for kind in first if first[kind] != second[kind]} == {
        "Accepted",
        "Active",
        "Ready",
    }
    status = dict(world.status())
    again = World(world.kube)
    again.clock.jump(300)
    again.see({**a_body("p", generation=3, weights={"X": 1}), "status": status})
    again.round()
    third = {kind: c["lastTransitionTime"] for kind, c in again.conditions().items()}
    # nobody decides any more
    assert {kind for kind in second if second[kind] != third[kind]} == {"Ready"}
    assert again.conditions()["Accepted"]["reason"] == "UnknownPlugin"


_NO_DEVICES = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "DefaultBinder"}]}}


def test_what_the_api_server_does_not_have_is_told() -> None:
    """By Active, of the profiles whose plugins read it, until it is served."""
    world = World().see(a_body("p"), a_body("q", plugins=_NO_DEVICES))
    sinks = {kind.struct: sink for kind, sink in world.engine.stored_object_sinks.items()}

    def told(served: bool) -> dict[str, str]:
        sinks[DeviceTaintRule].list_started(served)
        sinks[DeviceTaintRule].list_ended()
        world.round()
        return {name: world.conditions(name)["Active"]["message"] for name in "pq"}

    plain = told(served=True)
    assert all(text.endswith(" decides") for text in plain.values())
    lacks = "; the API server has no devicetaintrules of resource.k8s.io/v1"
    assert told(served=False) == {**plain, "p": plain["p"] + lacks}
    assert told(served=True) == plain


# ---- what else it tells --------------------------------------------------------------------------


def test_the_status_of_a_profile() -> None:
    """All the fields of a profile's status."""
    world = World()
    world.engine.node_sink.put(versioned(make_node("n1")))
    body = referring("c", schedulerName="named", preset="BinPack", weights={"NodeAffinity": 7})
    world.see(a_config("c", generation=4), body)
    for i in range(3):
        world.engine.pod_sink.put(versioned(make_pod(f"p{i}", scheduler_name="named")))
    revision = world.engine.live["named"]
    world.engine.replica_monitor.inputs.replicas = (
        ReplicaAnnouncement("you", {"p": "old"}),
        ReplicaAnnouncement("me", {"p": revision.id}),
        ReplicaAnnouncement("new", {}),
    )
    world.round()
    status = world.status()
    effective = status.pop("effective")
    del status["conditions"]
    assert status == {
        "observedGeneration": 1,
        "schedulerName": "named",
        "desiredRevision": revision.id,
        "activeRevision": revision.id,
        "activeSince": "2026-01-02T03:04:05Z",
        "pluginConfigs": [{"name": "c", "observedGeneration": 4, "activeGeneration": 4}],
        "pluginConfigCount": 1,
        "drainingCycles": 0,
        "leader": {
            "identity": "me",
            "since": "2026-01-02T03:00:00Z",
            "transitions": 3,
            "renewTime": "2026-01-02T03:04:00Z",
        },
        "queue": {
            "active": 3,
            "backoff": 0,
            "unschedulable": 0,
            "gated": 0,
            "inFlight": 0,
            "oldestPendingSince": "2026-01-02T03:04:05Z",
            "groups": 0,
        },
        "replicas": [
            {"identity": "me", "role": "Leader", "revision": revision.id},
            {"identity": "new", "role": "Standby", "revision": ""},
            {"identity": "you", "role": "Standby", "revision": "old"},
        ],
        "claimedBy": "moorage-system/moorage",
    }
    assert {"name": "NodeAffinity", "weight": 7} in effective["score"]
    assert effective["bind"] == ["DefaultBinder"]
    assert "permit" not in effective


def test_a_bad_change_shows_what_is_wanted_and_what_is() -> None:
    """Revisions and the generations of configs differ until it is mended."""
    world = World().see(a_config("c", generation=4), referring("c"))
    world.round()
    before = dict(world.status())
    world.see(a_config("c", generation=5, x=1))
    world.round()
    status = world.status()
    assert "desiredRevision" not in status
    assert status["activeRevision"] == before["activeRevision"] == before["desiredRevision"]
    assert status["pluginConfigs"] == [
        {"name": "c", "observedGeneration": 5, "activeGeneration": 4}
    ]
    assert (status["effective"], status["activeSince"]) == (
        before["effective"],
        before["activeSince"],
    )
    world.see(a_body("p", generation=2, preset="Best"))
    world.round()
    assert world.status()["pluginConfigs"] == [{"name": "c", "activeGeneration": 4}]


def test_a_profile_that_was_never_good_shows_its_configs() -> None:
    """As far as they exist; none is active."""
    world = World().see(a_config("c"), referring("c", preset="Best"))
    world.round()
    assert world.status()["pluginConfigs"] == [{"name": "c", "observedGeneration": 1}]
    assert world.status()["pluginConfigCount"] == 1
    assert "activeRevision" not in world.status()


def test_what_is_no_more_leaves_the_status() -> None:
    """An extension point without plugins, the time of the oldest pod when nobody waits."""
    world = World().see(a_body("p"))
    world.engine.pod_sink.put(pod := versioned(make_pod("a", scheduler_name="p")))
    world.round()
    assert "oldestPendingSince" in world.status()["queue"]
    assert {"score", "preEnqueue"} <= world.status()["effective"].keys()
    world.engine.pod_sink.delete(pod)
    world.see(
        a_body(
            "p",
            generation=2,
            preset="NoScoring",
            plugins={"preEnqueue": {"disabled": [{"name": "*"}]}},
        )
    )
    world.round()
    assert "oldestPendingSince" not in world.status()["queue"]
    assert not {"score", "preEnqueue"} & world.status()["effective"].keys()


def test_pods_that_are_held_count() -> None:
    """A suspended profile shows how many wait for it."""
    world = World().see(a_body("p", suspend=True))
    world.engine.pod_sink.put(versioned(make_pod("a", scheduler_name="p")))
    world.round()
    assert world.status()["queue"]["active"] == 1


def test_the_status_of_a_plugin_config() -> None:
    """Whether it is accepted, what it says, who uses it."""
    world = World()
    configs = a_config("good", generation=2), a_config("bad", x=1), a_config("odd", plugin="Nobody")
    world.see(*configs, referring("good"))
    world.round()
    status = world.status("good", "PluginConfig")
    assert (status["observedGeneration"], status["hash"]) == (2, config_hash(configs[0]))
    assert (status["profiles"], status["profileCount"]) == (["p"], 1)
    told = {
        name: world.conditions(name, "PluginConfig")["Accepted"] for name in ("good", "bad", "odd")
    }
    assert {name: (c["status"], c["reason"]) for name, c in told.items()} == {
        "good": ("True", "Valid"),
        "bad": ("False", "InvalidPluginArgs"),
        "odd": ("False", "UnknownPlugin"),
    }
    assert world.status("bad", "PluginConfig")["profileCount"] == 0


def test_a_config_keeps_its_users_while_they_are_settled() -> None:
    """A change of it does not take the profiles out of its status for a moment."""
    world = World().see(a_config("c"), referring("c"))
    world.round()
    world.engine.plugin_config_changed("c", a_config("c", generation=2))
    for status in world.round():
        assert status.get("profiles", ["p"]) == ["p"]


# ---- when it is written --------------------------------------------------------------------------


def test_nothing_is_written_when_nothing_changes() -> None:
    """Nor when our own status comes back."""
    world = World().see(a_config("c"), referring("c"))
    assert len(world.round()) == 2
    world.see({**referring("c"), "status": dict(world.status())})
    world.see({**a_config("c"), "status": dict(world.status("c", "PluginConfig"))})
    assert [status for _ in range(20) for status in world.round()] == []


def test_a_standby_writes_nothing() -> None:
    """Status is the leader's to write."""

    async def scenario() -> None:
        async with Running().leading(lead=False) as world:
            await world.clock.advance(2)
            world.engine.profile_status.notify()
            await settle()
            assert world.kube.statuses == {}
            world.engine.lead()
            await world.clock.advance(2)
            assert ("SchedulerProfile", "test") in world.kube.statuses

    asyncio.run(scenario())


def test_queue_counts_lag_a_little() -> None:
    """They are written some seconds after the last write, with what is true then."""
    world = World().see(a_body("p"))
    world.round()
    for i in range(4):
        world.engine.pod_sink.put(versioned(make_pod(f"p{i}", scheduler_name="p")))
        assert world.round() == []
    (status,) = world.round(QUEUE_WRITE_INTERVAL_SECONDS - 4 * WRITE_INTERVAL_SECONDS)
    assert status["queue"]["active"] == 4


def test_the_leaders_renewal_is_told_seldom_and_a_new_leader_at_once() -> None:
    """renewTime shows that somebody is alive; who it is matters more."""
    world = World().see(a_body("p"))
    world.round()
    world.renewed = "2026-01-02T03:04:30Z"
    assert world.round(RENEW_INTERVAL_SECONDS - 1) == []
    (status,) = world.round(1)
    assert status["leader"]["renewTime"] == world.renewed
    world.election.who = lambda: Leadership(
        "other", "2026-01-02T04:00:00Z", 4, "2026-01-02T04:00:00Z"
    )
    (status,) = world.round()
    assert status["leader"]["identity"] == "other"


def test_draining_cycles_are_told_until_there_are_none() -> None:
    """Not only how many there were when the revision was swapped."""

    async def scenario() -> None:
        async with Running().leading(a_body("test", plugins=STEPS)) as world:
            reconciler = world.engine.profile_status
            gate = world.kube.hold("bind")
            world.kube.put(make_pod("a"))
            await settle()
            world.engine.profile_changed("test", a_body("test", generation=2))
            await world.clock.advance(3 * QUEUE_WRITE_INTERVAL_SECONDS)
            # something to tell at once
            world.election.who = lambda: Leadership("me", "", 1, "")
            await reconciler.write_due()
            assert world.kube.statuses["SchedulerProfile", "test"]["drainingCycles"] == 1
            gate.set()
            await world.clock.advance(WRITE_INTERVAL_SECONDS)
            await reconciler.write_due()
            assert world.kube.statuses["SchedulerProfile", "test"]["drainingCycles"] == 1
            await world.clock.advance(QUEUE_WRITE_INTERVAL_SECONDS)
            await reconciler.write_due()
            assert world.kube.statuses["SchedulerProfile", "test"]["drainingCycles"] == 0

    asyncio.run(scenario())


ERRORS: dict[str, EdgeError] = {
    "gone": NotFound("PATCH", 404),
    "fenced": Fenced("no"),
    "busy": Retryable("429", after=1),
    "no answer": Retryable("reset", outcome_unknown=True),
    "conflict": Conflict("PATCH", 409),
    "forbidden": Forbidden("PATCH", 403),
}


@pytest.mark.parametrize("method", ["profile_status", "plugin_config_status"])
@pytest.mark.parametrize("error", ERRORS)
def test_a_failed_write_is_tried_again(error: str, method: str) -> None:
    """With what is true by then; others are written all the same."""
    world = World().see(a_config("c"), referring("c"))
    world.kube.fail(method, ERRORS[error])
    assert len(world.round()) == 1
    world.see(a_body("p", generation=2), a_config("c", generation=2))
    world.round()
    world.round(RETRY_INTERVAL_SECONDS)
    assert (
        world.status()["observedGeneration"]
        == world.status("c", "PluginConfig")["observedGeneration"]
        == 2
    )


def test_what_is_gone_is_forgotten() -> None:
    """An object that was deleted and made anew under its name and UID is written anew; nothing is
    kept of others.
    """
    world = World().see(a_config("c"), referring("c"))
    world.round()
    world.engine.profile_changed("p", None)
    world.engine.plugin_config_changed("c", None)
    world.see()
    assert world.round() == []
    assert not world.engine.profile_status._written
    assert not world.engine.profile_status._not_before
