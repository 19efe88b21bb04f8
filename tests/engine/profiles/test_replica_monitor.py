"""Surveying: what a replica finds out about itself and the others, at its own pace."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from moorage.core.framework.extenders import SECRETS
from moorage.core.framework.registry import RequiredAccess
from moorage.core.plugins.intree import INTREE
from moorage.engine.profiles.profile_conditions import (
    RequiredRight,
    rights_missing,
    rights_required_by,
)
from moorage.engine.profiles.profile_status import ProfileStatusWriter
from moorage.engine.profiles.replica_monitor import (
    OBSERVER_RIGHTS,
    RIGHTS,
    ROUND_INTERVAL_SECONDS,
    AccessRight,
    ReplicaMonitor,
    rights_to,
)
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.ports.errors import Forbidden
from moorage.ports.kube import REPLICA_PERIOD_SECONDS
from moorage.ports.stored_kinds import STORED_KINDS
from tests.engine.worlds import a_body, make_engine, make_ports
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

COMPONENTS = Path(__file__).parents[3] / "manifests" / "components"


class CountingKube(InMemoryKube):
    """Counts announcements."""

    announcements = 0

    async def announce(self, identity: str, revisions: Mapping[str, str]) -> None:
        """Remember and count it."""
        self.announcements += 1
        await super().announce(identity, revisions)


class Survey:
    """A leader's replica monitor, its API server, and what it tells status."""

    def __init__(self) -> None:
        self.kube, self.clock = CountingKube(), ManualClock()
        events = FakeEventRecorder()
        engine = make_engine(self.kube, events)
        self.swapper: ProfileSwapper = engine.swapper
        self.reconciler: ProfileStatusWriter = engine.profile_status
        self.surveyor = ReplicaMonitor(
            live=engine.live,
            records=engine.records,
            inputs=engine.replica_monitor.inputs,
            status=engine.profile_status,
            quarantine=engine.quarantine,
            changed=asyncio.Event(),
            ports=make_ports(self.kube, self.clock, events, CountingTelemetry()),
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """The rights that are called missing."""
        return self.surveyor.inputs.missing_rights

    def look(self) -> None:
        """One round."""
        asyncio.run(self.surveyor.check_once())


# The first is for these questions, the others for those of callers of the operator's server: no
# profile needs them.
QUESTIONS = {
    AccessRight("create", "authorization.k8s.io", "selfsubjectaccessreviews", home=False),
    AccessRight("create", "authorization.k8s.io", "subjectaccessreviews", home=False),
    AccessRight("create", "authentication.k8s.io", "tokenreviews", home=False),
}


def given_by(*components: str) -> set[AccessRight]:
    """The rights that these components' roles give."""
    given = set()
    for component, (file, home) in itertools.product(
        components, (("cluster-role.yaml", False), ("role.yaml", True))
    ):
        for rule in yaml.safe_load((COMPONENTS / component / file).read_text())["rules"]:
            for resource in rule["resources"]:
                given |= {
                    AccessRight(verb, rule["apiGroups"][0], resource, home)
                    for verb in rule["verbs"]
                }
    return given


def test_the_rights_are_those_of_the_manifests() -> None:
    """Permitted speaks of every right that an installation gives, and of no other; only the rights
    to ask go without saying.
    """
    given = given_by("rbac", "rbac-deciding")
    needs: list[RequiredRight] = [
        *STORED_KINDS,
        *(access for spec in INTREE for access in spec.writes),
        SECRETS,
    ]
    asked = {*RIGHTS, *(right for need in needs for right in rights_to(need))}
    assert given - asked == QUESTIONS
    assert asked <= given


def test_an_observers_rights_are_those_of_its_manifests() -> None:
    """As above; all but its own statuses and Leases are rights to read."""
    given = given_by("rbac")
    asked = {*OBSERVER_RIGHTS, *(right for kind in STORED_KINDS for right in rights_to(kind))}
    assert given - asked == QUESTIONS
    assert asked <= given
    writes = {right for right in asked if right.verb not in ("get", "list", "watch")}
    assert {(right.resource, right.home) for right in writes} == {
        ("schedulerprofiles/status", False),
        ("leases", True),
    }


def test_a_missing_right_is_named_and_one_given_back_is_not() -> None:
    """Looked at again once a period."""
    survey = Survey()
    survey.kube.forbidden = {
        ("patch", "", "pods/status"),
        ("create", "apps", "controllerrevisions"),
    }
    survey.look()
    assert survey.missing == (
        "patch pods/status",
        "create controllerrevisions.apps in its own namespace",
    )
    survey.kube.forbidden.clear()
    survey.look()
    assert survey.missing
    survey.clock.jump(REPLICA_PERIOD_SECONDS)
    survey.look()
    assert survey.missing == ()


@pytest.mark.parametrize("method", ["replicas", "delete_replica"])
def test_a_look_that_fails_hides_no_other(method: str) -> None:
    """The right that it fails for is named all the same."""
    survey = Survey()
    survey.kube.dead = ["gone"]
    survey.kube.forbidden = {("list", "coordination.k8s.io", "leases")}
    survey.kube.fail(method, Forbidden("leases", 403))
    survey.look()
    assert survey.missing == ("list leases.coordination.k8s.io in its own namespace",)


def test_a_storm_of_changes_is_no_storm_of_requests() -> None:
    """However often the live revisions change, rounds are seconds apart, and the last change is
    told.
    """

    async def scenario() -> int:
        survey = Survey()
        running = asyncio.create_task(survey.surveyor.run())
        for _ in range(100):
            survey.surveyor.changed.set()
            await survey.clock.advance(0.1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert survey.kube.announced == {}, "the announcement is taken back at the end"
        return survey.kube.announcements

    assert asyncio.run(scenario()) == pytest.approx(10 / ROUND_INTERVAL_SECONDS, abs=1)


def test_a_change_is_looked_at_twice() -> None:
    """The other replicas follow a moment later; then nothing is asked until the next change."""

    async def scenario() -> list[int]:
        survey = Survey()
        running = asyncio.create_task(survey.surveyor.run())
        counts = []
        for _ in range(2):
            for _ in range(5):
                await survey.clock.advance(ROUND_INTERVAL_SECONDS)
            counts.append(survey.kube.announcements)
            survey.surveyor.changed.set()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return counts

    assert asyncio.run(scenario()) == [2, 4]


def test_rights_of_actors_are_missing_for_profiles_that_have_them_alone() -> None:
    """Writing volumes is named on a profile with VolumeBinding, not on one without."""
    survey = Survey()
    survey.kube.forbidden = {("patch", "", "persistentvolumes")}
    lean = {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}
    survey.swapper.profile_changed("with", a_body("with"))
    survey.swapper.profile_changed("without", a_body("without", plugins=lean))
    asyncio.run(survey.swapper.reconcile())
    survey.look()
    missing = survey.surveyor.inputs.missing_for
    revisions = {
        name: record.resolution.made
        for name, record in survey.swapper.records.profiles.items()
        if record.resolution is not None
    }
    said = {
        name: [right for need in rights_required_by(made) for right in missing[need]]
        for name, made in revisions.items()
        if made is not None
    }
    assert said == {"with": ["patch persistentvolumes"], "without": []}


def test_an_observer_misses_no_right_to_decide() -> None:
    """What it cannot read is named, what it never does is not even asked for."""
    survey = Survey()
    survey.surveyor.inputs.observes = True
    survey.kube.forbidden = {
        ("patch", "", "persistentvolumes"),
        ("create", "", "pods/binding"),
        ("list", "storage.k8s.io", "csinodes"),
    }
    survey.swapper.profile_changed("seen", a_body("seen"))
    asyncio.run(survey.swapper.reconcile())
    survey.look()
    inputs, record = survey.surveyor.inputs, survey.swapper.records.profiles["seen"]
    assert rights_missing(record, inputs) == ["list csinodes.storage.k8s.io"]
    assert not any(isinstance(need, RequiredAccess) for need in inputs.missing_for)
