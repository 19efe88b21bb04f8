"""Other installations in the cluster: whose a schedulerName is, and who shares nodes with whom."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.node_pools import stated_pool
from moorage.engine.profiles.shared_nodes import MAX_KEPT
from tests.engine.status_worlds import StatusWorld
from tests.engine.worlds import a_body, a_config

EARLIER, LATER = "2025-12-01T00:00:00Z", "2026-02-01T00:00:00Z"
Condition = tuple[str, str, str]


class World(StatusWorld):
    """With a profile ``mine`` of this installation."""

    def told(self, kind: str, name: str = "mine") -> Condition | None:
        """The condition of this type."""
        return self.condition(kind, name)


def theirs(name: str = "theirs", /, *, created: str = LATER, **spec: Any) -> dict[str, Any]:
    """A profile of another installation."""
    return a_body(name, created=created, **{"controllerName": "another", **spec})


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("created", [EARLIER, LATER])
@pytest.mark.parametrize("first", ["mine", "theirs"])
def test_the_older_profile_has_the_name_whosever_it_is(created: str, first: str) -> None:
    """Whichever is seen first; with the other one's installation, by its controllerName."""
    world = World()
    pair = {"mine": a_body("mine", schedulerName="s"), "theirs": theirs(created=created)}
    pair["theirs"]["spec"]["schedulerName"] = "s"
    world.see(pair.pop(first))
    world.see(*pair.values())
    ours = created == LATER
    assert ("s" in world.engine.live) == ours
    status, reason, message = world.told("Accepted") or ("", "", "")
    assert (status, reason) == (("True", "Valid") if ours else ("False", "NameConflict"))
    if not ours:
        assert "SchedulerProfile 'theirs' (controllerName 'another') is older" in message


def test_a_name_is_free_once_the_older_profile_is_gone() -> None:
    """At once, without waiting for the next look at who serves what."""
    world = World()
    world.see(theirs(created=EARLIER, schedulerName="s"), a_body("mine", schedulerName="s"))
    assert "s" not in world.engine.live
    world.engine.swapper._dirty.clear()
    world.engine.profile_changed("theirs", None)
    assert world.engine.swapper._dirty.is_set()
    world.settle()
    assert "s" in world.engine.live
    world.engine.swapper._dirty.clear()
    world.engine.profile_changed("theirs", theirs(schedulerName="other"))
    world.engine.swapper._dirty.clear()
    world.engine.profile_changed("theirs", theirs(schedulerName="other", generation=2))
    assert not world.engine.swapper._dirty.is_set()  # nothing of theirs that concerns us


def test_a_younger_one_of_ours_conflicts_with_the_oldest_of_all() -> None:
    """And not with the younger one of the other installation."""
    world = World()
    world.see(
        a_body("mine", schedulerName="s"),
        theirs(created="2026-01-15T00:00:00Z", schedulerName="s"),
        a_body("young", created=LATER, schedulerName="s"),
    )
    assert set(world.engine.live) == {"s"}
    _, reason, message = world.told("Accepted", "young") or ("", "", "")
    assert reason == "NameConflict"
    assert "SchedulerProfile 'mine' is older" in message


def test_a_name_that_another_installation_has_is_refused_at_admission() -> None:
    """As one of this installation."""
    world = World()
    world.see(theirs(schedulerName="s"))
    new = a_body("new", created="2026-03-01T00:00:00Z", schedulerName="s")
    (error,) = world.engine.admission_judge.judge("SchedulerProfile", new, None).errors
    assert (error.reason, error.path) == ("NameConflict", "schedulerName")
    assert "(controllerName 'another')" in error.message


# ---- nodes ---------------------------------------------------------------------------------------


def with_pool(*pools: str) -> dict[str, Any]:
    """A spec for the nodes with one of these values of label pool."""
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": [*pools]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": required}}]}


def meet(*others: str, more: str = "") -> Condition:
    """What is told of profiles whose pools meet ours."""
    titles = ", ".join(f"SchedulerProfile {name!r} (controllerName 'another')" for name in others)
    return ("True", "PoolsMeet", f"some nodes may also be used by {titles}{more}")


TITLE = "SchedulerProfile 'theirs' (controllerName 'another')"
ALL = ("True", "AllNodes", f"any node may be used, as by {TITLE}")
APART = ("False", "PoolsApart", "")
CASES: dict[str, tuple[list[dict[str, Any]], Condition | None]] = {
    "alone": ([a_body("mine"), a_body("other")], None),
    "no pools": ([a_body("mine"), theirs()], ALL),
    "a pool of ours alone": ([a_body("mine", **with_pool("a")), theirs()], meet("theirs")),
    "a pool of theirs alone": ([a_body("mine"), theirs(**with_pool("a"))], meet("theirs")),
    "pools that meet": (
        [a_body("mine", **with_pool("a", "b")), theirs(**with_pool("b", "c"))],
        meet("theirs"),
    ),
    "pools apart": ([a_body("mine", **with_pool("a")), theirs(**with_pool("b"))], APART),
    "some meet": (
        [
            a_body("mine", **with_pool("a")),
            theirs("one", **with_pool("b")),
            theirs("two", **with_pool("a")),
        ],
        meet("two"),
    ),
    "many": (
        [a_body("mine", **with_pool("a")), *(theirs(name) for name in "dcbae")],
        meet("a", "b", "c", more=" and 2 more"),
    ),
    "two of ours": (
        [a_body("mine", **with_pool("a")), a_body("other", **with_pool("a"))],
        None,
    ),
    "nothing decides": ([a_body("mine", preset="Best"), theirs()], None),
    "the former revision decides": (
        [a_body("mine", **with_pool("a")), theirs(), a_body("mine", generation=2, preset="Best")],
        meet("theirs"),
    ),
    "theirs is bad": ([a_body("mine"), theirs(preset="Best")], ALL),
}


@pytest.mark.parametrize("case", CASES)
def test_shared_nodes(case: str) -> None:
    """Told, and no fault: Ready is what it would be otherwise."""
    bodies, want = CASES[case]
    world = World()
    for body in bodies:
        world.see(body)
    assert world.told("NodesShared") == want
    bad = any(body["spec"].get("preset") for body in bodies if body["metadata"]["name"] == "mine")
    assert ((world.told("Ready") or ("",))[0] == "True") is not bad


def test_shared_nodes_follow_what_others_do() -> None:
    """Their pools change, by a PluginConfig too; their profiles go, or become ours."""
    world = World()
    args = with_pool("a")["pluginConfig"][0]["args"]
    by_reference: dict[str, Any] = {
        "pluginConfig": [{"name": "NodeAffinity", "configRef": {"name": "pool"}}]
    }
    world.see(a_body("mine", **with_pool("a")), theirs(**with_pool("a")))
    seen = [world.told("NodesShared")]
    steps: list[dict[str, Any]] = [
        theirs(generation=2, **with_pool("b")),
        theirs(generation=3, **by_reference),
        a_config("pool", plugin="NodeAffinity", **with_pool("b")["pluginConfig"][0]["args"]),
        a_config("pool", generation=2, plugin="NodeAffinity", **args),
        a_body("mine", generation=2, **with_pool("c")),
    ]
    for body in steps:
        world.see(body)
        seen.append(world.told("NodesShared"))
    shared = meet("theirs")
    assert seen == [shared, APART, shared, APART, shared, APART]
    world.see(theirs("other", **with_pool("c")))
    assert world.told("NodesShared") == meet("other")
    world.gone("other")
    assert world.told("NodesShared") == APART
    world.see(theirs(generation=4, controllerName="moorage"))
    assert world.told("NodesShared") is None


def test_no_more_is_kept_than_is_asked_for() -> None:
    """However often a profile's pool is edited."""
    world = World()
    world.see(theirs(), a_body("mine"))
    shared = world.engine.shared_nodes
    for i in range(MAX_KEPT + 5):
        shared._names(stated_pool(a_body("p", **with_pool(str(i)))).pool({}))
    assert len(shared._sharing) <= MAX_KEPT
