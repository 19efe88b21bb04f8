"""The condition Assigned: told while a profile serves, and no older one could take the same pod."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.engine.profiles.profile_status import WRITE_INTERVAL_SECONDS
from tests.assignment_cases import EVERYTHING
from tests.engine.status_worlds import StatusWorld
from tests.engine.worlds import a_body

BATCH = {"namespaceSelector": {"matchLabels": {"team": "batch"}}, "podSelector": {}}
WEB = {"namespaceSelector": {"matchLabels": {"team": "web"}}, "podSelector": {}}
LATER, LAST = "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"


class World(StatusWorld):
    """Looked at for one condition."""

    def assigned(self, name: str) -> tuple[str, str, str] | None:
        """The condition Assigned."""
        return self.condition("Assigned", name)

    def ready(self, name: str) -> str:
        """What Ready is."""
        return (self.condition("Ready", name) or ("",))[0]


CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, str, str] | None]] = {
    "no assign": ([a_body("p")], None),
    "no assign any more": ([a_body("p", assign=BATCH), a_body("p", generation=2)], None),
    "serves": ([a_body("p", assign=BATCH)], ("True", "Assigned", "")),
    "suspended": (
        [a_body("p", assign=BATCH, suspend=True)],
        (
            "False",
            "Suspended",
            "spec.suspend is true: pods that name no scheduler are left to others",
        ),
    ),
    "never good": (
        [a_body("p", assign=BATCH, preset="Best")],
        ("False", "NotActive", "no revision has been good yet"),
    ),
    "gone bad": (
        [a_body("p", assign=BATCH), a_body("p", generation=2, assign=BATCH, preset="Best")],
        ("True", "Assigned", ""),
    ),
    "paused": (
        [
            a_body("p", assign=BATCH),
            a_body("p", generation=2, assign=WEB, preset="Spread", paused=True),
        ],
        ("True", "Assigned", ""),
    ),
    "unreadable": (
        [a_body("p"), a_body("p", generation=2, assign={"podSelector": 1})],
        ("False", "InvalidSpec", "spec.assign cannot be read; Accepted says why"),
    ),
    "no selector": (
        [a_body("p", assign={**BATCH, "podSelector": {"matchLabels": {"a b": ""}}})],
        ("False", "InvalidSpec", "spec.assign cannot be read; Accepted says why"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_condition(case: str) -> None:
    """True while some revision decides, whichever the spec asks for."""
    bodies, want = CASES[case]
    world = World()
    for body in bodies:
        world.see(body)
    assert world.assigned("p") == want


def test_a_profile_that_waits_for_a_list_serves_nobody() -> None:
    """Its pods are held, as where a right is missing."""
    world = World()
    world.see(a_body("p", assign=BATCH))
    world.engine.records.profiles["p"].waits_for = ("resourceslices",)
    world.clock.jump(WRITE_INTERVAL_SECONDS)
    asyncio.run(world.engine.profile_status.write_due())
    status, reason, message = world.assigned("p") or ("", "", "")
    assert (status, reason) == ("False", "NotActive")
    assert message.endswith("waits: resourceslices are not up to date yet")


def conflict(older: str) -> tuple[str, str, str]:
    """What the younger one is told."""
    text = (
        f"SchedulerProfile {older!r} is older and could select the same pod: have a key in the "
        f"selectors of both tell them apart"
    )
    return ("False", "AssignConflict", text)


GOOD = ("True", "Assigned", "")


def test_the_younger_one_is_told_and_is_ready_all_the_same() -> None:
    """With the oldest one's name, of several; by name, where they are of one second."""
    world = World()
    world.see(
        a_body("young", created=LAST, assign=EVERYTHING),
        a_body("b", created=LATER, assign=EVERYTHING),
        a_body("a", created=LATER, assign=EVERYTHING),
        a_body("old", assign=BATCH),
        a_body("web", assign=WEB),
    )
    assert [world.assigned(name) for name in ("old", "web")] == [GOOD, GOOD]
    assert [world.assigned(name) for name in ("a", "b")] == [conflict("old"), conflict("old")]
    assert world.assigned("young") == conflict("old")
    assert {world.ready(name) for name in ("old", "web", "a", "b", "young")} == {"True"}
    world.gone("old")
    world.gone("web")
    assert world.assigned("a") == GOOD
    assert [world.assigned(name) for name in ("b", "young")] == [conflict("a"), conflict("a")]


def test_a_conflict_goes_as_the_selectors_change() -> None:
    """Those of either; and comes so."""
    world = World()
    world.see(a_body("old", assign=BATCH), a_body("young", created=LATER, assign=EVERYTHING))
    assert world.assigned("young") == conflict("old")
    world.see(a_body("young", created=LATER, generation=2, assign=WEB))
    assert world.assigned("young") == GOOD
    world.see(a_body("old", generation=2, assign=EVERYTHING))
    assert world.assigned("young") == conflict("old")
    world.see(a_body("old", generation=3))
    assert world.assigned("young") == GOOD


def test_profiles_of_other_installations_count() -> None:
    """Theirs are not written."""
    world = World()
    world.see(
        a_body("theirs", controllerName="other", assign=EVERYTHING),
        a_body("ours", created=LATER, assign=BATCH),
        a_body("youngest", controllerName="other", created=LAST, assign=BATCH),
    )
    assert world.assigned("ours") == conflict("theirs")
    assert {name for kind, name in world.kube.statuses if kind == "SchedulerProfile"} == {"ours"}


def test_an_older_one_counts_that_does_not_serve() -> None:
    """Else pods would go back and forth as it is suspended; one that cannot be read asks for no
    pod.
    """
    world = World()
    world.see(
        a_body("old", suspend=True, assign=EVERYTHING),
        a_body("young", created=LATER, assign=BATCH),
    )
    assert world.assigned("young") == conflict("old")
    world.see(a_body("old", generation=2, assign={"podSelector": {}}))
    assert world.assigned("young") == GOOD


def test_the_same_object_anew_is_the_younger_one() -> None:
    """A profile that was deleted and made again has lost its place."""
    world = World()
    world.see(a_body("a", assign=BATCH), a_body("b", created=LATER, assign=BATCH))
    world.see(a_body("a", uid="another", created=LAST, assign=BATCH))
    assert (world.assigned("a"), world.assigned("b")) == (conflict("b"), GOOD)


def test_status_alone_compares_nothing_again() -> None:
    """Statuses change all the time, however many profiles there are."""
    world = World()
    bodies = [a_body(f"p{n}", assign=BATCH) for n in range(3)]
    world.see(*bodies)
    before = world.engine.assignments.by_age
    world.see(*({**body, "status": {"queue": {"active": 1}}} for body in bodies))
    assert world.engine.assignments.by_age is before
