"""Rights: which are asked for and when, and whose pods wait while one is missing."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.framework.extenders import secret_access
from moorage.core.framework.registry import RequiredAccess
from moorage.core.plugins.intree import INTREE
from moorage.engine.profiles.required_rights import (
    FOR_ALL,
    MissingRights,
    rights_of,
    rights_to,
)
from moorage.engine.profiles.rights_monitor import (
    INTERVAL_SECONDS,
    MISSING_PERIOD_SECONDS,
)
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Forbidden, Retryable
from moorage.ports.stored_kinds import STORED_KINDS, StoredKind
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body, versioned
from tests.fakes.kube import InMemoryKube

COMPONENTS = Path(__file__).parents[3] / "manifests" / "components"
VOLUMES = ("patch", "", "persistentvolumes")
LEAN = {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}


class AskedKube(InMemoryKube):
    """Keeps which rights were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[AccessRight] = []

    async def allowed(self, right: AccessRight) -> bool:
        """Keep it, and answer."""
        self.asked.append(right)
        return await super().allowed(right)


class World(Running):
    """Two profiles: ``volumes``, with VolumeBinding, and ``lean``, without."""

    kube: AskedKube

    def __init__(self) -> None:
        super().__init__(kube=AskedKube())

    def run(self) -> Any:
        """As the leader."""
        return self.leading(a_body("volumes"), a_body("lean", plugins=LEAN))

    def condition(self, profile: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message."""
        conditions = self.kube.statuses["SchedulerProfile", profile]["conditions"]
        found = next(one for one in conditions if one["type"] == kind)
        return found["status"], found["reason"], found["message"]

    async def place(self, name: str) -> list[str]:
        """A pod for either profile; which of them have a node after a while."""
        profiles = ("volumes", "lean")
        for profile in profiles:
            self.kube.put(versioned(make_pod(f"{profile}-{name}", scheduler_name=profile)))
        await self.clock.advance(1)
        return [profile for profile in profiles if self.node(f"{profile}-{name}")]


# The first is for these questions, the others for those of callers of the operator's server: no
# profile needs them.
QUESTIONS = {
    AccessRight("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
    AccessRight("create", "authorization.k8s.io", "subjectaccessreviews"),
    AccessRight("create", "authentication.k8s.io", "tokenreviews"),
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
    needs: list[StoredKind | RequiredAccess] = [
        *STORED_KINDS,
        *(access for spec in INTREE for access in spec.writes),
        secret_access(""),
    ]
    asked = {*FOR_ALL[False], *(right for need in needs for right in rights_to(need))}
    assert given - asked == QUESTIONS
    assert asked <= given


def test_an_observers_rights_are_those_of_its_manifests() -> None:
    """As above; all but its own statuses and Leases are rights to read."""
    given = given_by("rbac")
    asked = {*FOR_ALL[True], *(right for kind in STORED_KINDS for right in rights_to(kind))}
    assert given - asked == QUESTIONS
    assert asked <= given
    writes = {right for right in asked if right.verb not in ("get", "list", "watch")}
    assert {(right.resource, right.home) for right in writes} == {
        ("schedulerprofiles/status", False),
        ("leases", True),
    }


def test_an_observer_misses_no_right_to_decide() -> None:
    """What it cannot read is named, what it never does is not even asked for."""

    async def scenario() -> None:
        world = World()
        world.engine.status_inputs.observes = True
        world.kube.forbidden = {
            VOLUMES,
            ("create", "", "pods/binding"),
            ("list", "storage.k8s.io", "csinodes"),
        }
        async with world.run():
            await world.clock.advance(INTERVAL_SECONDS)
            said = "list csinodes.storage.k8s.io"
            assert world.condition("volumes", "Permitted") == ("False", "RBACMissing", said)
            assert {right.verb for right in world.kube.asked if not right.home} <= {
                "get",
                "list",
                "watch",
                "patch",
            }

    asyncio.run(scenario())


def test_a_right_taken_away_holds_back_only_the_profiles_that_need_it() -> None:
    """Held within a minute, and named; given back, its pods go on."""

    async def scenario() -> None:
        world = World()
        async with world.run():
            await world.clock.advance(2 * INTERVAL_SECONDS)
            assert await world.place("before") == ["volumes", "lean"]
            world.kube.forbidden = {VOLUMES}
            await world.clock.advance(60)
            assert await world.place("after") == ["lean"]
            await world.clock.advance(2)
            assert world.condition("volumes", "Permitted") == (
                "False",
                "RBACMissing",
                "patch persistentvolumes",
            )
            assert world.condition("volumes", "Active")[:2] == ("False", "Waiting")
            assert world.condition("lean", "Permitted")[0] == "True"
            assert world.condition("lean", "Ready")[0] == "True"
            world.kube.forbidden.clear()
            await world.clock.advance(MISSING_PERIOD_SECONDS + 1)
            assert world.node("volumes-after")
            await world.clock.advance(2)
            assert world.condition("volumes", "Permitted")[0] == "True"
            assert world.condition("volumes", "Ready")[0] == "True"

    asyncio.run(scenario())


def test_a_standby_asks_once_it_leads() -> None:
    """Not before, and not a minute after."""

    async def scenario() -> None:
        world = World()
        async with world.leading(a_body("volumes"), lead=False):
            await world.clock.advance(90)
            assert not world.kube.asked
            world.engine.lead()
            await world.clock.advance(1)
            assert world.kube.asked

    asyncio.run(scenario())


def test_a_request_that_is_refused_has_the_rights_asked_for_at_once() -> None:
    """Not a minute later: what the adapters note is enough."""

    async def scenario() -> None:
        world = World()
        async with world.run():
            await world.clock.advance(2 * INTERVAL_SECONDS)
            world.kube.forbidden = {VOLUMES}
            assert await world.place("still") == ["volumes", "lean"]
            world.engine.ports.rights_in_doubt.set()
            await world.clock.advance(0.1)
            assert await world.place("held") == ["lean"]

    asyncio.run(scenario())


def test_a_storm_of_refusals_is_no_storm_of_questions() -> None:
    """Quotas and policies refuse with 403 too, all the time."""

    async def scenario() -> int:
        world = World()
        async with world.run():
            world.kube.asked.clear()
            for _ in range(1000):
                world.engine.ports.rights_in_doubt.set()
                await world.clock.advance(0.1)
            return world.kube.asked.count(FOR_ALL[False][0])

    assert asyncio.run(scenario()) == pytest.approx(100 / INTERVAL_SECONDS, abs=1)


@pytest.mark.parametrize("right", [("create", "events.k8s.io", "events"), ("delete", "", "pods")])
def test_what_is_only_told_or_made_room_by_holds_nobody(right: tuple[str, str, str]) -> None:
    """Permitted names it all the same, for every profile."""

    async def scenario() -> None:
        world = World()
        world.kube.forbidden = {right}
        async with world.run():
            await world.clock.advance(INTERVAL_SECONDS)
            assert await world.place("x") == ["volumes", "lean"]
            await world.clock.advance(2)
            said = str(AccessRight(*right))
            for profile in ("volumes", "lean"):
                assert world.condition(profile, "Permitted") == ("False", "RBACMissing", said)
                assert world.condition(profile, "Active")[0] == "True"

    asyncio.run(scenario())


def test_without_the_right_to_bind_all_are_held() -> None:
    """Nothing is tried in vain."""

    async def scenario() -> None:
        world = World()
        world.kube.forbidden = {("create", "", "pods/binding")}
        async with world.run():
            await world.clock.advance(INTERVAL_SECONDS)
            assert await world.place("x") == []
            await world.clock.advance(10)
            (told,) = world.notes("Waiting", "lean-x")
            assert told.startswith("SchedulerProfile 'lean' serves no pods yet: revision ")
            assert told.endswith("; the operator lacks the right to create pods/binding")

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [Retryable("no answer"), Forbidden("POST", 403)])
def test_where_nobody_answers_what_was_known_stays(error: Exception) -> None:
    """An outage is no loss of rights, and no return of them."""

    async def scenario() -> None:
        world = World()
        async with world.run():
            world.kube.forbidden = {VOLUMES}
            await world.clock.advance(60)
            assert await world.place("held") == ["lean"]
            world.kube.forbidden.clear()
            world.kube.fail("allowed", error)
            await world.clock.advance(MISSING_PERIOD_SECONDS)
            assert await world.place("still") == ["lean"]
            await world.clock.advance(MISSING_PERIOD_SECONDS)
            assert world.node("volumes-held") and world.node("volumes-still")

    asyncio.run(scenario())


def test_secrets_are_asked_for_by_name() -> None:
    """Of each extender's; a role may give them with resourceNames."""
    from moorage.core.framework.extenders import Extender

    class Asking:
        """Of a revision no more than is looked at."""

        required_kinds: frozenset[type] = frozenset()
        writes = ()
        extenders = (Extender("https://a", secret="one"), Extender("https://b"))

    right = AccessRight("get", "", "secrets", home=True, name="one")
    assert list(rights_of(Asking())) == [right]  # type: ignore[arg-type]
    assert str(right) == "get secrets 'one' in its own namespace"
    missing = MissingRights()
    assert missing.replace([right])
    assert not missing.replace([right])
    assert missing.of(Asking()) == (str(right),)  # type: ignore[arg-type]
