"""Plugins from outside the tree in a running engine: their faults are told and harm nobody else,
and one that hung is left out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, cast

import numpy as np
import pytest

from moorage.api.bodies import Body
from moorage.core.framework.cluster_events import ActionType, ClusterEventWithHint
from moorage.core.framework.guard import guarded
from moorage.core.framework.interfaces import ExtensionPoint, Plugin, PreFilterResult, ReserveResult
from moorage.core.framework.post_filter_contract import PostFilterResult
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.scalar import as_columnar
from moorage.core.framework.status import SUCCESS, Code, Status
from moorage.core.objects.meta import ObjectMeta, Struct
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.binding.actors.contract import ActorTools, PermitWait
from moorage.engine.binding.actors.guarded import guarded_actor
from moorage.engine.profiles.required_rights import rights_to
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Conflict, Retryable
from moorage.ports.stored_kinds import kind_of
from tests.builders import make_pod
from tests.engine.running import TRIED_AGAIN, Running, make_tools
from tests.engine.worlds import a_body, a_config, versioned
from tests.fakes.guards import RecordingGuard
from tests.fakes.kube import InMemoryKube


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


WITH = {"multiPoint": {"enabled": [{"name": "Strange"}]}}


class Mood:
    """Whether the plugin is well; shared by all its instances."""

    def __init__(self) -> None:
        self.bad = True


def moody(method: str, good: Any, mood: Mood) -> type[Plugin]:
    """A plugin with one method (and what that needs) that raises while its mood is bad."""

    def answering(*args: Any) -> Any:
        if mood.bad:
            raise ValueError("unwell")
        return good(*args) if callable(good) else good

    needed = {
        "pre_score": {"score": zeros},
        "sign_pod": {"pre_filter": lambda *_: PreFilterResult(SUCCESS)},
    }.get(method, {})
    body: dict[str, Any] = {
        "name": "Strange",
        "events_to_register": (),
        "reads": frozenset(),
        "explain": lambda *_: (),
        **needed,
        method: answering,
    }
    return cast("type[Plugin]", type("Strange", (), body))


async def look_around(running: Running) -> None:
    """What the replica monitor does every 20 s, and what follows from it."""
    await running.clock.advance(30)
    await running.engine.replica_monitor.check_once()
    await running.clock.advance(3)


def zeros(_plugin: Any, _state: Any, snapshot: Any, rows: Any) -> Any:
    """A zero for each row."""
    return np.zeros(snapshot.nodes.live[rows].size, np.int64)


@pytest.mark.parametrize(
    ("method", "good", "point"),
    [
        ("pre_filter", PreFilterResult(SUCCESS), "preFilter"),
        ("filter", zeros, "filter"),
        ("sign_pod", b"", "preFilter"),
        ("pre_score", PreFilterResult(SUCCESS), "preScore"),
        ("score", zeros, "score"),
        ("reserve", ReserveResult(SUCCESS), "reserve"),
    ],
)
@in_a_loop
async def test_a_fault_fails_the_attempt(method: str, good: Any, point: str) -> None:
    """With a reason that names the plugin, and nothing left assumed; other profiles' pods are
    bound, and this one once it is well.
    """
    mood, guard = Mood(), RecordingGuard()
    running = Running(
        specs=(PluginSpec("Strange", guarded(moody(method, good, mood), guard), guard=guard),)
    )
    async with running.leading(a_body("strange", plugins=WITH), a_body("plain")):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        running.kube.put(make_pod("q", scheduler_name="plain"))
        await running.clock.advance(0.5)
        assert (running.node("p"), bool(running.node("q")), running.assumed) == ("", True, 0)
        said = f'plugin "Strange" 1.0 failed at {point}: ValueError: unwell'
        assert guard.recorded[0] == said
        assert all(said in note for note in running.notes("FailedScheduling", "p"))
        conditions = running.kube.pods["uid-p"].status.conditions or ()
        assert [condition.reason for condition in conditions] == ["SchedulerError"]
        mood.bad = False
        await running.clock.advance(TRIED_AGAIN)
        assert running.node("p")


@in_a_loop
async def test_a_post_filter_that_fails() -> None:
    """A pod that fits nowhere, with a plugin that was to make room and fails."""
    guard = RecordingGuard()
    running = Running(
        specs=(
            PluginSpec(
                "Strange",
                guarded(moody("post_filter", PostFilterResult(SUCCESS), Mood()), guard),
                guard=guard,
            ),
        )
    )
    plugins = {"postFilter": {"enabled": [{"name": "Strange"}], "disabled": [{"name": "*"}]}}
    async with running.leading(a_body("strange", plugins=plugins)):
        running.kube.put(make_pod("p", scheduler_name="strange", cpu="100"))
        await running.clock.advance(0.5)
        assert any(
            'plugin "Strange" 1.0 failed at postFilter' in note
            for note in running.notes("FailedScheduling", "p")
        )


@in_a_loop
async def test_a_gate_that_fails() -> None:
    """The pod stays gated and is told by whom."""
    mood, guard = Mood(), RecordingGuard()
    running = Running(
        specs=(
            PluginSpec("Strange", guarded(moody("pre_enqueue", SUCCESS, mood), guard), guard=guard),
        )
    )
    async with running.leading(a_body("strange", plugins=WITH)):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        await running.clock.advance(0.5)
        entry = running.engine.queue.get("uid-p")
        assert entry is not None
        assert entry.state is QueueState.GATED
        assert running.notes("FailedScheduling", "p") == [
            'plugin "Strange" 1.0 failed at preEnqueue: ValueError: unwell'
        ]


# ---- actors --------------------------------------------------------------------------------------


class Actor:
    """Does at each step what a test has put there."""

    def __init__(self, tools: ActorTools) -> None:
        self.tools = tools
        self.steps: dict[str, Callable[[], Any]] = {}

    async def permit(self, pod: Pod, node: str, reserved: Any) -> Any:
        """As told."""
        return await self._step("permit", SUCCESS)

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """As told."""
        await self._step("pre_bind", None)

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Any:
        """As told."""
        return await self._step("bind", Status(Code.SKIP))

    async def post_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """As told."""
        await self._step("post_bind", None)

    async def _step(self, step: str, usual: Any) -> Any:
        await asyncio.sleep(0)
        return self.steps[step]() if step in self.steps else usual


ARGUMENTS = (make_pod("p"), "n1", None)


def acting(**steps: Callable[[], Any]) -> tuple[Any, RecordingGuard]:
    """A guarded actor that does this."""
    guard = RecordingGuard()
    actor = Actor(make_tools(InMemoryKube()))
    actor.steps = steps
    return guarded_actor(lambda _: actor, guard)(actor.tools), guard


def raising(error: BaseException) -> Callable[[], Any]:
    """Raise it."""

    def step() -> Any:
        raise error

    return step


@pytest.mark.parametrize("step", ["permit", "pre_bind", "bind", "post_bind"])
@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), StopIteration(5)], ids=repr)
@in_a_loop
async def test_an_actor_that_raises(step: str, error: BaseException) -> None:
    """Its fault, and never the end of the process."""
    actor, guard = acting(**{step: raising(error)})
    with pytest.raises(Exception, match=r'plugin "Strange" 1\.0 failed at') as caught:
        await getattr(actor, step)(*ARGUMENTS)
    assert (guard.recorded, guard.inside) == ([str(caught.value)], 0)


@pytest.mark.parametrize(
    "error", [Conflict("PATCH", 409), Retryable("PATCH", outcome_unknown=True)], ids=repr
)
@in_a_loop
async def test_refusals_of_the_api_server_pass(error: Exception) -> None:
    """The binder settles them; they are no fault."""
    actor, guard = acting(bind=raising(error))
    with pytest.raises(type(error)):
        await actor.bind(*ARGUMENTS)
    assert guard.recorded == []


@pytest.mark.parametrize(
    ("step", "answer", "want"),
    [
        ("permit", None, "gave NoneType instead of a Status"),
        ("permit", Status(Code.SKIP), "gave the status Skip"),
        ("bind", True, "gave bool instead of a Status"),
        ("bind", PermitWait(1), "gave PermitWait instead of a Status"),
    ],
)
@in_a_loop
async def test_an_actor_that_answers_nonsense(step: str, answer: Any, want: str) -> None:
    """Found out at its door."""
    actor, _ = acting(**{step: lambda: answer})
    with pytest.raises(Exception, match=want):
        await getattr(actor, step)(*ARGUMENTS)


@pytest.mark.parametrize(
    ("step", "answer"), [("permit", PermitWait(1)), ("permit", SUCCESS), ("bind", SUCCESS)]
)
@in_a_loop
async def test_what_means_something_passes(step: str, answer: Any) -> None:
    """Unchanged; the guard stands around the steps only, not around the wait between them."""
    actor, guard = acting(**{step: lambda: answer})
    running = asyncio.ensure_future(getattr(actor, step)(*ARGUMENTS))
    await asyncio.sleep(0)
    assert guard.inside == 0
    assert await running == answer
    assert len(guard.entered) == 4  # made, called, and a step on each side of the await


@in_a_loop
async def test_a_cancellation_reaches_the_actor() -> None:
    """It may clean up behind it."""
    seen = []

    class Waiting:
        async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

    guard = RecordingGuard()
    actor: Any = guarded_actor(lambda _: Waiting(), guard)(make_tools(InMemoryKube()))
    task = asyncio.ensure_future(actor.pre_bind(*ARGUMENTS))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (seen, guard.inside, guard.recorded) == (["cancelled"], 0, [])


# ---- postFilter actions --------------------------------------------------------------------------


class Opener:
    """Opens the cluster for a pod, or fails at it."""

    def __init__(self, mood: Mood) -> None:
        self.mood = mood
        self.done: list[tuple[str, object]] = []

    async def run_action(self, pod: Pod, action: object) -> None:
        """As asked."""
        if self.mood.bad:
            raise ValueError("unwell")
        self.done.append((pod.metadata.name, action))


def asking(guard: RecordingGuard, acts_at: frozenset[ExtensionPoint]) -> PluginSpec:
    """A plugin of a package whose postFilter wants something done."""
    mood = Mood()
    mood.bad = False
    decider = moody("post_filter", PostFilterResult(SUCCESS, action="open"), mood)
    return PluginSpec("Strange", guarded(decider, guard), acts_at=acts_at, guard=guard)


POST_FILTER_ALONE = {"postFilter": {"enabled": [{"name": "Strange"}], "disabled": [{"name": "*"}]}}


@in_a_loop
async def test_an_action_after_post_filter(caplog: pytest.LogCaptureFixture) -> None:
    """Its actor does it; what that raises is the plugin's fault, and the pod is tried again."""
    guard, opener = RecordingGuard(), Opener(Mood())
    spec = asking(guard, frozenset({ExtensionPoint.POST_FILTER}))
    running = Running(specs=(spec,), actors={"Strange": guarded_actor(lambda _: opener, guard)})
    async with running.leading(a_body("strange", plugins=POST_FILTER_ALONE)):
        running.kube.put(make_pod("p", scheduler_name="strange", cpu="100"))
        await running.clock.advance(0.5)
        said = 'plugin "Strange" 1.0 failed at postFilter: ValueError: unwell'
        assert guard.recorded[0] == said
        told = f"running PostFilter plugin Strange: {said}"
        assert "failed with a bug" not in caplog.text
        assert told in running.notes("FailedScheduling", "p")[0]
        opener.mood.bad = False
        await running.clock.advance(TRIED_AGAIN)
        assert opener.done[0] == ("p", "open")


@in_a_loop
async def test_an_action_without_an_actor() -> None:
    """The pod is told which plugin lacks it."""
    running = Running(specs=(asking(RecordingGuard(), frozenset()),))
    async with running.leading(a_body("strange", plugins=POST_FILTER_ALONE)):
        running.kube.put(make_pod("p", scheduler_name="strange", cpu="100"))
        await running.clock.advance(0.5)
        assert (
            "plugin 'Strange' wants an action and has no actor"
            in (running.notes("FailedScheduling", "p")[0])
        )


# ---- resources of others -------------------------------------------------------------------------


class Rack(Struct, frozen=True):
    """A custom resource."""

    resource: ClassVar[str] = "racks.v1.example.com"
    metadata: ObjectMeta
    open: bool = True


@dataclasses.dataclass(frozen=True)
class Racks:
    """Lets pods in while there is an open rack."""

    name: ClassVar[str] = "Strange"
    required_kinds: ClassVar[frozenset[type]] = frozenset({Rack})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(
            Rack.resource,
            ActionType.ADD | ActionType.UPDATE,
            lambda pod, event, store: cast("Rack", event.new).open,
        ),
    )

    def prepare(self, _pod: Pod, store: Any) -> bool:
        """Whether there is one."""
        return any(rack.open for rack in store.objects(Rack).values())

    def filter_node(self, _pod: Pod, _node: Node, opened: bool) -> str | None:
        """The same for all nodes."""
        return None if opened else "no rack is open"


def racks() -> tuple[PluginSpec, RecordingGuard]:
    """The plugin as a package would bring it."""
    guard = RecordingGuard()
    return PluginSpec("Strange", guarded(as_columnar(Racks, guard), guard), guard=guard), guard


@in_a_loop
async def test_a_declared_resource_is_kept_and_wakes() -> None:
    """A pod that was refused goes on when the object comes that its plugin asked for, and not for
    one that its hint denies.
    """
    spec, _ = racks()
    running = Running(specs=(spec,))
    async with running.leading(a_body("strange", plugins=WITH)):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        await running.clock.advance(60)
        attempts = len(running.notes("FailedScheduling", "p"))
        assert "no rack is open" in running.notes("FailedScheduling", "p")[-1]
        sink = running.engine.stored_object_sinks[kind_of(Rack)]
        sink.put(versioned(Rack(ObjectMeta(name="r1", uid="r1"), open=False)))
        await running.clock.advance(60)
        assert len(running.notes("FailedScheduling", "p")) == attempts
        sink.put(versioned(Rack(ObjectMeta(name="r1", uid="r1"))))
        await running.clock.advance(TRIED_AGAIN)
        assert running.node("p")


@in_a_loop
async def test_a_right_that_lacks_is_named() -> None:
    """Only for the profile whose plugin reads the resource."""
    assert rights_to(kind_of(Rack)) == (
        AccessRight("list", "example.com", "racks", home=False),
        AccessRight("watch", "example.com", "racks", home=False),
    )
    spec, _ = racks()
    running = Running(specs=(spec,))
    running.kube.forbidden.add(("watch", "example.com", "racks"))
    async with running.leading(a_body("strange", plugins=WITH), a_body("plain")):
        await look_around(running)
        permitted = {
            name: next(
                c
                for c in running.kube.statuses["SchedulerProfile", name]["conditions"]
                if c["type"] == "Permitted"
            )
            for name in ("strange", "plain")
        }
        assert (permitted["strange"]["status"], permitted["strange"]["reason"]) == (
            "False",
            "RBACMissing",
        )
        assert permitted["strange"]["message"] == "watch racks.example.com"
        assert permitted["plain"]["status"] == "True"


# ---- quarantine ----------------------------------------------------------------------------------


def plain(version: str = "1.0") -> PluginSpec:
    """A plugin of a package at this version, that passes all nodes."""
    guard = RecordingGuard()
    guard.version = version
    mood = Mood()
    mood.bad = False
    return PluginSpec("Strange", guarded(moody("filter", zeros, mood), guard), guard=guard)


def accepted(running: Running, profile: str) -> tuple[str, str]:
    """Status and reason of Accepted, as the API server has it."""
    found = next(
        c
        for c in running.kube.statuses["SchedulerProfile", profile]["conditions"]
        if c["type"] == "Accepted"
    )
    return found["status"], found["reason"]


@in_a_loop
async def test_a_plugin_that_hung_is_left_out() -> None:
    """Known before this replica decides: its profile decides nothing and says why, its pods are
    told, others go on.
    """
    running = Running(specs=(plain(),))
    running.kube.quarantine = {"Strange": "1.0"}
    await running.engine.restore()
    async with running.leading(a_body("strange", plugins=WITH), a_body("plain")):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        running.kube.put(make_pod("q", scheduler_name="plain"))
        await running.clock.advance(2)
        assert (running.node("p"), bool(running.node("q"))) == ("", True)
        assert accepted(running, "strange") == ("False", "PluginQuarantined")
        assert accepted(running, "plain") == ("True", "Valid")
        (note,) = running.notes("FailedScheduling", "p")
        assert "moorage.dev/quarantine" in note
        assert "cannot be served any more" in note


@pytest.mark.parametrize(
    ("record", "version"),
    [
        pytest.param({"Strange": "1.0"}, "1.1", id="another version"),
        pytest.param({"Other": "1.0"}, "1.0", id="another plugin"),
        pytest.param({"NodeName": ""}, "1.0", id="a plugin of the tree"),
        pytest.param({}, "1.0", id="nothing"),
    ],
)
@in_a_loop
async def test_what_is_not_meant(record: dict[str, str], version: str) -> None:
    """The record is about one plugin at one version."""
    running = Running(specs=(plain(version),))
    running.kube.quarantine = record
    await running.engine.restore()
    async with running.leading(a_body("strange", plugins=WITH)):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        await running.clock.advance(2)
        assert running.node("p")


@in_a_loop
async def test_it_is_lifted_when_the_record_says_so_no_more() -> None:
    """Within a look around, and without a restart; and put back likewise, when another replica
    hung.
    """
    running = Running(specs=(plain(),))
    running.kube.quarantine = {"Strange": "1.0"}
    await running.engine.restore()
    async with running.leading(a_body("strange", plugins=WITH)):
        running.kube.put(make_pod("p", scheduler_name="strange"))
        await running.clock.advance(30)
        assert running.node("p") == ""
        running.kube.quarantine = {}
        await look_around(running)
        assert (bool(running.node("p")), accepted(running, "strange")) == (True, ("True", "Valid"))
        running.kube.quarantine = {"Strange": "1.0"}
        await look_around(running)
        running.kube.put(make_pod("q", scheduler_name="strange"))
        await running.clock.advance(5)
        assert (running.node("q"), accepted(running, "strange")) == (
            "",
            ("False", "PluginQuarantined"),
        )
        assert "strange" not in running.engine.live


@in_a_loop
async def test_a_last_good_revision_without_the_plugin_goes_on() -> None:
    """The newest stored one that does not have it is taken up again, and one that has it is not."""
    first = Running(specs=(plain(),))
    async with first.leading(a_body("strange")):
        first.engine.profile_changed("strange", a_body("strange", generation=2, plugins=WITH))
        await first.clock.advance(2)
        assert "Strange" in first.engine.live["strange"].points[ExtensionPoint.FILTER]
    second = Running(kube=first.kube, specs=(plain(),))
    second.kube.quarantine = {"Strange": "1.0"}
    await second.engine.restore()
    async with second.leading(a_body("strange", generation=2, plugins=WITH)):
        second.kube.put(make_pod("p", scheduler_name="strange"))
        await second.clock.advance(2)
        assert "Strange" not in second.engine.live["strange"].points[ExtensionPoint.FILTER]
        assert second.node("p")


@in_a_loop
async def test_its_arguments_are_not_looked_at() -> None:
    """A plugin may hang there too: a PluginConfig for it says so instead."""
    running = Running(specs=(plain(),))
    running.kube.quarantine = {"Strange": "1.0"}
    await running.engine.restore()
    body: Body = a_config("c", plugin="Strange", unknown=1)
    assert [error.reason for error in running.engine.swapper.config_results.of("c", body)[0]] == [
        "PluginQuarantined"
    ]
    running.kube.quarantine = {}
    await running.engine.quarantine.refresh()
    assert [error.reason for error in running.engine.swapper.config_results.of("c", body)[0]] == [
        "InvalidPluginArgs"
    ]
