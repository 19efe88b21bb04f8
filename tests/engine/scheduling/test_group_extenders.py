"""Extenders are asked about members of PodGroups, one by one; the group waits without being in the
way of others, and goes as one whatever they answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moorage.core.framework.extenders import ExtenderFilterResult
from moorage.ports.errors import Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.scheduling.test_extender_cycles import DECIDES, a_profile, only, run
from tests.engine.scheduling.test_pod_groups import come, condition, group, member, message, placed
from tests.fakes.clocks import settle
from tests.fakes.extenders import ExtenderCall

BROKEN = Retryable("extender https://x failed: broken")
LONG = 15.0
"""Seconds, more than any backoff."""


def no_node_for(name: str) -> Callable[[ExtenderCall], ExtenderFilterResult]:
    """A filter that strikes out one pod."""

    def says(asked: ExtenderCall) -> ExtenderFilterResult:
        if asked.pod == name:
            return ExtenderFilterResult((), dict.fromkeys(asked.about.names, "not this one"), {})
        return ExtenderFilterResult(tuple(asked.about.names), {}, {})

    return says


def test_each_member_goes_where_extenders_say() -> None:
    """Filter and prioritize are asked about each."""

    async def story(world: Running) -> None:
        world.extenders.answers["filter"] = only("n2", "n3")
        world.extenders.answers["prioritize"] = lambda _: (("n2", 1), ("n3", 10))
        come(world, group(2), member("a"), member("b"))
        await world.clock.advance(LONG)
        assert (world.node("a"), world.node("b")) == ("n3", "n3")
        assert world.extenders.verbs("a") == ["filter", "prioritize"]
        assert condition(world) == ("True", "")

    run(story, a_profile(DECIDES), nodes=3)


def test_a_member_that_extenders_strike_out_keeps_a_gang() -> None:
    """Nobody is bound, and each is told why."""

    async def story(world: Running) -> None:
        world.extenders.answers["filter"] = no_node_for("b")
        come(world, group(2), member("a"), member("b"))
        await world.clock.advance(LONG)
        assert (placed(world, "ab"), world.assumed) == ("", 0)
        assert "2 not this one" in message(world, "b")
        assert condition(world)[0] == "False"
        del world.extenders.answers["filter"]
        await world.clock.advance(LONG)
        assert placed(world, "ab") == "ab"

    run(story, a_profile(DECIDES))


def test_members_beyond_the_minimum_may_be_struck_out() -> None:
    """The others go without them."""

    async def story(world: Running) -> None:
        world.extenders.answers["filter"] = no_node_for("b")
        come(world, group(2), *map(member, "abc"))
        await world.clock.advance(LONG)
        assert placed(world, "abc") == "ac"

    run(story, a_profile(DECIDES))


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_that_dies_in_the_middle(ignorable: bool) -> None:
    """It is the group's error, with what the extender said, unless the extender does not matter;
    once it answers again the group goes.
    """

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        world.extenders.fail("filter", BROKEN)
        gate.set()
        await settle(120)
        if ignorable:
            assert placed(world, "ab") == "ab"
            return
        assert (placed(world, "ab"), world.assumed) == ("", 0)
        assert str(BROKEN) in message(world, "b")
        assert str(BROKEN) in condition(world)[1]
        await world.clock.advance(LONG)
        assert placed(world, "ab") == "ab"

    run(story, a_profile({"filterVerb": "f", "ignorable": ignorable}))


def test_others_are_decided_while_a_group_waits_for_an_answer() -> None:
    """Pods and groups of another profile, and the loop sleeps meanwhile."""

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        other = {"scheduler_name": "other"}
        come(world, make_pod("x", **other), group(2, "h"))
        come(world, *(member(name, "h", cpu="100m", **other) for name in "yz"))
        await world.clock.advance(3.0)
        assert placed(world, "abxyz") == "xyz"
        assert not world.engine.loop.can_go_on
        gate.set()
        await settle(120)
        assert placed(world, "ab") == "ab"

    run(story, a_profile({"filterVerb": "f"}), a_profile(name="other"), nodes=3)


def test_room_that_others_take_meanwhile_is_not_given_twice() -> None:
    """Extenders are asked anew, and nobody is bound where there is no room."""

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        come(world, make_pod("big", cpu="3", node="n1"), make_pod("large", cpu="3", node="n2"))
        gate.set()
        await settle(120)
        assert (placed(world, "ab"), world.assumed) == ("", 0)
        come(world, make_node("n3"))
        await world.clock.advance(LONG)
        assert (world.node("a"), world.node("b")) == ("n3", "n3")

    run(story, a_profile({"filterVerb": "f"}))


def test_a_suspended_profile_takes_its_group_back() -> None:
    """Its members are held, and nothing of them stays assumed."""

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        world.engine.profile_changed("test", a_profile(DECIDES, generation=2, suspend=True))
        await world.clock.advance(TRIED_AGAIN)
        gate.set()
        await world.clock.advance(TRIED_AGAIN)
        assert (placed(world, "ab"), world.assumed) == ("", 0)
        world.engine.profile_changed("test", a_profile(DECIDES, generation=3))
        await world.clock.advance(TRIED_AGAIN)
        assert placed(world, "ab") == "ab"

    run(story, a_profile(DECIDES))


def test_a_swap_meanwhile_begins_the_group_anew() -> None:
    """By the revision that is live then."""

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        world.engine.profile_changed("test", a_profile(DECIDES, generation=2, preset="Spread"))
        await world.clock.advance(1)
        gate.set()
        await world.clock.advance(LONG)
        assert placed(world, "ab") == "ab"
        assert "prioritize" in world.extenders.verbs("a")

    run(story, a_profile({"filterVerb": "f"}))


def test_a_member_that_goes_while_it_is_asked_about() -> None:
    """The group is one short, and nothing stays assumed."""

    async def story(world: Running) -> None:
        gate = world.extenders.hold("filter")
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        world.kube.delete(world.kube.pods["uid-b"])
        await settle(60)
        gate.set()
        await world.clock.advance(LONG)
        assert (placed(world, "a"), world.assumed) == ("", 0)
        come(world, member("c"))
        await world.clock.advance(LONG)
        assert placed(world, "ac") == "ac"

    run(story, a_profile({"filterVerb": "f"}))


def test_a_topology_is_asked_about_alone() -> None:
    """About the nodes of a placement, and no others."""

    async def story(world: Running) -> None:
        for name, rack in (("r1", "one"), ("r2", "two")):
            come(world, make_node(name, labels={"rack": rack}))
        world.extenders.answers["filter"] = only("r2")
        topology: dict[str, Any] = {"topology": [{"key": "rack"}]}
        come(world, group(2, schedulingConstraints=topology), member("a"), member("b"))
        await world.clock.advance(LONG)
        assert (world.node("a"), world.node("b")) == ("r2", "r2")
        assert {tuple(call.about.names) for call in world.extenders.calls} == {("r1",), ("r2",)}

    run(story, a_profile({"filterVerb": "f"}), nodes=0)


def test_nobody_is_displaced_where_extenders_would_have_to_be_asked() -> None:
    """The group says so."""

    async def story(world: Running) -> None:
        come(world, make_pod("low", cpu="3", node="n1", priority=0))
        pods = [member(name, priority=10) for name in "ab"]
        come(world, group(2, priority=10), *pods)
        await world.clock.advance(LONG)
        assert "uid-low" in world.kube.pods
        assert "extenders are not asked" in condition(world)[1]

    run(story, a_profile(DECIDES), nodes=1)
