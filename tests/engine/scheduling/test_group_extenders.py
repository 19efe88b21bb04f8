"""Extenders are asked about members of PodGroups, one by one; the group waits without being in the
way of others, and goes as one whatever they answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.framework.extenders import ExtenderFilterResult, MetaVictims
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Container, Pod, ResourceRequirements
from moorage.engine.scheduling.extender_cycles import REQUEUE_INTERVAL_SECONDS
from moorage.ports.errors import Retryable
from tests.builders import make_node, make_pod
from tests.engine.running import TRIED_AGAIN, Running
from tests.engine.scheduling.test_extender_cycles import (
    ANYWHERE,
    BINDER,
    DECIDES,
    Counting,
    a_profile,
    binds,
    only,
    run,
)
from tests.engine.scheduling.test_pod_groups import come, condition, group, member, message, placed
from tests.fakes.clocks import settle
from tests.fakes.extenders import ExtenderCall

BROKEN = Retryable("extender https://x failed: broken")
PREFERS = {"prioritizeVerb": "p", "weight": 1}
LONG = 15.0
"""Seconds, more than any backoff."""
AGAIN = REQUEUE_INTERVAL_SECONDS + LONG
"""Seconds after which a group is tried again though nothing has happened."""


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


# ---- whose business a member is ------------------------------------------------------------------


def gpu(name: str) -> Pod:
    """A member that wants a device of an extender."""
    pod = member(name)
    resources = ResourceRequirements(requests={"cpu": "2", "example.com/gpu": "1"})
    spec = msgspec.structs.replace(pod.spec, containers=(Container("c", resources=resources),))
    return msgspec.structs.replace(pod, spec=spec)


MANAGED = {"managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}]}


def test_an_extender_is_asked_about_members_that_want_what_it_manages() -> None:
    """The others are placed without it, and bound by plugins; all go together or nobody does."""

    async def story(world: Running) -> None:
        world.extenders.answers = {"filter": no_node_for("b"), "bind": binds(world)}
        come(world, group(3), member("a"), gpu("b"), member("c"))
        await world.clock.advance(LONG)
        assert (placed(world, "abc"), world.assumed) == ("", 0)
        world.extenders.answers["filter"] = only("n2")
        await world.clock.advance(2 * LONG)
        assert (placed(world, "abc"), world.node("b")) == ("abc", "n2")
        assert {call.pod for call in world.extenders.calls} == {"b"}
        assert set(world.kube.bindings) == {"a", "c"}

    run(story, a_profile({**DECIDES, **MANAGED, "bindVerb": "b"}))


# ---- binding -------------------------------------------------------------------------------------


def test_an_extender_binds_members() -> None:
    """Once enough of them have their nodes, and not before."""

    async def story(world: Running) -> None:
        world.extenders.answers["bind"] = binds(world)
        come(world, group(3), member("a"), member("b"))
        await world.clock.advance(LONG)
        assert world.extenders.calls == []
        come(world, member("c"))
        await world.clock.advance(LONG)
        assert (placed(world, "abc"), world.kube.bindings) == ("abc", {})
        assert sorted(call.pod for call in world.extenders.calls) == ["a", "b", "c"]
        assert condition(world) == ("True", "")

    run(story, a_profile(BINDER))


@pytest.mark.parametrize("ignorable", [True, False])
def test_a_member_that_an_extender_does_not_bind(ignorable: bool) -> None:
    """Others of its group are bound and stay; it is tried again alone, once at once and then after
    a backoff, or bound by plugins where the extender does not matter.
    """

    async def story(world: Running) -> None:
        bind = binds(world)
        failures = [BROKEN, BROKEN]

        def says(asked: ExtenderCall) -> None:
            if asked.pod == "b" and failures:
                raise failures.pop()
            bind(asked)

        world.extenders.answers["bind"] = says
        come(world, group(3), *map(member, "abc"))
        await settle(200)
        if ignorable:
            assert (placed(world, "abc"), set(world.kube.bindings)) == ("abc", {"b"})
            return
        assert (placed(world, "abc"), world.assumed) == ("ac", 0)
        note = world.notes("GangIncomplete", "b")[-1]
        assert "2 members are bound (minMember 3), 'b' is not: binding rejected" in note
        assert condition(world)[0] != "True"
        await world.clock.advance(LONG)
        assert (placed(world, "abc"), condition(world)) == ("abc", ("True", ""))
        assert [call.pod for call in world.extenders.calls].count("b") == 3

    run(story, a_profile({**BINDER, "ignorable": ignorable}))


# ---- room for a group ----------------------------------------------------------------------------

URGENT: dict[str, Any] = {"priority": 10}


def urgent(*names: str) -> list[Pod]:
    """Members of a group that others give way to."""
    return [member(name, **URGENT) for name in names]


def low(name: str, node: str, cpu: str = "2", **spec: Any) -> Pod:
    """A pod that runs."""
    return make_pod(name, cpu=cpu, node=node, **{"priority": 0, **spec})


def going(world: Running) -> str:
    """The pods that are told to go."""
    pods = world.kube.pods.values()
    return " ".join(
        sorted(pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is not None)
    )


def test_extenders_say_where_room_is_made_and_who_goes() -> None:
    """Victims are those that they name, on nodes that they let members go to."""

    async def story(world: Running) -> None:
        come(world, low("x", "n1"), low("y", "n1"), low("z", "n2"), low("w", "n2", priority=5))
        world.extenders.answers["filter"] = only("n2")
        come(world, group(1, **URGENT), *urgent("a"))
        await world.clock.advance(1.0)
        assert going(world) == "z"
        assert "found a placement for podgroup, preempting 1 victims" in condition(world)[1]
        world.kube.delete(world.kube.pods["uid-z"])
        await world.clock.advance(LONG)
        assert world.node("a") == "n2"
        world.extenders.answers["preempt"] = lambda asked: {
            node: MetaVictims(("uid-w",), 0) for node in asked.about
        }
        come(world, group(1, "h", priority=9), member("b", "h", priority=9))
        await world.clock.advance(1.0)
        assert going(world) == "w"

    run(story, a_profile(DECIDES))


@pytest.mark.parametrize("verb", ["filter", "preempt"])
def test_nobody_goes_if_extenders_would_not_have_it(verb: str) -> None:
    """Neither if they let members go nowhere, nor if they spare those that are in the way; as soon
    as they have changed their mind the group has its room.
    """

    async def story(world: Running) -> None:
        come(world, low("x", "n1", "4"))
        refusing = {"filter": only(), "preempt": lambda _: {}}
        world.extenders.answers[verb] = refusing[verb]
        come(world, group(2, **URGENT), *urgent("a", "b"))
        await world.clock.advance(LONG)
        assert (going(world), world.assumed) == ("", 0)
        says = {"filter": "cannot be satisfied", "preempt": "extenders let nobody go from node"}
        assert says[verb] in condition(world)[1]
        del world.extenders.answers[verb]
        await world.clock.advance(AGAIN)
        assert going(world) == "x"

    run(story, a_profile(DECIDES), nodes=1)


@pytest.mark.parametrize("ignorable", [True, False])
@pytest.mark.parametrize("verb", ["filter", "preempt"])
def test_an_extender_that_fails_while_room_is_made(verb: str, ignorable: bool) -> None:
    """Nobody goes, and the group says why, until it answers again; one that does not matter is
    left out.
    """

    async def story(world: Running) -> None:
        come(world, low("x", "n1", "4"))
        world.extenders.fail(verb, BROKEN)
        come(world, group(2, **URGENT), *urgent("a", "b"))
        await world.clock.advance(0.5)
        assert going(world) == ("x" if ignorable else "")
        assert (str(BROKEN) in condition(world)[1]) is not ignorable
        await world.clock.advance(LONG)
        assert going(world) == "x"

    run(story, a_profile({**DECIDES, "ignorable": ignorable}), nodes=1)


def test_the_api_server_fails_while_room_is_made() -> None:
    """The group says so, and is tried again."""

    async def story(world: Running) -> None:
        come(world, low("x", "n1", "4"))
        world.kube.fail("pod_json", Retryable("busy"))
        come(world, group(2, **URGENT), *urgent("a", "b"))
        await world.clock.advance(0.5)
        assert (going(world), "could not be asked: busy" in condition(world)[1]) == ("", True)
        await world.clock.advance(LONG)
        assert going(world) == "x"

    run(story, a_profile(DECIDES), nodes=1)


# ---- questions that are withdrawn ----------------------------------------------------------------


def delete_group(world: Running) -> None:
    """The PodGroup and its members go."""
    world.kube.delete(world.kube.others[PodGroup]["default/g"])
    for name in "ab":
        world.kube.delete(world.kube.pods[f"uid-{name}"])


def delete_member(world: Running) -> None:
    """The member goes that is asked about first."""
    world.kube.delete(world.kube.pods["uid-a"])


def swap(world: Running) -> None:
    """Another revision is live."""
    world.engine.profile_changed("test", a_profile(DECIDES, generation=2, preset="Spread"))


def suspend(world: Running) -> None:
    """The profile decides no more."""
    world.engine.profile_changed("test", a_profile(DECIDES, generation=2, suspend=True))


WITHDRAWN = {
    "the group is deleted": (delete_group, ""),
    "a member is deleted": (delete_member, ""),
    "the profile is swapped": (swap, "ab"),
    "the profile is suspended": (suspend, ""),
}


@pytest.mark.parametrize("case", WITHDRAWN)
@pytest.mark.parametrize("making_room", [False, True])
def test_what_withdraws_a_question(case: str, making_room: bool) -> None:
    """Its answer, however late, does nothing: nothing stays assumed, nobody goes for nothing, and
    those that are left are tried as they are then.
    """
    happens, want = WITHDRAWN[case]

    async def story(world: Running) -> None:
        if making_room:
            come(world, low("x", "n1", "4"))
        gate = world.extenders.hold("filter")
        come(world, group(2, **URGENT), *urgent("a", "b"))
        await settle(60)
        revision = world.engine.live.get("test")
        assert revision is not None
        assert world.engine.extender_cycles.count(revision) == 1
        happens(world)
        await world.clock.advance(1.0)
        assert (world.assumed, going(world)) == (0, "")
        gate.set()
        await world.clock.advance(LONG)
        if not making_room:
            assert placed(world, "ab") == want
        assert going(world) == ("x" if making_room and want else "")
        assert world.engine.extender_cycles.count(revision) == 0

    run(story, a_profile({"filterVerb": "f"}), nodes=1)


def test_a_group_that_is_taken_back_withdraws_its_question() -> None:
    """Of two groups that keep each other out the one begun first goes; nobody waits for what the
    other one has asked.
    """

    async def story(world: Running) -> None:
        gates = {verb: world.extenders.hold(verb) for verb in ("filter", "prioritize")}

        def first_only(asked: ExtenderCall) -> ExtenderFilterResult:
            world.extenders.hold("filter")
            return ExtenderFilterResult(asked.about.names, {}, {})

        world.extenders.answers["filter"] = first_only
        come(world, group(4, "h"), *(member(name, "h", scheduler_name="other") for name in "wxyz"))
        await settle(60)
        come(world, group(2), member("a"), member("b"))
        await settle(60)
        gates["filter"].set()
        await settle(60)
        revision = world.engine.live.get("test")
        assert revision is not None
        assert (world.assumed, world.extenders.verbs("b")) == (1, ["filter"])
        assert world.engine.extender_cycles.count(revision) == 1
        gates["prioritize"].set()
        await settle(120)
        assert placed(world, "abwxyz") == "wxyz"
        assert (world.assumed, world.engine.extender_cycles.count(revision)) == (0, 0)

    run(story, a_profile({"filterVerb": "f"}), a_profile(PREFERS, name="other"))


# ---- nodes in full -------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", [False, True])
def test_nodes_are_read_once_for_all_members(changed: bool) -> None:
    """And written as one list once, for as long as the same ones are asked about; again only when
    one has changed otherwise than that its kubelet said that it is well.
    """
    kube = Counting()
    lists = set[int]()

    def says(asked: ExtenderCall) -> ExtenderFilterResult:
        lists.add(id(asked.about))
        node = kube.nodes["n2"]
        later = msgspec.structs.replace(node.metadata, resource_version=f"9{len(lists)}")
        if changed and asked.pod == "b":
            later = msgspec.structs.replace(later, labels={"new": "label"})
        kube.put(msgspec.structs.replace(node, metadata=later))
        return ExtenderFilterResult(asked.about.names, {}, {})

    async def story(world: Running) -> None:
        world.extenders.answers["filter"] = says
        come(world, group(4), *map(member, "abcd"))
        await world.clock.advance(LONG)
        assert placed(world, "abcd") == "abcd"
        assert len(world.extenders.calls) == 8
        assert kube.lists == 1 + changed
        assert len(lists) == 1 + changed

    running = Running(kube=kube, config=ANYWHERE)
    run(story, a_profile({**DECIDES, "nodeCacheCapable": False}), world=running, nodes=4)
