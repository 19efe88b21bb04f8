"""Binding: whatever fails at whatever moment, every assumption ends, no pod is lost, none is bound
twice, and what is told is true.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.framework.status import SKIP, SUCCESS, Code, Status, error_status
from moorage.core.objects.pods import Pod
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.binding.outcome import CALL_LIMIT_SECONDS
from moorage.engine.binding.sender import MAX_RETRIES
from moorage.ports.errors import (
    Conflict,
    Fenced,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    Retryable,
)
from moorage.ports.retrying import MAX_REFUSED_SECONDS
from tests.builders import make_pod
from tests.engine.running import STEPS, TRIED_AGAIN, Running, Steps
from tests.engine.worlds import a_body, on_node, versioned
from tests.fakes.clocks import settle

ERRORS: dict[str, Callable[[], Exception]] = {
    "conflict": lambda: Conflict("POST binding", 409, "Conflict", "no"),
    "not found": lambda: NotFound("POST binding", 404, "", "a proxy's page"),
    "forbidden": lambda: Forbidden("POST binding", 403, "Forbidden", "no"),
    "invalid": lambda: Invalid("POST binding", 422, "Invalid", "no"),
    "not sent": lambda: Retryable("connection refused"),
    "no answer": lambda: Retryable("reset", outcome_unknown=True),
    "expired": lambda: ResourceExpired("410"),
    "fenced": lambda: Fenced("not the leader"),
    "a bug": lambda: ZeroDivisionError("a bug"),
}
RUNNING = {"permit": 'Permit plugin "Steps"', "pre_bind": 'PreBind plugin "Steps"'}
FAILED = error_status("out of order")
ASKED = {"conflict", "not found", "no answer", "a bug"}
"""Errors of a bind plugin after which the pod is asked for: it may be bound."""


@dataclasses.dataclass(frozen=True)
class Case:
    """Where it fails, how, and whether the API server had bound the pod all the same."""

    where: str
    error: str
    done: bool = False

    @property
    def id(self) -> str:
        """For people."""
        return f"{self.where}: {self.error}{', done' if self.done else ''}"

    @property
    def bound_at_once(self) -> bool:
        """Whether the first attempt ends with a bound pod."""
        asked_again = self.where == "bind" and self.error == "not sent"
        return self.where == "post_bind" or asked_again or (self.done and self.error in ASKED)


CASES = [
    Case(where, error) for where in ("permit", "pre_bind", "bind", "post_bind") for error in ERRORS
]
CASES += [Case("bind", error, done=True) for error in sorted(ASKED)]


def script(world: Running, case: Case) -> None:
    """Let it fail once."""
    if case.where == "bind":
        world.kube.fail("bind", ERRORS[case.error](), done=case.done)
    else:
        world.steps.script[case.where].append(ERRORS[case.error]())


@pytest.mark.parametrize("lags", [False, True], ids=["watch at once", "watch behind"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_failure_at_any_step(case: Case, lags: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The pod is bound in the end, once; its assumption ends; people are told of failures, and of
    nothing else.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.silent = lags
            script(world, case)
            if case.where != "bind" or case.error not in ASKED:
                world.kube.fail("pod_node", AssertionError("there was nothing to ask"))
            world.kube.put(make_pod("a"))
            await world.clock.advance(TRIED_AGAIN)
            assert world.assumed == int(lags)
            assert world.engine.queue.get("uid-a") is None
            world.kube.silent = False
            world.kube.relist()
            assert world.kube.bindings.keys() == {"a"}
            assert world.assumed == 0
            assert world.engine.queue.get("uid-a") is None
            assert world.engine.context.cache.pod_info("uid-a") is not None
            assert len(world.notes("Scheduled")) == 1
            assert "a binding task ended with a bug" not in caplog.text
            told = world.notes("FailedScheduling")
            assert len(told) == int(not case.bound_at_once and case.error != "fenced")
            if told:
                plugin = RUNNING.get(case.where, 'Bind plugin "DefaultBinder"')
                error = ERRORS[case.error]()
                text = repr(error) if case.error == "a bug" else str(error)
                assert told == [f"binding rejected: running {plugin}: {text}"]

    asyncio.run(scenario())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_failure_while_the_pod_is_deleted(case: Case) -> None:
    """Nothing is left of the pod, whichever news comes first, and nothing more is told of it."""

    async def scenario() -> None:
        async with Running().leading() as world:
            script(world, case)
            gate = (
                world.kube.hold("bind")
                if case.where == "bind"
                else world.steps.gates.setdefault(case.where, asyncio.Event())
            )
            pod = world.kube.put(make_pod("a"))
            await settle()
            world.kube.delete(pod)
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert len(world.engine.context.cache) == 0
            assert world.engine.queue.get("uid-a") is None
            assert world.notes("FailedScheduling") == []
            assert not [write for write in world.kube.written if write.method == "pod_condition"]

    asyncio.run(scenario())


@pytest.mark.parametrize("where", ["permit", "pre_bind", "bind", "pod_node", "post_bind"])
def test_a_binding_that_is_cancelled(where: str) -> None:
    """Its assumption ends; the pod is queued again unless it was bound already."""

    async def scenario() -> None:
        async with Running().leading() as world:
            if where == "pod_node":
                world.kube.fail("bind", ERRORS["no answer"]())
            gate = (
                world.kube.hold(where)
                if where in ("bind", "pod_node")
                else world.steps.gates.setdefault(where, asyncio.Event())
            )
            world.kube.put(make_pod("a"))
            await settle()
            assert len(world.engine.binder) == 1
            for binding in list(world.engine.binder._bindings):
                assert binding.task is not None
                binding.task.cancel()
            await settle()
            entry = world.engine.queue.get("uid-a")
            assert (entry.state if entry else None) is (
                None if where == "post_bind" else QueueState.BACKOFF
            )
            assert world.assumed == 0
            assert len(world.engine.binder) == 0
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert world.kube.bindings.keys() == {"a"}
            assert len(world.notes("Scheduled")) == 1

    asyncio.run(scenario())


class Stubborn(Steps):
    """An actor whose preBind goes on although it is broken off."""

    async def pre_bind(self, pod: Pod, node: str, reserved: object) -> None:
        """As scripted, or all the same."""
        with contextlib.suppress(asyncio.CancelledError):
            await super().pre_bind(pod, node, reserved)


def test_a_plugin_that_goes_on_although_it_is_broken_off() -> None:
    """Its pod is not bound all the same, and nothing that runs in this task later takes itself for
    cancelled.
    """

    async def scenario() -> None:
        async with Running(steps=Stubborn()).leading() as world:
            gate = world.steps.gates.setdefault("pre_bind", asyncio.Event())
            world.kube.put(make_pod("a"))
            await settle()
            (binding,) = world.engine.binder._bindings
            assert binding.task is not None
            world.engine.profile_changed(
                "test", a_body("test", plugins=STEPS, suspend=True, generation=2)
            )
            await world.clock.advance(1)
            assert (world.kube.bindings, world.assumed, len(world.engine.binder)) == ({}, 0, 0)
            assert binding.task.cancelling() == 0
            gate.set()
            world.engine.profile_changed("test", a_body("test", plugins=STEPS, generation=3))
            await world.clock.advance(TRIED_AGAIN)
            assert world.kube.bindings.keys() == {"a"}

    asyncio.run(scenario())


def test_a_cancellation_at_the_moment_of_another_cause() -> None:
    """It counts as well: the task ends as a cancelled one."""

    async def scenario() -> None:
        async with Running().leading() as world:
            world.steps.gates["pre_bind"] = asyncio.Event()
            world.kube.put(make_pod("a"))
            await settle()
            (binding,) = world.engine.binder._bindings
            assert binding.task is not None
            world.engine.binder.interrupt_all("this replica stops")
            binding.task.cancel()
            await settle()
            assert binding.task.cancelled()
            assert (world.kube.bindings, world.assumed) == ({}, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("waits", ["to begin", "for a slot"])
@pytest.mark.parametrize("cause", ["suspended", "its node goes", "the pod goes", "preempted"])
def test_what_happens_while_a_binding_waits_for_its_turn(waits: str, cause: str) -> None:
    """It counts when its turn comes: the pod is not bound."""

    async def scenario() -> None:
        config = OperatorConfiguration.model_validate({"bindConcurrency": 1})
        async with Running(config=config).leading(nodes=1) as world:
            gate = world.steps.gates.setdefault("pre_bind", asyncio.Event())
            bind = world.kube.hold("bind")
            if waits == "for a slot":
                world.kube.put(make_pod("a"))
                await settle()
            pod = world.kube.put(make_pod("b"))
            if waits == "to begin":
                while not len(world.engine.binder):
                    await asyncio.sleep(0)
            else:
                await settle()
                gate.set()
                await settle()
            if cause == "suspended":
                world.engine.under_way.interrupt_profile("test", "suspended")
            elif cause == "preempted":
                assert world.engine.binder.preempt("uid-b", "another pod needs its room")
            else:
                world.kube.delete(pod if cause == "the pod goes" else world.kube.nodes["n1"])
            gate.set()
            bind.set()
            await settle()
            assert "b" not in [
                write.arguments[0].name for write in world.kube.written if write.method == "bind"
            ]
            assert len(world.engine.binder) == 0

    asyncio.run(scenario())


def test_what_may_have_been_sent_is_not_preempted() -> None:
    """Nor while its outcome is read, after it was broken off."""

    async def scenario() -> None:
        async with Running().leading(nodes=1) as world:
            bind, read = world.kube.hold("bind"), world.kube.hold("pod_node")
            world.kube.put(make_pod("a"))
            await settle()
            assert not world.engine.binder.preempt("uid-a", "another pod needs its room")
            await world.clock.advance(CALL_LIMIT_SECONDS + 2)
            assert not world.engine.binder.preempt("uid-a", "another pod needs its room")
            bind.set()
            read.set()

    asyncio.run(scenario())


def test_a_post_bind_that_a_newer_binding_overtakes(caplog: pytest.LogCaptureFixture) -> None:
    """It is under way as before, its revision in use, and broken off when its time is over."""

    async def scenario() -> None:
        async with Running().leading(nodes=1) as world:
            world.steps.gates["post_bind"] = asyncio.Event()
            for number in (1, 2):
                pod = world.kube.put(make_pod("a"))
                await settle()
                assert len(world.engine.binder) == number
                world.kube.delete(pod)
                await settle()
            assert world.engine.binder.count(world.engine.live["test"]) == 2
            await world.clock.advance(CALL_LIMIT_SECONDS + 2)
            assert len(world.engine.binder) == 0
            assert caplog.text.count("postBind was not done within 120 s") == 2

    asyncio.run(scenario())


@pytest.mark.parametrize("first", ["watch", "answer"])
def test_a_pod_that_somebody_else_binds(first: str) -> None:
    """It is theirs: counted where it is, not tried again, and no failure is told."""

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("bind")
            pod: Pod = world.kube.put(make_pod("a"))
            await settle()
            ours = world.engine.binder._newest["uid-a"].placement.node
            theirs = {"n1": "n2", "n2": "n1"}[ours]
            world.kube.silent = first == "answer"
            world.kube._change(on_node(pod, theirs))
            gate.set()
            await settle()
            world.kube.silent = False
            world.kube.relist()
            await world.clock.advance(TRIED_AGAIN)
            record = world.engine.context.cache.pod_info("uid-a")
            assert record is not None
            assert (record.node, world.assumed, world.engine.queue.get("uid-a")) == (
                theirs,
                0,
                None,
            )
            assert world.notes("FailedScheduling") == world.notes("Scheduled") == []

    asyncio.run(scenario())


def test_a_pod_that_is_gone_before_the_watch_says_so() -> None:
    """The API server knows it no more: it is given up without a word, and its room is free."""

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("bind")
            world.kube.put(make_pod("a"))
            await settle()
            del world.kube.pods["uid-a"]
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert (world.assumed, world.engine.queue.get("uid-a")) == (0, None)
            assert world.notes("FailedScheduling") == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "binders"),
    [
        pytest.param(SUCCESS, [], id="takes it"),
        pytest.param(SKIP, ["a"], id="leaves it to the next"),
        pytest.param(FAILED, [], id="fails"),
    ],
)
def test_the_first_bind_plugin_that_takes_a_pod(answer: Status, binders: list[str]) -> None:
    """A pod is bound by one of them, and only a plain yes counts as bound."""

    async def scenario() -> None:
        first = {**STEPS, "bind": {"enabled": [{"name": "Steps"}]}}
        async with Running().leading(a_body("test", plugins=first)) as world:
            world.steps.script["bind"].append(answer)
            world.kube.put(make_pod("a"))
            await settle()
            assert list(world.kube.bindings) == binders
            assert len(world.notes("Scheduled")) == int(answer is not FAILED)
            assert world.notes("FailedScheduling") == (["out of order"] if answer is FAILED else [])

    asyncio.run(scenario())


def test_a_namesake_is_not_bound() -> None:
    """A pod that was made anew under its name while the first one was being bound gets a binding of
    its own.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            gate = world.kube.hold("bind")
            first = world.kube.put(make_pod("a"))
            await settle()
            world.kube.delete(first)
            world.kube.put(versioned(make_pod("a"), uid="uid-second"))
            gate.set()
            await world.clock.advance(TRIED_AGAIN)
            assert [
                write.arguments[0].uid for write in world.kube.written if write.method == "bind"
            ] == ["uid-second"]

    asyncio.run(scenario())


def test_an_unknown_outcome_is_asked_for_until_there_is_an_answer() -> None:
    """Until then the pod may be on its node: its room there is not given away, however long the API
    server is away.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.silent = True
            world.kube.fail("bind", ERRORS["no answer"](), done=True)
            world.kube.fail("pod_node", Retryable("connection refused"), times=12)
            world.kube.put(make_pod("a"))
            world.engine.pod_sink.put(world.kube.pods["uid-a"])
            await world.clock.advance(25)
            assert (world.assumed, len(world.engine.binder)) == (1, 1)
            assert world.notes("Scheduled") == world.notes("FailedScheduling") == []
            await world.clock.advance(3)
            assert (world.assumed, len(world.engine.binder)) == (1, 0)
            assert len(world.notes("Scheduled")) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("times", "told"),
    [(MAX_RETRIES, False), (MAX_RETRIES + 1, True)],
    ids=["busy for a while", "busy for long"],
)
def test_an_api_server_that_is_busy_is_asked_again_before_the_pod_is_told(
    times: int, told: bool
) -> None:
    """Not sooner than it wants; an event and a condition for each such pod would be more of what it
    has too much of.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.fail("bind", Retryable("429", after=1.0), times=times)
            world.kube.put(make_pod("a"))
            await world.clock.advance(MAX_RETRIES - 0.1)
            assert (world.node("a"), world.assumed) == ("", 1)
            await world.clock.advance(0.2 + TRIED_AGAIN)
            assert world.node("a")
            assert bool(world.notes("FailedScheduling")) is told

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("error", "done"),
    [
        (Retryable("connection refused"), False),
        (Retryable("503", outcome_unknown=True, status=503), False),
        (Retryable("500", outcome_unknown=True, status=500), False),
        (Retryable("500", outcome_unknown=True, status=500), True),
    ],
    ids=["away", "unavailable", "failed", "bound and failed"],
)
def test_an_api_server_that_fails_for_a_moment_is_asked_again(error: Retryable, done: bool) -> None:
    """At once; if the pod is bound, the API server says that it cannot be bound again."""

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.fail("bind", error, times=2 - done, done=done)
            world.kube.put(make_pod("a"))
            await world.clock.advance(0.1)
            assert world.node("a")
            assert (len(world.notes("Scheduled")), world.notes("FailedScheduling")) == (1, [])

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "seconds", [0.5, MAX_REFUSED_SECONDS + 10], ids=["for a moment", "for good"]
)
def test_an_outcome_that_may_not_be_read(seconds: float) -> None:
    """An API server that has just started refuses for a moment: the room is kept. Without the
    right, the watch has the last word.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.kube.silent = True
            world.kube.fail("bind", ERRORS["no answer"](), done=True)
            world.kube.fail(
                "pod_node", ERRORS["forbidden"](), times=2 if seconds < MAX_REFUSED_SECONDS else 100
            )
            world.engine.pod_sink.put(world.kube.put(make_pod("a")))
            await world.clock.advance(seconds)
            assert world.assumed == 1  # kept, or tried again
            assert bool(world.notes("FailedScheduling")) is (seconds > MAX_REFUSED_SECONDS)
            await world.clock.advance(TRIED_AGAIN)
            world.kube.silent = False
            world.kube.relist()
            await world.clock.advance(MAX_REFUSED_SECONDS + 10)
            assert world.assumed == 0
            assert len(world.engine.context.cache) == 1
            assert world.kube.bindings.keys() == {"a"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "place", "reason"),
    [
        pytest.param(
            Status(Code.UNSCHEDULABLE, ("not yet",)),
            QueueState.UNSCHEDULABLE,
            "Unschedulable",
            id="refused",
        ),
        pytest.param(FAILED, QueueState.BACKOFF, "SchedulerError", id="fault"),
    ],
)
def test_a_permit_that_says_no(answer: Status, place: QueueState, reason: str) -> None:
    """The pod waits as one that this plugin refused, or backs off after a fault; its condition says
    why.
    """

    async def scenario() -> None:
        async with Running().leading() as world:
            world.steps.script["permit"].append(answer)
            world.kube.put(make_pod("a"))
            await settle()
            entry = world.engine.queue.get("uid-a")
            assert entry is not None
            assert (entry.state, entry.unschedulable_plugins) == (
                place,
                frozenset({"Steps"} if place is QueueState.UNSCHEDULABLE else ()),
            )
            (condition,) = world.kube.pods["uid-a"].status.conditions or ()
            assert (condition.type, condition.status, condition.reason, condition.message) == (
                "PodScheduled",
                "False",
                reason,
                answer.message,
            )
            assert world.assumed == 0

    asyncio.run(scenario())
